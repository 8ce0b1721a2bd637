"""`dream status`: each gate and its figure, the last dream, who dreams now, and what waits for an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memstore.cli.dream_told import SHORT
from memstore.cli.runs_told import decision
from memstore.cli.state import State, json_option
from memstore.cli.terminal import plural, printable, when

if TYPE_CHECKING:
    from memstore.dream_standing import DreamStanding


@click.command("status")
@json_option
@click.pass_obj
def status_command(state: State) -> None:
    """Show what a dream by itself waits for: each gate, how it stands and when it opens. Counts sessions afresh.

    A dream that you ask for passes by all gates but the last.
    """
    from memstore.dream_standing import dream_standing
    from memstore.working import folders_of

    with state.open() as memories:
        found = dream_standing(
            memories.store, memories.place.home.path, memories.world, folders_of(memories.store), memories.place.root
        )
    if state.json:
        state.emit("dream status", _shape(found))
        return
    state.say("\n".join(map(printable, _lines(found))))
    for odd in found.odd:
        state.note(f"note: {odd}")


def _lines(found: DreamStanding) -> Iterator[str]:
    for gate in found.gates:
        opens = f"; opens {when(gate.opens_at)}" if gate.opens_at is not None else ""
        yield f"{gate.name + ':':<10}{'open' if gate.open else 'shut':<6}{gate.figure}{opens}"
    last = "never" if found.last is None else when(found.last)
    yield f"{'last:':<10}{last}"
    if found.run is not None:
        gone = found.run.state == "running" and found.lease is None
        came_to = "its process is gone: it has changed nothing" if gone else decision(found.run)
        yield f"{'newest:':<10}{found.run.id[:SHORT]}  {when(found.run.started_at)}  {came_to}"
    if found.lease is not None:
        does = "was called off and ends soon" if found.lease.called_off else "dreams"
        yield f"{'now:':<10}process {found.lease.process.pid} {does}, `memstore dream --follow` shows how far it is"
    if found.progress is not None:
        told = found.progress
        done = f"{plural(told.turns, 'turn')}, {plural(told.calls, 'tool call')}, {plural(told.files, 'file')}"
        yield f"{'':10}{told.phase}: {done}"
    for run, count in found.waiting:
        name = run[:SHORT]
        yield f"{'waits:':<10}{plural(count, 'step')} of {name} for an answer: `memstore dream show {name}`"


def _shape(found: DreamStanding) -> dict[str, object]:
    from memstore.cli.shaping import moment_shape

    def moment(at: int | None) -> str | None:
        return None if at is None else moment_shape(at)

    lease, told = found.lease, found.progress
    return {
        "gates": [
            {"name": gate.name, "open": gate.open, "figure": gate.figure, "opens_at": moment(gate.opens_at)}
            for gate in found.gates
        ],
        "last": moment(found.last),
        "newest": None if found.run is None else found.run.id,
        "now": None if lease is None else {"pid": lease.process.pid, "since": moment(lease.taken_at)},
        "progress": None
        if told is None
        else {"phase": told.phase, "turns": told.turns, "calls": told.calls, "files": told.files, "note": told.note},
        "waiting": [{"run": run, "steps": count} for run, count in found.waiting],
        "odd": list(found.odd),
    }
