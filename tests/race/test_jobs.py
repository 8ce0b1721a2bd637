"""Workers that should not be there at once: each job is still done by one of them, and one at a time of a session."""

from __future__ import annotations

from pathlib import Path

from tests.race import job_workers
from tests.race.crowd import crowd
from tests.store.queues import queue, states
from tests.store.stores import open_store


def test_eight_workers_never_take_the_same_job_nor_two_of_one_session_at_once(tmp_path: Path):
    store = open_store(tmp_path / "store")
    for number in range(40):
        queue(store, f"before {number}")
    store.close()
    told = crowd(8, job_workers.drain, tmp_path / "store", 20)
    got = [job for done in told for job in done]
    assert len({seq for seq, _ in got}) == len(got)
    store = open_store(tmp_path / "store")
    ended = states(store)
    store.close()
    assert {state for _, state, _, _ in ended} == {"done"}
    assert len(ended) == len(got) > 40
