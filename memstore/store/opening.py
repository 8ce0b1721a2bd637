"""From a directory to a database that is ready: made where there is none, migrated where it is older.

Making and migrating happen under a lock file, one process at a time. A small file, the mark, says that the
store has been used: an empty database beside it is a loss, not a fresh start.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import apsw

from memstore.core.terms import TERMS_VERSION
from memstore.errors import TO_MEND_A_STORE, StoreBusy, StoreDamaged, StoreReadOnly, StoreUnavailable
from memstore.store import ground, migrate
from memstore.store.connection import READ_ONLY_HINT, Link, one, open_link, translated
from memstore.store.ddl import migrations
from memstore.store.plainfile import create_whole, sync_directory
from memstore.store.turn import lock_within

DATABASE = "store.db"
MARK = "store.id"
_SECONDS = 60


def open_ready(directory: str, store: str, clock: Callable[[], int], *, writable: bool) -> Link:
    """The database in `directory`, with the present schema. `store`: the id a new store gets.

    Where it cannot be written it is opened for reading. Raises GroundRefused, StoreNewer, StoreDamaged and
    other kinds of StoreUnavailable.
    """
    # A person may have moved the folder to another disk and left a link; SQLite itself is to follow none.
    place = os.path.realpath(directory)
    ground.check(place)
    path = os.path.join(place, DATABASE)
    if not os.path.lexists(path):
        if not writable:
            raise StoreUnavailable(f"there is no store at {path}", hint="run `memstore sync` in the repository")
        return _settled(_open_first(place, path, store, clock))
    writable = writable and os.access(path, os.W_OK) and os.access(place, os.W_OK)
    link = open_link(path, writable=writable)
    ready = _is_ready(link)
    if not ready and not writable:
        link.leave()
        raise StoreReadOnly(f"{path} needs a newer schema and is read-only", hint="make it writable once")
    if not ready or (writable and not os.path.exists(os.path.join(place, MARK))):
        link.close()
        link = _open_first(place, path, store, clock)
    return _settled(link)


def _is_ready(link: Link) -> bool:
    """Whether the schema is the present one. What is refused is left as it is."""
    try:
        return migrate.check(link.connection, link.path)
    except BaseException:
        link.leave()
        raise


def _open_first(place: str, path: str, store: str, clock: Callable[[], int]) -> Link:
    """Makes or migrates the database, one process at a time."""
    lock = _lock(place)
    try:
        mark = os.path.join(place, MARK)
        known = os.path.exists(mark)
        if known and (not os.path.exists(path) or os.path.getsize(path) == 0):
            raise _lost(path, "is missing or empty")
        _create_file(path)
        link = open_link(path)
        if _is_ready(link) and known:
            return link
        try:
            if known and migrate.schema_version(link.connection) == 0:
                raise _lost(path, "holds nothing")
            migrate.migrate(link.connection, store=store, now=clock())
            if not known:
                create_whole(mark, store.encode() + b"\n")
        except apsw.Error as error:
            link.leave()
            raise translated(error, path) from error
        except OSError as error:
            link.leave()
            raise _unusable(place, error) from error
        except BaseException:
            link.leave()
            raise
        return link
    finally:
        os.close(lock)


def _settled(link: Link) -> Link:
    """Segments every memory anew where the rules of the terms have changed since."""
    link.settle(len(migrations()))
    try:
        with link.reading() as connection:
            current = _terms_version(connection) == TERMS_VERSION
        if not current and link.writable:
            with link.writing() as connection:
                if _terms_version(connection) != TERMS_VERSION:
                    from memstore.store import writer

                    writer.reindex(connection)
                    connection.execute("UPDATE store SET terms_version = ?", (TERMS_VERSION,))
    except BaseException:
        link.close()
        raise
    return link


def _terms_version(connection: apsw.Connection) -> int | None:
    row = one(connection, "SELECT terms_version FROM store")
    return None if row is None else row[0]


def _lock(place: str) -> int:
    try:
        _make_directory(place)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(os.path.join(place, "open.lock"), flags, 0o600)
        if lock_within(lock, _SECONDS):
            return lock
    except OSError as error:
        raise _unusable(place, error) from error
    raise StoreBusy(
        f"another process has been making or migrating the store in {place} for {_SECONDS} seconds",
        hint="try again when it is done",
    )


def _make_directory(place: str) -> None:
    """The store's folder and what lies above it, each for its owner alone and safe on the disk."""
    if os.path.isdir(place):
        return
    above = os.path.dirname(place)
    _make_directory(above)
    with suppress(FileExistsError):
        os.mkdir(place, 0o700)
    sync_directory(above)


def _create_file(path: str) -> None:
    """An empty database file, readable by its owner alone, unless there is one."""
    if os.path.lexists(path):
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailable(f"the store {path} cannot be made: {error.strerror}", hint=READ_ONLY_HINT) from error
    os.close(descriptor)


def _unusable(place: str, error: OSError) -> StoreReadOnly:
    return StoreReadOnly(
        f"the store's folder {place} cannot be used: {error.strerror}", hint="set MEMSTORE_HOME to a folder of yours"
    )


def _lost(path: str, how: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} {how}, yet this store has been used; nothing was changed",
        hint=f"restore it from a backup: {TO_MEND_A_STORE}",
    )
