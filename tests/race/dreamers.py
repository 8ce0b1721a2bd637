"""Processes that want a dream to themselves: at one moment, or killed before the step that the test names."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import closing
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from memstore.claude.consolidate_lock import NAME
from memstore.dream_hold import DreamHold
from memstore.errors import LeaseHeld
from memstore.store.store import Store

_FILES = ("os.truncate", "os.utime", "os.remove")
_STATEMENTS = ("BEGIN IMMEDIATE", "COMMIT")


def now() -> int:
    return time.time_ns() // 1_000


def holder(said: Pipe, directory: Path, folder: Path, nth: int) -> None:
    """Takes lease and lock and gives both back; killed before its `nth` transaction, commit or change of the lock."""
    store = Store.open(str(directory), "", now)
    steps = 0

    def step(what: str) -> None:
        nonlocal steps
        steps += 1
        if steps == nth:
            said.send(what)
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(_: object, sql: str, __: object) -> bool:
        if sql in _STATEMENTS:
            step(sql)
        return True

    def file(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILES or (event == "open" and str(arguments[0]).endswith(NAME)):
            step(event)

    store._link.connection.exec_trace = statement
    sys.addaudithook(file)
    with DreamHold(store, [str(folder)], "killed", now):
        step("it dreams")
    said.send("done")


def wants(barrier: Barrier, number: int, directory: Path, folder: Path) -> bool:
    """Whether this one of many gets it; who has it keeps it until all have tried."""
    with closing(Store.open(str(directory), "", now)) as store:
        barrier.wait()
        try:
            with DreamHold(store, [str(folder)], str(number), now):
                barrier.wait()
                return True
        except LeaseHeld:
            barrier.wait()
            return False
