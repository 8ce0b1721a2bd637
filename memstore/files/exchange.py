"""The system calls by which one file takes another's place, and nothing that lay there is lost.

All names are single names within an open directory, given as its descriptor. Everything raises OSError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import sys
from collections.abc import Callable

_NO_REPLACE, _EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def exchange(directory: int, new: str, target: str, aside: str) -> str:
    """Puts `new` under the name `target`; returns the name under which what lay there came out.

    That is `new` where two names can change places in one step. Elsewhere the old file is linked to `aside`
    before the rename, and a save that lands between the two calls is lost: the window is a few microseconds.
    """
    try:
        _rename_with(directory, new, target, _EXCHANGE)
        return new
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    os.link(target, aside, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    try:
        os.rename(new, target, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        os.unlink(aside, dir_fd=directory)
        raise
    return aside


def publish(directory: int, new: str, target: str) -> None:
    """Renames `new` to `target`; FileExistsError when there is a `target` already."""
    try:
        _rename_with(directory, new, target, _NO_REPLACE)
        return
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    os.link(new, target, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.unlink(new, dir_fd=directory)


def sync(handle: int) -> None:
    """Returns when the file, or the names in the directory, would survive a power cut."""
    if sys.platform == "darwin":
        # There fsync leaves the data in the drive's own cache. Not every file system knows the full one.
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def sync_names(directory: int) -> None:
    """`sync` for the names in a directory; some file systems know no such thing, and need none."""
    try:
        sync(directory)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def take_read_lease(handle: int) -> bool | None:
    """True: held, until `drop_lease`. False: somebody has the file open for writing. None: nobody can tell.

    While it is held, whoever opens the file for writing waits, and `lease_stands` turns false.
    """
    if sys.platform != "linux":
        return None
    import signal

    try:
        # A broken lease is told by SIGIO, which ends a process that does not expect it; SIGURG is ignored.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return False
    except OSError:  # another user's file, or a file system without leases
        return None
    return True


def lease_stands(handle: int) -> bool:
    """Whether nobody has opened the file for writing since the lease was taken."""
    return sys.platform == "linux" and fcntl.fcntl(handle, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def drop_lease(handle: int) -> None:
    """Lets waiting writers go on."""
    if sys.platform == "linux":
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _rename_with(directory: int, old: str, new: str, flag: int) -> None:
    call = _system_call()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), new)
    number = call(directory, os.fsencode(old), directory, os.fsencode(new), flag)
    if number:
        raise OSError(number, os.strerror(number), new)


@functools.cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """renameat2, or what macOS calls it, returning the error's number or 0; None where libc lacks it."""
    import ctypes  # takes milliseconds, and most commands write no file

    function = getattr(
        ctypes.CDLL(None, use_errno=True), "renameatx_np" if sys.platform == "darwin" else "renameat2", None
    )
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def call(source: int, old: bytes, destination: int, new: bytes, flag: int) -> int:
        return ctypes.get_errno() if function(source, old, destination, new, flag) else 0

    return call
