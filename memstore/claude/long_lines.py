"""A line of JSON that is too long to be taken into memory: what was said in it is kept, and the rest let go. Pure.

Such lines carry an image, the output of a tool, a whole file. While the line's bytes come in, long strings are cut to
their beginning and end, and members that no entry is made from are left out. What remains is JSON again.
"""

from __future__ import annotations

import re
from typing import Final

HEAD: Final = 64 * 1024
TAIL: Final = 32 * 1024
"""Bytes of a string, as it is written, that are kept."""
_BRIEF = 256
_PLENTY = 1024 * 1024
_TOO_MUCH = 2 * 1024 * 1024

_WANTED = frozenset(
    b"agentId attachment cwd forkedFrom gitBranch interruptedMessageId isApiErrorMessage isCompactSummary isMeta"
    b" isSidechain isSynthetic isVisibleInTranscriptOnly logicalParentUuid message origin parentUuid permissionDecision"
    b" promptId promptSource rowSource scheduledTaskId sessionId sourceToolUseID subtype teamName timestamp"
    b" toolDenialKind turnCompanion turnOrigin type userFeedback holdsPersonsWords uuid".split()
)
# No pattern takes very much at once: the engine remembers each repetition.
_SIGNS = re.compile(rb'["{}\[\],]')
# What changes no depth: whole strings, and all between them.
_FLAT = re.compile(rb'(?:[^"{}\[\]]+|"[^"\\]*(?:\\.[^"\\]*)*"){1,500}', re.DOTALL)
_CHARACTERS = re.compile(rb'[^"\\]*(?:\\.[^"\\]*){0,500}', re.DOTALL)
_QUOTE = b'"'
# Whole characters of a string. The first half of a pair is whole with the second, or where another character follows.
_WHOLE = re.compile(
    rb"(?:[^\\]+|\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u(?![dD][89abAB])....|\\u....(?=.{6})){0,500}", re.DOTALL
)


class LongLine:
    """Takes a line piece by piece, and holds at most about two megabytes of it."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._depth = 0
        self._in_string = self._odd = False
        self._is_object = self._key_next = False
        self._dropping = False
        self._head = bytearray()
        self._tail = b""
        self._beyond = 0

    def feed(self, piece: bytes) -> None:
        """The next bytes of the line."""
        at = 0
        while at < len(piece) and len(self._out) <= _TOO_MUCH:
            if self._in_string:
                end = self._end_of_string(piece, at)
                self._take(piece[at:] if end < 0 else piece[at:end])
                if end < 0:
                    return
                self._close()
                at = end + 1
                continue
            if self._dropping and self._depth > 1 and (flat := _FLAT.match(piece, at)):
                at = flat.end()
                continue
            found = _SIGNS.search(piece, at)
            stop = found.start() if found else len(piece)
            if not self._dropping:
                self._out += piece[at:stop]
            if found:
                self._sign(found[0])
            at = stop + 1

    def finish(self) -> bytes:
        """What is kept of the line; nothing where even that would be too much."""
        return b"" if len(self._out) > _TOO_MUCH else bytes(self._out)

    def _sign(self, sign: bytes) -> None:
        if sign == _QUOTE:
            self._in_string, self._odd = True, False
            self._head.clear()
            self._tail, self._beyond = b"", 0
            return
        if sign in b"]}":
            self._depth -= 1
        ends = self._is_object and (self._depth == 1 if sign == b"," else self._depth == 0)
        if ends:  # of a member of the line's own object
            self._dropping = False
            self._key_next = sign == b","
        if not self._dropping:
            self._out += sign
        if sign in b"[{":
            if not self._depth and not self._is_object:
                self._is_object = self._key_next = sign == b"{"
            self._depth += 1

    def _end_of_string(self, piece: bytes, at: int) -> int:
        """Where the quotation mark is that no backslash takes away; -1: not in this piece."""
        if self._odd:
            at, self._odd = at + 1, False
        while (found := _CHARACTERS.match(piece, at)) and found.end() < len(piece):
            at = found.end()
            if piece[at : at + 1] == _QUOTE:
                return at
            if at + 1 == len(piece):  # a backslash, whose other half comes with the next piece
                self._odd = True
                break
        return -1

    def _take(self, piece: bytes) -> None:
        if self._dropping:
            return
        plenty = len(self._out) > _PLENTY
        room = max(0, (_BRIEF if plenty else HEAD) - len(self._head))
        self._head += piece[:room]
        rest = piece[room:]
        self._beyond += len(rest)
        if rest and not plenty:
            self._tail = (self._tail + rest)[-TAIL:]

    def _close(self) -> None:
        self._in_string = False
        if self._dropping:
            return
        is_key, self._key_next = self._key_next and self._depth == 1, False
        if is_key and bytes(self._head) not in _WANTED:
            self._out += b'"":null'
            self._dropping = True
            return
        self._out += _QUOTE + self._kept() + _QUOTE

    def _kept(self) -> bytes:
        if self._beyond == len(self._tail):
            return bytes(self._head) + self._tail
        head = _whole(bytes(self._head))
        # A space is no part of an escape or of another character: behind one the text is whole again.
        tail = self._tail.partition(b" ")[2]
        left = len(self._head) + self._beyond - len(head) - len(tail)
        return b"%b [... %d bytes left out ...] %b" % (head, left, tail)


def _whole(text: bytes) -> bytes:
    """The text up to the last character that is whole."""
    at, end = 0, -1
    while at != end and (found := _WHOLE.match(text, at)):
        at, end = found.end(), at
    return text[:at].decode("utf-8", "ignore").encode()
