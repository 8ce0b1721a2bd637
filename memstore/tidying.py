"""Tidying without a model: what the rules propose is chosen from, done as one operation, and shown in the files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memstore.core.changes import ChangeSet
from memstore.core.model import NOTES
from memstore.core.tidying import Material, Proposal, propose
from memstore.errors import NameTaken, PlaceRefused, StaleVersion, StoreBusy
from memstore.files.folder import Folder
from memstore.store import lines, reader

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Applied, Provenance
    from memstore.files.report import Progress, SyncReport

Choose = Callable[[Sequence[Proposal]], Sequence[Proposal]]
"""From all that can be done to what is to be done."""

KIND = "tidy"
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Tidied:
    """What there was to tidy and what was done of it. `operation` None: nothing was. `repeated`: it was done before.

    `files` None: the folder was not touched.
    """

    proposals: tuple[Proposal, ...]
    done: tuple[Proposal, ...] = ()
    operation: str | None = None
    seq: int | None = None
    files: SyncReport | None = None
    repeated: bool = False


def safe(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Those by which nothing can be lost."""
    return [proposal for proposal in proposals if proposal.safe]


def tidy(
    memories: Memstore,
    choose: Choose,
    provenance: Provenance,
    *,
    dry_run: bool = False,
    operation: str | None = None,
    progress: Progress | None = None,
) -> Tidied:
    """Does what `choose` takes of the proposals. What changed since they were made is left for the next time."""
    memories.files.absorb()
    if operation is not None and not dry_run:
        done = memories.store.done(operation, KIND, KIND)
        if done is not None:
            return _end(memories, (), (), done)
    proposals = _proposals(memories, progress)
    if dry_run:
        return Tidied(proposals)
    chosen = tuple(choose([proposal for proposal in proposals if proposal.can_be_done]))
    now = proposals
    for _ in range(_ATTEMPTS):
        wanted = tuple(proposal for proposal in chosen if proposal in now)
        if not wanted:
            return Tidied(proposals)
        try:
            return _end(memories, proposals, wanted, _apply(memories, wanted, provenance, operation))
        except (StaleVersion, NameTaken):
            now = _proposals(memories, None)  # somebody was faster: do what still fits
    raise StoreBusy(f"the memories changed {_ATTEMPTS} times meanwhile", hint="try again")


def _end(memories: Memstore, proposals: Sequence[Proposal], done: tuple[Proposal, ...], applied: Applied) -> Tidied:
    return Tidied(
        tuple(proposals), done, applied.operation, applied.seq, memories.files.settle(), applied.repeated
    )  # fmt: skip


def _apply(memories: Memstore, wanted: Sequence[Proposal], provenance: Provenance, operation: str | None) -> Applied:
    world = memories.world
    counts = {kind: sum(proposal.kind == kind for proposal in wanted) for kind in dict.fromkeys(p.kind for p in wanted)}
    return memories.store.apply(
        ChangeSet(
            operation or world.new_id(), KIND, world.clock(), provenance,
            tuple(change for proposal in wanted for change in proposal.changes),
            tuple(line for proposal in wanted for line in proposal.lines),
            reason=", ".join(f"{number} {_NOUNS[kind]}" for kind, number in counts.items()), request=KIND,
        )
    )  # fmt: skip


_NOUNS = {
    "duplicate": "duplicate", "near": "near duplicate", "pointer": "broken pointer", "expired": "expired",
}  # fmt: skip


def _proposals(memories: Memstore, progress: Progress | None) -> tuple[Proposal, ...]:
    store, shelf = memories.store, memories.shelf
    with store.view() as connection:
        heads = reader.heads(connection, shelf)
        rows = lines.rows(connection, shelf)
        held = {record.memory for record in reader.conflicts(connection) if record.memory is not None}
        elsewhere = [head.path for head in reader.heads(connection, None) if head.state.shelf not in (shelf, NOTES)]
    material = Material(
        heads, rows, held, {*elsewhere, *_files(memories.place.folder)}, memories.files.omissions(),
        datetime.fromtimestamp(memories.world.clock() / 1_000_000).date(),
    )  # fmt: skip
    return propose(material, None if progress is None else lambda done: progress(done, 2 * len(heads), ""))


def _files(path: str | None) -> set[str]:
    """What lies in the folder and is no memory: a line may point there."""
    try:
        folder = None if path is None else Folder.open(path)
    except PlaceRefused:
        return set()
    if folder is None:
        return set()
    with folder:
        found = folder.scan()
    return {*found.strange, *found.foreign, *found.debris}
