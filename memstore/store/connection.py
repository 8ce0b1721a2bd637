"""Opens a store's database: the pragmas, the busy policy, and the one way to write.

`BEGIN IMMEDIATE` is issued by hand: apsw's `with connection` starts deferred, which fails at once when another
process has committed in between, whatever the timeout says. `synchronous=FULL`, for with less the last
acknowledged commits do not survive a power cut.
"""

from __future__ import annotations

import os
import stat
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from memstore.errors import (
    TO_MEND_A_STORE,
    Defect,
    DiskFull,
    EngineTooOld,
    MemstoreError,
    StoreBusy,
    StoreDamaged,
    StoreNewer,
    StoreReadOnly,
    StoreReplaced,
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
BUSY_MILLISECONDS = 2_500
"""With the time in the queue (`turn.PATIENCE`), a write waits five seconds at most."""

_WAL_BYTES = 16 * 1024 * 1024


class Link:
    """One process's connection to one store. Not for use in another process or by two threads at once."""

    def __init__(self, path: str, connection: apsw.Connection, turn: Turn | None) -> None:
        self.path = path
        self.connection = connection
        self._turn = turn
        self._pid = os.getpid()
        self._closed = False
        self._schema: int | None = None
        self._guarded = guard.Protection(path)
        # One that is forgotten rather than closed is closed by the collector; its inodes are then used by others.
        weakref.finalize(connection, self._guarded.end)
        self._database = guard.identity(path)
        self._log = guard.identity(path + "-wal")

    @property
    def writable(self) -> bool:
        """Whether the database was opened for writing."""
        return self._turn is not None

    def settle(self, schema: int) -> None:
        """The database is ready, with this schema: from now on it must be these files and this schema."""
        self._schema = schema
        self._guarded.renew()
        self._log = guard.identity(self.path + "-wal")

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[apsw.Connection]:
        """One write transaction. Raises StoreBusy, StoreReadOnly, DiskFull, StoreNewer or StoreUnavailable.

        Not `durable`: it may be lost in a power cut, as a whole and with nothing else; the next durable one saves
        it too.
        """
        self._check_use()
        if self._turn is None:
            raise StoreReadOnly(f"the store {self.path} was opened read-only", hint=READ_ONLY_HINT)
        connection = self.connection
        try:
            self._turn.take()
            self._check_files()
            try:
                if not durable:
                    connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("BEGIN IMMEDIATE")
            except apsw.Error as error:
                raise self._translated(error) from error
            try:
                self._check_schema()
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if isinstance(error, (apsw.Error, UnicodeDecodeError)):
                    raise self._translated(error) from error
                raise
            # A commit into a file that nobody sees any more must not be acknowledged.
            self._check_files()
        finally:
            self._turn.give()
            if not durable and not self._closed and not connection.in_transaction:
                connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """One view of the store: everything read inside belongs to one moment. Never waits for a writer."""
        self._check_use()
        self._check_files()
        try:
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self._roll_back()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise self._translated(error) from error

    def seen(self) -> int:
        """Another number as soon as another connection has committed something."""
        number = self.connection.pragma("data_version")
        assert isinstance(number, int)
        return number

    def close(self) -> None:
        """Closes the connection and the queue; in a forked process it leaves them to the one that opened them."""
        if os.getpid() != self._pid:
            return
        self._closed = True
        self.connection.close()
        self._guarded.end()
        if self._turn is not None:
            self._turn.close()

    def leave(self) -> None:
        """Closes a database that was refused: what stands in its log is not moved into it."""
        _keep_log(self.connection, self.path)
        self.close()

    def _check_use(self) -> None:
        if os.getpid() != self._pid:
            raise Defect("a store's connection was used in a forked process")
        if self._closed:
            raise StoreUnavailable(f"the store {self.path} is closed", hint="open it again")

    def _check_files(self) -> None:
        found = guard.identity(self.path)
        if found is None:
            raise StoreUnavailable(f"the store {self.path} is gone", hint="open it again")
        if found != self._database or (
            self._log is not None and self.writable and guard.identity(self.path + "-wal") != self._log
        ):
            raise StoreReplaced(self.path)

    def _check_schema(self) -> None:
        if self._schema is None:
            return
        found = self.connection.pragma("user_version")
        if found != self._schema:
            raise StoreNewer(
                f"{self.path} has schema {found} now, this memstore works with {self._schema}; nothing was written",
                hint="another memstore has changed it meanwhile: start this one again, or upgrade it",
            )

    def _roll_back(self) -> None:
        """Ends the transaction. Where even that fails, only a fresh connection knows what the database holds."""
        if not self.connection.in_transaction:
            return
        try:
            self.connection.execute("ROLLBACK")
        except apsw.Error:
            self.close()

    def _translated(self, error: apsw.Error | UnicodeDecodeError) -> MemstoreError:
        if isinstance(error, UnicodeDecodeError):  # SQLite takes any bytes for text, and its own check does, too
            return _damaged(self.path, f"a text in it is not UTF-8: {error.reason}")
        if isinstance(error, apsw.SQLError):
            try:
                self._check_schema()
            except StoreNewer as newer:
                return newer
            except apsw.Error:
                pass
        return translated(error, self.path)


READ_ONLY_HINT = "check the permissions of the store's folder, or move it with MEMSTORE_HOME"


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


def open_link(path: str, *, writable: bool = True) -> Link:
    """Opens the database at `path`, which must be a regular file of this user, under no symbolic link.

    Raises StoreDamaged for what is no database, StoreUnavailable and its kinds otherwise.
    """
    check_engine()
    _check_file(path)
    flags = apsw.SQLITE_OPEN_NOFOLLOW | (apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
    try:
        connection = _connect(path, flags)
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        if writable or not _is_at_rest(path):
            raise translated(error, path) from error
        connection = _connect_at_rest(path, flags)
    except apsw.Error as error:
        raise translated(error, path) from error
    return Link(path, connection, Turn(os.path.dirname(path)) if writable else None)


def open_alone(path: str) -> Link:
    """The database file as it lies there, without the log beside it: for a look at what that log makes of it."""
    _check_file(path)
    return Link(path, _connect_at_rest(path, apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_READONLY), None)


def _connect(name: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(name, flags=flags)
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.execute("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA synchronous = FULL")
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
        # The first read makes the side files, which the guard has to know.
        connection.pragma("schema_version")
    except apsw.Error:
        _keep_log(connection, name)
        connection.close()
        raise
    return connection


def _is_at_rest(path: str) -> bool:
    """Whether all that was committed stands in the database file itself."""
    return not os.path.exists(path + "-wal") or os.path.getsize(path + "-wal") == 0


def _connect_at_rest(path: str, flags: int) -> apsw.Connection:
    """Reads where no side files can be made: a read-only folder, in which nobody else can be writing either."""
    from urllib.parse import quote

    try:
        return _connect(f"file:{quote(os.fsencode(path))}?immutable=1", flags | apsw.SQLITE_OPEN_URI)
    except apsw.Error as error:
        raise translated(error, path) from error


def _keep_log(connection: apsw.Connection, path: str) -> None:
    """What is refused is left as it is: closing the last connection would move its log into the database."""
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def _check_file(path: str) -> None:
    try:
        found = os.lstat(path)
    except OSError as error:
        raise StoreUnavailable(f"the store {path} cannot be opened: {error.strerror}", hint=READ_ONLY_HINT) from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreDamaged(f"{path} is not a regular file; nothing was changed", hint=TO_MEND_A_STORE)
    if found.st_size == 0 and not _is_at_rest(path):
        # SQLite would delete the log of an empty database, and with it the last that is left of the rows.
        raise StoreDamaged(f"{path} is empty, but its log is not; nothing was changed", hint=TO_MEND_A_STORE)
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise StoreUnavailable(
            f"the store {path} belongs to another user", hint="set MEMSTORE_HOME to a folder of yours"
        )


def translated(error: apsw.Error, path: str) -> MemstoreError:
    """An SQLite error as one that names the store, the reason and the next step."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(f"the store {path} stayed locked by another process", hint="try again in a moment")
    cannot = isinstance(error, (apsw.IOError, apsw.CantOpenError))
    if isinstance(error, apsw.FullError) or (cannot and _is_full(os.path.dirname(path))):
        return DiskFull(
            f"the disk is full; nothing was written to {path}", hint="free some space and repeat the command"
        )
    if isinstance(error, apsw.ConnectionClosedError):
        return StoreUnavailable(f"the store {path} is closed", hint="open it again")
    if getattr(error, "extendedresult", 0) == apsw.SQLITE_READONLY_DBMOVED:
        return StoreReplaced(path)
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return StoreReadOnly(f"the store {path} cannot be written: it is read-only", hint=READ_ONLY_HINT)
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return _damaged(path, str(error))
    if cannot:
        return StoreUnavailable(f"the store {path} cannot be read or written now ({error})", hint=READ_ONLY_HINT)
    return Defect(f"SQLite refused a statement: {error}")


def _damaged(path: str, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} does not read as a sound database ({reason}); it was left exactly as it is",
        hint=f"the memory files are untouched; {TO_MEND_A_STORE}",
    )


def _is_full(directory: str) -> bool:
    """Whether there is no block or no inode left: SQLite says of the files that it makes beside the database only
    that it could not."""
    try:
        found = os.statvfs(directory)
    except OSError:
        return False
    return found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0)
