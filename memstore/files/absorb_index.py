"""MEMORY.md to rows: what an edit of the index means, by the rules of `core/index.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from json import dumps, loads

from memstore.core.changes import AddIndexLine, LineChange, OpenConflict, SetIndexLine, SetListing
from memstore.core.inbox import made_from, shared
from memstore.core.index import base_of, merge, take_in
from memstore.core.index_lines import parse
from memstore.core.index_render import Rendering
from memstore.core.index_values import (
    AddLine,
    ChangeLine,
    IndexEdit,
    Line,
    List,
    MoveLine,
    RetireLine,
    Unlist,
    in_order,
)
from memstore.core.index_values import Change as IndexChange
from memstore.core.model import INDEX_NAME
from memstore.core.names import collision_key
from memstore.core.reconcile import looks_broken
from memstore.files.absorb import Absorber, Plan, Seen, resolver
from memstore.files.report import Noted, counted
from memstore.store import lines
from memstore.store.connection import Reading
from memstore.store.shown import ShownRow

_NAMED = 5


def absorb_index(
    connection: Reading,
    row: ShownRow | None,
    seen: Seen,
    absorber: Absorber,
    new_id: Callable[[], str],
    topics: dict[str, int | None] | None,
) -> None:
    """Adds to the plan what an edited or new MEMORY.md means. `row`: its base; `topics`: files and their mtimes."""
    plan, content = absorber.plan, seen.file.content
    assert content is not None
    reason = _failed_write(content, row)
    if reason and not seen.file.settled:
        plan.again.append(INDEX_NAME)
    elif reason and (row is not None or lines.rows(connection)):
        _put_back(absorber, content, reason, rule=2)
    elif reason:
        _leave(plan, f"it {reason}, so it is left as it is")
    elif (place := _not_utf8(content)) is not None:
        _leave(plan, f"line {place} is not UTF-8, so the file is left as it is")
    else:
        _absorb_text(connection, row, content, absorber, new_id, topics)


def _absorb_text(
    connection: Reading,
    row: ShownRow | None,
    content: bytes,
    absorber: Absorber,
    new_id: Callable[[], str],
    topics: dict[str, int | None] | None,
) -> None:
    plan, text = absorber.plan, content.decode("utf-8")
    rows = lines.rows(connection)
    resolve = resolver(connection, plan.made)
    if row is None and not rows:
        added = take_in(text, resolve)
        plan.lines += translated(added, [], new_id)
        if added:
            plan.noted.append(Noted(INDEX_NAME, "taken over", 13, counted(len(added), "line")))
        return
    base = base_of("") if row is None else base_of(_text(row), _text(row), _ids(row))
    edit = merge(base, rows, text, resolve, gone=plan.gone, topics=None if row is None else topics)
    if edit.restores:
        _put_back(absorber, content, "a list that was made up while the index was missing", rule=3)
        return
    _add(plan, edit, rows, new_id, rule=5)


def absorb_call(
    connection: Reading,
    row: ShownRow | None,
    base: bytes,
    content: bytes,
    absorber: Absorber,
    new_id: Callable[[], str],
    *,
    rule: int,
) -> None:
    """Adds to the plan what a session's call, or a file that it overwrote, means: `content` was made of `base`.

    `row`: B; `rule`: of `core/inbox.py`. A text that is blank or not UTF-8 says nothing.
    """
    if not is_text(content) or not is_text(base):
        return
    plan, text, rows = absorber.plan, content.decode("utf-8"), lines.rows(connection)
    ids = [] if row is None else _ids(row)
    before = base_of(base.decode("utf-8"), "" if row is None else _text(row), ids)
    edit = merge(before, rows, text, resolver(connection, plan.made), gone=plan.gone)
    if not edit.restores:
        _add(plan, edit, rows, new_id, rule)


def _add(plan: Plan, edit: IndexEdit, rows: list[Line], new_id: Callable[[], str], rule: int) -> None:
    plan.lines += translated(edit.changes, rows, new_id)
    plan.conflicts += _conflicts(edit, rows, new_id)
    if edit.changes or edit.conflicts:
        plan.noted.append(Noted(INDEX_NAME, "conflict" if edit.conflicts else "revised", rule, _told(edit)))
    if edit.kept:
        one = len(edit.kept) == 1
        stay = "stays, for it" if one else "stay, for they"
        plan.notices.append(f"{INDEX_NAME}: {counted(len(edit.kept), 'line')} {stay} changed since the edit began")


def gaps(text: str, made: Iterable[str], resolve: Callable[[str], str | None]) -> list[str]:
    """What an index that is taken over lacks, and what it names that is not there. It is left as it is."""
    pieces = parse(text)
    mentioned = {collision_key(path) for piece in pieces for path in piece.mentions}
    dangling = [piece.target for piece in pieces if piece.target and resolve(piece.target) is None]
    orphans = [path for path in made if collision_key(path) not in mentioned]
    told = []
    if dangling:
        lines = counted(len(dangling), "line")
        told.append(f"{INDEX_NAME}: {lines} for files that are not there, kept as they are: {_some(dangling)}")
    if orphans:
        memories = "1 memory" if len(orphans) == 1 else f"{len(orphans)} memories"
        told.append(f"{memories} without a line in {INDEX_NAME}, to get one with the next write: {_some(orphans)}")
    return told


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def older_base(row: ShownRow | None, others: Sequence[bytes], content: bytes) -> ShownRow | None:
    """A base for an index when nobody knows what it was made from: it takes nothing out.

    Of the texts that were known the nearest, but only the lines that the index still has: what it lacks may be
    younger than it is.
    """
    if row is None:
        return None
    return replace(row, content=shared(made_from(content, row.content, others), content), lines=None)


def _failed_write(content: bytes, row: ShownRow | None) -> str | None:
    """Rule 2 of `core/reconcile.py`. An empty index is rule 3's."""
    return looks_broken(content, None if row is None else row.content) if content.strip() else None


