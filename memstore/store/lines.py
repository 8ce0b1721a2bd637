"""The index as rows: reading them, changing them, and keeping them in step with the memories they name."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from memstore.core.changes import AddIndexLine, LineChange, SetIndexLine, SetListing
from memstore.core.index_render import Rendering, bind, chosen, due_lines, refresh, whole
from memstore.core.index_values import END, Entry, Line, ranks_after
from memstore.core.model import INDEX_NAME, SHELF, Shelf
from memstore.core.undo import LineStep
from memstore.errors import StaleVersion
from memstore.store.connection import Row, many, one

_COLUMNS = (
    "SELECT l.id, l.text, l.kind, (SELECT m.id FROM memory m WHERE m.pk = l.memory), l.rank, l.hook_by, l.version,"
    " l.operation FROM line l"
)
_STATE = "l.pk, l.id, l.version, l.kind, l.text, l.memory, l.rank, l.hook_by, l.live, l.scope, l.layer"
_ENTRY = (
    "SELECT m.id, m.path, m.name, m.description, coalesce(m.type, ''), m.pinned,"
    " EXISTS (SELECT 1 FROM memory o WHERE o.superseded_by = m.pk), m.superseded_by IS NOT NULL, m.operation,"
    " m.listing FROM memory m"
)


def rows(connection: apsw.Connection, shelf: Shelf = SHELF) -> list[Line]:
    """The living lines of a shelf's index, in order."""
    found = connection.execute(
        f"{_COLUMNS} WHERE l.scope = ? AND l.layer = ? AND l.live = 1 ORDER BY l.rank, l.id",
        (shelf.scope, shelf.layer),
    )
    return [tuple.__new__(Line, row) for row in found]


def entries(connection: apsw.Connection, shelf: Shelf = SHELF) -> dict[str, Entry]:
    """What the index may say of each living memory of a shelf, by memory id."""
    found = connection.execute(
        f"{_ENTRY} WHERE m.state = 'live' AND m.scope = ? AND m.layer = ?", (shelf.scope, shelf.layer)
    )
    return {row[0]: tuple.__new__(Entry, row) for row in found}


def rendering(connection: apsw.Connection, shelf: Shelf = SHELF) -> Rendering | None:
    """A shelf's index as it is shown; None where it has no line."""
    found = rows(connection, shelf)
    return (whole(found) or chosen(found, entries(connection, shelf))) if found else None


def apply_changes(connection: apsw.Connection, seq: int, changes: Iterable[LineChange]) -> None:
    """Carries out an edit of the index. Raises StaleVersion where a line moved on since the edit was planned."""
    for change in changes:
        if isinstance(change, AddIndexLine):
            _add(connection, seq, change, SHELF)
        elif isinstance(change, SetIndexLine):
            row = one(connection, f"SELECT {_STATE} FROM line l WHERE l.id = ?", (change.id,))
            if row is None or row[2] != change.expect:
                found = 0 if row is None else row[2]
                raise StaleVersion(INDEX_NAME, str(change.expect), str(found), b"", change.text.encode("utf-8"))
            _set(connection, seq, row, change)
        else:
            _set_listing(connection, change)


def _set_listing(connection: apsw.Connection, change: SetListing) -> None:
    connection.execute(
        "UPDATE memory SET listing = ?, due_at = ? WHERE id = ?",
        (change.listing, change.due_at, change.memory),
    )


def _add(connection: apsw.Connection, seq: int, change: AddIndexLine, shelf: Shelf) -> None:
    rank = change.rank if change.rank is not None else _next_rank(connection, shelf)
    memory = None
    if change.memory is not None:
        row = one(connection, "SELECT pk FROM memory WHERE id = ?", (change.memory,))
        memory = None if row is None else row[0]
    connection.execute(
        "INSERT INTO line (id, scope, layer, rank, kind, text, memory, hook_by, live, version, operation)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 1, ?)",
        (change.id, shelf.scope, shelf.layer, rank, change.kind, change.text, memory, change.hook_by, seq),
    )
    pk = connection.last_insert_rowid()
    _keep(connection, seq, (pk, 1, rank, change.kind, change.text, memory, change.hook_by, 1))
    if memory is not None:
        connection.execute("UPDATE memory SET listing = 'listed', due_at = NULL WHERE pk = ?", (memory,))


def _set(connection: apsw.Connection, seq: int, row: Row, change: SetIndexLine) -> None:
    found = None
    if change.memory is not None:
        found = one(connection, "SELECT pk FROM memory WHERE id = ?", (change.memory,))
    memory = None if found is None else found[0]
    if change.live and not row[8] and memory is not None and not _may_return(connection, memory, change.kind):
        return
    _rewrite(connection, seq, row, change.kind, change.text, memory, change.rank, change.hook_by, int(change.live))
    if memory is not None and change.live:
        connection.execute("UPDATE memory SET listing = 'listed', due_at = NULL WHERE pk = ?", (memory,))


