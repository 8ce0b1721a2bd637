"""A session's transcript, read on from where it was read before. The file is another's: it is only ever read.

The client appends lines, but files are also rewritten, cut, copied and deleted. So a mark says not only how far a file
was read but also what was read: where the bytes before it are others now, the reading begins anew, and the caller
leaves out what it knows by the digests of the entries. A last line without its end is left for the next reading; where
it is whole all the same, what it says is told apart, for there may be no other reading.
Memory does not grow with the file or its lines, only with what was said.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memstore.claude.entries import Entry, ToolCall, entries_of
from memstore.claude.long_lines import LongLine

if TYPE_CHECKING:
    from hashlib import _Hash

LONG_LINE: Final = 1024 * 1024
"""Bytes above which a line is not taken in whole."""
MOST_CORRUPT: Final = 1000
"""How many numbers of lines that could not be read are kept."""

_CHUNK = 256 * 1024
# O_NONBLOCK: opening a FIFO must not wait for somebody to write into it.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a transcript was read. `message`: the id of the last entry; `digest`: SHA-256 of the bytes before
    `offset`, which is the beginning of a line."""

    message: str
    offset: int
    digest: bytes


START: Final = Mark("", 0, hashlib.sha256().digest())
"""Nothing was read yet."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came after a mark.

    `mark`: the new one. `corrupt`: the numbers, from 1, of lines that are no JSON objects, at most the first 1000.
    `replaced`: characters of texts that became U+FFFD. `torn`: the last line has no end yet and was left.
    `unended`: its entries, where it is whole all the same; the mark stands before it. `fits`: the file is still the one
    of the mark; otherwise it was read from its start. `missing`: there is no regular file, or, where `unreadable` says
    why, none that can be read now; then the mark is the given one, and the rest says nothing.
    """

    entries: tuple[Entry, ...]
    mark: Mark
    corrupt: tuple[int, ...] = ()
    replaced: int = 0
    torn: bool = False
    fits: bool = True
    missing: bool = False
    unreadable: str = ""
    unended: tuple[Entry, ...] = ()


def read(path: str, mark: Mark, *, until: int | None = None) -> Reading:
    """The entries after a mark. Lines that begin at the byte `until` or after it are left for another reading.

    Raises nothing for what the file is, or becomes while it is read: what was there is told of.
    """
    try:
        handle = os.open(path, _FLAGS)
    except ValueError:
        return Reading((), mark, missing=True)
    except OSError as error:
        return Reading((), mark, missing=True, unreadable="" if error.errno in _GONE else _why(error))
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return Reading((), mark, missing=True)
        return _read(handle, found.st_size, mark, until)
    except OSError as error:
        return Reading((), mark, missing=True, unreadable=_why(error))
    finally:
        os.close(handle)


def _why(error: OSError) -> str:
    return error.strerror or "it cannot be read"


def abandoned(entries: Sequence[Entry]) -> frozenset[str]:
    """The ids of lines that the person went back behind, to say something else instead.

    The conversation is the chain of parents from the last line of the main agent. Results of tools that ran side by
    side, lines of one answer, and what the client hangs on any of them branch off it and belong to it. What cannot be
    told counts as said: lines that name no parent, and all before a line whose parent is not here.
    """
    main = [entry for entry in entries if entry.kind != "subagent" and entry.id]
    place: dict[str, int] = {}
    for number, entry in enumerate(main):
        place.setdefault(entry.id, number)
    at = max((number for number, entry in enumerate(main) if entry.kind not in ("machine", "boundary")), default=-1)
    said: set[str] = set()
    chain: list[int] = []
    while at >= 0:
        entry = main[at]
        said.add(entry.id)
        chain.append(at)
        if entry.parent == "" and entry.kind != "boundary":
            break
        before = place.get(entry.parent or "", -1)
        # A parent that comes later, as no client writes it, would lead in a circle.
        at = before if 0 <= before < at else at - 1
    beside: set[str] = set()
    for entry in main:
        above = main[place[entry.parent]] if entry.parent in place else None
        if entry.id in said or above is None or above.id not in said:
            continue
        belongs = above.kind == "assistant" and entry.kind in ("assistant", "tool")
        if belongs or above.id in beside:
            beside.add(entry.id)
        if entry.id in beside or entry.kind == "machine":
            said.add(entry.id)
    left = [entry for entry in main if entry.id not in said and entry.parent is not None]
    return frozenset(entry.id for entry in left) - _went_on(left, place, chain[::-1])


