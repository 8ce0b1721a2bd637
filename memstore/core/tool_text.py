"""The memory tool of the Messages API, as far as it is text: its paths, its edits, the answers that are documented.

The wording of answers that models are used to is the documented one. Paths are taken more strictly than anywhere
else: what could mean another place, in whatever spelling, is refused, and nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memstore.core.model import INDEX_NAME
from memstore.core.names import EXTENSION, check_path
from memstore.errors import InputRefused, NameRefused

ROOT = "/memories"

_LINES = 999_999
_WIDTH = len(str(_LINES))
_DEPTH = 2
_AROUND = 2
_NAMED = 100
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class ToolPath:
    """A path as the tool was given it, and the same within the memory folder (`""`: the folder itself).

    `directory`: it ends in a slash, so that it cannot mean a file.
    """

    given: str
    inside: str
    directory: bool = False

    @property
    def is_index(self) -> bool:
        """Whether it means the index."""
        return self.inside == INDEX_NAME and not self.directory


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after an edit, and what the tool answers to that."""

    text: str
    answer: str


def tool_path(given: str) -> ToolPath:
    """Where a path leads. Raises InputRefused for what can be no file or directory of memories."""
    if given in (ROOT, f"{ROOT}/"):
        return ToolPath(ROOT, "", directory=True)
    if not given.startswith(f"{ROOT}/"):
        raise InputRefused(f"Path must start with {ROOT}, got: {_cut(given)}")
    path = ToolPath(given, given[len(ROOT) + 1 :].removesuffix("/"), directory=given.endswith("/"))
    if not path.is_index:
        try:
            check_path(path.inside if path.inside.lower().endswith(EXTENSION) else f"{path.inside}/x{EXTENSION}")
        except NameRefused as error:
            raise InputRefused(f"The path {_cut(given)} cannot be used: {error.reason}") from None
    return path


def check_file(path: ToolPath) -> None:
    """Raises InputRefused unless a new file may get this path. The index is another question."""
    directories, _, name = path.inside.rpartition("/")
    if path.directory:
        raise InputRefused(f"The path {_cut(path.given)} names a directory, and directories come with their files")
    if not name.lower().endswith(EXTENSION):
        stem, dot, ending = name.rpartition(".")
        known = dot and stem and ending.isalnum()
        better = f"{ROOT}/{directories}{'/' * bool(directories)}{stem if known else name}{EXTENSION}"
        raise InputRefused(
            f"The path {_cut(path.given)} cannot be used: memories are Markdown files, so use {_cut(better)}"
        )
    check_directory(path, directories)


def check_directory(path: ToolPath, directories: str) -> None:
    """Raises InputRefused where a directory would have a name that only a file may have."""
    if any(part.lower().endswith(EXTENSION) for part in directories.split("/")):
        raise InputRefused(
            f"The path {_cut(path.given)} cannot be used: a directory's name does not end in {EXTENSION}"
        )


def listing(path: ToolPath, sizes: Mapping[str, int]) -> str:
    """What is in a directory, two levels deep. `sizes`: the bytes of each file in it, by its path from there."""
    found: dict[tuple[tuple[str, ...], bool], int] = {}
    for name, size in sizes.items():
        parts = tuple(name.split("/"))
        for depth in range(1, min(len(parts), _DEPTH) + 1):
            key = (parts[:depth], depth < len(parts))
            found[key] = found.get(key, 0) + size
    at = path.given.rstrip("/")
    lines = [f"{size_text(sum(sizes.values()))}\t{at}"]
    lines += [
        f"{size_text(size)}\t{at}/{'/'.join(parts)}{'/' * directory}"
        for (parts, directory), size in sorted(found.items())
    ]
    return "\n".join(
        [f"Here're the files and directories up to {_DEPTH} levels deep in {at}, excluding hidden items:", *lines]
    )


def size_text(size: int) -> str:
    """Bytes as `13B`, `4K` or `1.5M`."""
    unit = min(max(size.bit_length() - 1, 0) // 10, 3)
    amount = size / 1024**unit
    return f"{amount:.0f}{'BKMG'[unit]}" if amount == int(amount) else f"{amount:.1f}{'BKMG'[unit]}"


def view(path: ToolPath, text: str, view_range: tuple[int, int] | None) -> str:
    """A file with its lines numbered. A newline at the end opens one more, empty line."""
    lines = text.split("\n")
    if len(lines) > _LINES:
        raise InputRefused(f"File {path.given} exceeds maximum line limit of 999,999 lines.")
    first = 1
    if view_range is not None:
        first, last = max(1, view_range[0]), view_range[1]
        if first > len(lines) or (last != -1 and last < first):
            raise InputRefused(
                f"Invalid `view_range` parameter: {list(view_range)}. It should be within the lines 1 to"
                f" {len(lines)}, its end not before its beginning; [{min(first, len(lines))}, -1] shows all from there."
            )
        lines = lines[first - 1 :] if last == -1 else lines[first - 1 : last]
    return f"Here's the content of {path.given} with line numbers:\n" + _numbered(lines, first)


def replace(path: ToolPath, text: str, old: str, new: str) -> Edited:
    """The text with the one place that holds `old` changed."""
    count = text.count(old) if old else 0
    if not old:
        raise InputRefused("No replacement was performed, old_str is empty; use insert to add text.")
    if count == 0:
        raise InputRefused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path.given}.")
    if count > 1:
        raise InputRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines:"
            f" {_places(text, old)}. Please ensure it is unique"
        )
    before = text.index(old)
    changed = text[:before] + new + text[before + len(old) :]
    at = text.count("\n", 0, before)
    first = max(0, at - _AROUND)
    return Edited(
        changed,
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        + _numbered(changed.split("\n")[first : at + _AROUND + 1], first + 1),
    )


def insert(path: ToolPath, text: str, line: int, added: str) -> Edited:
    """The text with whole lines put in behind a line; 0 is the top."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InputRefused(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    lines.insert(line, added.rstrip("\n"))
    changed = "\n".join(lines)
    return Edited(changed if changed.endswith("\n") else changed + "\n", f"The file {path.given} has been edited.")


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _places(text: str, old: str) -> str:
    """The lines in which it begins, also where two places overlap."""
    found: list[int] = []
    line, since, at = 1, 0, text.find(old)
    while at >= 0 and len(found) < _NAMED:
        line += text.count("\n", since, at)
        found.append(line)
        since, at = at, text.find(old, at + 1)
    return ", ".join(map(str, found)) + (", …" if at >= 0 else "")


def _cut(path: str) -> str:
    return path if len(path) <= _LONGEST else f"{path[:_LONGEST]}…"
