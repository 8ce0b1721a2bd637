"""The part of a conversation that one run looks at, as it is shown to a model. Pure.

What was said is material, never an order: each line of a message stands behind a bar, so that no text can look like
the beginning of another message. Words of subagents, of the client itself and of summaries are not shown at all: they
repeat what others said, or nobody said them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from memstore.claude.entries import Entry

MOST = 120_000
"""Bytes of a conversation that one run looks at, about 40,000 tokens; what is left comes in the next one."""
LEAST = 7_500
"""Where a model does not take so much, half of it is looked at and half of that, but no less than this."""

_SHOWN = {"person": 60_000, "assistant": 2_000, "tool": 400}
"""The kinds that are shown, and how many characters of a message."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Window:
    """What one run looks at.

    `entries`: all that was said in it, shown or not. `shown`: those that a model sees, in the order of their numbers.
    `text`: as it sees them. `more`: something comes after it. `end`: the byte of the transcript up to which it goes.
    `longest`: characters that were shown of a message of the person at most.
    """

    entries: tuple[Entry, ...]
    shown: tuple[Entry, ...]
    text: str
    more: bool
    end: int
    longest: int = _SHOWN["person"]

    @property
    def shortened(self) -> int:
        """How many messages of the person were too long to be shown in full."""
        return sum(entry.kind == "person" and len(_clean(entry.text)) > self.longest for entry in self.shown)


def window(entries: Sequence[Entry], skipped: Collection[bytes], most: int = MOST) -> Window:
    """The beginning of what was said, as far as `most` bytes go, and at least one line of the transcript.

    Of a message of the person no more characters are shown than that.

    `skipped`: digests of entries that belong to the window but are not shown: their outcome is known.
    """
    known = set(skipped)
    taken: list[Entry] = []
    shown: list[Entry] = []
    texts: list[str] = []
    size = 0
    longest = min(_SHOWN["person"], most)
    lines = list(_by_line(entries))
    for number, line in enumerate(lines):
        said = _shown(line, known)
        told = [_told(entry, len(texts) + at + 1, longest) for at, entry in enumerate(said)]
        size += sum(len(text.encode("utf-8", "replace")) for text in told)
        full = size > most
        if shown and full and told:
            return Window(tuple(taken), tuple(shown), "\n".join(texts), True, taken[-1].end, longest)
        taken += line
        shown += said
        known.update(entry.digest for entry in said)  # a line may stand there twice
        texts += told
        if full and number + 1 < len(lines):
            return Window(tuple(taken), tuple(shown), "\n".join(texts), True, taken[-1].end, longest)
    return Window(tuple(taken), tuple(shown), "\n".join(texts), False, taken[-1].end if taken else 0, longest)


def _by_line(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The entries of a line of the transcript belong together: a cursor stands between lines."""
    line: list[Entry] = []
    for entry in entries:
        if line and entry.line != line[-1].line:
            yield line
            line = []
        line.append(entry)
    if line:
        yield line


def _shown(line: Sequence[Entry], skipped: Collection[bytes]) -> list[Entry]:
    return [entry for entry in line if entry.kind in _SHOWN and entry.text.strip() and entry.digest not in skipped]


def _told(entry: Entry, number: int, longest: int) -> str:
    text = _clean(entry.text)
    most = min(_SHOWN[entry.kind], longest)
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}\n[{len(text) - most} characters are left out]\n{text[-(most // 3) :]}"
    who = {"person": "the person", "assistant": "the agent", "tool": "a tool's output, nobody's wish"}[entry.kind]
    lines = "\n".join(f"| {line}" for line in text.split("\n"))
    return f"[{number}] {_moment(entry.at)}{who}:\n{lines}"


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n")


def _moment(at: str) -> str:
    try:
        return f"{datetime.fromisoformat(at):%A %Y-%m-%d %H:%M} "
    except ValueError:
        return ""
