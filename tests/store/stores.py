"""Stores for tests: a clock that ticks, ids that count, and the shapes that tests compare."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from secrets import token_hex

from memstore.core.changes import Change, ChangeSet, Create, LineChange, Revise
from memstore.core.model import NOTES, NOTES_KIND, SHELF, Applied, Memory, Origin, Provenance
from memstore.store import runs
from memstore.store.runs import RunEnd
from memstore.store.store import Store
from memstore.world import World
from memstore.writing import Writer

STORE = "01890000-0000-7000-8000-000000000000"


def ticking(start: int = 1_000_000) -> Callable[[], int]:
    """A clock in microseconds that never stands still."""
    return count(start).__next__


def open_store(directory: Path, *, writable: bool = True) -> Store:
    """The store of a test."""
    return Store.open(str(directory), STORE, ticking(), writable=writable)


def world_of(directory: Path, start: int = 1_000_000) -> World:
    """A world with a clock that ticks and random bytes that are random."""
    from os import urandom

    return World({}, str(directory), str(directory), ticking(start), urandom, False)


def writer_of(store: Store, origin: Origin = "agent", *, session: str | None = None) -> Writer:
    """Writes as one actor."""
    world = world_of(Path(store.directory), store.now())
    return Writer(store, world, Provenance(origin, "tester", session), SHELF)


def who(origin: Origin = "agent") -> Provenance:
    """Somebody."""
    return Provenance(origin, "tester")


def put(
    store: Store,
    *changes: Change,
    operation: str | None = None,
    origin: Origin = "agent",
    lines: tuple[LineChange, ...] = (),
    real: bool = True,
    request: str = "",
) -> Applied:
    """One operation with these changes. Without an id it gets a fresh one."""
    identity = operation or token_hex(16)
    return store.apply(
        ChangeSet(identity, "test", store.now(), who(origin), changes, lines, real=real, request=request)
    )


def create(name: str, text: str | bytes = "", **options: object) -> Create:
    """A new memory whose id is its name."""
    content = text.encode() if isinstance(text, str) else text
    return Create(name, SHELF, f"{name}.md", content, **options)  # type: ignore[arg-type]  # a test's shorthand


def keep_notes(store: Store, session: str, text: bytes, *, worktree: str = "/srv/shop") -> None:
    """A run keeps the notes of a session."""
    found = store.at(NOTES, f"{session}.md")
    identity = token_hex(8)
    step: Change = Create(f"notes of {session}", NOTES, f"{session}.md", text, listing="unlisted")
    if found is not None:
        step = Revise(found.id, found.token, text)
    with store.change() as connection:
        runs.begin(connection, identity, NOTES_KIND, session, store.now())
    by = Provenance("agent", "tester", session, worktree, "main")
    change_set = ChangeSet(identity, NOTES_KIND, store.now(), by, (step,), real=False)
    store.finish_run(RunEnd(identity, "saved", store.now()), change_set)


def at(store: Store, name: str) -> Memory:
    """The memory at `name`.md, which is there."""
    found = store.at(SHELF, f"{name}.md")
    assert found is not None
    return found


def index_of(store: Store) -> list[tuple[str, str, str | None, str, str]]:
    """All that the index's lines say, in order."""
    return [(line.text, line.kind, line.memory, line.rank, line.hook_by) for line in store.index()]


def check_witness(directory: Path, copy: Path) -> None:
    """Another SQLite, in another process, finds a closed store sound: run on a copy."""
    copy.mkdir()
    for path in directory.glob("store.db*"):
        (copy / path.name).write_bytes(path.read_bytes())
    done = subprocess.run([sys.executable, "-c", _WITNESS, copy / "store.db"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "sound\n"), done.stdout + done.stderr


_WITNESS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
connection.execute("INSERT INTO search_index (search_index, rank) VALUES ('integrity-check', 1)")
numbers = "SELECT memory, count(*), max(number), min(number) FROM version GROUP BY memory"
assert all(count == last and first == 1 for _, count, last, first in connection.execute(numbers))
heads = ("SELECT count(*) FROM memory m JOIN version v ON v.memory = m.pk AND v.number = m.version"
         " WHERE (v.token, v.text, v.path, v.state, v.pinned) IS NOT (m.token, m.text, m.path, m.state, m.pinned)")
assert connection.execute(heads).fetchone() == (0,)
print("sound")
"""
