"""Timing, and the rows of the table."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from memstore.world import World

Step = Callable[[int], object]
"""One thing to be timed; it is told the number of the round."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What must hold: of the measured value itself, or of its ratio to the baseline."""

    of: Literal["measured", "ratio"]
    sense: Literal["<=", "<", ">="]
    value: float

    def holds(self, found: float) -> bool:
        """Whether it does."""
        return {"<=": found <= self.value, "<": found < self.value, ">=": found >= self.value}[self.sense]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `against`: what the baseline is. Without a limit the row only informs."""

    bench: str
    what: str
    measured: float
    unit: str
    baseline: float | None = None
    against: str = ""
    limit: Limit | None = None

    @property
    def ratio(self) -> float | None:
        """Measured over baseline."""
        return self.measured / self.baseline if self.baseline else None

    @property
    def ok(self) -> bool | None:
        """Whether the limit holds; None where there is none."""
        if self.limit is None:
            return None
        found = self.measured if self.limit.of == "measured" else self.ratio
        return found is not None and self.limit.holds(found)


def ratio(sense: Literal["<=", "<", ">="], value: float) -> Limit:
    """A limit of the ratio."""
    return Limit("ratio", sense, value)


def value(sense: Literal["<=", "<", ">="], limit: float) -> Limit:
    """A limit of the measured value, in the row's unit."""
    return Limit("measured", sense, limit)


def interleaved(
    rounds: int, *steps: Step, warm: int = 3, before: Step | None = None, between: Step | None = None
) -> list[list[float]]:
    """The milliseconds of each step in each round. The steps take turns, and who begins changes every round.

    `before`: what is done ahead of each round, `between` ahead of each step; neither is timed.
    """
    taken: list[list[float]] = [[] for _ in steps]
    order = list(range(len(steps)))
    for number in range(-warm, rounds):
        if before is not None:
            before(number)
        for at in order if number % 2 else order[::-1]:
            if between is not None:
                between(number)
            begin = time.perf_counter_ns()
            steps[at](number)
            if number >= 0:
                taken[at].append((time.perf_counter_ns() - begin) / 1e6)
    return taken


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def fairness(counts: Sequence[int]) -> float:
    """Jain's index: 1 where everybody got the same, 1/n where one got everything."""
    squares = sum(count * count for count in counts)
    return sum(counts) ** 2 / (len(counts) * squares) if squares else 0.0


def middle(values: Sequence[float]) -> float:
    """The median."""
    return median(values)


@contextmanager
def workplace() -> Iterator[str]:
    """A directory on disk (not in memory, where fsync costs nothing) that goes afterwards."""
    directory = tempfile.mkdtemp(prefix="memstore-bench-", dir=os.environ.get("MEMSTORE_BENCH_DIR"))
    try:
        yield os.path.realpath(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def world_in(directory: str, name: str = "project") -> World:
    """A person's world whose home, store and project all lie below `directory`."""
    cwd = os.path.join(directory, name)
    os.makedirs(cwd, exist_ok=True)
    environment = {"MEMSTORE_HOME": os.path.join(directory, "home"), "HOME": directory}
    return replace(World.real(cwd), environment=environment, home=directory)
