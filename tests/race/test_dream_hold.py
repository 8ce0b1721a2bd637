"""Of many that want to dream one does; one that is killed leaves nothing behind that the next does not put right."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from memstore.claude.consolidate_lock import NAME
from memstore.dream_hold import DreamHold
from memstore.store import dreams
from memstore.store.store import Store
from tests.race.crowd import CONTEXT, crowd
from tests.race.dreamers import holder, now, wants
from tests.store.stores import STORE


@pytest.mark.parametrize("there", [True, False])
def test_killed_at_any_step_the_lease_is_free_at_once_and_the_lock_as_before(tmp_path: Path, there: bool):
    folder, directory = tmp_path / "memory", tmp_path / "store"
    folder.mkdir()
    lock = folder / NAME
    if there:
        lock.touch()
        os.utime(lock, ns=(5_000_000_000, 5_000_000_000))
    Store.open(str(directory), STORE, now).close()
    steps: list[str] = []
    while not steps or steps[-1] != "done":
        mine, theirs = CONTEXT.Pipe()
        child = CONTEXT.Process(target=holder, args=(theirs, directory, folder, len(steps) + 1))
        child.start()
        steps.append(mine.recv())
        child.join()
        with closing(Store.open(str(directory), STORE, now)) as store:
            with DreamHold(store, [str(folder)], "next", now):
                assert lock.read_text() == str(os.getpid()), steps
            with store.view() as connection:
                assert dreams.locks(connection) == []
        assert lock.exists() == there and (not there or lock.read_bytes() == b""), steps
        assert not there or lock.stat().st_mtime_ns == 5_000_000_000, steps
    assert "it dreams" in steps and {"BEGIN IMMEDIATE", "COMMIT", "os.utime", "open"} <= set(steps)


def test_h31b_of_eight_processes_at_one_moment_exactly_one_dreams(tmp_path: Path):
    folder, directory = tmp_path / "memory", tmp_path / "store"
    folder.mkdir()
    Store.open(str(directory), STORE, now).close()
    assert sum(crowd(8, wants, directory, folder)) == 1
    assert not (folder / NAME).exists()
