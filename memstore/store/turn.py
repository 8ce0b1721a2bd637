"""A fair queue in front of the write lock: door, then room.

SQLite's own lock is what keeps writes safe; a bare busy timeout, though, lets one of many writers starve. A
writer takes the door, then the room, and lets go of the door, so that at most one process waits at the room and
the kernel keeps the rest in order. This is only manners: a writer that cannot lock the files, or that waits in
vain because somebody was stopped while holding one, goes on without.
"""

from __future__ import annotations

import fcntl
import os
import time

PATIENCE = 2.5
"""Seconds in the queue, then SQLite's own wait for its lock begins."""


class Turn:
    """The two lock files of one store. `take` waits; `give` lets the next one in."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._door = self._room = -1
        self._open()

    def take(self) -> None:
        """Waits for this writer's turn, for `PATIENCE` seconds at most."""
        if self._room < 0:
            return
        end = time.monotonic() + PATIENCE
        try:
            if not lock_within(self._door, PATIENCE):
                self._door = -1
                self._reopen()
                return
            try:
                patient = lock_within(self._room, end - time.monotonic())
            finally:
                fcntl.flock(self._door, fcntl.LOCK_UN)
        except OSError:
            self.close()
            return
        if not patient:
            self._room = -1
            self._reopen()

    def give(self) -> None:
        """Lets the next writer in."""
        if self._room >= 0:
            fcntl.flock(self._room, fcntl.LOCK_UN)

    def close(self) -> None:
        """Lets go of both files."""
        for descriptor in (self._door, self._room):
            if descriptor >= 0:
                os.close(descriptor)
        self._door = self._room = -1

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._door = os.open(os.path.join(self._directory, "door"), flags, 0o600)
            self._room = os.open(os.path.join(self._directory, "room"), flags, 0o600)
        except OSError:
            self.close()

    def _reopen(self) -> None:
        self.close()
        self._open()


def lock_within(descriptor: int, seconds: float) -> bool:
    """Locks an open file for this process alone; False where that took longer than `seconds`.

    The descriptor then belongs to the wait that still goes on, which closes it. Raises OSError where the file
    system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Wait(descriptor).within(seconds)
    return True


class _Wait:
    """One wait for a lock. flock has no timeout, and asking again and again would lose the place in the queue."""

    def __init__(self, descriptor: int) -> None:
        from threading import Event, Lock

        self._descriptor = descriptor
        self._deciding = Lock()
        self._done = Event()
        self._given_up = False
        self._error: OSError | None = None

    def within(self, seconds: float) -> bool:
        from threading import Thread

        Thread(target=self._wait, daemon=True).start()
        try:
            self._done.wait(max(seconds, 0))
        finally:
            with self._deciding:
                self._given_up = not self._done.is_set()
        if self._error is not None:
            raise self._error
        return not self._given_up

    def _wait(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except OSError as error:
            self._error = error
        with self._deciding:
            if self._given_up:
                os.close(self._descriptor)
            self._done.set()