def _may_return(connection: apsw.Connection, memory: int, kind: str) -> bool:
    """Whether a line that was out of the index may come back: it names a living memory, and none of ours doubles it."""
    row = one(
        connection,
        "SELECT m.state, EXISTS (SELECT 1 FROM line l WHERE l.memory = m.pk AND l.live = 1) FROM memory m"
        " WHERE m.pk = ?",
        (memory,),
    )
    return row is not None and row[0] == "live" and not (kind == "auto" and row[1])


def _rewrite(
    connection: apsw.Connection,
    seq: int,
    row: Row,
    kind: str,
    text: str,
    memory: int | None,
    rank: str,
    hook_by: str,
    live: int,
) -> None:
    """The next version of a line, unless nothing of it changes."""
    if (row[3], row[4], row[5], row[6], row[7], row[8]) == (kind, text, memory, rank, hook_by, live):
        return
    version = row[2] + 1
    connection.execute(
        "UPDATE line SET kind = ?, text = ?, memory = ?, rank = ?, hook_by = ?, live = ?, version = ?, operation = ?"
        " WHERE pk = ?",
        (kind, text, memory, rank, hook_by, live, version, seq, row[0]),
    )
    _keep(connection, seq, (row[0], version, rank, kind, text, memory, hook_by, live))


def _keep(connection: apsw.Connection, seq: int, values: Row) -> None:
    connection.execute(
        "INSERT INTO line_version (line, version, rank, kind, text, memory, hook_by, live, operation)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, seq),
    )


def _next_rank(connection: apsw.Connection, shelf: Shelf) -> str:
    row = one(
        connection,
        "SELECT rank FROM line WHERE scope = ? AND layer = ? AND live = 1 AND rank <> ? ORDER BY rank DESC LIMIT 1",
        (shelf.scope, shelf.layer, END),
    )
    return ranks_after(None if row is None else row[0], 1)[0]


def follow(connection: apsw.Connection, seq: int, operation: str, touched: set[int], *, now: int, real: bool) -> None:
    """Keeps the index true after memories were written, in the same transaction.

    A retired memory's lines go with it and come back with it; a renamed one's lines point to the new place; what we
    derived says what the memory says now; a line that waited for a topic is bound to it; and, with a real write,
    every memory that awaits its line gets one.
    """
    for pk in sorted(touched):
        lines = many(connection, f"SELECT {_STATE} FROM line l WHERE l.memory = ? AND l.live = 1", (pk,))
        memory = one(connection, "SELECT id, path, state, version, scope, layer FROM memory WHERE pk = ?", (pk,))
        assert memory is not None
        if memory[2] == "retired":
            for row in lines:
                _rewrite(connection, seq, row, row[3], row[4], row[5], row[6], row[7], 0)
        elif lines:
            _refresh(connection, seq, pk, lines)
        else:
            _bring_back(connection, seq, pk, memory)
    _give_due(connection, seq, operation, now, real)


def _refresh(connection: apsw.Connection, seq: int, pk: int, lines: list[Row]) -> None:
    entry = entry_of(connection, pk)
    by_id = {row[1]: row for row in lines}
    rows = [Line(row[1], row[4], row[3], entry.id, row[6], row[7], row[2], 0) for row in lines]
    for change in refresh(rows, {entry.id: entry}):
        row = by_id[change.id]
        _rewrite(connection, seq, row, change.kind, change.text, pk, row[6], change.hook_by, 1)


def _bring_back(connection: apsw.Connection, seq: int, pk: int, memory: Row) -> None:
    """Lines that went when the memory was retired, or that waited for it before it was there."""
    retired = _retired_by(connection, pk, memory[3])
    if retired is not None:
        gone = many(
            connection,
            f"SELECT {_STATE} FROM line l WHERE l.memory = ? AND l.live = 0 AND l.operation = ?",
            (pk, retired),
        )
        for row in gone:
            _rewrite(connection, seq, row, row[3], row[4], pk, row[6], row[7], 1)
        if gone:
            back = many(connection, f"SELECT {_STATE} FROM line l WHERE l.memory = ? AND l.live = 1", (pk,))
            _refresh(connection, seq, pk, back)
            return
        connection.execute("UPDATE memory SET listing = 'due' WHERE pk = ? AND listing = 'listed'", (pk,))
    shelf = Shelf(memory[4], memory[5])
    if not _has_free_links(connection, shelf):
        return
    for change in bind(rows(connection, shelf), memory[1], memory[0]):
        line = one(connection, f"SELECT {_STATE} FROM line l WHERE l.id = ?", (change.id,))
        assert line is not None
        _rewrite(connection, seq, line, change.kind, change.text, pk, line[6], change.hook_by, 1)
        connection.execute("UPDATE memory SET listing = 'listed', due_at = NULL WHERE pk = ?", (pk,))


