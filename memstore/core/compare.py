"""Two texts side by side, and which operation wrote each line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstore.core.model import Version


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of the present text and the version that brought it."""

    text: str
    version: Version


def lines_of(content: bytes) -> list[str]:
    """The lines of a text, without their ends; what is not UTF-8 shows as U+FFFD."""
    lines = content.decode("utf-8", "replace").split("\n")
    return lines[:-1] if lines and lines[-1] == "" else lines


def unified(before: bytes, after: bytes, before_label: str, after_label: str, context: int = 3) -> list[str]:
    """A unified diff, without line ends; empty where both texts have the same lines."""
    from difflib import unified_diff

    return list(unified_diff(lines_of(before), lines_of(after), before_label, after_label, n=context, lineterm=""))


def blame(versions: Sequence[Version]) -> list[BlamedLine]:
    """For each line of the newest version, the oldest version from which it stands unchanged. Oldest first."""
    from difflib import SequenceMatcher

    owners: list[Version] = []
    lines: list[str] = []
    for version in versions:
        found = lines_of(version.state.content)
        next_owners = [version] * len(found)
        for block in SequenceMatcher(None, lines, found, autojunk=False).get_matching_blocks():
            next_owners[block.b : block.b + block.size] = owners[block.a : block.a + block.size]
        owners, lines = next_owners, found
    return [BlamedLine(line, owner) for line, owner in zip(lines, owners, strict=True)]
