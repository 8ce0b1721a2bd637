"""What a watcher costs while nothing happens, and how soon an edit is in the store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from memstore.app import Memstore
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.folders import SETTLED, shown_in
from scripts.benchmarks.measure import Row, middle, percentile, value, workplace, world_in
from scripts.benchmarks.starting import environment_of

_SHARE = 0.5
_LATENCY_MS = 500
_PATIENCE = 30.0


def watches(quick: bool) -> list[Row]:
    """`memstore watch` as a process, over 2,000 files; its processor time as the kernel counts it."""
    seconds, edits = (12, 10) if quick else (60, 60)
    files = 2_000
    with workplace() as directory:
        world = world_in(directory)
        with Memstore.open(world=world) as app:
            folder = shown_in(app, Corpus(), files)
            world.pause(SETTLED)
            app.sync()
            process = subprocess.Popen(
                [sys.executable, "-m", "memstore", "watch"], cwd=world.cwd, env=environment_of(world.environment),
                stdout=subprocess.PIPE,
            )  # fmt: skip
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith(b"watching "), "it did not start"
                world.pause(2 * SETTLED)  # its first looks are over
                share = _share_of_a_core(process.pid, seconds)
                latencies = [_edit(app, os.path.join(folder, "MEMORY.md"), number) for number in range(edits)]
            finally:
                process.terminate()
                process.communicate()
    return [
        Row("watch", f"idle, {files:,} files: share of a core", share, "%", limit=value("<", _SHARE)),
        Row("watch", "an edit until it is in the store, p50", middle(latencies), "ms", limit=value("<", _LATENCY_MS)),
        Row("watch", "the same, the slowest", percentile(latencies, 1.0), "ms"),
    ]


def _share_of_a_core(pid: int, seconds: float) -> float:
    begun, used = time.monotonic(), _used(pid)
    time.sleep(seconds)
    return 100 * (_used(pid) - used) / (time.monotonic() - begun)


def _used(pid: int) -> float:
    """Seconds of processor time of all threads, to the nanosecond."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def _edit(app: Memstore, index: str, number: int) -> float:
    """Milliseconds from the end of a save to the line's being in the store."""
    line, before = f"what edit {number} added", _last(app)
    with open(index, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    begun = time.monotonic()
    _until(lambda: _last(app) > before)
    taken = time.monotonic() - begun
    assert any(row.text == line for row in app.store.index())
    time.sleep(0.05 + 0.01 * (number % 30))  # not in step with the watcher
    return 1_000 * taken


def _last(app: Memstore) -> int:
    return app.store.operations(limit=1)[0][0].seq


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not true():
        assert time.monotonic() < end, "the edit was not taken in"
        time.sleep(0.002)