def _retired_by(connection: apsw.Connection, pk: int, number: int) -> int | None:
    """The operation that retired a memory, where version `number` has just revived it.

    Other versions may stand between: a retired memory can be pinned.
    """
    row = one(
        connection,
        "SELECT r.operation FROM version p JOIN version r ON r.memory = p.memory AND r.number = 1 +"
        " (SELECT coalesce(max(l.number), 0) FROM version l WHERE l.memory = p.memory AND l.number < p.number"
        " AND l.state = 'live') WHERE p.memory = ? AND p.number = ? AND p.state = 'retired'",
        (pk, number - 1),
    )
    return None if row is None else int(row[0])


def _has_free_links(connection: apsw.Connection, shelf: Shelf) -> bool:
    """Whether any line that is nobody's pointer holds a link: only then is the whole index worth reading."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM line WHERE kind = 'free' AND live = 1 AND instr(text, '](') > 0 AND scope = ?"
        " AND layer = ?)",
        (shelf.scope, shelf.layer),
    )
    return bool(row and row[0])


def _give_due(connection: apsw.Connection, seq: int, operation: str, now: int, real: bool) -> None:
    """A line for each memory that awaits one. Without a real write only where a moment was set and has come."""
    due = many(
        connection,
        "SELECT m.pk, m.scope, m.layer FROM memory m WHERE m.listing = 'due' AND m.state = 'live'"
        " AND (? OR m.due_at <= ?) ORDER BY m.pk",
        (real, now),
    )
    for scope, layer in sorted({(row[1], row[2]) for row in due}):
        shelf = Shelf(scope, layer)
        waiting = [entry_of(connection, row[0]) for row in due if (row[1], row[2]) == (scope, layer)]
        known = rows(connection, shelf) if _has_free_links(connection, shelf) else _outline(connection, shelf)
        added = due_lines(known, {entry.id: entry for entry in waiting})
        for n, line in enumerate(added):
            _add(
                connection,
                seq,
                AddIndexLine(f"{operation}-{n}", line.kind, line.text, line.memory, line.rank, line.hook_by),
                shelf,
            )
        listed = {line.memory for line in added}
        for entry in waiting:
            if entry.id not in listed:
                connection.execute("UPDATE memory SET listing = 'listed', due_at = NULL WHERE id = ?", (entry.id,))


def _outline(connection: apsw.Connection, shelf: Shelf) -> list[Line]:
    """The last lines of an index whose free lines hold no links: enough to append to it."""
    found = connection.execute(
        f"{_COLUMNS} WHERE l.scope = ? AND l.layer = ? AND l.live = 1 ORDER BY l.rank DESC, l.id DESC LIMIT 3",
        (shelf.scope, shelf.layer),
    )
    return [Line(*row) for row in found][::-1]


def entry_of(connection: apsw.Connection, pk: int) -> Entry:
    """What the index may say of one memory."""
    row = one(connection, f"{_ENTRY} WHERE m.pk = ?", (pk,))
    assert row is not None
    return Entry(*row)


def steps_of(connection: apsw.Connection, seq: int) -> list[LineStep]:
    """What an operation did to the index, with the state of each line before and now."""
    found = many(
        connection,
        "SELECT v.line, max(v.version), min(v.version) FROM line_version v WHERE v.operation = ? GROUP BY v.line",
        (seq,),
    )
    steps = []
    for line, last, first in found:
        now = one(
            connection,
            "SELECT l.id, l.version, l.kind, l.text, (SELECT m.id FROM memory m WHERE m.pk = l.memory), l.rank,"
            " l.hook_by, l.live FROM line l WHERE l.pk = ?",
            (line,),
        )
        before = one(
            connection,
            "SELECT v.version, v.kind, v.text, (SELECT m.id FROM memory m WHERE m.pk = v.memory), v.rank, v.hook_by,"
            " v.live FROM line_version v WHERE v.line = ? AND v.version = ?",
            (line, first - 1),
        )
        assert now is not None
        steps.append(
            LineStep(
                now[0],
                last,
                None if before is None else _state_of((now[0], *before)),
                _state_of(now),
            )
        )
    return steps


def _state_of(row: Row) -> SetIndexLine:
    identity, version, kind, text, memory, rank, hook_by, live = row
    return SetIndexLine(identity, version, kind, text, memory, rank, hook_by, bool(live))
