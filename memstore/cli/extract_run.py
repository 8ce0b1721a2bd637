"""The extraction done in the foreground: the jobs that wait, or a look at what a run would save."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from memstore.cli import exits, terminal
from memstore.cli.history import Difference, difference_shape
from memstore.cli.runs_told import account, run_lines, run_shape, session_name
from memstore.cli.standing_told import PAUSED, left_shape, waits
from memstore.cli.state import State
from memstore.cli.stopping import until_told
from memstore.cli.terminal import plural, printable, when
from memstore.core.compare import unified
from memstore.errors import NotFound
from memstore.extracting import Drained, Worker
from memstore.standing import KIND, Standing, standing
from memstore.store import jobs, runs

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.jobs.workspace import Step
    from memstore.store.jobs import Job
    from memstore.store.runs import RunEnd


class Foreground:
    """One call of `memstore extract run`: it tells of each run as it ends, and at the end what is left and why."""

    def __init__(self, state: State, memories: Memstore) -> None:
        self._state = state
        self._memories = memories
        self._home = memories.place.home.path
        self._shapes: list[dict[str, object]] = []
        self._ends: list[RunEnd] = []

    def drain(self) -> None:
        """Does the jobs that are due. Raises Finished where one failed or was left."""
        memories = self._memories
        with until_told() as stopped, closing(_Progress(self._state)) as progress:

            def told(job: Job, end: RunEnd) -> None:
                progress.close()
                self._tell(job, end)

            drained = Worker(
                memories.store, memories.world, self._home, begins=progress.begins, told=told, cancelled=stopped
            ).drain()
        left = standing(memories.store, self._home, memories.world)
        if self._state.json:
            self._emit(dry=False, differences=[], left=left, drained=drained)
        self._tell_left(left, drained)
        self._finish(drained.called_off, left=bool(left.resting or (drained.hold and left.waiting)))

    def preview(self, session: str | None) -> None:
        """Shows what the jobs that are due would save, or that of one session, whatever it waits for."""
        memories, differences, drained = self._memories, list[Difference](), Drained()
        chosen = self._chosen(session)
        with until_told() as stopped, closing(_Progress(self._state)) as progress:
            worker = Worker(memories.store, memories.world, self._home, cancelled=stopped)
            for job in chosen:
                if stopped():
                    break
                progress.begins(job)
                end, steps = worker.preview(job)
                progress.close()
                found = [_difference(step) for step in steps]
                differences += found
                self._tell_preview(job, end, found)
            drained = Drained(called_off=stopped())
        if self._state.json:
            left = standing(memories.store, self._home, memories.world)
            self._emit(dry=True, differences=differences, left=left, drained=drained)
        elif not chosen:
            self._state.report("no turn is due")
        self._finish(drained.called_off)

    def _chosen(self, session: str | None) -> list[Job]:
        with self._memories.store.view() as connection:
            waiting, parked = jobs.waiting(connection), jobs.parked(connection)
        if session is None:
            now = self._memories.store.now()
            return [job for job in waiting if job.kind == KIND and jobs.is_due(job, now)]
        found = [job for job in (*waiting, *parked) if (job.kind, job.session) == (KIND, session)]
        if not found:
            raise NotFound(f"nothing waits for the session {session}", hint="`memstore extract status` lists what does")
        return found[:1]

    def _finish(self, called_off: bool, *, left: bool = False) -> None:
        if called_off:
            raise exits.Finished(exits.INTERRUPTED)
        if left or any(end.outcome == "failed" for end in self._ends):
            raise exits.Finished(exits.MODEL)

    # Telling

    def _tell(self, job: Job, end: RunEnd) -> None:
        self._ends.append(end)
        with self._memories.store.view() as connection:
            run = runs.one_run(connection, end.run)
        if run is None:
            self._state.report(printable(f"{session_name(job.session)}  failed: {end.reason}"))
            return
        one = account(self._memories.store, run)
        self._shapes.append(run_shape(one))
        self._state.report("\n".join(run_lines(one, at=False)))

    def _tell_preview(self, job: Job, end: RunEnd, found: list[Difference]) -> None:
        self._ends.append(end)
        with self._memories.store.view() as connection:
            run = runs.one_run(connection, end.run)
        if run is not None:
            self._shapes.append(run_shape(account(self._memories.store, run)))
        if self._state.json:
            return
        for one in found:
            self._state.say(terminal.diff_text(one.lines))
        would = f"would be {end.outcome}" if end.outcome in ("saved", "skipped") else end.outcome
        self._state.note(f"{session_name(job.session)}  {would}: {end.reason}")

    def _tell_left(self, left: Standing, drained: Drained) -> None:
        """Why jobs are left, where there are any."""
        note = self._state.note
        asleep = [job for job in left.waiting if job.session in left.resting]
        awake = [job for job in left.waiting if job.session not in left.resting]
        if asleep and drained.hold is None:
            note(f"{waits(asleep)}: {PAUSED}")
        if drained.elsewhere:
            note("another worker is at it already; `memstore extract log` will say what it comes to")
        elif drained.hold is not None and left.waiting:
            note(f"{waits(left.waiting)}: {drained.hold}")
        elif awake and not drained.called_off:
            first = min(job.due_at or 0 for job in awake)
            note(f"{waits(awake)} for the next try at {when(first)}; `memstore extract retry` hastens it")
        elif not self._ends and not asleep:
            self._state.report("no turn is due")
        if left.parked:
            note(f"{plural(len(left.parked), 'job')} parked: see `memstore extract status`")

    def _emit(self, *, dry: bool, differences: list[Difference], left: Standing, drained: Drained) -> None:
        shape = {
            "dry_run": dry,
            "runs": self._shapes,
            "diffs": [difference_shape(one) for one in differences],
            **left_shape(left, drained),
        }
        self._state.emit("extract run", shape)


class _Progress:
    """A line on standard error that says which session is looked at, and how long, if that is a terminal.

    It is gone before anything else is printed.
    """

    def __init__(self, state: State) -> None:
        self._drawn = not state.quiet and terminal.drawn(stream_is_error=True)
        self._shown = ExitStack()

    def begins(self, job: Job) -> None:
        """A session is looked at."""
        if not self._drawn:
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        turns = f", {plural(job.turns, 'turn')}" if job.turns else ""
        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True, markup=False, highlight=False),
            transient=True,
        )
        bar.add_task(printable(f"session {job.session[:8]}{turns}"), total=None)
        self._shown.enter_context(bar)

    def close(self) -> None:
        """It was looked at."""
        self._shown.close()


def _difference(step: Step) -> Difference:
    before = b"" if step.seen is None else step.seen.state.content
    now = "nothing (now)" if step.seen is None else f"{step.seen.path} (now)"
    then = "nothing (after the run)" if step.content is None else f"{step.path} (after the run)"
    return Difference(step.path, None, None, unified(before, step.content or b"", now, then))
