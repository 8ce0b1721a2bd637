"""MEMORY.md as rows: absorbing an edited text line by line. The rules, by number:

1. The base is what the writer had: the view loaded at session start for a Write that read nothing, the text
   that was read (`originalFile`) otherwise, what was last shown for an edit nobody claims. The caller knows.
2. An edit cannot remove what its base did not have: omissions, comments, lines past the cut, later rows.
3. An absent or blank index, or one that the client made up because it was missing, is no edit: restore it.
4. Our count of omissions and the client's warning are known by their form and never absorbed.
5. A pointer is its resolved target, a free line its text; the first is paired with the first, and so on.
6. An unchanged line is its row.
7. A pointer taken out, its row unchanged: unlisted by choice; the memory stays.
8. A pointer taken out, its row changed meanwhile: it stays.
9. A pointer gone together with its topic file: left alone here; what becomes of the memory decides.
10. Title and hook are merged as fields and then count as hand-written; changed by both sides they conflict.
11. A derived hook that somebody copied word by word stays derived.
12. A new pointer to a live memory takes over the line we had made for it, and lists an unlisted memory again.
13. A new pointer to no memory waits as a free line until the topic appears.
14. Duplicates by hand stay; we make none.
15. A new line goes behind its nearest predecessor that is still there.
16. A free line taken out is retired if its row is unchanged, else it stays.
17. Order: the edit's where it departs from the base, else the store's.
18. A line of ours waits until an agent that has just made the topic had its chance to write its own: the
    caller says so by leaving the memory's `listing` short of "due" until the turn stops or 60 s have passed.
19. Over the client's limits lines are left out whole, by a fixed choice; ours stay below its nagging point.
20. Within the limits the order of rows is never changed by us.

Rules 1-17 are `merge` (with `index_merge`), 13 and 18-20 `index_render`; `index_lines` reads, `index_pointer`
writes our own lines. This module is the door to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from memstore.core.index_align import align
from memstore.core.index_lines import (
    BOM,
    CLIENT,
    Limits,
    Piece,
    Side,
    is_backfill,
    loaded_view,
    measure,
    parse,
    side,
)
from memstore.core.index_merge import Merge, final_newline
from memstore.core.index_pointer import pointer_line
from memstore.core.index_render import Rendering, bind, due_lines, refresh, release, render
from memstore.core.index_values import (
    END,
    AddLine,
    Change,
    ChangeLine,
    Entry,
    IndexEdit,
    Line,
    LineConflict,
    List,
    MoveLine,
    RetireLine,
    Unlist,
    in_order,
    last_rank,
    rank_between,
    ranks_after,
)

__all__ = [
    "CLIENT",
    "END",
    "AddLine",
    "BaseIndex",
    "BaseLine",
    "Change",
    "ChangeLine",
    "Entry",
    "IndexEdit",
    "Limits",
    "Line",
    "LineConflict",
    "List",
    "MoveLine",
    "Piece",
    "Rendering",
    "Resolve",
    "RetireLine",
    "Unlist",
    "base_of",
    "bind",
    "due_lines",
    "in_order",
    "last_rank",
    "loaded_view",
    "measure",
    "merge",
    "parse",
    "pointer_line",
    "rank_between",
    "ranks_after",
    "refresh",
    "release",
    "render",
    "take_in",
]

Resolve = Callable[[str], str | None]
"""From a topic file's path to the id of the live memory that stands there."""


@dataclass(frozen=True, slots=True)
class BaseLine:
    """A line that the writer had before the edit, and its row's id if known."""

    text: str
    row: str | None = None


BaseIndex = tuple[BaseLine, ...]


def base_of(text: str, shown: str = "", ids: Sequence[str] = ()) -> BaseIndex:
    """`text` as a base. Lines it shares with `shown` get the row ids in `ids`, one per line of `shown`."""
    lines = text.split("\n")
    if not ids:
        return tuple(BaseLine(line) for line in lines)
    pairs = align([_bare(line) for line in lines], [_bare(line) for line in shown.split("\n")])
    return tuple(
        BaseLine(line, (ids[at] or None) if at is not None and at < len(ids) else None)
        for line, at in zip(lines, pairs, strict=True)
    )


def take_in(text: str, resolve: Resolve) -> list[AddLine]:
    """The rows of an index that is taken over: each line as it is, so that rendering gives the same bytes."""
    written = side(text)
    added = []
    for piece, rank in zip(written.pieces, ranks_after(None, len(written.pieces)), strict=True):
        memory = resolve(piece.target) if piece.target is not None else None
        added.append(AddLine(piece.text, "pointer" if memory else "free", memory, rank, "hand"))
    return [*added, AddLine("", "free", None, END, "hand")] if written.ended else added


def merge(
    base: BaseIndex,
    rows: Sequence[Line],
    text: str | None,
    resolve: Resolve,
    *,
    gone: Collection[str] = (),
    topics: Mapping[str, int | None] | None = None,
) -> IndexEdit:
    """What an edited MEMORY.md means for the rows: a three-way merge of base, rows and text, line by line.

    `text` is None where the file is absent. `gone` are memories whose topic file is missing in the same scan
    (rule 9). `topics` are the topic files with their mtimes (`is_backfill`), given only for an edit that
    nobody claims: only then can the client have made the file up (rule 3).
    """
    before = side("\n".join(line.text for line in base), [line.row for line in base])
    theirs = side(text or "")
    if _is_no_edit(before, theirs, rows, topics):
        return IndexEdit(restores=True)
    ordered = in_order(rows)
    body = [row for row in ordered if row.rank != END]
    end = ordered[-1] if len(body) < len(ordered) else None
    edit = Merge(before, theirs, body, resolve, gone).edit()
    return replace(edit, changes=(*edit.changes, *final_newline(before, end, theirs)))


_FEW = 3


def _is_no_edit(base: Side, theirs: Side, rows: Sequence[Line], topics: Mapping[str, int | None] | None) -> bool:
    """Rule 3."""
    had = [piece for piece in base.pieces if not piece.blank]
    if all(piece.blank for piece in theirs.pieces):
        return bool(had) or any(row.text.strip() for row in rows)
    if topics is None or not is_backfill(theirs.pieces, topics):
        return False
    left = {piece.target or piece.bare for piece in theirs.pieces}
    if any((piece.target or piece.bare) not in left for piece in had):
        return True
    # The client words every line anew. Somebody's edit of a bare list leaves most of them as they are; where only
    # a few were by hand, or all were derived, taking the text for an edit loses nobody's words.
    verbatim = {piece.bare for piece in theirs.pieces}
    derived = {row.id for row in rows if row.kind == "auto" or row.hook_by == "derived"}
    by_hand = [
        piece for piece, row in zip(base.pieces, base.ids, strict=True) if not piece.blank and row not in derived
    ]
    reworded = sum(piece.bare not in verbatim for piece in by_hand)
    return reworded >= _FEW and 2 * reworded > len(by_hand)


def _bare(line: str) -> str:
    return line.removeprefix(BOM).removesuffix("\r")
