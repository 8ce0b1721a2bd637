"""What agents' sessions did to a file, worked in row by row before anybody scans it. Rules 6 to 11, by number:

6. Rows are taken in the chain of their originals, each call once.
7. An original that nobody knows is an edit that nobody signed: it is absorbed first, from the nearest known text.
8. An Edit changed what it found: merge(original, H, result).
9. A Write replaced what its session had seen: merge(seen, H, result).
10. A Write by a session that had seen nothing: where it would drop a line of H, H stays current and the result is
    the conflict's other side; else it is a new version.
11. A row never changes B: its result joins the texts that became known since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from memstore.core.frontmatter import alike, calm
from memstore.core.merge import merge_texts


@dataclass(frozen=True, slots=True)
class Row:
    """One call of a session's tool. `original` None: there was no file. `id`: the call's own."""

    id: str
    kind: Literal["write", "edit"]
    session: str
    original: bytes | None
    result: bytes


@dataclass(frozen=True, slots=True)
class Step:
    """What the head becomes. `other`: the side that could not be merged in (the head stays then)."""

    content: bytes
    other: bytes | None
    base: bytes | None
    rule: int


def next_row(rows: Sequence[Row], shown: bytes | None, known: Collection[bytes]) -> Row:
    """Rule 6: the row whose original is what was shown, else one whose original is known, else the nearest."""
    for row in rows:
        if row.original == shown:
            return row
    for row in rows:
        if row.original is None or row.original in known:
            return row
    return min(rows, key=lambda row: min((_distance(row.original or b"", text) for text in known), default=0))


def unsigned(row: Row, head: bytes | None, known: Collection[bytes]) -> Step | None:
    """Rule 7: the edit behind an original that nobody knows; None where it is known."""
    if row.original is None or head is None or row.original in known:
        return None
    if any(alike(row.original, text) for text in known):
        return None
    nearest = min(known, key=lambda text: _distance(row.original or b"", text), default=None)
    if nearest is None:
        return None
    return _merged(nearest, head, row.original, rule=7)


def take(row: Row, head: bytes | None, seen: bytes | None) -> Step:
    """Rules 8 to 10 for one row. `seen`: what its session had last loaded, read or written there."""
    if head is None:
        return Step(row.result, None, None, 8 if row.kind == "edit" else 10)
    if row.kind == "edit":
        return _merged(row.original if row.original is not None else head, head, row.result, rule=8)
    if seen is not None:
        return _merged(seen, head, row.result, rule=9)
    if _lines(head) - _lines(row.result):
        return Step(head, row.result, row.original, 10)
    return Step(row.result, None, row.original, 10)


def _merged(base: bytes, head: bytes, result: bytes, *, rule: int) -> Step:
    if alike(base, result):
        return Step(head, None, base, rule)
    merged = merge_texts(base, head, result)
    return Step(head, result, base, rule) if merged.conflict else Step(merged.content, None, base, rule)


def _lines(text: bytes) -> Counter[bytes]:
    return Counter(line for line in calm(text).split(b"\n") if line.strip())


def _distance(one: bytes, other: bytes) -> int:
    first, second = _lines(one), _lines(other)
    return (first - second).total() + (second - first).total()
