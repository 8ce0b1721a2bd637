"""What is to be done after a session's turns: hooks put jobs in (`sessions.STATEMENTS`), a worker takes them.

| state | what it means | what becomes of it |
|---|---|---|
| waiting | nobody has it; not taken before `due_at` | running. A newer one of its session takes its place, in its row |
| running | a worker has it; one of a kind and session at most | done, waiting or failed |
| failed | parked: it was tried too often | waiting by `retry`, or done by a later one's success |
| done | nothing is left to do | |

While one runs, the newest of those that come waits: it makes one trailing run. Times are unix microseconds. Call the
functions that write inside a write transaction.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import apsw

from memstore.core.model import NOTES_KIND
from memstore.errors import Conflict
from memstore.store.connection import Row, many, one
from memstore.store.worker_turn import is_working

if TYPE_CHECKING:
    from memstore.store.store import Store

State = Literal["waiting", "running", "done", "failed"]

KINDS = ("extract", NOTES_KIND)
"""The jobs of one worker, whose turn is named after the first."""

BACK_OFF = (60_000_000, 300_000_000, 1_800_000_000, 7_200_000_000)
"""How long a job waits after its first failure, its second and so on; after one more it is parked."""

LONGEST_WAIT = 86_400_000_000
"""Nothing waits for longer than a day: whoever asks for more is asked again then, and a time that is further away was
told by a clock that has been set back since."""

DECLINED = "declined"
"""The gate of a run that the model refused: what it was shown counts as looked at, until somebody wants it again."""

_COLUMNS = "seq, id, kind, state, session, transcript, cwd, event, at, tries, note, due_at, turns"


_PASSED_OVER = "SELECT r.kind, r.session FROM run r JOIN taken t ON t.run = r.seq WHERE r.gate = ?4"
"""The sessions of which messages were passed over because a model declined."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `event`: what asked for it. `tries`: how often it failed; `note`: why the last time. `turns`: how many
    turns ended that it is for."""

    seq: int
    id: str
    kind: str
    state: State
    session: str
    transcript: str
    cwd: str
    event: str
    at: int
    tries: int
    note: str | None
    due_at: int | None
    turns: int


def is_due(job: Job, now: int) -> bool:
    """Whether a job that waits is to be taken now."""
    return not now < (job.due_at or 0) <= now + LONGEST_WAIT


def claim(connection: apsw.Connection, kind: str, now: int, without: Collection[str] = ()) -> Job | None:
    """Takes the job that waits longest of those that are due and whose session has none running.

    `without`: sessions whose jobs go on waiting.
    """
    rows = many(
        connection,
        "UPDATE job SET state = 'running', due_at = NULL WHERE seq = (SELECT w.seq FROM job w WHERE w.state = 'waiting'"
        " AND w.kind = ?1 AND coalesce(w.due_at, 0) NOT BETWEEN ?2 + 1 AND ?2 + ?3 AND NOT EXISTS (SELECT 1 FROM job r"
        " WHERE r.kind = w.kind AND r.session = w.session AND r.state = 'running')"
        " AND w.session NOT IN (SELECT value FROM json_each(?4)) ORDER BY w.seq LIMIT 1)"
        f" RETURNING {_COLUMNS}",
        (kind, now, LONGEST_WAIT, json.dumps(sorted(without))),
    )
    return Job(*rows[0]) if rows else None


def finish(connection: apsw.Connection, seq: int, *, read: bool) -> None:
    """A running job is done. `read`: its transcript was read to the end, so that no parked job has anything left.

    One that the model declined has: it was passed over, and is parked until somebody wants it to be asked again.
    """
    job = _running(connection, seq)
    connection.execute("UPDATE job SET state = 'done', note = NULL WHERE seq = ?", (seq,))
    if read:
        connection.execute(
            "UPDATE job SET state = 'done' WHERE state = 'failed' AND kind = ?1 AND session = ?2 AND transcript = ?3"
            f" AND NOT EXISTS ({_PASSED_OVER} AND r.kind = ?1 AND r.session = ?2)",
            (job.kind, job.session, job.transcript, DECLINED),
        )


def requeue(connection: apsw.Connection, seq: int, due_at: int | None, note: str) -> None:
    """A running job waits again, until `due_at`; it does not count as tried. If a newer one waits, that one does."""
    _put_back(connection, _running(connection, seq), due_at, note, failures=0)


def fail(connection: apsw.Connection, seq: int, now: int, note: str) -> int | None:
    """A running job failed: it waits for its next try, and the answer is until when; None: it is parked."""
    job = _running(connection, seq)
    if job.tries >= len(BACK_OFF):
        park(connection, seq, note)
        return None
    due_at = now + BACK_OFF[job.tries]
    _put_back(connection, job, due_at, note, failures=1)
    return due_at


def park(connection: apsw.Connection, seq: int, note: str) -> None:
    """A running job failed and is not tried again before somebody has looked.

    Of its transcript it is the only one then: what earlier ones had left is before it, too.
    """
    job = _running(connection, seq)
    same = "state = 'failed' AND kind = ? AND session = ? AND transcript = ?"
    values = (job.kind, job.session, job.transcript)
    earlier = one(connection, f"SELECT coalesce(sum(turns), 0) FROM job WHERE {same}", values)
    connection.execute(f"UPDATE job SET state = 'done' WHERE {same}", values)
    connection.execute(
        "UPDATE job SET state = 'failed', tries = tries + 1, note = ?, turns = turns + ? WHERE seq = ?",
        (storable(note), 0 if earlier is None else earlier[0], seq),
    )


def go_on(connection: apsw.Connection, seq: int, identity: str, now: int) -> None:
    """A running job is done, but not all of its work: the rest waits as a new job behind all others."""
    finish(connection, seq, read=False)
    queue_rest(connection, seq, identity, now)


def queue_rest(connection: apsw.Connection, seq: int, identity: str, now: int) -> None:
    """What comes after that which a job has ended with waits as a new one, behind all others.

    `identity`: the id of the new one. If a newer one waits already, that one does the rest.
    """
    connection.execute(
        "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at, turns)"
        " SELECT ?1, kind, 'waiting', session, transcript, cwd, 'more', ?2, turns FROM job WHERE seq = ?3"
        " ON CONFLICT (id) DO NOTHING"
        " ON CONFLICT (kind, session) WHERE state = 'waiting' DO UPDATE SET turns = turns + excluded.turns",
        (identity, now, seq),
    )


def add(connection: apsw.Connection, kind: str, like: Job, now: int) -> None:
    """Puts in a job of another kind for the turns that a job is for; where one waits already it is for these too.

    One that is parked is done by it: whatever that one had left is before the new one, too.
    """
    identity = f"{kind} {like.id}"
    connection.execute(
        "UPDATE job SET state = 'done' WHERE state = 'failed' AND kind = ? AND session = ? AND id <> ?",
        (kind, like.session, identity),
    )
    connection.execute(
        "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at, turns)"
        " VALUES (?, ?, 'waiting', ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        " ON CONFLICT (kind, session) WHERE state = 'waiting' DO UPDATE SET transcript = excluded.transcript,"
        " cwd = excluded.cwd, event = excluded.event, at = excluded.at, turns = turns + excluded.turns",
        (identity, kind, like.session, like.transcript, like.cwd, like.event, now, like.turns),
    )


def retry(connection: apsw.Connection, session: str | None = None) -> int:
    """What is parked or waits for its next try is due now, of one session or (None) of all. How many jobs that are.

    What a model declined is shown once more.
    """
    _show_again(connection, session)
    of_session = "(?1 IS NULL OR session = ?1)"
    sibling = "SELECT 1 FROM job o WHERE o.kind = job.kind AND o.session = job.session AND o.state"
    # A session keeps one that waits: the one that does so already, else the newest that was parked.
    for statement in (
        f"UPDATE job SET due_at = 0 WHERE state = 'waiting' AND {of_session} AND EXISTS ({sibling} = 'failed')",
        f"UPDATE job SET state = 'done' WHERE state = 'failed' AND {of_session} AND (EXISTS ({sibling} = 'waiting')"
        f" OR EXISTS ({sibling} = 'failed' AND o.seq > job.seq))",
        f"UPDATE job SET state = 'waiting', due_at = 0 WHERE state = 'failed' AND {of_session}",
        f"UPDATE job SET tries = 0, due_at = NULL WHERE state = 'waiting' AND due_at IS NOT NULL AND {of_session}",
    ):
        connection.execute(statement, (session,))
    return connection.changes()


def _show_again(connection: apsw.Connection, session: str | None) -> None:
    """What was declined has no outcome any more; its transcript is read from the start, where all else is known."""
    found = many(
        connection,
        f"SELECT DISTINCT r.kind, r.session FROM ({_PASSED_OVER}) r WHERE (?1 IS NULL OR r.session = ?1) AND EXISTS"
        " (SELECT 1 FROM job j WHERE j.state = 'failed' AND j.kind = r.kind AND j.session = r.session)",
        (session, None, None, DECLINED),
    )
    for kind, name in found:
        connection.execute(
            "DELETE FROM taken WHERE run IN (SELECT seq FROM run WHERE kind = ?1 AND session = ?2 AND gate = ?3)",
            (kind, name, DECLINED),
        )
        connection.execute("DELETE FROM cursor WHERE kind = ?1 AND session = ?2", (kind, name))


def are_due(store: Store) -> bool:
    """Whether there is something for a worker to do: a job that is due, or one whose worker is gone."""
    with store.view() as connection:
        due = any(is_due(job, store.now()) for job in waiting(connection) if job.kind in KINDS)
        left = any(job.kind in KINDS for job in orphaned(connection))
    return due or (left and not is_working(store.directory, KINDS[0]))


def waiting(connection: apsw.Connection) -> list[Job]:
    """The jobs that nobody has taken, in the order in which they are taken when they are due."""
    return _all(connection, "waiting")


def parked(connection: apsw.Connection) -> list[Job]:
    """The jobs that were tried too often, oldest first."""
    return _all(connection, "failed")


def orphaned(connection: apsw.Connection) -> list[Job]:
    """The running jobs. To whoever holds the worker's lock they are those of workers that are gone."""
    return _all(connection, "running")


