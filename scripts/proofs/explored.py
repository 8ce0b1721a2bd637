"""All histories of many sets of actors, and the faults that have to be met."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from scripts.proofs.outcome import Outcome

SETS, STATES, ENDS, HISTORIES = "sets of actors", "states", "ends", "histories"
CAUGHT = "planted faults caught"


@dataclass(frozen=True, slots=True)
class Explored:
    """What became of one set of actors. `losses`: what was lost, and a shortest history that leads to it.

    `counted`: ends that are no failure and worth a number.
    """

    states: int
    ends: int
    histories: int
    counted: Counter[str]
    losses: dict[str, str]


def explore_all(
    explore: Callable[[str, str], Explored], sets: Iterable[str], faults: Mapping[str, str], limits: Iterable[str]
) -> Outcome:
    """Explores the sets, two or more at once. `faults`: each with the set that meets it, and that loses nothing
    without it; `limits`: what is counted, in the order of the report."""
    chosen = sorted({*sets, *faults.values()}, key=lambda each: (-len(each), each))
    counts: Counter[str] = Counter()
    failures: list[str] = []
    notes: list[str] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, found in zip(chosen, pool.map(explore, chosen, [""] * len(chosen), chunksize=4), strict=True):
            counts += Counter({SETS: 1, STATES: found.states, ENDS: found.ends, HISTORIES: found.histories})
            counts += found.counted
            failures += [f"{name}: {what}: {way}" for what, way in found.losses.items()]
        for fault, found in zip(faults, pool.map(explore, faults.values(), faults), strict=True):
            counts[CAUGHT] += bool(found.losses)
            notes.append(f"{fault}: {_soonest(found.losses) if found.losses else 'not noticed'}")
    order = (SETS, STATES, ENDS, HISTORIES, *limits, CAUGHT)
    return Outcome({name: counts[name] for name in order}, failures, notes)


def _soonest(losses: dict[str, str]) -> str:
    what, way = min(losses.items(), key=lambda loss: loss[1].count(">"))
    return f"{what} after {way.count('>') + 1} steps: {way}"
