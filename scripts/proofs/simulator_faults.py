"""Faults, planted one at a time around the program's own code: each has to be noticed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from types import ModuleType
from typing import Any

from memstore.files import project, projector
from memstore.files.committing import Committer
from memstore.files.folder import Folder
from memstore.files.inbox import Inbox
from memstore.files.project import Outcome, Surprise, Work
from memstore.files.projector import Projector
from memstore.files.report import Findings
from memstore.files.sync import OpenFolder, Sync
from memstore.files.walk import FileRead
from memstore.store import shown
from memstore.store.shown import FolderRow
from memstore.store.store import Store
from memstore.world import World
from scripts.proofs.simulator_process import real_sync
from scripts.proofs.simulator_real import class_over
from scripts.proofs.simulator_world import Fault


def _renames(module: ModuleType, _: Callable[..., Any], directory: int, new: str, target: str, aside: str) -> str:
    """What lay there is thrown away."""
    module.os.rename(new, target, src_dir_fd=directory, dst_dir_fd=directory)
    return ""


def _believes(_: ModuleType, read: Callable[..., Any], *given: Any, **named: Any) -> object:
    """Nobody is ever in the middle of writing."""
    found = read(*given, **named)
    return replace(found, settled=True) if isinstance(found, FileRead) else found


def _never(_: ModuleType, __: Callable[..., Any], *given: object) -> bool:
    """Nobody who left a temporary file is ever gone."""
    return False


def _index_first(
    folder: Folder, work: Work, found: Findings, index_without: Callable[[Collection[str]], None]
) -> Outcome:
    """The index names topics that are not there yet."""
    first = project.carry_out(folder, Work(index=work.index), found, index_without)
    then = project.carry_out(folder, replace(work, index=None), found, index_without)
    return Outcome(
        [*first.shown, *then.shown], first.surprises + then.surprises, first.failed or then.failed, then.absent
    )  # fmt: skip


class NewBase(Committer):
    """Looks at what came out with what is shown now as its base."""

    def take_in(self, row: FolderRow, surprise: Surprise, found: Findings) -> str:
        with self._store.view() as connection:
            now = shown.shown_row(connection, row.pk, surprise.name)
        return super().take_in(row, replace(surprise, base=now, since=()), found)


class HearsNobody(Inbox):
    """What sessions had seen is nobody's business."""

    def work_in(self, row: FolderRow, found: Findings, look: object, late: object = ()) -> None:
        pass

    def busy(self, folder: str) -> set[str]:
        return set()


def _with_index_first(store: Store, world: World, opener: OpenFolder) -> Sync:
    sync = real_sync(store, world, opener)
    sync._projector = class_over(Projector, {**vars(projector), "carry_out": _index_first})(
        store, sync._committer, sync._sessions
    )
    return sync


def _with_new_base(store: Store, world: World, opener: OpenFolder) -> Sync:
    sync = real_sync(store, world, opener)
    sync._committer = NewBase(store, world, sync._sessions)
    sync._projector = Projector(store, sync._committer, sync._sessions)
    return sync


def _with_deaf_inbox(store: Store, world: World, opener: OpenFolder) -> Sync:
    sync = real_sync(store, world, opener)
    sync._sessions = HearsNobody(store, world, lambda: "")
    sync._committer = Committer(store, world, sync._sessions)
    sync._projector = Projector(store, sync._committer, sync._sessions)
    return sync


FAULTS = {
    "rename instead of exchange": Fault({"exchange.exchange": _renames}),
    "no turn": Fault(turns=False),
    "index before topics": Fault(made=_with_index_first),
    "what came out over the new B": Fault(made=_with_new_base),
    "temporary files unswept": Fault({"temporary.is_abandoned": _never}),
    "half-written files believed": Fault({"walk.read": _believes}),
    "sessions unheard": Fault(made=_with_deaf_inbox),
}
