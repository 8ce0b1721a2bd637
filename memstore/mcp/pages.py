"""Long answers in pages: what fits into one, and the cursor that asks for the next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstore.errors import InputRefused

PAGE = 20_000
"""Bytes of text in an answer. Clients cut off or refuse what is much longer."""

_SHORTEST = PAGE // 2


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of a text, and where it lies in its bytes. `next` None: it is the last one."""

    text: str
    start: int
    end: int
    whole: int
    next: int | None


def page_of(text: str, start: int = 0) -> Page:
    """The page that begins at byte `start`: whole characters, and whole lines where they are not too long."""
    content = text.encode("utf-8")
    if start > len(content):
        raise InputRefused("the cursor points behind the end", hint="read from the beginning, without a cursor")
    end = start + PAGE
    if end >= len(content):
        return Page(content[start:].decode("utf-8", "ignore"), start, len(content), len(content), None)
    line_end = content.rfind(b"\n", start + _SHORTEST, end) + 1
    piece = content[start : line_end or end].decode("utf-8", "ignore")
    end = line_end or start + len(piece.encode("utf-8"))
    return Page(piece, start, end, len(content), end)


def fitting(lines: Sequence[str]) -> int:
    """How many of the lines, from the first on, fit into one answer; one at least where there are any."""
    room = PAGE
    for number, line in enumerate(lines):
        room -= len(line.encode("utf-8")) + 1
        if room < 0:
            return max(number, 1)
    return len(lines)


def number_cursor(cursor: str | None) -> int:
    """The place that a cursor of ours names. Raises InputRefused for another."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise refused()
    return int(cursor)


def version_cursor(cursor: str) -> tuple[str, int]:
    """(token, byte) of a cursor into a version of a document."""
    token, _, place = cursor.partition("-")
    if not token.isalnum() or not place:
        raise refused()
    return token, number_cursor(place)


def refused() -> InputRefused:
    """A cursor that no answer gave."""
    return InputRefused("that is no cursor of this tool", hint="give `next` of the answer before, or no cursor")


def shortened(text: str, most: int = 200) -> str:
    """A text of one line for a list."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
