"""What one process sees of the simulated file system: `os`, `fcntl` and `time`, as far as the folder's code uses them.

Every call that touches a file is a step: before it others may act, and the process may die. From then on nothing that
it does has an effect: no `finally` of it cleans up.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

from scripts.proofs.simulator_disk import USER, Disk, Inode, Opening, fault

Step = Callable[[str], None]

_NO_REPLACE = 1
_FILE_CONTROL = ("F_SETSIG", "F_SETLEASE", "F_GETLEASE", "F_RDLCK", "F_UNLCK", "LOCK_EX", "LOCK_NB")
_CALLS = (
    "open", "close", "read", "write", "fstat", "fsync", "stat", "chmod", "fchmod", "utime", "rename", "link", "unlink",
    "mkdir", "makedirs", "scandir", "kill", "getpid", "urandom", "geteuid",
)  # fmt: skip


@dataclass(slots=True)
class Calls:
    """One process. `step`: called before each system call with its name, and may raise; `put`: after a file got
    under a name, with the directory, its name, what lies there now, and what lay there before; `removed`: after this
    process has taken a file's last name, with what it had last read of it."""

    disk: Disk
    pid: int
    step: Step
    random: Callable[[int], bytes]
    alive: Callable[[int], bool]
    put: Callable[[Inode, str, Inode, Inode | None], None]
    removed: Callable[[Inode, bytes], None]
    leases: bool = True
    turns: bool = True
    open_files: dict[int, Opening] = field(default_factory=dict)
    _got: dict[int, bytes] = field(default_factory=dict)
    _had_read: dict[Inode, bytes] = field(default_factory=dict)
    _next: int = 3

    def vanish(self) -> None:
        """The process is gone, and what it had open with it."""
        for opening in self.open_files.values():
            self.disk.close(opening)
        self.open_files.clear()

    def _base(self, handle: int | None) -> Inode | None:
        return None if handle is None else self.open_files[handle].inode

    def _at(self, name: str, handle: int | None) -> Inode:
        return self.disk.at(name, self._base(handle))

    def _parent(self, name: str, handle: int | None) -> tuple[Inode, str]:
        return self.disk.parent(name, self._base(handle))

    # os

    def os_module(self) -> SimpleNamespace:
        """A module `os`. What is not named here is not there."""
        constants = {name: value for name, value in vars(os).items() if name.startswith("O_")}
        path = SimpleNamespace(
            realpath=lambda path: path, samestat=os.path.samestat, join=os.path.join,
            isdir=self._is_directory, isfile=lambda path: False,
        )  # fmt: skip
        return SimpleNamespace(
            **constants, **{name: getattr(self, f"_{name}") for name in _CALLS}, path=path, strerror=os.strerror,
            fsencode=os.fsencode, fsdecode=os.fsdecode,
        )  # fmt: skip

    def _is_directory(self, path: str) -> bool:
        try:
            return self.disk.at(path).names is not None
        except OSError:
            return False

    def _open(self, name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        self.step("open")
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR))
        directory, last = self._parent(name, dir_fd)
        if flags & os.O_CREAT and last not in directory.entries:
            inode = self.disk.make_file(directory, last, mode & ~0o022)
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise fault(errno.EEXIST, name)
        else:
            inode = self._at(name, dir_fd)
        if flags & os.O_DIRECTORY and inode.names is None:
            raise fault(errno.ENOTDIR, name)
        handle, self._next = self._next, self._next + 1
        self.open_files[handle] = self.disk.open(inode, writes=writes)
        self._got[handle] = b""
        return handle

    def _close(self, handle: int) -> None:
        opening = self.open_files.pop(handle, None)
        if opening is not None:  # a process that died has closed all
            self.disk.close(opening)

    def _read(self, handle: int, size: int) -> bytes:
        self.step("read")
        opening = self.open_files[handle]
        data = self.disk.read(opening, size)
        self._got[handle] += data
        self._had_read[opening.inode] = self._got[handle]
        return data

    def _write(self, handle: int, data: memoryview) -> int:
        self.step("write")
        return self.disk.write(self.open_files[handle], bytes(data))

    def _fstat(self, handle: int) -> os.stat_result:
        self.step("fstat")
        return self.open_files[handle].inode.status()

    def _fsync(self, handle: int) -> None:
        self.step("fsync")

    def _stat(self, name: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        self.step("stat")
        return self._at(name, dir_fd).status()

    def _chmod(self, name: str, mode: int, *, dir_fd: int | None = None) -> None:
        self.step("chmod")
        self._set_mode(self._at(name, dir_fd), mode)

    def _fchmod(self, handle: int, mode: int) -> None:
        self.step("fchmod")
        self._set_mode(self.open_files[handle].inode, mode)

    def _set_mode(self, inode: Inode, mode: int) -> None:
        inode.mode = inode.mode & ~0o7777 | mode
        inode.ctime = self.disk.now()

    def _utime(
        self, name: str, *, ns: tuple[int, int], dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> None:
        self.step("utime")
        inode = self._at(name, dir_fd)
        inode.mtime, inode.ctime = ns[1], self.disk.now()

    def _rename(self, old: str, new: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        self.step("rename")
        (source, name), (target, to) = self._parent(old, src_dir_fd), self._parent(new, dst_dir_fd)
        before = target.entries.get(to)
        self.disk.rename(source, name, target, to)
        if before is not None and not before.links:
            self._has_removed(before)
        self.put(target, to, target.entries[to], before)

    def _link(
        self, old: str, new: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:  # fmt: skip
        self.step("link")
        self.disk.link(*self._parent(old, src_dir_fd), *self._parent(new, dst_dir_fd))

    def _unlink(self, name: str, *, dir_fd: int | None = None) -> None:
        self.step("unlink")
        inode = self._at(name, dir_fd)
        self.disk.unlink(*self._parent(name, dir_fd))
        if not inode.links:
            self._has_removed(inode)

    def _has_removed(self, inode: Inode) -> None:
        self.removed(inode, self._had_read.get(inode, b""))

    def _mkdir(self, name: str, *, dir_fd: int | None = None) -> None:
        self.step("mkdir")
        self.disk.make_directory(name, self._base(dir_fd))

    def _makedirs(self, path: str, *, exist_ok: bool) -> None:
        self.step("makedirs")
        self.disk.make_directories(path)

    def _scandir(self, handle: int) -> Listing:
        self.step("scandir")
        return Listing(self, self.open_files[handle].inode)

    def _kill(self, pid: int, signal: int) -> None:
        if not self.alive(pid):
            raise fault(errno.ESRCH)

    def _getpid(self) -> int:
        return self.pid

    def _urandom(self, size: int) -> bytes:
        return self.random(size)

    def _geteuid(self) -> int:
        return USER

    # renameat2, fcntl

    def exchange(self, source: int, old: bytes, destination: int, new: bytes, flag: int) -> int:
        """renameat2: the number of the error, or 0."""
        self.step("renameat2")
        try:
            (one, name), (other, to) = self._parent(old.decode(), source), self._parent(new.decode(), destination)
            before = other.entries.get(to)
            (self.disk.publish if flag == _NO_REPLACE else self.disk.exchange)(one, name, other, to)
            self.put(other, to, other.entries[to], before)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def fcntl_module(self) -> SimpleNamespace:
        """A module `fcntl`: read leases, and locks on whole files."""
        return SimpleNamespace(
            **{name: getattr(fcntl, name) for name in _FILE_CONTROL}, fcntl=self._fcntl, flock=self._flock
        )  # fmt: skip

    def _fcntl(self, handle: int, command: int, argument: int = 0) -> int:
        if command == fcntl.F_SETSIG:
            return 0
        self.step("lease")
        opening = self.open_files[handle]
        if not self.leases:
            raise fault(errno.EINVAL)
        if command == fcntl.F_GETLEASE:
            return fcntl.F_RDLCK if opening.lease else fcntl.F_UNLCK
        if argument == fcntl.F_UNLCK:
            opening.lease = False
            opening.inode.leases.remove(opening)
        elif opening.inode.writers:
            raise fault(errno.EAGAIN)
        else:
            opening.lease = True
            opening.inode.leases.append(opening)
        return 0

    def _flock(self, handle: int, operation: int) -> None:
        self.step("flock")
        opening = self.open_files[handle]
        if self.turns and self.disk.locks.setdefault(opening.inode, opening) is not opening:
            raise fault(errno.EAGAIN)


class Listing:
    """What `scandir` gives: the names of one moment, each looked at in its own."""

    def __init__(self, calls: Calls, directory: Inode) -> None:
        self._calls = calls
        self._directory = directory

    def __enter__(self) -> Iterator[Entry]:
        return self._entries()

    def __exit__(self, *_: object) -> None:
        pass

    def _entries(self) -> Iterator[Entry]:
        for name, inode in sorted(self._directory.entries.items()):
            yield Entry(self._calls, self._directory, name, inode.names is not None)


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands for an `os.DirEntry`."""

    _calls: Calls
    _directory: Inode
    name: str
    _is_directory: bool

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        """Of whatever has the name by now."""
        self._calls.step("lstat")
        return self._calls.disk.at(self.name, self._directory).status()

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        """As the listing said."""
        return self._is_directory

    def is_symlink(self) -> bool:
        """There are none."""
        return False
