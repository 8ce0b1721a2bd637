"""Rows to values: heads, versions, operations, conflicts. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import apsw

from memstore.core.ids import fingerprint
from memstore.core.model import (
    NOTES,
    NOTES_KIND,
    ConflictRecord,
    Memory,
    Operation,
    Provenance,
    Shelf,
    State,
    Version,
)
from memstore.errors import Defect
from memstore.store.connection import Row, many, one

HEAD_COLUMNS = (
    "SELECT m.id, m.version, m.token, m.scope, m.layer, m.path, t.content, m.state, m.pinned,"
    " (SELECT s.id FROM memory s WHERE s.pk = m.superseded_by), m.name, m.description, m.type, m.origin,"
    " m.listing, m.created_at, m.changed_at, m.operation, m.pk, m.text"
    " FROM memory m JOIN text t ON t.id = m.text"
)
VERSION_COLUMNS = (
    "SELECT m.id, v.number, v.token, v.parent, v.change, v.scope, v.layer, v.path, t.content, v.state, v.pinned,"
    " (SELECT s.id FROM memory s WHERE s.pk = v.superseded_by), v.name, v.description, v.type, v.origin, o.id,"
    " o.seq, o.at FROM version v JOIN memory m ON m.pk = v.memory JOIN text t ON t.id = v.text"
    " JOIN operation o ON o.seq = v.operation"
)
_NEWEST = 2**63 - 1
_OPERATION_COLUMNS = (
    "SELECT o.id, o.seq, o.kind, o.at, o.origin, o.author, o.session, o.worktree, o.branch, o.commit_id, o.reason,"
    " o.undoes FROM operation o"
)
_CONFLICT_COLUMNS = (
    "SELECT c.id, m.id, c.path, c.kind, b.content, t.content, c.note, o.at, o.id,"
    " (SELECT r.id FROM operation r WHERE r.seq = c.resolved), c.resolution FROM conflict c"
    " JOIN text t ON t.id = c.theirs JOIN operation o ON o.seq = c.operation"
    " LEFT JOIN text b ON b.id = c.base LEFT JOIN memory m ON m.pk = c.memory"
)


@dataclass(frozen=True, slots=True)
class HeadRow:
    """A head as the writer needs it."""

    pk: int
    text: int
    version: int
    token: str
    path: str
    origin: Any
    name: str
    description: str
    state: State


def text_content(stored: str | bytes) -> bytes:
    """The bytes that somebody wrote."""
    return stored.encode("utf-8") if isinstance(stored, str) else stored


def _is_text(typed: str) -> bool:
    """Whether SQLite can hold it: half a surrogate pair, as from a raw byte in an argument, is no text."""
    return not any("\ud800" <= character <= "\udfff" for character in typed)


def memory_from_row(row: Row) -> Memory:
    """A head from HEAD_COLUMNS."""
    state = State(Shelf(row[3], row[4]), row[5], text_content(row[6]), row[7] == "live", bool(row[8]), row[9])
    return Memory(
        row[0], row[1], row[2], state, row[10], row[11], row[12], row[13], row[14], row[15], row[16], row[17]
    )  # fmt: skip


def version_from_row(row: Row) -> Version:
    """A version from VERSION_COLUMNS."""
    state = State(Shelf(row[5], row[6]), row[7], text_content(row[8]), row[9] == "live", bool(row[10]), row[11])
    return Version(
        row[0], row[1], row[2], row[3], row[4], state, row[12], row[13], row[14], row[15], row[16], row[17], row[18]
    )  # fmt: skip


def operation_from_row(row: Row) -> Operation:
    """An operation from its columns."""
    return Operation(row[0], row[1], row[2], row[3], Provenance(*row[4:10]), row[10], row[11])


def head_row(connection: apsw.Connection, memory: str) -> HeadRow | None:
    """The head of a memory, by its id."""
    row = one(connection, f"{HEAD_COLUMNS} WHERE m.id = ?", (memory,))
    if row is None:
        return None
    state = State(Shelf(row[3], row[4]), row[5], text_content(row[6]), row[7] == "live", bool(row[8]), row[9])
    return HeadRow(row[18], row[19], row[1], row[2], row[5], row[13], row[10], row[11], state)


def memory_pk(connection: apsw.Connection, memory: str) -> int:
    """The row of a memory id that must be there."""
    row = one(connection, "SELECT pk FROM memory WHERE id = ?", (memory,))
    if row is None:
        raise Defect(f"there is no memory with the id {memory}")
    return int(row[0])


def by_id(connection: apsw.Connection, memory: str) -> Memory | None:
    """A head by its id."""
    row = one(connection, f"{HEAD_COLUMNS} WHERE m.id = ?", (memory,))
    return None if row is None else memory_from_row(row)


def by_path(connection: apsw.Connection, shelf: Shelf, path: str) -> Memory | None:
    """The memory at an address: the living one, else the one that was retired last."""
    from memstore.core.names import collision_key  # a search asks for no address

    row = one(
        connection,
        f"{HEAD_COLUMNS} WHERE m.path_key = ? AND m.scope = ? AND m.layer = ?"
        " ORDER BY m.state = 'live' DESC, m.operation DESC LIMIT 1",
        (collision_key(path), shelf.scope, shelf.layer),
    )
    return None if row is None else memory_from_row(row)


def by_old_path(connection: apsw.Connection, shelf: Shelf, path: str) -> Memory | None:
    """The memory that stood at an address last, before it was renamed away."""
    row = one(
        connection,
        "SELECT m.id FROM version v JOIN memory m ON m.pk = v.memory WHERE v.path = ? AND v.scope = ? AND v.layer = ?"
        " ORDER BY v.pk DESC LIMIT 1",
        (path, shelf.scope, shelf.layer),
    )
    return None if row is None else by_id(connection, row[0])


def by_name(connection: apsw.Connection, shelf: Shelf, name: str) -> list[Memory]:
    """The living memories whose `name` field is this one."""
    if not _is_text(name):
        return []
    rows = connection.execute(
        f"{HEAD_COLUMNS} WHERE m.name = ? AND m.scope = ? AND m.layer = ? AND m.state = 'live' ORDER BY m.path",
        (name, shelf.scope, shelf.layer),
    )
    return [memory_from_row(row) for row in rows]


def heads(connection: apsw.Connection, shelf: Shelf | None, *, retired: bool = False) -> list[Memory]:
    """All heads of a shelf (None: of all but that of the notes), by path."""
    conditions = [] if retired else ["m.state = 'live'"]
    values: list[str] = []
    if shelf is None:
        conditions.append("m.scope <> ?")
        values.append(NOTES.scope)
    else:
        conditions.append("m.scope = ? AND m.layer = ?")
        values += [shelf.scope, shelf.layer]
    where = " AND ".join(conditions)
    rows = connection.execute(f"{HEAD_COLUMNS} WHERE {where} ORDER BY m.path_key, m.pk", values)
    return [memory_from_row(row) for row in rows]


def versions(connection: apsw.Connection, memory: str) -> list[Version]:
    """All versions of a memory, oldest first."""
    rows = connection.execute(f"{VERSION_COLUMNS} WHERE m.id = ? ORDER BY v.number", (memory,))
    return [version_from_row(row) for row in rows]


def version_by(connection: apsw.Connection, memory: str, *, number: int = 0, token: str = "") -> Version | None:
    """One version, by its number or its token."""
    row = one(
        connection,
        f"{VERSION_COLUMNS} WHERE m.id = ? AND (v.number = ? OR v.token = ?)",
        (memory, number, token),
    )
    return None if row is None else version_from_row(row)


def versions_of(connection: apsw.Connection, seq: int) -> list[Version]:
    """The versions that an operation made."""
    rows = connection.execute(f"{VERSION_COLUMNS} WHERE v.operation = ? ORDER BY v.pk", (seq,))
    return [version_from_row(row) for row in rows]


def operation_by_id(connection: apsw.Connection, operation: str) -> Operation | None:
    """An operation by its whole id or a unique beginning of it that is at least six characters long."""
    if len(operation) < 6 or not _is_text(operation):
        return None
    end = operation + "\U0010ffff"
    rows = many(
        connection,
        f"{_OPERATION_COLUMNS} WHERE o.id = ? OR (o.id > ? AND o.id < ?) ORDER BY o.id = ? DESC LIMIT 2",
        (operation, operation, end, operation),
    )
    if not rows or (len(rows) == 2 and rows[0][0] != operation):
        return None
    return operation_from_row(rows[0])


def operation_by_seq(connection: apsw.Connection, seq: int) -> Operation | None:
    """An operation by its place in the commit order."""
    row = one(connection, f"{_OPERATION_COLUMNS} WHERE o.seq = ?", (seq,))
    return None if row is None else operation_from_row(row)


def has_kind(connection: apsw.Connection, kind: str) -> bool:
    """Whether there ever was an operation of this kind."""
    return one(connection, "SELECT 1 FROM operation WHERE kind = ? LIMIT 1", (kind,)) is not None


def operations(
    connection: apsw.Connection,
    *,
    memory: str | None = None,
    since: int = 0,
    before: int | None = None,
    limit: int = -1,
) -> Iterator[tuple[Operation, list[tuple[str, str, int, str]]]]:
    """Operations before the place `before`, newest first, each with (path, change, number, token) of what it made.

    Those that kept a session's notes are told of their memory only: there are many.
    """
    of_memory = (
        " AND EXISTS (SELECT 1 FROM version v JOIN memory m ON m.pk = v.memory WHERE v.operation = o.seq AND m.id = ?)"
        if memory is not None
        else " AND o.kind <> ?"
    )
    values: tuple[Any, ...] = (
        since,
        _NEWEST if before is None else before,
        NOTES_KIND if memory is None else memory,
        limit,
    )
    rows = many(
        connection, f"{_OPERATION_COLUMNS} WHERE o.at >= ? AND o.seq < ?{of_memory} ORDER BY o.seq DESC LIMIT ?", values
    )
    for row in rows:
        made = many(
            connection,
            "SELECT path, change, number, token FROM version WHERE operation = ? ORDER BY pk",
            (row[1],),
        )
        yield operation_from_row(row), made


def changed_after(connection: apsw.Connection, seq: int) -> list[tuple[str, str]]:
    """(path, change) of each version of a memory that was made after operation `seq`, in their order."""
    rows = connection.execute(
        "SELECT path, change FROM version WHERE operation > ? AND scope <> ? ORDER BY pk", (seq, NOTES.scope)
    )
    return [(row[0], row[1]) for row in rows]


def conflicts(connection: apsw.Connection, *, everything: bool = False) -> list[ConflictRecord]:
    """Open conflicts, oldest first; with `everything` the settled ones too."""
    where = "" if everything else " WHERE c.resolved IS NULL"
    rows = connection.execute(f"{_CONFLICT_COLUMNS}{where} ORDER BY c.pk")
    return [
        ConflictRecord(
            row[0],
            row[1],
            row[2],
            row[3],
            None if row[4] is None else text_content(row[4]),
            text_content(row[5]),
            *row[6:],
        )
        for row in rows
    ]


def counts(connection: apsw.Connection) -> dict[str, int]:
    """How many there are of everything that `status` tells, the notes of sessions aside."""
    row = one(
        connection,
        "SELECT (SELECT count(*) FROM memory WHERE state = 'live' AND scope <> ?1),"
        " (SELECT count(*) FROM memory WHERE state = 'retired' AND scope <> ?1),"
        " (SELECT count(*) FROM version) - (SELECT coalesce(sum(version), 0) FROM memory WHERE scope = ?1),"
        " (SELECT count(*) FROM operation) - (SELECT count(*) FROM run WHERE kind = ?2 AND operation IS NOT NULL),"
        " (SELECT count(*) FROM conflict WHERE resolved IS NULL), (SELECT count(*) FROM set_aside),"
        " (SELECT count(*) FROM line WHERE live = 1), (SELECT count(*) FROM job WHERE state = 'failed')",
        (NOTES.scope, NOTES_KIND),
    )
    names = ("live", "retired", "versions", "operations", "conflicts", "set_aside", "lines", "failed_jobs")
    return dict(zip(names, row or (), strict=True))


def had_text(connection: apsw.Connection, memory: str, calm_text: bytes, before: int) -> bool:
    """Whether a version of a memory before number `before` had this text, the client's stamps aside."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM version v JOIN text t ON t.id = v.text JOIN memory m ON m.pk = v.memory"
        " WHERE m.id = ? AND v.number < ? AND t.calm = ?)",
        (memory, before, fingerprint(calm_text)),
    )
    return bool(row and row[0])


