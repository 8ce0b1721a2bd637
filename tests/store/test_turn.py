"""The queue in front of the write lock: fair where it can be, and never in the way."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from memstore.store import turn
from memstore.store.store import Store
from memstore.store.turn import Turn, lock_within
from tests.store.stores import create, put


def held(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_a_turn_holds_the_room_and_gives_the_door_back(tmp_path: Path):
    mine = Turn(str(tmp_path))
    mine.take()
    assert (held(tmp_path / "door"), held(tmp_path / "room")) == (False, True)
    mine.give()
    assert not held(tmp_path / "room")
    mine.close()
    mine.close()


@pytest.mark.parametrize("stuck", ["door", "room"])
def test_a_writer_that_was_stopped_in_the_queue_holds_up_nobody_for_long(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stuck: str
):
    monkeypatch.setattr(turn, "PATIENCE", 0.05)
    with (tmp_path / "store" / stuck).open("rb") as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        started = time.monotonic()
        for n in range(3):
            put(store, create(f"note-{n}"))
        assert time.monotonic() - started < 2
    put(store, create("later"))
    assert len(store.memories()) == 4
    assert not held(tmp_path / "store" / "room")


def test_a_lock_that_comes_in_time_is_held_and_one_that_was_given_up_is_let_go(tmp_path: Path):
    path = tmp_path / "lock"
    path.touch()
    holder = os.open(path, os.O_RDWR)
    fcntl.flock(holder, fcntl.LOCK_EX)
    assert not lock_within(os.open(path, os.O_RDWR), 0.01)
    os.close(holder)
    mine = os.open(path, os.O_RDWR)
    assert lock_within(mine, 5)  # behind the wait that was given up, if that is still there
    os.close(mine)
    assert not held(path)


def test_where_no_queue_can_be_made_writes_go_on_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    nowhere = Turn(str(tmp_path / "missing"))
    nowhere.take()
    nowhere.give()

    def no_locks(*_: object) -> None:
        raise OSError("no locks here")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    mine = Turn(str(tmp_path))
    mine.take()
    mine.give()
    nowhere.close()
