"""What becomes of memories in the turns of a session's life, as the real client plays them."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.client.api import Answer, Model, Request, Say, Use, saying
from tests.client.collision import memory, read
from tests.client.places import makers, memory_folder, memstore, settle, with_plugin
from tests.client.running import Client

START = "# Notes\n\n- [First](first.md) — was there before\n"


@pytest.fixture
def client(bare: Client, repository: Path, tmp_path: Path) -> Client:
    return with_plugin(bare, tmp_path / "plugin", repository)


def write(folder: Path, name: str, text: str) -> Use:
    return Use("Write", {"file_path": str(folder / name), "content": text})


def started(folder: Path) -> Path:
    """A folder with one memory and an index by hand."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "first.md").write_text(memory("first", "was there before", "The first."), encoding="utf-8")
    (folder / "MEMORY.md").write_text(START, encoding="utf-8")
    return folder


def adds(folder: Path, name: str) -> Model:
    """Writes a memory, then the whole index from what the session was shown."""

    def model(request: Request) -> Generator[Answer, Request, None]:
        known = request.index or ""
        yield write(folder, f"{name}.md", memory(name, f"about {name}", f"All about {name}."))
        yield write(folder, "MEMORY.md", f"{known}- [{name.title()}]({name}.md) — about {name}\n")
        yield Say("Noted.")

    return model


def index(folder: Path) -> list[str]:
    return (folder / "MEMORY.md").read_text(encoding="utf-8").split("\n")


def line(name: str) -> str:
    return f"- [{name.title()}]({name}.md) — about {name}"


def test_a_resumed_session_that_writes_the_index_from_an_old_copy_takes_no_line_away(client: Client, repository: Path):
    folder = started(memory_folder(client, repository))
    session = client.run(repository, "Note it.", adds(folder, "second"))
    client.run(repository, "Note it.", adds(folder, "third"))

    def stale(request: Request) -> Generator[Answer, Request, None]:
        """Knows the index as of its first start, and forgets what the resume has shown."""
        yield write(folder, "fourth.md", memory("fourth", "about fourth", "All about fourth."))
        yield write(folder, "MEMORY.md", f"{START}{line('second')}\n{line('fourth')}\n")
        yield Say("Noted.")

    again = client.run(repository, "Note more.", stale, resume=session.id)
    settle(repository)
    assert line("third") in (again.script.requests[0].index or "")
    assert {line(name) for name in ("second", "third", "fourth")} <= set(index(folder))
    assert index(folder)[:3] == START.split("\n")[:3]
    assert makers(repository)["fourth.md"]["session"] == session.id


def test_after_a_compact_the_index_is_whole_and_the_session_goes_on(client: Client, repository: Path):
    folder = started(memory_folder(client, repository))
    session = client.run(repository, "Note it.", adds(folder, "second"))
    client.compact(repository, session)
    client.run(repository, "Note it.", adds(folder, "third"))
    again = client.run(repository, "Note more.", adds(folder, "fourth"), resume=session.id)
    settle(repository)
    assert line("second") in (again.script.requests[0].index or "")
    assert {line(name) for name in ("second", "third", "fourth")} <= set(index(folder))


def test_two_sessions_in_a_directory_outside_git_share_one_memory(client: Client, tmp_path: Path):
    plain = tmp_path / "plain"
    plain.mkdir()
    shares(client, [plain, plain], started(memory_folder(client, plain)))


def test_a_memory_folder_that_the_settings_name_is_kept_like_any_other(
    bare: Client, checkouts: list[Path], tmp_path: Path
):
    settings = bare.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"autoMemoryDirectory": "~/notes"}), encoding="utf-8")
    folder = started(bare.home / "notes")
    client = with_plugin(bare, tmp_path / "plugin", checkouts[0])
    asked = shares(client, checkouts[:2], folder)
    assert asked.index_path == str(folder / "MEMORY.md")


