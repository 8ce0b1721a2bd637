"""A worker that ends a run, and is killed before the statement that the test names."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from memstore.core.changes import AddIndexLine, ChangeSet, Revise
from memstore.core.model import Applied
from memstore.core.usage import Usage
from memstore.store import jobs, runs
from memstore.store.connection import many
from memstore.store.runs import Cursor, Event, Outcome, RunEnd, Source
from memstore.store.store import Store
from tests.store.queues import TRANSCRIPT, queue
from tests.store.stores import at, create, open_store, put, who

TABLES = (
    *("operation", "text", "memory", "version", "line", "line_version", "search_document", "job", "run", "run_event"),
    *("cursor", "taken", "source"),
)


def begun(directory: Path) -> None:
    """A store with a memory, and a run of session `s` that is going on while a newer turn of it waits."""
    store = open_store(directory)
    put(store, create("note", "---\nname: note\n---\none\n"), operation="first")
    queue(store, "s", at=10)
    with store.change() as connection:
        job = jobs.claim(connection, "extract", 20)
        assert job is not None
        runs.begin(connection, "run", "extract", "s", 20, job=job.seq, model="a-model", via="api")
    store.close()


def end(store: Store, outcome: Outcome = "saved") -> Applied | None:
    """Ends that run: a memory changed, one new, an index line, five messages read."""
    run_end = RunEnd(
        "run", outcome, 30, "two things were worth it", turns=3, messages=5, unread=1, usage=Usage(1, 2, 3, 4), cost=7,
        events=(Event("denied", "Bash: not in the table", 21), Event("note", "done", 22)),
    )  # fmt: skip
    if outcome == "failed":
        return store.finish_run(run_end)
    changes = (Revise("note", at(store, "note").token, b"---\nname: note\n---\ntwo\n"), create("new", "words\n"))
    lines = (AddIndexLine("line", "pointer", "- [new](new.md)", "new", None),)
    change_set = ChangeSet("saves", "extract", 30, who(), changes, lines, derived=(("new", "tool"),))
    cursor = Cursor("extract", "s", TRANSCRIPT.format("s"), "m5", 500, b"\x01" * 32)
    taken = [bytes([number] * 8) for number in range(5)]
    return store.finish_run(run_end, change_set, cursor, taken, (Source("note", "m1"), Source("new", "m4")))


def dump(directory: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that stands in the tables that the end of a run writes."""
    store = open_store(directory)
    try:
        with store.view() as connection:
            return {table: many(connection, f'SELECT * FROM "{table}"') for table in TABLES}
    finally:
        store.close()


def die_before(store: Store, nth: int, at_death: Callable[[], object]) -> None:
    """As a power cut would have it: nothing is tidied up."""
    count = 0

    def before(*_: object) -> bool:
        nonlocal count
        count += 1
        if count == nth:
            at_death()
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    store._link.connection.exec_trace = before


def worker(said: Pipe, directory: Path, nth: int, outcome: Outcome) -> None:
    """Ends the run, and is killed before its `nth` statement, of which it tells."""
    store = open_store(directory)
    die_before(store, nth, lambda: said.send("killed"))
    end(store, outcome)
    said.send("acknowledged")
    os.kill(os.getpid(), signal.SIGKILL)
