"""Which processes read a database just now: what the kernel's list of locks tells of its shared memory.

A reader holds one of five bytes of the `-shm` file for as long as its view lasts, and as long as it does the log beside
the database cannot begin again. Only Linux has the list; elsewhere nobody is named.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

LOCKS = "/proc/locks"

_MARKS = range(123, 128)
"""The bytes of SQLite's wal-index that readers lock."""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock on a part of a file. `last` None: to its end."""

    pid: int
    device: tuple[int, int]
    inode: int
    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, and the name of its program."""

    pid: int
    program: str


def parsed(text: str) -> list[Lock]:
    """The locks that are held; those that are waited for, and lines of another form, are left out."""
    found = []
    for line in text.split("\n"):
        fields = line.split()
        if len(fields) != 8 or fields[1] not in ("POSIX", "OFDLCK"):
            continue
        try:
            major, minor, inode = fields[5].split(":")
            device = (int(major, 16), int(minor, 16))
            last = None if fields[7] == "EOF" else int(fields[7])
            found.append(Lock(int(fields[4]), device, int(inode), int(fields[6]), last))
        except ValueError:
            continue
    return found


def readers(path: str) -> list[Holder]:
    """The processes, this one apart, that have a view of the database at `path` open now."""
    try:
        shared = os.stat(path + "-shm")
        with open(LOCKS, encoding="ascii", errors="replace") as file:
            locks = parsed(file.read())
    except OSError:
        return []
    device = (os.major(shared.st_dev), os.minor(shared.st_dev))
    # A file system without a block device may tell another number here than there.
    mine = [lock for lock in locks if lock.inode == shared.st_ino and (lock.device == device or not device[0])]
    pids = sorted({lock.pid for lock in mine if _is_a_mark(lock)} - {os.getpid()})
    return [Holder(pid, _program(pid)) for pid in pids if pid > 0]


def _is_a_mark(lock: Lock) -> bool:
    return lock.first <= _MARKS[-1] and (lock.last is None or lock.last >= _MARKS[0])


def _program(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read(64).strip()
    except OSError:
        return ""
