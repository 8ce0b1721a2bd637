"""What agents' sessions did to a file, worked in row by row before anybody scans it. Rules 6 to 11, by number:

6. Rows are taken in the chain of their originals, each call once.
7. An original that nobody knows is an edit that nobody signed: it is absorbed first, from the nearest text that
   lay there; without one it is a conflict's other side. Then what its session had seen, where nobody knows that;
   it takes nothing out. Nor does the original of a call that was taken for done before it was told of.
8. An Edit changed what it found: merge(original, H, result).
9. A Write replaced what its session had seen: merge(seen, H, result).
10. A Write by a session that had seen nothing: where it would drop a line of H, H stays current and the result is
    the conflict's other side; else it is a new version.
11. A row never changes B: its result joins the texts that became known since. A file that nobody signed was made
    from the nearest of them.

Rule 5: a call that was about to begin and was not heard of again may have happened all the same: `happened`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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
    """Rule 6: the row whose original is what was shown, else one whose original is known, else the nearest. Of
    these, rather one that follows no other row."""
    for row in rows:
        if row.original == shown:
            return row
    results = {row.result for row in rows if row.result != row.original}
    firsts = [row for row in rows if row.original not in results] or rows
    for row in (*firsts, *rows):
        if row.original is None or row.original in known:
            return row
    return min(firsts, key=lambda row: min((_distance(row.original or b"", text) for text in known), default=0))


def unsigned(
    text: bytes | None, head: bytes | None, known: Collection[bytes], shown: bytes | None = None, *, older: bool = False
) -> Step | None:
    """Rule 7: the edit behind a text that nobody knows, such as a row's original; None where it is known.

    `known` contains what is known, and lists what lay in a file: nobody made a file from a head that never did. Of
    equally near texts it is rather made from the one that is `shown`, then from the head.
    `older`: what is known may have been written on top of it (a text that a session had seen some time before it
    wrote, or overwrote some time before it told), so that a line it lacks may be younger than it is: then it takes
    nothing out.
    """
    if text is None or head is None or text in known or any(alike(text, other) for other in (head, *known)):
        return None
    if not known:
        return Step(head, text, None, 7)
    base = _nearest(text, sorted(known, key=lambda one: (one != shown, one != head, one)))
    if older:
        base = shared(base, text)
    return _merged(base, head, text, rule=7)


def made_from(content: bytes, shown: bytes, since: Collection[bytes]) -> bytes:
    """Rule 11: the base of a file that nobody signed: B, or a text known since that is nearer to it.

    B too where the file is a text known since: then it holds no news (rule 20). Of equally near ones rather a text
    of which the file has a line that B has not.
    """
    if content in since:
        return shown
    told = [text for text in sorted(since) if landed(content, text, shown)]
    return _nearest(content, (*told, shown, *sorted(since)))


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


def happened(
    outcome: bytes,
    file: bytes | None,
    told: Iterable[bytes],
    shown: bytes,
    others: Collection[bytes],
    results: Collection[bytes],
) -> bool:
    """Rule 5: whether a call of which nothing more was heard took place after all.

    It did where the file, or a text that another session tells of (`told`), is its outcome or was made from that
    rather than from any other text. `shown` is B; `others`: what the call found, and what became known since B;
    `results`: what other rows say was written.
    """
    if file is not None and _is_of(file, outcome, shown, {*others, *results}):
        return True
    return any(_is_of(text, outcome, shown, others) for text in told)


def landed(file: bytes, put: bytes, shown: bytes) -> bool:
    """Whether a file tells that a text was put there, of which only that is known that it was about to be.

    It does where it is that text, or has a line that only that text brought.
    """
    return alike(file, put) or bool((_lines(put) - _lines(shown)) & _lines(file))


def merge_older(base: bytes, head: bytes, text: bytes) -> Step:
    """Rule 35 of `core/reconcile.py`, for a text that may be older than its base: what it has and the base has not
    is taken in; what it lacks may be younger than it is, and stays."""
    return _merged(shared(base, text), head, text, rule=35)


def shared(base: bytes, text: bytes) -> bytes:
    """Of a base the lines that a text still has: as its base it takes nothing out."""
    left = Counter(text.split(b"\n"))
    return b"\n".join(line for line in base.split(b"\n") if line in left)


def _is_of(text: bytes, outcome: bytes, shown: bytes, others: Collection[bytes]) -> bool:
    if alike(text, outcome):
        return True
    if text in others:
        return False
    likeliest = _nearest(text, (shown, *sorted(others)))
    return _nearest(text, (likeliest, outcome)) == outcome


def _merged(base: bytes, head: bytes, result: bytes, *, rule: int) -> Step:
    if alike(base, result):
        return Step(head, None, base, rule)
    merged = merge_texts(base, head, result)
    return Step(head, result, base, rule) if merged.conflict else Step(merged.content, None, base, rule)


def _nearest(text: bytes, others: Iterable[bytes]) -> bytes:
    """Of equally near texts the first."""
    return min(others, key=lambda other: _distance(text, other))


def _lines(text: bytes) -> Counter[bytes]:
    return Counter(line for line in calm(text).split(b"\n") if line.strip())


def _distance(one: bytes, other: bytes) -> int:
    first, second = _lines(one), _lines(other)
    return (first - second).total() + (second - first).total()
