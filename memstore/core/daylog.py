"""The log of the day: which file a moment belongs to, how an entry stands there, what such files say. Pure.

| file, in the memory folder | what it is |
|---|---|
| `logs/YYYY/MM/YYYY-MM-DD.md` | one for each day, by the person's own clock; memstore adds entries, and so may others |
| `logs/YYYY/MM/DD/<id>-<title>.md` | newer clients' own: one for each session; memstore only reads them |

An entry of memstore's begins with `- HH:MM +HH:MM `, the local time and how far it is from UTC. Its further lines are
indented so far that Markdown sees no heading, list or fence in them, and every reader of lines an indented line: no
text can pass for another entry or close one. Clients have put `>`, `<` or `.` before what the user said, what the
assistant said, and what a tool did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from memstore.errors import InputRefused

DIRECTORY = "logs"
LARGEST = 64 * 1024
"""Bytes of the longest entry."""

Who = Literal["note", "user", "assistant", "tool", "line"]
"""What a piece of a log file is: an entry with its time, a line that a client has marked, or another line."""

_INDENT = " " * 6
# Whatever some reader takes for the end of a line.
_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAILY = re.compile(r"logs/([0-9]{4})/([0-9]{2})/(\1-\2-[0-9]{2})\.md")
_OF_SESSION = re.compile(r"logs/([0-9]{4})/([0-9]{2})/([0-9]{2})/([^/]+)\.md")
_ENTRY = re.compile(r"(?:[-*] )?([0-2][0-9]:[0-5][0-9])(?: ([+-][0-9]{2}:[0-9]{2}))?(?: (.*))?")
_MARKS: dict[str, Who] = {">": "user", "<": "assistant", ".": "tool"}
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a log file. `time`: as it stands there, such as `05:30 +09:00`, or empty. `raw`: its very lines."""

    who: Who
    time: str
    text: str
    raw: str


def checked(text: str) -> str:
    """The text of an entry, without blank lines around it. Raises InputRefused for what can be none."""
    if any("\ud800" <= character <= "\udfff" for character in text) or "\0" in text:
        raise InputRefused("the note is not valid text", hint="leave NUL and half characters out")
    lines = _BREAK.split(text)
    if not any(map(str.strip, lines)):
        raise InputRefused("the note is blank", hint="give it a text")
    size = len(text.encode())
    if size > LARGEST:
        raise InputRefused(f"the note has {size:,} bytes", hint=f"a note has at most {LARGEST:,}")
    return text.strip("\r\n")


def day_of(at: int, zone: int) -> str:
    """The local day of a moment. `at`: unix microseconds; `zone`: minutes east of UTC."""
    return _local(at, zone).date().isoformat()


def time_of(at: int, zone: int) -> str:
    """The local time of a moment, and how far it is from UTC: `05:30 +09:00`."""
    hours, minutes = divmod(abs(zone), 60)
    return f"{_local(at, zone):%H:%M} {'-' if zone < 0 else '+'}{hours:02}:{minutes:02}"


def moment(at: int, zone: int) -> str:
    """The same with its day: `2026-03-02 05:30 +09:00`."""
    return f"{day_of(at, zone)} {time_of(at, zone)}"


def parse_day(text: str) -> str:
    """A day that somebody names. Raises InputRefused for what is none."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise InputRefused(f"{text[:40]!r} is no day", hint="write it as 2026-03-01")


def days_until(day: str, count: int) -> list[str]:
    """So many days, the last of them `day`."""
    last = date.fromisoformat(day).toordinal()
    return [date.fromordinal(ordinal).isoformat() for ordinal in range(max(1, last - count + 1), last + 1)]


def path_of(day: str) -> str:
    """The file that the entries of a day are added to."""
    return f"{DIRECTORY}/{day[:4]}/{day[5:7]}/{day}.md"


def sessions_of(day: str) -> str:
    """The directory in which newer clients keep a file for each session of a day."""
    return f"{DIRECTORY}/{day[:4]}/{day[5:7]}/{day[8:]}"


def day_in(path: str) -> str | None:
    """The day that a log file belongs to, in either layout; None: it is none."""
    daily, of_session = _DAILY.fullmatch(path), _OF_SESSION.fullmatch(path)
    if daily is None and of_session is None:
        return None
    found = daily[3] if daily else "-".join(of_session.groups()[:3]) if of_session else ""
    try:
        return parse_day(found)
    except InputRefused:
        return None


def block(at: int, zone: int, text: str) -> str:
    """An entry as it stands in its file: whole lines."""
    first, newline, rest = indented(text).partition("\n")
    return (f"- {time_of(at, zone)} {first}".rstrip() + newline + rest).rstrip("\n") + "\n"


def indented(text: str) -> str:
    """A part of an entry as it stands in its file, where its further lines are."""
    first, *rest = _BREAK.split(text)
    return "\n".join((first, *(f"{_INDENT}{line}" if line.strip() else "" for line in rest)))


def pieces(text: str) -> list[Piece]:
    """What a log file says, piece by piece. A line that is indented or blank belongs to the one before it."""
    return [_piece(lines) for lines in _groups(text.replace("\r\n", "\n"))]


def _groups(text: str) -> Iterator[list[str]]:
    group: list[str] = []
    for line in text.split("\n"):
        if line[:1].strip() and group:
            yield group
            group = []
        if line.strip() or group:
            group.append(line)
    if group:
        yield group


def _piece(lines: list[str]) -> Piece:
    while not lines[-1].strip():
        lines.pop()
    first, *rest = lines
    raw = "\n".join(lines)
    body = [line.removeprefix(_INDENT) for line in rest]
    if found := _ENTRY.fullmatch(first):
        return Piece("note", " ".join(filter(None, found.groups()[:2])), "\n".join([found[3] or "", *body]), raw)
    if first[:1] in _MARKS and first[1:2] in ("", " "):
        return Piece(_MARKS[first[0]], "", "\n".join([first[2:], *body]), raw)
    return Piece("line", "", raw, raw)


def _local(at: int, zone: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=at, minutes=zone)
    except OverflowError:
        raise InputRefused("the clock shows no year of four digits", hint="set the machine's clock") from None
