"""How the extraction stands: told as lines for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memstore.cli.runs_told import decision, job_shape, session_name
from memstore.cli.terminal import drawn, plural, printable, when
from memstore.errors import SettingRefused

if TYPE_CHECKING:
    from memstore.core.settings import Value
    from memstore.extracting import Drained
    from memstore.standing import Standing
    from memstore.store.jobs import Job


PAUSED = "saving is paused (`memstore resume` ends that)"


def facts(found: Standing) -> Iterator[tuple[str, str]]:
    """A word and what it says, line by line."""
    from memstore.standing import dollars

    yield "state", _state(found)
    if found.settings is not None:
        key = f"asked with {found.credential}" if found.credential else "no key is set"
        asked = f"{_value(found, 'model.extract') or '?'}, {key}"
        thinks = "the client's own fork of each session, with that session's model" if found.via == "client" else asked
        yield "model", f"{thinks} (extract.via {_value(found, 'extract.via')})"
    unknown = f" and {plural(found.unknown, 'run')} of unknown cost" if found.unknown else ""
    budget = f"of {dollars(found.budget)} (budget.day)" if found.budget else "without a limit (budget.day)"
    yield "today", f"{dollars(found.spent)}{unknown}, {budget}"
    yield "waiting", waits(found.waiting) if found.waiting else "nothing"
    if found.parked:
        yield "parked", f"{plural(len(found.parked), 'job')}: `memstore extract retry` tries again"


def row_lines(found: Standing) -> Iterator[str]:
    """A line for each session: whole on a terminal, too, as the reason stands at its end."""
    between = "  " if drawn() else "\t"
    for row in _rows(found):
        yield between.join(map(printable, row))


def _rows(found: Standing) -> Iterator[tuple[str, str, str]]:
    """Session, time and how it stands: what is looked at, waits, is parked; then the last decision on each session."""
    for job in found.running:
        gone = "" if found.working else ", by a worker that is gone: the next one takes it up again"
        yield session_name(job.session), when(job.at), f"being looked at{gone}"
    for job in found.waiting:
        until = f" until {when(job.due_at)}" if job.due_at else ""
        turns = f" with {plural(job.turns, 'turn')}" if job.turns else ""
        tried = f", tried {plural(job.tries, 'time')}" if job.tries else ""
        why = f": {PAUSED}" if job.session in found.resting else f"{until}{tried}{_why(job)}"
        yield session_name(job.session), when(job.at), f"waits{turns}{why}"
    for job in found.parked:
        yield session_name(job.session), when(job.at), f"parked, tried {plural(job.tries, 'time')}{_why(job)}"
    told = {(job.session, job.note) for job in (*found.waiting, *found.parked)}
    for run in found.last:
        if (run.session, run.reason) in told:
            continue
        yield session_name(run.session), when(run.started_at), decision(run)


def waits(waiting: Sequence[Job]) -> str:
    """`2 sessions wait with 3 turns`."""
    turns = sum(job.turns for job in waiting)
    told = f"{plural(len(waiting), 'session')} {'waits' if len(waiting) == 1 else 'wait'}"
    return told + (f" with {plural(turns, 'turn')}" if turns else "")


def brief(found: Standing) -> Iterator[tuple[str, str]]:
    """The same as `memstore status` has it: a line for what waits, and one for what is parked."""
    if found.waiting:
        yield "turns", f"{waits(found.waiting)}: {_reason(found)}"
    if found.parked:
        yield "parked", f"{plural(len(found.parked), 'job')}: see `memstore extract status`"


def standing_shape(found: Standing) -> dict[str, object]:
    """How it stands, as JSON has it; without the last decisions."""
    from memstore.core.settings import MICRO

    return {
        "enabled": _value(found, "extract.enabled"),
        "via": _value(found, "extract.via"),
        "model": _value(found, "model.extract"),
        "credential": found.credential,
        "held": _hold_shape(found),
        "working": found.working,
        "waiting": [job_shape(job) for job in found.waiting],
        "paused": sorted(found.resting),
        "running": [job_shape(job) for job in found.running],
        "parked": [job_shape(job) for job in found.parked],
        "spent": found.spent / MICRO,
        "unknown_costs": found.unknown,
        "budget": found.budget / MICRO if found.budget else None,
    }


def brief_shape(found: Standing) -> dict[str, object]:
    """The same in short."""
    return {
        "waiting": len(found.waiting),
        "turns": sum(job.turns for job in found.waiting),
        "parked": len(found.parked),
        "held": _hold_shape(found),
    }


def left_shape(found: Standing, drained: Drained) -> dict[str, object]:
    """What a worker left, as JSON has it."""
    return {"waiting": len(found.waiting), "held": _hold_shape(found), "elsewhere": drained.elsewhere}


def _state(found: Standing) -> str:
    if found.hold is not None:
        return f"on hold: {found.hold}"
    if found.settings is not None and _value(found, "extract.enabled") is False:
        return "off (extract.enabled): turns are passed over"
    return "on, a worker is at it" if found.working else "on"


def _reason(found: Standing) -> str:
    if found.hold is not None:
        return str(found.hold)
    if found.working:
        return "a worker is at it"
    if all(job.session in found.resting for job in found.waiting):
        return PAUSED
    later = [job for job in found.waiting if job.due_at and job.note]
    if len(later) == len(found.waiting):
        first = min(later, key=lambda job: job.due_at or 0)
        return f"the next try is at {when(first.due_at or 0)}{_why(first, ', after ')}"
    return "a session that starts, the next turn that ends, or `memstore extract run` takes them"


def _why(job: Job, between: str = ": ") -> str:
    return f"{between}{job.note}" if job.note else ""


def _value(found: Standing, name: str) -> Value | None:
    """None where it cannot be used; the hold says why."""
    try:
        return None if found.settings is None else found.settings.get(name)
    except SettingRefused:
        return None


def _hold_shape(found: Standing) -> dict[str, object] | None:
    return None if found.hold is None else {"reason": found.hold.reason, "step": found.hold.step}
