"""The index as rows: reading them, changing them, and keeping them in step with the memories they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from memstore.core.changes import AddIndexLine, LineChange, SetIndexLine, SetListing
from memstore.core.ids import token
from memstore.core.index_text import pointer_line, redescribe, retarget
from memstore.core.index_lines import read_line
from memstore.core.index_values import END, Entry, Line, ranks_after
from memstore.core.model import SHELF, Shelf
from memstore.core.names import collision_key
from memstore.core.undo import LineStep

_COLUMNS = (
    "SELECT l.id, l.text, l.kind, (SELECT m.id FROM memory m WHERE m.pk = l.memory), l.rank, l.hook_by, l.version,"
    " l.operation FROM line l"
)
_STATE = "l.pk, l.id, l.version, l.kind, l.text, l.memory, l.rank, l.hook_by, l.live, l.scope, l.layer"
Row = tuple[Any, ...]


def rows(connection: apsw.Connection, shelf: Shelf = SHELF) -> list[Line]:
    """The living lines of a shelf's index, in order."""
    found = connection.execute(
        f"{_COLUMNS} WHERE l.scope = ? AND l.layer = ? AND l.live = 1 ORDER BY l.rank, l.id", (shelf.scope, shelf.layer)
    )
    return [Line(*row) for row in found]


def entries(connection: apsw.Connection, shelf: Shelf = SHELF) -> dict[str, Entry]:
    """What the index may say of each living memory of a shelf, by memory id."""
    found = connection.execute(
        "SELECT m.id, m.path, m.name, m.description, coalesce(m.type, ''), m.pinned,"
        " EXISTS (SELECT 1 FROM memory o WHERE o.superseded_by = m.pk), m.superseded_by IS NOT NULL, m.operation,"
        " m.listing FROM memory m WHERE m.state = 'live' AND m.scope = ? AND m.layer = ?",
        (shelf.scope, shelf.layer),
    )
    return {
        row[0]: Entry(*row[:5], bool(row[5]), bool(row[6]), bool(row[7]), row[8], row[9])
        for row in found
    }


def apply_changes(connection: apsw.Connection, seq: int, changes: Iterable[LineChange]) -> None:
    """Carries out an edit of the index. A line that moved on since the edit was planned is left as it is."""
    for change in changes:
        if isinstance(change, AddIndexLine):
            _add(connection, seq, change, SHELF)
        elif isinstance(change, SetIndexLine):
            row = connection.execute(f"SELECT {_STATE} FROM line l WHERE l.id = ?", (change.id,)).fetchone()
            if row is not None and row[2] == change.expect:
                _set(connection, seq, row, change)
        else:
            _set_listing(connection, change)


def _set_listing(connection: apsw.Connection, change: SetListing) -> None:
    connection.execute(
        "UPDATE memory SET listing = ?, due_at = ? WHERE id = ?", (change.listing, change.due_at, change.memory)
    )


def _add(connection: apsw.Connection, seq: int, change: AddIndexLine, shelf: Shelf) -> None:
    rank = change.rank if change.rank is not None else _next_rank(connection, shelf)
    memory = None
    if change.memory is not None:
        row = connection.execute("SELECT pk FROM memory WHERE id = ?", (change.memory,)).fetchone()
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
        found = connection.execute("SELECT pk FROM memory WHERE id = ?", (change.memory,)).fetchone()
    memory = None if found is None else found[0]
    _rewrite(connection, seq, row, change.kind, change.text, memory, change.rank, change.hook_by, int(change.live))
    if memory is not None and change.live:
        connection.execute("UPDATE memory SET listing = 'listed', due_at = NULL WHERE pk = ?", (memory,))


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
    row = connection.execute(
        "SELECT max(rank) FROM line WHERE scope = ? AND layer = ? AND live = 1 AND rank <> ?",
        (shelf.scope, shelf.layer, END),
    ).fetchone()
    return ranks_after(None if row is None else row[0], 1)[0]


def follow(
    connection: apsw.Connection, seq: int, operation: str, touched: set[int], *, now: int, real: bool
) -> None:
    """Keeps the index true after memories were written, in the same transaction.

    A retired memory's lines go with it and come back with it; a renamed one's lines point to the new place; lines
    that we derived say what the memory says now; a line that waited for a topic is bound to it; and, with a real
    write, every memory that awaits its line gets one.
    """
    for pk in sorted(touched):
        memory = connection.execute(
            "SELECT pk, id, scope, layer, path, name, description, state, version FROM memory WHERE pk = ?", (pk,)
        ).fetchone()
        lines = connection.execute(
            f"SELECT {_STATE} FROM line l WHERE l.memory = ? AND l.live = 1", (pk,)
        ).fetchall()
        before = connection.execute(
            "SELECT path, name, description, state, operation FROM version WHERE memory = ? AND number = ?",
            (pk, memory[8] - 1),
        ).fetchone()
        if memory[7] == "retired":
            for row in lines:
                _rewrite(connection, seq, row, row[3], row[4], row[5], row[6], row[7], 0)
        elif lines and before is not None:
            _refresh(connection, seq, lines, memory, before)
        elif not lines:
            _bring_back(connection, seq, memory, before)
    _give_due(connection, seq, operation, now, real)


