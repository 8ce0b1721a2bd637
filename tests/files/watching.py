"""A watch that runs beside a test, in a thread with a store object of its own."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from memstore.files.freshness import has_news
from memstore.files.report import Noted, SyncReport
from tests.files.desk import Desk

SECONDS = 20.0


def until(true: Callable[[], object], seconds: float = SECONDS) -> float:
    """Waits until something is true, and says for how many seconds."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, "it did not come about"
        time.sleep(0.01)
    return time.monotonic() - begun


def holds(true: Callable[[], object], seconds: float) -> None:
    """Something stays true for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert true()
        time.sleep(0.02)


def rests(desk: Desk, name: str) -> bool:
    """Whether the stamps of a file and of the folder were found old enough to be kept: the last look for now."""
    return not has_news(desk.memories.store, str(desk.folder), [name])


def says(desk: Desk, name: str, words: str) -> bool:
    """Whether the store's text of a memory has these words."""
    return words in desk.text(name)


def silently(path: Path, text: str) -> None:
    """Changes a file, of which the system tells nobody; the text must have the length of the old one."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[:] = text.encode()
        view.flush()


class Watching:
    """`with Watching(desk) as watching:` runs until the end of the block. An error of the watch is raised there."""

    def __init__(self, desk: Desk, interval: float = 600.0) -> None:
        self.reports: list[SyncReport] = []
        self.error: BaseException | None = None
        self.ended = Event()
        self._desk, self._interval = desk, interval
        self._stop = Event()
        self._thread = Thread(target=self._run)

    def _run(self) -> None:
        try:
            from memstore.app import Memstore

            world = replace(self._desk.world(), pause=time.sleep)
            with Memstore.open(world=world) as memories:
                for report in memories.watch(self._stop.is_set, interval=self._interval):
                    self.reports.append(report)
        except BaseException as error:
            self.error = error
        finally:
            self.ended.set()

    def noted(self) -> list[Noted]:
        """All that was taken in so far."""
        return [noted for report in list(self.reports) for noted in report.absorbed]

    def notices(self) -> list[str]:
        """All that was said so far."""
        return [notice for report in list(self.reports) for notice in report.notices]

    def __enter__(self) -> Watching:
        self._thread.start()
        until(lambda: self.reports or self.ended.is_set())
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        if self.error is not None:
            raise self.error
