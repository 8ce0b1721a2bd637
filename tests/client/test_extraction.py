"""What a person told an agent in one session, the next one knows: the real client, its hooks, the worker they start."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.client.api import Api, saying
from tests.client.collision import memory
from tests.client.places import ask, makers, memory_folder, memstore, with_plugin
from tests.client.running import Client
from tests.messages_api import Answer, Asked, Say, Use
from tests.talks import write

CORRECTION = "No, not npm. Please always use bun here, never npm."
QUOTE = "always use bun here, never npm"


@pytest.fixture
def client(bare: Client, repository: Path, tmp_path: Path) -> Client:
    return with_plugin(bare, tmp_path / "plugin", repository)


def keeps(asked: Asked) -> Answer:
    """Saves the correction where it is shown it, and ends with the next answer."""
    last = str(asked.body["messages"][-1]["content"])
    if QUOTE in last and "tool_result" not in last:
        return write("feedback_bun", "Use bun, never npm.\n\n**Why:** the person said so.\n", QUOTE)
    return Say("Kept what the person wants.")


def runs(cwd: Path, session: str) -> list[dict[str, Any]]:
    found = ask(cwd, "extract", "log", "--limit", "1000")["runs"]
    return [run for run in found if run["session"] == session and run["state"] != "running"]


def until(true: Callable[[], object]) -> None:
    """Returns once this is so: the worker goes on when the client has ended."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, str(true())
        time.sleep(0.2)


def test_a_correction_in_one_worktree_is_known_to_the_next_session_in_another(
    client: Client, api: Api, checkouts: list[Path]
):
    main, pay, auth = checkouts
    folder = memory_folder(client, main)
    api.worker = keeps
    taught = client.run(pay, CORRECTION, saying(Say("Understood: bun it is.")))
    until(lambda: any(run["outcome"] == "saved" for run in runs(main, taught.id)))

    # The request: the conversation, from the client's own transcript, with the key that the session has.
    first = api.worked[0].body
    shown = first["messages"][0]["content"][0]["text"]
    assert f"the person:\n| {CORRECTION}" in shown and "the agent:\n| Understood: bun it is." in shown
    assert {"Read", "Edit", "Write", "Delete"} <= {tool["name"] for tool in first["tools"]}

    # In the store, whose it is; on disk, where the client looks.
    made = makers(main)["feedback_bun.md"]
    assert (made["kind"], made["session"], made["worktree"], made["branch"]) == (
        "extract",
        taught.id,
        str(pay),
        pay.name,
    )
    until(lambda: "(feedback_bun.md)" in (folder / "MEMORY.md").read_text(encoding="utf-8"))
    assert "Use bun, never npm." in (folder / "feedback_bun.md").read_text(encoding="utf-8")

    # The next session has it in its index, and is told once.
    told = (
        f"memstore: saved 1 memory of an earlier turn: feedback_bun.md (`memstore undo {made['seq']}` takes that back)"
    )
    second = client.run(auth, "What do you know?", saying(Say("Bun."))).script.requests[0]
    assert "(feedback_bun.md)" in (second.index or "") and told in second.said("system")
    third = client.run(main, "And you?", saying(Say("Bun."))).script.requests[0]
    assert "(feedback_bun.md)" in (third.index or "") and told not in third.said("system")

    # It is taken back by one command.
    memstore(main, "undo", str(made["seq"]))
    assert not (folder / "feedback_bun.md").exists()
    assert "feedback_bun" not in (folder / "MEMORY.md").read_text(encoding="utf-8")


def test_a_turn_in_which_the_agent_saved_it_itself_is_not_looked_at(client: Client, api: Api, repository: Path):
    api.worker = keeps
    file = str(memory_folder(client, repository) / "feedback_bun.md")
    own = Use("Write", {"file_path": file, "content": memory("feedback_bun", "what to install with", "Use bun.")})
    session = client.run(repository, CORRECTION, saying(own, Say("Noted.")))
    until(lambda: any(run["gate"] == "saved" for run in runs(repository, session.id)))
    assert api.worked == []
    assert makers(repository)["feedback_bun.md"]["kind"] != "extract"


def test_what_an_agent_inside_the_session_was_told_is_nobody_s_wish(client: Client, api: Api, repository: Path):
    """Its stop starts nothing, and its words are not shown to the model."""
    task = Use("Agent", {"description": "a task", "prompt": CORRECTION, "subagent_type": "general-purpose"})
    agents = saying(Say("I always use bun here, never npm."))
    wish = "Have somebody look into the installation of packages."
    session = client.run(repository, wish, saying(task, Say("It is under way."), Say("Done.")), agents=agents)
    until(lambda: any(run["outcome"] == "nothing" for run in runs(repository, session.id)))
    for asked in api.worked:
        people = [part for part in str(asked.body["messages"][0]).split("[") if "the person:" in part]
        assert people and not any("bun" in part for part in people)


def test_a_resumed_session_is_looked_at_from_where_it_was_left(client: Client, api: Api, repository: Path):
    api.worker = keeps
    session = client.run(repository, CORRECTION, saying(Say("Understood.")))
    until(lambda: any(run["outcome"] == "saved" for run in runs(repository, session.id)))
    before = len(api.worked)
    client.compact(repository, session)
    client.run(repository, "Thank you, please go on with that.", saying(Say("I will.")), resume=session.id)
    until(lambda: len(api.worked) > before)
    until(lambda: ask(repository, "extract", "status")["waiting"] == [])
    later = "\n".join(str(asked.body["messages"][0]) for asked in api.worked[before:])
    assert "Thank you, please go on with that." in later
    assert f"| {CORRECTION}" not in later  # it was looked at, and nobody has said it again
