"""What an operation of the app came to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memstore.core.model import Memory, Operation
from memstore.files.report import SyncReport
from memstore.files.watch_lock import Watcher, watcher_of
from memstore.place import Place

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.standing import Standing


@dataclass(frozen=True, slots=True)
class Saved:
    """A write and what became of its files. `what`: created, revised, merged, unchanged, repeated …"""

    what: str
    memory: Memory
    operation: str | None
    seq: int | None
    files: SyncReport


@dataclass(frozen=True, slots=True)
class Undone:
    """An operation that was taken back, and the operation that did it."""

    operation: Operation
    by: str
    seq: int
    changed: tuple[str, ...]
    files: SyncReport


@dataclass(frozen=True, slots=True)
class Status:
    """How things stand here. `watcher` None: no process watches the folder. `paused`: where automatic saving rests.

    `extraction`: what waits for it and why.
    """

    place: Place
    counts: dict[str, int]
    files: SyncReport
    schema: int
    engine: str
    watcher: Watcher | None
    paused: tuple[str, ...]
    extraction: Standing


def status(memories: Memstore) -> Status:
    """How things stand, after a whole scan of the folder."""
    from memstore.sessions import paused
    from memstore.standing import standing

    store = memories.store
    report = replace(memories.files.absorb(), omitted=memories.files.omissions())
    watcher, resting = watcher_of(store.directory), tuple(paused(memories))
    extraction = standing(store, memories.place.home.path, memories.world)
    return Status(memories.place, store.counts(), report, store.schema(), store.engine, watcher, resting, extraction)
