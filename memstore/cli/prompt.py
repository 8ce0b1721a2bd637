"""`prompt`: the memory section for the system prompt of an agent that has none."""

from __future__ import annotations

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import printable


@click.command()
@click.option("--log", is_flag=True, help="For an agent that only adds to the log of the day; a later pass arranges.")
@json_option
@click.pass_obj
def prompt(state: State, log: bool) -> None:
    """Print the memory section for an agent's system prompt: what to save and how, what not, and when to read.

    The text names the memory folder of this directory and is the same on every day, so that it can be cached.
    Claude Code has a section of its own and needs none.
    """
    from memstore.cli.where import look
    from memstore.prompting import section

    place, moved = look(state.world())
    text = section(None if moved is not None else place.folder, log=log)
    if state.json:
        state.emit("prompt", {"text": text})
    else:
        state.say(printable(text, lines=True).rstrip("\n"))
