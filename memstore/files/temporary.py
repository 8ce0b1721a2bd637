"""The names that memstore's own unfinished work has in a memory folder.

`.memstore-PID-HEX~` is being written: never published, never read.
`.memstore-PID-HEX~TARGET` is whole, and waits to change places with TARGET, or has done so: then it holds
what lay there before. Nobody can tell which after a crash, and nobody needs to: its text is looked at, then
let go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable
from typing import TypeVar

from memstore.files import exchange

T = TypeVar("T")

PREFIX = ".memstore-"
_OURS = re.compile(r"\.memstore-([1-9][0-9]{0,9})-[0-9a-f]{16}~(.*)", re.DOTALL)
_ABANDONED = 60_000_000_000
PATIENCE = (0.005, 0.02, 0.08)
"""Seconds between tries while something, such as a virus scanner, keeps a file from being renamed."""


def is_ours(name: str) -> bool:
    """Whether memstore gave a file this name."""
    return name.startswith(PREFIX) and _OURS.fullmatch(name) is not None


def target_of(name: str) -> str:
    """The name that a file of ours was made for; empty if it was never whole."""
    match = _OURS.fullmatch(name)
    return match[2] if match else ""


def new_name(target: str) -> str:
    """A name in the directory of `target` that nobody uses."""
    return f"{PREFIX}{os.getpid()}-{os.urandom(8).hex()}~{target}"


def is_abandoned(name: str, status: os.stat_result, now: int) -> bool:
    """Whether whoever made it is gone, or has left it for a minute."""
    match = _OURS.fullmatch(name)
    if match is None:
        return False
    return not _runs(int(match[1])) or status.st_ctime_ns < now - _ABANDONED


def patiently(step: Callable[[], T], pause: Callable[[float], None]) -> T:
    """The result of a step that renames, tried again a few times where it is refused. Raises what the last try does."""
    for wait in PATIENCE:
        try:
            return step()
        except PermissionError:
            pause(wait)
    return step()


def write(
    directory: int, target: str, content: bytes, mode: int | None, pause: Callable[[float], None]
) -> tuple[str, int]:
    """Writes a whole file beside `target`, safe from power cuts, and returns its name and inode.

    On failure it leaves none.
    `mode`: the permission bits it gets; None: what the umask leaves of 0666, as the client's files have.
    """
    part = new_name("")
    name = f"{part}{target}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(part, flags, 0o666 if mode is None else 0o600, dir_fd=directory)
    try:
        try:
            # Not where it is right already: some file systems have one mode for all, and refuse any change.
            if mode is not None and permissions(os.fstat(handle)) != mode:
                os.fchmod(handle, mode)
            view = memoryview(content)
            while view:
                written = os.write(handle, view)
                if not written:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)
                view = view[written:]
            exchange.sync(handle)
            inode = os.fstat(handle).st_ino
        finally:
            os.close(handle)
        patiently(lambda: os.rename(part, name, src_dir_fd=directory, dst_dir_fd=directory), pause)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part, dir_fd=directory)
        raise
    return name, inode


def permissions(status: os.stat_result) -> int:
    """The mode that a file's successor keeps: no set-user-id and the like."""
    return stat.S_IMODE(status.st_mode) & 0o777


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
