"""A file system in memory: inodes, names, times by a clock that is given, leases and locks.

It does what Linux does, as far as a memory folder shows it. Whoever has a file open goes on writing into that file,
whatever its name is by then.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

USER = os.geteuid()
_DEVICE = 7
_DIRECTORY_SIZE = 4096


@dataclass(eq=False, slots=True)
class Inode:
    """A file, or with `names` a directory. Times are nanoseconds; `writers`: who has it open for writing."""

    number: int
    mode: int
    mtime: int
    ctime: int
    data: bytes = b""
    names: dict[str, Inode] | None = None
    links: int = 0
    writers: int = 0
    leases: list[Opening] = field(default_factory=list)

    @property
    def entries(self) -> dict[str, Inode]:
        """A directory's names."""
        if self.names is None:
            raise fault(errno.ENOTDIR)
        return self.names

    def status(self) -> os.stat_result:
        """What `stat` says of it."""
        links = self.links if self.names is None else 2 * self.links
        size = len(self.data) if self.names is None else _DIRECTORY_SIZE
        times = {"st_atime_ns": self.mtime, "st_mtime_ns": self.mtime, "st_ctime_ns": self.ctime}
        return os.stat_result((self.mode, self.number, _DEVICE, links, USER, USER, size, 0, 0, 0), times)


@dataclass(eq=False, slots=True)
class Opening:
    """A file that somebody has open. `lease`: nobody has opened it for writing since that was taken."""

    inode: Inode
    writes: bool
    position: int = 0
    lease: bool = False


def fault(number: int, name: str = "") -> OSError:
    """The error of a system call."""
    return OSError(number, os.strerror(number), name)


class Disk:
    """`clock`: nanoseconds; `tick`: how coarse the times of files are."""

    def __init__(self, clock: Callable[[], int], tick: int) -> None:
        self._clock = clock
        self.tick = tick
        self._count = 0
        self.locks: dict[Inode, Opening] = {}
        self.root = self._inode(stat.S_IFDIR | 0o755, {})
        self.root.links = 1

    def _inode(self, mode: int, names: dict[str, Inode] | None = None) -> Inode:
        self._count += 1
        now = self.now()
        return Inode(self._count, mode, now, now, names=names)

    def now(self) -> int:
        """The time that a file changed now would get."""
        return self._clock() // self.tick * self.tick

    # Names

    def at(self, path: str, base: Inode | None = None) -> Inode:
        """What lies at a path. Raises FileNotFoundError."""
        inode = base or self.root
        for name in path.split("/"):
            if name not in ("", "."):
                if name not in inode.entries:
                    raise fault(errno.ENOENT, path)
                inode = inode.entries[name]
        return inode

    def parent(self, path: str, base: Inode | None = None) -> tuple[Inode, str]:
        """The directory of a path, and the last name."""
        above, _, name = path.rpartition("/")
        return self.at(above, base), name

    def make_directory(self, path: str, base: Inode | None = None) -> Inode:
        """Raises FileExistsError."""
        directory, name = self.parent(path, base)
        return self._add(directory, name, self._inode(stat.S_IFDIR | 0o755, {}))

    def make_directories(self, path: str) -> Inode:
        """With those above it; one that is there stays."""
        at = ""
        for name in path.strip("/").split("/"):
            at = f"{at}/{name}"
            if name not in self.parent(at)[0].entries:
                self.make_directory(at)
        return self.at(path)

    def make_file(self, directory: Inode, name: str, mode: int = 0o644) -> Inode:
        """An empty file. Raises FileExistsError."""
        return self._add(directory, name, self._inode(stat.S_IFREG | mode))

    def _add(self, directory: Inode, name: str, inode: Inode) -> Inode:
        if not directory.links:
            raise fault(errno.ENOENT, name)
        if name in directory.entries:
            raise fault(errno.EEXIST, name)
        directory.entries[name] = inode
        inode.links += 1
        self._moved(inode, directory)
        return inode

    def _moved(self, *inodes: Inode) -> None:
        for inode in inodes:
            inode.ctime = self.now()
            if inode.names is not None:
                inode.mtime = self.now()

    def unlink(self, directory: Inode, name: str) -> None:
        """Takes a name away; whoever has the file open keeps it."""
        inode = self.at(name, directory)
        del directory.entries[name]
        inode.links -= 1
        self._moved(inode, directory)

    def remove_tree(self, directory: Inode, name: str) -> None:
        """A directory with everything in it."""
        inode = self.at(name, directory)
        for below in list(inode.names or ()):
            self.remove_tree(inode, below)
        self.unlink(directory, name)

    def rename(self, source: Inode, name: str, target: Inode, new: str) -> None:
        """Whatever has the new name loses it."""
        inode = self.at(name, source)
        if new in target.entries:
            if target.entries[new] is inode:
                return
            self.unlink(target, new)
        del source.entries[name]
        target.entries[new] = inode
        self._moved(inode, source, target)

    def publish(self, source: Inode, name: str, target: Inode, new: str) -> None:
        """A rename that refuses a name that is taken."""
        self.at(name, source)
        if new in target.entries:
            raise fault(errno.EEXIST, new)
        self.rename(source, name, target, new)

    def exchange(self, source: Inode, name: str, target: Inode, new: str) -> None:
        """Two files change names, in one step."""
        one, other = self.at(name, source), self.at(new, target)
        source.entries[name], target.entries[new] = other, one
        self._moved(one, other, source, target)

    def link(self, source: Inode, name: str, target: Inode, new: str) -> None:
        """A second name for a file."""
        self._add(target, new, self.at(name, source))

    # Content

    def open(self, inode: Inode, *, writes: bool = False) -> Opening:
        """Raises BlockingIOError where a reader's lease keeps a writer waiting; the reader learns of that."""
        if writes and inode.leases:
            for opening in inode.leases:
                opening.lease = False
            raise fault(errno.EAGAIN)
        inode.writers += writes
        return Opening(inode, writes)

    def close(self, opening: Opening) -> None:
        """Gives up its lease and its lock, too."""
        opening.inode.writers -= opening.writes
        if opening in opening.inode.leases:
            opening.inode.leases.remove(opening)
        if self.locks.get(opening.inode) is opening:
            del self.locks[opening.inode]

    def write(self, opening: Opening, data: bytes) -> int:
        """At its position."""
        inode, at = opening.inode, opening.position
        inode.data = inode.data[:at] + data + inode.data[at + len(data) :]
        opening.position = at + len(data)
        self.touch(inode)
        return len(data)

    def truncate(self, inode: Inode) -> None:
        """To nothing."""
        inode.data = b""
        self.touch(inode)

    def touch(self, inode: Inode) -> None:
        """Its text changed now."""
        inode.mtime = inode.ctime = self.now()

    def read(self, opening: Opening, size: int) -> bytes:
        """From its position on."""
        data = opening.inode.data[opening.position : opening.position + size]
        opening.position += len(data)
        return data

    def files(self, directory: Inode, prefix: str = "") -> Iterator[tuple[str, Inode]]:
        """Every file below a directory, by its path."""
        for name, inode in sorted(directory.entries.items()):
            if inode.names is None:
                yield prefix + name, inode
            else:
                yield from self.files(inode, f"{prefix}{name}/")
