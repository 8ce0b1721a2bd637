"""How runs of the extraction are told: as lines for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memstore.cli.terminal import drawn, plural, printable, when
from memstore.core.settings import MICRO

if TYPE_CHECKING:
    from memstore.core.model import Operation, Version
    from memstore.store.jobs import Job
    from memstore.store.runs import Event, Run
    from memstore.store.store import Store


@dataclass(frozen=True, slots=True)
class Account:
    """A run with what it saved and what happened in it. `undone_by`: the number of what took that back.

    `operations`: of a dream that was answered piece by piece all that it made, with what took each back.
    """

    run: Run
    operation: Operation | None
    undone_by: int | None
    made: Sequence[Version]
    events: Sequence[Event]
    operations: Sequence[tuple[int, int | None]]


def account(store: Store, run: Run) -> Account:
    """All that is known of a run."""
    from memstore.store import runs, steps

    with store.view() as connection:
        events = runs.events(connection, run.seq)
        own = [] if run.operation is None else [run.operation]
        undone = {each: runs.taken_back(connection, each) for each in steps.operations(connection, run.id)[::-1] or own}
    undone_by = None if run.operation is None else undone.get(run.operation)
    operation = None if run.operation is None else store.operation(run.operation)
    operations = [(each.seq, undone[each.id]) for each in map(store.operation, undone) if each is not None]
    made = () if operation is None else store.made_by(operation.seq)[0]
    return Account(run, operation, undone_by, made, events, operations)


def session_name(session: str) -> str:
    """A session as a person reads it; whole in a pipe."""
    return session[:8] if drawn() else session


def decision(run: Run) -> str:
    """What a run came to, and why."""
    if run.outcome is None:
        return "going on"
    gate = f" ({run.gate})" if run.outcome == "skipped" and run.gate else ""
    return f"{run.outcome}{gate}: {run.reason}"


def run_lines(one: Account, *, at: bool = True) -> Iterator[str]:
    """A run, in lines that are fit to be shown."""
    run = one.run
    kind = [run.kind] if at or run.kind != "extract" else []
    head = [when(run.started_at), *kind] if at else kind
    yield printable("  ".join([*head, session_name(run.session), decision(run)]))
    if one.operation is not None:
        paths = ", ".join(f"{version.change} {version.state.path}" for version in one.made)
        back = f"`memstore undo {one.operation.seq}` takes that back"
        yield printable(f"    {paths} ({back if one.undone_by is None else f'taken back by #{one.undone_by}'})")
    if run.usage.prompt or run.usage.output:
        yield printable(f"    {usage_line(run)}")
    for event in one.events:
        if event.kind != "tool":
            yield printable(f"    {event.kind}: {event.text}")


def usage_line(run: Run) -> str:
    """What a run used and cost, and who answered."""
    from memstore.standing import dollars

    usage = run.usage
    cost = "cost not known" if run.cost is None else dollars(run.cost)
    over = f" over {plural(run.messages, 'message')}" if run.messages else ""
    turns = f"{plural(run.turns, 'turn')}{over}, " if run.turns else ""
    tokens = f"{usage.prompt} tokens in ({usage.hit}% from the cache), {usage.output} out"
    return f"{turns}{tokens}, {cost}, {run.model or 'unknown model'}"


def run_shape(one: Account) -> dict[str, object]:
    """A run, as JSON has it."""
    from memstore.cli.shaping import moment_shape

    run, operation = one.run, one.operation
    return {
        "id": run.id,
        "kind": run.kind,
        "session": run.session,
        "state": run.state,
        "outcome": run.outcome,
        "gate": run.gate,
        "reason": run.reason,
        "started_at": moment_shape(run.started_at),
        "ended_at": None if run.ended_at is None else moment_shape(run.ended_at),
        "turns": run.turns,
        "messages": run.messages,
        "unread": run.unread,
        "saved": None
        if operation is None
        else {
            "operation": operation.id,
            "seq": operation.seq,
            "undone_by": one.undone_by,
            "made": [
                {"path": one.state.path, "change": one.change, "version": one.number, "token": one.token}
                for one in one.made
            ],
        },
        "model": run.model,
        "via": run.via,
        "input_tokens": run.usage.prompt,
        "output_tokens": run.usage.output,
        "cache_read": run.usage.cache_read,
        "cache_written": run.usage.cache_written,
        "cache_hit": run.usage.hit,
        "cost": None if run.cost is None else run.cost / MICRO,
        "events": [{"kind": each.kind, "text": each.text, "at": moment_shape(each.at)} for each in one.events],
    }


def job_shape(job: Job) -> dict[str, object]:
    """A job, as JSON has it."""
    from memstore.cli.shaping import moment_shape

    return {
        "kind": job.kind,
        "session": job.session,
        "turns": job.turns,
        "event": job.event,
        "since": moment_shape(job.at),
        "due_at": moment_shape(job.due_at) if job.due_at else None,
        "tries": job.tries,
        "note": job.note,
    }
