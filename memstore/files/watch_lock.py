"""Who watches a store: one process at a time, told by a lock on a file in the store's own directory.

The lock goes with its process, however that ends. What the file says counts only while it is locked.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from memstore import errors

NAME = "watch"
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
_SIZE = 8192
"""Bytes that the file has: always as many, so that a holder is written in one piece."""

_TRIES, _STEP = 25, 0.02


@dataclass(frozen=True, slots=True)
class Watcher:
    """A process that watches. `since`: unix microseconds. `folder` None: it may show the memories nowhere."""

    pid: int
    since: int
    folder: str | None


def watcher_of(directory: str) -> Watcher | None:
    """Who watches the store in `directory`; None where nobody does."""
    try:
        handle = os.open(os.path.join(directory, NAME), os.O_RDONLY | _FLAGS)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(handle)
    except OSError:  # no locks here, so nobody can hold one
        return None
    finally:
        os.close(handle)
    return None


@contextmanager
def watched_by(directory: str, watcher: Watcher, pause: Callable[[float], None]) -> Iterator[None]:
    """Makes this process the one that watches the store in `directory`. Raises PlaceRefused where another does."""
    path = os.path.join(directory, NAME)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
    except OSError as error:
        raise errors.StoreReadOnly(
            f"{path} cannot be opened: {os.strerror(error.errno or 0)}",
            hint="mend the permissions of the store's directory",
        ) from None
    try:
        _lock(handle, directory, pause)
        os.pwrite(handle, json.dumps(asdict(watcher)).encode().ljust(_SIZE - 1)[: _SIZE - 1] + b"\n", 0)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, directory: str, pause: Callable[[float], None]) -> None:
    for _ in range(_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pause(_STEP)  # somebody may only be asking who watches
        except OSError as error:
            raise errors.StoreUnavailable(
                f"{directory} is on a file system without locks: {os.strerror(error.errno or 0)}",
                hint="move the stores to a local disk with MEMSTORE_HOME",
            ) from None
    other = _read(handle)
    who = f"process {other.pid}" if other.pid else "another process"
    where = f", in {other.folder}" if other.folder else ""
    raise errors.PlaceRefused(
        f"{who} watches the memories of this store already{where}",
        hint=f"one is enough; to end it: `kill {other.pid}`" if other.pid else "one is enough",
    )


def _read(handle: int) -> Watcher:
    """What the holder of the lock says of itself; zeros where it has not said it yet."""
    try:
        said = json.loads(os.pread(handle, _SIZE, 0))
        pid, since, folder = said["pid"], said["since"], said["folder"]
    except (ValueError, TypeError, KeyError, RecursionError, OSError):
        return Watcher(0, 0, None)
    known = type(pid) is int and type(since) is int and isinstance(folder, str | None)
    return Watcher(pid, since, folder) if known else Watcher(0, 0, None)
