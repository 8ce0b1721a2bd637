"""Nothing else in this process may open a live store's files.

POSIX locks belong to the process: closing *any* descriptor of a database file drops every lock that SQLite holds
on it, and acknowledged commits are then lost without a word. SQLite opens its files in C, which raises no audit
event; whatever opens them from Python does, and is refused here. The hook cannot be taken out again, so it is
put in once, with the first store that is opened.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from memstore.errors import Defect

_live: dict[str, int] = {}
"""The databases that are open in this process, and how often."""

_installed = False
_SUFFIXES = ("", "-wal", "-shm")


def protect(path: str) -> None:
    """Refuses every open of the database at `path`, and of its side files, by anything but SQLite, until `release`."""
    global _installed
    _live[path] = _live.get(path, 0) + 1
    if not _installed:
        sys.addaudithook(_refuse)
        _installed = True


def release(path: str) -> None:
    """The database was closed: once for each `protect`."""
    count = _live.get(path, 0) - 1
    if count > 0:
        _live[path] = count
    else:
        _live.pop(path, None)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if (event != "open" and event != "sqlite3.connect") or not _live:
        return
    target = arguments[0]
    if isinstance(target, int) or target is None:
        return
    try:
        if isinstance(target, str) and target.startswith("file:"):
            target = target[5:].split("?", 1)[0]
        found = os.stat(target)
    except (OSError, ValueError, TypeError):
        return
    if _is_live(found.st_dev, found.st_ino):
        raise Defect(
            f"{event} of a live store's file was refused: it would drop SQLite's locks",
            hint="read the store through memstore, or from another process",
        )


def _is_live(device: int, inode: int) -> bool:
    """Whether this is a file of a live store now: side files come and go, and inodes are used again."""
    for path in tuple(_live):
        for suffix in _SUFFIXES:
            try:
                found = os.stat(path + suffix)
            except OSError:
                continue
            if (found.st_dev, found.st_ino) == (device, inode):
                return True
    return False
