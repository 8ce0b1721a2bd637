"""The end of a run, in one transaction.

The memories, the index lines, the messages they were made from, the cursor, the messages whose outcome is known, the
run's record and the job, and of a dream its steps and what it had before it, if the lease is still its own: killed
anywhere, a worker leaves all of it or nothing. A run that nobody ended is closed by whoever comes next. Call the
functions that write inside a write transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import apsw

from memstore.core.changes import ChangeSet
from memstore.core.model import Applied
from memstore.errors import Conflict, Defect
from memstore.store import jobs, leases, steps, writer
from memstore.store.connection import one
from memstore.store.jobs import Job, storable
from memstore.store.reader import memory_pk
from memstore.store.runs import Cursor, Run, RunEnd, Source, one_run
from memstore.store.steps import Dreamt

_LONGEST = 4_000
"""Characters of a reason or event that are kept."""


@dataclass(frozen=True, slots=True)
class Ending:
    """All that is committed at the end of a run."""

    end: RunEnd
    change_set: ChangeSet | None
    cursor: Cursor | None
    taken: Sequence[bytes]
    sources: Sequence[Source]
    texts: Mapping[bytes, writer.Text]
    request: bytes
    dreamt: Dreamt | None = None


def prepare(
    end: RunEnd,
    change_set: ChangeSet | None,
    cursor: Cursor | None,
    taken: Sequence[bytes],
    sources: Sequence[Source],
    dreamt: Dreamt | None = None,
) -> Ending:
    """All that can be computed before the write lock is taken. Raises InputRefused for a text that is too large."""
    if change_set is None:
        return Ending(end, None, cursor, taken, sources, {}, b"", dreamt)
    texts, request = writer.prepare_all(change_set), writer.request_digest(change_set)
    return Ending(end, change_set, cursor, taken, sources, texts, request, dreamt)


def finish(connection: apsw.Connection, ending: Ending) -> Applied | None:
    """Ends a run with all that belongs to it, and gives what its change set did.

    Raises StaleVersion and the other refusals of `writer.apply`, LeaseLost where another one dreams or this dream was
    called off, Conflict where another worker has closed the run: the caller rolls back.
    """
    done = finished(connection, ending)
    if done is not None:
        return done[0]
    end = ending.end
    run = _running(connection, end.run)
    if ending.cursor is not None and (ending.cursor.kind, ending.cursor.session) != (run.kind, run.session):
        raise Defect("a run moves the cursor of its own session")
    dreamt = ending.dreamt
    if dreamt is not None:
        leases.check(connection, run.kind, dreamt.lease, end.at)
    applied = None
    if ending.change_set is not None:
        applied = writer.apply(connection, ending.change_set, dict(ending.texts), ending.request)
    _write_sources(connection, applied, run.session, ending.sources)
    if ending.cursor is not None:
        _move(connection, ending.cursor, end.at)
    connection.executemany(
        "INSERT INTO taken (message, run) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(message, run.seq) for message in ending.taken],
    )
    connection.executemany(
        "INSERT INTO run_event (run, n, at, kind, text) VALUES (?, ?, ?, ?, ?)",
        [(run.seq, n, event.at, event.kind, _short(event.text)) for n, event in enumerate(end.events, 1)],
    )
    if dreamt is not None:
        steps.write(connection, run.seq, dreamt.outcomes, None if applied is None else applied.seq)
        if dreamt.memories is not None:
            steps.note_seen(connection, dreamt.memories, dreamt.seen, end.at)
    _write_end(connection, run.seq, end, None if applied is None else applied.seq)
    if run.job is not None:
        _end_job(connection, run.job, end, read=ending.cursor is not None)
    return applied


def finished(connection: apsw.Connection, ending: Ending) -> tuple[Applied | None] | None:
    """What this very ending did when it was committed before; None where it was not."""
    end = ending.end
    row = one(
        connection,
        "SELECT r.outcome, r.ended_at, o.id FROM run r LEFT JOIN operation o ON o.seq = r.operation"
        " WHERE r.id = ? AND r.state <> 'running'",
        (end.run,),
    )
    operation = None if ending.change_set is None else ending.change_set.operation
    if row is None or row != (end.outcome, end.at, operation):
        return None
    return (None if operation is None else writer.repeated(connection, operation, ending.request),)


def close_interrupted(connection: apsw.Connection, kind: str, at: int) -> list[Job]:
    """Closes the runs and jobs of workers that are gone; their jobs wait for their next try. Returns these jobs.

    Only for whoever holds the lock of the workers of this kind: to anybody else a running run is somebody's.
    """
    reason = "its worker ended in the middle of it"
    connection.execute(
        "UPDATE run SET state = 'failed', outcome = 'failed', reason = ?, ended_at = ?"
        " WHERE state = 'running' AND kind = ?",
        (reason, at, kind),
    )
    left = [job for job in jobs.orphaned(connection) if job.kind == kind]
    for job in left:
        jobs.fail(connection, job.seq, at, reason)
    return left


def _running(connection: apsw.Connection, identity: str) -> Run:
    run = one_run(connection, identity)
    if run is None or run.state != "running":
        raise Conflict(f"the run {identity} is not going on any more", hint="another worker has closed it")
    return run


def _write_sources(
    connection: apsw.Connection, applied: Applied | None, session: str, made_from: Sequence[Source]
) -> None:
    for each in made_from:
        if applied is None:
            raise Defect("a run that saves nothing has no sources")
        said_in = session if each.session is None else storable(each.session)
        connection.execute(
            "INSERT INTO source (operation, memory, session, message) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (applied.seq, memory_pk(connection, each.memory), said_in, storable(each.message)),
        )


def _move(connection: apsw.Connection, place: Cursor, at: int) -> None:
    connection.execute(
        "INSERT INTO cursor (kind, session, transcript, message, offset, digest, at) VALUES (?,?,?,?,?,?,?)"
        " ON CONFLICT (kind, session) DO UPDATE SET transcript = excluded.transcript, message = excluded.message,"
        " offset = excluded.offset, digest = excluded.digest, at = excluded.at",
        (
            place.kind, place.session, storable(place.transcript), storable(place.message), place.offset,
            place.digest, at,
        ),
    )  # fmt: skip


def _write_end(connection: apsw.Connection, run: int, end: RunEnd, operation: int | None) -> None:
    """What `record_usage` noted stays where the end knows nothing better."""
    used = end.usage
    connection.execute(
        "UPDATE run SET state = ?1, outcome = ?2, reason = ?3, ended_at = ?4, turns = ?5, messages = ?6, unread = ?7,"
        " operation = ?8, input_tokens = max(input_tokens, ?9), output_tokens = max(output_tokens, ?10),"
        " cache_read = max(cache_read, ?11), cache_written = max(cache_written, ?12),"
        " cost_microusd = coalesce(?13, cost_microusd), gate = ?14 WHERE seq = ?15",
        (
            "failed" if end.outcome == "failed" else "done", end.outcome, _short(end.reason), end.at, end.turns,
            end.messages, end.unread, operation, used.input, used.output, used.cache_read, used.cache_written,
            end.cost, end.gate, run,
        ),
    )  # fmt: skip


def _end_job(connection: apsw.Connection, job: int, end: RunEnd, *, read: bool) -> None:
    if end.outcome == "more":
        jobs.go_on(connection, job, f"more {end.run}", end.at)
    elif end.outcome != "failed":
        jobs.finish(connection, job, read=read)
    elif end.held is not None:
        jobs.requeue(connection, job, None, _short(end.reason))
    elif end.park:
        jobs.park(connection, job, _short(end.reason))
        if end.rest:
            jobs.queue_rest(connection, job, f"more {end.run}", end.at)
    elif end.due_at is not None:
        jobs.requeue(connection, job, end.due_at, _short(end.reason))
    else:
        jobs.fail(connection, job, end.at, _short(end.reason))


def _short(text: str) -> str:
    return storable(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
