"""The client's own lock for its dream: the file `.consolidate-lock` in a memory folder.

Its body is the pid of whoever dreams, its time of change that of the last dream. It is held only while it is younger
than an hour and a client runs under that pid; the pid alone is no proof. While we dream it has our pid, so that the
client waits; afterwards it is empty, which holds nobody up. What lies there and is no plain small file of its own (a
link, a directory) is left alone. Times are unix microseconds.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from memstore.errors import ClientDreams

NAME = ".consolidate-lock"
LASTS = 60 * 60 * 1_000_000

_LARGEST = 64
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Lock:
    """What lies there. `at`: when it was changed; 0 where there is none. `pid` None: the body names none.

    `odd`: why it is nothing to write to, and is left alone.
    """

    at: int = 0
    pid: int | None = None
    body: bytes = b""
    odd: str = ""


def read(folder: str) -> Lock:
    """The lock of a memory folder, as it stands."""
    path = os.path.join(folder, NAME)
    try:
        handle = os.open(path, _READ)  # through a link too: the client follows it, so it may be held
    except FileNotFoundError:
        return Lock(odd="it is a link that leads nowhere" if os.path.islink(path) else "")
    except OSError as error:
        return Lock(odd=f"it cannot be read: {os.strerror(error.errno or 0)}")
    try:
        return _read(handle, is_link=os.path.islink(path))
    except OSError as error:
        return Lock(odd=f"it cannot be read: {os.strerror(error.errno or 0)}")
    finally:
        os.close(handle)


def is_held(lock: Lock, now: int, client: Callable[[int], bool]) -> bool:
    """Whether the client dreams."""
    return lock.pid is not None and 0 <= now - lock.at < LASTS and client(lock.pid)


def why_free(lock: Lock, now: int) -> str:
    """Why one that looks held is not, as it is said when it is taken over; empty where there is nothing to say."""
    if lock.at > now:
        return "its time lies in the future"
    if not lock.body:
        return ""
    if lock.pid is None:
        return "it names no process"
    if now - lock.at >= LASTS:
        return f"process {lock.pid} took it more than an hour ago"
    return f"no client of Claude Code runs as process {lock.pid}"


def take(folder: str, found: Lock, pid: int, now: int) -> str:
    """Puts our pid where `found` was; an empty answer, or why it was not done.

    Raises ClientDreams where somebody else put theirs meanwhile.
    """
    if found.odd:
        return found.odd
    path = os.path.join(folder, NAME)
    try:
        flags = _WRITE if found.at else _WRITE | os.O_CREAT | os.O_EXCL
        handle = os.open(path, flags, 0o666)
    except (FileExistsError, FileNotFoundError):
        if not os.path.isdir(folder):
            return "the folder is gone"
        raise ClientDreams(folder) from None
    except OSError as error:
        return f"it cannot be written: {os.strerror(error.errno or 0)}"
    try:
        there = _read(handle)
        if there.odd or there.body != found.body:
            raise ClientDreams(folder, there.pid or 0)
        _write(handle, b"%d" % pid, now)
    except OSError as error:
        give_back(folder, pid, found.at)  # a disk that was full has made an empty one, which would tell of a dream
        return f"it cannot be written: {os.strerror(error.errno or 0)}"
    finally:
        os.close(handle)
    last = read(folder).pid  # as the client itself does: the last one who wrote has it
    if last != pid:
        raise ClientDreams(folder, last or 0)
    return ""


def keep(folder: str, pid: int, now: int) -> None:
    """Makes our hold last on, where it is ours still: the client takes over what is older than an hour."""
    try:
        handle = os.open(os.path.join(folder, NAME), _WRITE)
    except OSError:  # it is gone, or closed to us: there is nothing to keep
        return
    try:
        there = _read(handle)
        if there.pid == pid and not there.odd:
            os.utime(handle, ns=(now * 1_000, now * 1_000))
    except OSError:  # the next beat tries again
        return
    finally:
        os.close(handle)


def give_back(folder: str, pid: int, at: int) -> str:
    """Ends our hold: the lock tells of a dream at `at`; 0: there was none, and the file goes.

    One that is another's by now stays as it is. An empty answer, or why it was not done.
    """
    path = os.path.join(folder, NAME)
    try:
        handle = os.open(path, _WRITE)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"it cannot be written: {os.strerror(error.errno or 0)}"
    try:
        there = _read(handle)
        if there.odd or there.pid not in (pid, None) or (there.pid is None and there.body):
            return ""
        if at:
            _write(handle, b"", at)
        else:
            os.unlink(path)
    except OSError as error:
        return f"it cannot be written: {os.strerror(error.errno or 0)}"
    finally:
        os.close(handle)
    return ""


def _read(handle: int, *, is_link: bool = False) -> Lock:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        return Lock(odd="it is a directory" if stat.S_ISDIR(found.st_mode) else "it is no regular file")
    if found.st_size > _LARGEST:
        return Lock(odd=f"it holds {found.st_size} bytes, which is no pid")
    odd = "it is a link" if is_link else "it has a second name" if found.st_nlink > 1 else ""
    body = os.pread(handle, _LARGEST, 0)
    # A time before 1970 is none that a dream can have left.
    return Lock(max(1, found.st_mtime_ns // 1_000), _pid(body), body, odd)


def _pid(body: bytes) -> int | None:
    digits = body.strip()
    return int(digits) if digits.isdigit() and len(digits) <= 10 else None


def _write(handle: int, body: bytes, at: int) -> None:
    if body:
        os.pwrite(handle, body, 0)
    os.ftruncate(handle, len(body))
    os.utime(handle, ns=(at * 1_000, at * 1_000))
