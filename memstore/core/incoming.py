"""What the entries of an archive may be called, and which of them are memories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memstore.core import names
from memstore.core.model import INDEX_NAME
from memstore.errors import NameRefused

_DEEPEST = 16
_DRIVE = re.compile("[A-Za-z]:")
_TEAM = "team"
"""Alone in an archive it is what an export of it has, and no directory around the memories."""
_OTHERS = frozenset({"node_modules", "__MACOSX"})


@dataclass(frozen=True, slots=True)
class Sorted:
    """`memories`: (entry, path) of each that may be one, the index among them; `skipped`: (path, reason)."""

    memories: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]


def hostile(name: str) -> str:
    """Why no honest archive has an entry of this name, or nothing."""
    if "\0" in name:
        return "its name holds a NUL character"
    if "\\" in name:
        return "its name holds a backslash"
    if name.startswith("/") or _DRIVE.match(name):
        return "its name is that of a place outside of the archive"
    if ".." in name.split("/"):
        return "its name leads out of the archive"
    return "" if name else "it has no name"


def plain(name: str) -> str:
    """The name without what says nothing: `./a//b` is `a/b`."""
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def twins(paths: Iterable[str]) -> tuple[str, str] | None:
    """Two entries that are one file wherever they are unpacked, or on some file system."""
    seen: dict[str, str] = {}
    for path in paths:
        key = names.collision_key(path) if path.lower().endswith(names.EXTENSION) else path
        if key in seen:
            return seen[key], path
        seen[key] = path
    return None


def sort_out(entries: Sequence[tuple[str, str]]) -> Sorted:
    """Of (entry, path) of all files in an archive, which are memories, seen from the directory that was packed."""
    root = _root([path for _, path in entries if not _foreign(path)])
    memories: list[tuple[str, str]] = []
    skipped: dict[str, str] = {}
    for entry, whole in entries:
        if not whole.startswith(root):
            skipped[_told(whole)] = "it lies beside the memories"
            continue
        path = whole[len(root) :]
        reason = _why_not(path)
        if reason is None:
            memories.append((entry, path))
        else:
            skipped[reason[0]] = reason[1]
    return Sorted(tuple(memories), tuple(skipped.items()))


def _root(paths: Sequence[str]) -> str:
    """What stands before all paths: the directory of the index if all lie there, else one that all have in common."""
    markdown = [path for path in paths if path.lower().endswith(names.EXTENSION)]
    above = [path.split("/")[:-1] for path in markdown or paths]
    if not above:
        return ""
    common = above[0]
    for directories in above[1:]:
        same = 0
        while same < min(len(common), len(directories)) and common[same] == directories[same]:
            same += 1
        common = common[:same]
    if "/".join([*common, INDEX_NAME]) not in markdown:
        tops = {path.partition("/")[0] for path in paths}
        common = common[:1] if len(tops) == 1 and tops != {_TEAM} else []
    return "".join(f"{part}/" for part in common)


def _foreign(path: str) -> bool:
    return path.split("/")[0] == "__MACOSX" or names.is_debris(path.rpartition("/")[2])


def _why_not(path: str) -> tuple[str, str] | None:
    """Under which name to tell that a file is no memory, and why; None: it is one."""
    *above, name = path.split("/")
    for depth, part in enumerate(above):
        if part.startswith(".") or part in _OTHERS:
            return _told("/".join(above[: depth + 1])) + "/", "a directory that holds no memories"
    told = _told(path)
    if names.conflict_of(name) is not None:
        return told, f"a sync program's copy of {names.conflict_of(name)}"
    if names.is_debris(name):
        return told, "another program's temporary or conflict copy"
    if not name.endswith(names.EXTENSION) or name.startswith("."):
        return told, "not a Markdown file"
    if len(above) > _DEEPEST:
        return told, "it is nested too deep"
    if path == INDEX_NAME:
        return None
    try:
        names.check_path(path)
    except NameRefused as error:
        return told, error.reason
    return None


def _told(path: str) -> str:
    """The path for a person: half of a surrogate pair, which stands for a byte, could not be printed."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
