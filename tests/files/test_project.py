"""Rules 33 to 36: from the store to files, and what unexpectedly comes out of there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.files import exchange, temporary
from memstore.files.folder import Folder
from memstore.files.walk import FileRead
from tests.files.desk import Desk, Silent, noted, rules, topic
from tests.files.outages import failing

BODY = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def silent(desk: Desk) -> Silent:
    return Silent(desk)


def settled(desk: Desk, name: str = "a", body: str = BODY) -> None:
    desk.put(f"{name}.md", topic(name, body=body))
    desk.sync()
    assert desk.sync().quiet


def litter(desk: Desk) -> list[str]:
    return [name for name in desk.files() if temporary.is_ours(os.path.basename(name))]


def between(desk: Desk, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Lets somebody act between the last look at the folder and the projection into it."""
    put_many = Folder.put_many

    def first(self: Folder, files: object):
        monkeypatch.setattr(Folder, "put_many", put_many)
        act()
        return self.put_many(files)  # type: ignore[arg-type]  # what the room itself passes on

    monkeypatch.setattr(Folder, "put_many", first)


def test_rule_33_a_file_is_exchanged_and_gets_younger_by_two_milliseconds(desk: Desk):
    settled(desk)
    future = 4_102_444_800 * 10**9
    os.utime(desk.folder / "a.md", ns=(future, future))
    desk.sync()
    inode = (desk.folder / "a.md").stat().st_ino
    desk.write("a", BODY + "six\n")
    status = (desk.folder / "a.md").stat()
    assert status.st_ino != inode
    assert status.st_mtime_ns >= future + 2_000_000
    row = desk.shown("a.md")
    assert row is not None and row.content == (desk.folder / "a.md").read_bytes()
    assert desk.sync().quiet


def test_rule_33_an_absent_file_is_made_only_where_a_rule_asks_for_it(desk: Desk):
    settled(desk)
    settled(desk, "b", "other\n")
    (desk.folder / "a.md").unlink()
    desk.write("b", "changed\n")
    assert not (desk.folder / "a.md").exists()


def test_rule_34_the_file_of_a_deleted_memory_goes(desk: Desk):
    settled(desk)
    settled(desk, "b", "other\n")
    deleted = desk.memories.delete("a")
    assert deleted.files.removed == ("a.md",)
    assert not (desk.folder / "a.md").exists()
    assert litter(desk) == []
    assert desk.set_aside() == []
    assert desk.sync().quiet


def test_rule_34_a_stamped_copy_goes_as_well(desk: Desk, silent: Silent):
    settled(desk)
    silent.retire("a")
    desk.put("a.md", desk.read("a.md").replace("\n", "\r\n"))
    assert desk.sync().removed == ("a.md",)
    assert not (desk.folder / "a.md").exists()
    assert desk.sync().quiet


