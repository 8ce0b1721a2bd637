"""One dream at a time, whatever was left behind: real processes, some of them killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memstore.claude.consolidate_lock import NAME
from memstore.dream_hold import DreamHold, put_back
from memstore.errors import ClientDreams, LeaseHeld, LeaseLost
from memstore.store import dreams, leases, runs
from memstore.store.runs import RunEnd
from memstore.store.store import Store
from tests.claude.test_consolidate_lock import client as client
from tests.store.stores import STORE

HOLDER = """
import sys, time
from memstore.dream_hold import DreamHold
from memstore.store.store import Store
clock = lambda: time.time_ns() // 1_000
store = Store.open(sys.argv[1], "", clock)
try:
    with DreamHold(store, sys.argv[2:], "other", clock) as hold:
        print("dreams", flush=True)
        hold.good = sys.stdin.readline() == "good\\n"
except Exception as error:
    print(type(error).__name__, flush=True)
"""


def now() -> int:
    return time.time_ns() // 1_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store.open(str(tmp_path / "store"), STORE, now)) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "memory"
    made.mkdir()
    return made


@contextmanager
def another(store: Store, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that wants to dream; its answer is read by the test."""
    command = [sys.executable, "-c", HOLDER, store.directory, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def said(child: subprocess.Popen[str], word: str = "") -> str:
    if word:
        assert child.stdin is not None
        child.stdin.write(word + "\n")
        child.stdin.flush()
        child.wait()
    assert child.stdout is not None
    return child.stdout.readline().strip()


def hold(store: Store, folder: Path, owner: str = "a", **more: float) -> DreamHold:
    return DreamHold(store, [str(folder)], owner, now, **more)


def lock(folder: Path) -> tuple[str, int] | None:
    path = folder / NAME
    return (path.read_text(), path.stat().st_mtime_ns // 1_000) if path.exists() else None


def test_h31b_of_two_in_one_process_and_in_two_exactly_one_dreams(store: Store, folder: Path):
    with hold(store, folder), another(store, folder) as child:
        with pytest.raises(LeaseHeld), hold(store, folder, "b"):
            raise AssertionError
        assert said(child) == "LeaseHeld"
        assert lock(folder) is not None
    with another(store, folder) as child:
        assert said(child) == "dreams"
        with pytest.raises(LeaseHeld, match=f"process {child.pid}"), hold(store, folder):
            raise AssertionError
        said(child, "good")
    with hold(store, folder) as held:
        assert held.said == []


def test_h31c_after_a_kill_the_lease_is_free_at_once_and_the_clients_lock_is_as_before(store: Store, folder: Path):
    with another(store, folder) as child:
        assert said(child) == "dreams"
        assert lock(folder) is not None
        child.kill()
        child.wait()
        with hold(store, folder) as held:
            assert held.said == [f"the lease of process {child.pid} was taken over: it is gone"]
    assert lock(folder) is None


def test_a_good_dream_leaves_its_time_and_a_failed_one_what_was_there(store: Store, folder: Path):
    path = folder / NAME
    path.write_text("")
    os.utime(path, ns=(5_000_000_000, 5_000_000_000))
    with hold(store, folder):
        assert lock(folder) is not None and path.read_text() == str(os.getpid())
    assert lock(folder) == ("", 5_000_000)
    before = now()
    with hold(store, folder) as held:
        held.good = True
    found = lock(folder)
    assert found is not None and found[0] == "" and before <= found[1] <= now()
    with store.view() as connection:
        assert dreams.locks(connection) == [] and leases.current(connection, "dream") is None


def test_one_that_was_killed_after_its_commit_counts_as_done(store: Store, folder: Path):
    with another(store, folder) as child:
        assert said(child) == "dreams"
        at = now()
        with store.change() as connection:
            runs.begin(connection, "run", "dream", "", at)
        store.finish_run(RunEnd("run", "nothing", at))
        child.kill()
        child.wait()
    put_back(store)
    found = lock(folder)
    assert found is not None and found[0] == "" and at - 10_000_000 < found[1] <= at


def test_while_the_client_dreams_we_wait_and_leave_nothing(store: Store, folder: Path, client: int):
    other = folder.parent / "other"
    other.mkdir()
    (folder / NAME).write_text(str(client))
    with pytest.raises(ClientDreams, match=f"process {client}"):
        DreamHold(store, [str(other), str(folder)], "a", now).__enter__()
    assert lock(other) is None and (folder / NAME).read_text() == str(client)
    with store.view() as connection:
        assert dreams.locks(connection) == [] and leases.current(connection, "dream") is None


def test_what_is_taken_over_or_left_alone_is_said(store: Store, folder: Path):
    (folder / NAME).write_text("999999")
    other = folder.parent / "other"
    (other / NAME).mkdir(parents=True)
    with DreamHold(store, [str(folder), str(other)], "a", now) as held:
        assert held.said == [
            f".consolidate-lock in {folder} was taken over: no client of Claude Code runs as process 999999",
            f".consolidate-lock in {other} is left alone: it is a directory",
        ]


def test_a_run_that_nobody_ended_is_closed_and_can_commit_nothing(store: Store, folder: Path):
    with store.change() as connection:
        runs.begin(connection, "run", "dream", "", 1)
    with hold(store, folder), store.view() as connection:
        run = runs.one_run(connection, "run")
        assert run is not None and (run.state, run.reason) == ("failed", "its worker ended in the middle of it")


def test_it_beats_while_a_model_thinks(store: Store, folder: Path):
    with hold(store, folder, beat=0.01):
        first = last = beat_of(store)
        end = time.monotonic() + 20
        while last == first and time.monotonic() < end:
            last = beat_of(store)
        assert last > first


def test_it_notices_that_it_was_called_off_or_taken_over(store: Store, folder: Path):
    with hold(store, folder) as held:
        assert not held.called_off()
        with store.change() as connection:
            assert leases.call_off(connection, "dream")
        assert held.called_off()
        with pytest.raises(LeaseLost), store.change() as connection:
            leases.check(connection, "dream", held.owner, now())
    with hold(store, folder) as held:
        assert not held.called_off()
        with store.change() as connection:
            leases.release(connection, "dream", held.owner)
        assert held.called_off()


def test_a_long_dream_keeps_the_clients_lock_young_and_gives_it_back_as_it_was(store: Store, folder: Path):
    (folder / NAME).write_text("")
    os.utime(folder / NAME, ns=(5_000_000_000, 5_000_000_000))
    with hold(store, folder, beat=0.01):
        first, end = lock(folder), time.monotonic() + 20
        while lock(folder) == first and time.monotonic() < end:
            time.monotonic()
        assert lock(folder) != first
    assert lock(folder) == ("", 5_000_000)


@pytest.mark.parametrize("first_ends", [True, False])
def test_one_that_was_overtaken_leaves_what_the_next_one_has(store: Store, folder: Path, first_ends: bool):
    slept = hold(store, folder)
    slept.__enter__()
    later = now() + 2 * leases.LASTS
    with DreamHold(store, [str(folder)], "b", lambda: later) as held:
        if first_ends:
            slept.__exit__(None, None, None)
        assert (folder / NAME).read_text() == str(os.getpid())
        with store.view() as connection:
            assert [one.taken_at for one in dreams.locks(connection)] == [later]
        held.good = True
    if not first_ends:
        slept.__exit__(None, None, None)
    assert lock(folder) == ("", later)


def test_where_the_client_dreams_after_all_ours_ends(store: Store, folder: Path, client: int):
    with hold(store, folder) as held:
        (folder / NAME).write_text("999999")
        assert not held.called_off(), "that is no client"
        (folder / NAME).write_text(str(client))
        assert held.called_off()
    assert (folder / NAME).read_text() == str(client)


def beat_of(store: Store) -> int:
    with store.view() as connection:
        lease = leases.current(connection, "dream")
    assert lease is not None
    return lease.beat
