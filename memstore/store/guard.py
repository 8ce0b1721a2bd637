"""Nothing else in this process may open a live store's files.

POSIX locks belong to the process: closing *any* descriptor of a database file drops every lock that SQLite holds
on it, and acknowledged commits are then lost without a word. SQLite opens its files in C, which raises no audit
event; whatever opens them from Python does, and is refused here. The hook cannot be taken out again, so it is
put in once, with the first store that is opened. A path that is relative to an open directory (`dir_fd`) does
not reach the hook whole: nothing in the program opens a store's directory, and who opens files that it was only told of
asks `is_protected` first.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from memstore.errors import Defect

File = tuple[int, int]
"""Device and inode."""

_protected: dict[File, int] = {}
_installed = False
_SUFFIXES = ("", "-wal", "-shm")


def identity(path: str) -> File | None:
    """Which file lies at a path; None where there is none. Opens nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_protected(found: os.stat_result) -> bool:
    """Whether this is a file of a live store."""
    return (found.st_dev, found.st_ino) in _protected


class Protection:
    """Refuses every open of the database at `path` and of its side files by anything but SQLite, until its end."""

    def __init__(self, path: str) -> None:
        global _installed
        self._path = path
        self._files: tuple[File, ...] = ()
        self.renew()
        if not _installed:
            sys.addaudithook(_refuse)
            _installed = True

    def renew(self) -> None:
        """Looks which files these are by now."""
        earlier = self._files
        self._files = tuple(file for suffix in _SUFFIXES if (file := identity(self._path + suffix)) is not None)
        for file in self._files:
            _protected[file] = _protected.get(file, 0) + 1
        _release(earlier)

    def end(self) -> None:
        """To be called once SQLite has closed them: their inodes are used again by others."""
        files, self._files = self._files, ()
        _release(files)


def _release(files: tuple[File, ...]) -> None:
    for file in files:
        left = _protected.pop(file, 0) - 1
        if left > 0:
            _protected[file] = left


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and event != "sqlite3.connect":
        return
    target = arguments[0]
    if isinstance(target, int) or target is None or not _protected:
        return
    names = [target]
    if isinstance(target, str) and target.startswith("file:"):
        names.append(_path_of_uri(target))
    for name in names:
        try:
            found = os.stat(name)
        except (OSError, ValueError, TypeError):
            continue
        if is_protected(found):
            raise Defect(
                f"{event} of a live store's file was refused: it would drop SQLite's locks",
                hint="read the store through memstore, or from another process",
            )


def _path_of_uri(uri: str) -> bytes:
    path = uri[5:].split("#", 1)[0].split("?", 1)[0]
    if path.startswith("//"):
        path = "/" + path[2:].partition("/")[2]
    first, *rest = os.fsencode(path).split(b"%")
    decoded = first
    for part in rest:
        try:
            decoded += bytes.fromhex(part[:2].decode("ascii")) + part[2:]
        except ValueError:
            decoded += b"%" + part
    return decoded
