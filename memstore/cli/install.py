"""`install` and `uninstall`: the plugin for Claude Code, and what other agents' configurations need."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import click

from memstore.cli import exits
from memstore.cli.state import State, json_option
from memstore.cli.terminal import diff_text, plural, printable
from memstore.errors import InputRefused, PlaceRefused

if TYPE_CHECKING:
    from memstore.claude.install import Change, Plan
    from memstore.installing import Places

_yes_option = click.option("-y", "--yes", is_flag=True, help="Do it without asking.")
_dry_option = click.option("-n", "--dry-run", is_flag=True, help="Only show what would be changed.")
_agent_argument = click.argument("agent", type=click.Choice(["claude"]), required=False)


@click.command()
@_agent_argument
@click.option("--user", "scope", flag_value="user", default="user", help="For all your projects (without an option).")
@click.option("--project", "scope", flag_value="project", help="For this repository and its worktrees only.")
@click.option("--plugin-dir", metavar="DIR", help="Only write the plugin into DIR, for `claude --plugin-dir DIR`.")
@click.option(
    "--print",
    "printed",
    type=click.Choice(["codex", "cursor", "vscode", "mcp"]),
    help="Print what the configuration of another agent needs, and change nothing.",
)
@_yes_option
@_dry_option
@json_option
@click.pass_obj
def install(
    state: State,
    agent: str | None,
    scope: Literal["user", "project"],
    plugin_dir: str | None,
    printed: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Give Claude Code the memstore plugin: hooks, skills and the MCP server. Needs Claude Code 2.1.157 or newer.

    Shows each change first and asks. What was in a settings file stays, byte for byte; `memstore uninstall
    claude` takes the plugin's own entries and files out again. Run it once more after memstore was moved or
    upgraded, or after the setting autoMemoryDirectory was changed.
    """
    if printed is not None:
        if agent is not None or plugin_dir is not None or state.json:
            raise click.UsageError("--print stands alone: what it prints is the configuration itself")
        _print_snippet(state, printed)
        return
    if agent is None:
        raise click.UsageError("name the agent: `memstore install claude`, or --print for another one")
    from memstore import installing
    from memstore.claude import install as planning

    world = state.world()
    places = installing.Places.find(world)
    if plugin_dir is not None:
        files = installing.rendered(world, places)
        directory = os.path.abspath(state.path(plugin_dir))
        if not dry_run:
            installing.render_into(directory, files)
        word = "would be written into" if dry_run else "written into"
        state.report(printable(f"{plural(len(files), 'file')} {word} {directory}: `claude --plugin-dir` takes it"))
        if state.json:
            changes = [{"kind": "plugin", "path": os.path.join(directory, path), "change": "new"} for path in files]
            state.emit("install", {"changes": changes, "warnings": [], "done": not dry_run})
        return

    def planned() -> tuple[Plan, Sequence[str]]:
        standing = installing.standing(places, project=scope == "project")
        blocked, warnings = planning.obstacles(installing.policy(places, standing))
        if blocked:
            raise PlaceRefused(
                f"the client would not load the plugin: {blocked}",
                hint="whoever manages these settings can allow it; the MCP server alone:"
                " `memstore install --print mcp`",
            )
        return planning.install(standing, installing.rendered(world, places), scope), warnings

    if _settle(state, places, planned, "install", yes, dry_run):
        state.report("installed: it counts in sessions of Claude Code that start from now on")


@click.command()
@_agent_argument
@click.option("--project", is_flag=True, help="Only for this repository; it stays installed for others.")
@_yes_option
@_dry_option
@json_option
@click.pass_obj
def uninstall(state: State, agent: str | None, project: bool, yes: bool, dry_run: bool) -> None:
    """Take the plugin out of Claude Code: its own entries and files, nothing else. The memories stay.

    Shows each change first and asks.
    """
    if agent is None:
        raise click.UsageError("name the agent: `memstore uninstall claude`")
    from memstore import installing
    from memstore.claude import install as planning

    places = installing.Places.find(state.world())

    def planned() -> tuple[Plan, Sequence[str]]:
        standing = installing.standing(places, project=project)
        plan = planning.uninstall(standing, "project" if project else None)
        return plan, plan.warnings

    if _settle(state, places, planned, "uninstall", yes, dry_run):
        state.report("uninstalled: sessions that run keep the plugin until they end")


