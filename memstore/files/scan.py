"""One pass over a memory folder: what is a memory there, and what else lies about. Opens no file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from memstore import errors
from memstore.core import names
from memstore.core.model import INDEX_NAME, LARGEST
from memstore.files import exchange, temporary, walk

FOREIGN_LISTED = 100
_DEEPEST = 16
_PLAIN = re.compile(r"(?:[a-z0-9_-]+/)*(?!memory\.md)[a-z0-9_-]+\.md")


@dataclass(frozen=True, slots=True)
class Scan:
    """What a folder holds. Paths are relative to it, with "/" between names; stamps as `walk.stamp_of`.

    `complete`: every directory could be listed; only then does a path that is not here mean anything.
    """

    files: dict[str, str]
    strange: dict[str, str]
    """Path to reason: what stands where a memory could, and is left alone."""
    collisions: tuple[tuple[str, ...], ...]
    """Paths that differ only by case or composition; they are in `files` as well."""
    conflict_copies: tuple[tuple[str, str], ...]
    """A copy that a sync service made, and the path it is a copy of."""
    debris: tuple[str, ...]
    foreign: tuple[str, ...]
    """Other files, and directories that were not entered: the first ones only."""
    temporary: tuple[str, ...]
    """memstore's own: see `Folder.leftovers`."""
    complete: bool
    stamp: str


@dataclass(slots=True)
class _Found:
    root: str
    reserved: Collection[str]
    files: dict[str, str] = field(default_factory=dict)
    strange: dict[str, str] = field(default_factory=dict)
    conflict_copies: list[tuple[str, str]] = field(default_factory=list)
    debris: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)
    complete: bool = True


def scan(root: int, path: str, reserved: Collection[str]) -> Scan:
    """Scans the open directory `root`, known as `path`."""
    found = _Found(path, reserved)
    stamp = ""
    try:
        before = os.fstat(root)
        stamp = walk.stamp_of(before)
        # A deleted directory can be listed, and is empty: that says nothing about its files.
        found.complete = before.st_nlink > 0
        # A listing has a position, which descriptors of one opening share: another thread may be listing.
        handle = walk.open_directory(root, ".")
    except OSError:
        found.complete = False
    else:
        try:
            _list(handle, "", 0, found)
        finally:
            exchange.close(handle)
    collisions = _sort_out(found)
    return Scan(
        files=found.files,
        strange={_told(path): reason for path, reason in found.strange.items()},
        collisions=collisions,
        conflict_copies=tuple(sorted(found.conflict_copies)),
        debris=tuple(sorted(map(_told, found.debris))),
        foreign=tuple(map(_told, sorted(found.foreign)[:FOREIGN_LISTED])),
        temporary=tuple(sorted(found.temporary)),
        complete=found.complete,
        stamp=stamp,
    )


def out_of_reach(path: str, reserved: Collection[str]) -> str:
    """Why a scan would not find a file at `path`, or nothing."""
    *above, _ = path.split("/")
    if above and above[0] in reserved:
        return f"the directory {above[0]} is no part of the memory folder"
    if "node_modules" in above:
        return "a directory node_modules holds no memories"
    return "it is nested too deep" if len(above) > _DEEPEST else ""


def _list(handle: int, prefix: str, depth: int, found: _Found) -> None:
    files, largest = found.files, LARGEST
    below = []
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                name = entry.name
                if name[-3:] == ".md":
                    # One of 2,000: what is done here is what a scan costs.
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    size = status.st_size
                    if status.st_mode & 0o170000 == 0o100000 and status.st_nlink == 1 and size <= largest:
                        files[prefix + name] = f"{size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
                    else:
                        _strange(entry, status, prefix, found)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(name)
                else:
                    _other(entry, prefix, found)
    except OSError:
        found.complete = False
    for name in below:
        if name[0] == "." or name == "node_modules" or (not prefix and name in found.reserved):
            found.foreign.append(f"{prefix}{name}/")
        elif depth == _DEEPEST:
            found.strange[f"{prefix}{name}"] = "it is nested too deep"
        else:
            _enter(handle, name, prefix, depth, found)


def _enter(handle: int, name: str, prefix: str, depth: int, found: _Found) -> None:
    try:
        child = walk.open_directory(handle, name)
    except OSError as error:
        found.complete = False
        found.strange[f"{prefix}{name}"] = walk.strange_of(error).reason
        return
    try:
        _list(child, f"{prefix}{name}/", depth + 1, found)
    finally:
        exchange.close(child)


def _strange(entry: os.DirEntry[str], status: os.stat_result, prefix: str, found: _Found) -> None:
    path = prefix + entry.name
    if temporary.is_ours(entry.name):
        found.temporary.append(path)
    elif names.is_debris(entry.name):
        found.debris.append(path)
    elif entry.is_symlink():
        found.strange[path] = _link(path, found.root)
    else:
        found.strange[path] = walk.why_strange(status) or "it changed meanwhile"


def _link(path: str, root: str) -> str:
    target = os.path.realpath(f"{root}/{path}")
    if not target.startswith(f"{root}/"):
        return "it is a link that leaves the folder"
    if not os.path.isfile(target):
        return "it is a link to nothing"
    return f"it is a link to {target[len(root) + 1 :]}"


def _other(entry: os.DirEntry[str], prefix: str, found: _Found) -> None:
    """A file that is not called *.md."""
    name = entry.name
    path = prefix + name
    if temporary.is_ours(name):
        found.temporary.append(path)
        return
    if name[0] == "." and name.endswith(".md.icloud"):
        # The file exists, but not here; it must not be taken for deleted, nor replaced.
        found.strange[f"{prefix}{name[1:-7]}"] = "iCloud has moved it off this machine"
    if names.is_debris(name):
        found.debris.append(path)
    elif entry.is_symlink() and os.path.isdir(f"{found.root}/{path}"):
        found.strange[path] = "it is a link to a directory"
    else:
        found.foreign.append(path)


def _sort_out(found: _Found) -> tuple[tuple[str, ...], ...]:
    """Looks closer at the few names that are not plain, and returns the collisions among all."""
    odd = _not_plain(found.files)
    for path in odd:
        name = path.rpartition("/")[2]
        original = names.conflict_of(name)
        if temporary.is_ours(name):
            found.temporary.append(path)
        elif original is not None:
            found.conflict_copies.append((path, path[: len(path) - len(name)] + original))
        elif names.is_debris(name):
            found.debris.append(path)
        elif name[0] == ".":
            found.foreign.append(path)
        else:
            reason = _unusable(path)
            if not reason:
                continue
            found.strange[path] = reason
        del found.files[path]
    groups: dict[str, list[str]] = {}
    for path in odd:
        if path in found.files:
            key = names.collision_key(path)
            groups.setdefault(key, [key] if key in found.files and key != path else []).append(path)
    return tuple(tuple(sorted(set(group))) for group in groups.values() if len(set(group)) > 1)


def _not_plain(paths: Iterable[str]) -> list[str]:
    """The paths, in order, of which a part has other letters than small ones, digits, "_" and "-"."""
    plain = _PLAIN.fullmatch
    return sorted(path for path in paths if not plain(path) and path != INDEX_NAME)


def _unusable(path: str) -> str:
    try:
        names.check_path(path)
    except errors.NameRefused as error:
        return error.reason
    return ""


def _told(path: str) -> str:
    """The path for a person: a name that is not UTF-8 could neither be printed nor stored."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")