def is_text(content: bytes) -> bool:
    """Whether an index can be read: it is UTF-8."""
    return _not_utf8(content) is None


def _not_utf8(content: bytes) -> int | None:
    """The line that is not UTF-8, if there is one."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    return None


def _leave(plan: Plan, reason: str) -> None:
    plan.blocked[INDEX_NAME] = reason
    plan.notices.append(f"{INDEX_NAME}: {reason}")


def _put_back(absorber: Absorber, content: bytes, reason: str, *, rule: int) -> None:
    if content.strip():
        absorber.set_aside(INDEX_NAME, content, reason)
    absorber.plan.project[INDEX_NAME] = content
    absorber.plan.noted.append(Noted(INDEX_NAME, "put back", rule, "" if rule == 3 else f"the file {reason}"))


def translated(changes: Iterable[IndexChange], rows: list[Line], new_id: Callable[[], str]) -> list[LineChange]:
    """Changes of the index as steps of a change set: one for each line, naming the version of it that was seen."""
    known = {row.id: row for row in rows}
    set_to: dict[str, SetIndexLine] = {}
    steps: list[LineChange] = []
    for change in changes:
        match change:
            case AddLine(text=text, kind=kind, memory=memory, rank=rank, hook_by=hook_by):
                steps.append(AddIndexLine(new_id(), kind, text, memory, rank, hook_by))
            case ChangeLine(id=id, text=text, kind=kind, memory=memory, hook_by=hook_by):
                known[id] = known[id]._replace(text=text, kind=kind, memory=memory, hook_by=hook_by)
                set_to[id] = _state(known[id])
            case RetireLine(id=id):
                set_to[id] = _state(known[id], live=False)
            case MoveLine(id=id, rank=rank):
                known[id] = known[id]._replace(rank=rank)
                set_to[id] = _state(known[id])
            case Unlist(memory=memory):
                steps.append(SetListing(memory, "unlisted"))
            case List(memory=memory):
                steps.append(SetListing(memory, "listed"))
    return [*set_to.values(), *steps]


def _state(row: Line, *, live: bool = True) -> SetIndexLine:
    return SetIndexLine(row.id, row.version, row.kind, row.text, row.memory, row.rank, row.hook_by, live)


def _conflicts(edit: IndexEdit, rows: list[Line], new_id: Callable[[], str]) -> list[OpenConflict]:
    known = {row.id: row for row in rows}
    return [
        OpenConflict(
            new_id(),
            known[conflict.row].memory,
            INDEX_NAME,
            "line",
            known[conflict.row].text.encode("utf-8"),
            conflict.line.encode("utf-8"),
            f"both sides changed the {conflict.field} of a line",
        )
        for conflict in edit.conflicts
    ]


def _told(edit: IndexEdit) -> str:
    added = sum(isinstance(change, AddLine) for change in edit.changes)
    taken = sum(isinstance(change, RetireLine) for change in edit.changes)
    changed = sum(isinstance(change, ChangeLine) for change in edit.changes)
    parts = [(added, "added"), (changed, "changed"), (taken, "taken out")]
    return ", ".join(f"{count} {word}" for count, word in parts if count)


def accepted_index(rows: list[Line], content: bytes, stamp: str | None) -> ShownRow:
    """B of the index where somebody wrote `content`: each of its lines with the row it is."""
    ordered = in_order(rows)
    whole = "\n".join(line.text for line in ordered)
    base = base_of(content.decode("utf-8"), whole, [line.id for line in ordered])
    return ShownRow(INDEX_NAME, None, 0, content, stamp, lines=dumps([line.row for line in base]))


def put_index(rendering: Rendering) -> ShownRow:
    """B of the index once a rendering lies there."""
    ids = [identity or None for identity, _ in rendering.lines]
    return ShownRow(INDEX_NAME, None, 0, rendering.text.encode("utf-8"), lines=dumps(ids), put=True)


def _text(row: ShownRow) -> str:
    return row.content.decode("utf-8")


def _ids(row: ShownRow) -> list[str]:
    return [identity or "" for identity in loads(row.lines)] if row.lines else []
