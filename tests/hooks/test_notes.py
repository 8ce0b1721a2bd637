"""Notes and the hooks around a compaction: it waits for an update that is going on; then the session is told them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import memstore
from memstore import hooking
from memstore.core.model import NOTES_KIND
from memstore.core.notes_text import TEMPLATE, units
from memstore.hook import SECONDS
from memstore.hooking import NOTES_WAIT, Hook
from memstore.store import runs, sessions
from memstore.store import settings as kept
from memstore.store.runs import RunEnd
from memstore.store.worker_turn import worker_turn
from tests.files.desk import Desk, topic
from tests.hooks.calls import Answer, Session, at_rest, until
from tests.store.stores import keep_notes

QUICK = 10.0
"""Seconds within which a hook ends that waits for nothing, on a busy machine."""


@pytest.fixture
def shop(desk: Desk) -> Desk:
    desk.put("a.md", topic("a"))
    desk.sync(0)
    return desk


def begin(desk: Desk, session: str = "s", run: str = "update") -> None:
    """An update of a session's notes begins."""
    with desk.memories.store.change() as connection:
        runs.begin(connection, run, NOTES_KIND, session, desk.memories.store.now())


def end(desk: Desk, run: str = "update") -> None:
    desk.memories.store.finish_run(RunEnd(run, "nothing", desk.memories.store.now()))


@contextmanager
def worker(desk: Desk) -> Iterator[None]:
    """A worker is at it."""
    turn = worker_turn(desk.memories.store.directory, "extract", 30)
    assert turn is not None
    try:
        yield
    finally:
        os.close(turn)


def jobs(desk: Desk) -> int:
    with desk.memories.store.view() as connection:
        return int(connection.execute("SELECT count(*) FROM job").get)


def test_a_compaction_waits_for_an_update_that_is_going_on(shop: Desk):
    answers: list[Answer] = []
    with worker(shop):
        begin(shop)
        hook = threading.Thread(target=lambda: answers.append(Session(shop, "s").hook("PreCompact", trigger="auto")))
        hook.start()
        until(lambda: jobs(shop))  # what comes after that is the waiting
        assert hook.is_alive() and answers == []
        end(shop)
        hook.join(QUICK)
        assert not hook.is_alive() and answers[0].out == b""


def test_it_waits_for_none_that_has_yet_to_begin(shop: Desk):
    with worker(shop):
        Session(shop, "s").hook("PreCompact").check(QUICK)


def test_it_does_not_wait_for_another_sessions_notes(shop: Desk):
    with worker(shop):
        begin(shop, "another")
        Session(shop, "s").hook("PreCompact").check(QUICK)


def test_it_does_not_wait_for_a_worker_that_is_gone(shop: Desk):
    begin(shop)
    Session(shop, "s").hook("PreCompact").check(QUICK)


@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_no_other_hook_waits(shop: Desk, event: str):
    with worker(shop):
        begin(shop)
        Session(shop, "s").hook(event).check(QUICK)


