"""One process that has the store open and syncs: the program's own code, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memstore.core.changes import ChangeSet
from memstore.core.model import SHELF, Applied, Provenance
from memstore.files.sync import OpenFolder, Sync
from memstore.store.shown import FolderRow, ShownChange
from memstore.store.store import Store
from memstore.world import World
from memstore.writing import Writer
from scripts.proofs.simulator_calls import Calls

FOLDER = "/home/memory"
STORE_ID = "simulated"


class Died(BaseException):
    """The process was killed. It is no Exception, and what cleans up on its way has no effect."""


def _no_step(what: str) -> None:
    """Nobody acts."""


class SteppedStore(Store):
    """The store, with steps before and after what it commits: others may be faster, and the process may die there."""

    step: Callable[[str], None] = staticmethod(_no_step)

    def apply(
        self, change_set: ChangeSet, *, folder: int | None = None, shown_changes: Sequence[ShownChange] = ()
    ) -> Applied:
        self.step("apply")
        applied = super().apply(change_set, folder=folder, shown_changes=shown_changes)
        self.step("applied")
        return applied

    def show(self, folder: int, changes: Sequence[ShownChange], **how: Any) -> None:
        self.step("show")
        super().show(folder, changes, **how)
        self.step("showed")

    def mark_gone(self, folder: int, since: int | None) -> None:
        self.step("mark gone")
        super().mark_gone(folder, since)

    def add_folder(self, path: str) -> FolderRow:
        self.step("add folder")
        row = super().add_folder(path)
        self.step("added folder")
        return row

    def forget_shown(self, folder: int) -> None:
        self.step("forget shown")
        super().forget_shown(folder)
        self.step("forgot shown")

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on its connection."""
        return bool(self._link.connection.in_transaction)


def stepped_store(directory: str, clock: Callable[[], int]) -> SteppedStore:
    """The store in a directory."""
    store = SteppedStore.open(directory, STORE_ID, clock)
    assert isinstance(store, SteppedStore)
    return store


class Process:
    """`made`: makes the Sync; a fault may make another one."""

    def __init__(
        self, name: str, calls: Calls, directory: str, world: World, opener: OpenFolder,
        made: Callable[[Store, World, OpenFolder], Sync],
    ) -> None:  # fmt: skip
        self.name = name
        self.calls = calls
        self.alive = True
        self.store = stepped_store(directory, world.clock)
        self.sync = made(self.store, world, opener)
        self.writer = Writer(self.store, world, Provenance("agent", name), SHELF)

    def begin_steps(self, step: Callable[[str], None]) -> None:
        """From now on it can be interrupted."""
        self.store.step = step

    def bury(self) -> None:
        """It was killed: what it had open is closed by the system."""
        self.alive = False
        self.calls.vanish()
        self.store.close()


def real_sync(store: Store, world: World, opener: OpenFolder) -> Sync:
    """The program's own."""
    return Sync(store, FOLDER, "/home/repository", world, open_folder=opener)
