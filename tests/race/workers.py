"""What the processes of a race do. Each opens the store itself."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier
from pathlib import Path

from memstore.core.changes import Append, Revise
from memstore.core.model import NEW
from memstore.core.plan import OnConflict, Wanted, plan_rename
from memstore.errors import AlreadyExists, NameTaken, StaleVersion
from memstore.store.store import Store
from tests.store.stores import at, create, put, ticking, writer_of


def opened(directory: Path, number: int) -> Store:
    """The store, with a clock of this process's own."""
    return Store.open(str(directory), "01890000-0000-7000-8000-000000000000", ticking(1_000_000 * (number + 1)))


def revise(barrier: Barrier, number: int, directory: Path, rounds: int) -> int:
    """H18 a, on the store: read, change, write with the version that was read; again where it is refused."""
    store = opened(directory, number)
    barrier.wait(60)
    refused = 0
    for n in range(rounds):
        while True:
            head = at(store, "list")
            try:
                put(store, Revise("list", head.token, head.state.content + f"line {number}-{n}\n".encode()))
                break
            except StaleVersion:
                refused += 1
    store.close()
    return refused


def write(barrier: Barrier, number: int, directory: Path, rounds: int, on_conflict: OnConflict) -> list[str]:
    """H18 a and d, as the commands do it: with the token of the last answer, merged or refused."""
    store = opened(directory, number)
    writer = writer_of(store, session=f"s{number}")
    barrier.wait(60)
    seen: list[str] = []
    memory = writer.find("list")
    for n in range(rounds):
        while True:
            body = memory.state.content.decode() + f"line {number}-{n}\n"
            try:
                done = writer.write(
                    "list", Wanted(body=body), expect=memory.token, on_conflict=on_conflict, operation=f"{number}-{n}"
                )
            except StaleVersion:
                memory = writer.find("list")
                continue
            # The text must be the one that the token stands for: the next write goes on from it.
            assert f"line {number}-{n}\n" in done.memory.state.content.decode()
            seen.append(done.memory.token)
            memory = done.memory
            break
    store.close()
    return seen


def append(barrier: Barrier, number: int, directory: Path, rounds: int) -> int:
    """Lines at the end of one memory that nobody has made yet, through the commands' writer."""
    store = opened(directory, number)
    writer = writer_of(store)
    barrier.wait(60)
    for n in range(rounds):
        writer.append("list", f"line {number}-{n}", operation=None, reason="")
    store.close()
    return rounds


def create_one_name(barrier: Barrier, number: int, directory: Path) -> str:
    """All make the same memory: one does, the others are told."""
    store = opened(directory, number)
    writer = writer_of(store)
    barrier.wait(60)
    try:
        writer.write("one", Wanted(body=f"by {number}\n"), expect=NEW, on_conflict="refuse")
        return "made"
    except AlreadyExists as refused:
        assert refused.current
        return "told"
    finally:
        store.close()


def create_twins(barrier: Barrier, number: int, directory: Path) -> tuple[str, str]:
    """All repeat one and the same call."""
    store = opened(directory, number)
    writer = writer_of(store)
    barrier.wait(60)
    done = writer.write("one", Wanted(body="same\n"), expect=NEW, on_conflict="refuse", operation="the-call")
    store.close()
    return done.what, done.memory.token


def open_and_write(barrier: Barrier, number: int, directory: Path) -> int:
    """H19 b and c: a fresh process, a directory without a database or with an older one, one write."""
    barrier.wait(60)
    store = opened(directory, number)
    put(store, create(f"note-{number}", f"words {number}\n"))
    assert store.writable and store.path == str(directory / "store.db")
    schema = store.schema()
    store.close()
    return schema


def crowded(barrier: Barrier, number: int, directory: Path, seconds: float) -> tuple[list[str], float]:
    """Writes of its own for some time. Returns the operations that were acknowledged and the longest wait."""
    store = opened(directory, number)
    put(store, create(f"own-{number}"))
    barrier.wait(60)
    done: list[str] = []
    slowest = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        done.append(put(store, Append(f"own-{number}", b"x")).operation)
        slowest = max(slowest, time.monotonic() - started)
    store.close()
    return done, slowest


def compete_for_names(barrier: Barrier, number: int, directory: Path, rounds: int) -> int:
    """Renames back and forth onto two names that all want."""
    store = opened(directory, number)
    writer = writer_of(store)
    writer.write(f"own-{number}", Wanted(body="x\n"), expect=NEW, on_conflict="refuse")
    barrier.wait(60)
    own = writer.find(f"own-{number}").id
    won = 0
    for n in range(rounds):
        for path in (f"wanted-{n % 2}.md", f"own-{number}.md"):
            head = store.memory(own)
            assert head is not None
            step = plan_rename(head, path, None)
            try:
                won += bool(step and put(store, step).versions)
            except NameTaken:
                continue
    store.close()
    return won


def until_killed(answers: Pipe, directory: Path, number: int, first: int, again: str | None) -> None:
    """Appends numbered lines and tells each acknowledged one. `again`: the call that was cut off is made once more."""
    store = opened(directory, number)
    if again is not None:
        put(store, Append("log", again.encode()), operation=again)
        answers.send(again)
    n = first
    while True:
        call = f"{number}-{n}"
        answers.send(f"? {call}")
        put(store, Append("log", call.encode()), operation=call)
        answers.send(call)
        n += 1
