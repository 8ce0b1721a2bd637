"""Where a session is, what it has loaded, and how much it is told: hooks as processes, in unusual places."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from memstore.core.plan import Wanted
from memstore.hook import SECONDS
from tests.files.desk import Desk, topic
from tests.hooks.calls import Session, at_rest, inbox, start

INDEX = "# Notes\n\n- [A](a.md) — by hand\n- a line of its own\n"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """One memory and an index by hand, taken in long ago."""
    desk.put("a.md", topic("a", body="one\n"))
    desk.put("MEMORY.md", INDEX)
    desk.sync(0)
    desk.memories.world.pause(2.1)
    assert desk.memories.sync().quiet
    with desk.memories.store.change() as connection:
        connection.execute("UPDATE shown_before SET at = at - 60000000")
    return desk


def started(desk: Desk, **variables: str) -> Session:
    """A session that was started in the desk's repository, as its hooks' environment says."""
    return Session(desk, "s", variables={"CLAUDE_PROJECT_DIR": str(desk.base / desk.root), **variables})


def jobs(desk: Desk) -> list[tuple[Any, ...]]:
    with desk.memories.store.view() as connection:
        return [tuple(row) for row in connection.execute("SELECT session, cwd FROM job")]


def repository(place: Path) -> Path:
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return place


def unshown(desk: Desk, name: str, description: str) -> None:
    """A writer that died, or was busy elsewhere, before it showed what it had written."""
    desk.memories._writer.write(name, Wanted(body="x\n", description=description), expect=None, on_conflict="refuse")


# Where it is


@pytest.mark.parametrize("kind", ["plain", "repository", "gone", "inside"])
def test_a_session_that_goes_elsewhere_stays_one_of_where_it_was_started(shop: Desk, tmp_path: Path, kind: str):
    session = started(shop)
    session.starts()
    shop.write("news", "words\n")
    session.cwd = tmp_path / "elsewhere"
    if kind == "repository":
        repository(session.cwd)
    elif kind == "inside":
        session.cwd = repository(shop.base / shop.root / "module")
    elif kind == "plain":
        session.cwd.mkdir()
    data = {event: session.data(event) for event in ("UserPromptSubmit", "Stop")}
    here = str(shop.base / shop.root)
    told = start("UserPromptSubmit", json.dumps(data["UserPromptSubmit"]).encode(), here, **session.variables)
    assert "1 memory changed: news.md" in told.context
    start("Stop", json.dumps(data["Stop"]).encode(), here, **session.variables)
    assert jobs(shop) == [("s", here)]
    resumed = json.dumps(session.data("SessionStart", source="compact")).encode()
    assert start("SessionStart", resumed, here, **session.variables).message == ""
    assert ("load", "s") in inbox(shop, "kind, session")


def test_a_session_in_a_directory_of_its_repository_is_there(shop: Desk):
    session = started(shop)
    session.cwd = shop.base / shop.root / "sub"
    session.cwd.mkdir()
    session.stops()
    assert jobs(shop) == [("s", str(session.cwd))]


def test_a_session_without_the_clients_word_is_where_it_says(shop: Desk):
    Session(shop, "s").stops()
    Session(shop, "t", variables={"CLAUDE_PROJECT_DIR": "relative"}).stops()
    assert [session for session, _ in jobs(shop)] == ["s", "t"]


@pytest.mark.parametrize("field", ["cwd", "transcript_path", "file_path"])
def test_a_path_that_cannot_be_is_not_looked_for(shop: Desk, field: str):
    giant = "/a" * 500_000
    session = Session(shop, "s")
    given = {"file_path": giant + ".md" if field == "file_path" else str(shop.folder / "b.md"), "content": "words\n"}
    call = {"tool_name": "Write", "tool_use_id": "t", "tool_input": given, "tool_response": {"content": "words\n"}}
    for event in ("PostToolUse", "Stop"):
        data = session.data(event, **call)
        if field in data:
            data[field] = giant + (".jsonl" if field == "transcript_path" else "")
        answer = start(event, json.dumps(data).encode(), shop.base / shop.root)
        assert answer.check(SECONDS[event] / 2).out == b""


def test_the_first_session_of_a_repository_is_known_from_its_first_write_on(shop: Desk):
    """The client makes the folder after the hook."""
    place = repository(shop.base / "fresh")
    other = Desk(shop.base, 0.0, root="fresh", opened=shop.opened)
    assert not other.folder.exists()
    one, two = (Session(other, name, place) for name in ("one", "two"))
    for session in (one, two):
        session.starts()
    one.writes("MEMORY.md", "# Notes\n\n- of one\n")
    two.writes("MEMORY.md", "# Notes\n\n- of two\n")
    at_rest(other)
    other.memories.sync()
    assert {"- of one", "- of two"} <= set(other.read("MEMORY.md").split("\n"))
    assert {session for (session,) in inbox(other, "session")} == {"one", "two"}


def test_a_folder_that_was_known_and_is_gone_is_not_made_by_a_session_that_starts(shop: Desk):
    shutil.rmtree(shop.folder)
    started(shop).starts()
    assert not shop.folder.exists()


# Whether its memory is on


def switch(place: Path, on: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({"autoMemoryEnabled": on}))


@pytest.mark.parametrize(
    ("main", "own", "above", "on"),
    [
        (None, None, None, True),
        (False, None, None, False),
        (None, False, None, False),
        (None, None, False, True),
        (False, True, None, False),
        (True, False, None, True),
    ],
)
def test_the_local_settings_of_the_main_checkout_come_before_those_of_where_the_session_was_started(
    shop: Desk, main: bool | None, own: bool | None, above: bool | None, on: bool
):
    """As seen on the client: those of the directories in between do not count."""
    tree = shop.base / "tree"
    below = tree / "below"
    git = shop.base / shop.root / ".git" / "worktrees" / "tree"
    git.mkdir(parents=True)
    below.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {git}\n")
    (git / "gitdir").write_text(f"{tree}/.git\n")
    (git / "commondir").write_text("../..\n")
    places = {shop.base / shop.root: main, below: own, tree: above}
    for place, value in places.items():
        if value is not None:
            switch(place / ".claude" / "settings.local.json", value)
    session = Session(shop, "s", cwd=below, variables={"CLAUDE_PROJECT_DIR": str(below)})
    session.stops()
    assert bool(jobs(shop)) is on


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ('{"autoMemoryEnabled": false}', False),
        ('{"autoMemoryEnabled": true, "autoMemoryEnabled": false}', False),
        ('{"autoMemoryEnabled": false, "autoMemoryEnabled": true}', True),
        ('{"autoMemoryEnabled": false, "x": "\\ud800"}', False),
        ('{"autoMemoryEnabled": false} // not now', True),
        ('{"autoMemoryEnabled": false, /* not now */ "x": 1}', True),
        ('{"autoMemoryEnabled": false,}', True),
        ("{'autoMemoryEnabled': false}", True),
        ("{autoMemoryEnabled: false}", True),
    ],
)
def test_settings_are_read_as_the_client_reads_them(shop: Desk, home: Path, text: str, on: bool):
    """Seen on the client: what is not JSON does not count, and of members of one name the last does."""
    place = home / ".claude" / "settings.json"
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    Session(shop, "s").stops()
    assert bool(jobs(shop)) is on


# What it has loaded


@pytest.mark.parametrize(
    ("variables", "loaded"),
    [
        ({}, True),
        ({"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "0"}, True),
        ({"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}, False),
        ({"CLAUDE_MEMORY_STORES": '["/some/where"]'}, False),
    ],
)
def test_a_session_that_did_not_load_the_index_takes_no_line_out_of_it(
    shop: Desk, variables: dict[str, str], loaded: bool
):
    session = started(shop, **variables)
    session.starts()
    session.writes("MEMORY.md", "# Notes\n\n- [A](a.md) — by hand\n- my own\n")
    at_rest(shop)
    shop.memories.sync()
    assert ("- a line of its own\n" in shop.read("MEMORY.md")) is not loaded
    assert shop.head("a") is not None


def test_a_session_that_does_not_load_the_index_is_told_of_no_line_of_it(shop: Desk):
    for variables, told in (({}, True), ({"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}, False)):
        unshown(shop, f"new-{told}".lower(), "d")
        assert ("it was loaded" in started(shop, **variables).starts().context) is told


# How much it is told


def test_a_prompt_tells_how_many_memories_changed_however_many(shop: Desk):
    session = started(shop)
    session.starts()
    for number in range(230):
        shop.put(f"note-{number:03}.md", topic(f"note-{number:03}"))
    shop.memories.sync()
    assert "230 memories changed: note-000.md, " in session.prompts().context
    assert session.prompts().context == ""


def test_what_a_session_is_told_at_its_start_is_less_than_the_client_takes(shop: Desk):
    """In UTF-16 units: of what has more than 10,000 the session is shown a piece."""
    wide = "\U0001f4a1" * 300
    for number in range(30):
        unshown(shop, f"line-{number:02}", wide)
        shop.put(f"note-{number:02}.md", topic(f"note-{number:02}", description=wide))
    told = started(shop).starts().context
    assert 5_000 < len(told.encode("utf-16-le")) // 2 < 10_000
    assert told.split("\n")[-1].endswith("more lines: `memstore status` and `memstore log`)")
