"""`dream log` and `dream show`: what dreams came to, step by step."""

from __future__ import annotations

import click

from memstore.cli import inputs
from memstore.cli.dream_told import dream_lines, dream_shape, outcomes_of, step_lines, step_shape
from memstore.cli.runs_told import account
from memstore.cli.state import State, json_option


@click.command("log")
@inputs.limit_option(20, "dreams")
@json_option
@click.pass_obj
def log_command(state: State, limit: int) -> None:
    """List dreams, newest first: what each came to and why, and what it cost."""
    from memstore.dream_answers import dreams

    with state.open() as memories:
        store = memories.store
        found = [(account(store, run), outcomes_of(store, run.id)) for run in dreams(store)[:limit]]
    if state.json:
        state.emit("dream log", {"dreams": [dream_shape(*each) for each in found]})
        return
    for each in found:
        state.say("\n".join(dream_lines(*each)))
    if not found:
        state.note("there was no dream yet")


@click.command("show")
@click.argument("reference", metavar="[RUN]", required=False)
@click.option("--no-diff", is_flag=True, help="Leave the texts out.")
@json_option
@click.pass_obj
def show_command(state: State, reference: str | None, no_diff: bool) -> None:
    """Show a dream step by step: what it did and why, each line that is not as it was, and the texts side by side.

    RUN is the beginning of its id as `memstore dream log` lists it; without it, the last dream is shown.
    """
    from memstore.dream_answers import find

    with state.open() as memories:
        run = find(memories.store, reference)
        one, outcomes = account(memories.store, run), outcomes_of(memories.store, run.id)
    if state.json:
        steps = [step_shape(outcome) for outcome in outcomes]
        state.emit("dream show", {"dream": dream_shape(one, outcomes), "steps": steps})
        return
    state.say("\n".join(dream_lines(one, outcomes)))
    for outcome in outcomes:
        state.say("\n" + "\n".join(step_lines(outcome, shown=not no_diff)))
    for event in one.events:
        if event.kind != "tool":
            state.say(f"{event.kind}: {event.text}")
