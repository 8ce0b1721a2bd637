"""The system calls by which one file takes another's place, and nothing that lay there is lost.

All names are single names within an open directory, given as its descriptor. Everything raises OSError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import stat
import sys
from collections.abc import Callable

_NO_REPLACE, _EXCHANGE = (4, 2) if sys.platform == "darwin" else (1, 2)
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_NO_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK}
"""How a file system refuses a second name for a file."""


def exchange(directory: int, new: str, target: str, aside: str) -> str:
    """Puts `new` under the name `target`; returns the name under which what lay there came out.

    That is `new` where two names can change places in one step. Elsewhere the old file is linked to `aside`
    before the rename, or copied there where a file can have one name only; a save that lands between the two
    calls is lost: the window is a few microseconds.
    """
    try:
        _rename_with(directory, new, target, _EXCHANGE)
        return new
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    try:
        os.link(target, aside, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _copy_out(directory, new, target, aside)
    try:
        os.rename(new, target, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        os.unlink(aside, dir_fd=directory)
        raise
    return aside


def _copy_out(directory: int, new: str, target: str, aside: str) -> str:
    """Renames `new` over `target`, whose text is safe in `aside` before it goes."""
    handle = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        if take_read_lease(handle) is False:  # what would be written into the old file later were on no name
            raise OSError(errno.ETXTBSY, os.strerror(errno.ETXTBSY), target)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        copy = os.open(aside, flags, 0o600, dir_fd=directory)
        try:
            try:
                age = _copy(handle, copy)
                os.rename(new, target, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                os.unlink(aside, dir_fd=directory)
                raise
            if _age(handle) != age:  # a save in place, just before the rename
                os.ftruncate(copy, 0)
                _copy(handle, copy)
        finally:
            close(copy)
    finally:
        close(handle)
    return aside


def _copy(source: int, copy: int) -> tuple[int, int]:
    """The text, and the age by which it is judged whether somebody is still writing it. Returns `_age`."""
    age = _age(source)
    for handle in (source, copy):
        os.lseek(handle, 0, os.SEEK_SET)
    while piece := os.read(source, 1 << 20):
        view = memoryview(piece)
        while view:
            view = view[os.write(copy, view) :]
    sync(copy)
    os.utime(copy, ns=(age[1], age[1]))
    return age


def _age(handle: int) -> tuple[int, int]:
    status = os.fstat(handle)
    return status.st_size, status.st_mtime_ns


def publish(directory: int, new: str, target: str) -> None:
    """Renames `new` to `target`; FileExistsError when there is a `target` already.

    Where neither the system nor a second name can tell in one step, it is a look and then the rename.
    """
    try:
        _rename_with(directory, new, target, _NO_REPLACE)
        return
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    try:
        os.link(new, target, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with contextlib.suppress(FileNotFoundError):
            os.stat(target, dir_fd=directory, follow_symlinks=False)
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.rename(new, target, src_dir_fd=directory, dst_dir_fd=directory)
        return
    os.unlink(new, dir_fd=directory)


def close(handle: int) -> None:
    """Lets go of a descriptor whose text is safe already: what the system says to that changes nothing."""
    with contextlib.suppress(OSError):
        os.close(handle)


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