def _refresh(connection: apsw.Connection, seq: int, lines: list[Row], memory: Row, before: Row) -> None:
    path, name, description = memory[4:7]
    if (path, name, description) == before[:3]:
        return
    for row in lines:
        text = row[4]
        if row[3] == "auto":
            text = pointer_line(name, path, description) + ("\r" if text.endswith("\r") else "")
        else:
            if path != before[0]:
                text = retarget(text, path)
            if row[7] == "derived" and description != before[2]:
                text = redescribe(text, description)
        _rewrite(connection, seq, row, row[3], text, row[5], row[6], row[7], row[8])


def _bring_back(connection: apsw.Connection, seq: int, memory: Row, before: Row | None) -> None:
    """Lines that went when the memory was retired, or that waited for it before it was there."""
    pk, _, scope, layer, path = memory[:5]
    if before is not None and before[3] == "retired":
        gone = connection.execute(
            f"SELECT {_STATE} FROM line l WHERE l.memory = ? AND l.live = 0 AND l.operation = ?", (pk, before[4])
        ).fetchall()
        for row in gone:
            _rewrite(connection, seq, row, row[3], retarget(row[4], path), pk, row[6], row[7], 1)
        state = "listed" if gone else "due"
        connection.execute(
            "UPDATE memory SET listing = ? WHERE pk = ? AND listing <> 'unlisted'", (state, pk)
        )
        if gone:
            return
    waiting = connection.execute(
        f"SELECT {_STATE} FROM line l WHERE l.scope = ? AND l.layer = ? AND l.live = 1 AND l.kind = 'free'"
        " AND l.text LIKE '%](%'",
        (scope, layer),
    ).fetchall()
    for row in waiting:
        target = read_line(row[4]).target
        if target is not None and collision_key(target) == collision_key(path):
            _rewrite(connection, seq, row, "pointer", row[4], pk, row[6], row[7], 1)
            connection.execute("UPDATE memory SET listing = 'listed', due_at = NULL WHERE pk = ?", (pk,))


def _give_due(connection: apsw.Connection, seq: int, operation: str, now: int, real: bool) -> None:
    """A line for each memory that awaits one. Without a real write only where a moment was set and has come."""
    due = connection.execute(
        "SELECT m.id, m.scope, m.layer, m.path, m.name, m.description FROM memory m WHERE m.listing = 'due'"
        " AND m.state = 'live' AND (? OR m.due_at <= ?) ORDER BY m.pk",
        (real, now),
    ).fetchall()
    for memory, scope, layer, path, name, description in due:
        shelf = Shelf(scope, layer)
        text = pointer_line(name, path, description) + ("\r" if _in_carriage_returns(connection, shelf) else "")
        identity = f"{operation}-{token(memory, operation)}"
        _add(connection, seq, AddIndexLine(identity, "auto", text, memory, None, "derived"), shelf)


def _in_carriage_returns(connection: apsw.Connection, shelf: Shelf) -> bool:
    row = connection.execute(
        "SELECT 2 * sum(substr(text, -1) = char(13)) > count(*) FROM line WHERE scope = ? AND layer = ? AND live = 1"
        " AND rank <> ?",
        (shelf.scope, shelf.layer, END),
    ).fetchone()
    return bool(row and row[0])


def steps_of(connection: apsw.Connection, seq: int) -> list[LineStep]:
    """What an operation did to the index, with the state of each line before and now."""
    found = connection.execute(
        "SELECT v.line, max(v.version), min(v.version) FROM line_version v WHERE v.operation = ? GROUP BY v.line", (seq,)
    ).fetchall()
    steps = []
    for line, last, first in found:
        now = connection.execute(
            "SELECT l.id, l.version, l.kind, l.text, (SELECT m.id FROM memory m WHERE m.pk = l.memory), l.rank,"
            " l.hook_by, l.live FROM line l WHERE l.pk = ?",
            (line,),
        ).fetchone()
        before = connection.execute(
            "SELECT v.version, v.kind, v.text, (SELECT m.id FROM memory m WHERE m.pk = v.memory), v.rank, v.hook_by,"
            " v.live FROM line_version v WHERE v.line = ? AND v.version = ?",
            (line, first - 1),
        ).fetchone()
        assert now is not None
        steps.append(
            LineStep(
                now[0],
                last,
                None if before is None else SetIndexLine(now[0], *before[:6], bool(before[6])),
                SetIndexLine(*now[:7], bool(now[7])),
            )
        )
    return steps
