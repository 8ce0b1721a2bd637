"""What file system a path lies on, and whether a database may lie there.

SQLite's log is shared memory, which works among the processes of one machine on a file system of that machine. On one
that a network or a virtual machine's host serves, a store breaks within minutes, and nothing tells of it before.
Cheap to import, and no dataclass: a hook may need it.
"""

from __future__ import annotations

import os
import sys

from memstore.errors import GroundRefused
from memstore.store import quick

MOUNTS = "/proc/self/mountinfo"

_LOCAL = frozenset((
    "aufs", "bcachefs", "btrfs", "devtmpfs", "ecryptfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs",
    "hfsplus", "iso9660", "jffs2", "jfs", "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "overlayfs", "ramfs",
    "reiserfs", "rootfs", "shiftfs", "squashfs", "tmpfs", "ubifs", "udf", "ufs", "vfat", "xfs", "zfs",
))  # fmt: skip
_LOCAL_FUSE = frozenset((
    "fuseblk", "fuse.bindfs", "fuse.encfs", "fuse.exfat", "fuse.exfat-fuse", "fuse.fuse-overlayfs", "fuse.gocryptfs",
    "fuse.ntfs-3g", "fuse.unionfs", "fuse.unionfs-fuse",
))  # fmt: skip
"""Programs that show what lies on a disk of this machine."""

_SHARED = frozenset((
    "9p", "acfs", "afs", "afpfs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fakeowner", "fhgfs", "gfs",
    "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2",
    "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav",
))  # fmt: skip
"""Served by a network, a cluster or the host of a virtual machine."""


class Mount:
    """A line of mountinfo. `point`: where it is mounted; `kind`: the type of file system; `source`: what is mounted."""

    __slots__ = ("id", "kind", "parent", "point", "read_only", "source")

    def __init__(self, ids: tuple[int, int], point: str, kind: str, source: str, read_only: bool = False) -> None:
        self.id, self.parent = ids
        self.point = point
        self.kind = kind
        self.source = source
        self.read_only = read_only

    @property
    def safe(self) -> bool | None:
        """Whether a store may lie there; None for a file system of which nothing is known."""
        if self.kind in _LOCAL or self.kind in _LOCAL_FUSE:
            return True
        if self.kind in _SHARED or self.kind == "fuse" or self.kind.startswith("fuse."):
            return False
        return None


def parsed(text: bytes) -> list[Mount]:
    """The mounts that a mountinfo tells of; a line that is none is left out."""
    found = []
    for line in text.split(b"\n"):
        before, _, after = line.partition(b" - ")
        fields, rest = before.split(b" "), after.split(b" ")
        if len(fields) < 6 or len(rest) < 2 or not (fields[0].isdigit() and fields[1].isdigit()):
            continue
        flags = fields[5].split(b",") + (rest[2].split(b",") if len(rest) > 2 else [])
        ids, point, source = (int(fields[0]), int(fields[1])), _unescaped(fields[4]), _unescaped(rest[1])
        found.append(Mount(ids, point, _unescaped(rest[0]), source, b"ro" in flags))
    return found


def holding(mounts: list[Mount], path: str) -> Mount | None:
    """The mount that an absolute path without links lies on.

    Each mount stands in another one, its parent: so a mount that a later one hides is not taken for what is seen.
    """
    known = {mount.id for mount in mounts}
    above = [mount for mount in mounts if mount.parent not in known or mount.parent == mount.id]
    # Without the root of the whole tree (in a chroot, say) it begins at the nearest one that is told of.
    here = max((mount for mount in reversed(above) if _within(path, mount.point)), key=_depth, default=None)
    seen: set[int] = set()
    while here is not None and here.id not in seen:
        seen.add(here.id)
        inside = [one for one in mounts if one.parent == here.id != one.id and _within(path, one.point)]
        # The first one on the way down: what its parent has further down is hidden by it. Of two the later one.
        here = min(reversed(inside), key=_depth, default=here)
    return here


def mount_of(path: str) -> Mount | None:
    """The mount on which a path lies, or would; None where the system does not tell."""
    try:
        with open(MOUNTS, "rb") as file:
            text = file.read()
    except OSError:
        return None
    return holding(parsed(text), existing(os.path.realpath(path)))


def unsafe(path: str) -> Mount | None:
    """The mount, where a store may not lie on it. What lies on a disk of this machine costs one `stat` only."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        if quick.is_disk(os.stat(existing(path)).st_dev):
            return None
    except OSError:
        return None
    mount = mount_of(path)
    return mount if mount is not None and mount.safe is False else None


def check(directory: str) -> None:
    """Raises GroundRefused where a store's directory, which need not be there yet, lies on unsafe ground."""
    mount = unsafe(directory)
    if mount is not None:
        raise GroundRefused(directory, mount.kind, mount.point, mount.source)


def existing(path: str) -> str:
    """The path, or the nearest directory above it that is there."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _within(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")


def _depth(mount: Mount) -> int:
    return 0 if mount.point == "/" else mount.point.count("/")


def _unescaped(raw: bytes) -> str:
    """The kernel writes blanks, newlines, `#` and the backslash as three octal digits."""
    first, *rest = raw.split(b"\\")
    found = first
    for part in rest:
        digits = part[:3]
        octal = len(digits) == 3 and not digits.strip(b"01234567") and int(digits, 8) < 256
        found += bytes((int(digits, 8),)) + part[3:] if octal else b"\\" + part
    return os.fsdecode(found)
