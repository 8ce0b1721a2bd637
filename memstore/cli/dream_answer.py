"""`dream accept` and `dream reject`: a person's answer to a dream that waits for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli.dream_told import SHORT, step_shape, step_title, summary
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_files
from memstore.cli.terminal import printable

if TYPE_CHECKING:
    from memstore.dream_answers import Answered


@click.command("accept")
@click.argument("reference", metavar="RUN")
@click.argument("numbers", metavar="[STEP]...", nargs=-1, type=click.IntRange(min=1))
@json_option
@click.pass_obj
def accept_command(state: State, reference: str, numbers: tuple[int, ...]) -> None:
    """Do what a dream wants to do and waits with for an answer: all steps of RUN, or these.

    Steps that belong together are done together. What somebody changed since is left and named. It is a person's to
    accept; `memstore dream show RUN` shows the steps.
    """
    from memstore.dream_answers import accept, find

    with state.open() as memories:
        _tell(state, "accept", accept(memories, find(memories.store, reference), numbers))


@click.command("reject")
@click.argument("reference", metavar="RUN")
@click.argument("numbers", metavar="[STEP]...", nargs=-1, type=click.IntRange(min=1))
@json_option
@click.pass_obj
def reject_command(state: State, reference: str, numbers: tuple[int, ...]) -> None:
    """Put away what a dream waits with: all steps of RUN, or these and what belongs to them. They stay on record."""
    from memstore.dream_answers import find, reject

    with state.open() as memories:
        _tell(state, "reject", reject(memories, find(memories.store, reference), numbers))


def _tell(state: State, command: str, answered: Answered) -> None:
    if state.json:
        from memstore.cli.shaping import files_shape

        shape = {
            "run": answered.run,
            "steps": [step_shape(outcome) for outcome in answered.outcomes],
            "operation": answered.operation,
            "seq": answered.seq,
            "files": None if answered.files is None else files_shape(answered.files),
        }
        state.emit(f"dream {command}", shape)
    for outcome in answered.outcomes:
        if outcome.state == "stale":
            state.note(f"left: {step_title(outcome.step)}: {outcome.told}")
    done = "" if answered.seq is None else f", operation #{answered.seq}"
    state.report(printable(f"dream {answered.run[:SHORT]}: {summary(answered.outcomes)}{done}"))
    if answered.files is not None:
        tell_files(state, answered.files)
