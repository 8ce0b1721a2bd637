"""The values of the index: its rows, what is known of the memories, the changes an edit makes, and ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple

Kind = Literal["free", "pointer", "auto"]
HookBy = Literal["hand", "derived"]

END = "g"
"""The rank of the empty row behind the last newline: it sorts after every other rank. A file whose last
line is not terminated has no such row; so the final newline is a row like any other, and merged like one."""

_DIGITS = "0123456789abcdef"
_WIDTH = 8
_STEP = 16


class Line(NamedTuple):
    """One row. `text` is the line as written, without "\\n"; a "\\r" or byte order mark stays part of it.

    (A tuple, as `Entry` is: made for each line and each memory whenever the index is projected.)
    """

    id: str
    text: str
    kind: Kind
    memory: str | None
    rank: str
    hook_by: HookBy
    version: int
    op: int


class Entry(NamedTuple):
    """What rendering must know of a live memory. `changed` grows with commit order."""

    id: str
    path: str
    title: str
    description: str
    type: str
    pinned: bool
    correction: bool
    superseded: bool
    changed: int
    listing: Literal["listed", "due", "unlisted"]


@dataclass(frozen=True, slots=True)
class AddLine:
    """A new row at `rank`."""

    text: str
    kind: Kind
    memory: str | None
    rank: str
    hook_by: HookBy


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """The row's new values, all of them; its rank stays."""

    id: str
    text: str
    kind: Kind
    memory: str | None
    hook_by: HookBy


@dataclass(frozen=True, slots=True)
class RetireLine:
    """The row leaves the index; its history stays."""

    id: str


@dataclass(frozen=True, slots=True)
class MoveLine:
    """The row stands elsewhere."""

    id: str
    rank: str


@dataclass(frozen=True, slots=True)
class Unlist:
    """Somebody took the memory out of the index by choice; the memory stays."""

    memory: str


@dataclass(frozen=True, slots=True)
class List:
    """Somebody put the memory into the index by hand."""

    memory: str


Change = AddLine | ChangeLine | RetireLine | MoveLine | Unlist | List


@dataclass(frozen=True, slots=True)
class LineConflict:
    """Both sides changed one field of a row. `current` (the store's) stays; `line` is the other side's."""

    row: str
    field: Literal["title", "hook"]
    base: str
    current: str
    other: str
    line: str


@dataclass(frozen=True, slots=True)
class IndexEdit:
    """What an edited text means for the rows.

    `kept` names rows that the edit left out but that had changed meanwhile, so they stay (rules 8 and 16).
    `restores` says that the text was no edit at all: project the rows again (rule 3).
    """

    changes: tuple[Change, ...] = ()
    conflicts: tuple[LineConflict, ...] = ()
    kept: tuple[str, ...] = ()
    restores: bool = False


_PLACE = attrgetter("rank", "id")


def in_order(rows: Iterable[Line]) -> list[Line]:
    """The rows as they stand in the file."""
    return sorted(rows, key=_PLACE)


def last_rank(rows: Sequence[Line]) -> str | None:
    """The rank behind which a line is appended: the last row's, the final newline not counted."""
    return max((row.rank for row in rows if row.rank != END), default=None)


def ends_in_cr(texts: Sequence[str]) -> bool:
    """Whether most of these lines end in "\\r\\n"."""
    return 2 * sum(text.endswith("\r") for text in texts) > len(texts)


def ranks_after(last: str | None, count: int) -> list[str]:
    """`count` ranks behind `last`, ascending. Appending does not make ranks longer."""
    ranks: list[str] = []
    for _ in range(count):
        number = int(last[:_WIDTH].ljust(_WIDTH, "0"), 16) if last else 0
        number = (number // _STEP + 1) * _STEP
        last = f"{last}8" if last and number >> 4 * _WIDTH else f"{number:0{_WIDTH}x}".rstrip("0")
        ranks.append(last)
    return ranks


def rank_between(before: str | None, after: str | None) -> str:
    """A rank strictly between two neighbours; None is the beginning or the end. There always is one.

    Ranks are fractions in hexadecimal without trailing zeros. If both are equal, the answer lies behind both.
    """
    if after is None or after == END:
        return ranks_after(before, 1)[0]
    low = before or ""
    if low >= after:
        return low + "8"
    shared = 0
    while shared < len(after) and (low[shared] if shared < len(low) else "0") == after[shared]:
        shared += 1
    floor = _digit(low, shared)
    ceiling = _digit(after, shared)
    if ceiling - floor > 1:
        return after[:shared] + _DIGITS[(floor + ceiling) // 2]
    if shared + 1 < len(after):
        return after[: shared + 1]
    at = shared + 1
    while _digit(low, at) == 15:
        at += 1
    return (low.ljust(at, "0"))[:at] + _DIGITS[(_digit(low, at) + 16) // 2]


def ranks_between(before: str | None, after: str | None, count: int) -> list[str]:
    """`count` ascending ranks strictly between two neighbours, spread so that they stay short."""
    if after is None or after == END:
        return ranks_after(before, count)
    ranks: list[str | None] = [before, *[None] * count, after]
    spans = [(0, count + 1)]
    while spans:
        low, high = spans.pop()
        if high - low > 1:
            middle = (low + high) // 2
            ranks[middle] = rank_between(ranks[low], ranks[high])
            spans += [(low, middle), (middle, high)]
    return [rank for rank in ranks[1:-1] if rank is not None]


def _digit(rank: str, at: int) -> int:
    return int(rank[at], 16) if at < len(rank) else 0
