"""Who alone may do a kind of work that takes longer than a transaction.

The holder beats while it works. What one that is gone left behind is free at once: its process, not its pid, is looked
at. One that is alive but does not beat loses it when it runs out, and notices at the next beat, or at the latest in the
transaction that commits. Times are unix microseconds. Call what writes inside a write transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import apsw

from memstore.errors import LeaseHeld, LeaseLost
from memstore.store.connection import one
from memstore.store.process import Process

LASTS = 5 * 60 * 1_000_000
"""Microseconds after the last beat."""

_COLUMNS = "kind, owner, pid, started, boot, taken_at, beat, until, called_off"


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may do it now. `owner`: a token of its own for each time. `called_off`: somebody wants the work to end.

    `after`: the lease that was found and taken over, of a holder that was gone or did not beat.
    """

    kind: str
    owner: str
    process: Process
    taken_at: int
    beat: int
    until: int
    called_off: bool = False
    after: Lease | None = None


def is_held(lease: Lease, now: int, alive: Callable[[Process], bool]) -> bool:
    """Whether its holder still works. An end that no beat can have set was written by another clock, and is none."""
    return now < lease.until <= now + 2 * LASTS and alive(lease.process)


def take(
    connection: apsw.Connection, kind: str, owner: str, process: Process, now: int, alive: Callable[[Process], bool]
) -> Lease:
    """Takes the lease, also over from a holder that is gone. Raises LeaseHeld where somebody works."""
    found = current(connection, kind)
    if found is not None and is_held(found, now, alive):
        raise LeaseHeld(kind, found.process.pid, (now - found.taken_at) // 1_000_000)
    lease = Lease(kind, owner, process, now, now, now + LASTS)
    connection.execute(
        f"INSERT OR REPLACE INTO lease ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,0)",
        (kind, owner, process.pid, process.started, process.boot, lease.taken_at, lease.beat, lease.until),
    )
    return replace(lease, after=found)


def beat(connection: apsw.Connection, kind: str, owner: str, now: int) -> bool:
    """Makes the lease last on; whether the work is called off. Raises LeaseLost where it is not the owner's."""
    row = one(
        connection,
        "UPDATE lease SET beat = ?3, until = ?4 WHERE kind = ?1 AND owner = ?2 RETURNING called_off",
        (kind, owner, now, now + LASTS),
    )
    if row is None:
        raise LeaseLost(kind)
    return bool(row[0])


def check(connection: apsw.Connection, kind: str, owner: str, now: int) -> None:
    """Raises LeaseLost where the work is not the owner's any more, or was called off: for the commit, inside it."""
    if beat(connection, kind, owner, now):
        raise LeaseLost(kind, called_off=True)


def release(connection: apsw.Connection, kind: str, owner: str) -> None:
    """Gives the owner's lease back; another's stays."""
    connection.execute("DELETE FROM lease WHERE kind = ? AND owner = ?", (kind, owner))


def current(connection: apsw.Connection, kind: str) -> Lease | None:
    """The lease as it stands, whether its holder is there or not."""
    row = one(connection, f"SELECT {_COLUMNS} FROM lease WHERE kind = ?", (kind,))
    if row is None:
        return None
    return Lease(row[0], row[1], Process(row[2], row[3], row[4]), row[5], row[6], row[7], bool(row[8]))


def call_off(connection: apsw.Connection, kind: str) -> bool:
    """Asks whoever holds the lease to end without having done anything; whether there was anybody to ask."""
    connection.execute("UPDATE lease SET called_off = 1 WHERE kind = ?", (kind,))
    return connection.changes() == 1
