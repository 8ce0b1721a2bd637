"""Dreams as they are on record: finding one, taking it back, and a person's answer to one that waits.

A dream that would take away more than it may asks (`jobs.dream`); `jobs.dream_held` does what is answered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memstore.core.dream_steps import Outcome, digest_of
from memstore.errors import InputRefused, NotFound, NotTrusted
from memstore.store import runs, steps
from memstore.store.dreams import KIND

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Applied, Memory, Operation
    from memstore.files.report import SyncReport
    from memstore.store.runs import Run
    from memstore.store.store import Store

_SHORTEST = 4
"""Characters of the beginning of a run's id that name it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of the steps that were answered. `operation` None: nothing was done."""

    run: str
    outcomes: tuple[Outcome, ...]
    operation: str | None = None
    seq: int | None = None
    files: SyncReport | None = None


def dreams(store: Store) -> list[Run]:
    """All dreams, newest first."""
    with store.view() as connection:
        return [run for run in runs.log(connection) if run.kind == KIND]


def find(store: Store, beginning: str | None = None) -> Run:
    """The dream whose id begins so, by default the last one. Raises NotFound, InputRefused where there are several."""
    found = dreams(store)
    if beginning is None:
        if not found:
            raise NotFound("there was no dream yet", hint="`memstore dream` begins one")
        return found[0]
    named = [run for run in found if run.id.startswith(beginning.lower())]
    if not named or len(beginning) < _SHORTEST:
        raise NotFound(f"there is no dream {beginning[:80]!r}", hint="see `memstore dream log`")
    if len(named) > 1:
        raise InputRefused(f"{len(named)} dreams begin with {beginning!r}", hint=f"such as {named[0].id}")
    return named[0]


def operation_of(store: Store, reference: str) -> Operation:
    """An operation by its number in the log or the beginning of its id, or by that of the run that made it.

    Raises NotFound, and InputRefused where a run did its steps by several operations.
    """
    found = store.operation(reference)
    if found is not None:
        return found
    named = _runs_like(store, reference)
    if len(named) != 1:
        raise NotFound(f"there is no operation {reference[:80]!r}", hint="see `memstore log`")
    run = named[0]
    with store.view() as connection:
        made = steps.operations(connection, run.id) or ([] if run.operation is None else [run.operation])
        left = [one for one in made if runs.taken_back(connection, one) is None]
    operations = [each for each in map(store.operation, left or made[:1]) if each is not None]
    if not operations:
        raise NotFound(f"the run {run.id} changed nothing", hint=f"see `memstore dream show {run.id[:13]}`")
    if len(operations) > 1:
        numbers = ", ".join(f"#{each.seq}" for each in operations)
        raise InputRefused(f"that run did its steps by several operations: {numbers}", hint="take each back by itself")
    return operations[0]


def _runs_like(store: Store, beginning: str) -> list[Run]:
    if len(beginning) < 2 * _SHORTEST:
        return []
    with store.view() as connection:
        return [run for run in runs.log(connection) if run.id.startswith(beginning.lower())]


def accept(memories: Memstore, run: Run, numbers: Collection[int] = ()) -> Answered:
    """Does the steps that wait, or those of these numbers and what belongs to them. Only a person may say so.

    Raises NotFound where nothing waits, NotTrusted where an agent asks.
    """
    from memstore.jobs import dream_held

    world, store, shelf = memories.world, memories.store, memories.shelf
    variable = world.agent()
    if variable is not None:
        raise NotTrusted(
            f"the dream asks a person, and ${variable} says that an agent runs this",
            hint=f"run `memstore dream accept {run.id[:13]}` in a terminal of your own",
        )
    memories.files.absorb()
    before = store.memories(shelf)
    provenance = world.provenance(memories.place.root)
    done = dream_held.accept(store, shelf, run.id, provenance, world.new_id(), numbers)
    if done.applied is None:
        return Answered(run.id, done.outcomes)
    _is_no_news(store, before, done.applied)
    return Answered(run.id, done.outcomes, done.applied.operation, done.applied.seq, memories.files.settle())


def reject(memories: Memstore, run: Run, numbers: Collection[int] = ()) -> Answered:
    """Puts the steps that wait away, or those of these numbers and what belongs to them; they stay on record."""
    from memstore.jobs import dream_held

    return Answered(run.id, dream_held.reject(memories.store, run.id, numbers).outcomes)


def _is_no_news(store: Store, before: Sequence[Memory], applied: Applied) -> None:
    """Where nothing else has changed since a dream looked, the next one need not look for what was accepted of it."""
    tokens = {head.id: head.token for head in before}
    with store.change() as connection:
        if steps.seen(connection)[0] != digest_of(tokens):
            return
        tokens |= {version.memory: version.token for version in applied.versions}
        gone = {version.memory for version in applied.versions if not version.state.live}
        left = digest_of({memory: token for memory, token in tokens.items() if memory not in gone})
        steps.note_seen(connection, left, {}, store.now())