def storable(text: str) -> str:
    """A text that SQLite can keep: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _all(connection: apsw.Connection, state: State) -> list[Job]:
    return [Job(*row) for row in many(connection, f"SELECT {_COLUMNS} FROM job WHERE state = ? ORDER BY seq", (state,))]


def _running(connection: apsw.Connection, seq: int) -> Job:
    row: Row | None = one(connection, f"SELECT {_COLUMNS} FROM job WHERE seq = ? AND state = 'running'", (seq,))
    if row is None:
        raise Conflict(f"job {seq} is not running any more", hint="another worker has ended it")
    return Job(*row)


def _waiting_of(connection: apsw.Connection, kind: str, session: str) -> int | None:
    row = one(connection, "SELECT seq FROM job WHERE state = 'waiting' AND kind = ? AND session = ?", (kind, session))
    return None if row is None else int(row[0])


def _put_back(connection: apsw.Connection, job: Job, due_at: int | None, note: str, *, failures: int) -> None:
    """The job waits again; where a newer one of its session does so already, that one waits as long in its stead."""
    target, tries = _waiting_of(connection, job.kind, job.session), job.tries + failures
    if target is not None:
        connection.execute("UPDATE job SET state = 'done' WHERE seq = ?", (job.seq,))
    connection.execute(
        "UPDATE job SET state = 'waiting', tries = max(tries, ?1), note = ?2,"
        " due_at = iif(?3 IS NULL, due_at, max(coalesce(due_at, 0), ?3)), turns = turns + ?5 WHERE seq = ?4",
        (tries, storable(note), due_at, job.seq if target is None else target, 0 if target is None else job.turns),
    )
