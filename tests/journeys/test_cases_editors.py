"""Cases H14 to H16: what editors and sync programs do to the files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from memstore.core.index import parse
from memstore.core.plan import Wanted
from memstore.files import temporary
from tests.files.desk import Desk, topic
from tests.files.outages import command, litter

ROOT = Path(__file__).parents[2]
DASH = "\u2014"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def put(desk: Desk, title: str, body: str = "...\n", description: str = "d") -> None:
    desk.memories.write(title, Wanted(body=body, description=description, type="project"))


def found(desk: Desk, words: str) -> list[str]:
    return [hit.path for hit in desk.memories.search(words)[1]]


def links(desk: Desk) -> list[str]:
    """The files that the lines of the index lead to."""
    return [piece.target for piece in parse(desk.read("MEMORY.md")) if piece.target]


# H14


DEBRIS = [
    *("x.md~", ".x.md.swp", "#x.md#", ".#x.md", "4913", "x.md.tmp.812.ab12cd", "x.md.bak", ".DS_Store", "desktop.ini"),
    *("x.sync-conflict-20260301-101500-ABCDEF7.md", "x (conflicted copy 2026-03-01).md", ".y.md.icloud", "Thumbs.db"),
    *(".x.md.Ab3dE9", "x.md.orig", "~$x.md", "._x.md", ".x.md.swo", "x.md.part", ".goutputstream-AB12", "x.md.rej"),
]


def test_h14_debris_is_no_memory_and_stays_while_editors_save_in_every_style(desk: Desk):
    desk.put("x.md", topic("x", body="the real one\n"))
    for name in DEBRIS:
        desk.put(name, "---\nname: x\n---\nOLD OR FOREIGN\n")
    debris = {name: desk.files()[name] for name in DEBRIS}
    report = desk.sync()
    assert desk.living() == ["x.md"]
    for name in ("x.sync-conflict-20260301-101500-ABCDEF7.md", "x (conflicted copy 2026-03-01).md"):
        assert any(name in notice and "x.md" in notice for notice in report.notices)
    desk.put("x.md.tmp.9.ff", topic("x", body="edit 1\n"))
    os.replace(desk.folder / "x.md.tmp.9.ff", desk.folder / "x.md")
    desk.sync()
    (desk.folder / "x.md").rename(desk.folder / "x.md~")
    desk.during_pause = lambda: desk.put("x.md", topic("x", body="edit 2\n"))
    desk.sync()
    desk.sync()
    debris["x.md~"] = desk.files()["x.md~"]
    assert desk.living() == ["x.md"] and desk.number("x") == 3 and "edit 2" in desk.text("x")
    assert found(desk, "FOREIGN") == []
    put(desk, "z")
    assert sorted(links(desk)) == ["x.md", "z.md"]
    assert {name: desk.files()[name] for name in DEBRIS} == debris
    assert desk.sync().absorbed == ()


def test_h14_a_note_that_lies_in_a_cloud_only_is_not_replaced(desk: Desk):
    put(desk, "x")
    desk.put(".y.md.icloud", b"bplist00")
    told = command(desk, "write", "y", "text")
    assert told.code == 0 and "not projected: y.md" in told.err and "iCloud" in told.err
    assert not (desk.folder / "y.md").exists() and "y.md" not in links(desk)
    (desk.folder / ".y.md.icloud").unlink()
    desk.put("y.md", topic("y", body="what was in the cloud\n"))
    desk.sync()
    texts = [desk.text("y"), *(conflict.theirs.decode() for conflict in desk.memories.store.conflicts())]
    assert any("what was in the cloud" in text for text in texts) and any("text" in text for text in texts)


def test_h14_a_save_that_leaves_the_path_empty_for_a_moment_is_no_deletion(desk: Desk):
    """With the program's own clock: other processes sync all the time while an editor saves backup-style."""
    desk.put("x.md", topic("x", body="edit 0\n"))
    desk.sync()
    stop = threading.Event()
    started = [sys.executable, "-m", "memstore", "-C", str(desk.base / desk.root), "sync"]
    failures: list[str] = []

    def keep_syncing() -> None:
        while not stop.is_set():
            ran = subprocess.run(started, cwd=ROOT, capture_output=True, text=True, check=False)
            if ran.returncode:
                failures.append(ran.stderr)

    worker = threading.Thread(target=keep_syncing)
    worker.start()
    try:
        for number in range(1, 6):
            (desk.folder / "x.md").rename(desk.folder / "x.md~")
            time.sleep(0.15)  # as the editor does
            desk.put("x.md", topic("x", body=f"edit {number}\n"))
            _until(partial(_says, desk, f"edit {number}"))
    finally:
        stop.set()
        worker.join()
    desk.sync()
    assert failures == [] and desk.living() == ["x.md"]
    versions = desk.memories.versions("x")
    assert [version.number for version in versions] == [1, 2, 3, 4, 5, 6]
    assert all(version.state.live for version in versions)
    assert "edit 5" in desk.read("x.md") and desk.sync().quiet


def _says(desk: Desk, words: str) -> bool:
    return words in desk.text("x")


def _until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "that never came true"
        time.sleep(0.02)


# H15


