"""When the last dream was and how it went, when sessions were last counted, which of the client's locks are held.

Times are unix microseconds. Call the functions that write inside a write transaction.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from memstore.store.connection import many, one

KIND = "dream"
"""What its lease and its runs are called."""

_GOOD = "kind = 'dream' AND state = 'done'"


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock of the client's that a dream has. `prior`: its time before; 0: there was none."""

    folder: str
    pid: int
    taken_at: int
    prior: int


@dataclass(frozen=True, slots=True)
class Past:
    """The dreams so far. `last`: when the last one that ended well began. `failures`: how many have failed since, and
    `failed_at`: when the last of those ended."""

    last: int | None
    failures: int
    failed_at: int | None


@dataclass(frozen=True, slots=True)
class Count:
    """How many sessions were counted, and when."""

    at: int
    sessions: int


def past(connection: apsw.Connection, now: int) -> Past:
    """The dreams so far; what a clock that ran ahead dated later than `now` does not count."""
    row = one(
        connection, f"SELECT seq, started_at FROM run WHERE {_GOOD} AND started_at <= ? ORDER BY seq DESC", (now,)
    )
    last, after = (None, 0) if row is None else (int(row[1]), int(row[0]))
    failed = one(
        connection,
        "SELECT count(*), max(ended_at) FROM run WHERE kind = 'dream' AND state = 'failed' AND seq > ?1"
        " AND ended_at <= ?2",
        (after, now),
    )
    return Past(last, 0, None) if failed is None else Past(last, int(failed[0]), failed[1])


def count(connection: apsw.Connection) -> Count | None:
    """The last count of sessions; None where there was none."""
    row = one(connection, "SELECT scanned_at, sessions FROM dream WHERE id = 1 AND scanned_at IS NOT NULL")
    return None if row is None else Count(int(row[0]), int(row[1]))


def note_count(connection: apsw.Connection, at: int, sessions: int) -> None:
    """Remembers a count of sessions."""
    connection.execute(
        "INSERT INTO dream (id, scanned_at, sessions) VALUES (1, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET scanned_at = excluded.scanned_at, sessions = excluded.sessions",
        (at, sessions),
    )


def transcripts(connection: apsw.Connection) -> list[str]:
    """The transcripts that hooks told of."""
    rows = many(connection, "SELECT DISTINCT transcript FROM session WHERE transcript IS NOT NULL")
    return [str(row[0]) for row in rows]


def locks(connection: apsw.Connection) -> list[HeldLock]:
    """The client's locks that a dream has, or had when it was killed."""
    rows = many(connection, "SELECT folder, pid, taken_at, prior FROM dream_lock ORDER BY folder")
    return [HeldLock(*row) for row in rows]


def note_lock(connection: apsw.Connection, lock: HeldLock) -> None:
    """Remembers a lock before it is taken: who comes after a crash gives it back."""
    connection.execute(
        "INSERT OR REPLACE INTO dream_lock (folder, pid, taken_at, prior) VALUES (?, ?, ?, ?)",
        (lock.folder, lock.pid, lock.taken_at, lock.prior),
    )


def forget_lock(connection: apsw.Connection, folder: str) -> None:
    """The lock of this folder was given back."""
    connection.execute("DELETE FROM dream_lock WHERE folder = ?", (folder,))


@dataclass(frozen=True, slots=True)
class Untold:
    """A dream of which no session has been told. `operation`: its number. The rest: how many steps of a kind it did."""

    run: str
    operation: int
    merged: int
    revised: int
    deleted: int
    created: int


def untold(connection: apsw.Connection) -> list[Untold]:
    """The dreams that changed something of which no session was told, oldest first, but for what was taken back."""
    rows = many(
        connection,
        "SELECT r.id, r.operation, count(*) FILTER (WHERE s.action = 'merge'),"
        " count(*) FILTER (WHERE s.action = 'revise'), count(*) FILTER (WHERE s.action = 'delete'),"
        " count(*) FILTER (WHERE s.action = 'create')"
        " FROM run r JOIN run_step s ON s.run = r.seq AND s.state = 'done' WHERE r.kind = ? AND r.told = 0"
        " AND r.operation IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM operation o JOIN operation u ON u.undoes = o.id WHERE o.seq = r.operation)"
        " GROUP BY r.seq ORDER BY r.seq",
        (KIND,),
    )
    return [Untold(*row) for row in rows]
