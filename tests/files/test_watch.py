"""The watch: when it looks, what it says, and that nothing depends on what the system tells of changes."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

import pytest

from memstore.errors import PlaceRefused, StoreNewer, StoreUnavailable
from memstore.files.report import Noted, SyncReport, Unshown
from memstore.files.watch import Schedule, _End, directories, matters, news
from memstore.files.watch_lock import NAME, Watcher, watched_by, watcher_of
from tests.files.desk import Desk, Silent, topic
from tests.files.watching import Watching, holds, rests, says, silently, until

# When to look


def test_a_hint_is_followed_by_a_look_at_once_and_another_when_stamps_tell():
    schedule = Schedule(10.0)
    schedule.looked(0.01, 0.01)
    assert schedule.due == pytest.approx(10.01)
    schedule.hint(3.0)
    assert schedule.due == 3.0
    schedule.looked(3.01, 0.01)
    assert schedule.due == pytest.approx(5.2)
    schedule.looked(5.21, 0.01)
    assert schedule.due == pytest.approx(15.21)


def test_what_must_be_seen_twice_is_seen_again_soon_and_later_less_often():
    schedule = Schedule(10.0)
    schedule.hint(1.0)
    schedule.looked(1.01, 0.01, unsure=True)
    assert schedule.due == pytest.approx(1.31)
    schedule.looked(20.01, 0.01, unsure=True)
    assert schedule.due == pytest.approx(22.01)


def test_what_is_in_the_way_for_the_first_time_is_tried_again_after_a_second():
    schedule = Schedule(10.0)
    schedule.looked(5.01, 0.01, troubled=True)
    assert schedule.due == pytest.approx(6.01)


def test_looks_that_are_much_work_never_take_more_than_half_of_a_core():
    schedule = Schedule(10.0)
    schedule.looked(3.0, 3.0)
    schedule.hint(3.5)
    assert schedule.due == 6.0
    schedule.looked(9.0, 3.0, unsure=True)
    assert schedule.due == 12.0


def test_unasked_looks_are_rarer_where_they_are_much_work_but_come_every_minute():
    schedule = Schedule(10.0)
    for worked, wait in ((0.001, 10.0), (0.1, 25.0), (3.0, 60.0)):
        schedule.looked(100.0, worked)
        assert schedule.due == pytest.approx(100.0 + wait)
    schedule.interval = 600.0
    schedule.looked(100.0, 3.0)
    assert schedule.due == 700.0


def test_a_report_says_once_what_stays_as_it_was():
    before = SyncReport("/f", notices=("one",), pending=(Unshown("a.md", "no"),), omitted=("x.md",))
    same = news(
        before, SyncReport("/f", notices=("one",), pending=before.pending, omitted=("x.md",), waiting=("b.md",))
    )
    assert same == SyncReport("/f") and same.quiet
    more = news(before, SyncReport("/f", (Noted("a.md", "revised", 22),), notices=("one", "two"), omitted=("y.md",)))
    assert (more.notices, more.omitted, len(more.absorbed)) == (("two",), ("y.md",), 1)


# What is listened to


def test_only_directories_that_a_scan_enters_are_listened_to(tmp_path: Path):
    for path in ("a/b", ".git/objects", "logs/x", "sub/logs", "node_modules/m", "a/.hidden"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "link").symlink_to("/")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff")
    found = {path[len(str(tmp_path)) :] for path in directories(str(tmp_path))}
    assert found == {"", "/a", "/a/b", "/sub", "/sub/logs"}


@pytest.mark.parametrize(
    "name", [".memstore-12-0123456789abcdef~a.md", ".memstore-12-0123456789abcdef~", "a.md~", ".a.md.swp"]
)
def test_files_of_a_moment_are_no_hint(name: str):
    assert not matters(f"/folder/{name}")


@pytest.mark.parametrize("name", ["a.md", "MEMORY.md", ".memstore", "sub", ".a.md.icloud"])
def test_memories_directories_and_the_claim_are_hints(name: str):
    assert matters(f"/folder/{name}")


# Who watches


def test_one_process_watches_a_store_and_the_next_is_told_which(tmp_path: Path):
    first = Watcher(os.getpid(), 1_772_323_200_000_000, "/some/folder")
    assert watcher_of(str(tmp_path)) is None
    with watched_by(str(tmp_path), first, lambda _: None):
        assert watcher_of(str(tmp_path)) == first
        with (
            pytest.raises(PlaceRefused, match=rf"process {os.getpid()} watches .* in /some/folder"),
            watched_by(str(tmp_path), Watcher(1, 0, None), lambda _: None),
        ):
            pass
        assert watcher_of(str(tmp_path)) == first
    assert watcher_of(str(tmp_path)) is None


def test_a_shorter_holder_leaves_nothing_of_the_one_before(tmp_path: Path):
    for folder in ("/a/long/name/of/a/folder", "/b", None):
        with watched_by(str(tmp_path), Watcher(7, 8, folder), lambda _: None):
            assert watcher_of(str(tmp_path)) == Watcher(7, 8, folder)


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"pid": "x", "since": 1, "folder": null}', b"[" * 5000])
def test_a_holder_that_has_not_said_who_it_is_is_there_all_the_same(tmp_path: Path, said: bytes):
    with watched_by(str(tmp_path), Watcher(7, 8, None), lambda _: None):
        (tmp_path / NAME).write_bytes(said)
        assert watcher_of(str(tmp_path)) == Watcher(0, 0, None)


def test_a_link_in_place_of_the_lock_is_refused(tmp_path: Path):
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreUnavailable), watched_by(str(tmp_path), Watcher(7, 8, None), lambda _: None):
        pass
    assert not (tmp_path / "elsewhere").exists()


# Watching


def test_an_edit_is_in_the_store_soon_and_the_file_is_not_touched(desk: Desk):
    desk.write("a", "First.\n")
    with Watching(desk):
        desk.edit("a.md", "First.", "Second.")
        stamps = desk.stamps()
        until(lambda: "Second." in desk.text("a"))
        assert desk.number("a") == 2
        assert desk.stamps() == stamps


def test_at_rest_nothing_is_written(desk: Desk):
    desk.ahead = 0.0
    desk.write("a", "First.\n")
    with Watching(desk, interval=0.1) as watching:
        desk.edit("a.md", "First.", "Second.")
        until(lambda: desk.number("a") == 2)
        database = Path(desk.memories.store.path)
        log = database.with_name(database.name + "-wal")
        until(lambda: rests(desk, "a.md"))

        def state() -> object:
            return desk.stamps(), desk.versions(), log.stat().st_mtime_ns, database.stat().st_mtime_ns

        before = state()
        holds(lambda: state() == before, 2.0)
        assert len(watching.reports) == 2


def test_a_new_file_in_a_new_directory_is_taken_in_and_its_edits_are(desk: Desk):
    desk.ahead = 0.0
    desk.write("a", "First.\n")
    with Watching(desk):
        desk.put("sub/deeper/b.md", topic("b", body="One.\n"))
        until(lambda: "sub/deeper/b.md" in desk.living())
        until(lambda: rests(desk, "sub/deeper/b.md"))
        desk.edit("sub/deeper/b.md", "One.", "Two.")
        until(lambda: "Two." in desk.text("sub/deeper/b.md"))


def test_a_folder_that_is_not_there_yet_is_waited_for(desk: Desk):
    with Watching(desk):
        assert not desk.folder.exists()
        desk.put("a.md", topic("a"))
        until(lambda: desk.living() == ["a.md"])
        desk.edit("a.md", "Body.", "Other.")
        until(lambda: "Other." in desk.text("a"))


def test_a_folder_that_was_swept_away_is_put_back_after_a_second_look(desk: Desk):
    for name in "abcde":
        desk.write(name, "Text.\n")
    with Watching(desk) as watching:
        shutil.rmtree(desk.folder)
        waited = until(lambda: (desk.folder / "MEMORY.md").exists())
        assert waited > 0.9
        assert sorted(path.name for path in desk.folder.glob("?.md")) == ["a.md", "b.md", "c.md", "d.md", "e.md"]
        until(lambda: [noted.rule for noted in watching.noted()] == [32])
        desk.edit("a.md", "Text.", "New text.")
        until(lambda: "New text." in desk.text("a"))
    assert len(desk.living()) == 5


def test_a_folder_that_goes_away_and_returns_within_the_second_is_left_as_it_is(desk: Desk):
    desk.write("a", "Text.\n")
    with Watching(desk) as watching:
        before = desk.stamps()
        desk.folder.rename(desk.base / "away")
        holds(lambda: not desk.folder.exists(), 0.3)
        (desk.base / "away").rename(desk.folder)
        desk.edit("a.md", "Text.", "New text.")
        until(lambda: "New text." in desk.text("a"))
        assert desk.stamps().keys() == before.keys()
        until(lambda: [noted.rule for noted in watching.noted()] == [22])


def test_another_directory_in_place_of_the_folder_is_noticed(desk: Desk):
    desk.write("a", "Text.\n")
    with Watching(desk):
        copy = desk.base / "copy"
        shutil.copytree(desk.folder, copy)
        (copy / "b.md").write_text(topic("b"))
        desk.folder.rename(desk.base / "away")
        copy.rename(desk.folder)
        until(lambda: desk.living() == ["a.md", "b.md"])
        desk.edit("b.md", "Body.", "Other.")
        until(lambda: "Other." in desk.text("b"))


def test_a_directory_above_that_is_another_one_by_now_is_noticed(desk: Desk):
    desk.ahead = 0.0
    desk.write("a", "Text.\n")
    with Watching(desk):
        until(lambda: rests(desk, "a.md"))
        above = desk.folder.parent
        shutil.copytree(above, desk.base / "copy")
        above.rename(desk.base / "away")
        (desk.base / "copy").rename(above)
        desk.edit("a.md", "Text.", "New text.")
        until(lambda: "New text." in desk.text("a"), 5)


def test_a_file_that_is_held_open_for_writing_is_taken_in_once_it_is_closed(desk: Desk):
    desk.write("a", "Text.\n")
    with Watching(desk):
        with open(desk.folder / "a.md", "a") as file:
            file.write("More.\n")
            file.flush()
            holds(lambda: desk.number("a") == 1, 1.0)
        assert until(lambda: desk.number("a") == 2) < 5


def test_a_deleted_file_is_retired_after_a_second_look(desk: Desk):
    desk.write("a", "Text.\n")
    desk.write("b", "Text.\n")
    with Watching(desk) as watching:
        (desk.folder / "b.md").unlink()
        assert until(lambda: desk.living() == ["a.md"]) > 0.9
        until(lambda: ("b.md", "retired") in [(noted.path, noted.what) for noted in watching.noted()])


def test_the_systems_watcher_is_left_where_its_own_clock_keeps_it_waiting():
    now, ended = [0.0], [False]
    end = _End(lambda: ended[0], lambda: now[0])
    assert not end.is_set()
    now[0] = 4.9
    assert not end.is_set()
    now[0] = 5.1
    assert end.is_set()
    now[0], ended[0] = 0.0, True
    assert end.is_set()


# Hints that fail


def test_an_edit_of_which_nobody_was_told_is_found_by_the_next_regular_look(desk: Desk):
    desk.write("a", "First.\n")
    with Watching(desk, interval=0.5):
        silently(desk.folder / "a.md", desk.read("a.md").replace("First.", "Other."))
        until(lambda: "Other." in desk.text("a"))


def test_a_machine_that_was_suspended_is_looked_at_when_it_wakes(desk: Desk):
    desk.ahead = 0.0
    desk.write("a", "First.\n")
    with Watching(desk):
        until(lambda: rests(desk, "a.md"))
        silently(desk.folder / "a.md", desk.read("a.md").replace("First.", "Other."))
        holds(lambda: "First." in desk.text("a"), 1.0)
        desk.ahead += 3_600  # the person's clock went on while the other stood still
        until(lambda: "Other." in desk.text("a"))


def test_a_clock_that_is_set_back_does_not_stop_the_watch(desk: Desk):
    desk.write("a", "First.\n")
    with Watching(desk, interval=1.0):
        desk.ahead -= 7_200
        desk.edit("a.md", "First.", "Second.")
        until(lambda: "Second." in desk.text("a"))


def test_a_file_name_that_nobody_can_read_stops_nothing(desk: Desk):
    desk.write("a", "First.\n")
    with Watching(desk) as watching:
        strange = os.fsencode(desk.folder) + b"/x\xff.md"
        for round in range(2):
            with open(strange, "ab") as file:
                file.write(b"x")
            desk.edit("a.md", "First." if round == 0 else "Edit 0.", f"Edit {round}.")
            until(partial(says, desk, "a", f"Edit {round}."))
        assert len([notice for notice in watching.notices() if "left alone" in notice]) == 1


def test_what_another_process_committed_and_did_not_show_is_shown(desk: Desk):
    desk.write("a", "Text.\n")
    with Watching(desk, interval=0.5) as watching:
        Silent(desk).create("b.md", "By a process that died.\n")
        until((desk.folder / "b.md").exists)
        until(lambda: "b.md" in [path for report in list(watching.reports) for path in report.projected])


# What is in the way


def test_an_edit_that_meets_a_busy_store_is_taken_in_soon_after(desk: Desk):
    desk.write("a", "Text.\n")
    with Watching(desk) as watching:
        with desk.memories.store._link.writing():
            desk.edit("a.md", "Text.", "New text.")
            until(watching.notices, 30)
        until(lambda: "New text." in desk.text("a"), 10)
        assert len(watching.notices()) == 1
    assert watching.notices()[0].count("stayed locked") == 1


def test_a_folder_without_its_claim_is_refused_once_and_taken_again_when_that_is_mended(desk: Desk):
    for name in "ab":
        desk.write(name, "Text.\n")
    claim = (desk.folder / ".memstore").read_bytes()
    with Watching(desk, interval=0.2) as watching:
        (desk.folder / ".memstore").unlink()
        until(lambda: watching.notices())
        holds(lambda: len(watching.notices()) == 1, 1.0)
        (desk.folder / ".memstore").write_bytes(claim)
        desk.edit("a.md", "Text.", "New text.")
        until(lambda: "New text." in desk.text("a"))
        assert len(watching.notices()) == 1


def test_a_store_that_is_gone_ends_the_watch_and_none_is_made_in_its_place(desk: Desk):
    desk.write("a", "Text.\n")
    directory = Path(desk.memories.store.directory)
    with pytest.raises(StoreUnavailable, match="is gone"), Watching(desk, interval=0.2) as watching:
        desk.close()
        shutil.rmtree(directory.parent.parent)
        watching.ended.wait(20)
    assert not directory.parent.parent.exists()


def test_a_store_that_a_newer_memstore_has_changed_ends_the_watch(desk: Desk):
    desk.write("a", "Text.\n")
    with pytest.raises(StoreNewer), Watching(desk) as watching:
        desk.memories.store._link.connection.pragma("user_version", 99)
        desk.edit("a.md", "Text.", "New text.")
        assert watching.ended.wait(20)


def test_the_watch_ends_where_the_directory_has_another_folder_by_now(desk: Desk):
    desk.write("a", "Text.\n")
    settings = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    with Watching(desk, interval=0.2) as watching:
        settings.write_text(f'{{"autoMemoryDirectory": "{desk.base / "elsewhere"}"}}')
        assert watching.ended.wait(20)
        assert watching.error is None
