"""A dream in the foreground: begun and watched, reviewed step by step, followed from elsewhere, called off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import click

from memstore.cli import exits, terminal
from memstore.cli.dream_told import dream_lines, dream_shape, outcomes_of, step_lines, step_shape
from memstore.cli.runs_told import Account, account
from memstore.cli.state import State, json_option
from memstore.cli.stopping import until_told
from memstore.cli.terminal import plural, printable
from memstore.errors import ModelError, NotFound, NotTrusted

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.dream_steps import Outcome, Planned
    from memstore.dream_standing import By
    from memstore.dreaming import Dreamed
    from memstore.store.runs import Run
    from memstore.store.steps import Progress

_LOOK = 0.5
"""Seconds between two looks at a dream that goes on elsewhere."""


def begin(state: State, *, by: By, dry: bool, review: bool) -> None:
    """Dreams now and here. Raises Finished where it failed or was called off."""
    from memstore.dreaming import Dreamer

    world = state.world()
    if review and (variable := world.agent()) is not None:
        raise NotTrusted(
            f"a review is a person's, and ${variable} says that an agent runs this",
            hint="run `memstore dream --review` in a terminal of your own",
        )
    turns = state.settings().number("dream.turns")
    with state.open() as memories:
        with until_told() as stopped, closing(Live(state, turns)) as live:
            dreamer = Dreamer(
                memories.store, memories.world, memories.place.home.path, root=memories.place.root, cancelled=stopped,
                progress=live.told, review=_reviewer(state, live) if review else None,
            )  # fmt: skip
            dreamed = dreamer.dream(by, dry=dry)
        _tell(state, memories, dreamed, dry=dry, quiet=by == "schedule")


def _reviewer(state: State, live: Live) -> Callable[[Sequence[Planned]], Sequence[bool]]:
    """Shows the steps and asks: once for those that belong together."""
    from memstore.core.dream_steps import Outcome

    def ask(planned: Sequence[Planned]) -> list[bool]:
        live.close()
        answers: dict[int, bool] = {}
        for part in dict.fromkeys(step.part for step in planned):
            steps = [step for step in planned if step.part == part]
            for step in steps:
                state.say("\n".join(step_lines(Outcome(step, "held"))))
            what = "it" if len(steps) == 1 else f"these {len(steps)} steps"
            try:
                answers[part] = click.confirm(f"do {what}?", default=False, err=True)
            except click.Abort:
                raise KeyboardInterrupt from None  # the dream ends as called off, and puts that on record
        return [answers[step.part] for step in planned]

    return ask


def _tell(state: State, memories: Memstore, dreamed: Dreamed, *, dry: bool, quiet: bool) -> None:
    from memstore.store import runs

    gate, report = dreamed.gate, dreamed.report
    outcomes = () if report is None else report.outcomes
    run: Run | None = None
    if report is not None:
        with memories.store.view() as connection:
            run = runs.one_run(connection, report.end.run)
    one = None if run is None else account(memories.store, run)
    if state.json:
        shape = {
            "dry_run": dry,
            "gate": None if gate is None else {"name": gate.name, "figure": gate.figure},
            "dream": None if one is None else dream_shape(one, outcomes),
            "steps": [step_shape(outcome) for outcome in outcomes],
            "said": list(dreamed.said),
            "unshown": list(dreamed.unshown),
        }
        state.emit("dream", shape)
    for said in dreamed.said:
        state.note(f"note: {said}")
    for unshown in dreamed.unshown:
        state.note(f"not projected: {unshown}")
    idle = report is None or report.end.outcome == "nothing"
    if gate is not None and not quiet:
        state.report(printable(f"no dream now: {gate.name}: {gate.figure}"))
    if one is not None and not state.json and not (quiet and idle):
        tell_dream(state, one, outcomes, texts=dry)
    if report is not None and report.end.outcome == "failed":
        if report.end.gate == "cancelled":
            raise exits.Finished(exits.INTERRUPTED)
        if state.quiet and not state.json:
            raise ModelError(f"the dream failed: {report.end.reason}")
        state.note("nothing was changed; `memstore tidy` does what rules can, without a model")
        raise exits.Finished(exits.MODEL)


def tell_dream(state: State, one: Account, outcomes: Sequence[Outcome], *, texts: bool) -> None:
    """A dream and its steps; with `texts` side by side what would be changed."""
    state.report("\n".join(dream_lines(one, outcomes)))
    for outcome in outcomes:
        state.report("\n".join(step_lines(outcome, shown=texts)))


@click.command("cancel")
@json_option
@click.pass_obj
def cancel_command(state: State) -> None:
    """Call the dream off that is going on: it ends before the model's next answer, and changes nothing."""
    from memstore.store import leases
    from memstore.store.dreams import KIND
    from memstore.store.process import is_alive

    with state.open() as memories, memories.store.change() as connection:
        lease = leases.current(connection, KIND)
        if lease is None or not leases.is_held(lease, memories.world.clock(), is_alive):
            raise NotFound("no dream is going on", hint="see `memstore dream status`")
        leases.call_off(connection, KIND)
    if state.json:
        state.emit("dream cancel", {"pid": lease.process.pid})
    state.report(f"called the dream of process {lease.process.pid} off; `memstore dream --follow` shows its end")


