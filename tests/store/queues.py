"""Jobs for tests, put in as hooks put them in."""

from __future__ import annotations

from memstore.store import jobs, sessions
from memstore.store.connection import many
from memstore.store.jobs import Job
from memstore.store.store import Store

TRANSCRIPT = "/transcripts/{}.jsonl"


def queue(store: Store, session: str, *, event: str = "Stop", at: int | None = None) -> None:
    """What the hook of a session's turn writes."""
    moment = store.now() if at is None else at
    values = (f"{event} {session} {moment}", session, TRANSCRIPT.format(session), "/repository", event, moment)
    with store.change() as connection:
        sessions.write(connection, "job", values)


def claimed(store: Store, now: int = 0) -> Job:
    """The job that a worker gets."""
    job = claim(store, now)
    assert job is not None
    return job


def claim(store: Store, now: int = 0) -> Job | None:
    """The job that a worker gets, if there is one."""
    with store.change() as connection:
        return jobs.claim(connection, "extract", now)


def states(store: Store) -> list[tuple[object, ...]]:
    """Session, state, failures and due time of all jobs, oldest first."""
    with store.view() as connection:
        return many(connection, "SELECT session, state, tries, due_at FROM job ORDER BY seq")
