"""What was said since a session's notes were last brought up to date, and whether it is time for the next update.

The cursor of the notes stands *before* the last answer that they know, and names it: how large the context was then is
read again with it, and its growth counted from there. What a compaction takes out of the context is no growth, nor is
it one that the context begins smaller after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstore.claude import transcript
from memstore.claude.entries import Entry
from memstore.claude.transcript import Mark, Reading
from memstore.core.model import NOTES_KIND
from memstore.core.settings import Settings
from memstore.errors import Conflict
from memstore.store.jobs import Job
from memstore.store.runs import Cursor


@dataclass(frozen=True, slots=True)
class Since:
    """What came after the last update. `entries`: what is new. `known`: the last answer that the notes know of.

    `first`: there was no update yet.
    """

    reading: Reading
    entries: tuple[Entry, ...]
    known: Entry | None
    first: bool


@dataclass(frozen=True, slots=True)
class Pace:
    """When notes are updated. `start` and `every`: tokens of context; `calls`: calls of tools between two updates."""

    start: int
    every: int
    calls: int

    @classmethod
    def of(cls, settings: Settings) -> Pace:
        """As it is set. Raises SettingRefused."""
        return cls(*(settings.number(f"notes.{name}") for name in ("start", "every", "calls")))


def since(job: Job, cursor: Cursor | None) -> Since:
    """What the job's transcript holds that the notes do not know."""
    reading = transcript.read(job.transcript, mark_of(cursor, job))
    entries = reading.entries
    if cursor is None:
        return Since(reading, entries, None, True)
    named = (number for number, entry in enumerate(entries) if entry.id and entry.id == cursor.message)
    at = max(named, default=-1)
    known = entries[at] if at >= 0 else None
    new = entries if known is None else tuple(entry for entry in entries if entry.line > known.line)
    return Since(reading, new, known, False)


def is_due(said: Since, pace: Pace) -> bool:
    """Whether it is time for an update.

    The first comes when the context has `start` tokens; the next when it grew by `every`, and as many tools were called
    as `pace` says or the last answer called none, which is a natural pause.
    """
    if said.first:
        return growth(said.entries, 0) >= pace.start
    answers = [entry for entry in said.entries if entry.kind == "assistant"]
    if not answers or growth(said.entries, said.known.tokens if said.known is not None else None) < pace.every:
        return False
    return sum(len(entry.tools) for entry in answers) >= pace.calls or not answers[-1].tools


def growth(entries: Sequence[Entry], begin: int | None) -> int:
    """By how many tokens the context grew over these entries, from `begin` on; None: from their first answer on."""
    grown, first, last = 0, begin, begin
    for entry in entries:
        if entry.kind == "boundary":
            grown += max((last or 0) - (first or 0), 0)
            first = last = None
        elif entry.tokens:
            first, last = entry.tokens if first is None else first, entry.tokens
    return grown + max((last or 0) - (first or 0), 0)


def mark_of(cursor: Cursor | None, job: Job) -> Mark:
    """Where the reading begins. A transcript elsewhere is another file: it is read from its start."""
    if cursor is None or cursor.transcript != job.transcript:
        return transcript.START
    return Mark(cursor.message, cursor.offset, cursor.digest)


def cursor_after(said: Since, job: Job, before: Cursor | None, end: int | None) -> Cursor:
    """The cursor when the notes know what was said. `end`: up to which byte that is; None: all of it.

    Raises Conflict where the transcript was written anew meanwhile.
    """
    if end is not None:
        read = _again(said, job, before, end)
        return _cursor(job, read.mark, read.mark.message)
    answers = [entry for entry in said.reading.entries if entry.tokens]
    if not answers:
        return _cursor(job, said.reading.mark, said.reading.mark.message)
    last = answers[-1]
    ends = (entry.end for entry in said.reading.entries if entry.line < last.line)
    read = _again(said, job, before, max(ends, default=0))
    return _cursor(job, read.mark, last.id)


def _again(said: Since, job: Job, before: Cursor | None, end: int) -> Reading:
    read = transcript.read(job.transcript, mark_of(before, job), until=end)
    known = [entry.digest for entry in said.reading.entries[: len(read.entries)]]
    if read.missing or [entry.digest for entry in read.entries] != known:
        raise Conflict("the transcript was written anew while it was read")
    return read


def _cursor(job: Job, mark: Mark, message: str) -> Cursor:
    return Cursor(NOTES_KIND, job.session, job.transcript, message, mark.offset, mark.digest)
