"""`extract`: what a turn taught is kept by itself; what waits for that, what it came to, and doing it now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import inputs
from memstore.cli.runs_told import account, run_lines, run_shape
from memstore.cli.standing_told import facts, row_lines, standing_shape
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_troubles
from memstore.cli.terminal import plural, printable
from memstore.errors import InputRefused, NotFound

if TYPE_CHECKING:
    from memstore.app import Memstore


@click.group("extract", cls=inputs.Noun, invoke_without_command=True)
@click.pass_context
def extract(ctx: click.Context) -> None:
    """What a turn taught is kept by itself: see how that stands, and do it now. Alone it shows the status.

    When a turn of an agent ends, a model reads what was said since the last time and saves what later sessions should
    know. `memstore undo` takes a run back, `memstore config set extract.enabled false` switches it off.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status_command)


@extract.command("status")
@json_option
@click.pass_obj
def status_command(state: State) -> None:
    """Show what waits and why, what is parked, the last decision on each session, and what it cost today."""
    from memstore.standing import standing

    with state.open() as memories:
        found = standing(memories.store, memories.place.home.path, memories.world)
        last = [account(memories.store, run) for run in found.last] if state.json else []
    if state.json:
        state.emit("extract status", {**standing_shape(found), "last": [run_shape(one) for one in last]})
        return
    state.say("\n".join(f"{label + ':':<10}{printable(value)}" for label, value in facts(found)))
    state.say("\n".join(row_lines(found)))


@extract.command("log")
@inputs.limit_option(20, "runs")
@click.option("--session", metavar="SESSION", help="Only runs for this session: its id, or the beginning of it.")
@json_option
@click.pass_obj
def log_command(state: State, limit: int, session: str | None) -> None:
    """List runs, newest first: what each came to and why, what it saved, and what it cost.

    Tools that a run was denied, and what could not be read, are listed below it.
    """
    from memstore.store import runs

    with state.open() as memories:
        name = None if session is None else _session(memories, session)
        with memories.store.view() as connection:
            found = runs.log(connection, limit, session=name)
        told = [account(memories.store, run) for run in found]
    if state.json:
        state.emit("extract log", {"runs": [run_shape(one) for one in told]})
        return
    for one in told:
        state.say("\n".join(run_lines(one)))
    if not told:
        state.note("there was no run yet")


@extract.command("run")
@click.argument("session", required=False)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be saved, and save nothing; the model is asked all the same."
)
@json_option
@click.pass_obj
def run_command(state: State, session: str | None, dry_run: bool) -> None:
    """Look at the turns that wait, now and here, until none is due. Ctrl-C ends it after the model's next answer.

    With --dry-run SESSION (its id, or the beginning of it) only that one is looked at, also where it waits for its
    next try or is parked.
    """
    if session is not None and not dry_run:
        raise click.UsageError("SESSION goes with --dry-run; without it all turns that are due are looked at")
    from memstore.cli.extract_run import Foreground

    with state.open() as memories:
        report = memories.sync()
        if not state.json:
            tell_troubles(state, report)
        foreground = Foreground(state, memories)
        if dry_run:
            foreground.preview(None if session is None else _session(memories, session))
        else:
            foreground.drain()


@extract.command("retry")
@click.argument("session", required=False)
@json_option
@click.pass_obj
def retry_command(state: State, session: str | None) -> None:
    """Let what is parked, or waits for its next try, be due at once: of SESSION, or of all sessions.

    A key that was refused is asked with again, too.
    """
    from memstore.store import jobs, refused

    with state.open() as memories:
        name = None if session is None else _session(memories, session)
        with memories.store.change() as connection:
            count = jobs.retry(connection, name)
            if refused.forget(memories.store.directory):  # all of them waited for that
                count = sum(name in (None, job.session) for job in jobs.waiting(connection))
    if state.json:
        state.emit("extract retry", {"due": count})
    elif count:
        due = plural(count, "job is", "jobs are")
        state.report(f"{due} due again: `memstore extract run`, or the next turn that ends, takes it up")
    else:
        state.report("nothing is parked or waits for its next try")


def _session(memories: Memstore, beginning: str) -> str:
    """The session whose id begins so. Raises NotFound, InputRefused where there are several."""
    from memstore.store import runs

    with memories.store.view() as connection:
        found = runs.sessions(connection, beginning)
    if beginning in found:
        return beginning
    if not found:
        raise NotFound(f"there is no run or job of a session {beginning[:80]!r}", hint="see `memstore extract log`")
    if len(found) > 1:
        raise InputRefused(f"{len(found)} sessions begin with {beginning!r}", hint=f"such as {', '.join(found[:3])}")
    return found[0]
