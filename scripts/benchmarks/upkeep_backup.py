"""A backup of a large store, and what another process that writes meanwhile notices of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from memstore.store import backup
from memstore.store.store import Store
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Row, middle, percentile, ratio, value, workplace
from scripts.benchmarks.writes import Ids, clock, filled, opened

_LIMIT = 5_000.0
_SLOWER = 3.0

_WRITER = """
import os, sys, time
from memstore.core.changes import ChangeSet, Create
from memstore.core.model import SHELF, Provenance
from memstore.store.store import Store

directory, end = sys.argv[1:]
store = Store.open(directory, os.path.basename(directory), lambda: time.time_ns() // 1_000)
number, who = time.time_ns(), Provenance("agent", "bench")
print("ready", flush=True)
while not os.path.exists(end):
    number += 1
    name = f"meanwhile-{number}"
    change = ChangeSet(name, "write", store.now(), who, (Create(name, SHELF, f"{name}.md", b"words"),), real=False)
    begun = time.perf_counter_ns()
    store.apply(change)
    print((time.perf_counter_ns() - begun) / 1e6, flush=True)
    time.sleep(0.01)
"""


def backups(quick: bool) -> list[Row]:
    """The copy with all that it is compared by, beside SQLite's backup API bare; a writer with and without it."""
    memories, rounds = (2_000, 2) if quick else (100_000, 3)
    with workplace() as directory:
        store = opened(directory, "store")
        with store.view() as connection:
            connection.execute("ROLLBACK; PRAGMA synchronous = OFF; BEGIN")  # only to fill it
        filled(store, Corpus(), memories, Ids())
        store.close()
        store = Store.open(os.path.join(directory, "store"), "store", clock)
        size = os.path.getsize(store.path)
        taken, bare = [], []
        for number in range(rounds):
            target = os.path.join(directory, f"copy-{number}.db")
            begun = time.perf_counter()
            with store.view() as connection:
                backup.copy(connection, target)
            taken.append((time.perf_counter() - begun) * 1_000)
            os.unlink(target)
            bare.append(_bare(store.path, target))
        alone = _writer(directory, lambda: time.sleep(middle(taken) / 1_000))

        def once() -> None:
            with store.view() as connection:
                backup.copy(connection, os.path.join(directory, "last.db"))

        beside = _writer(directory, once)
        store.close()
    return [
        Row(
            "backup", f"{memories:,} memories", middle(taken), "ms", middle(bare), "the API bare", value("<=", _LIMIT)
        ),
        Row("backup", "... database", size / 1e6, "MB"),
        Row(
            "backup", "a write of another process meanwhile, 95th percentile", percentile(beside, 0.95), "ms",
            percentile(alone, 0.95), "without", None if quick else ratio("<=", _SLOWER),
        ),
        Row("backup", "... the slowest of them", max(beside), "ms", max(alone), "without"),
    ]  # fmt: skip


def _bare(path: str, target: str) -> float:
    begun = time.perf_counter()
    source, made = apsw.Connection(path), apsw.Connection(target)
    made.execute("PRAGMA synchronous = OFF")
    with made.backup("main", source, "main") as copying:
        while not copying.done:
            copying.step(512)
    made.close()
    source.close()
    taken = (time.perf_counter() - begun) * 1_000
    os.unlink(target)
    return taken


def _writer(directory: str, meanwhile: Callable[[], object]) -> list[float]:
    """The milliseconds of each write that another process does while something goes on here."""
    end = Path(directory, "end")
    end.unlink(missing_ok=True)
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, os.path.join(directory, "store"), str(end)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        meanwhile()
        end.touch()
        return [float(line) for line in process.stdout.read().split()]
