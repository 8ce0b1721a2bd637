"""Sessions whose hooks run as processes, as the client starts them: what comes of it in store and files."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memstore.core.plan import Wanted
from memstore.store import sessions
from tests.files.desk import Desk, topic
from tests.hooks.calls import Session, at_rest, inbox, settled, until

INDEX = "# Notes\n\n- [A](a.md) — about a\n"
STAMPED = "---\nname: a\ndescription: d\nmetadata:\n  node_type: memory\n  type: project\n  modified: {}\n---\n\n{}"
EARLY, LATE = "2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """One memory and an index by hand, taken in."""
    desk.put("a.md", topic("a", body="one\ntwo\nthree\n"))
    desk.put("MEMORY.md", INDEX)
    desk.sync(0)
    desk.memories.world.pause(2.1)  # nothing is younger than what file stamps can tell
    desk.ahead = 0.0
    assert desk.memories.sync().quiet
    return desk


def worktree(desk: Desk, name: str) -> Path:
    """A linked worktree, as git makes it."""
    git = desk.base / desk.root / ".git" / "worktrees" / name
    place = desk.base / name
    git.mkdir(parents=True)
    place.mkdir()
    (place / ".git").write_text(f"gitdir: {git}\n")
    (git / "gitdir").write_text(f"{place}/.git\n")
    (git / "commondir").write_text("../..\n")
    (git / "HEAD").write_text(f"ref: refs/heads/{name}\n")
    return place


def provenance(desk: Desk, name: str) -> tuple[str, str | None, str | None, str | None]:
    head = desk.head(name)
    assert head is not None
    found = desk.memories.operation(str(head.seq)).provenance
    return found.origin, found.session, found.worktree, found.branch


def unshown(desk: Desk, name: str, body: str, description: str = "d") -> None:
    """A writer that died, or was busy elsewhere, before it showed what it had written."""
    head = desk.head(name)
    wanted, expect = Wanted(body=body, description=description), head.token if head else None
    desk.memories._writer.write(name, wanted, expect=expect, on_conflict="refuse")


# Writing


def test_two_sessions_that_write_the_index_whole_leave_both_lines(shop: Desk):
    one, other = Session(shop, "one"), Session(shop, "other", worktree(shop, "topic"))
    one.starts()
    other.starts()
    loaded = shop.read("MEMORY.md")
    one.writes("MEMORY.md", f"{loaded}- from one\n")
    other.writes("MEMORY.md", f"{loaded}- from the other\n")
    settled(shop, lambda: "from one" in shop.read("MEMORY.md"))
    shop.memories.sync()
    text = shop.read("MEMORY.md")
    assert text.startswith(INDEX) and "- from one\n" in text and "- from the other\n" in text
    assert shop.memories.sync().quiet


def test_a_memory_that_a_session_wrote_is_known_by_session_worktree_and_branch(shop: Desk):
    place = worktree(shop, "topic")
    session = Session(shop, "writer", place)
    session.starts()
    session.writes("b.md", topic("b"), STAMPED.format(EARLY, "Body.\n"))
    settled(shop, lambda: shop.head("b"))
    assert shop.text("b") == STAMPED.format(EARLY, "Body.\n") == shop.read("b.md")
    assert provenance(shop, "b") == ("agent", "writer", str(place), "topic")
    assert inbox(shop)[-1] == ("write", "settled", "b.md", "writer")


def test_an_edit_is_taken_in_as_the_file_has_it_with_the_clients_stamps(shop: Desk):
    session = Session(shop, "s")
    session.writes("b.md", "x", STAMPED.format(EARLY, "one\ntwo\n"))
    settled(shop, lambda: shop.head("b"))
    session.edits("b.md", "two", "2", STAMPED.format(LATE, "one\n2\n"))
    settled(shop, lambda: shop.number("b") == 2)
    assert shop.text("b") == STAMPED.format(LATE, "one\n2\n")
    assert provenance(shop, "b")[:2] == ("agent", "s")
    assert shop.memories.sync().quiet and shop.number("b") == 2


def test_an_edit_of_a_file_that_another_replaced_meanwhile_is_what_the_client_wrote(shop: Desk):
    one = Session(shop, "one")
    original = shop.read("a.md")
    given = {"file_path": str(shop.folder / "a.md"), "old_string": "two", "new_string": "2", "replace_all": False}
    response = {"originalFile": original, "structuredPatch": []}
    shop.put("a.md", original.replace("three", "3"))  # not what the edit wrote: somebody was faster than its hook
    one.hook("PostToolUse", tool_name="Edit", tool_use_id="t", tool_input=given, tool_response=response)
    settled(shop, lambda: shop.number("a") >= 3)
    assert "2\n" in shop.text("a") and "3\n" in shop.text("a")


def test_an_edit_in_a_file_with_crlf_keeps_its_line_ends(shop: Desk):
    shop.put("c.md", "one\r\ntwo\r\n")
    shop.memories.sync()
    Session(shop, "s").edits("c.md", "two", "2")
    settled(shop, lambda: shop.number("c") == 2)
    assert shop.text("c") == "one\r\n2\r\n" and provenance(shop, "c")[1] == "s"
    assert shop.memories.conflicts() == []


def test_a_write_is_merged_over_what_its_session_had_read(shop: Desk):
    session = Session(shop, "s")
    session.reads("a.md")
    shop.memories.write("a", Wanted(body="one, by a tool\ntwo\nthree\n"), expect=shop.memories.show("a")[0].token)
    session.writes("a.md", topic("a", body="one\ntwo\nthree\nfour\n"))
    settled(shop, lambda: "four" in shop.text("a"))
    shop.memories.sync()
    assert "one, by a tool" in shop.text("a") and shop.read("a.md") == shop.text("a")
    assert shop.memories.conflicts() == []


def test_a_part_of_a_file_that_was_read_is_no_base(shop: Desk):
    Session(shop, "s").reads("a.md", limit=2)
    assert inbox(shop) == []


def test_an_agent_inside_a_session_has_seen_only_what_it_read_itself(shop: Desk):
    Session(shop, "s").starts()
    Session(shop, "s", agent="helper").reads("a.md")
    assert inbox(shop, "kind, session") == [("load", "s"), ("read", "s/helper")]


def test_a_new_file_that_an_edit_made_had_no_original(shop: Desk):
    Session(shop, "s").edits("new.md", "", "made by an edit\n")
    settled(shop, lambda: shop.head("new"))
    assert inbox(shop, "kind, original IS NULL") == [("edit", 1)]
    assert shop.text("new") == "made by an edit\n"


def test_files_that_are_no_memories_leave_no_row(shop: Desk):
    session = Session(shop, "s")
    code = shop.base / shop.root / "code.md"
    code.write_text("x")
    for path in (str(code), str(shop.folder / "a.txt"), "relative.md", "/nowhere/x.md", "\0.md"):
        given = {"file_path": path, "content": "x"}
        session.hook("PreToolUse", tool_name="Write", tool_use_id="t", tool_input=given)
        session.hook("PostToolUse", tool_name="Write", tool_use_id="t", tool_input=given, tool_response=given)
    assert inbox(shop) == []


def test_half_a_surrogate_pair_stands_in_the_store_as_on_the_disk(shop: Desk):
    session = Session(shop, "s")
    given = {"file_path": str(shop.folder / "b.md"), "content": "a \ud800 b\n"}
    shop.put("b.md", "a \ufffd b\n")
    response = {"content": "a \ud800 b\n", "originalFile": None}
    session.hook("PostToolUse", tool_name="Write", tool_use_id="t", tool_input=given, tool_response=response)
    settled(shop, lambda: shop.head("b"))
    assert shop.text("b") == "a \ufffd b\n" and provenance(shop, "b")[1] == "s"


def test_a_shell_command_that_names_the_folder_has_its_work_taken_in(shop: Desk):
    shop.put("b.md", topic("b"))
    Session(shop, "s").runs("ls src")
    at_rest(shop)
    assert shop.head("b") is None
    Session(shop, "s").runs(f"cat > {shop.folder}/b.md")
    settled(shop, lambda: shop.head("b"))


# Failing


def test_nobody_waits_for_a_call_that_failed(shop: Desk):
    one, other = Session(shop, "one"), Session(shop, "other")
    one.fails("a.md", "two", "2")
    assert inbox(shop) == [("edit", "dead", "a.md", "one")]
    assert shop.memories.sync().quiet
    other.edits("a.md", "three", "3")
    settled(shop, lambda: shop.number("a") == 2)
    assert "two\n3\n" in shop.text("a") and "2\n" not in shop.text("a")


@pytest.mark.parametrize(
    "given",
    [
        {"tool_use_id": "another"},
        {"session_id": "another"},
        {"agent_id": "helper"},
        {"tool_input": {"file_path": "{folder}/MEMORY.md"}},
        {"tool_input": {"file_path": "{folder}/../elsewhere/a.md"}},
        {"tool_name": "Read"},
    ],
)
def test_only_the_very_call_that_failed_is_given_up(shop: Desk, given: dict[str, Any]):
    path = given.get("tool_input", {}).get("file_path", "").format(folder=shop.folder)
    Session(shop, "s").fails("a.md", "two", "2", {**given, **({"tool_input": {"file_path": path}} if path else {})})
    assert inbox(shop) == [("edit", "open", "a.md", "s")]


def test_what_is_done_stays_done_whatever_is_told_of_it_later(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    session = Session(shop, "s")
    with shop.memories.store.change() as connection:
        sessions.write(connection, "pause", ("store", "", 0))  # no worker takes it in meanwhile
    session.writes("a.md", topic("a", body="done\n"))
    ((call,),) = inbox(shop, "id")
    given = {"file_path": str(shop.folder / "a.md"), "content": "x"}
    session.hook("PostToolUseFailure", tool_name="Write", tool_use_id=call, tool_input=given, error="no")
    assert inbox(shop) == [("write", "done", "a.md", "s")]


def test_a_call_that_failed_and_was_made_all_the_same_is_its_sessions(shop: Desk):
    """It was interrupted when the file was in place already."""
    session = Session(shop, "s")
    session.fails("a.md", "two", "2")
    shop.edit("a.md", "two", "2")
    shop.memories.sync()
    assert "2\n" in shop.text("a") and provenance(shop, "a")[:2] == ("agent", "s")


def test_what_a_call_that_failed_had_found_and_another_overwrote_is_not_lost(shop: Desk):
    shop.edit("a.md", "one\n", "one\nby hand\n")
    Session(shop, "s").fails("a.md", "two", "2")
    shop.put("a.md", topic("a", body="one\ntwo\nthree\nby a program\n"))
    shop.memories.sync()
    assert "by hand\n" in shop.text("a") and "by a program\n" in shop.text("a") and "2\n" not in shop.text("a")
    assert shop.memories.sync().quiet


def test_a_call_that_failed_under_a_name_of_no_memory_is_in_nobodys_way(shop: Desk):
    session = Session(shop, "s")
    session.edits("team/x.md", "", "words\n")
    session.fails("team/x.md", "words", "more words")
    session.edits("team/x.md", "words", "other words")
    until(lambda: {state for (state,) in inbox(shop, "state")} == {"settled"})
    assert shop.memories.sync().quiet


# Turns


def test_the_memory_of_a_turn_gets_its_line_when_the_turn_stops(shop: Desk):
    session = Session(shop, "s")
    session.starts()
    session.writes("b.md", topic("b", description="about b"))
    settled(shop, lambda: shop.head("b"))
    assert "(b.md)" not in shop.read("MEMORY.md")
    session.stops()
    settled(shop, lambda: "- [b](b.md) — about b" in shop.read("MEMORY.md"))


def test_a_prompt_tells_once_what_others_changed_and_never_what_the_session_did_itself(shop: Desk):
    one, other = Session(shop, "1a2b3c4d-5e6f", worktree(shop, "topic")), Session(shop, "other")
    one.starts()
    other.starts()
    assert other.prompts().out == b""
    for name in ("b", "c"):
        one.writes(f"{name}.md", topic(name))
    settled(shop, lambda: shop.head("b") and shop.head("c"))
    assert one.prompts().out == b""
    told = other.prompts().context
    assert told == "memstore: 2 memories changed: b.md, c.md, by session 1a2b3c4d in worktree topic"
    assert other.prompts().out == b""


def test_a_prompt_counts_the_session_in_a_shell_and_its_agents_as_the_session_itself(
    shop: Desk, monkeypatch: pytest.MonkeyPatch
):
    session = Session(shop, "s")
    session.starts()
    Session(shop, "s", agent="helper").writes("b.md", topic("b"))
    settled(shop, lambda: shop.head("b"))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s")
    with shop.open() as memories:
        memories.write("c", Wanted(body="words\n"))
    assert session.prompts().out == b""


def test_each_turn_leaves_one_waiting_job_and_the_newest_counts(shop: Desk):
    session = Session(shop, "s")
    session.starts()
    for event in ("Stop", "PreCompact", "SessionEnd"):
        session.hook(event)
    Session(shop, "s", agent="helper").hook("Stop")
    with shop.memories.store.view() as connection:
        jobs = list(connection.execute("SELECT kind, state, session, event, cwd, transcript FROM job"))
    transcript = f"{os.environ['HOME']}/.claude/projects/x/s.jsonl"
    assert jobs == [("extract", "waiting", "s", "SessionEnd", str(shop.base / shop.root), transcript)]


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/x.jsonl", "x.jsonl", "", 7, None])
def test_a_transcript_elsewhere_queues_nothing(shop: Desk, path: object):
    Session(shop, "s").hook("SessionEnd", transcript_path=path)
    with shop.memories.store.view() as connection:
        assert connection.execute("SELECT count(*) FROM job").get == 0


# Starting


def test_the_first_session_of_a_repository_takes_its_folder_over(tmp_path: Path, desk: Desk):
    other = Desk(tmp_path, 0.0, root="fresh", opened=desk.opened)
    home = other.memories.place.home
    known = {entry.root for entry in home.entries()}
    place = tmp_path / "never seen"
    place.mkdir()
    assert str(place) not in known
    Session(other, "s", place).starts()
    assert str(place) in {entry.root for entry in home.entries()}


def test_a_session_is_told_what_came_into_the_index_after_it_was_loaded(shop: Desk):
    unshown(shop, "b", "words\n", "about b")
    told = Session(shop, "two").starts()
    assert "- [b](b.md) — about b" in told.context and "came after it was loaded" in told.context
    assert (shop.folder / "b.md").exists()
    assert Session(shop, "three").starts().out == b""


def test_what_was_loaded_is_what_lay_there_before_the_sync(shop: Desk):
    unshown(shop, "b", "words\n", "about b")
    session = Session(shop, "s")
    session.starts()
    assert "(b.md)" in shop.read("MEMORY.md")
    session.writes("MEMORY.md", f"{INDEX}- a note\n")
    settled(shop, lambda: "a note" in shop.read("MEMORY.md") and "(b.md)" in shop.read("MEMORY.md"))


def test_a_line_that_came_a_moment_before_the_first_hook_is_not_taken_out(shop: Desk):
    """The client loads the index before it starts the hook."""
    loaded = shop.read("MEMORY.md")
    shop.memories.write("b", Wanted(body="words\n", description="about b"))
    session = Session(shop, "s")
    session.starts()
    session.writes("MEMORY.md", f"{loaded}- a note\n")
    settled(shop, lambda: "a note" in shop.read("MEMORY.md") and "(b.md)" in shop.read("MEMORY.md"))


def test_a_line_that_was_there_long_before_is_taken_out_by_a_session_that_leaves_it_out(shop: Desk):
    session = Session(shop, "s")
    session.starts()
    session.writes("MEMORY.md", "# Notes\n\n- a note\n")
    settled(shop, lambda: "a note" in shop.read("MEMORY.md"))
    at_rest(shop)
    assert "(a.md)" not in shop.read("MEMORY.md") and shop.head("a") is not None


@pytest.mark.parametrize("source", ["resume", "clear", "compact", "fork"])
def test_each_kind_of_start_keeps_what_was_there(shop: Desk, source: str):
    Session(shop, "s").starts(source)
    assert inbox(shop) == [("load", "done", "MEMORY.md", "s")] or inbox(shop)[0][1] == "settled"


def test_a_session_that_is_resumed_is_told_what_others_changed_meanwhile(shop: Desk):
    session = Session(shop, "s")
    session.starts()
    shop.memories.write("b", Wanted(body="words\n"))
    assert "1 memory changed: b.md" in session.starts("resume").context
    assert session.starts("resume").out == b""


def test_a_session_is_told_of_open_conflicts_lines_without_room_and_failed_jobs(shop: Desk):
    with shop.memories.store.change() as connection:
        connection.execute(
            "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at)"
            " VALUES ('j', 'extract', 'failed', 's', '/x', '/y', 'Stop', 0)"
        )
    lines = "".join(f"- a line by hand, number {number}\n" for number in range(230))
    shop.put("MEMORY.md", INDEX + lines)
    shop.put("a.md", topic("a", body="one\n2 by hand\nthree\n"))
    unshown(shop, "a", "one\n2 by a tool\nthree\n")
    told = Session(shop, "s").starts().context
    assert "open conflicts in a.md: `memstore conflicts`" in told
    assert "1 failed job" in told
    assert "MEMORY.md has 233 lines, 200 of them are loaded" in told
    assert len(shop.memories.conflicts()) == 1


def test_a_session_is_told_of_memories_that_the_index_does_not_name_yet(shop: Desk):
    Session(shop, "one").writes("b.md", topic("b", description="about b"))
    shop.put("c.md", topic("c", description="by hand"))
    settled(shop, lambda: shop.head("b"))
    told = Session(shop, "two").starts().context
    assert told == "memstore: memories that MEMORY.md does not name yet:\nb.md: about b\nc.md: by hand"
    assert Session(shop, "one").starts().context.endswith("yet:\nc.md: by hand")


def test_a_session_is_told_how_many_memories_have_no_room_in_the_index(shop: Desk):
    for number in range(170):
        unshown(shop, f"note-{number:03d}", "words\n")
    told = Session(shop, "s").starts().context
    assert "memories have no line in MEMORY.md for lack of room: `memstore search WORDS` finds them" in told
    assert "more lines: read MEMORY.md" in told and len(told) < 10_000


def test_text_of_memories_is_one_line_and_harmless_where_a_session_is_told_of_it(shop: Desk):
    nasty = "x\x1b[31m\u202e" + "y" * 5_000
    unshown(shop, "b", "words\n", nasty)
    told = Session(shop, "s").starts().context
    assert "\x1b" not in told and "\u202e" not in told and max(map(len, told.split("\n"))) <= 200


def test_the_first_session_of_a_second_configuration_has_its_base_as_well(shop: Desk):
    other = shop.second()
    other.folder.mkdir(parents=True)
    other.put("MEMORY.md", "# Notes\n\n- only here\n")
    session = Session(other, "s", variables=other.variables)
    session.starts()
    assert ("load", "settled", "MEMORY.md", "s") in inbox(shop) or ("load", "done", "MEMORY.md", "s") in inbox(shop)
    with shop.memories.store.view() as connection:
        (found,) = connection.execute("SELECT folder, coalesce(result, taken) FROM inbox WHERE session = 's'")
    assert found[0] == str(other.folder.resolve())


def test_many_hooks_at_once_start_one_worker_that_works_and_one_that_waits(shop: Desk):
    store = shop.memories.store.directory
    session = Session(shop, "s")
    with open(f"{store}/work-now", "wb") as working:
        fcntl.flock(working, fcntl.LOCK_EX)
        for number in range(5):
            session.writes(f"note-{number}.md", topic(f"note-{number}"))
        until(lambda: len(workers(shop)) <= 1)
        assert len(workers(shop)) == 1
    settled(shop, lambda: all(shop.head(f"note-{number}") for number in range(5)))
    assert workers(shop) == []


def workers(desk: Desk) -> list[str]:
    """The processes that work for this store, or wait."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"work" in command and desk.memories.store.id.encode() in command:
            found.append(entry.name)
    return found


