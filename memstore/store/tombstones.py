"""What is left of what was purged: that it was, by which operation, and which earlier operations lost something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json import dumps, loads

import apsw

from memstore.core.ids import fingerprint
from memstore.core.names import collision_key
from memstore.errors import Conflict
from memstore.store.connection import Reading, many, one


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One purge. `seq`: its operation; `what`: memory, secret or before; `swept_at`: when the files of the store were
    cleaned after it (unix microseconds), None: not yet."""

    seq: int
    what: str
    taken: Mapping[str, int]
    at: int
    swept_at: int | None


_COLUMNS = "SELECT p.operation, p.what, p.taken, o.at, p.swept_at FROM purge p JOIN operation o ON o.seq = p.operation"


def put(
    connection: apsw.Connection,
    seq: int,
    what: str,
    taken: Mapping[str, int],
    paths: Iterable[str],
    reached: Iterable[int],
) -> None:
    """Records a purge. Call it in its transaction."""
    connection.execute("INSERT INTO purge (operation, what, taken) VALUES (?, ?, ?)", (seq, what, dumps(dict(taken))))
    keys = sorted({_key(connection, path) for path in paths})
    connection.executemany("INSERT INTO purged (digest, operation) VALUES (?, ?)", ((key, seq) for key in keys))
    connection.executemany(
        "INSERT INTO purge_reach (reached, operation) VALUES (?, ?)", ((each, seq) for each in sorted(set(reached)))
    )


def of_path(connection: Reading, path: str) -> Tombstone | None:
    """The last purge that took a memory at this path."""
    row = one(
        connection,
        f"{_COLUMNS} JOIN purged g ON g.operation = p.operation WHERE g.digest = ? ORDER BY p.operation DESC",
        (_key(connection, path),),
    )
    return None if row is None else _tombstone(row)


def reaching(connection: Reading, seq: int) -> Tombstone | None:
    """The first purge that took something of an operation, or that the operation is."""
    row = one(
        connection,
        f"{_COLUMNS} WHERE p.operation = ?1 OR p.operation IN (SELECT operation FROM purge_reach WHERE reached = ?1)"
        " ORDER BY p.operation",
        (seq,),
    )
    return None if row is None else _tombstone(row)


def check_undo(connection: Reading, seq: int) -> None:
    """Raises Conflict for an operation that cannot be taken back as something of it, or of before it, was purged."""
    found = reaching(connection, seq)
    if found is None:
        return
    if found.seq == seq:
        raise Conflict(
            f"operation #{seq} is a purge: what it took is gone for good", hint="a backup from before may still have it"
        )
    raise Conflict(
        f"operation #{seq} cannot be taken back: what is needed for that was purged by operation #{found.seq}",
        hint="see `memstore log`; write by hand what should be otherwise",
    )


def unswept(connection: Reading) -> list[Tombstone]:
    """The purges after which the files of the store were not cleaned yet, oldest first."""
    return [_tombstone(row) for row in many(connection, f"{_COLUMNS} WHERE p.swept_at IS NULL ORDER BY p.operation")]


def mark_swept(connection: apsw.Connection, at: int) -> None:
    """The files of the store hold nothing any more of what was purged so far."""
    connection.execute("UPDATE purge SET swept_at = ? WHERE swept_at IS NULL", (at,))


def _tombstone(row: tuple[int, str, str, int, int | None]) -> Tombstone:
    return Tombstone(row[0], row[1], loads(row[2]), row[3], row[4])


def _key(connection: Reading, path: str) -> bytes:
    row = one(connection, "SELECT id FROM store")
    assert row is not None
    return fingerprint(f"{row[0]}\0{collision_key(path)}".encode("utf-8", "surrogatepass"))
