"""How a conflict is settled: over what stands there at that moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstore.core.changes import ChangeSet, CloseConflict
from memstore.core.conflicts import resolution
from memstore.core.model import Provenance
from memstore.errors import NotFound, StaleVersion, StoreBusy
from memstore.outcomes import Saved

if TYPE_CHECKING:
    from memstore.app import Memstore

_ATTEMPTS = 100


def settle(memories: Memstore, reference: str, take: str, text: str | None, provenance: Provenance) -> Saved | None:
    """Settles the one whose id begins so, and shows the files. None where it was about an index line and ours was kept.

    Raises NotFound where no open one, or more than one, is meant.
    """
    store, world = memories.store, memories.world
    found = [record for record in store.conflicts() if record.id.startswith(reference)]
    if len(found) != 1 or len(reference) < 4:
        raise NotFound(f"there is no one open conflict {reference[:80]!r}", hint="see `memstore conflicts`")
    record = found[0]
    for _ in range(_ATTEMPTS):
        head = None if record.memory is None else store.memory(record.memory)
        changes, lines = resolution(record, head, take, text, store.index())
        change_set = ChangeSet(
            world.new_id(), "resolve", world.clock(), provenance, changes, lines, (CloseConflict(record.id, take),),
            reason=f"{take} for the conflict in {record.path}",
        )  # fmt: skip
        try:
            applied = store.apply(change_set)
        except StaleVersion:
            continue  # somebody was faster: settle it over what stands there now
        break
    else:
        raise StoreBusy(f"{record.path} changed {_ATTEMPTS} times meanwhile", hint="try again")
    files = memories.files.settle()
    memory = None if record.memory is None else store.memory(record.memory)
    return None if memory is None else Saved("resolved", memory, applied.operation, applied.seq, files)
