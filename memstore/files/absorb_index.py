"""MEMORY.md to rows: what an edit of the index means, by the rules of `core/index.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from json import dumps, loads

from memstore.core.changes import AddIndexLine, LineChange, OpenConflict, SetIndexLine, SetListing
from memstore.core.index import base_of, merge, take_in
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
from memstore.files.absorb import Plan, Seen, resolver
from memstore.files.report import Noted
from memstore.store import lines
from memstore.store.connection import Reading
from memstore.store.shown import Aside, ShownRow


def absorb_index(
    connection: Reading,
    row: ShownRow | None,
    seen: Seen,
    plan: Plan,
    new_id: Callable[[], str],
    topics: dict[str, int | None] | None,
) -> None:
    """Adds to the plan what an edited or new MEMORY.md means. `row`: its base; `topics`: files and their mtimes."""
    content = seen.file.content
    assert content is not None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        plan.blocked[INDEX_NAME] = f"line {line} is not UTF-8, so the file is left as it is"
        return
    rows = lines.rows(connection)
    resolve = resolver(connection, plan.made)
    if row is None and not rows:
        added = take_in(text, resolve)
        plan.lines += translated(added, [], new_id)
        plan.noted.append(Noted(INDEX_NAME, "taken over", 13, f"{len(added)} lines"))
        return
    base = base_of("") if row is None else base_of(_text(row), _text(row), _ids(row))
    edit = merge(base, rows, text, resolve, gone=plan.gone, topics=None if row is None else topics)
    if edit.restores:
        if content.strip():
            plan.shown.append(Aside(INDEX_NAME, content, "a list that was made up while the index was missing"))
        plan.project[INDEX_NAME] = content
        plan.noted.append(Noted(INDEX_NAME, "put back", 3, "the file held no edit"))
        return
    plan.lines += translated(edit.changes, rows, new_id)
    plan.conflicts += _conflicts(edit, rows, new_id)
    if edit.changes or edit.conflicts:
        plan.noted.append(Noted(INDEX_NAME, "conflict" if edit.conflicts else "revised", 5, _told(edit)))
    if edit.kept:
        plan.notices.append(f"{INDEX_NAME}: {len(edit.kept)} lines stay, for they changed since the edit began")


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
                known[id] = replace(known[id], text=text, kind=kind, memory=memory, hook_by=hook_by)
                set_to[id] = _state(known[id])
            case RetireLine(id=id):
                set_to[id] = _state(known[id], live=False)
            case MoveLine(id=id, rank=rank):
                known[id] = replace(known[id], rank=rank)
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


def shown_index(rows: list[Line], content: bytes, stamp: str | None, *, put: bool = False) -> ShownRow:
    """B of the index once `content` lies there: each of its lines with the row it is."""
    ordered = in_order(rows)
    whole = "\n".join(line.text for line in ordered)
    base = base_of(content.decode("utf-8"), whole, [line.id for line in ordered])
    return ShownRow(INDEX_NAME, None, 0, content, stamp, lines=dumps([line.row for line in base]), put=put)


def _text(row: ShownRow) -> str:
    return row.content.decode("utf-8")


def _ids(row: ShownRow) -> list[str]:
    return [identity or "" for identity in loads(row.lines)] if row.lines else []
