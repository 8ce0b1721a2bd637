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

_protected: set[tuple[int, int]] = set()
_installed = False
_SUFFIXES = ("", "-wal", "-shm")


def protect(path: str) -> None:
    """Refuses from now on every open of the database at `path` and of its side files by anything but SQLite."""
    global _installed
    for suffix in _SUFFIXES:
        try:
            found = os.stat(path + suffix)
        except OSError:
            continue
        _protected.add((found.st_dev, found.st_ino))
    if not _installed:
        sys.addaudithook(_refuse)
        _installed = True


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" and event != "sqlite3.connect":
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
    if (found.st_dev, found.st_ino) in _protected:
        raise Defect(
            f"{event} of a live store's file was refused: it would drop SQLite's locks",
            hint="read the store through memstore, or from another process",
        )
