"""A fair queue in front of the write lock: door, then room.

SQLite's own lock is what keeps writes safe; a bare busy timeout, though, lets one of many writers starve. A
writer takes the door, then the room, and lets go of the door, so that at most one process waits at the room and
the kernel keeps the rest in order. This is only manners: a writer that cannot lock the files, or that waits in
vain because somebody was stopped while holding one, goes on without.
"""

from __future__ import annotations

import fcntl
import os

PATIENCE = 2.5
"""Seconds in the queue, then SQLite's own wait for its lock begins."""


class Turn:
    """The two lock files of one store. `take` waits; `give` lets the next one in."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._door = self._room = -1
        self._waiter: _Waiter | None = None
        self._open()

    def take(self) -> None:
        """Waits for this writer's turn, for `PATIENCE` seconds at most."""
        if self._room < 0:
            return
        try:
            if _locked(self._door) and _locked(self._room):
                fcntl.flock(self._door, fcntl.LOCK_UN)
            else:
                self._wait()
        except (OSError, RuntimeError):  # no locks, or no thread
            self.close()

    def _wait(self) -> None:
        waiter = self._waiter = self._waiter or _Waiter(self._door, self._room)
        try:
            waiter.within(PATIENCE)
        finally:
            if waiter.left_behind:
                self._door = self._room = -1
                self._waiter = None
                self._open()

    def give(self) -> None:
        """Lets the next writer in."""
        if self._room >= 0:
            try:
                fcntl.flock(self._room, fcntl.LOCK_UN)
            except OSError:  # what was committed stays committed; closing the file gives the turn as well
                self.close()

    def close(self) -> None:
        """Lets go of both files."""
        if self._waiter is not None:
            self._waiter.dismiss()
            self._waiter = None
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


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class _Waiter:
    """The thread that stands in the queue for a process.

    flock has no timeout, and asking again and again would lose the place in the queue. It stays for the next wait:
    where many processes write, a thread for each wait costs as much as the write.
    """

    def __init__(self, door: int, room: int) -> None:
        from threading import Lock, Thread

        self._door, self._room = door, room
        self._asked, self._done, self._deciding = Lock(), Lock(), Lock()
        self._asked.acquire()
        self._done.acquire()
        self._ready = self._given_up = self._dismissed = False
        self._error: OSError | None = None
        Thread(target=self._stand, daemon=True).start()

    @property
    def left_behind(self) -> bool:
        """Whether the wait was given up and still goes on: thread and descriptors are no longer the caller's."""
        return self._given_up

    def within(self, seconds: float) -> None:
        """Waits for our turn, so many seconds at most."""
        self._ready = False
        self._asked.release()
        told = False
        try:
            told = self._done.acquire(timeout=seconds)
        finally:
            with self._deciding:
                self._given_up = not self._ready
            if self._given_up:
                fcntl.flock(self._door, fcntl.LOCK_UN)
            elif not told:
                self._done.acquire()
        if self._error is not None:
            raise self._error

    def dismiss(self) -> None:
        """Ends the thread, which must not be waiting."""
        self._dismissed = True
        self._asked.release()

    def _stand(self) -> None:
        while True:
            self._asked.acquire()
            if self._dismissed:
                return
            try:
                fcntl.flock(self._door, fcntl.LOCK_EX)
                if not self._given_up:
                    fcntl.flock(self._room, fcntl.LOCK_EX)
                    fcntl.flock(self._door, fcntl.LOCK_UN)
            except OSError as error:
                self._error = error
            with self._deciding:
                if self._given_up:
                    os.close(self._door)
                    os.close(self._room)
                    return
                self._ready = True
            self._done.release()


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
