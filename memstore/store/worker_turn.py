"""The turn of a worker: of each kind one works on a store, and one more waits for its end.

Both are locks that go with their process. Who waits sees all that was there when it began to wait, so that a third one
has nothing to do. Cheap to import.
"""

from __future__ import annotations

import fcntl
import os
import time

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def worker_turn(directory: str, kind: str, seconds: float) -> int | None:
    """A handle that holds the turn until it is closed; None: another one waits for it, or `seconds` are over."""
    following = os.open(os.path.join(directory, f"{kind}-next"), _FLAGS, 0o600)
    try:
        if not _locked(following, 0.05):  # a hook that only looks holds it for an instant
            return None
        working = os.open(os.path.join(directory, f"{kind}-now"), _FLAGS, 0o600)
        if _locked(working, seconds):
            return working
        os.close(working)
        return None
    finally:
        os.close(following)


def is_working(directory: str, kind: str) -> bool:
    """Whether a worker of this kind has its turn now."""
    try:
        handle = os.open(os.path.join(directory, f"{kind}-now"), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _locked(handle, 0)
    finally:
        os.close(handle)


def _locked(handle: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
        time.sleep(0.01)
