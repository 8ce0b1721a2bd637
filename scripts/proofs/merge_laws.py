"""Laws of the three merges, on texts that are made to meet: bodies, whole files with their fields, index lines.

Whoever changed nothing gives way; the sides are equals; no line comes from thin air; none is lost unless a side took
it out. Examples are drawn from the seed, and one that breaks a law is made as small as can be before it is told.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from memstore.core.index import merge as merge_index
from memstore.core.merge import merge_bodies, merge_texts
from scripts.proofs.index_checks import INDEX_LAWS
from scripts.proofs.merge_checks import BODY_LAWS, FILE_LAWS
from scripts.proofs.merge_faults import WRONG_BODIES, WRONG_FILES, WRONG_INDEXES
from scripts.proofs.merge_samples import Triple, bodies, files, indexes
from scripts.proofs.outcome import Outcome, Size

NAME = "merge-laws"
CAUGHT = "planted faults caught"
EXAMPLES = {"bodies": "examples of bodies", "files": "examples of files", "index": "examples of index lines"}
LEAST = "examples that the rarest law had to do with"
FLOOR = dict.fromkeys(EXAMPLES.values(), 5_000) | {LEAST: 400, CAUGHT: 9}
FULL = dict.fromkeys(EXAMPLES.values(), 50_000) | {LEAST: 4_000, CAUGHT: 9}

_SHARD = 1_250
_FAULT_EXAMPLES = 2_000

Merge = TypeVar("Merge")
Text = TypeVar("Text")


@dataclass(frozen=True, slots=True)
class Field(Generic[Merge, Text]):
    """A merge, its laws, and the wrong merges that they have to meet."""

    merge: Merge
    samples: Callable[[], st.SearchStrategy[Triple]]
    laws: Sequence[Callable[[Merge, Text, Text, Text], bool]]
    made: Callable[[str], Text]
    faults: dict[str, Merge]


@dataclass(slots=True)
class Examined:
    """What came of some examples: how many, how many each law applied to, and the smallest that broke one."""

    examples: int
    applied: Counter[str]
    broken: str = ""


FIELDS: dict[str, Field[Any, Any]] = {
    # Several laws ask for the same merge.
    "bodies": Field(lru_cache(32)(merge_bodies), bodies, BODY_LAWS, str, WRONG_BODIES),
    "files": Field(lru_cache(32)(merge_texts), files, FILE_LAWS, str.encode, WRONG_FILES),
    "index": Field(merge_index, indexes, INDEX_LAWS, str, WRONG_INDEXES),
}


def run(size: Size, seed: int) -> Outcome:
    """All laws, then the wrong merges."""
    count = (FLOOR if size == "floor" else FULL)[EXAMPLES["bodies"]]
    shards = list(_shards(count, seed))
    counts: Counter[str] = Counter()
    applied: Counter[str] = Counter()
    failures: list[str] = []
    notes: list[str] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for (name, *_), found in zip(shards, pool.map(_examine, *zip(*shards, strict=True)), strict=True):
            counts[EXAMPLES[name]] += found.examples
            applied += found.applied
            failures += [f"{name}: {found.broken}"] if found.broken else []
        planted = [(name, seed, _FAULT_EXAMPLES, fault) for name in FIELDS for fault in FIELDS[name].faults]
        for (name, _, _, fault), found in zip(planted, pool.map(_examine, *zip(*planted, strict=True)), strict=True):
            counts[CAUGHT] += bool(found.broken)
            notes.append(f"{name}, {fault}: {found.broken.split(':')[0] or 'not noticed'}")
    laws = [law.__name__ for name in FIELDS for law in FIELDS[name].laws]
    counts[LEAST] = min(applied[law] for law in laws)
    notes = [", ".join(f"{law} {applied[law]:,}" for law in laws), *notes]
    return Outcome({name: counts[name] for name in (*EXAMPLES.values(), LEAST, CAUGHT)}, failures, notes)


def _shards(count: int, seed: int) -> Iterator[tuple[str, int, int, str]]:
    for name in FIELDS:
        for number in range(-(-count // _SHARD)):
            yield name, seed * 1_000 + number, min(_SHARD, count - number * _SHARD), ""


def _examine(name: str, seed: int, count: int, fault: str) -> Examined:
    return examine(FIELDS[name], seed, count, fault)


def examine(field: Field[Merge, Text], seed: int, count: int, fault: str = "") -> Examined:
    """Holds `count` examples against all laws of a field; the wrong merge of that name instead of the real one."""
    merge = field.faults[fault] if fault else field.merge
    found = Examined(0, Counter())
    smallest: list[str] = []

    def check(triple: Triple) -> None:
        found.examples += 1
        base, ours, theirs = map(field.made, triple)
        for law in field.laws:
            try:
                found.applied[law.__name__] += law(merge, base, ours, theirs)
            except AssertionError as error:
                smallest[:] = [f"{law.__name__}: {triple}: {error}"]
                raise

    draw = settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,) if fault else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    try:
        seeded(seed)(draw(given(field.samples())(check)))()
    except AssertionError:
        found.broken = smallest[0]
    return found
