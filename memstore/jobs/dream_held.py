"""What a person answers to a dream that asked: the steps that wait are done, or not.

A step is held against the version that it was made against, as in the dream itself: what was changed since is stale,
and so are the steps that belong to it. What is accepted at once is one operation, and each answer is final.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memstore.core import dream_steps
from memstore.core.changes import ChangeSet
from memstore.core.dream_steps import Outcome, Planned, StepState
from memstore.core.model import Applied, Provenance, Shelf
from memstore.errors import Conflict, NotFound
from memstore.jobs.dream import KIND
from memstore.store import reader, runs, steps, writer
from memstore.store.runs import Run
from memstore.store.store import Store


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of the steps that were answered. `applied`: the operation that did them; None where none was done."""

    run: Run
    outcomes: tuple[Outcome, ...]
    applied: Applied | None = None


def accept(
    store: Store, shelf: Shelf, run: str, provenance: Provenance, operation: str, numbers: Collection[int] = ()
) -> Answered:
    """Does the steps of a run that wait: those of these numbers with all that belong to them, or all.

    `operation`: the id of what is done. Raises NotFound where nothing of the kind waits.
    """
    found, wanted = _waiting(store, run, numbers)
    late: dict[int, str] = {}
    while True:
        late |= _late(store, shelf, [step for step in wanted if step.n not in late])
        fits = [step for step in wanted if step.n not in late]
        states: dict[int, tuple[StepState, str]] = {}
        for step in wanted:
            states[step.n] = ("stale", late[step.n]) if step.n in late else ("done", "")
        change_set = ChangeSet(
            operation,
            KIND,
            store.now(),
            provenance,
            dream_steps.changes(fits, shelf),
            reason=f"accepted of the dream {run}",
            derived=dream_steps.derived(fits),
        )
        try:
            applied = _settle(store, run, states, change_set if fits else None)
        except (Conflict, NotFound):
            if not _late(store, shelf, fits):
                raise
            continue
        outcomes = (Outcome(step, "stale" if step.n in late else "done", late.get(step.n, "")) for step in wanted)
        return Answered(found, tuple(outcomes), applied)


def reject(store: Store, run: str, numbers: Collection[int] = ()) -> Answered:
    """Leaves the steps of a run that wait: those of these numbers with all that belong to them, or all."""
    found, unwanted = _waiting(store, run, numbers)
    _settle(store, run, {step.n: ("rejected", "") for step in unwanted}, None)
    return Answered(found, tuple(Outcome(step, "rejected") for step in unwanted))


def _settle(
    store: Store, run: str, states: Mapping[int, tuple[StepState, str]], change_set: ChangeSet | None
) -> Applied | None:
    """Commits what was accepted, and what becomes of each step, in one transaction."""
    if change_set is None:
        with store.change() as connection:
            steps.settle(connection, run, states, None)
        return None
    texts, request = writer.prepare_all(change_set), writer.request_digest(change_set)
    return store.surely(
        lambda connection: steps.accept(connection, run, states, change_set, texts, request),
        lambda connection: writer.repeated(connection, change_set.operation, request),
    )


def _waiting(store: Store, run: str, numbers: Collection[int]) -> tuple[Run, list[Planned]]:
    with store.view() as connection:
        found = runs.one_run(connection, run)
        outcomes = steps.of_run(connection, run)
    held = [outcome.step for outcome in outcomes if outcome.state == "held"]
    if found is None or not held:
        raise NotFound(f"no step of the run {run} waits for an answer", hint="see `memstore dream log`")
    if not numbers:
        return found, held
    absent = sorted(set(numbers) - {step.n for step in held})
    if absent:
        raise NotFound(
            f"step {absent[0]} of the run {run} does not wait for an answer", hint=f"see `memstore dream show {run}`"
        )
    parts = {step.part for step in held if step.n in numbers}
    return found, [step for step in held if step.part in parts]


def _late(store: Store, shelf: Shelf, wanted: Sequence[Planned]) -> dict[int, str]:
    with store.view() as connection:
        return dream_steps.stale(wanted, reader.heads(connection, shelf))
