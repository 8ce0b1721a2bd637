"""`dream install-cron` and `dream uninstall-cron`: a dream at a time of day."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.state import State, json_option
from memstore.cli.terminal import printable
from memstore.errors import InputRefused, PlaceRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from memstore.scheduling import Change, Plan, Schedule

_yes_option = click.option("-y", "--yes", is_flag=True, help="Do it without asking.")
_dry_option = click.option("-n", "--dry-run", is_flag=True, help="Only show what would be changed.")


@click.command("install-cron")
@click.option("--systemd", is_flag=True, help="A timer of your systemd instead of a line in your crontab.")
@click.option("--at", "time", metavar="HH:MM", help="When (without it, as it is, or at a minute before six).")
@_yes_option
@_dry_option
@json_option
@click.pass_obj
def install_cron(state: State, systemd: bool, time: str | None, yes: bool, dry_run: bool) -> None:
    """Have these memories tidied by a dream once a day, by cron or systemd.

    Shows the line or the units first and asks. Run again it changes the time, or what has moved since; nothing else
    in your crontab is touched.
    """
    from memstore.core.schedule import clock, parse_at

    at = None if time is None else parse_at(time)
    schedule = _schedule(state)

    def planned() -> Plan:
        return schedule.install("systemd" if systemd else "crontab", at)

    plan = _settle(state, schedule, planned, "install-cron", yes, dry_run)
    if plan.at is not None and not dry_run:
        state.report(f"a dream starts every day at {clock(plan.at)}")


@click.command("uninstall-cron")
@_yes_option
@_dry_option
@json_option
@click.pass_obj
def uninstall_cron(state: State, yes: bool, dry_run: bool) -> None:
    """Take the line or the units of `install-cron` away, and nothing else. Shows them first and asks."""
    schedule = _schedule(state)
    plan = _settle(state, schedule, schedule.uninstall, "uninstall-cron", yes, dry_run)
    if plan.changes and not dry_run:
        state.report("no dream starts by itself at a time of day any more")


def _schedule(state: State) -> Schedule:
    from memstore.place import find_place, registered
    from memstore.scheduling import Schedule

    world = state.world()
    return Schedule(world, registered(find_place(world), world, make=False))


def _settle(
    state: State, schedule: Schedule, planned: Callable[[], Plan], command: str, yes: bool, dry_run: bool
) -> Plan:
    """Shows the plan, asks, and carries it out."""
    from memstore.core.schedule import clock

    plan = planned()
    for warning in plan.warnings:
        state.note(f"note: {warning}")
    if not state.json:
        for change in plan.changes:
            state.say(_told(change))
    if not plan.changes:
        state.report("nothing to change: " + ("it is there" if command == "install-cron" else "it is not there"))
    if not dry_run:
        if plan.changes and not yes:
            _ask(state, command)
        again = planned()
        if again != plan:
            raise PlaceRefused("what was shown has changed; nothing was done", hint="run the command again")
        schedule.carry_out(plan)
    if state.json:
        state.emit(
            f"dream {command}",
            {
                "at": None if plan.at is None else clock(plan.at),
                "changes": [_shape(change) for change in plan.changes],
                "warnings": list(plan.warnings),
                "done": bool(plan.changes) and not dry_run,
            },
        )
    return plan


def _ask(state: State, command: str) -> None:
    if state.json or sys.stdin is None or not sys.stdin.isatty():
        raise InputRefused(
            "nobody is at a terminal to agree to this",
            hint="look at it with --dry-run, then repeat the command with --yes",
        )
    if not click.confirm("Change this?", err=True):
        state.note("nothing was changed")
        raise exits.Finished(exits.OK)


def _told(change: Change) -> str:
    """The lines that go and come, below the name of what they stand in."""
    sides = [("-", change.before), ("+", change.after)]
    lines = [
        f"{sign} {printable(line)}"
        for sign, text in sides
        if text is not None
        for line in text.decode("utf-8", "replace").rstrip("\n").split("\n")
    ]
    return "\n".join([f"{_word(change):8} {printable(change.path)}", *lines])


def _shape(change: Change) -> dict[str, object]:
    before, after = (
        None if text is None else text.decode("utf-8", "replace") for text in (change.before, change.after)
    )
    return {"kind": change.kind, "path": change.path, "change": _word(change), "before": before, "after": after}


def _word(change: Change) -> str:
    return "new" if change.before is None else "gone" if change.after is None else "changed"
