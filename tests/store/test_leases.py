"""A lease has one holder, is free at once when that one is gone, and is looked at once more in the commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memstore.errors import LeaseHeld, LeaseLost
from memstore.store import leases
from memstore.store.leases import LASTS, Lease
from memstore.store.process import Process, is_alive, me
from memstore.store.store import Store

NOW = 1_700_000_000_000_000
DEAD = replace(me(), started="0")


def take(store: Store, owner: str, now: int = NOW, process: Process | None = None) -> Lease:
    with store.change() as connection:
        return leases.take(connection, "dream", owner, process or me(), now, is_alive)


def current(store: Store) -> Lease | None:
    with store.view() as connection:
        return leases.current(connection, "dream")


def test_it_has_one_holder_also_within_one_process(store: Store):
    taken = take(store, "a")
    assert taken == Lease("dream", "a", me(), NOW, NOW, NOW + LASTS)
    with pytest.raises(LeaseHeld, match=f"going on already .process {me().pid}, for 10 s"):
        take(store, "b", NOW + 10_000_000)
    assert current(store) == taken


def test_what_was_given_back_is_free(store: Store):
    take(store, "a")
    with store.change() as connection:
        leases.release(connection, "dream", "b")
    assert current(store) is not None
    with store.change() as connection:
        leases.release(connection, "dream", "a")
    assert current(store) is None and take(store, "b").after is None


def test_the_lease_of_a_process_that_is_gone_is_free_at_once_and_it_is_said(store: Store):
    before = take(store, "a", process=DEAD)
    assert take(store, "b", NOW + 1).after == before


def test_a_holder_that_does_not_beat_loses_it_and_notices(store: Store):
    take(store, "a")
    with pytest.raises(LeaseHeld):
        take(store, "b", NOW + LASTS - 1)
    after = take(store, "b", NOW + LASTS).after
    assert after is not None and after.owner == "a"
    for notices in (leases.beat, leases.check):
        with pytest.raises(LeaseLost, match="did not answer for too long"), store.change() as connection:
            notices(connection, "dream", "a", NOW + LASTS + 1)


def test_a_beat_makes_it_last(store: Store):
    take(store, "a")
    with store.change() as connection:
        assert not leases.beat(connection, "dream", "a", NOW + LASTS - 1)
    with pytest.raises(LeaseHeld):
        take(store, "b", NOW + LASTS + 1)


def test_what_a_clock_that_ran_ahead_wrote_holds_nobody_up(store: Store):
    take(store, "a", NOW + 365 * 86_400_000_000)
    assert take(store, "b").after is not None


def test_work_that_was_called_off_is_not_committed(store: Store):
    take(store, "a")
    with store.change() as connection:
        assert leases.call_off(connection, "dream") and not leases.call_off(connection, "other")
    with store.change() as connection:
        assert leases.beat(connection, "dream", "a", NOW + 1)
    with pytest.raises(LeaseLost, match="was called off"), store.change() as connection:
        leases.check(connection, "dream", "a", NOW + 2)


def test_the_next_one_is_not_called_off(store: Store):
    take(store, "a", process=DEAD)
    with store.change() as connection:
        leases.call_off(connection, "dream")
    assert not take(store, "b").called_off
    with store.change() as connection:
        leases.check(connection, "dream", "b", NOW)