def test_rule_35_an_edit_that_comes_out_of_a_write_is_merged(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    between(desk, monkeypatch, lambda: desk.edit("a.md", "five\n", "five, by hand\n"))
    saved = desk.write("a", BODY.replace("one", "one, by the tool"))
    assert noted(saved.files, "a.md").what == "merged"
    assert "one, by the tool" in desk.read("a.md") and "five, by hand" in desk.read("a.md")
    assert desk.read("a.md") == desk.text("a")
    assert litter(desk) == []
    assert desk.sync().quiet


def test_rule_35_an_edit_of_the_same_line_becomes_a_conflict(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    between(desk, monkeypatch, lambda: desk.edit("a.md", "one\n", "one, by hand\n"))
    desk.write("a", BODY.replace("one", "one, by the tool"))
    assert "one, by the tool" in desk.read("a.md")
    assert [conflict.theirs for conflict in desk.memories.store.conflicts()] == [
        topic("a", body=BODY.replace("one", "one, by hand")).encode()
    ]
    assert litter(desk) == []
    assert desk.sync().quiet


def test_rule_35_an_edit_of_the_old_file_follows_a_memory_that_a_tool_renamed(desk: Desk):
    settled(desk)
    desk.memories.files.absorb()
    Silent(desk).rename("a", "b.md")
    desk.edit("a.md", "five\n", "five, by hand\n")
    desk.memories.files.settle()
    assert desk.living() == ["b.md"]
    assert "five, by hand" in desk.read("b.md")
    assert desk.read("b.md") == desk.text("b")
    assert not (desk.folder / "a.md").exists()
    assert litter(desk) == []
    assert desk.sync().quiet


def test_rule_35_an_edit_of_a_file_that_a_tool_deletes_brings_it_back(desk: Desk):
    settled(desk)
    desk.memories.files.absorb()
    Silent(desk).retire("a")
    desk.edit("a.md", "five\n", "five, by hand\n")
    report = desk.memories.files.settle()
    assert noted(report, "a.md").rule == 26
    assert "five, by hand" in desk.read("a.md")
    assert desk.living() == ["a.md"]
    assert litter(desk) == []
    assert desk.sync().quiet


def test_rule_35_a_file_that_is_still_written_is_kept_until_it_is_whole(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    half = desk.read("a.md") + "half a l"
    whole = desk.read("a.md") + "half a line\n"

    def kept() -> Path:
        (name,) = litter(desk)
        return desk.folder / name

    def finish() -> None:
        monkeypatch.undo()
        kept().write_text(whole)

    desk.during_pause = finish
    between(desk, monkeypatch, lambda: unsettled(monkeypatch, desk.put("a.md", half)))
    desk.write("a", BODY.replace("one", "one, by the tool"))
    assert "half a line\n" in desk.read("a.md") and "one, by the tool" in desk.read("a.md")
    assert [
        version.state.content for version in desk.memories.versions("a") if b"half a l\n" in version.state.content
    ] == []
    assert litter(desk) == []
    assert desk.sync().quiet


def unsettled(monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    """From now on every file looks as if somebody were writing it."""
    from memstore.files import walk

    read = walk.read

    def writing(*args: object, **how: object):
        found = read(*args, **how)  # type: ignore[arg-type]  # what the room itself passes on
        return FileRead(found.content, found.stamp, False, found.mode) if isinstance(found, FileRead) else found

    monkeypatch.setattr(walk, "read", writing)


def test_rule_35_a_file_that_is_written_for_long_is_taken_in_by_a_later_sync(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    settled(desk)
    text = desk.read("a.md").replace("five\n", "five, by hand\n")
    between(desk, monkeypatch, lambda: unsettled(monkeypatch, desk.put("a.md", text)))
    saved = desk.write("a", BODY.replace("one", "one, by the tool"))
    assert len(litter(desk)) == 1
    assert any("still writing" in notice for notice in saved.files.notices)
    monkeypatch.undo()
    desk.sync(70)
    assert "five, by hand" in desk.read("a.md") and "one, by the tool" in desk.read("a.md")
    assert litter(desk) == []
    assert desk.sync().quiet


def test_rule_35_lines_of_an_index_that_comes_out_are_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    desk.put("MEMORY.md", "# Mine\n- [A](a.md) \u2014 hook\n")
    desk.sync()
    between(desk, monkeypatch, lambda: desk.put("MEMORY.md", "# Mine\n- [A](a.md) \u2014 my own hook\n- a note\n"))
    desk.write("b", "text\n")
    assert desk.read("MEMORY.md") == "# Mine\n- [A](a.md) \u2014 my own hook\n- a note\n- [b](b.md)\n"
    assert litter(desk) == []
    assert desk.sync().quiet


def test_rule_35_an_index_that_comes_out_and_is_not_utf_8_is_put_back(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    desk.put("MEMORY.md", "# Mine\n- [A](a.md)\n")
    desk.sync()
    between(desk, monkeypatch, lambda: desk.put("MEMORY.md", b"# caf\xe9\n"))
    saved = desk.write("b", "text\n")
    assert [unshown.path for unshown in saved.files.pending] == ["MEMORY.md"]
    assert (desk.folder / "MEMORY.md").read_bytes() == b"# caf\xe9\n"
    assert litter(desk) == []
    desk.write("c", "text\n")
    assert (desk.folder / "MEMORY.md").read_bytes() == b"# caf\xe9\n"
    desk.put("MEMORY.md", "# caf\u00e9\n- [A](a.md)\n")
    desk.sync()
    assert desk.read("MEMORY.md") == "# caf\u00e9\n- [A](a.md)\n- [b](b.md)\n- [c](c.md)\n"
    assert desk.sync().quiet


def test_rule_36_a_file_that_says_the_same_is_not_written(desk: Desk):
    settled(desk)
    stamped = desk.read("a.md").replace("type: project\n", "type: project\nmodified: 2026-03-01\n")
    desk.put("a.md", stamped)
    desk.sync()
    desk.memories.pin("a")
    assert desk.read("a.md") == stamped
    desk.write("a", BODY.replace("one", "changed"))
    desk.memories.undo(str(desk.memories.store.operations(limit=1)[0][0].seq))
    assert desk.sync().quiet


def test_what_found_no_room_is_told_also_after_a_stamp_came_out(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    for number in range(170):
        Silent(desk).create(f"m{number:03}.md", "text\n")
    desk.sync()
    stamped = desk.read("m000.md").replace("type: project\n", "type: project\nmodified: 2026-03-01\n")
    between(desk, monkeypatch, lambda: desk.put("m000.md", stamped))
    saved = desk.write("m000", "changed\n")
    assert desk.read("m000.md") == desk.text("m000")
    assert saved.files.omitted


# Failures


def test_what_cannot_be_written_is_pending_and_mended_by_the_next_sync(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    settled(desk, "b", "other\n")
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "exchange", failing_for("a.md", exchange.exchange))
        saved = desk.write("a", BODY + "six\n")
        assert [unshown.path for unshown in saved.files.pending] == ["a.md"]
        assert saved.memory.state.content.endswith(b"six\n")
        assert litter(desk) == []
        saved = desk.write("b", "changed\n")
        assert desk.read("b.md").endswith("changed\n")
        assert [unshown.path for unshown in saved.files.pending] == ["a.md"]
    assert "six" not in desk.read("a.md")
    desk.sync()
    assert desk.read("a.md") == desk.text("a")
    assert desk.sync().quiet


def failing_for(name: str, work: Callable[..., str]) -> Callable[..., str]:
    def call(directory: int, one: str, other: str, spare: str) -> str:
        if name in (one, other):
            raise OSError(28, "No space left on device")
        return work(directory, one, other, spare)

    return call


def test_a_full_disk_after_the_commit_is_told_and_not_raised(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    from memstore.errors import DiskFull

    settled(desk)

    def full(*_: object, **__: object) -> None:
        raise DiskFull("the disk is full", hint="free some space")

    with monkeypatch.context() as patch:
        patch.setattr(type(desk.memories.store), "show", full)
        saved = desk.write("a", BODY + "six\n")
    assert saved.memory.version == 2
    assert any("disk is full" in notice for notice in saved.files.notices)
    desk.sync()
    assert desk.read("a.md") == desk.text("a")
    assert desk.sync().quiet


def test_what_a_dead_process_left_is_taken_in_or_removed(desk: Desk):
    settled(desk)
    desk.write("a", BODY + "six\n")
    dead = 2**22 + 1
    mine = f".memstore-{dead}-{'0' * 16}~"
    desk.put(mine, "never whole")
    desk.put(f"{mine[:-2]}1~a.md", desk.text("a"))
    desk.put(f"{mine[:-2]}2~a.md", topic("a", body=BODY))
    desk.put(f"{mine[:-2]}3~a.md", topic("a", body=BODY.replace("two", "two, by hand")))
    desk.sync()
    assert litter(desk) == []
    assert "two, by hand" in desk.read("a.md") and "six" in desk.read("a.md")
    assert desk.sync().quiet


def test_an_index_that_a_dead_process_left_takes_no_younger_line_out(desk: Desk):
    settled(desk)
    desk.put("MEMORY.md", "# Mine\n- [A](a.md) \u2014 hook\n")
    desk.sync()
    for name in ("b", "c"):
        desk.write(name, "text\n")
    left = f".memstore-{2**22 + 1}-{'0' * 16}~MEMORY.md"
    desk.put(left, "# Mine\n- [A](a.md) \u2014 hook\n- a note by hand\n")
    desk.sync()
    assert litter(desk) == []
    lines = desk.read("MEMORY.md").split("\n")
    assert set(lines) == {"# Mine", "- [A](a.md) \u2014 hook", "- a note by hand", "- [b](b.md)", "- [c](c.md)", ""}
    assert desk.sync().quiet


def test_a_memory_that_an_edit_of_its_old_file_brings_back_keeps_its_new_file(desk: Desk, silent: Silent):
    settled(desk)
    desk.put("MEMORY.md", "- [A](a.md) \u2014 hook\n")
    desk.sync()
    with failing(errno.ENOSPC, "MEMORY.md")(desk.folder):  # so that the old file stays: the index still names it
        desk.memories.rename("a", "b")
    assert {"a.md", "b.md"} <= desk.files().keys()
    silent.retire("b")
    desk.edit("a.md", "two", "two, by hand")
    desk.sync()
    assert "two, by hand" in desk.text("b") and desk.read("b.md") == desk.text("b")
    assert "a.md" not in desk.files()
    assert desk.sync().quiet


def test_two_memories_that_changed_places_before_anybody_projected_them(desk: Desk, silent: Silent):
    settled(desk)
    silent.rename("a", "b.md")
    silent.create("a.md", "a new one\n")
    desk.sync()
    assert desk.read("b.md") == desk.text("b") and "three" in desk.read("b.md")
    assert desk.read("a.md") == desk.text("a") and "a new one" in desk.read("a.md")
    assert litter(desk) == []
    assert desk.sync().quiet


def test_an_edit_meant_for_a_deleted_memory_meets_the_new_one_of_its_name(desk: Desk):
    settled(desk)
    desk.memories.files.absorb()
    Silent(desk).rename("a", "b.md")
    Silent(desk).retire("b")
    Silent(desk).write("a", "a new one\n")
    desk.edit("a.md", "five\n", "five, by hand\n")
    desk.memories.files.settle()
    assert "a new one" in desk.read("a.md")
    kept = [conflict.theirs.decode() for conflict in desk.memories.store.conflicts()]
    kept += [memory.state.content.decode() for memory in desk.memories.store.memories(retired=True)]
    assert any("five, by hand" in text for text in kept)
    assert litter(desk) == []
    assert desk.sync().quiet


@pytest.mark.parametrize("scanned", [False, True])
def test_an_edit_meant_for_a_retired_memory_whose_path_is_taken(desk: Desk, silent: Silent, scanned: bool):
    settled(desk)
    desk.memories.files.absorb()
    old = desk.head("a")
    silent.rename("a", "x.md")
    silent.retire("x")
    silent.write("a", "a new one\n")
    assert desk.head("a") != old
    desk.edit("a.md", "five\n", "five, by hand\n")
    report = desk.sync() if scanned else desk.memories.files.settle()
    assert report.pending == ()
    assert "a new one" in desk.read("a.md")
    (conflict,) = desk.memories.store.conflicts()
    assert conflict.base is None and b"five, by hand" in conflict.theirs
    assert desk.sync().quiet


def _noting(step: str, steps: list[str], work: Callable[..., object]) -> Callable[..., object]:
    def call(*given: object, **how: object) -> object:
        steps.append(step)
        return work(*given, **how)

    return call


def test_a_tool_that_spells_a_name_anew_leaves_one_file(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    steps: list[str] = []
    for step in ("take", "put_many"):
        monkeypatch.setattr(Folder, step, _noting(step, steps, getattr(Folder, step)))
    desk.memories.rename("a", "A")
    assert steps[0] == "take"  # where both names are one file, it must not go after it was put
    assert sorted(name for name in desk.files() if name.lower() == "a.md") == ["A.md"]
    assert desk.sync().quiet
    assert desk.living() == ["A.md"]


def test_a_memory_renamed_onto_a_strangers_file_loses_neither(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    stranger = topic("b", body="a stranger's\n")
    between(desk, monkeypatch, lambda: desk.put("b.md", stranger))
    desk.memories.rename("a", "b")
    assert desk.read("b.md") == desk.text("b") and "three" in desk.read("b.md")
    assert [conflict.theirs.decode() for conflict in desk.memories.store.conflicts()] == [stranger]
    assert litter(desk) == []
    assert desk.sync().quiet


@pytest.mark.parametrize("path", ["team/x.md", "logs/2026/x.md", "node_modules/x.md", "d/" * 17 + "x.md"])
def test_a_path_that_no_scan_reaches_is_saved_and_said_not_to_be_shown(desk: Desk, path: str):
    settled(desk)
    Silent(desk).rename("a", path)
    for _ in range(2):
        report = desk.sync()
        assert [unshown.path for unshown in report.pending] == [path]
    assert desk.living() == [path]
    assert not (desk.folder / path).exists()


def test_a_name_in_the_form_of_a_conflict_copy_is_saved_and_said_not_to_be_shown(desk: Desk):
    settled(desk)
    name = "x.sync-conflict-20260301-101500-ABCDEF7.md"
    Silent(desk).rename("a", name)
    for _ in range(2):
        report = desk.sync()
        assert [unshown.path for unshown in report.pending] == [name]
    assert desk.living() == [name]


def test_modes_stay_and_new_files_follow_the_umask(desk: Desk):
    settled(desk)
    os.chmod(desk.folder / "a.md", 0o640)
    desk.sync()
    before = os.umask(0o027)
    try:
        desk.write("a", "changed\n")
        desk.write("b", "new\n")
    finally:
        os.umask(before)
    assert (desk.folder / "a.md").stat().st_mode & 0o777 == 0o640
    assert (desk.folder / "b.md").stat().st_mode & 0o777 == 0o640


def test_topics_are_there_before_the_index_names_them(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    settled(desk)
    seen: list[tuple[bool, bool]] = []

    def watched(work: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            done = work(*given)
            index = desk.folder / "MEMORY.md"
            seen.append(((desk.folder / "new.md").exists(), index.exists() and "new.md" in index.read_text()))
            return done

        return call

    for name in ("publish", "exchange"):
        monkeypatch.setattr(exchange, name, watched(getattr(exchange, name)))
    desk.write("new", "text\n")
    assert seen == [(True, False), (True, True)]


def test_two_folders_of_one_store_show_the_same(desk: Desk):
    settled(desk)
    there = desk.second()
    there.sync()
    assert there.read("a.md") == desk.read("a.md")
    there.edit("a.md", "five\n", "five, there\n")
    there.sync()
    assert rules(desk.sync()) == []
    assert "five, there" in desk.read("a.md")
    desk.memories.delete("a")
    there.sync()
    assert not (there.folder / "a.md").exists()
    assert desk.sync().quiet and there.sync().quiet
