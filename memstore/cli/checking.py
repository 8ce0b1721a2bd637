"""`check`: whether what memories name is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import exits
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_doubts
from memstore.cli.terminal import plural, printable

if TYPE_CHECKING:
    from memstore.checking import Checked


@click.command("check")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
@click.pass_obj
def check(state: State, names: tuple[str, ...]) -> None:
    """Look whether what memories name is there: files, lines and functions in them, branches.

    A memory is a note of the day on which it was written. What it names is looked for in this working tree, and git
    is asked which commit took a file away. Only names that cannot be meant otherwise count: paths with a slash, and
    between backticks functions beside the file that they are in, and branches. Without NAMEs all memories are
    checked. The exit code is 8 where something is not there.
    """
    with state.open() as memories:
        found = memories.check(names)
        doubts = tell_doubts(state, memories)
    if state.json:
        from memstore.cli.shaping import checked_shape

        state.emit("check", {"memories": [checked_shape(one) for one in found], "notices": doubts})
    else:
        _tell(state, found)
    if any(one.missing for one in found):
        raise exits.Finished(exits.GONE)


def _tell(state: State, found: Sequence[Checked]) -> None:
    from memstore.core.age import days_text
    from memstore.core.claims import told

    stale = [one for one in found if one.missing]
    for one in stale:
        age = days_text(one.days)
        state.say(printable(f"{one.memory.path}  {age}" if age else one.memory.path))
        for missing in one.missing:
            state.say(f"    {printable(told(missing))}")
    memories = plural(len(found), "memory", "memories")
    named = plural(sum(one.claims for one in found), "thing")
    if stale:
        name = "names" if len(stale) == 1 else "name"
        state.report(f"{len(stale)} of {memories} {name} what is not there")
    else:
        state.report(f"{memories} checked: {named} named, none is missing")