def shares(client: Client, places: list[Path], folder: Path) -> Request:
    """Two sessions write the index whole at the same moment; both lines stay. Gives what one of them was asked."""
    together = threading.Barrier(len(places))
    names = ["second", "third"]

    def at_once(name: str) -> Model:
        def model(request: Request) -> Generator[Answer, Request, None]:
            known = request.index or ""
            yield write(folder, f"{name}.md", memory(name, f"about {name}", f"All about {name}."))
            together.wait(60)
            told = yield write(folder, "MEMORY.md", f"{known}{line(name)}\n")
            while not any("successfully" in result for result in told.results):  # the client saw the other's write
                shown = yield Use("Read", {"file_path": str(folder / "MEMORY.md")})
                told = yield write(folder, "MEMORY.md", "\n".join([*read(shown), line(name), ""]))
            yield Say("Noted.")

        return model

    running = [client.start(place, "Note it.", at_once(name)) for place, name in zip(places, names, strict=True)]
    for session in running:
        session.finish()
    settle(places[0])
    assert {line(name) for name in names} <= set(index(folder))
    assert index(folder)[:3] == START.split("\n")[:3]
    for place, session, name in zip(places, running, names, strict=True):
        made = makers(place)[f"{name}.md"]
        assert made["session"] == session.id
    return running[0].script.requests[0]


def test_a_session_is_told_what_others_changed_since_it_last_heard(client: Client, checkouts: list[Path]):
    main, pay, _ = checkouts
    folder = started(memory_folder(client, main))
    session = client.run(main, "Note it.", adds(folder, "second"))
    other = client.run(pay, "Note it.", adds(folder, "third"))
    again = client.run(main, "What is new?", saying(Say("I see.")), resume=session.id)
    told = again.script.requests[0].said("system")
    assert "third.md" in told
    assert "shop-pay" in told
    assert other.id[:8] in told


def test_a_prompt_is_told_what_others_changed_while_the_session_ran(client: Client, checkouts: list[Path]):
    main, pay, _ = checkouts
    folder = started(memory_folder(client, main))
    with client.talk(main, saying(Say("Yes."), Say("I see."))) as talk:
        talk.say("Are you there?")
        client.run(pay, "Note it.", adds(folder, "third"))
        memstore(main, "sync")
        talk.say("What is new?")
        heard = talk.script.requests[-1]
    before, after = (request.said("system") for request in (talk.script.requests[0], heard))
    assert "third.md" not in before
    assert "third.md" in after
    assert "shop-pay" in after


def test_what_the_index_lacked_at_the_load_is_told_at_the_start(client: Client, repository: Path):
    folder = started(memory_folder(client, repository))
    settle(repository)
    (folder / "by-hand.md").write_text(memory("by-hand", "somebody's own", "Saved in an editor."), encoding="utf-8")
    session = client.run(repository, "What is there?", saying(Say("I see.")))
    asked = session.script.requests[0]
    assert "by-hand.md" not in (asked.index or "")
    assert "by-hand.md" in asked.said("system")


def test_an_agent_that_a_session_started_writes_under_its_own_name(client: Client, repository: Path):
    folder = started(memory_folder(client, repository))
    task = Use("Agent", {"description": "a note", "prompt": "Note it.", "subagent_type": "general-purpose"})
    agent = saying(write(folder, "second.md", memory("second", "about second", "All about it.")), Say("Noted."))
    session = client.run(
        repository, "Have it noted.", saying(task, Say("It is under way."), Say("Done.")), agents=agent
    )
    settle(repository)
    made = makers(repository)["second.md"]
    assert made["session"].startswith(session.id)
    assert made["worktree"] == str(repository)


def test_what_a_shell_command_wrote_is_in_the_store_without_a_command_of_ours(client: Client, repository: Path):
    folder = started(memory_folder(client, repository))
    text = memory("by-shell", "written by a redirection", "Echoed.")
    (repository / "text").write_text(text, encoding="utf-8")
    shell = Use("Bash", {"command": f"cat text > {folder}/by-shell.md", "description": "note"})
    client.run(repository, "Note it.", saying(shell, Say("Noted.")))
    client.run(repository, "And?", saying(Say("Nothing.")))
    assert "Echoed." in memstore(repository, "show", "by-shell")