def knows(connection: apsw.Connection, content: bytes) -> bool:
    """Whether this very text was taken in or put aside, under whatever name: nobody has to keep it elsewhere.

    That a session had seen it, or that it came out of a projection, does not count: nothing of it is in any memory.
    """
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM text t WHERE t.digest = ? AND ("
        " EXISTS (SELECT 1 FROM version WHERE text = t.id)"
        " OR EXISTS (SELECT 1 FROM shown WHERE text = t.id)"
        " OR EXISTS (SELECT 1 FROM known_since WHERE text = t.id)"
        " OR EXISTS (SELECT 1 FROM conflict WHERE theirs = t.id)"
        " OR EXISTS (SELECT 1 FROM set_aside WHERE text = t.id)"
        " OR EXISTS (SELECT 1 FROM shown_before WHERE text = t.id)))",
        (fingerprint(content),),
    )
    return bool(row and row[0])


def with_text(connection: apsw.Connection, calm_text: bytes) -> list[Memory]:
    """The living memories whose present text is this one, the client's stamps aside."""
    rows = connection.execute(
        f"{HEAD_COLUMNS} WHERE t.calm = ? AND m.state = 'live' AND m.scope <> ? ORDER BY m.path",
        (fingerprint(calm_text), NOTES.scope),
    )
    return [memory_from_row(row) for row in rows]


def had_anywhere(connection: apsw.Connection, content: bytes) -> bool:
    """Whether some version of any memory, retired ones among them, has this very text."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM version v JOIN text t ON t.id = v.text WHERE t.digest = ? AND v.scope <> ?)",
        (fingerprint(content), NOTES.scope),
    )
    return bool(row and row[0])


def in_conflict(connection: apsw.Connection, memory: str, content: bytes) -> bool:
    """Whether this very text is kept beside a memory, and nobody has decided yet."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM conflict c JOIN memory m ON m.pk = c.memory JOIN text t ON t.id = c.theirs"
        " WHERE c.resolved IS NULL AND m.id = ? AND t.digest = ?)",
        (memory, fingerprint(content)),
    )
    return bool(row and row[0])


def paths(connection: apsw.Connection, shelf: Shelf) -> dict[str, str]:
    """The id of each living memory of a shelf, by the collision key of its path."""
    rows = connection.execute(
        "SELECT path_key, id FROM memory WHERE state = 'live' AND scope = ? AND layer = ?",
        (shelf.scope, shelf.layer),
    )
    return {row[0]: row[1] for row in rows}
