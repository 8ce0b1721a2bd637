"""Restoring a backup: what is in the way is found first, what the store holds is kept, and no file is overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from memstore.app import Memstore
from memstore.core.changes import ChangeSet
from memstore.errors import Conflict, InputRefused, MemstoreError, PlaceRefused, StoreDamaged
from memstore.files.folder import Folder
from memstore.place import Place, find_place, registered
from memstore.store import backup, guard, restoring
from memstore.store.connection import Link, open_link
from memstore.store.opening import DATABASE
from memstore.upkeep import backups

if TYPE_CHECKING:
    from memstore.files.report import Progress, SyncReport
    from memstore.store.backup import Contents
    from memstore.world import World

KIND = "restore-backup"
"""The kind of the operation that a restore leaves in the history."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a restore would do. `now`: what the store holds, None where its database cannot be used, and `damage` says
    why. `forgotten`: operations that forgot something on purpose since the backup was made: it comes back."""

    source: str
    holds: Contents
    now: Contents | None
    damage: str
    forgotten: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did. `before`: the backup of what the store held until then; `aside`: the new names of a database
    that could not be used. `back`: files that were gone and are shown again. `files`: what the next sync takes in and
    puts."""

    plan: Planned
    seq: int
    before: str | None
    aside: tuple[str, ...]
    back: tuple[str, ...]
    files: SyncReport | None


def plan(world: World, reference: str, given: str) -> Planned:
    """Looks at the backup and at what there is now; changes nothing but to take in what was edited in the folder.

    Raises NotFound, InputRefused for another store's backup, StoreDamaged for a bad one, StoreNewer, StoreUnavailable.
    """
    place = _place(world)
    assert place.store is not None
    source = backups.chosen(place.home.path, place.store, reference, given)
    path = os.path.join(_directory(place), DATABASE)
    if guard.identity(source) is not None and guard.identity(source) == guard.identity(path):
        raise InputRefused(
            f"{source} is the database of this store, and no backup", hint="see `memstore backup --list`"
        )
    try:
        holds, purges = restoring.examine(source, place.store)
    except StoreDamaged as error:
        raise StoreDamaged(str(error), hint="take another one: `memstore backup --list`") from error
    try:
        now, forgotten, notices = _look(world, purges)
    except StoreDamaged as error:
        return Planned(source, holds, None, str(error), 0)
    return Planned(source, holds, now, "", forgotten, notices)


def _look(world: World, purges: frozenset[str]) -> tuple[Contents, int, tuple[str, ...]]:
    """What the store holds, how many purges it had beside these, and what there is to say. Raises StoreDamaged."""
    with Memstore.open(world=world, make=False) as memories:
        if memories.store.refusal is not None:
            raise memories.store.refusal
        notices = memories.files.absorb().notices
        with memories.store.view() as connection:
            return backup.contents(connection), len(restoring.purges(connection) - purges), notices


def restore(world: World, planned: Planned, progress: Progress | None = None) -> Restored:
    """Does it. Where it fails, the store holds what it held. Raises StoreBusy, DiskFull and kin."""
    place = _place(world)
    directory = _directory(place)

    def told(what: str) -> backup.Step | None:
        return None if progress is None else lambda done, pages: progress(done, pages, what)

    backups.make_directory(directory)
    with restoring.alone(directory):
        return _restore(world, place, planned, told)


def _restore(world: World, place: Place, planned: Planned, told: Callable[[str], backup.Step | None]) -> Restored:
    directory = _directory(place)
    if planned.now is None:
        _check_damaged(world)
    draft = restoring.draft(planned.source, directory, told("reading the backup"))
    try:
        with _turns(place, restoring.folders(draft), world) as shown:
            gone = {path: [name for name in names if _is_gone(path, name)] for path, names in shown.items()}
            putting = _Putting(world, place, directory, draft, planned, gone)
            if planned.now is None:
                putting.in_place()
            else:
                putting.into_live(told("keeping what is there now"), told("restoring"))
    finally:
        restoring.remove_draft(draft)
    back = tuple(sorted({name for names in gone.values() for name in names}))
    with Memstore.open(world=world, make=False) as memories:
        files = None
        with suppress(PlaceRefused):
            files = memories.files.preview()
    return Restored(planned, putting.seq, putting.before, putting.aside, back, files)


