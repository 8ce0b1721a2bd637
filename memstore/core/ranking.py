"""Which memories answer a prompt best: the order of a short-list, decided from where its words occur.

The score of a memory is the sum, over the things that are looked for, of how telling the thing is in this store
(the fewer memories have it, the more) times how much the memory has of it. That is BM25 with three changes:

- occurrences in name and description count as several, and one anywhere counts something of its own, so that a long
  memory is not buried under short ones;
- where the thing itself is missing, words of nearly its meaning count, for less;
- the best passage counts as much again as the whole: a long memory that has all of it in one place is about it, one
  that has it here and there is not. Where the writer of a prompt speaks of himself, so should the passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from math import log

from memstore.core.sought import FIRST_PERSON, Sought

NAME, DESCRIPTION, BODY = range(3)
FIELDS = ("name", "description", "body")

_FIELD_COUNT = (2.0, 2.0)  # what a hit in the name and one in the description count, in hits of the body
_SATURATION = 0.9  # k1: how soon more of the same says nothing new
_LENGTH = 0.3  # b: how much longer memories must have more
_PRESENCE = 0.5  # delta: what one occurrence counts, however long the memory is
_KIN = 0.4
_PASSAGE = 60  # terms
_STEP = _PASSAGE // 2
_OWN = 2.0
MOST_READ = 24
"""So many of the best are looked at for who speaks in them."""


@dataclass(slots=True)
class Candidate:
    """A memory with hits. `hits[2 * n]`: of the thing n itself, `hits[2 * n + 1]`: of its kin; by field, each place
    with the share that it counts."""

    key: int
    sizes: tuple[int, int, int]  # terms by field
    hits: dict[int, tuple[dict[int, float], dict[int, float], dict[int, float]]]


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates, and what the store says about the things: in how many memories each occurs, itself (`rows`)
    or by its kin too (`kin_rows`)."""

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
    reasons: list[Reason] = field(default_factory=list)


def rank(pool: Pool) -> list[Scored]:
    """All candidates that have anything, best first; equals by their keys, the newest first."""
    telling = _telling(pool)
    scored = [one for candidate in pool.candidates if (one := _score(candidate, pool, telling)).score > 0]
    return sorted(scored, key=_order)


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


def explain(one: Scored, pool: Pool) -> list[Reason]:
    """What was found in a memory, by weight."""
    telling = _telling(pool)
    dampening = _dampening(one.candidate, pool)
    reasons = []
    for number, thing in enumerate(pool.sought):
        weights = [
            (_weight(hits, dampening) * telling[slot], slot, hits)
            for slot in (2 * number, 2 * number + 1)
            if (hits := one.candidate.hits.get(slot))
        ]
        if weights:
            weight, slot, hits = max(weights, key=lambda found: found[0])
            fields = tuple(name for name, places in zip(FIELDS, hits, strict=True) if places)
            reasons.append(Reason(thing.text, fields, sum(map(len, hits)), bool(slot & 1), weight))
    return sorted(reasons, key=lambda reason: -reason.weight)


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


def _weight(hits: Sequence[dict[int, float]], dampening: float) -> float:
    count = sum(hits[BODY].values())
    for column, counts in enumerate(_FIELD_COUNT):
        if hits[column]:
            count += counts * max(hits[column].values())
    return _saturated(count, dampening) + _PRESENCE


def _score(candidate: Candidate, pool: Pool, telling: list[float]) -> Scored:
    dampening = _dampening(candidate, pool)
    best: dict[int, float] = {}
    for slot, hits in candidate.hits.items():
        weight = _weight(hits, dampening) * telling[slot]
        if weight > best.get(slot >> 1, 0.0):
            best[slot >> 1] = weight
    start, passage = _best_passage(candidate, telling)
    return Scored(candidate, sum(best.values()) + passage, start, passage)


def _best_passage(candidate: Candidate, telling: list[float]) -> tuple[int | None, float]:
    """Where it begins, and its weight."""
    steps: dict[int, dict[int, float]] = {}
    for slot, hits in candidate.hits.items():
        for place, share in hits[BODY].items():
            step = steps.setdefault(place // _STEP, {})
            step[slot] = step.get(slot, 0.0) + share
    if not steps:
        return None, 0.0
    # Most passages cannot be the best whatever they have of each thing: they are not looked at closely.
    limits = []
    for number, step in steps.items():
        slots = step.keys() | steps[number + 1].keys() if number + 1 in steps else step.keys()
        limits.append((sum([telling[slot] for slot in slots]) * (_SATURATION + 1), number))
    best, found = 0, 0.0
    for limit, number in nlargest(len(limits), limits):
        if limit <= found:
            break
        weight = _passage_weight(steps[number], steps.get(number + 1, {}), telling)
        if weight > found:
            best, found = number, weight
    return best * _STEP, found


def _passage_weight(first: dict[int, float], second: dict[int, float], telling: list[float]) -> float:
    best: dict[int, float] = {}
    for slot in first.keys() | second.keys():
        weight = _saturated(first.get(slot, 0.0) + second.get(slot, 0.0), _SATURATION) * telling[slot]
        if weight > best.get(slot >> 1, 0.0):
            best[slot >> 1] = weight
    return sum(best.values())
