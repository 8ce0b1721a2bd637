"""Whatever becomes of the workers of the extraction, each fact is kept once, and the cursor agrees with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.extracting import Worker
from memstore.store import runs, sessions
from memstore.store.connection import many
from tests.files.desk import Desk
from tests.messages_api import Answer, Asked, Server, running
from tests.race import extraction_workers
from tests.race.crowd import CONTEXT
from tests.race.extraction_workers import fact, model
from tests.store.stores import check_witness
from tests.talks import Talk

STEP = 1 if os.environ.get("MEMSTORE_PROVE") else 5
"""The end of a run is also tried change by change, in `tests/store/test_runs.py`."""

LATER = 3 * 60 * 60
"""Seconds after which every job is due again."""


@pytest.fixture
def asked() -> list[Asked]:
    return []


@pytest.fixture
def shop(tmp_path: Path, asked: list[Asked]) -> Iterator[Desk]:
    def answer(question: Asked) -> Answer:
        asked.append(question)
        return model(question)

    with running(Server(answer)) as api:
        made = Desk(tmp_path, variables={"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": api.url})
        made.folder.mkdir(parents=True)
        made.sync()
        yield made
        made.close()


def turn(shop: Desk, session: str, name: str) -> Talk:
    """A person says something in a new session, and the turn ends."""
    talk = Talk(session)
    talk.person(fact(name))
    now = shop.world().clock()
    values = (f"Stop {session} {now}", session, str(talk.path), str(shop.base / shop.root), "Stop", now)
    with shop.memories.store.change() as connection:
        sessions.write(connection, "job", values)
    return talk


def drained(shop: Desk, nth: int) -> str:
    """What a worker that is killed before its nth change told last."""
    here, there = CONTEXT.Pipe(duplex=False)
    place, world = shop.memories.place.home.path, shop.world()
    given = (there, place, shop.memories.store.id, dict(world.environment), world.clock(), nth)
    process = CONTEXT.Process(target=extraction_workers.killed, args=given)
    process.start()
    there.close()
    told = str(here.recv())
    process.join()
    assert process.exitcode == -signal.SIGKILL
    return told


def test_a_worker_that_is_killed_anywhere_leaves_memory_and_cursor_in_step(
    shop: Desk, asked: list[Asked], tmp_path: Path
):
    nth, rounds, told = 1 - STEP, 0, "killed"
    while told == "killed":
        nth, rounds = nth + STEP, rounds + 1
        session, name = f"s{nth}", f"n{nth}"
        talk = turn(shop, session, name)
        told = drained(shop, nth)
        with shop.memories.store.view() as connection:
            cursor = runs.cursor(connection, "extract", session)
            state = many(connection, "SELECT state FROM job WHERE session = ?", (session,))
        kept = shop.head(f"fact_{name}") is not None
        assert kept == (cursor is not None) == (state == [("done",)]), f"killed at change {nth}"
        before = len(asked)
        for _ in range(2):  # the first one finds that the killed one is gone, and gives the job its next try
            shop.ahead += LATER
            Worker(shop.memories.store, shop.world(), shop.memories.place.home.path).drain()
        shop.memories.sync()
        assert len(asked) - before == (0 if kept else 2), f"killed at change {nth}"
        assert shop.number(f"fact_{name}") == 1
        assert f"Fact {name}." in shop.read(f"fact_{name}.md")
        assert shop.read("MEMORY.md").count(f"(fact_{name}.md)") == 1
        with shop.memories.store.view() as connection:
            cursor = runs.cursor(connection, "extract", session)
            assert many(connection, "SELECT count(*) FROM run WHERE operation IS NOT NULL") == [(rounds,)]
        assert cursor is not None and cursor.offset == talk.size
    assert nth > 50
    assert shop.memories.sync().quiet
    directory = Path(shop.memories.store.directory)
    shop.close()
    check_witness(directory, tmp_path / "copy")
