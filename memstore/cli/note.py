"""`note`: the log of the day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import inputs, terminal
from memstore.cli.state import State, json_option, operation_option
from memstore.cli.terminal import printable
from memstore.errors import InputRefused

if TYPE_CHECKING:
    from memstore.daily import LogDay, LogItem, Noted

_WHO = {"note": "", "line": "", "user": "user: ", "assistant": "assistant: ", "tool": "tool: "}


@click.command(cls=inputs.TextCommand)
@click.argument("words", metavar="TEXT", nargs=-1)
@click.option("--session", metavar="SESSION", help="The session that the entry is of (without it, the one around).")
@click.option("--list", "listed", is_flag=True, help="Show the log instead: of today, or as --day and --days say.")
@click.option("--day", metavar="DAY", help="With --list: the day, such as 2026-03-01; with --days the last one.")
@click.option("--days", metavar="N", type=click.IntRange(1, 366), help="With --list: so many days.")
@operation_option
@json_option
@click.pass_obj
def note(
    state: State,
    words: tuple[str, ...],
    session: str | None,
    listed: bool,
    day: str | None,
    days: int | None,
    operation: str | None,
) -> None:
    """Add an entry to the log of the day: logs/YYYY/MM/YYYY-MM-DD.md in the memory folder.

    TEXT, also with a dash before it; - or none for standard input. The day is your own, and the time says how far it
    is from UTC. Entries are only ever added, whole and in the order in which they arrive; what others write into the
    file stays. A later dream makes memories of what is worth it.
    """
    if listed:
        if words or operation is not None:
            raise click.UsageError("--list shows the log, and adds nothing to it")
        _list(state, day, days or 1, session)
        return
    if day is not None or days is not None:
        raise click.UsageError("--day and --days go with --list")
    text = _text(state, words)
    if session is not None and not (0 < len(session) <= 200 and session.isascii() and session.isprintable()):
        raise InputRefused("that is no session", hint="its id is 1 to 200 printable ASCII characters")
    with state.open(make=True) as memories:
        noted = memories.note(text, operation=operation, session=session)
    _tell(state, noted)


def _text(state: State, words: tuple[str, ...]) -> str:
    if words and words != ("-",):
        return inputs.argument_text(" ".join(words))
    if not inputs.has_piped_input():
        state.note("type the text, then press Ctrl-D on a line of its own")
    return inputs.standard_input()


def _tell(state: State, noted: Noted) -> None:
    if state.json:
        state.emit("note", {"noted": _noted_shape(noted), "days": []})
    from memstore.core.daylog import time_of

    done = "done before, nothing new:" if noted.repeated else "noted"
    entry = noted.entry
    state.report(printable(f"{done} {time_of(entry.at, entry.zone)} in {noted.path}"))
    if noted.unshown:
        state.note(f"not projected: {noted.path}: {noted.unshown}")
        state.note("  the entry is kept; once that is mended the next command puts it there")


def _list(state: State, day: str | None, days: int, session: str | None) -> None:
    with state.open() as memories:
        found = memories.day_log(day, days=days)
    if session is not None:
        from dataclasses import replace

        found = [replace(one, items=tuple(item for item in one.items if item.session == session)) for one in found]
    if state.json:
        state.emit("note", {"noted": None, "days": [_day_shape(one) for one in found]})
        return
    for one in found:
        if one.items and days > 1:
            state.say(terminal.bold(one.day))
        for item in one.items:
            state.say(_line(item))
        for path, reason in one.unread.items():
            state.note(f"note: {path}: {reason}")
    if not any(one.items for one in found):
        when = found[0].day if days == 1 else f"{found[0].day} to {found[-1].day}"
        state.note(f"nothing {'of that session ' if session is not None else ''}is in the log of {when}")


def _line(item: LogItem) -> str:
    first, *rest = printable(f"{_WHO[item.who]}{item.text}", lines=True).split("\n")
    head = " ".join(filter(None, (item.time, first)))
    return "\n".join([head, *(f"    {line}".rstrip() for line in rest)])


def _noted_shape(noted: Noted) -> dict[str, object]:
    from memstore.cli.shaping import moment_shape
    from memstore.core.daylog import time_of

    entry = noted.entry
    return {
        "id": entry.id,
        "at": moment_shape(entry.at),
        "day": entry.day,
        "time": time_of(entry.at, entry.zone),
        "text": entry.text,
        "session": entry.session,
        "path": noted.path,
        "unshown": noted.unshown,
        "repeated": noted.repeated,
    }


def _day_shape(one: LogDay) -> dict[str, object]:
    from memstore.cli.shaping import moment_shape

    return {
        "day": one.day,
        "path": one.path,
        "entries": [
            {
                "who": item.who,
                "at": None if item.at is None else moment_shape(item.at),
                "time": item.time,
                "text": item.text,
                "session": item.session,
                "origin": item.origin,
                "path": item.path,
            }
            for item in one.items
        ],
        "unread": [{"path": path, "reason": reason} for path, reason in one.unread.items()],
    }
