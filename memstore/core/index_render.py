"""From rows to MEMORY.md: the text within the client's limits, and the lines that we make ourselves."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memstore.core.index_lines import CLIENT, Limits, may_hide, measure, parse, read_line, units
from memstore.core.index_pointer import derived_hook, link_path, pointer_line
from memstore.core.index_values import (
    END,
    AddLine,
    ChangeLine,
    Entry,
    Line,
    RetireLine,
    ends_in_cr,
    in_order,
    last_rank,
    ranks_after,
)

OURS = ("", 0)
"""Stands in `Rendering.lines` for the one line that belongs to no row: the count of what was left out."""

_PINNED, _BY_HAND, _CORRECTION, _OTHER, _SUPERSEDED = range(5)


@dataclass(frozen=True, slots=True)
class Rendering:
    """MEMORY.md as it is projected.

    `lines` has (row id, row version) for each line of `text.split("\\n")`; `omitted` the row ids that found
    no room, in order; `units` the UTF-16 units that the client will count.
    """

    text: str
    lines: tuple[tuple[str, int], ...]
    omitted: tuple[str, ...]
    units: int


def render(rows: Sequence[Line], entries: Mapping[str, Entry], limits: Limits = CLIENT) -> Rendering:
    """The rows in their order, as many as the client loads whole (rules 19 and 20).

    Where not all fit: pinned lines first, then what was written by hand (latest changes first),
    corrections, other lines of ours by the age of their memory, lines of superseded memories last. Lines of
    ours stop below the point at which the client nags, unless hand-written ones are past it already.
    """
    return whole(rows, limits) or chosen(rows, entries, limits)


def whole(rows: Sequence[Line], limits: Limits = CLIENT) -> Rendering | None:
    """`render` where all rows fit, for which nothing need be known of the memories; else None."""
    rendering = _rendering(in_order(rows), "", ())
    lines, size = measure(rendering.text)
    calm = lines < limits.near_lines and size < limits.near_units
    if calm or (_fits(lines, size, limits) and all(row.kind != "auto" for row in rows)):
        return rendering
    return None


def chosen(rows: Sequence[Line], entries: Mapping[str, Entry], limits: Limits = CLIENT) -> Rendering:
    """`render` where not all rows fit."""
    ordered = in_order(rows)
    text = "\n".join(row.text for row in ordered)
    crlf = "\r" in text and ends_in_cr([row.text for row in ordered if row.rank != END])
    nothing = [False] * len(ordered)
    if not may_hide(text):
        return _choice(ordered, entries, limits, nothing, crlf)
    found = _choice(ordered, entries, limits, [piece.hidden for piece in parse(text)], crlf)
    if not _fits(*measure(found.text), limits):
        # Leaving a line out opened a code fence: what the client strips has changed, so count everything.
        found = _choice(ordered, entries, limits, nothing, crlf)
    return found


def more_line(memories: int, lines: int) -> str:
    """The last line of an index that could not hold everything. Reading knows it by its form (rule 4).

    A search finds memories, and no other line of the index.
    """
    parts = []
    if memories or not lines:
        parts.append(f"{memories} more {'memory' if memories == 1 else 'memories'}")
    if lines:
        parts.append(f"{lines} more {'line' if lines == 1 else 'lines'} kept in the store")
    where = "see `memstore show MEMORY.md`" if lines else "find them with `memstore search`"
    return f"- … {' and '.join(parts)}: {where}"


def due_lines(rows: Sequence[Line], entries: Mapping[str, Entry]) -> list[AddLine]:
    """A line of ours for each memory that is due and that no line points to, at the end of the index."""
    listed = {row.memory for row in rows}
    due = [entry for entry in entries.values() if entry.listing == "due" and entry.id not in listed]
    if not due:
        return []
    ordered = in_order(rows)
    pieces = parse("\n".join(row.text for row in ordered))
    mentioned = {_folded(path) for piece in pieces for path in piece.mentions}
    due = [entry for entry in due if _folded(entry.path) not in mentioned]
    due.sort(key=lambda entry: (entry.changed, entry.path))
    terminated = not ordered or ordered[-1].rank == END
    cr = "\r" if ends_in_cr([row.text for row in ordered if row.rank != END]) else ""
    added = []
    for at, (entry, rank) in enumerate(zip(due, ranks_after(last_rank(ordered), len(due)), strict=True)):
        text = pointer_line(entry.title, entry.path, entry.description)
        text += cr if terminated or at + 1 < len(due) else ""
        added.append(AddLine(text, "auto", entry.id, rank, "derived"))
    if added and not ordered:
        added.append(AddLine("", "free", None, END, "hand"))
    return added


def refresh(rows: Sequence[Line], entries: Mapping[str, Entry]) -> list[ChangeLine]:
    """What we derived follows its memory: our lines whole; in pointers by hand derived hooks and the path.

    Only memories in `entries` are looked at: those that changed are enough.
    """
    changes = []
    for row in rows:
        entry = entries.get(row.memory) if row.memory else None
        if entry is None:
            continue
        piece = read_line(row.text)
        if row.kind == "auto":
            bare = pointer_line(entry.title, entry.path, entry.description)
        elif piece.target is None:
            continue
        else:
            same = _folded(piece.target) == _folded(entry.path)
            dest = piece.dest if same else f"({link_path(entry.path)})"
            gap, hook = piece.gap, piece.hook
            if row.hook_by == "derived":
                hook = derived_hook(entry.description)
                gap = (gap or " — ") if hook else ""
            bare = f"{piece.prefix}[{piece.title}]{dest}{gap}{hook}"
        text = piece.start + bare + piece.end
        if text != row.text:
            changes.append(ChangeLine(row.id, text, row.kind, row.memory, row.hook_by))
    return changes


def bind(rows: Sequence[Line], path: str, memory: str) -> list[ChangeLine]:
    """The waiting pointer lines for `path` become pointers to the memory that now exists there (rule 13)."""
    ordered = in_order(rows)
    pieces = parse("\n".join(row.text for row in ordered)) if ordered else ()
    return [
        ChangeLine(row.id, row.text, "pointer", memory, "hand")
        for row, piece in zip(ordered, pieces, strict=True)
        if row.memory is None and piece.target is not None and _folded(piece.target) == _folded(path)
    ]


def release(rows: Sequence[Line], memory: str) -> list[RetireLine]:
    """The pointer lines of a memory that is retired; prose that mentions it stays."""
    return [RetireLine(row.id) for row in rows if row.memory == memory]


def _choice(
    ordered: Sequence[Line], entries: Mapping[str, Entry], limits: Limits, hidden: Sequence[bool], crlf: bool
) -> Rendering:
    longest = units(more_line(len(ordered), len(ordered))) + 1
    lines, room = limits.lines - 1, limits.units - longest
    # One below, for our own line and because the client nags at the limit, not past it.
    near_lines, near_room = limits.near_lines - 2, limits.near_units - longest - 1
    places = {at for at, row in enumerate(ordered) if hidden[at] or row.rank == END}
    candidates = [(*_worth(row, entries), at) for at, row in enumerate(ordered) if at not in places]
    candidates.sort()
    used_lines = used = 0
    ours = False
    for worth, _, at in candidates:
        if worth >= _CORRECTION and not ours:
            ours = True
            if used_lines < near_lines and used < near_room:
                lines, room = near_lines, near_room
        cost = _cost(ordered[at].text)
        if used_lines < lines and used + cost <= room:
            places.add(at)
            used_lines += 1
            used += cost
    kept = [row for at, row in enumerate(ordered) if at in places]
    left = [row for at, row in enumerate(ordered) if at not in places]
    if not left:
        return _rendering(kept, "", ())
    shown = {row.memory for row in kept}
    memories = {row.memory for row in left if row.memory and row.memory not in shown}
    ours_text = more_line(len(memories), sum(row.memory not in memories for row in left))
    if crlf and kept[-1:] and kept[-1].rank == END:
        ours_text += "\r"
    return _rendering(kept, ours_text, tuple(row.id for row in left))


@lru_cache(maxsize=1024)
def _cost(text: str) -> int:
    """The units that a line takes. Remembered: from one rendering to the next hardly any line changes."""
    return units(text.removesuffix("\r")) + 1


def _worth(row: Line, entries: Mapping[str, Entry]) -> tuple[int, int]:
    """(class, newest first): smaller is kept sooner. A memory's age and a row's are both commit orders."""
    entry = entries.get(row.memory) if row.memory else None
    if entry is not None and entry.pinned:
        return _PINNED, -max(row.op, entry.changed)
    if row.kind != "auto":
        return _BY_HAND, -row.op
    if entry is None or entry.superseded:
        return _SUPERSEDED, -row.op
    return _CORRECTION if entry.correction else _OTHER, -entry.changed


def _rendering(rows: Sequence[Line], ours: str, omitted: tuple[str, ...]) -> Rendering:
    texts = [row.text for row in rows]
    lines = [(row.id, row.version) for row in rows]
    if ours:
        at = len(rows) - (bool(rows) and rows[-1].rank == END)
        texts.insert(at, ours)
        lines.insert(at, OURS)
    text = "\n".join(texts)
    return Rendering(text, tuple(lines), omitted, measure(text)[1])


def _fits(lines: int, size: int, limits: Limits) -> bool:
    return lines <= limits.lines and size <= limits.units


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
