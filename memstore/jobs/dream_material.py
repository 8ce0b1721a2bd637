"""What a dream may look into beside the memories, and never writes: the logs of the last days, the project's own
instructions, and what was said in the sessions since the last dream.

Sessions are looked into with narrow searches only: they are long, they are full of what tools printed (which is left
out here), and what they say is nobody's rule until somebody is quoted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from memstore.claude import transcript
from memstore.claude.entries import Entry
from memstore.claude.transcript import START
from memstore.core.ids import fingerprint
from memstore.core.model import Memory
from memstore.jobs.showing import visible

INSTRUCTIONS = "CLAUDE.md"
ABSENT = fingerprint(b"")
"""The digest of what is not there."""
MOST_SESSIONS = 50
"""Sessions that are looked into: the newest."""
MOST_SAID = 60_000
"""Characters of one session that are kept: its end."""
MOST_LISTED = 600
"""Memories that are listed; the rest is found with Glob and Grep."""

_SAID = {"person": "the person", "assistant": "the agent"}
_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tomorrow|(?:last|next|this) (?:week|month|year|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday)|gestern|heute|morgen)\b|昨天|今天|明天|上周|下周|上个月|下个月",
    re.IGNORECASE,
)
_DAY = 24 * 3600 * 1_000_000
_OLD = 30


@dataclass(frozen=True, slots=True)
class Session:
    """A session that was touched since the last dream. `path`: its transcript."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Page:
    """A file that can only be read. `digest`: by which it is known again. `narrow`: it can only be searched."""

    path: str
    text: str
    digest: bytes
    told: str = ""
    narrow: bool = False


@dataclass(frozen=True, slots=True)
class Material:
    """What there is, by path. `sessions`: with the sizes of their transcripts, which are read when they are `opened`.

    `said`: what persons and agents said in them. `hints`: what rules have found.
    """

    pages: Mapping[str, Page] = field(default_factory=dict[str, Page])
    sessions: Mapping[Session, int] = field(default_factory=dict[Session, int])
    said: tuple[Entry, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def seen(self) -> dict[str, bytes]:
        """What stands for each page and session, so that it is known again."""
        sizes = {_path(session): fingerprint(f"{size}".encode()) for session, size in self.sessions.items()}
        return {path: page.digest for path, page in self.pages.items() if not page.narrow} | sizes

    @property
    def noted(self) -> dict[str, bytes]:
        """The same, as a dream remembers it: instructions that are gone are news too."""
        return {INSTRUCTIONS: ABSENT, **self.seen}

    def opened(self) -> Material:
        """With what was said in the sessions. A transcript that is gone or cannot be read is left out."""
        found = [each for each in map(_session, self.sessions) if each is not None]
        pages = {**self.pages, **{page.path: page for page, _ in found}}
        return replace(self, pages=pages, said=tuple(entry for _, said in found for entry in said))

    def session_of(self, message: str) -> str:
        """The session in which a message was said; empty where that is not known."""
        return next((entry.session for entry in self.said if entry.id == message), "")


def gather(
    sessions: Sequence[Session] = (),
    logs: Mapping[str, str] | None = None,
    instructions: str | None = None,
    hints: Iterable[str] = (),
) -> Material:
    """What a dream looks into.

    `sessions`: the newest first. `logs`: texts by path, such as `logs/2026/03/2026-03-02.md`. `instructions`: the text
    of the project's CLAUDE.md.
    """
    pages: dict[str, Page] = {}
    if instructions is not None:
        pages[INSTRUCTIONS] = _page(INSTRUCTIONS, instructions)
    for path, text in sorted((logs or {}).items()):
        pages[path] = _page(path, text)
    sizes: dict[Session, int] = {}
    for session in sessions[:MOST_SESSIONS]:
        with suppress(OSError, ValueError):  # it is gone
            sizes[session] = os.stat(session.path, follow_symlinks=False).st_size
    return Material(pages, sizes, hints=tuple(hints))


def _path(session: Session) -> str:
    return f"sessions/{os.path.basename(session.id)}.md"


def _page(path: str, text: str) -> Page:
    lines = text.count("\n") + (not text.endswith("\n"))
    return Page(path, text, fingerprint(text.encode("utf-8", "surrogatepass")), f"{lines} lines")


def _session(session: Session) -> tuple[Page, list[Entry]] | None:
    reading = transcript.read(session.path, START)
    if reading.missing:
        return None
    said = [entry for entry in reading.entries if entry.kind in _SAID and entry.text.strip()]
    told = [_told(entry) for entry in said]
    text = "\n".join(told)[-MOST_SAID:]
    people = sum(entry.kind == "person" for entry in said)
    when = f"{said[0].at[:10]} to {said[-1].at[:10]}, " if said else ""
    return Page(_path(session), text, b"", f"{when}{people} messages of the person", narrow=True), said


def _told(entry: Entry) -> str:
    """One line for each line of a message, with who said it and when: a search shows lines alone."""
    when = f"{entry.at[:16]} " if entry.at else ""
    return "\n".join(f"{when}{_SAID[entry.kind]}: {line}" for line in entry.text.split("\n") if line.strip())


def listing(memories: Sequence[Memory], now: int, most: int = MOST_LISTED) -> str:
    """A line for each memory, oldest first: type, path, day, size, marks, description. None makes a line of its own."""
    found = sorted(memories, key=lambda memory: (memory.changed_at, memory.path))
    lines = [_line(memory, now) for memory in found[:most]]
    if len(found) > most:
        lines.append(f"({len(found) - most} newer ones are not listed: Grep and Glob find them)")
    return "\n".join(lines) or "(none yet)"


def _line(memory: Memory, now: int) -> str:
    day = datetime.fromtimestamp(memory.changed_at / 1_000_000, UTC)
    age = max(now - memory.changed_at, 0) // _DAY
    marks = [f"{day:%Y-%m-%d}", f"{len(memory.state.content)} bytes", *_marks(memory, age)]
    kind = f"[{_plain(memory.type)}] " if memory.type else ""
    told = f": {_plain(memory.description)}" if memory.description else ""
    return f"- {kind}{_plain(memory.path)} ({', '.join(marks)}){told}"


def _marks(memory: Memory, age: int) -> list[str]:
    marks = []
    if memory.state.pinned:
        marks.append("pinned: off limits")
    if age >= _OLD:
        marks.append(f"{age} days old")
    if _RELATIVE.search(memory.state.content.decode("utf-8", "replace")):
        marks.append("names a day without its date")
    if memory.origin != "agent":
        marks.append(f"words of: {memory.origin}")
    return marks


def _plain(text: str) -> str:
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= 160 else shown[:159] + "…"