def _check_damaged(world: World) -> None:
    """Raises Conflict where the database, which could not be used, has been mended meanwhile."""
    with suppress(StoreDamaged):
        _look(world, frozenset())
        raise Conflict("the database was mended meanwhile; nothing was changed", hint="run the command again")


class _Putting:
    """The last steps, with the folders' turns in hand."""

    def __init__(
        self, world: World, place: Place, directory: str, draft: str, planned: Planned, gone: dict[str, list[str]]
    ) -> None:
        assert place.store is not None
        self._world, self._place, self._directory, self._draft = world, place, directory, draft
        self._planned, self._gone = planned, gone
        self._store = place.store
        self._path = os.path.join(directory, DATABASE)
        self.before: str | None = None
        self.aside: tuple[str, ...] = ()
        self.seq = 0

    def into_live(self, keeping: backup.Step | None, putting: backup.Step | None) -> None:
        """Into the database that is there. One whose rows cannot be copied is damaged: it is renamed."""
        home = self._place.home.path
        before = backups.named(home, self._store, self._world.clock(), backups.BEFORE)
        backups.make_directory(os.path.dirname(before))
        try:
            reader = open_link(self._path, writable=False)
            try:
                self._put(reader, before, keeping, putting)
            finally:
                reader.close()
        except StoreDamaged:
            self.before = before if os.path.exists(before) else None
            self.in_place()
        except OSError as error:
            raise backup.unwritable(before, error) from error

    def _put(self, reader: Link, before: str, keeping: backup.Step | None, putting: backup.Step | None) -> None:
        known = reader.seen()
        now = self._keep(reader, before, keeping)

        def locked() -> None:
            last = now
            if reader.seen() != known:  # somebody wrote until just now: keep that too
                backup.remove_copy(before)
                last = self._keep(reader, before, None)
            self._calm(last, before)

        self.before = before
        restoring.put(self._path, self._draft, locked, putting)

    def _keep(self, reader: Link, before: str, step: backup.Step | None) -> restoring.Present:
        with reader.reading() as connection:
            backup.copy(connection, before, step)
            return restoring.present(connection)

    def in_place(self) -> None:
        """Into the place of a database that cannot be used."""
        if not self.seq:
            self._calm(restoring.Present(), None)
        self.aside = restoring.put_in_place(self._directory, self._draft, self._store, self._world.clock())

    def _calm(self, now: restoring.Present, before: str | None) -> None:
        kept = "" if before is None else f"; the state before: {os.path.basename(before)}"
        operation = ChangeSet(
            self._world.new_id(),
            KIND,
            self._world.clock(),
            self._world.provenance(self._place.root),
            (),
            reason=f"from {os.path.basename(self._planned.source)}{kept}",
            request=repr((KIND, self._planned.source)),
            real=False,
        )
        self.seq = restoring.calm(self._draft, now, self._gone, operation)


def _place(world: World) -> Place:
    return registered(find_place(world), world, make=False)


def _directory(place: Place) -> str:
    assert place.store_directory is not None
    return os.path.realpath(place.store_directory)


def _is_gone(folder: str, name: str) -> bool:
    return not os.path.lexists(os.path.join(folder, name))


@contextmanager
def _turns(place: Place, shown: dict[str, list[str]], world: World) -> Iterator[dict[str, list[str]]]:
    """Holds the turn of every folder of the store that is there, so that nobody projects; what these showed.

    Of a folder that is not there, or cannot be looked at, nothing is known to be gone.
    """
    paths = set(shown) | ({os.path.realpath(place.folder)} if place.folder is not None else set())
    there: dict[str, list[str]] = {}
    opened: Callable[[str], Folder | None] = partial(Folder.open, now=lambda: world.clock() * 1_000, pause=world.pause)
    with ExitStack() as stack:
        for path in sorted(paths):
            try:
                folder = opened(path)
            except MemstoreError:
                continue
            if folder is not None:
                stack.enter_context(folder)
                stack.enter_context(folder.turn(_directory(place)))
                there[path] = shown.get(path, [])
        yield there
