"""A command that is started once a day: as a line of a crontab, or as a timer of systemd. Pure.

A crontab's command is read by cron, for which `%` ends it, and then by a shell; a unit's by systemd alone, which has
quotes, `%` and `$` of its own. What belongs to one store is known by the store's id; all else is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote

from memstore.errors import InputRefused

LONGEST_LINE = 990
"""Bytes that every cron takes in a line."""

_AT = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_LINE = re.compile(rb"\s*([0-9]{1,2})\s+([0-9]{1,2})\s+\*\s+\*\s+\*\s")
_CALENDAR = re.compile(rb"^OnCalendar=\*-\*-\* ([0-9]{2}):([0-9]{2}):00$", re.MULTILINE)
_MARK = b"# memstore dream "
_MADE = "# Made by `memstore dream install-cron`, which also takes it away: `memstore dream uninstall-cron`."


@dataclass(frozen=True, slots=True)
class Daily:
    """What is started once a day. `at`: minutes since midnight; `root`: whose memories it is for, by `store`."""

    at: int
    root: str
    store: str
    command: Sequence[str]
    variables: Mapping[str, str]


def parse_at(text: str) -> int:
    """Minutes since midnight for `3:07`. Raises InputRefused."""
    found = _AT.fullmatch(text.strip())
    if found is None:
        raise InputRefused(f"{text[:40]!r} is no time of day", hint="write it as 03:07")
    return int(found[1]) * 60 + int(found[2])


def clock(at: int) -> str:
    """`03:07`."""
    return f"{at // 60:02}:{at % 60:02}"


def crontab_line(daily: Daily) -> bytes:
    """The line of a crontab, without its end. Raises InputRefused for what no crontab can hold."""
    assigned = [f"{name}={quote(value)}" for name, value in daily.variables.items()]
    words = " ".join([*assigned, *map(quote, daily.command)])
    _check(words)
    times = f"{daily.at % 60} {daily.at // 60} * * *"
    line = f"{times} {words.replace('%', chr(92) + '%')} ".encode("utf-8", "surrogateescape") + _mark(daily.store)
    if len(line) > LONGEST_LINE:
        raise InputRefused(
            f"the line would have {len(line)} bytes, and a crontab takes {LONGEST_LINE}",
            hint="use a timer of systemd: --systemd",
        )
    return line


def line_of(crontab: bytes, store: str) -> bytes | None:
    """The store's line; None where there is none."""
    return next((line for line in crontab.split(b"\n") if _is_of(line, store)), None)


def with_line(crontab: bytes, store: str, line: bytes | None) -> bytes:
    """The crontab with this line for the store, in the place of the one it had; None: with none."""
    lines = crontab.split(b"\n")
    own = [number for number, each in enumerate(lines) if _is_of(each, store)]
    kept = [
        line if own[:1] == [number] and line is not None else each
        for number, each in enumerate(lines)
        if number not in own or (line is not None and number == own[0])
    ]
    if own or line is None:
        return b"\n".join(kept)
    return (crontab if not crontab or crontab.endswith(b"\n") else crontab + b"\n") + line + b"\n"


def at_in_line(line: bytes) -> int | None:
    """When a line of ours starts its command."""
    found = _LINE.match(line)
    return None if found is None or int(found[2]) > 23 or int(found[1]) > 59 else int(found[2]) * 60 + int(found[1])


def unit_name(store: str) -> str:
    """What the units of a store are called."""
    return f"memstore-dream-{store}"


def service(daily: Daily) -> bytes:
    """The unit that runs the command. Raises InputRefused for what no unit can hold."""
    _check(" ".join([*daily.command, *daily.variables.values(), daily.root]))
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in daily.variables.items())
    command = " ".join(_quoted(word).replace("$", "$$") for word in daily.command)
    text = (
        f"{_MADE}\n[Unit]\nDescription=memstore dream of {_escaped(daily.root)}\n\n"
        f"[Service]\nType=oneshot\n{environment}ExecStart={command}\n"
    )
    return text.encode("utf-8", "surrogateescape")


def timer(daily: Daily) -> bytes:
    """The unit that starts it once a day, also later where the machine was off."""
    return (
        f"{_MADE}\n[Unit]\nDescription=memstore dream of {_escaped(daily.root)}, once a day\n\n"
        f"[Timer]\nOnCalendar=*-*-* {clock(daily.at)}:00\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
    ).encode("utf-8", "surrogateescape")


def at_in_timer(text: bytes) -> int | None:
    """When a timer of ours starts its unit."""
    found = _CALENDAR.search(text)
    return None if found is None or int(found[1]) > 23 or int(found[2]) > 59 else int(found[1]) * 60 + int(found[2])


def is_ours(unit: bytes) -> bool:
    """Whether a unit was made here."""
    return unit.startswith(_MADE.encode())


def _mark(store: str) -> bytes:
    return _MARK + store.encode()


def _is_of(line: bytes, store: str) -> bool:
    return line.rstrip().endswith(_mark(store)) and not line.lstrip().startswith(b"#")


def _check(text: str) -> None:
    if any(character < " " or character == "\x7f" for character in text):
        raise InputRefused("a path with a line end or another control character can stand in no crontab and no unit")


def _quoted(word: str) -> str:
    return '"' + _escaped(word).replace('"', '\\"') + '"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "%%")
