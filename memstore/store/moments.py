"""The memories and the index as they stood after some operation: reads for an export."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from memstore.core.exchange import Carried, IndexRow
from memstore.core.model import NOTES, Operation, Shelf, Version
from memstore.store.connection import one
from memstore.store.reader import VERSION_COLUMNS, operation_from_row, version_from_row

_OPERATIONS = (
    "SELECT o.id, o.seq, o.kind, o.at, o.origin, o.author, o.session, o.worktree, o.branch, o.commit_id, o.reason,"
    " o.undoes FROM operation o WHERE o.seq <= ?1 ORDER BY o.seq"
)
# A line is not moved to another shelf, so its present one was always its own.
_LINES = (
    "SELECT l.id, l.scope, l.layer, v.rank, v.kind, v.text, (SELECT m.id FROM memory m WHERE m.pk = v.memory),"
    " v.hook_by FROM line l JOIN line_version v ON v.line = l.pk"
    " AND v.version = (SELECT max(w.version) FROM line_version w WHERE w.line = l.pk AND w.operation <= ?1)"
    " WHERE v.live = 1 ORDER BY l.scope, l.layer, v.rank, l.id"
)


def store_id(connection: apsw.Connection) -> str:
    """The store's id as the database itself has it; empty where it has none."""
    row = one(connection, "SELECT id FROM store")
    return "" if row is None else str(row[0])


def line_ids(connection: apsw.Connection) -> frozenset[str]:
    """The ids of all lines that any index ever had."""
    return frozenset(row[0] for row in connection.execute("SELECT id FROM line"))


def last(connection: apsw.Connection) -> int:
    """The last operation; 0 in an empty store."""
    row = one(connection, "SELECT coalesce(max(seq), 0) FROM operation")
    return 0 if row is None else int(row[0])


def last_before(connection: apsw.Connection, moment: int, *, inclusive: bool) -> int:
    """The last operation before a moment (unix microseconds), or at it; 0 where there is none."""
    row = one(
        connection,
        f"SELECT coalesce(max(seq), 0) FROM operation WHERE at {'<=' if inclusive else '<'} ?",
        (moment,),
    )
    return 0 if row is None else int(row[0])


def carried(connection: apsw.Connection, seq: int) -> list[Carried]:
    """Every memory that was there after operation `seq`, with its versions up to it; not the notes of sessions.

    `listing` is as it is now: nothing keeps how it was.
    """
    rows = connection.execute(
        f"{VERSION_COLUMNS} WHERE v.operation <= ? AND m.scope <> ? ORDER BY m.pk, v.number", (seq, NOTES.scope)
    )
    versions: dict[str, list[Version]] = {}
    for row in rows:
        versions.setdefault(row[0], []).append(version_from_row(row))
    about = connection.execute(
        "SELECT id, listing, created_at FROM memory WHERE scope <> ? ORDER BY pk", (NOTES.scope,)
    )
    return [
        Carried(memory, versions[memory][-1].state.shelf, listing, created, tuple(versions[memory]), {})
        for memory, listing, created in about
        if memory in versions
    ]


def index_rows(connection: apsw.Connection, seq: int) -> list[IndexRow]:
    """The lines of every index as they stood after operation `seq`, in their order."""
    rows = connection.execute(_LINES, (seq,))
    return [IndexRow(row[0], Shelf(row[1], row[2]), *row[3:]) for row in rows]


def operations(connection: apsw.Connection, seq: int, wanted: Collection[int]) -> list[Operation]:
    """Those of the operations up to `seq` that are wanted, in their order."""
    return [operation_from_row(row) for row in connection.execute(_OPERATIONS, (seq,)) if row[1] in wanted]
