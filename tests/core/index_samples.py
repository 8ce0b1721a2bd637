"""What the index tests share: rows from text, and the rows that a change leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memstore.core.index import (
    AddLine,
    BaseIndex,
    Change,
    ChangeLine,
    Entry,
    IndexEdit,
    Line,
    MoveLine,
    RetireLine,
    base_of,
    in_order,
    render,
    take_in,
)
from memstore.core.index_lines import Limits

WIDE = Limits(lines=10_000, units=10_000_000, near_lines=10_000, near_units=10_000_000)
TOPICS = {f"{name}.md": f"m-{name}" for name in "abcdefgh"}


def resolve(path: str) -> str | None:
    return TOPICS.get(path)


def entry(name: str, **given: object) -> Entry:
    values: dict[str, object] = {
        "id": f"m-{name}",
        "path": f"{name}.md",
        "title": name.upper(),
        "description": f"about {name}",
        "type": "project",
        "pinned": False,
        "correction": False,
        "superseded": False,
        "changed": 1,
        "listing": "listed",
    }
    return Entry(**(values | given))  # type: ignore[arg-type]  # a test names only the fields that it is about


def rows_of(text: str, resolve: Callable[[str], str | None] = resolve) -> list[Line]:
    return applied([], take_in(text, resolve), op=1)


def applied(rows: Sequence[Line], changes: Iterable[Change], op: int = 2) -> list[Line]:
    """The rows after the changes: what the store does with them in SQL."""
    kept = {row.id: row for row in rows}
    for change in changes:
        if isinstance(change, AddLine):
            name = f"r{op}-{len(kept)}-{change.rank}"
            assert name not in kept
            kept[name] = Line(name, change.text, change.kind, change.memory, change.rank, change.hook_by, 1, op)
        elif isinstance(change, ChangeLine):
            old = kept[change.id]
            kept[change.id] = Line(
                old.id, change.text, change.kind, change.memory, old.rank, change.hook_by, old.version + 1, op
            )
        elif isinstance(change, RetireLine):
            del kept[change.id]
        elif isinstance(change, MoveLine):
            old = kept[change.id]
            kept[change.id] = Line(
                old.id, old.text, old.kind, old.memory, change.rank, old.hook_by, old.version + 1, op
            )
    return in_order(kept.values())


def text_of(rows: Sequence[Line]) -> str:
    return render(rows, {}, WIDE).text


def base(rows: Sequence[Line]) -> BaseIndex:
    shown = render(rows, {}, WIDE)
    return base_of(shown.text, shown.text, [row for row, _ in shown.lines])


def kinds(edit: IndexEdit, kind: type) -> list[Change]:
    return [change for change in edit.changes if isinstance(change, kind)]
