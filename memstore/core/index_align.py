"""Lining up the lines of two texts: which line of one is which of the other."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from itertools import pairwise


def align(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[int | None]:
    """For each item of `left` the place of the same item in `right`, or None; the places ascend.

    Patience: items that are unique on both sides anchor the others, so that a blank line is paired with the
    blank line in the same surroundings. Time: n log n.
    """
    pairs: list[int | None] = [None] * len(left)
    spots: defaultdict[Hashable, list[int]] = defaultdict(list)
    for at, key in enumerate(right):
        spots[key].append(at)
    counts: defaultdict[Hashable, int] = defaultdict(int)
    for key in left:
        counts[key] += 1
    lone = {key for key, count in counts.items() if count == 1 and len(spots.get(key, ())) == 1}
    anchors = [(i, spots[key][0]) for i, key in enumerate(left) if key in lone]
    climbing = ascending([j for _, j in anchors])
    edges = [(-1, -1), *(anchors[at] for at in climbing), (len(left), len(right))]
    for (low_i, low_j), (high_i, high_j) in pairwise(edges):
        if high_i < len(left):
            pairs[high_i] = high_j
        i, j, end_i, end_j = low_i + 1, low_j + 1, high_i, high_j
        while i < end_i and j < end_j and left[i] == right[j]:
            pairs[i] = j
            i, j = i + 1, j + 1
        while i < end_i and j < end_j and left[end_i - 1] == right[end_j - 1]:
            end_i, end_j = end_i - 1, end_j - 1
            pairs[end_i] = end_j
        for at in range(i, end_i):
            place = spots.get(left[at], [])
            first = bisect_left(place, j)
            if first < len(place) and place[first] < end_j:
                pairs[at] = place[first]
                j = place[first] + 1
    return pairs


def align_moved(
    left: Sequence[Hashable], right: Sequence[Hashable], pairs: list[int | None], movable: Sequence[bool]
) -> None:
    """Pairs what `align` left over, wherever it stands now, occurrence by occurrence."""
    taken = {place for place in pairs if place is not None}
    spare: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for at, key in enumerate(right):
        if at not in taken:
            spare[key].append(at)
    for at, key in enumerate(left):
        if pairs[at] is None and movable[at] and spare.get(key):
            pairs[at] = spare[key].popleft()


def ascending(numbers: Sequence[int]) -> list[int]:
    """The places of a longest strictly ascending run, gaps allowed."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int | None] = []
    for at, number in enumerate(numbers):
        spot = bisect_left(tails, number)
        before.append(places[spot - 1] if spot else None)
        tails[spot : spot + 1] = [number]
        places[spot : spot + 1] = [at]
    run: list[int] = []
    step: int | None = places[-1] if places else None
    while step is not None:
        run.append(step)
        step = before[step]
    return run[::-1]