def follow(state: State) -> None:
    """Shows how far a dream has come that goes on elsewhere, until its end."""
    from memstore.store import runs, steps

    turns = state.settings().number("dream.turns")
    with state.open() as memories, until_told() as stopped:
        run = _running(memories)
        with closing(Live(state, turns, lines=True)) as live:
            while run is not None and run.state == "running" and not stopped() and _is_held(memories):
                with memories.store.view() as connection:
                    told = steps.progress(connection, run.id)
                if told is not None:
                    live.told(told)
                memories.world.pause(_LOOK)
                with memories.store.view() as connection:
                    run = runs.one_run(connection, run.id)
        if run is None:
            raise NotFound("no dream is going on", hint="`memstore dream log` lists those that were")
        one, outcomes = account(memories.store, run), outcomes_of(memories.store, run.id)
    if state.json:
        state.emit("dream show", {"dream": dream_shape(one, outcomes), "steps": list(map(step_shape, outcomes))})
    elif run.state == "running" and not stopped():
        state.note("its process is gone: it has changed nothing, and the next dream takes its place")
    else:
        tell_dream(state, one, outcomes, texts=False)


def _running(memories: Memstore) -> Run | None:
    """The dream that is going on, also one that only shows what it would do."""
    from memstore.jobs.dream import DRY
    from memstore.store import runs
    from memstore.store.dreams import KIND

    with memories.store.view() as connection:
        found = runs.log(connection, session="")
    return next((run for run in found if run.state == "running" and run.kind in (KIND, DRY)), None)


def _is_held(memories: Memstore) -> bool:
    from memstore.store import leases
    from memstore.store.dreams import KIND
    from memstore.store.process import is_alive

    with memories.store.view() as connection:
        lease = leases.current(connection, KIND)
    return lease is not None and leases.is_held(lease, memories.world.clock(), is_alive)


class Live:
    """How far a dream has come: a bar on standard error, if that is a terminal; else with `lines` a line for each news.

    It is gone before anything else is printed.
    """

    def __init__(self, state: State, turns: int, *, lines: bool = False) -> None:
        self._state = state
        self._turns = turns
        self._drawn = not state.quiet and terminal.drawn(stream_is_error=True)
        self._lines = lines and not self._drawn
        self._shown = ExitStack()
        self._last = ""
        self._update: Callable[[int, str], None] | None = None

    def told(self, progress: Progress) -> None:
        """Something has happened."""
        calls, files = plural(progress.calls, "tool call"), plural(progress.files, "file")
        told = f"{progress.phase}: {calls}, {files}" + (f"; {progress.note}" if progress.note else "")
        if self._lines and (line := f"{plural(progress.turns, 'turn')}, {told}") != self._last:
            self._last = line
            self._state.note(line)
        if self._drawn:
            self._update = self._update or self._begin()
            self._update(progress.turns, printable(told))

    def close(self) -> None:
        """It ends, or somebody is asked."""
        self._shown.close()
        self._update = None

    def _begin(self) -> Callable[[int, str], None]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        bar = Bar(
            SpinnerColumn(), TextColumn("dream, turn"), MofNCompleteColumn(), BarColumn(),
            TextColumn("{task.description}", markup=False), TimeElapsedColumn(),
            console=Console(stderr=True, markup=False, highlight=False), transient=True,
        )  # fmt: skip
        task = bar.add_task("", total=self._turns)
        self._shown.enter_context(bar)

        def update(turns: int, told: str) -> None:
            bar.update(task, completed=turns, description=told)

        return update
