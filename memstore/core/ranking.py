"""Which memories answer a prompt best: the order of a short-list, decided from where its words occur.

The score of a memory is the sum, over the things that are looked for, of how telling the thing is in this store
(the fewer memories have it, the more) times how much the memory has of it. That is BM25 with three changes:

- occurrences in name and description count as several, and one anywhere counts something of its own, so that a long
  memory is not buried under short ones;
- where the thing itself is missing, words of nearly its meaning count, for less;
- the best passage counts as much again as the whole: a long memory that has all of it in one place is about it, one
  that has it here and there is not. Where the writer of a prompt speaks of himself, so should the passage.

Where something tells how alike texts are in meaning (`memstore/semantic.py`), a share of the best score is
added for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop
from math import log
from typing import NamedTuple

from memstore.core.sought import FIRST_PERSON, Sought

NAME, DESCRIPTION, BODY = range(3)
FIELDS = ("name", "description", "body")

_FIELD_COUNT = (4.0, 2.0)  # of the name and the description: what a hit there counts, in hits of the body
_SATURATION = 0.9  # k1: how soon more of the same says nothing new
_LENGTH = 0.3  # b: how much longer memories must have more
_PRESENCE = 0.5  # delta: what one occurrence counts, however long the memory is
_KIN = 0.4
_PASSAGE = 100  # terms
_STEP = _PASSAGE // 2
_OWN = 1.5
MOST_READ = 16
"""So many of the best are looked at for who speaks in them."""
_MEANING = 0.3
MOST_COMPARED = 50
"""So many of the best are compared with the prompt by meaning. On public data 200 gain nothing over 50."""

Places = tuple[dict[int, float], dict[int, float], dict[int, float]]
"""Where something occurs: by field, each place with the share that it counts."""

Hits = dict[int, Places]
"""`2 * n`: where the thing n occurs itself, `2 * n + 1`: where its kin does."""


@dataclass(slots=True)
class Candidate:
    """A memory that has something of what is looked for."""

    key: int
    sizes: tuple[int, int, int]  # terms by field
    hits: Hits


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates, and what the store says about the things: in how many bodies each occurs, itself (`rows`) or by
    its kin too (`kin_rows`). Names do not count there: what many memories are named after is what they are about."""

    memories: int
    average: float  # terms of a memory
    sought: tuple[Sought, ...]
    rows: tuple[float, ...]
    kin_rows: tuple[float, ...]
    candidates: list[Candidate]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a memory stands where it does: one thing that was found in it."""

    word: str
    fields: tuple[str, ...]
    count: int
    kin: bool  # found by words of nearly its meaning only
    weight: float  # its part of the score


@dataclass(slots=True)
class Scored:
    """A candidate's place. `passage`: the first term of the best passage of the body, None if the body has no hit."""

    candidate: Candidate
    score: float
    passage: int | None
    passage_weight: float = 0.0
    own: bool = False


def rank(pool: Pool, most: int) -> list[Scored]:
    """The best `most` candidates; equals by their keys, the newest first."""
    telling = _telling(pool)
    # Whole texts are scored cheaply; passages are looked for only where they can bring a memory among the best.
    rough = sorted((_rough(candidate, pool, telling) for candidate in pool.candidates), key=lambda one: -one.limit)
    scored: list[Scored] = []
    best: list[float] = []
    for one in rough:
        if one.score <= 0 or (len(best) == most and one.limit < best[0]):
            break
        start, passage = _best_passage(one.candidate, telling)
        scored.append(Scored(one.candidate, one.score + passage, start, passage))
        (heappush if len(best) < most else heappushpop)(best, one.score + passage)
    return sorted(scored, key=_order)[:most]


def favour_own(ranked: list[Scored], bodies: dict[int, str]) -> list[Scored]:
    """The order for a prompt whose writer speaks of himself. `bodies`: the terms of the bodies, by key."""
    for one in ranked:
        terms = bodies.get(one.candidate.key)
        if one.passage is None or not terms:
            continue
        end = one.passage + _PASSAGE
        count = sum(term in FIRST_PERSON for term in terms.split(" ", end)[one.passage : end])
        if count:
            weight = _OWN * _saturated(count, _SATURATION)
            one.score += weight
            one.passage_weight += weight
            one.own = True
    return sorted(ranked, key=_order)


def weigh(ranked: list[Scored], alike: Sequence[float]) -> list[Scored]:
    """The order by the weighted sum of what the words score and of how alike a memory is to the prompt. `alike`: from
    0 to 1, of the first of these; the others count as not alike."""
    best = max((one.score for one in ranked), default=0.0)
    for number, one in enumerate(ranked):
        likeness = min(1.0, max(0.0, alike[number])) if number < len(alike) else 0.0
        one.score = (1 - _MEANING) * one.score + _MEANING * best * likeness
    return sorted(ranked, key=_order)