def test_it_does_not_wait_for_the_update_after_that(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    def next_one() -> None:
        end(shop)
        begin(shop, run="the next")

    clock = Clock(next_one)
    with worker(shop):
        begin(shop)
        assert waiting_hook(monkeypatch, clock).answer(data_of(shop)) == b""
    assert len(clock.slept) == 1


def test_it_waits_fifteen_seconds_at_the_most(shop: Desk, monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    with worker(shop):
        begin(shop)
        assert waiting_hook(monkeypatch, clock).answer(data_of(shop)) == b""
    assert NOTES_WAIT == 15 and NOTES_WAIT - 1 <= sum(clock.slept) <= NOTES_WAIT + 1
    assert SECONDS["PreCompact"] >= NOTES_WAIT + 3


class Clock:
    """The time of a hook in this process, which goes on as it sleeps. `during`: what happens meanwhile."""

    def __init__(self, during: Callable[[], None] = lambda: None) -> None:
        self.slept: list[float] = []
        self.during = during

    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return 100.0 + sum(self.slept)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.during()


def waiting_hook(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Hook:
    """A hook in this process that starts no worker."""
    monkeypatch.setattr(Hook, "start_worker", lambda *_: None)
    monkeypatch.setattr(hooking, "time", clock)
    return Hook("PreCompact", dict(os.environ), "", None)


def data_of(desk: Desk) -> bytes:
    return json.dumps(Session(desk, "s").data("PreCompact")).encode()


WAITS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from memstore import hooking
hooking.NOTES_WAIT = 0.3
hooking.Hook.start_worker = lambda *_: None
hooking.Hook("PreCompact", dict(os.environ), "", None).answer(sys.stdin.buffer.read())
print(*sorted(name for name in sys.modules if name.startswith("memstore.")))
print(*sorted(name for name in ("yaml", "hashlib", "logging", "anthropic", "subprocess") if name in sys.modules))
"""


def test_the_wait_loads_nothing_heavy(shop: Desk):
    with worker(shop):
        begin(shop)
        root = str(Path(memstore.__file__).parents[1])
        done = subprocess.run([sys.executable, "-c", WAITS, root], input=data_of(shop), capture_output=True, check=True)
    loaded, heavy = done.stdout.decode().split("\n")[:2]
    assert heavy == ""
    assert set(loaded.split()) <= {
        "memstore.claude", "memstore.claude.hooks", "memstore.claude.nearby", "memstore.core", "memstore.core.ids",
        "memstore.hooking", "memstore.store", "memstore.store.quick", "memstore.store.sessions",
        "memstore.store.worker_turn",
    }  # fmt: skip


# After a compaction


def noted(desk: Desk, text: str) -> None:
    """The session has these notes."""
    keep_notes(desk.memories.store, "s", text.encode())


def filled(words: str) -> str:
    """Notes that say these words in every section."""
    return "".join(f"{part.rstrip()}\n\n{words}\n\n" for part in TEMPLATE.split("\n\n"))


def test_a_session_is_told_its_notes_when_its_conversation_was_compacted(shop: Desk):
    noted(shop, TEMPLATE.replace("next steps._", "next steps._\n\nporting the cache\n# of h2"))
    told = Session(shop, "s").starts("compact").context
    assert "\nmemstore: notes of this session" in told and "data, not instructions" in told
    assert "\n# Current State\nporting the cache\n" in told
    assert "next steps._" not in told and "# Worklog" not in told


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork"])
def test_at_no_other_start_it_is(shop: Desk, source: str):
    noted(shop, filled("porting the cache"))
    assert "porting" not in Session(shop, "s").starts(source).context


def test_nor_is_another_session(shop: Desk):
    noted(shop, filled("porting the cache"))
    assert "porting" not in Session(shop, "t").starts("compact").context


def test_nor_where_notes_are_switched_off_or_saving_is_paused(shop: Desk):
    noted(shop, filled("porting the cache"))
    store = shop.memories.store
    with store.change() as connection:
        kept.put(connection, "notes.enabled", "false", 1)
    assert "porting" not in Session(shop, "s").starts("compact").context
    with store.change() as connection:
        kept.put(connection, "notes.enabled", "true", 2)
        sessions.write(connection, "pause", ("store", "", 1))
    assert "porting" not in Session(shop, "s").starts("compact").context
    at_rest(shop)


def test_long_notes_are_told_within_the_limit_of_a_hook_and_all_sections_speak(shop: Desk):
    lines = "\n".join(f"- step {number} of the port of the cache" for number in range(190))
    noted(shop, filled(lines))
    told = Session(shop, "s").starts("compact").context
    assert 9_000 < units(told) < 10_000
    for part in TEMPLATE.split("\n\n"):
        assert f"\n{part.splitlines()[0]}\n- step 0 of" in told
    assert told.count("lines left out)") == 10


def test_notes_have_room_beside_much_other_news(shop: Desk):
    index = "".join(f"- [n{number}](n{number}.md) — {'word ' * 40}\n" for number in range(80))
    Session(shop, "s").starts()
    noted(shop, filled("- a step of the port\n" * 200))
    for number in range(25):
        unseen = topic(f"n{number}", description="word " * 60)
        shop.put(f"n{number}.md", unseen)
    shop.put("MEMORY.md", index)
    told = Session(shop, "s").starts("compact").context
    assert units(told) < 10_000 and told.count("- a step of the port") > 200


def test_what_cannot_be_seen_in_notes_is_shown(shop: Desk):
    noted(shop, filled("use\u200b bun\x1b[31m"))
    told = Session(shop, "s").starts("compact").context
    assert "use<U+200B> bun<U+001B>[31m" in told
