"""Many processes at once: each starts fresh, waits for the others, and tells what it did.

They come from a fork server that has opened no store, so a round costs milliseconds and no process inherits a
connection.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier
from typing import Any

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "tests.race.workers",
        "tests.race.tool_workers",
        "tests.race.extraction_workers",
        "tests.race.log_workers",
        "tests.race.dreamers",
        "tests.race.restorers",
    ]
)
SECONDS = 60


def crowd(count: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What `work(barrier, number, *arguments)` returned in each of `count` processes. All of them must return."""
    barrier = CONTEXT.Barrier(count)
    pairs = [CONTEXT.Pipe(duplex=False) for _ in range(count)]
    processes = [
        CONTEXT.Process(target=_run, args=(there, barrier, work, number, arguments))
        for number, (_, there) in enumerate(pairs)
    ]
    for process in processes:
        process.start()
    for _, there in pairs:
        there.close()
    told = [here.recv() if here.poll(SECONDS) else (False, "no answer") for here, _ in pairs]
    for process in processes:
        process.join(SECONDS)
    # Whoever fails breaks the barrier for all others: the cause stands first.
    failures = sorted((what for good, what in told if not good), key=lambda what: "BrokenBarrierError" in what)
    assert not failures, f"{len(failures)} of {count} failed:\n" + "\n".join(failures[:3])
    return [what for _, what in told]


def _run(there: Pipe, barrier: Barrier, work: Callable[..., Any], number: int, arguments: tuple[Any, ...]) -> None:
    try:
        there.send((True, work(barrier, number, *arguments)))
    except BaseException:
        barrier.abort()  # nobody waits for one who will not come
        there.send((False, traceback.format_exc()))
