"""Which texts say nearly the same, and by which signs they say something else all the same.

A text counts as the set of its pairs of neighbouring search terms, so that one written without spaces is measured
like any other. Two texts are near where they share most of all the pairs that either has (Jaccard). A pair of texts
can reach that only if they share one of their rarest pairs of terms, so only such texts are compared at all.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, count, pairwise
from math import ceil
from typing import NamedTuple

from memstore.core.terms import document_terms, fold

LIKENESS = 0.75
"""What share of their pairs of terms near texts have in common."""

FEWEST = 8
"""Pairs of terms that a text must have: shorter ones are too easily alike."""

LONGEST = 100_000
"""Characters of a text that is looked at; a longer one is near to nothing."""

_NOT = (
    "no not never none nothing neither nor without cannot avoid stop unless except instead only false off forbid"
    " forbidden disable disabled deny denied before after wrong bad ignore ignored obsolete outdated deprecated"
    " superseded revoked opposite nicht kein keine keinen keiner keinem nie niemals ohne weder"
    " pas jamais sans aucun aucune nunca sin"
)
_WORDS_OF_FIGURES = (
    "two three four five six seven eight nine ten eleven twelve hundred thousand half twice"
    " monday tuesday wednesday thursday friday saturday sunday"
    " january february march april may june july august september october november december"
)
_FIGURES = re.compile(
    r"[^\W_]*\d[\w.:,/+-]*"  # with names that have figures in them
    rf"|\b(?:{_WORDS_OF_FIGURES.replace(' ', '|')})\b"
    "|(?:周|週|星期|[礼禮]拜)[一二三四五六日天]"
    "|[〇零一二三四五六七八九十百千万萬亿億两兩]+[点點时時分秒号號天日周週月年个個次台倍度元块塊米层層级級]半?"
)
_SIGNS = re.compile(
    rf"{_FIGURES.pattern}"
    r"|\b\w+n['’]t\b"
    rf"|\b(?:{_NOT.replace(' ', '|')})\b"
    "|[不没沒無无別别勿未非莫禁否]|ない|ません|않|못|없"
)
_MOST_SIGNS = 5
_Known = defaultdict[tuple[str, str], int]
"""The number of each pair."""
_ROUNDING = 1e-6


class Near(NamedTuple):
    """Two texts, by their place in the order given, and the share of their pairs of terms that both have."""

    first: int
    second: int
    share: float


def near(texts: Iterable[tuple[object, str]], told: Callable[[int], None] | None = None) -> list[Near]:
    """Each text that is near to an earlier one of its group, with the one that it is nearest to.

    `texts`: (group, text); only texts of one group are compared. A text that is near to an earlier one is not itself
    compared with later ones: of many copies each is told once. `told` hears of two steps for each text.
    """
    number = count()
    known: dict[object, _Known] = {}
    sets: list[frozenset[int]] = []
    for group, text in texts:
        sets.append(_pairs(text, known.setdefault(group, defaultdict(number.__next__))))
        if told is not None:
            told(len(sets))
    counts = Counter(chain.from_iterable(sets))
    holders: dict[int, dict[int, list[int]]] = {}
    result: list[Near] = []
    for at, found in enumerate(sets):
        if told is not None:
            told(len(sets) + at + 1)
        if len(found) < FEWEST:
            continue
        # By how many texts have them, and then by number.
        rarest = sorted(sorted(found), key=counts.__getitem__)[: len(found) - ceil(LIKENESS * len(found)) + 1]
        best = _nearest(at, sets, _candidates(len(found), rarest, holders))
        if best is not None:
            result.append(best)
            continue
        for pair in rarest:
            if counts[pair] > 1:  # else no other text asks for it
                holders.setdefault(pair, {}).setdefault(len(found), []).append(at)
    return result


def _candidates(size: int, rarest: Sequence[int], holders: Mapping[int, Mapping[int, Iterable[int]]]) -> set[int]:
    """The texts that may be near to one of this size. `holders`: texts by pair and size.

    Where the first pair that two texts share is a late one of the rarest, all before it are not shared, so that the
    other must be short to be near all the same. Else texts of one pattern would all be compared with one another.
    """
    found: set[int] = set()
    for place, pair in enumerate(rarest):
        most = min(size / LIKENESS, (size - place) * (1 + LIKENESS) / LIKENESS - size) + _ROUNDING
        for other, texts in holders.get(pair, {}).items():
            if LIKENESS * size <= other <= most:
                found.update(texts)
    return found


def _pairs(text: str, known: _Known) -> frozenset[int]:
    """The pairs of terms as numbers that count from the first one met: the same in every process."""
    if len(text) > LONGEST:
        return frozenset()
    return frozenset(map(known.__getitem__, pairwise(document_terms(text).split(" "))))


def _nearest(at: int, sets: Sequence[frozenset[int]], others: Iterable[int]) -> Near | None:
    found, best = sets[at], None
    for other in sorted(others):
        size = len(sets[other])
        common = len(found & sets[other])
        share = common / (len(found) + size - common)
        if share >= LIKENESS and (best is None or share > best.share):
            best = Near(other, at, share)
    return best


def differing(one: str, other: str) -> tuple[str, ...]:
    """Words such as `not` that only one of the texts has, or has oftener, and figures where each has others: a few.

    Where there are any, the texts say different things however many words they share. A figure that only one of them
    has may simply be more that it says; a word (`Monday`, `two`) for which the other has digits may be the same.
    """
    mine, theirs = _signs(one), _signs(other)
    figures: list[str] = []
    for digits in (True, False):
        of_kind = [
            [sign for sign in each if _is_figure(sign) and _has_digits(sign) == digits] for each in (mine, theirs)
        ]
        only = [[sign for sign in one if sign not in other] for one, other in (of_kind, of_kind[::-1])]
        figures += only[0] + only[1] if all(only) else []
    turning = [sign for sign in dict.fromkeys((*mine, *theirs)) if not _is_figure(sign) and mine[sign] != theirs[sign]]
    return (*turning, *figures)[:_MOST_SIGNS]


def turns(text: str) -> bool:
    """Whether a text has words such as `not`."""
    return not all(map(_is_figure, _signs(text)))


def _has_digits(sign: str) -> bool:
    return any(map(str.isdigit, sign))


def _is_figure(sign: str) -> bool:
    return _FIGURES.match(sign) is not None


def _signs(text: str) -> Counter[str]:
    return Counter(sign.rstrip(".:,/+-") for sign in _SIGNS.findall(fold(text).casefold()))
