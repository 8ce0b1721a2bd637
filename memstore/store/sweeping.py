"""Cleans a store's files of what was taken out of its rows: freed pages, and the log.

VACUUM writes the database anew, without a freed page; a checkpoint then moves all of it out of the log and empties the
log. For that nobody may be reading an older state: who does keeps the log as it is, and it is done another time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from memstore.errors import MemstoreError, StoreBusy
from memstore.store import holders, tombstones
from memstore.store.connection import translated
from memstore.store.opening import DATABASE
from memstore.store.store import Store

_TRIES = 4
_WAIT = 0.5


@dataclass(frozen=True, slots=True)
class Swept:
    """How it went. `trouble`: what was in the way; None: nothing is left in freed pages and log."""

    trouble: MemstoreError | None = None


def sweep(store: Store, pause: Callable[[float], None]) -> Swept:
    """Cleans the files; to be called outside of any transaction. What cannot be done now is told, not raised."""
    connection = store._link.connection  # neither of both can be done in a transaction
    trouble: MemstoreError | None = None
    renewed = False
    for attempt in range(_TRIES):
        if attempt:
            pause(_WAIT)
        try:
            if not renewed:
                connection.execute("VACUUM")
            renewed = True
            _empty_log(connection, store.path)
            with store.change() as inside:
                tombstones.mark_swept(inside, store.now())
            return Swept()
        except MemstoreError as error:
            trouble = error
        except apsw.Error as error:
            trouble = translated(error, store.path)
            trouble.hint = f"{trouble.hint.partition(' and ')[0]}, then run `memstore purge --finish`"
        if not isinstance(trouble, StoreBusy):
            break
    return Swept(trouble)


def _empty_log(connection: apsw.Connection, path: str) -> None:
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        who = ", ".join(f"{holder.program} (process {holder.pid})" for holder in holders.readers(path))
        raise StoreBusy(
            f"{who or 'another process'} still reads {path} as it was before, so that its log could not be emptied",
            hint="end that, then run `memstore purge --finish`",
        ) from None


def copies(store: Store, home: str) -> list[str]:
    """The copies of the store's database that memstore made: before migrations, as backups, of damaged ones."""
    own = {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}
    directory = os.path.realpath(store.directory)
    beside = [os.path.join(directory, name) for name in _names(directory) if name.startswith(DATABASE)]
    backups = os.path.join(home, "backups", store.id)
    kept = [os.path.join(backups, name) for name in _names(backups)]
    return [path for path in (*beside, *kept) if os.path.basename(path) not in own or path in kept]


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