def _went_on(left: Sequence[Entry], place: Mapping[str, int], chain: Sequence[int]) -> frozenset[str]:
    """Of what lies beside the chain, the branches on which something was said after the chain had taken another way."""
    tops: dict[str, Entry] = {}
    alive: set[str] = set()
    for entry in left:
        top = tops[entry.id] = tops.get(entry.parent or "", entry)
        fork = place.get(top.parent or "", -1)
        parted = chain[min(bisect_right(chain, fork), len(chain) - 1)]
        if entry.kind in ("person", "assistant") and place[entry.id] > parted:
            alive.add(top.id)
    return frozenset(entry.id for entry in left if tops[entry.id].id in alive)


def _read(handle: int, size: int, mark: Mark, until: int | None) -> Reading:
    lines = _resumed(handle, size, mark, until)
    fits = lines is not None
    if lines is None:
        lines = _Lines(handle, size, until)
    entries: list[Entry] = []
    corrupt: list[int] = []
    replaced = 0
    message = mark.message if fits else ""
    for content in lines:
        if not content.strip(b" \t\r\0") and content is not _LOST:
            continue
        made = entries_of(content, lines.number, lines.offset)
        if made is None:
            corrupt.append(lines.number)
            del corrupt[MOST_CORRUPT:]
            continue
        entries += made[0]
        replaced += made[1]
        message = next((entry.id for entry in made[0] if entry.id), message)
    new = Mark(message, lines.offset, lines.digest)
    last = entries_of(lines.torn.content(), lines.number + 1, lines.offset + lines.torn.length) if lines.torn else None
    unended = () if last is None else tuple(last[0])
    return Reading(tuple(entries), new, tuple(corrupt), replaced, lines.torn is not None, fits, unended=unended)


def _resumed(handle: int, size: int, mark: Mark, until: int | None) -> _Lines | None:
    """The lines after the mark; None: what lies before it is not what was read."""
    if not 0 <= mark.offset <= size:
        return None
    seen, newlines = hashlib.sha256(), 0
    for chunk in _chunks(handle, 0, mark.offset):
        seen.update(chunk)
        newlines += chunk.count(b"\n")
    return _Lines(handle, size, until, mark.offset, newlines, seen) if seen.digest() == mark.digest else None


_LOST = b"\0"
"""Stands for a long line of which nothing could be kept."""


class _Lines:
    """The whole lines of a file from an offset on, without their ends; they say how far they have come.

    `offset`: behind the last line that was given; `number`: its number, from 1; `digest`: of all bytes up to it.
    `torn`: what lies behind that, without an end.
    """

    def __init__(
        self, handle: int, size: int, until: int | None, offset: int = 0, number: int = 0, seen: _Hash | None = None
    ) -> None:
        self._handle, self._size, self._until = handle, size, until
        self.offset, self.number = offset, number
        self.torn: _Line | None = None
        self._seen = seen or hashlib.sha256()

    @property
    def digest(self) -> bytes:
        return self._seen.digest()

    def __iter__(self) -> Iterator[bytes]:
        line = _Line()
        ahead = self._seen.copy()
        for chunk in _chunks(self._handle, self.offset, self._size):
            at = 0
            while at < len(chunk):
                if self._until is not None and self.offset >= self._until:
                    return
                end = chunk.find(b"\n", at) + 1
                piece = chunk[at : end or len(chunk)]
                ahead.update(piece)
                line.add(piece)
                if not end:
                    break
                at = end
                self.offset += line.length
                self.number += 1
                self._seen = ahead.copy()
                yield line.content()
                line = _Line()
        self.torn = line if line.length else None


class _Line:
    """One line as it comes in."""

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[bytes] = []
        self._long: LongLine | None = None

    def add(self, piece: bytes) -> None:
        self.length += len(piece)
        if self._long is None and self.length > LONG_LINE:
            self._long = LongLine()
            for earlier in self._pieces:
                self._long.feed(earlier)
            self._pieces.clear()
        if self._long is None:
            self._pieces.append(piece)
        else:
            self._long.feed(piece)

    def content(self) -> bytes:
        """Without the end of the line."""
        if self._long is not None:
            return self._long.finish().rstrip(b"\r\n") or _LOST
        return b"".join(self._pieces).removesuffix(b"\n").removesuffix(b"\r")


def _chunks(handle: int, start: int, end: int) -> Iterator[bytes]:
    """The bytes from `start` to `end`, or to where the file ends now."""
    while start < end:
        chunk = os.pread(handle, min(_CHUNK, end - start), start)
        if not chunk:
            return
        yield chunk
        start += len(chunk)


__all__: Sequence[str] = ("LONG_LINE", "START", "Entry", "Mark", "Reading", "ToolCall", "abandoned", "read")
