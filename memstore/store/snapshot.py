"""Copies of a store at one moment, for tools that must never open the live file.

A copy is made by `VACUUM INTO`, which reads in one transaction and holds no writer up; what was deleted from the
store is not in it. It has no write-ahead log of its own, the views of `schema/views.sql` besides the tables, and a
mark by which nobody takes it for a store. A copy for one command stands in a directory of its own in the home, and is
gone with the command; one that a killed command has left behind goes with the next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import apsw

from memstore.errors import StoreUnavailable
from memstore.store import migrate
from memstore.store.connection import open_link, translated
from memstore.store.ddl import schema_directory

SNAPSHOT_ID = 0x6D656D71
"""The application id of a copy; a store has `connection.APPLICATION_ID`."""

Progress = Callable[[int, int, str], None]
"""Told of work that goes on: how much is done, of how much, and what is done now."""

_DIRECTORY = "snapshots"
_YOUNG = 60
"""Seconds in which a directory is let be: whoever makes it may not have locked it yet."""
_STEPS = 20_000
"""Instructions of SQLite between two looks at the progress."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy for one command. `held`: an open file that keeps it from being swept; a child may inherit it."""

    path: str
    held: int


@contextmanager
def snapshot(database: str, home: str, progress: Progress | None = None) -> Iterator[Snapshot]:
    """A copy of the database, which is gone at the end. Raises the kinds of StoreUnavailable."""
    above = _above(home)
    sweep(above)
    try:
        directory = tempfile.mkdtemp(prefix="db-", dir=above)
        held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(above, error) from error
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        path = os.path.join(directory, "snapshot.db")
        copy(database, path, progress)
        yield Snapshot(path, held)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(held)


def copy(database: str, target: str, progress: Progress | None = None) -> None:
    """Copies the database into a new file, for its owner alone. Raises FileExistsError, or StoreUnavailable's kinds."""
    _create(target)
    try:
        _vacuum(database, target, progress)
        _dress(target)
    except BaseException:
        with suppress(OSError):
            os.unlink(target)
        raise


def sweep_home(home: str) -> None:
    """The same for whoever makes no copy."""
    sweep(os.path.join(home, _DIRECTORY))


def sweep(above: str) -> None:
    """Takes away what killed commands have left behind: nobody holds it any more."""
    for name in _names(above):
        path = os.path.join(above, name)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if os.fstat(handle).st_ctime < time.time() - _YOUNG:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            pass  # somebody works with it
        finally:
            os.close(handle)


def _above(home: str) -> str:
    """Where copies for one command stand: in the home, which is for its owner alone and has room for stores; where
    nobody can write there, in the system's place for such things."""
    directory = os.path.join(home, _DIRECTORY)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
    except OSError:
        return tempfile.gettempdir()
    return directory if os.access(directory, os.W_OK) else tempfile.gettempdir()


def _names(above: str) -> list[str]:
    if os.path.basename(above) != _DIRECTORY:
        return []  # the system's own place, where it sweeps itself
    try:
        return [name for name in os.listdir(above) if name.startswith("db-")]
    except OSError:
        return []


def _create(target: str) -> None:
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        raise
    except OSError as error:
        raise _unwritable(target, error) from error


def _unwritable(place: str, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"no copy can be made at {place}: {error.strerror}", hint="make room there, or give a place where you can write"
    )


def _vacuum(database: str, target: str, progress: Progress | None) -> None:
    link = open_link(database, writable=False)
    try:
        migrate.check(link.connection, database)
        _tell(link.connection, database, target, progress)
        link.connection.execute("VACUUM INTO ?", (target,))
    except apsw.Error as error:
        full = isinstance(error, (apsw.FullError, apsw.IOError))
        raise translated(error, target if full else database) from error
    finally:
        link.close()


def _tell(connection: apsw.Connection, database: str, target: str, progress: Progress | None) -> None:
    """Tells of the progress; without anybody to tell it to, signals are heard at least, for Python runs then."""
    whole = os.stat(database).st_size // 1024

    def told() -> bool:
        if progress is not None:
            progress(min(whole, os.stat(target).st_size // 1024), whole, "KiB")
        return False

    connection.set_progress_handler(told, _STEPS)


def _dress(target: str) -> None:
    """Gives the copy its views and its mark."""
    with open(os.path.join(schema_directory(), "views.sql"), encoding="utf-8") as file:
        views = file.read()
    connection = apsw.Connection(target, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        connection.execute(f"BEGIN; {views}; PRAGMA application_id = {SNAPSHOT_ID}; COMMIT")
    except apsw.Error as error:
        raise translated(error, target) from error
    finally:
        connection.close()
