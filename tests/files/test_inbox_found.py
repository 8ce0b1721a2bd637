"""What people who tried to break it have found about sessions, their rows and the index."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any

import pytest

from memstore.files.folder import Folder
from memstore.store import spool
from memstore.store.inbox import Arrival
from memstore.store.shown import ShownChange, ShownRow
from memstore.store.store import Store
from tests.files.desk import Desk, Silent, noted, topic
from tests.files.outages import failing
from tests.files.sessions import Session
from tests.files.test_inbox import BODY, INDEX, Killed, die, settled
from tests.files.test_project import between


def indexed(desk: Desk) -> None:
    settled(desk)
    desk.put("MEMORY.md", INDEX)
    desk.sync()


def test_of_an_edit_a_session_knows_its_own_change_and_not_the_lines_around_it(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    had = desk.read("a.md")
    desk.memories.append("a", "by the tool\n")
    session.edit("a.md", "one\n", "one, edited\n")
    session.write("a.md", had.replace("one\n", "one, edited twice\n"))
    desk.sync()
    assert "by the tool" in desk.text("a") and "one, edited twice" in desk.text("a")
    assert desk.memories.conflicts() == []


def test_of_an_edit_of_the_index_a_session_knows_its_own_change_only(desk: Desk):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    desk.write("b", "words\n", description="about b")
    session.edit("MEMORY.md", "about a", "all about a")
    session.write("MEMORY.md", f"{INDEX.replace('about a', 'all about a')}- mine\n")
    desk.sync()
    text = desk.read("MEMORY.md")
    assert "(b.md)" in text and "- mine" in text and "all about a" in text


@pytest.mark.parametrize("back", [3_600.0, 0.0])
def test_a_sessions_writes_count_in_their_chain_although_the_clock_went_back(desk: Desk, back: float):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    desk.sync()
    base = desk.read("a.md")
    session.write("a.md", f"{base}first\n")
    desk.ahead -= back
    session.write("a.md", f"{base}first\nsecond\n")
    desk.sync()
    assert desk.text("a").endswith("first\nsecond\n")
    assert desk.read("a.md") == desk.text("a")


@pytest.mark.parametrize("how", ["killed", "disk full"])
def test_a_text_that_was_about_to_be_put_and_never_was_is_no_base_of_an_edit(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, how: str
):
    settled(desk)
    settled(desk, "other")
    wanted = BODY.replace("two\nthree\n", "two and three by the tool\n")
    if how == "killed":
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Folder, "put_many", die)
            desk.write("a", wanted)
        desk.ahead += 61
    else:
        with failing(errno.ENOSPC, "a.md")(desk.folder):
            desk.write("a", wanted)
    desk.put("a.md", desk.read("a.md").replace("two\nthree\n", ""))
    desk.sync()
    kept = desk.text("a") + "".join(record.theirs.decode() for record in desk.memories.conflicts())
    assert "by the tool" in kept


def test_an_index_with_bytes_that_are_no_text_is_left_as_it_is_and_stops_nothing_else(desk: Desk):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    call = session.calls_write("MEMORY.md", "")
    call.result = INDEX.encode() + b"- caf\xe9\n"
    call.begin().act().tell()
    report = desk.sync()
    assert any("line 4 is not UTF-8" in notice for notice in report.notices)
    desk.memories.append("a", "more\n")
    assert desk.text("a").endswith("more\n")
    assert [hit.path for hit in desk.memories.search("more")[1]] == ["a.md"]
    assert session.file("MEMORY.md") == call.result


@pytest.mark.parametrize("by", ["hand", "session"])
def test_new_words_for_a_deleted_memory_whose_path_another_has_are_a_memory_of_their_own(desk: Desk, by: str):
    settled(desk)
    settled(desk, "z")
    there = desk.second()
    there.memories.sync()
    there.sync()
    desk.memories.rename("a", "b")
    desk.memories.delete("b")
    desk.write("c", "new one\n", description="d")
    desk.memories.rename("c", "b")
    if by == "hand":
        there.edit("a.md", "one\n", "one, edited\n")
    else:
        Session(there, "s").edit("a.md", "one\n", "one, edited\n")
    there.edit("z.md", "two\n", "two, by hand\n")
    report = there.sync()
    assert not report.stopped
    assert "two, by hand" in desk.text("z")
    assert "one, edited" in desk.text("a")
    assert "new one" in desk.text("b")


def test_the_index_that_a_session_emptied_is_there_again_after_the_next_sync(desk: Desk):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    session.write("MEMORY.md", "")
    desk.sync()
    assert desk.read("MEMORY.md") == INDEX
    assert desk.sync().quiet


def test_lines_that_a_session_had_not_seen_are_in_the_file_again_after_the_next_sync(desk: Desk):
    indexed(desk)
    desk.put("MEMORY.md", f"{INDEX}- by hand\n")
    desk.sync()
    Session(desk, "s").write("MEMORY.md", INDEX)
    desk.sync()
    assert desk.read("MEMORY.md") == f"{INDEX}- by hand\n"
    assert desk.sync().quiet


def test_a_persons_edit_of_a_line_of_a_session_is_merged_over_what_the_session_wrote(desk: Desk):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    session.write("MEMORY.md", f"{INDEX}- s1\n- s2\n")
    desk.put("MEMORY.md", f"{INDEX}- s1 corrected\n- s2\n")
    desk.sync()
    assert desk.read("MEMORY.md") == f"{INDEX}- s1 corrected\n- s2\n"
    assert desk.sync().quiet


def test_a_persons_deletion_of_a_line_of_a_session_counts(desk: Desk):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    session.write("MEMORY.md", f"{INDEX}- s1\n- s2\n")
    desk.put("MEMORY.md", f"{INDEX}- s2\n")
    desk.sync()
    assert desk.read("MEMORY.md") == f"{INDEX}- s2\n"


def test_a_file_that_a_session_wrote_blindly_and_somebody_renamed_is_the_memorys_all_the_same(desk: Desk):
    settled(desk)
    head = desk.head("a")
    Session(desk, "s").write("a.md", "all that the session knows\n")
    moved = (desk.folder / "a.md").rename(desk.folder / "b.md")
    desk.sync()
    there = desk.head("b")
    assert head is not None and there is not None and there.id == head.id and desk.head("a") is None
    assert "three" in desk.text("b") and moved.read_text() == desk.text("b")
    assert [record.theirs for record in desk.memories.conflicts()] == [b"all that the session knows\n"]
    assert desk.sync().quiet


@pytest.mark.parametrize("told", [True, False])
def test_what_a_session_edited_on_top_of_an_edit_that_nobody_knows_is_kept_along_with_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, told: bool
):
    settled(desk)
    session = Session(desk, "s")

    def both() -> None:
        desk.edit("a.md", "one\n", "one\nby hand\nby hand too\n")
        call = session.calls_edit("a.md", "four\n", "four\nby the session\n").begin().act()
        if told:
            call.tell()

    between(desk, monkeypatch, both)
    desk.memories.append("a", "by the tool\n")
    desk.sync(6.0)
    body = BODY.replace("one\n", "one\nby hand\nby hand too\n").replace("four\n", "four\nby the session\n")
    assert desk.text("a") == topic("a", body=f"{body}by the tool\n")
    assert desk.read("a.md") == desk.text("a")


def test_what_a_session_wrote_on_top_of_lines_that_nobody_knows_is_in_the_index_along_with_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    indexed(desk)
    session = Session(desk, "s")

    def both() -> None:
        desk.edit("MEMORY.md", "# Notes\n", "# Notes\n- by hand\n")
        session.load()
        session.write("MEMORY.md", f"{desk.read('MEMORY.md')}- by the session\n")

    between(desk, monkeypatch, both)
    desk.write("b", "words\n")
    desk.sync()
    lines = desk.read("MEMORY.md").split("\n")
    assert {"- by hand", "- by the session"} <= set(lines)


def test_a_call_that_was_given_up_and_comes_out_of_a_projection_takes_out_only_what_its_session_had_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    call = session.calls_write("MEMORY.md", f"{INDEX}- by the session\n").begin()
    desk.edit("MEMORY.md", "# Notes\n", "# Notes\n- by hand\n")
    desk.sync(20.0)
    between(desk, monkeypatch, call.act)
    desk.write("b", "words\n")
    call.tell()
    desk.sync()
    lines = desk.read("MEMORY.md").split("\n")
    assert {"- by hand", "- by the session", "- [b](b.md)"} <= set(lines)
    assert desk.sync().quiet


def test_what_is_saved_into_the_index_that_a_dead_process_replaced_takes_out_nothing_younger(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    indexed(desk)
    session = Session(desk, "s")
    session.load()
    show = Store.show

    def die_afterwards(self: Store, folder: int, changes: Sequence[ShownChange], **how: Any) -> None:
        if any(isinstance(change, ShownRow) and change.put for change in changes):
            raise Killed
        show(self, folder, changes, **how)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Store, "show", die_afterwards)
        desk.memories.rename("a", "b")
    desk.sync()
    left = desk.put(f".memstore-{2**22 + 1}-{'0' * 16}~MEMORY.md", f"{INDEX}- into the old file\n")
    os.utime(left, (1, 1))
    desk.put("MEMORY.md", f"{INDEX}- by hand\n")
    session.write("MEMORY.md", f"{INDEX}- by the session\n")
    desk.sync()
    lines = desk.read("MEMORY.md").split("\n")
    assert {"- into the old file", "- by hand", "- by the session"} <= set(lines)


class Hindered(Session):
    """Its hooks cannot write into the store just then."""

    def arrive(self, call: Arrival) -> None:
        store = self.desk.memories.store
        values = (call.id, call.kind, call.state, call.folder, call.name, call.session, call.message, call.worktree,
                  call.branch, call.found, call.original, call.result, call.at)  # fmt: skip
        spool.put(str(self.desk.memories.place.home.path), store.id, [("arrival", values)], call.at)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("kind", [Session, Hindered])
def test_what_a_session_writes_while_the_folder_is_scanned_takes_out_only_what_it_had_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, told: bool, kind: type[Session]
):
    settled(desk)
    call = kind(desk, "s").calls_write("a.md", topic("a", body="all that the session knows\n"))
    scan = Folder.scan

    def write_first(self: Folder):
        monkeypatch.setattr(Folder, "scan", scan)
        call.begin().act()
        if told:
            call.tell()
        return scan(self)

    monkeypatch.setattr(Folder, "scan", write_first)
    desk.during_pause = None if told else call.tell
    desk.sync()
    assert "three" in desk.text("a") and desk.read("a.md") == desk.text("a")
    assert [record.theirs for record in desk.memories.conflicts()] == [call.result]
    assert desk.sync().quiet


def test_a_row_with_the_id_of_another_sessions_call_is_not_filed_under_its_name(desk: Desk):
    settled(desk)
    settled(desk, "b")
    first = Session(desk, "s").calls_edit("a.md", "one\n", "one, s\n").begin()
    other = Session(desk, "t").calls_edit("b.md", "two\n", "two, t\n")
    other.id = first.id
    other.act().tell()
    first.act().tell()
    report = desk.sync()
    assert "two, t" not in desk.text("a") and "one, s" in desk.text("a")
    assert "two, t" in desk.text("b")  # from the file, which nobody signed
    assert noted(report, "a.md").rule == 8


def test_a_file_of_many_rows_is_worked_in_whole(desk: Desk):
    settled(desk)
    session = Session(desk, "s")
    session.read("a.md")
    for number in range(60):
        session.edit("a.md", "five\n", f"five\n{number}\n")
    desk.sync()
    assert desk.read("a.md") == desk.text("a") == topic("a", body=BODY + "".join(f"{n}\n" for n in reversed(range(60))))


def test_an_edit_that_nobody_knows_was_made_from_the_file_and_not_from_what_a_tool_wrote_meanwhile(desk: Desk):
    settled(desk)
    Silent(desk).write("a", BODY.replace("two\n", "two, by the tool\n"))
    desk.edit("a.md", "two\n", "two, by hand\n")
    Session(desk, "s").edit("a.md", "five\n", "five\nby the session\n")
    desk.sync()
    assert "two, by the tool" in desk.text("a") and "by the session" in desk.text("a")
    assert ["two, by hand" in record.theirs.decode() for record in desk.memories.conflicts()] == [True]


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("before", [False, True])
def test_sessions_whose_hooks_tell_in_another_order_make_no_conflict(desk: Desk, before: bool, between: bool):
    lines = "shop is at 0.\n\npay is at 0.\n\nauth is at 0.\n"
    settled(desk, body=lines)
    shop, pay, auth = (Session(desk, name) for name in ("shop", "pay", "auth"))
    for session, name in ((shop, "shop"), (pay, "pay"), (auth, "auth")):
        session.edit("a.md", f"{name} is at 0", f"{name} is at 1")
    desk.sync()
    if before:
        desk.sync()
    first = auth.calls_edit("a.md", "auth is at 1", "auth is at 2").begin().act()
    shop.calls_edit("a.md", "shop is at 1", "shop is at 2").begin().act().tell()
    if between:
        desk.sync()
    first.tell()
    desk.sync()
    assert desk.memories.conflicts() == []
    assert desk.text("a").endswith("shop is at 2.\n\npay is at 1.\n\nauth is at 2.\n")


@pytest.mark.parametrize("name", ["a.md", "MEMORY.md"])
def test_a_text_that_a_session_only_read_is_taken_in_from_what_a_dead_process_replaced(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
):
    indexed(desk)
    settled(desk, "other")
    session = Session(desk, "s")

    def saves_and_reads() -> None:
        desk.put(name, desk.read(name) + "by hand\n")
        session.load() if name == "MEMORY.md" else session.read(name)

    between(desk, monkeypatch, saves_and_reads)
    with monkeypatch.context() as context, pytest.raises(Killed):
        context.setattr(Folder, "is_in_place", die)
        desk.write("a", BODY.replace("one", "one, by the tool"), description="of the tool")
    desk.ahead += 61  # its process still runs, so that only age tells that the files it left are nobody's
    desk.sync()
    assert "by hand\n" in desk.read(name)
    assert "one, by the tool" in desk.read("a.md") == desk.text("a")
    assert desk.sync().quiet
