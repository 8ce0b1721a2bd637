"""What processes do that keep entries of the daily log. Each opens the memories itself."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier

from memstore.app import Memstore
from memstore.files import daylog
from tests.store.killed import die_before

LINES = "{0} begins\n### {0} has a heading\n- 00:00 +00:00 {0} ends"


def keep(barrier: Barrier, number: int, repo: str, environment: dict[str, str], rounds: int) -> int:
    """H37 d: entries of three lines, one of which looks like a heading and one like another entry."""
    os.environ.update(environment)  # a fork server has that of the test that came first
    unshown = 0
    with Memstore.open(repo) as memories:
        barrier.wait(60)
        for n in range(rounds):
            unshown += bool(memories.note(LINES.format(f"{number}-{n}")).unshown)
    return unshown


def note_and_die(said: Pipe, repo: str, environment: dict[str, str], text: str, statement: int, at: str) -> None:
    """Keeps an entry, and is killed before a statement of the database, or around the write of the file."""
    os.environ.update(environment)
    with Memstore.open(repo) as memories:
        if statement:
            die_before(memories.store, statement, lambda: None)
        else:
            _die_at_the_file(at)
        memories.note(text)
        said.send("acknowledged")
        os.kill(os.getpid(), signal.SIGKILL)


def _die_at_the_file(at: str) -> None:
    write = daylog._write

    def dying(handle: int, text: bytes, *, whole: bool) -> None:
        if at == "half":
            write(handle, text[: len(text) // 2], whole=whole)
        elif at == "after":
            write(handle, text, whole=whole)
        os.kill(os.getpid(), signal.SIGKILL)

    daylog._write = dying
