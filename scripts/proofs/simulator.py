"""Many small histories by chance, over the real sync, folder, store and writers: no line that anybody typed is lost.

A seed decides who takes part, who acts at which of the program's system calls, and who dies there; the same seed
gives the same run (`scripts/prove simulator --seed N` begins at N). The file system, the clock and the processes are
simulated; the program's own code runs on them, from `Sync` down to the order of its system calls. Actors: editors that
save by rename, in place, after a backup, from old buffers; agents with and without hooks, each with the base it had;
tools that write into the store; hands that delete, rename, and sweep the folder away; a second process.

At the end everything has to be at rest within a few syncs, and the next changes no byte. Then each line stands in a
head, in the index, in a conflict's other side or a text set aside, unless somebody who had it took it out; files say
what heads say, and nothing temporary is left. Only these limits may lose a line; each is counted:

- inside a client's window, or another editor's, a save reaches nobody;
- an old buffer over newer saves cannot be told from an undo: the newer lines are in the history only. So are lines of
  a projection where the buffer changed the very line that is newer, or where two old buffers in a row lacked it;
- what nobody had taken in yet goes with a folder that is swept away; a line of the index goes with its topic, also
  where the topic's file was renamed and half of its lines were new before anybody looked;
- where no system call tells that somebody has a file open, what is written into a file that was let go reaches nobody.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context

from scripts.proofs.outcome import Outcome, Size
from scripts.proofs.simulator_actors import WAYS, cast
from scripts.proofs.simulator_end import end
from scripts.proofs.simulator_faults import FAULTS
from scripts.proofs.simulator_sessions import WAYS as SESSIONS
from scripts.proofs.simulator_world import Fault, Simulation

NAME = "simulator"
SEEDS, STEPS, SYNCS, DEATHS, CAUGHT = "seeds", "steps", "operations", "deaths", "planted faults caught"
FLOOR = {SEEDS: 2_000, STEPS: 500_000, DEATHS: 500, CAUGHT: len(FAULTS)}
FULL = {SEEDS: 20_000, STEPS: 5_000_000, DEATHS: 5_000, CAUGHT: len(FAULTS)}

LIMITS = {
    "editor": "lines lost inside another editor's window",
    "client": "lines lost inside a client's window",
    "old": "lines in the history only: an old buffer over newer saves",
    "same": "lines in the history only: an old buffer that changed the same line",
    "insisted": "lines in the history only: two old buffers in a row",
    "swept": "lines lost with a folder that was swept away",
    "topic": "lines of the index that went with their topic",
    "unseen": "lines lost where no open file can be told",
}

_CHUNK = 25
_TRIES = 4_000
"""Seeds within which a planted fault has to be noticed."""

_TOLD = 40
_RAM = "/dev/shm"


@dataclass(slots=True)
class Ran:
    """What became of some seeds. `failures`: each seed's, with the steps that led there."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def run(size: Size, seed: int) -> Outcome:
    """Runs all seeds from this one on, then each planted fault until it is noticed."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    notes: list[str] = []
    last = seed + (FLOOR if size == "floor" else FULL)[SEEDS]
    with _workers() as pool:
        for ran in pool.map(run_seeds, [range(at, min(last, at + _CHUNK)) for at in range(seed, last, _CHUNK)]):
            counts += ran.counts
            failures += ran.failures
        for fault, caught in zip(FAULTS, pool.map(catch, FAULTS, [seed] * len(FAULTS)), strict=True):
            counts[CAUGHT] += bool(caught)
            notes.append(f"{fault}: {caught or 'not noticed'}")
    order = (SEEDS, STEPS, SYNCS, DEATHS, *LIMITS.values(), CAUGHT)
    return Outcome({name: counts[name] for name in order}, failures, notes)


@contextmanager
def _workers() -> Iterator[ProcessPoolExecutor]:
    """Fresh processes in which sets of strings have the same order each time, so that a seed is the same run."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            yield pool
    finally:
        del os.environ["PYTHONHASHSEED"]
        if before is not None:
            os.environ["PYTHONHASHSEED"] = before


def run_seeds(seeds: range) -> Ran:
    """Some seeds, one after another."""
    ran = Ran()
    with _base() as base:
        for seed in seeds:
            sim, limits = simulate(seed, base)
            ran.counts += Counter({SEEDS: 1, STEPS: sim.steps, SYNCS: sim.operations, DEATHS: sim.deaths})
            ran.counts += Counter({LIMITS[limit]: count for limit, count in limits.items()})
            if sim.failures:
                ran.failures.append(f"seed {seed}: {'; '.join(sim.failures[:3])}: {' > '.join(sim.trace[-_TOLD:])}")
    return ran


def catch(fault: str, seed: int, tries: int = _TRIES) -> str:
    """How a planted fault shows itself, in a seed in which nothing fails without it."""
    with _base() as base:
        for at in range(seed, seed + tries):
            sim, _ = simulate(at, base, FAULTS[fault])
            if sim.failures and not simulate(at, base)[0].failures:
                return f"seed {at}: {sim.failures[0]}"
    return ""


def simulate(seed: int, base: str, fault: Fault | None = None) -> tuple[Simulation, Counter[str]]:
    """One run, and what only the limits have lost in it."""
    sim = Simulation(seed, base, fault or Fault())
    limits: Counter[str] = Counter()
    try:
        cast(sim, {**WAYS, **SESSIONS})
        sim.run()
        limits = end(sim)
    except Exception:
        sim.fail(traceback.format_exc())
    finally:
        sim.close()
    return sim, limits


@contextmanager
def _base() -> Iterator[str]:
    """A directory for stores: in memory, where there is such a place."""
    with tempfile.TemporaryDirectory(dir=_RAM if os.access(_RAM, os.W_OK) else None) as base:
        yield base
