"""Which lines of two texts are the same ones: what a merge rests on.

Lines that stand exactly once in either text are matched first, in the longest order that both agree on; what
lies between two of them is left to difflib. So a paragraph is told by its words and not by its blank lines,
and a long text with many small changes takes milliseconds where difflib alone takes minutes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

Block = tuple[int, int, int]
"""So many equal lines: from where in a, from where in b, how many."""

GAP_LIMIT = 1_000
"""Lines between two sure matches above which no others are looked for: difflib's time grows as the square."""


class LineMatcher:
    """What merge3 asks of a matcher. Nothing is junk."""

    def __init__(
        self,
        isjunk: Callable[[str], bool] | None = None,
        a: Sequence[str] = (),
        b: Sequence[str] = (),
        autojunk: bool = True,
    ) -> None:
        self.a, self.b = a, b

    def get_matching_blocks(self) -> list[Block]:
        """Blocks in rising order; the last one is empty and stands at both ends."""
        blocks: list[Block] = []
        a, b = 0, 0
        ends = len(self.a), len(self.b)
        for anchor_a, anchor_b in (*_sure_matches(self.a, self.b), ends):
            for in_a, in_b, size in _between(self.a[a:anchor_a], self.b[b:anchor_b]):
                _add(blocks, a + in_a, b + in_b, size)
            if (anchor_a, anchor_b) != ends:
                _add(blocks, anchor_a, anchor_b, 1)
            a, b = anchor_a + 1, anchor_b + 1
        return [*blocks, (*ends, 0)]


def _between(a: Sequence[str], b: Sequence[str]) -> Sequence[Block]:
    if not a or not b or max(len(a), len(b)) > GAP_LIMIT:
        return ()
    return SequenceMatcher(None, a, b).get_matching_blocks()[:-1]


def _add(blocks: list[Block], a: int, b: int, size: int) -> None:
    if blocks and (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]) == (a, b):
        a, b, before = blocks.pop()
        size += before
    blocks.append((a, b, size))


def _sure_matches(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines that stand once in each text: the longest run of them that rises in both."""
    in_a, in_b = Counter(a), Counter(b)
    place = {line: at for at, line in enumerate(b) if in_b[line] == 1}
    pairs = [(at, place[line]) for at, line in enumerate(a) if in_a[line] == 1 and line in place]
    lowest: list[int] = []  # the smallest end in b of a run of each length
    holder: list[int] = []  # the pair that has it
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect_left(lowest, at)
        before.append(holder[length - 1] if length else -1)
        lowest[length : length + 1] = [at]
        holder[length : length + 1] = [number]
    run = []
    number = holder[-1] if holder else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return reversed(run)