def explain(ranked: Sequence[Scored], pool: Pool) -> list[tuple[Reason, ...]]:
    """What was found in each of these, by weight."""
    telling = _telling(pool)
    return [_reasons(one.candidate, pool, telling) for one in ranked]


def _reasons(candidate: Candidate, pool: Pool, telling: list[float]) -> tuple[Reason, ...]:
    dampening = _dampening(candidate, pool)
    best: dict[int, Reason] = {}
    for slot, hits in candidate.hits.items():
        weight = _weight(hits, dampening) * telling[slot]
        known = best.get(slot >> 1)
        if known is None or known.weight < weight:
            fields = tuple(name for name, places in zip(FIELDS, hits, strict=True) if places)
            text = pool.sought[slot >> 1].text
            best[slot >> 1] = Reason(text, fields, sum(map(len, hits)), bool(slot & 1), weight)
    return tuple(sorted(best.values(), key=lambda reason: -reason.weight))


def _order(one: Scored) -> tuple[float, int]:
    return -one.score, -one.candidate.key


def _telling(pool: Pool) -> list[float]:
    """What a hit of each slot is worth."""
    worth = []
    for thing, rows, kin_rows in zip(pool.sought, pool.rows, pool.kin_rows, strict=True):
        worth.append(thing.weight * _rarity(rows, pool.memories))
        worth.append(thing.weight * _rarity(kin_rows, pool.memories) * _KIN)
    return worth


def _rarity(rows: float, memories: int) -> float:
    return log(1 + (max(memories, rows) - rows + 0.5) / (rows + 0.5))


def _dampening(candidate: Candidate, pool: Pool) -> float:
    return _SATURATION * (1 - _LENGTH + _LENGTH * sum(candidate.sizes) / (pool.average or 1))


def _saturated(count: float, dampening: float) -> float:
    return count * (_SATURATION + 1) / (count + dampening)


def _weight(hits: Places, dampening: float) -> float:
    return _saturated(sum(hits[BODY].values()) + _ahead(hits), dampening) + _PRESENCE


def _ahead(hits: Places) -> float:
    """What the hits in name and description count, in hits of the body."""
    count = 0.0
    for places, counts in zip(hits, _FIELD_COUNT, strict=False):
        if places:
            count += counts * max(places.values())
    return count


class _Rough(NamedTuple):
    """What a candidate's whole text is worth, and what it can be worth with its best passage."""

    score: float
    limit: float
    candidate: Candidate


def _rough(candidate: Candidate, pool: Pool, telling: list[float]) -> _Rough:
    dampening = _dampening(candidate, pool)
    best: dict[int, float] = {}
    most: dict[int, float] = {}
    for slot, hits in candidate.hits.items():
        thing, worth = slot >> 1, telling[slot]
        best[thing] = max(best.get(thing, 0.0), _weight(hits, dampening) * worth)
        most[thing] = max(most.get(thing, 0.0), (_SATURATION + 1) * worth)
    score = sum(best.values())
    return _Rough(score, score + sum(most.values()), candidate)


def _best_passage(candidate: Candidate, telling: list[float]) -> tuple[int | None, float]:
    """Where it begins, and its weight. Name and description stand ahead of every passage."""
    steps: dict[int, dict[int, float]] = {}
    ahead: dict[int, float] = {}
    for slot, hits in candidate.hits.items():
        for place, share in hits[BODY].items():
            number = place // _STEP
            step = steps.get(number)
            if step is None:
                steps[number] = {slot: share}
            else:
                step[slot] = step.get(slot, 0.0) + share
        if hits[NAME] or hits[DESCRIPTION]:
            ahead[slot] = _ahead(hits)
    if not steps:
        return None, _passage_weight((ahead,), telling)
    # Most passages cannot be the best whatever they have of each thing: they are not looked at closely.
    limits = {number: sum([telling[slot] for slot in step]) for number, step in steps.items()}
    always = sum([telling[slot] for slot in ahead])
    hopeful = [
        ((limit + limits.get(number + 1, 0.0) + always) * (_SATURATION + 1), number) for number, limit in limits.items()
    ]
    best, found = 0, 0.0
    for limit, number in sorted(hopeful, reverse=True):
        if limit <= found:
            break
        weight = _passage_weight((steps[number], steps.get(number + 1, {}), ahead), telling)
        if weight > found:
            best, found = number, weight
    return best * _STEP, found


def _passage_weight(parts: Sequence[dict[int, float]], telling: list[float]) -> float:
    counts: dict[int, float] = {}
    for part in parts:
        for slot, count in part.items():
            counts[slot] = counts.get(slot, 0.0) + count
    best: dict[int, float] = {}
    for slot, count in counts.items():
        weight = _saturated(count, _SATURATION) * telling[slot]
        if weight > best.get(slot >> 1, 0.0):
            best[slot >> 1] = weight
    return sum(best.values())
