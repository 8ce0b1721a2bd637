"""Opens a store's database: the pragmas, the busy policy, and the one way to write.

`BEGIN IMMEDIATE` is issued by hand: apsw's `with connection` starts deferred, which fails at once when another
process has committed in between, whatever the timeout says. `synchronous=FULL`, for with less the last
acknowledged commits do not survive a power cut.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from memstore.errors import (
    Defect,
    DiskFull,
    EngineTooOld,
    MemstoreError,
    StoreBusy,
    StoreDamaged,
    StoreReadOnly,
    StoreUnavailable,
)
from memstore.store import guard
from memstore.store.turn import Turn

OLDEST_ENGINE = (3, 51, 3)
"""Older SQLite has the WAL-reset bug: two connections at one moment can corrupt the file."""

Reading = apsw.Connection
"""A connection inside a view of the store, for the reading functions of this room."""

Row = tuple[Any, ...]
"""A row of a STRICT table: its columns have the types that the schema gives them."""

APPLICATION_ID = 0x6D656D73
BUSY_MILLISECONDS = 5_000


class Link:
    """One process's connection to one store. Not for use in another process or by two threads at once."""

    def __init__(self, path: str, connection: apsw.Connection, turn: Turn | None) -> None:
        self.path = path
        self.connection = connection
        self._turn = turn
        self._pid = os.getpid()
        self._closed = False
        found = os.stat(path)
        self._file = (found.st_dev, found.st_ino)

    @property
    def writable(self) -> bool:
        """Whether the database was opened for writing."""
        return self._turn is not None

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """One write transaction. Raises StoreBusy, StoreReadOnly, DiskFull or StoreUnavailable."""
        self._check()
        if self._turn is None:
            raise StoreReadOnly(f"the store {self.path} was opened read-only", hint=_READ_ONLY_HINT)
        connection = self.connection
        self._turn.take()
        try:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except apsw.Error as error:
                raise translated(error, self.path) from error
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if isinstance(error, apsw.Error):
                    raise translated(error, self.path) from error
                raise
        finally:
            self._turn.give()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One view of the store: everything read inside belongs to one moment. Never waits for a writer."""
        self._check()
        try:
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self.connection.execute("COMMIT" if self.connection.in_transaction else "SELECT 1")
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def close(self) -> None:
        """Closes the connection and the queue."""
        if not self._closed:
            self._closed = True
            self.connection.close()
            guard.release(self.path)
        if self._turn is not None:
            self._turn.close()

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise Defect("a store's connection was used in a forked process")
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise StoreUnavailable(f"the store {self.path} is gone: {error.strerror}", hint="open it again") from error
        if (found.st_dev, found.st_ino) != self._file:
            raise StoreUnavailable(f"the store {self.path} was replaced while it was open", hint="open it again")


_READ_ONLY_HINT = "check the permissions of the store's folder, or move it with MEMSTORE_HOME"


def one(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """The first row of a query."""
    return connection.execute(sql, values).fetchone()


def many(connection: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[Row]:
    """All rows of a query."""
    return connection.execute(sql, values).fetchall()


def check_engine() -> None:
    """Raises EngineTooOld where the SQLite library has the WAL-reset bug or the platform is not supported."""
    if sys.platform == "win32":
        raise EngineTooOld("memstore is not tested on Windows", hint="use it inside WSL, on a Linux file system")
    found = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if found < OLDEST_ENGINE:
        raise EngineTooOld(
            f"SQLite {apsw.sqlite_lib_version()} has a defect that can corrupt a store; 3.51.3 or newer is needed",
            hint="upgrade the apsw package",
        )


def create_file(path: str) -> None:
    """An empty database file, readable by its owner alone, unless there is one."""
    if os.path.lexists(path):
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailable(f"the store {path} cannot be made: {error.strerror}", hint=_READ_ONLY_HINT) from error
    os.close(descriptor)


def open_link(path: str, *, writable: bool = True) -> Link:
    """Opens the database at `path`, which must be a regular file of this user.

    Raises StoreDamaged for what is no database, StoreUnavailable and its kinds otherwise.
    """
    check_engine()
    _check_file(path)
    flags = apsw.SQLITE_OPEN_NOFOLLOW | (apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
    try:
        connection = apsw.Connection(path, flags=flags)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.execute("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA synchronous = FULL")
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")
    except apsw.Error as error:
        raise translated(error, path) from error
    guard.protect(path)
    return Link(path, connection, Turn(os.path.dirname(path)) if writable else None)


def _check_file(path: str) -> None:
    try:
        found = os.lstat(path)
    except OSError as error:
        raise StoreUnavailable(f"the store {path} cannot be opened: {error.strerror}", hint=_READ_ONLY_HINT) from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreDamaged(f"{path} is not a regular file; nothing was changed", hint="move it out of the way")
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise StoreUnavailable(
            f"the store {path} belongs to another user", hint="set MEMSTORE_HOME to a folder of yours"
        )


def translated(error: apsw.Error, path: str) -> MemstoreError:
    """An SQLite error as one that names the store, the reason and the next step."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(f"the store {path} stayed locked by another process", hint="try again in a moment")
    if isinstance(error, apsw.FullError):
        return DiskFull(
            f"the disk is full; nothing was written to {path}", hint="free some space and repeat the command"
        )
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return StoreReadOnly(f"the store {path} cannot be written: it is read-only", hint=_READ_ONLY_HINT)
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return StoreDamaged(
            f"{path} does not read as a sound database ({error}); it was left exactly as it is",
            hint="copy the store's folder before anything else; the memory files are untouched and can be imported",
        )
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)):
        return StoreUnavailable(f"the store {path} cannot be read or written now ({error})", hint=_READ_ONLY_HINT)
    return Defect(f"SQLite refused a statement: {error}")
