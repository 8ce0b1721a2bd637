"""A fair queue in front of the write lock: door, then room.

SQLite's own lock is what keeps writes safe; a bare busy timeout, though, lets one of many writers starve. A
writer takes the door, then the room, and lets go of the door, so that at most one process waits at the room and
the kernel keeps the rest in order. A writer that cannot lock the files goes on without: this is only manners.
"""

from __future__ import annotations

import fcntl
import os


class Turn:
    """The two lock files of one store. `take` waits; `give` lets the next one in."""

    def __init__(self, directory: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._door = self._room = -1
        try:
            self._door = os.open(os.path.join(directory, "door"), flags, 0o600)
            self._room = os.open(os.path.join(directory, "room"), flags, 0o600)
        except OSError:
            self.close()

    def take(self) -> None:
        """Waits for this writer's turn."""
        if self._room < 0:
            return
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX)
            try:
                fcntl.flock(self._room, fcntl.LOCK_EX)
            finally:
                fcntl.flock(self._door, fcntl.LOCK_UN)
        except OSError:
            self.close()

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
