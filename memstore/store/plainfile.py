"""Small files of the program's own: bounded reads, whole writes.

Every function raises OSError, with a reason a person can read in `strerror`.
"""

from __future__ import annotations

import errno
import os
import stat


def read_bounded(path: str, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes. Never waits, whatever lies there."""
    try:
        # O_NONBLOCK: opening a FIFO must not wait for somebody to write into it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, "not a possible path", path) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        data = b""
        while len(data) <= limit:
            piece = os.read(handle, limit + 1 - len(data))
            if not piece:
                return data
            data += piece
    finally:
        os.close(handle)
    raise OSError(errno.EFBIG, f"larger than {limit} bytes", path)


def replace_whole(path: str, data: bytes) -> None:
    """Puts `data` under `path`: after any crash the old bytes or the new ones are there, never a part."""
    temporary = _write_beside(path, data)
    try:
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    sync_directory(os.path.dirname(path))


def create_whole(path: str, data: bytes) -> bool:
    """Puts `data` under `path` unless something is there already; True when this call made it.

    The name appears with all its bytes at once, so that whoever loses the race can read the winner's file.
    """
    temporary = _write_beside(path, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    sync_directory(os.path.dirname(path))
    return True


def sync_directory(path: str) -> None:
    """Makes names that appeared in or left the directory survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_beside(path: str, data: bytes) -> str:
    """Writes `data` under a new name in the directory of `path`, safe on the disk; gives that name."""
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        os.unlink(temporary)
        raise
    return temporary