def _same_size(desk: Desk) -> None:
    path = desk.folder / "a.md"
    before = path.stat()
    desk.put("a.md", desk.read("a.md").replace("AAAA", "BBBB"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _same_size_by_rename(desk: Desk) -> None:
    path = desk.folder / "a.md"
    desk.put("a.md.tmp.1.ff", desk.read("a.md").replace("AAAA", "BBBB"))
    shutil.copystat(path, desk.folder / "a.md.tmp.1.ff")
    os.replace(desk.folder / "a.md.tmp.1.ff", path)


def _dated(seconds: int) -> Callable[[Desk], None]:
    def edit(desk: Desk) -> None:
        desk.edit("a.md", "AAAA", "BBBB")
        os.utime(desk.folder / "a.md", (seconds, seconds))

    return edit


H15: dict[str, Callable[[Desk], None]] = {
    "same size and time": _same_size,
    "same size and time, by rename": _same_size_by_rename,
    "in the year 2100": _dated(4_102_444_800),
    "in 1970": _dated(0),
    "before 1970": _dated(-86_400),
    "description alone": lambda desk: desk.edit("a.md", "description: d", "description: e"),
    "now": lambda desk: desk.edit("a.md", "AAAA", "BBBB"),
    "a space": lambda desk: desk.edit("a.md", "AAAA", "AAAA x"),
}


@pytest.mark.parametrize("first", [None, 0, 4_102_444_800], ids=["today", "1970", "2100"])
@pytest.mark.parametrize("edit", H15)
@pytest.mark.parametrize("wait", [0.0, 3.0], ids=["at once", "later"])
def test_h15_no_edit_is_missed_whatever_its_times_say(desk: Desk, edit: str, first: int | None, wait: float):
    desk.put("a.md", topic("a", body="AAAA\n"))
    if first is not None:
        os.utime(desk.folder / "a.md", (first, first))
    desk.sync()
    H15[edit](desk)
    text = desk.read("a.md")
    desk.sync(wait)
    assert desk.text("a") == text == desk.read("a.md") and desk.number("a") == 2
    assert desk.sync().quiet
    desk.write("a", "by a tool\n")
    assert desk.read("a.md") == desk.text("a")


def test_h15_edits_within_one_tick_of_the_clock_are_all_found(desk: Desk):
    desk.ahead = 0
    desk.put("a.md", topic("a", body="0000\n"))
    desk.memories.sync()
    for number in range(1, 40):
        desk.put("a.md", topic("a", body=f"{number:04}\n"))
        desk.memories.sync()
        assert f"{number:04}" in desk.text("a")
    assert desk.number("a") == 40


def test_h15_a_clock_that_goes_back_misses_nothing_and_decides_nothing(desk: Desk):
    desk.put("a.md", topic("a", body="one\n"))
    desk.sync()
    for back, number in ((-7_200.0, 2), (-86_400.0 * 400, 3), (3_600.0, 4)):
        desk.ahead = back
        desk.edit("a.md", "one\n", f"one\n{number}\n")
        desk.sync()
        assert desk.number("a") == number and desk.read("a.md") == desk.text("a")
    assert desk.sync().quiet


def test_h15_a_burst_of_new_files_is_taken_in_to_the_last(desk: Desk):
    desk.put("first.md", topic("first"))
    desk.sync()
    for number in range(600):
        desk.put(f"n{number:04}.md", topic(f"n{number:04}", body=f"{number}\n"))
    assert len(desk.sync().absorbed) == 600
    assert len(desk.living()) == 601
    assert desk.sync().quiet


# H16


def test_h16_nothing_echoes(desk: Desk):
    desk.put("e.md", topic("e", "loop test"))
    desk.put("MEMORY.md", f"- [E](e.md) {DASH} x\n")
    desk.sync()
    stamps, versions, last = desk.stamps(), desk.versions(), _last(desk)
    with mock.patch.object(temporary, "write", side_effect=AssertionError("a file is written at rest")):
        for _ in range(5):
            assert desk.sync().quiet
        assert (desk.stamps(), desk.versions(), _last(desk)) == (stamps, versions, last)
        desk.edit("e.md", "Body.", "Body, by hand.")
        stamps = desk.stamps()
        for _ in range(3):
            desk.sync()
            assert desk.stamps() == stamps
    assert desk.number("e") == 2
    desk.write("e", "by a tool\n")
    desk.memories.delete("e")
    for _ in range(3):
        desk.sync()
        assert desk.living() == [] and not (desk.folder / "e.md").exists()
    assert desk.number("e") == 4


def test_h16_a_deletion_right_after_a_write_holds_while_others_sync(desk: Desk):
    desk.put("keep.md", topic("keep"))
    desk.sync()
    started = [sys.executable, "-m", "memstore", "-C", str(desk.base / desk.root), "sync"]
    for number in range(3):
        others = [subprocess.Popen(started, cwd=ROOT, stdout=subprocess.DEVNULL) for _ in range(2)]
        desk.write(f"e{number}", "text\n")
        desk.memories.delete(f"e{number}")
        assert [other.wait(60) for other in others] == [0, 0]
    desk.sync()
    desk.sync()
    assert desk.living() == ["keep.md"] and not list(desk.folder.glob("e*.md"))
    assert {desk.number(f"e{number}") for number in range(3)} == {2}
    assert litter(desk.folder) == [] and desk.sync().quiet


def test_h16_two_folders_of_one_store_do_not_answer_each_other(desk: Desk):
    desk.put("e.md", topic("e"))
    desk.sync()
    there = desk.second()
    there.sync()
    there.edit("e.md", "Body.", "Body, from there.")
    for _ in range(2):
        there.sync()
        desk.sync()
    assert desk.number("e") == 2 and desk.read("e.md") == there.read("e.md")
    stamps = desk.stamps(), there.stamps()
    for _ in range(3):
        assert desk.sync().quiet and there.sync().quiet
    assert (desk.stamps(), there.stamps()) == stamps


def _last(desk: Desk) -> int:
    return desk.memories.store.operations(limit=1)[0][0].seq