# The client's switches, and pausing


SWITCHES = [
    ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, None, False),
    ({"CLAUDE_CODE_SIMPLE": "1"}, None, False),
    ({"CLAUDE_CODE_SAFE_MODE": "true"}, None, False),
    ({"CLAUDE_CODE_REMOTE": "1"}, None, False),
    ({}, False, False),
    ({}, True, True),
    ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, False, True),
    ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0", "CLAUDE_CODE_REMOTE": "1"}, None, True),
]


@pytest.mark.parametrize(("variables", "setting", "on"), SWITCHES)
def test_hooks_obey_the_clients_own_switches(shop: Desk, variables: dict[str, str], setting: bool | None, on: bool):
    settings = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    if setting is not None:
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(json.dumps({"autoMemoryEnabled": setting}))
    session = Session(shop, "s", variables=variables)
    session.starts()
    session.writes("b.md", topic("b"))
    session.stops()
    at_rest(shop)
    assert bool(inbox(shop)) == on
    with shop.memories.store.view() as connection:
        assert connection.execute("SELECT count(*) FROM job").get == int(on)


@pytest.mark.parametrize("scope", ["session", "worktree", "store"])
def test_while_paused_rows_are_kept_and_nothing_happens_by_itself(
    shop: Desk, scope: str, monkeypatch: pytest.MonkeyPatch
):
    session, other = Session(shop, "s"), Session(shop, "other", worktree(shop, "topic"))
    for each in (session, other):
        each.starts()
    loaded = shop.read("MEMORY.md")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s")
    command = ["-m", "memstore", "pause", f"--{scope}"]
    run(shop, *command)
    session.writes("MEMORY.md", f"{loaded}- from a paused session\n")
    session.stops()
    at_rest(shop)
    assert ("write", "done", "MEMORY.md", "s") in inbox(shop)
    with shop.memories.store.view() as connection:
        assert connection.execute("SELECT count(*) FROM job").get == 0
    assert "automatic saving is paused" in session.starts("compact").context
    assert "paused:" in run(shop, "-m", "memstore", "status")
    other.writes("MEMORY.md", f"{loaded}- from the other\n")
    run(shop, "-m", "memstore", "sync")
    text = shop.read("MEMORY.md")
    assert "- from a paused session\n" in text and "- from the other\n" in text
    run(shop, "-m", "memstore", "resume")
    assert "paused" not in session.starts("compact").context


def run(desk: Desk, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=desk.base / desk.root, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done
    return done.stdout
