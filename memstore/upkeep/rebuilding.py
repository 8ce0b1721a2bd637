"""Rebuilding a store whose database cannot be used: from the memory folder, and from what is sound in the old file.

The old file gets another name and stays. The new database has the store's id, so that the folder, its claim and the
registry hold as before; it takes the folder over as it would any. What the old file held besides (earlier versions,
memories that no file shows) is written into a directory, for a person to look at and to import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memstore.app import Memstore
from memstore.core.changes import ChangeSet
from memstore.core.model import SHELF
from memstore.core.names import check_path
from memstore.errors import Conflict, NameRefused, StoreDamaged
from memstore.place import find_place, registered
from memstore.store import backup, examining, reader, restoring
from memstore.store import salvage as reading
from memstore.store.opening import DATABASE
from memstore.store.plainfile import create_whole
from memstore.upkeep import backups

if TYPE_CHECKING:
    from memstore.files.report import Progress, SyncReport
    from memstore.store.salvage import Named, Salvage
    from memstore.world import World

KIND = "rebuild"
"""The kind of the operation that it leaves in the history."""

DIRECTORY = "salvage"
LIVING, EARLIER, NAMELESS = "memories", "earlier", "texts"
"""Memories that no file shows any more, as they stood last; all earlier versions; texts whose names were lost."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A text that only the old file held. `path`: the memory's, or empty; `file`: where it was written."""

    path: str
    file: str
    living: bool


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What it came to. `texts`: how many were read out of the old file. `directory`: where those are that only it
    held."""

    damage: str
    aside: tuple[str, ...]
    memories: int
    texts: int
    saved: tuple[Saved, ...]
    directory: str | None
    files: SyncReport
    notices: tuple[str, ...]
    seq: int


def damage(world: World) -> str:
    """What is wrong with the database. Raises Conflict where it is sound, StoreNewer and kin as opening does."""
    place = registered(find_place(world), world, make=False)
    assert place.store_directory is not None
    path = os.path.join(os.path.realpath(place.store_directory), DATABASE)
    try:
        found = _ill_made(path)
        if not found:
            Memstore.open(world=world, make=False).close()  # which brings an older schema up to date
            found = _unsound(path)
    except StoreDamaged as error:
        return str(error)
    if found:
        return f"{path} is damaged: {'; '.join(found[:5])}"
    raise Conflict(
        f"the database of {place.root.path} is sound; nothing was changed",
        hint="`memstore doctor` examines the store; `memstore restore-backup` goes back to a backup",
    )


def _ill_made(path: str) -> list[str]:
    """What the database has not that its schema's number says: no command can be sure to open it."""
    if not os.path.lexists(path) or os.lstat(path).st_size == 0:
        return []  # opening it says so
    link = examining.open_for_look(path)
    try:
        with link.reading() as connection:
            return examining.makeup(connection)
    finally:
        link.leave()


def _unsound(path: str) -> list[str]:
    """What a look at all pages, references, texts and memories finds, on a fresh connection."""
    link = examining.open_for_look(path)
    try:
        with link.reading() as connection:
            found = examining.integrity(connection) or examining.references(connection)
            if not found:
                backup.check_texts(connection, path)
                found = [f"{name} is not what its newest version says" for name in examining.heads(connection)]
            return found or examining.unreadable(connection)
    finally:
        link.leave()


def rebuild(world: World, damaged: str, progress: Progress | None = None) -> Rebuilt:
    """Does it, on a person's word alone. Interrupted anywhere, the same command goes on."""
    place = registered(find_place(world), world, make=False)
    assert place.store is not None and place.store_directory is not None
    directory = os.path.realpath(place.store_directory)
    backups.make_directory(directory)
    with restoring.alone(directory):
        damage(world)  # raises where another process has mended it meanwhile
        draft = restoring.fresh(directory, place.store, world.clock())
        try:
            aside = restoring.put_in_place(directory, draft, place.store, world.clock())
        finally:
            restoring.remove_draft(draft)
    found, notices = _salvaged(aside or _earlier(directory), progress)
    with Memstore.open(world=world, make=False) as memories:
        report = memories.sync()
        with memories.store.view() as connection:
            known = {number for number, text in found.texts.items() if reader.knows(connection, text)}
        target = os.path.join(place.home.path, DIRECTORY, place.store, _stamp(world.clock()))
        saved = tuple(_write(target, found, known))
        seq = memories.store.apply(
            ChangeSet(
                world.new_id(),
                KIND,
                world.clock(),
                world.provenance(place.root),
                (),
                reason=f"the earlier database: {', '.join(map(os.path.basename, aside)) or 'none'}",
                request=repr((KIND, aside)),
                real=False,
            )
        ).seq
        count = len(memories.store.memories(SHELF))
    return Rebuilt(
        damaged, aside, count, len(found.texts), saved, target if saved else None, report, tuple(notices), seq
    )


def _salvaged(files: tuple[str, ...], progress: Progress | None) -> tuple[Salvage, list[str]]:
    """What can be read out of a database (first) and its log."""
    main = next((path for path in files if not path.endswith(("-wal", "-shm"))), None)
    if main is None or not os.path.isfile(main) or os.path.islink(main):
        return reading.Salvage(), []
    log = next((path for path in files if path.endswith("-wal")), None)

    def told(done: int, pages: int) -> None:
        if progress is not None:
            progress(done, pages, "reading the earlier database")

    try:
        return reading.read(main, log, told), []
    except OSError as error:
        return reading.Salvage(), [f"{main} cannot be read: {error.strerror}"]


def _earlier(directory: str) -> tuple[str, ...]:
    """The database that a rebuild had renamed before it was interrupted, and its log."""
    names = sorted(name for name in os.listdir(directory) if name.startswith(f"{DATABASE}.damaged-"))
    mains = [name for name in names if not name.endswith(("-wal", "-shm"))]
    if not mains:
        return ()
    return tuple(os.path.join(directory, name) for name in names if name.startswith(mains[-1]))


def _write(target: str, found: Salvage, known: set[int]) -> Iterator[Saved]:
    newest: dict[int, Named] = {}
    for named in found.versions.values():
        if named.memory not in newest or newest[named.memory].number < named.number:
            newest[named.memory] = named
    named_texts = set()
    for named in sorted(found.versions.values(), key=lambda one: (one.memory, -one.number)):
        if named.text not in found.texts or named.text in named_texts:
            continue
        named_texts.add(named.text)
        if named.text in known:
            continue
        living = named.live and newest[named.memory] is named and named.scope == SHELF.scope
        place = _place_of(named, living)
        yield Saved(named.path, _put(target, place, found.texts[named.text]), living)
    for number in sorted(found.texts.keys() - named_texts - known):
        yield Saved("", _put(target, os.path.join(NAMELESS, f"{number}.md"), found.texts[number]), False)


def _place_of(named: Named, living: bool) -> str:
    try:
        path = check_path(named.path)
    except NameRefused:
        return os.path.join(NAMELESS, f"{named.text}.md")
    if living:
        return os.path.join(LIVING, path)
    return os.path.join(EARLIER, f"{path.removesuffix('.md')}.{named.memory}", f"{named.number}.md")


def _put(target: str, place: str, content: bytes) -> str:
    path = os.path.join(target, place)
    backups.make_directory(os.path.dirname(path))
    number = 1
    try:
        while not create_whole(path, content):
            number += 1
            path = os.path.join(target, f"{place.removesuffix('.md')}-{number}.md")
    except OSError as error:
        raise backup.unwritable(path, error) from error
    return path


def _stamp(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
