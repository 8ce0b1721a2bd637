"""What the processes of a race around a restore do."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection as Pipe

from memstore.core.changes import Append
from memstore.errors import NotFound, StoreUnavailable
from memstore.store.store import Store
from memstore.upkeep import restoring
from memstore.world import World
from tests.store.stores import put


def append_until_told(answers: Pipe, directory: str, number: int) -> None:
    """Appends to a memory that every backup has, and tells each operation that was acknowledged."""
    from time import time_ns

    store = Store.open(directory, os.path.basename(directory), lambda: time_ns() // 1_000)
    n = 0
    while not answers.poll():
        n += 1
        operation = f"{number}-{n}"
        try:
            put(store, Append("log", f"{operation}\n".encode()), operation=operation)
        except (NotFound, StoreUnavailable):
            continue  # nothing was written, and nothing was acknowledged
        answers.send(operation)
    store.close()
    answers.send(None)


def restore(answers: Pipe, cwd: str, environment: dict[str, str], source: str) -> None:
    """Restores a backup, and is killed somewhere in it."""
    os.environ.update(environment)
    world = World.real(cwd)
    planned = restoring.plan(world, source, source)
    answers.send("begun")
    restoring.restore(world, planned)
