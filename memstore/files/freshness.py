"""Whether anything in a folder moved since its bytes were last known: a look at stamps, which every read takes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memstore.store.stamps import is_waiting, known_stamps
from memstore.store.store import Store


def stamp_of(status: os.stat_result) -> str:
    """What changes whenever a file does: size, the two times in nanoseconds, inode."""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def has_news(store: Store, folder: str | None, names: Sequence[str] = ()) -> bool:
    """Whether sessions told of anything, or the stamp of the directory or of one of these files is a new one.

    Reads ask it: where the store cannot be written now, they answer from what it holds.
    """
    if folder is None or not store.writable:
        return False
    if store.has_spooled():
        return True
    with store.view() as connection:
        path = os.path.realpath(folder)
        if is_waiting(connection, path):
            return True
        known = known_stamps(connection, path, names)
    if known is None:
        return os.path.isdir(folder)
    return any(_present(folder, name) != stamp for name, stamp in known.items())


def _present(folder: str, name: str) -> str | None:
    try:
        return stamp_of(os.stat(os.path.join(folder, name) if name else folder, follow_symlinks=not name))
    except OSError:
        return None
