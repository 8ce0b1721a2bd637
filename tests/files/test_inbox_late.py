"""Sessions of which a sync hears later than of the files: what was read before them is older than what they tell."""

from __future__ import annotations

import os

import pytest

from memstore.files.folder import Folder
from memstore.files.scan import Scan
from tests.files.desk import Desk, Silent, topic
from tests.files.sessions import Call, Session
from tests.files.test_inbox import INDEX, settled


def everything(desk: Desk) -> str:
    """What is current under `a.md`, and the other sides of its conflicts."""
    return desk.text("a") + "".join(record.theirs.decode() for record in desk.memories.conflicts())


def by_a_session(desk: Desk, name: str) -> Call:
    """A call that is about to add a line to what its session had before it."""
    session = Session(desk, "s")
    session.load() if name == "MEMORY.md" else session.read(name)
    return session.calls_write(name, f"{desk.read(name)}by the session\n")


@pytest.fixture(params=["a.md", "MEMORY.md"])
def name(request: pytest.FixtureRequest, desk: Desk) -> str:
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    return str(request.param)


def test_a_call_that_was_given_up_and_is_made_while_its_file_is_read_takes_out_only_what_its_session_had_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
):
    call = by_a_session(desk, name).begin()
    desk.put(name, f"{desk.read(name)}by hand\n")
    desk.sync(6.0)
    desk.put(name, f"{desk.read(name)}by hand too\n")
    read = Folder.read

    def act_after(self: Folder, path: str):
        found = read(self, path)
        if path == name:
            monkeypatch.setattr(Folder, "read", read)
            call.act()
        return found

    monkeypatch.setattr(Folder, "read", act_after)
    desk.sync()
    assert {"by hand", "by the session"} <= set(desk.read(name).split("\n"))
    call.tell()
    desk.sync()
    assert {"by hand", "by hand too", "by the session"} <= set(desk.read(name).split("\n"))
    assert desk.sync().quiet


def test_a_call_that_is_told_of_while_the_files_of_a_dead_process_are_taken_in_takes_out_only_what_its_session_had_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
):
    settled(desk, "b")
    call = by_a_session(desk, name)
    left = desk.put(f".memstore-{2**22 + 1}-{'0' * 16}~b.md", desk.read("b.md") + "into the old file\n")
    os.utime(left, (1, 1))
    desk.put(name, f"{desk.read(name)}by hand\n")
    leftovers = Folder.leftovers

    def write_first(self: Folder, scan: Scan):
        monkeypatch.setattr(Folder, "leftovers", leftovers)
        call.begin().act().tell()
        return leftovers(self, scan)

    desk.ahead += 3
    monkeypatch.setattr(Folder, "leftovers", write_first)
    desk.sync()
    assert {"by hand", "by the session"} <= set(desk.read(name).split("\n"))
    assert "into the old file" in desk.text("b")
    assert desk.sync().quiet


@pytest.mark.parametrize("shown", [True, False])
def test_what_a_call_overwrote_that_is_told_of_late_takes_out_nothing_of_what_it_wrote(desk: Desk, shown: bool):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    call = session.calls_write("a.md", desk.read("a.md").replace("description: d\n", "description: by the session\n"))
    desk.edit("a.md", "five\n", "five, by hand\n")
    call.begin()
    desk.edit("a.md", "description: d\n", "description: by hand\n")
    call.act()
    desk.ahead += 6
    if shown:
        desk.memories.sync()
    else:
        desk.memories.search("nothing")  # takes in what waits, and reads no more files than it must
    call.tell()
    desk.sync()
    assert "description: by the session" in everything(desk)
    assert "description: by hand" in everything(desk)
    assert "five, by hand" in desk.text("a")
    assert desk.sync().quiet


def test_a_file_that_a_session_overwrote_before_a_tools_memory_was_ever_shown_there_takes_nothing_out_of_it(desk: Desk):
    settled(desk, "b")
    Silent(desk).create("a.md", "by the tool\n")
    desk.put("a.md", topic("a", body="by hand\n"))
    Session(desk, "s").edit("a.md", "by hand\n", "by hand\nby the session\n")
    desk.sync()
    assert "by the tool" in desk.text("a")
    assert "by hand" in everything(desk) and "by the session" in everything(desk)
    assert desk.sync().quiet


def test_a_line_of_a_tool_that_no_old_buffer_was_shown_is_kept_although_a_flagged_one_goes(desk: Desk):
    settled(desk)
    buffer = desk.read("a.md")
    desk.memories.append("a", "by the tool\n")
    Silent(desk).write("a", desk.text("a").partition("---\n\n")[2].replace("two\n", "two\nby another tool\n"))
    desk.put("a.md", f"{buffer}by hand\n")
    desk.sync()
    desk.put("a.md", f"{buffer}by hand\nby hand too\n")
    desk.sync()
    assert "by another tool" in desk.text("a") and "by hand too" in desk.text("a")
    assert desk.sync().quiet
