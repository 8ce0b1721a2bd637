"""Which lines of MEMORY.md an operation changed. An edit of that file makes no version of any memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from memstore.core.index_values import END
from memstore.core.model import INDEX_NAME

if TYPE_CHECKING:
    from memstore.core.changes import SetIndexLine
    from memstore.store.store import Store


class ChangedLine(NamedTuple):
    """A line of the index before an operation and after it. None: it was not there."""

    rank: str
    before: str | None
    after: str | None


def changed_lines(store: Store, seqs: Collection[int]) -> dict[int, list[ChangedLine]]:
    """What each of these operations changed in the index, in the order of the lines.

    The store tells a line's state before an operation, and now. Its state after one is therefore that before the
    next operation that changed it: the walk goes back from the newest.
    """
    from memstore.store import lines, reader

    found: dict[int, list[ChangedLine]] = {seq: [] for seq in seqs}
    if not found:
        return found
    later: dict[str, SetIndexLine | None] = {}
    with store.view() as connection:
        newest = max(operation.seq for operation, _ in reader.operations(connection, limit=1))
        for seq in range(newest, min(found) - 1, -1):
            for step in lines.steps_of(connection, seq):
                before, after = _place(step.before), _place(later.get(step.id, step.now))
                later[step.id] = step.before
                if seq in found and before != after:
                    rank = (after or before or ("", ""))[0]
                    found[seq].append(ChangedLine(rank, before and before[1], after and after[1]))
    for changes in found.values():
        changes.sort(key=lambda change: change.rank)
    return found


def index_patch(changes: list[ChangedLine]) -> list[str]:
    """The changed lines as a difference; empty where there are none."""
    if not changes:
        return []
    patch = [f"--- {INDEX_NAME}", f"+++ {INDEX_NAME}"]
    for change in changes:
        patch += [f"-{change.before}"] if change.before is not None else []
        patch += [f"+{change.after}"] if change.after is not None else []
    return patch


def _place(line: SetIndexLine | None) -> tuple[str, str] | None:
    """Where a line stands and what it says. None for what is no line to a reader: the end of the file is not."""
    return (line.rank, line.text) if line is not None and line.live and line.rank != END else None
