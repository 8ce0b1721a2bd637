"""A person's word: what an agent is refused, and the question that is asked first."""

from __future__ import annotations

import sys

import click

from memstore.cli import exits
from memstore.cli.state import State
from memstore.errors import InputRefused, NotTrusted
from memstore.world import World


def check_person(world: World, command: str, what: str) -> None:
    """Raises NotTrusted where an agent runs this. `what`: as in "to remove backups"."""
    variable = world.agent()
    if variable is not None:
        raise NotTrusted(
            f"{what} is a person's decision, and ${variable} says that an agent runs this",
            hint=f"run `memstore {command}` in a terminal of your own",
        )


def ask(state: State, question: str, yes: bool) -> None:
    """Goes on where the person agrees, or agreed beforehand; ends the program where not.

    Raises InputRefused where nobody can be asked.
    """
    if yes:
        return
    if state.json or sys.stdin is None or not sys.stdin.isatty():
        raise InputRefused(
            "nobody is at a terminal to agree to this",
            hint="look at it with --dry-run, then repeat the command with --yes",
        )
    if not click.confirm(question, err=True):
        state.note("nothing was changed")
        raise exits.Finished(exits.OK)
