"""Backups: where they lie, what is listed, and what `keep` removes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memstore.errors import InputRefused, NotFound
from memstore.store import backup
from memstore.upkeep import backups
from tests.files.desk import Desk


def place(desk: Desk) -> tuple[str, str]:
    """The home, and the store's id."""
    return desk.memories.place.home.path, desk.memories.store.id


def test_a_backup_goes_into_a_directory_of_the_home_that_only_its_owner_enters(desk: Desk):
    desk.write("a", "Text.\n")
    (desk.folder / "b.md").write_text("---\nname: b\n---\n\nAn edit that nobody took in yet.\n")
    done = backups.back_up(desk.memories)
    home, store = place(desk)
    assert os.path.dirname(done.path) == os.path.join(home, "backups", store)
    assert done.holds.memories == 2 and done.size == os.path.getsize(done.path)
    assert stat.S_IMODE(os.stat(os.path.dirname(done.path)).st_mode) == 0o700
    (listed,) = backups.listed(home, store)
    assert (listed.path, listed.size, listed.before_restore) == (done.path, done.size, False)
    assert abs(listed.at - desk.world().clock()) < 60_000_000


def test_a_dry_run_makes_nothing(desk: Desk):
    desk.write("a", "Text.\n")
    done = backups.back_up(desk.memories, keep=1, dry_run=True)
    assert done.holds.memories == 1 and not os.path.exists(os.path.dirname(done.path))


def test_keep_leaves_the_newest_and_whatever_is_not_a_backup_of_this_store(desk: Desk):
    home, store = place(desk)
    made = [backups.back_up(desk.memories).path for _ in range(4)]
    directory = Path(made[0]).parent
    other = desk.other("elsewhere")
    foreign = backups.named(home, store, 1_000_000)
    backups.write(other.memories, foreign)
    noise = Path(backups.named(home, store, 2_000_000))
    noise.write_bytes(b"no database\n" * 99)
    before = Path(backups.named(home, store, 3_000_000, backups.BEFORE))
    backups.write(desk.memories, str(before))
    mine = directory / "mine.txt"
    mine.touch()
    would = backups.back_up(desk.memories, keep=2, dry_run=True).pruned
    assert list(would.removed) == [made[2], made[1], made[0]] and all(map(os.path.exists, made))
    done = backups.back_up(desk.memories, keep=2)
    assert done.pruned == would
    assert {path for path, _ in would.left} == {foreign, str(noise)}
    left = {str(path) for path in directory.iterdir()}
    assert left == {done.path, made[3], foreign, str(noise), str(before), str(mine)}


def test_keep_leaves_what_was_just_made_where_the_clock_went_back(desk: Desk):
    home, store = place(desk)
    first = backups.back_up(desk.memories).path
    ahead = backups.named(home, store, desk.world().clock() + 3_600_000_000)
    backups.write(desk.memories, ahead)
    done = backups.back_up(desk.memories, keep=1)
    assert done.pruned.removed == (first,)
    assert {one.path for one in backups.listed(home, store)} == {done.path, ahead}


def test_a_backup_takes_away_what_a_killed_one_left(desk: Desk):
    first = Path(backups.back_up(desk.memories).path)
    left = first.with_name("2026-03-01T09-30-00.000001Z.db.77-0.part")
    left.write_text("half")
    second = backups.back_up(desk.memories).path
    assert {str(path) for path in first.parent.iterdir()} == {str(first), second}


def test_a_backup_in_a_place_of_ones_own(desk: Desk, tmp_path: Path):
    target = tmp_path / "copy.db"
    assert backups.back_up(desk.memories, str(target)).path == str(target)
    with pytest.raises(InputRefused, match="exists already"):
        backups.back_up(desk.memories, str(target))
    with backup.opened(str(target)) as connection:
        assert backup.contents(connection).store == desk.memories.store.id


def test_no_backup_goes_where_memories_or_databases_lie(desk: Desk, tmp_path: Path):
    home, store = place(desk)
    desk.write("a", "Text.\n")
    (tmp_path / "link").symlink_to(desk.folder)
    for target in (
        desk.folder / "x.db",
        tmp_path / "link" / "x.db",
        Path(home, "stores", store, "x.db"),
        desk.second().folder / "x.db",
        desk.other("elsewhere").folder / "x.db",
        tmp_path,
        tmp_path / "absent" / "x.db",
    ):
        with pytest.raises(InputRefused):
            backups.back_up(desk.memories, str(target))
    assert sorted(path.name for path in desk.folder.iterdir()) == [".memstore", "MEMORY.md", "a.md"]


def test_a_backup_is_found_by_its_number_its_path_and_as_the_latest(desk: Desk, tmp_path: Path):
    home, store = place(desk)
    for reference in ("latest", "1"):
        with pytest.raises(NotFound, match=r"there is no backup") as refused:
            backups.chosen(home, store, reference, str(tmp_path / reference))
        assert "memstore rebuild" in refused.value.hint
    first, second = (backups.back_up(desk.memories).path for _ in range(2))
    before = backups.named(home, store, desk.world().clock(), backups.BEFORE)
    backups.write(desk.memories, before)

    def chosen(reference: str) -> str:
        return backups.chosen(home, store, reference, str(tmp_path / reference))

    assert [chosen("1"), chosen("2"), chosen("3"), chosen("latest")] == [before, second, first, second]
    (tmp_path / "own.db").touch()
    assert chosen("own.db") == str(tmp_path / "own.db")
    for absent in ("4", "0", "absent.db"):
        with pytest.raises(NotFound):
            chosen(absent)
