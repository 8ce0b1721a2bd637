"""From a held directory to one file below it, following no link on the way; reading what is found there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from memstore import errors
from memstore.core.model import LARGEST
from memstore.files import exchange
from memstore.files.freshness import stamp_of as stamp_of

SETTLE = 1_000_000_000
"""Nanoseconds without a change after which a file counts as whole where the system cannot tell."""

_RACY = 2_000_000_000
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not wait for somebody to write into it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file's bytes. `settled`: nobody was writing it, so that they are whole. `mode`: permission bits."""

    content: bytes
    stamp: str
    settled: bool
    mode: int


@dataclass(frozen=True, slots=True)
class Strange:
    """Something that is not a readable memory file. It is left alone; `reason` is for a person."""

    reason: str


def is_racy(stamp: str, taken: int) -> bool:
    """Whether a file may have changed since without a new stamp, where clocks tick coarsely.

    True when the file last changed within two seconds of `taken`, the unix time in nanoseconds at which the
    stamp was taken, or after it. Such a stamp does not prove that a file is the same.
    """
    changed = int(stamp.split(" ")[2])
    return changed > taken - _RACY


def parts_of(path: str) -> list[str]:
    """The names that a path within a folder consists of. Raises NameRefused for one that leads elsewhere."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise errors.NameRefused(path, "it is not a path inside the memory folder")
    return parts


@contextmanager
def parent(root: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The open directory of `path` below `root`, and its last name. `make`: with the directories it needs."""
    *above, name = parts_of(path)
    handle = root
    try:
        for part in above:
            below = _enter(handle, part, make)
            if handle != root:
                exchange.close(handle)
            handle = below
        yield handle, name
    finally:
        if handle != root:
            exchange.close(handle)


def open_directory(handle: int | None, name: str) -> int:
    """Opens a directory by its name in another, or by its path in none. It must not be a link."""
    return os.open(name, _DIRECTORY, dir_fd=handle)


def read(directory: int, name: str, now: int, *, links: int = 1, moved: bool = False) -> FileRead | Strange:
    """Reads a regular file of that name. Raises FileNotFoundError; every other fault is Strange.

    `moved`: its name has just changed, so that its change time says nothing about its text.
    """
    try:
        handle = os.open(name, _FILE, dir_fd=directory)
    except FileNotFoundError:
        raise
    except OSError as error:
        return strange_of(error)
    try:
        before = os.fstat(handle)
        reason = why_strange(before, links)
        if reason:
            return Strange(reason)
        held = exchange.take_read_lease(handle)
        try:
            content = _read_all(handle)
            alone = held is True and exchange.lease_stands(handle)
        finally:
            if held:
                exchange.drop_lease(handle)
        after = os.fstat(handle)
    except OSError as error:
        return strange_of(error)
    finally:
        exchange.close(handle)
    if len(content) > LARGEST:
        return Strange("it is too large to be a memory")
    if held is None:
        changed = after.st_mtime_ns if moved else max(after.st_mtime_ns, after.st_ctime_ns)
        alone = changed <= now - SETTLE
    stamp = stamp_of(after)
    whole = len(content) == after.st_size and stamp_of(before) == stamp
    return FileRead(content, stamp, alone and whole, stat.S_IMODE(after.st_mode))


def why_strange(status: os.stat_result, links: int = 1) -> str:
    """Why this cannot be a memory, or nothing."""
    kind = stat.S_IFMT(status.st_mode)
    if kind != stat.S_IFREG:
        return {
            stat.S_IFLNK: "it is a link",
            stat.S_IFDIR: "it is a directory",
            stat.S_IFIFO: "it is a FIFO",
            stat.S_IFSOCK: "it is a socket",
        }.get(kind, "it is a device")
    if status.st_nlink > links:
        return "it is a hard link: the same file has another name"
    if status.st_size > LARGEST:
        return "it is too large to be a memory"
    return ""


def strange_of(error: OSError) -> Strange:
    """What a failed look at a file says about it."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Strange("it is a link, or a part of its path is not a directory")
    if error.errno == errno.ENXIO:
        return Strange("it is a socket or a device")
    return Strange(f"it cannot be read: {os.strerror(error.errno or 0)}")


def _enter(handle: int, name: str, make: bool) -> int:
    try:
        return open_directory(handle, name)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(name, dir_fd=handle)
        exchange.sync_names(handle)
    except FileExistsError:
        pass  # another process made it meanwhile
    return open_directory(handle, name)


def _read_all(handle: int) -> bytes:
    """At most one byte more than a memory may have."""
    pieces = []
    wanted = LARGEST + 1
    while wanted and (piece := os.read(handle, min(wanted, 1 << 20))):
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)
