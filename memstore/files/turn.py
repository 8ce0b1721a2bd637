"""A folder's turn: one process at a time absorbs from a folder and projects into it.

It is a lock on a file in the store's own directory, and no database lock: the store's readers and writers
go on.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from typing import Self

from memstore import errors
from memstore.core.ids import digest
from memstore.files import exchange

_STEP = 0.002


class FolderTurn:
    """A context manager, made by `Folder.turn`. The lock goes with its process, however that ends."""

    def __init__(self, folder: str, directory: str, wait: float, pause: Callable[[float], None]) -> None:
        self._folder = folder
        self._path = os.path.join(directory, f"turn-{digest(os.fsencode(folder), length=16)}")
        self._wait = wait
        self._pause = pause
        self._handle = -1

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._handle = os.open(self._path, flags, 0o600)
        except OSError as error:
            reason = f"{self._path} cannot be opened: {os.strerror(error.errno or 0)}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise errors.DiskFull(reason, hint="free some space and repeat the command") from None
            raise errors.StoreReadOnly(
                reason,
                hint="mend the permissions of the store's directory",
            ) from None
        try:
            self._lock()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            exchange.close(self._handle)
            self._handle = -1

    def _lock(self) -> None:
        end = time.monotonic() + self._wait
        while True:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise errors.StoreBusy(
                        f"another process has been at the files in {self._folder} for {self._wait:g} seconds",
                        hint="try again; what is saved in the store is safe meanwhile",
                    ) from None
            except OSError as error:
                raise errors.StoreUnavailable(
                    f"{self._path} cannot be locked: {os.strerror(error.errno or 0)}",
                    hint="set MEMSTORE_HOME to a directory on a file system that has locks",
                ) from error
            self._pause(_STEP)
