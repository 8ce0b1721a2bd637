"""The queue: one run of a session at a time, the newest context counts, what fails waits and is then parked visibly."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.errors import Conflict, Defect
from memstore.store import ddl, jobs, sessions
from memstore.store.connection import many
from memstore.store.jobs import BACK_OFF, Job
from memstore.store.store import Store
from tests.store.older import older
from tests.store.queues import claim, claimed, queue, states
from tests.store.stores import open_store

MINUTE = 60_000_000


def finish(store: Store, seq: int, *, read: bool = True) -> None:
    with store.change() as connection:
        jobs.finish(connection, seq, read=read)


def fail(store: Store, now: int, note: str = "it broke") -> int | None:
    job = claimed(store, now)
    with store.change() as connection:
        return jobs.fail(connection, job.seq, now, note)


def test_the_job_that_waits_longest_is_taken_first_and_only_once(store: Store):
    for session in ("a", "b"):
        queue(store, session)
    assert [claimed(store).session, claimed(store).session] == ["a", "b"]
    assert claim(store) is None
    assert [state for _, state, _, _ in states(store)] == ["running", "running"]


def test_a_kind_of_job_is_taken_by_its_own_workers_alone(store: Store):
    queue(store, "a")
    with store.change() as connection:
        assert jobs.claim(connection, "notes", 0) is None


def test_a_newer_job_takes_the_place_of_the_waiting_one_and_its_turn_in_the_queue(store: Store):
    queue(store, "a", at=10)
    queue(store, "b", at=20)
    queue(store, "a", event="SessionEnd", at=30)
    job = claimed(store)
    assert (job.session, job.event, job.at, job.tries) == ("a", "SessionEnd", 30, 0)
    assert len(states(store)) == 2


def test_while_one_runs_the_newest_waits_and_makes_exactly_one_trailing_run(store: Store):
    queue(store, "a", at=10)
    running = claimed(store)
    for at in (20, 30, 40):
        queue(store, "a", at=at)
    assert claim(store) is None, "no two runs of one session at once"
    finish(store, running.seq)
    trailing = claimed(store)
    assert (trailing.at, trailing.seq > running.seq) == (40, True)
    finish(store, trailing.seq)
    assert claim(store) is None
    assert [state for _, state, _, _ in states(store)] == ["done", "done"]


def test_two_running_jobs_of_a_session_cannot_even_be_written(store: Store):
    queue(store, "a")
    claimed(store)
    queue(store, "a")
    with pytest.raises(Defect, match="UNIQUE constraint failed"), store.change() as connection:
        connection.execute("UPDATE job SET state = 'running'")


def test_a_failed_job_waits_longer_each_time_and_is_then_parked_with_the_reason(store: Store):
    queue(store, "a")
    now, waits = 1_000, list[int | None]()
    for _ in BACK_OFF:
        due_at = fail(store, now)
        assert due_at is not None
        waits.append((due_at - now) // MINUTE)
        assert claim(store, due_at - 1) is None
        now = due_at
    assert waits == [1, 5, 30, 120]
    assert fail(store, now, "the model is \ud800 gone") is None
    assert claim(store, now * 2) is None
    with store.view() as connection:
        (parked,) = jobs.parked(connection)
        assert (parked.session, parked.tries, parked.note) == ("a", 5, "the model is ? gone")
        assert sessions.failed_jobs(connection) == 1
    assert store.counts()["failed_jobs"] == 1


def test_a_newer_turn_of_a_session_that_fails_waits_as_long_as_the_one_whose_place_it_takes(store: Store):
    queue(store, "a", at=10)
    due_at = fail(store, 1_000)
    queue(store, "a", at=20)
    assert states(store) == [("a", "waiting", 1, due_at)]


def test_a_turn_that_ended_while_the_failing_one_ran_waits_in_its_stead(store: Store):
    queue(store, "a", at=10)
    running = claimed(store, 1_000)
    queue(store, "a", at=20)
    with store.change() as connection:
        due_at = jobs.fail(connection, running.seq, 1_000, "it broke")
    assert states(store) == [("a", "done", 0, None), ("a", "waiting", 1, due_at)]


def test_other_sessions_do_not_wait_for_one_that_fails(store: Store):
    queue(store, "a")
    queue(store, "b")
    fail(store, 1_000)
    assert claimed(store, 1_001).session == "b"


def test_a_job_that_is_put_back_without_fault_does_not_count_as_tried(store: Store):
    queue(store, "a")
    for _ in range(20):
        job = claimed(store, 500)
        with store.change() as connection:
            jobs.requeue(connection, job.seq, 500, "the budget of the day is spent")
    with store.view() as connection:
        (waiting,) = jobs.waiting(connection)
    assert (waiting.tries, waiting.due_at, waiting.note) == (0, 500, "the budget of the day is spent")


def test_what_one_run_left_over_waits_behind_the_other_sessions(store: Store):
    queue(store, "a", at=10)
    queue(store, "b", at=20)
    with store.change() as connection:
        first = jobs.claim(connection, "extract", 0)
        assert first is not None
        jobs.go_on(connection, first.seq, "more of a", 30)
    assert claimed(store).session == "b"
    rest = claimed(store)
    assert (rest.id, rest.session, rest.event, rest.transcript) == ("more of a", "a", "more", first.transcript)


def test_what_one_run_left_over_is_done_by_the_newer_turn_that_waits_already(store: Store):
    queue(store, "a", at=10)
    running = claimed(store)
    queue(store, "a", at=20)
    with store.change() as connection:
        jobs.go_on(connection, running.seq, "more of a", 30)
    assert claimed(store).event == "Stop"
    assert claim(store) is None


def park(store: Store, session: str) -> None:
    queue(store, session)
    job = claimed(store)
    with store.change() as connection:
        jobs.park(connection, job.seq, "the key is refused")


def test_a_later_turn_that_read_to_the_end_settles_what_was_parked_of_its_session(store: Store):
    park(store, "a")
    park(store, "b")
    for read, left in ((False, ["a", "b"]), (True, ["b"])):
        queue(store, "a")
        finish(store, claimed(store).seq, read=read)
        with store.view() as connection:
            assert [job.session for job in jobs.parked(connection)] == left


def test_of_a_transcript_one_job_is_parked_with_the_turns_of_all(store: Store):
    for _ in range(3):
        park(store, "a")
    park(store, "b")
    with store.view() as connection:
        assert [(job.session, job.turns) for job in jobs.parked(connection)] == [("a", 3), ("b", 1)]


def test_what_waits_for_longer_than_a_day_was_told_by_a_clock_that_was_set_back(store: Store):
    queue(store, "a")
    with store.change() as connection:
        job = jobs.claim(connection, "extract", 10**15)
        assert job is not None
        due = jobs.fail(connection, job.seq, 10**15, "the model is gone")
        assert due is not None
        assert jobs.claim(connection, "extract", due - jobs.LONGEST_WAIT) is None
        assert jobs.claim(connection, "extract", due - 1) is None
        assert jobs.claim(connection, "extract", due - jobs.LONGEST_WAIT - 1) is not None


def test_retry_makes_what_is_parked_and_what_waits_for_its_next_try_due_at_once(store: Store):
    for _ in range(3):
        park(store, "parked thrice")
    park(store, "parked, and a new turn waits")
    queue(store, "parked, and a new turn waits")
    queue(store, "failed once")
    finish(store, claimed(store).seq, read=False)
    queue(store, "parked, and a new turn waits")
    fail(store, 1_000)
    queue(store, "untouched")
    with store.change() as connection:
        assert jobs.retry(connection, "nobody") == 0
        assert jobs.retry(connection) == 3
        assert jobs.retry(connection) == 0
        assert jobs.parked(connection) == []
        waiting = [(job.session, job.tries, job.due_at) for job in jobs.waiting(connection)]
    assert sorted(waiting) == [
        ("failed once", 0, None),
        ("parked thrice", 0, None),
        ("parked, and a new turn waits", 0, None),
        ("untouched", 0, None),
    ]


def test_retry_of_one_session_leaves_the_others_parked(store: Store):
    park(store, "a")
    park(store, "b")
    with store.change() as connection:
        assert jobs.retry(connection, "b") == 1
        assert [job.session for job in jobs.parked(connection)] == ["a"]


def test_a_worker_that_is_gone_leaves_a_running_job_and_cannot_end_it_when_another_did(store: Store):
    queue(store, "a")
    gone = claimed(store)
    with store.change() as connection:
        (found,) = jobs.orphaned(connection)
        assert found == gone
        jobs.fail(connection, found.seq, 0, "its worker is gone")
        acts: list[Callable[[], object]] = [
            lambda: jobs.finish(connection, gone.seq, read=True),
            lambda: jobs.fail(connection, gone.seq, 0, ""),
            lambda: jobs.park(connection, gone.seq, ""),
            lambda: jobs.requeue(connection, gone.seq, None, ""),
            lambda: jobs.go_on(connection, gone.seq, "x", 0),
        ]
        for act in acts:
            with pytest.raises(Conflict, match="not running any more"):
                act()


STEPS = ("queue", "claim", "finish", "fail", "more", "requeue", "park", "retry")


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from("ab"))))
def test_whatever_happens_one_runs_and_one_waits_of_a_session_and_no_turn_is_forgotten(
    empty_store: Path, steps: list[tuple[str, str]]
):
    with tempfile.TemporaryDirectory() as place:
        store = open_store(Path(shutil.copytree(empty_store, Path(place) / "store")))
        store._link.connection.execute("PRAGMA synchronous = OFF")
        left = dict[str, bool]()
        for step, session in steps:
            _act(store, step, session, left)
            with store.view() as connection:
                mine = [job.session for job in jobs.orphaned(connection)]
                others = [job.session for job in jobs.waiting(connection)]
            assert len(set(mine)) == len(mine) and len(set(others)) == len(others)
        assert {session for session, is_left in left.items() if is_left} <= set(_drained(store))
        store.close()


def _act(store: Store, step: str, session: str, left: dict[str, bool]) -> None:
    """One step; `left`: whether a session has a turn that no run began after."""
    now = store.now()
    if step == "queue":
        queue(store, session, at=now)
        left[session] = True
    elif step == "claim":
        job = claim(store, now)
        if job is not None:
            left[job.session] = False
    with store.change() as connection:
        if step == "retry":
            jobs.retry(connection, session)
        for job in jobs.orphaned(connection):
            if job.session != session or step in ("queue", "claim", "retry"):
                continue
            left[session] = left[session] or step != "finish"
            if step == "finish":
                jobs.finish(connection, job.seq, read=True)
            elif step == "fail":
                jobs.fail(connection, job.seq, now, "it broke")
            elif step == "more":
                jobs.go_on(connection, job.seq, f"more {now}", now)
            elif step == "requeue":
                jobs.requeue(connection, job.seq, now + 5, "later")
            else:
                jobs.park(connection, job.seq, "refused")


def _drained(store: Store) -> list[str]:
    """The sessions whose jobs a worker finds that comes after all of it, and with which it comes to an end."""
    with store.change() as connection:
        for job in jobs.orphaned(connection):
            jobs.requeue(connection, job.seq, None, "its worker is gone")
        jobs.retry(connection)
    found = list[str]()
    while (taken := claim(store)) is not None:
        finish(store, taken.seq)
        found.append(taken.session)
    with store.view() as connection:
        assert jobs.waiting(connection) == jobs.parked(connection) == jobs.orphaned(connection) == []
    return found


def test_a_store_of_schema_4_is_migrated_and_keeps_its_jobs_and_sessions(tmp_path: Path):
    database = apsw.Connection(str(older(tmp_path / "store", 4)))
    for session, state in (("waits", "waiting"), ("failed", "failed"), ("over", "done")):
        database.execute(
            "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at, tries, note)"
            " VALUES (?, 'extract', ?, ?, '/t.jsonl', '/repository', 'Stop', 5, 2, 'why')",
            (f"Stop {session} 5", state, session),
        )
        database.execute(sessions.STATEMENTS["started"], (session, "startup", "/repository", "main", "/t.jsonl", 1, 4))
        database.execute(sessions.STATEMENTS["ended"], (session, "/repository", "main", 5))
    database.execute(sessions.STATEMENTS["pause"], ("session", "waits", 5))
    database.close()

    store = open_store(tmp_path / "store")
    assert store.schema() == len(ddl.migrations())
    assert sorted(states(store)) == [
        ("failed", "failed", 2, None),
        ("over", "done", 2, None),
        ("waits", "waiting", 2, None),
    ]
    with store.view() as connection:
        rows = connection.execute("SELECT id, transcript, turn_ended FROM session ORDER BY id").fetchall()
        assert rows == [(session, "/t.jsonl", 5) for session in ("failed", "over", "waits")]
        assert sessions.pauses(connection, "waits", "") == ["session"]
        assert [job.note for job in jobs.parked(connection)] == ["why"]
    assert claimed(store).session == "waits"
    store.close()


def test_the_turns_that_a_job_is_for_are_counted_whatever_becomes_of_it(store: Store):
    queue(store, "s", at=1)
    queue(store, "s", event="PreCompact", at=2)
    queue(store, "s", at=3)
    first = claimed(store, 10)
    assert first.turns == 2
    queue(store, "s", at=11)
    with store.change() as connection:
        jobs.fail(connection, first.seq, 12, "busy")
    again = claimed(store, 12 + jobs.BACK_OFF[0])
    assert again.turns == 3
    queue(store, "s", at=13)
    with store.change() as connection:
        jobs.go_on(connection, again.seq, "more", 14)
        assert [job.turns for job in jobs.waiting(connection)] == [4]


# A job of another kind


def add(store: Store, like: Job, *, now: int = 50) -> None:
    with store.change() as connection:
        jobs.add(connection, "notes", like, now)


def kinds(store: Store) -> list[tuple[object, ...]]:
    with store.view() as connection:
        return many(connection, "SELECT kind, state, event, turns FROM job ORDER BY seq")


def test_a_job_of_another_kind_is_for_the_same_turns(store: Store):
    queue(store, "s", at=10)
    job = claimed(store, 20)
    add(store, job)
    add(store, job)
    assert kinds(store) == [("extract", "running", "Stop", 1), ("notes", "waiting", "Stop", 1)]
    with store.change() as connection:
        made = jobs.claim(connection, "notes", 60)
    assert made is not None and (made.session, made.transcript, made.cwd) == (job.session, job.transcript, job.cwd)


def test_one_that_waits_takes_later_turns_along_and_waits_as_long(store: Store):
    queue(store, "s", at=10)
    add(store, claimed(store, 20))
    with store.change() as connection:
        made = jobs.claim(connection, "notes", 60)
        assert made is not None
        jobs.requeue(connection, made.seq, 1_000, "busy")
    queue(store, "s", event="PreCompact", at=30)
    with store.view() as connection:
        later = next(job for job in jobs.waiting(connection) if job.kind == "extract")
    add(store, later)
    with store.change() as connection:
        assert jobs.claim(connection, "notes", 999) is None
        made = jobs.claim(connection, "notes", 1_000)
    assert made is not None and (made.event, made.turns) == ("PreCompact", 1)


def test_one_that_is_parked_is_done_by_the_next_and_not_by_itself(store: Store):
    queue(store, "s", at=10)
    job = claimed(store, 20)
    add(store, job)
    with store.change() as connection:
        made = jobs.claim(connection, "notes", 60)
        assert made is not None
        jobs.park(connection, made.seq, "refused")
    add(store, job)
    assert [row[1] for row in kinds(store)] == ["running", "failed"]
    with store.change() as connection:
        jobs.finish(connection, job.seq, read=True)
    queue(store, "s", at=30)
    add(store, claimed(store, 40))
    assert [row[:2] for row in kinds(store)] == [
        ("extract", "done"), ("notes", "done"), ("extract", "running"), ("notes", "waiting"),
    ]  # fmt: skip