def _settle(
    state: State,
    places: Places,
    planned: Callable[[], tuple[Plan, Sequence[str]]],
    command: str,
    yes: bool,
    dry_run: bool,
) -> bool:
    """Shows the plan, asks, and carries it out; True where that was done."""
    from memstore import installing

    plan, warnings = planned()
    _show(state, places, plan, warnings)
    if not dry_run:
        if plan.changes and not yes:
            _ask(state, command)
        # Without a change too: the record is written again, should it have been lost, and what an interrupted run
        # left over goes.
        with installing.alone(places, make=plan.record is not None):
            shown = plan
            plan, warnings = planned()
            if plan != shown:
                if not yes:
                    raise PlaceRefused("what was shown has changed; nothing was done", hint="run the command again")
                _show(state, places, plan, warnings)
            installing.carry_out(plan, places)
    done = bool(plan.changes) and not dry_run
    if not plan.changes:
        state.report(f"nothing to change: it is {'installed' if command == 'install' else 'not there'}")
    if state.json:
        changes = [
            {"kind": change.kind, "path": _path(change, places), "change": _word(change)} for change in plan.changes
        ]
        state.emit(command, {"changes": changes, "warnings": list(warnings), "done": done})
    return done


def _show(state: State, places: Places, plan: Plan, warnings: Sequence[str]) -> None:
    """What the plan changes; raises PlaceRefused where that cannot be done."""
    from memstore import installing

    for warning in warnings:
        state.note(f"note: {warning}")
    if plan.changes and not state.json:
        state.say("\n".join(_told(plan, places)))
    hindrances = installing.hindrances(plan)
    if hindrances:
        raise PlaceRefused(
            f"nothing was changed, for {hindrances[0]}", hint="mend that, or make the change shown above by hand"
        )


def _ask(state: State, command: str) -> None:
    if state.json or sys.stdin is None or not sys.stdin.isatty():
        raise InputRefused(
            "nobody is at a terminal to agree to this",
            hint="look at it with --dry-run, then repeat the command with --yes",
        )
    if not click.confirm(f"{command.capitalize()}?", err=True):
        state.note("nothing was changed")
        raise exits.Finished(exits.OK)


def _told(plan: Plan, places: Places) -> list[str]:
    """Each change: links and files of the plugin by name, settings as a difference."""
    from memstore.core.compare import unified

    lines: list[str] = []
    for change in plan.changes:
        path = _path(change, places)
        if change.kind == "settings":
            before, after = (None if text is None else text.encode() for text in (change.before, change.after))
            sides = (path if before is not None else "/dev/null", path if after is not None else "/dev/null")
            lines += [f"{_word(change):8} {printable(path)}"]
            lines += [diff_text(unified(before or b"", after or b"", *sides))]
        elif change.kind == "link" and change.after is not None:
            lines.append(f"{_word(change):8} {printable(path)} -> {printable(change.after)}")
        else:
            lines.append(f"{_word(change):8} {printable(path)}")
    return lines


def _path(change: Change, places: Places) -> str:
    return os.path.join(places.plugin, change.path) if change.kind == "plugin" else change.path


def _word(change: Change) -> str:
    return "new" if change.before is None else "gone" if change.after is None else "changed"


def _print_snippet(state: State, agent: str) -> None:
    from memstore.claude.plugin import SNIPPETS, snippet
    from memstore.installing import launch

    state.note(SNIPPETS[agent])
    state.say(snippet(agent, launch(), state.world().environment).rstrip("\n"))
