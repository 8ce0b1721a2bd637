"""Many processes that write at once: what is kept, how much passes, how long the unluckiest waits, who gets how much.

The bare side is the same store without the queue in front of SQLite's lock: its busy timeout alone.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier

from memstore.app import Memstore
from memstore.core.changes import ChangeSet, Revise
from memstore.core.ids import token, uuid7
from memstore.core.model import Provenance
from memstore.store.connection import Link, open_link
from memstore.store.store import DATABASE, Store
from memstore.store.turn import Turn
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Row, fairness, percentile, ratio, value, workplace, world_in
from scripts.benchmarks.writes import Ids, clock, filled, opened

_KEPT = 0.6
_TAIL = 0.2
_FAIR = 0.98
_APPENDERS = 8


class _NoTurn(Turn):
    """Everybody rushes at the lock."""

    def take(self) -> None:
        """Waits for nobody."""

    def give(self) -> None:
        """Calls nobody."""


@dataclass(frozen=True, slots=True)
class _Crowd:
    """What came of one run: the milliseconds of every acknowledged write, by process; and the errors."""

    taken: list[list[float]]
    errors: list[str]
    kept: int
    seconds: float

    @property
    def acknowledged(self) -> int:
        return sum(map(len, self.taken))

    @property
    def rate(self) -> float:
        return self.acknowledged / self.seconds

    @property
    def tail(self) -> float:
        return percentile([one for some in self.taken for one in some] or [float("inf")], 0.99)

    @property
    def fairness(self) -> float:
        return fairness([len(some) for some in self.taken])


def crowds(quick: bool) -> list[Row]:
    """32 processes, and eight."""
    rows = []
    for processes in (8, 32):
        rounds, seconds = (1, 1.5) if quick else (3, 4.0)
        runs: dict[bool, list[_Crowd]] = {True: [], False: []}
        for number in range(rounds):
            for queued in (True, False) if number % 2 else (False, True):
                runs[queued].append(_run(processes, seconds, queued))
        rows += _rows(processes, runs[True], runs[False])
    return rows


def _rows(processes: int, ours: list[_Crowd], bare: list[_Crowd]) -> list[Row]:
    name = f"{processes} processes"
    acknowledged = sum(run.acknowledged for run in ours)
    kept = sum(run.kept for run in ours)
    return [
        Row("crowd", f"{name}: kept", kept, "", acknowledged, "acknowledged", ratio(">=", 1.0)),
        Row("crowd", f"{name}: errors", sum(len(run.errors) for run in ours), "", limit=value("<=", 0)),
        Row(
            "crowd", f"{name}: writes a second", _mean([run.rate for run in ours]), "/s",
            _mean([run.rate for run in bare]), "busy timeout alone", ratio(">=", _KEPT),
        ),
        Row(
            "crowd", f"{name}: p99", _mean([run.tail for run in ours]), "ms",
            _mean([run.tail for run in bare]), "busy timeout alone", ratio("<", _TAIL) if processes == 32 else None,
        ),
        Row(
            "crowd", f"{name}: fairness (Jain)", min(run.fairness for run in ours), "",
            min(run.fairness for run in bare), "busy timeout alone", value(">=", _FAIR),
        ),
    ]  # fmt: skip


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _run(processes: int, seconds: float, queued: bool) -> _Crowd:
    with workplace() as directory:
        ids = Ids()
        store = opened(directory, "store")
        memories = filled(store, Corpus(), processes, ids)
        tokens = [memory.token for memory in map(store.memory, memories) if memory is not None]
        before = store.counts()["versions"]
        store.close()
        spawn = get_context("spawn")
        barrier, results = spawn.Barrier(processes), spawn.SimpleQueue()
        workers = [
            spawn.Process(
                target=_write, args=(store.directory, at, memories[at], tokens[at], seconds, queued, barrier, results)
            )
            for at in range(processes)
        ]
        for worker in workers:
            worker.start()
        found = [results.get() for _ in workers]
        for worker in workers:
            worker.join()
        store = opened(directory, "store")
        kept = store.counts()["versions"] - before
        store.close()
    taken = [some for some, _ in found]
    return _Crowd(taken, [error for _, error in found if error], kept, seconds)


def _write(
    directory: str,
    at: int,
    memory: str,
    expect: str,
    seconds: float,
    queued: bool,
    barrier: Barrier,
    results: object,
) -> None:
    """One process: revises its memory until the time is over, without a pause."""
    path = os.path.join(directory, DATABASE)
    store = Store.open(directory, os.path.basename(directory), clock)
    for module in ("writer", "shown"):  # what a first write loads is not to be timed with it
        import_module(f"memstore.store.{module}")
    if not queued:
        store.close()
        link = open_link(path)
        store = Store(directory, Link(path, link.connection, _NoTurn(directory)), clock)
    corpus = Corpus()
    who = Provenance("agent", f"writer {at}")
    texts = [corpus.text(1_000 * at + n) for n in range(20)]
    taken: list[float] = []
    error = ""
    barrier.wait()
    end = time.monotonic() + seconds
    try:
        for number in count():
            begin = time.perf_counter()
            operation = uuid7(at * 1_000_000 + number, bytes([at, *bytes(9)]))
            text = texts[number % 20] + f"{number}\n".encode()
            store.apply(ChangeSet(operation, "write", clock(), who, (Revise(memory, expect, text),)))
            taken.append((time.perf_counter() - begin) * 1_000)
            expect = token(memory, operation)
            if time.monotonic() >= end:
                break
    except Exception as failure:  # whatever it is, it counts against us
        error = f"{type(failure).__name__}: {failure}"
    results.put((taken, error))  # type: ignore[attr-defined] # a SimpleQueue of a context has no public type
    store.close()


def appenders(quick: bool) -> list[Row]:
    """Eight processes append to one memory through the app, files and all."""
    each = 5 if quick else 50
    with workplace() as directory:
        with Memstore.open(world=world_in(directory)) as app:
            app.append("shared", "The first line.")
        spawn = get_context("spawn")
        barrier, results = spawn.Barrier(_APPENDERS), spawn.SimpleQueue()
        workers = [
            spawn.Process(target=_append, args=(directory, at, each, barrier, results)) for at in range(_APPENDERS)
        ]
        for worker in workers:
            worker.start()
        found = [results.get() for _ in workers]
        for worker in workers:
            worker.join()
        with Memstore.open(world=world_in(directory)) as app:
            text = app.show("shared")[0].state.content
            with open(os.path.join(app.place.placement.directory, "shared.md"), "rb") as file:
                projected = file.read()
    acknowledged = sum(count for count, _, _, _ in found)
    kept = sum(f"writer {at} line {n}\n".encode() in text for at in range(_APPENDERS) for n in range(each))
    seconds = max(end for _, _, end, _ in found) - min(begin for _, begin, _, _ in found)
    return [
        Row("append", "8 writers, one memory, files: kept", kept, "", acknowledged, "acknowledged", ratio(">=", 1.0)),
        Row("append", "8 writers, one memory, files: errors", sum(bool(error) for *_, error in found), "",
            limit=value("<=", 0)),
        Row("append", "8 writers, one memory, files: writes a second", acknowledged / seconds, "/s"),
        Row("append", "the file shows what the store holds", int(projected == text), "", limit=value(">=", 1)),
    ]  # fmt: skip


def _append(directory: str, at: int, each: int, barrier: Barrier, results: object) -> None:
    done, error = 0, ""
    with Memstore.open(world=world_in(directory)) as app:
        barrier.wait()
        begin = time.monotonic()
        try:
            for number in range(each):
                app.append("shared", f"writer {at} line {number}")
                done += 1
        except Exception as failure:  # whatever it is, it counts against us
            error = f"{type(failure).__name__}: {failure}"
        end = time.monotonic()
    results.put((done, begin, end, error))  # type: ignore[attr-defined] # a SimpleQueue of a context has no public type
