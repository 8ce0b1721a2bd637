"""Brings a store's schema up to date: plain numbered SQL, one transaction a step.

`PRAGMA user_version` counts the steps. A store of a newer memstore is left as it is. Before a store that holds
rows is changed, a copy is made beside it.
"""

from __future__ import annotations

import os

import apsw

from memstore.core.ids import is_uuid
from memstore.core.terms import TERMS_VERSION
from memstore.errors import TO_MEND_A_STORE, StoreDamaged, StoreNewer, StoreUnavailable
from memstore.store.connection import APPLICATION_ID, one, translated
from memstore.store.ddl import migrations
from memstore.store.plainfile import sync_directory


def schema_version(connection: apsw.Connection) -> int:
    """How many steps the database has seen; 0 for an empty one."""
    version = connection.pragma("user_version")
    assert isinstance(version, int)
    return version


def check(connection: apsw.Connection, path: str) -> bool:
    """True where the schema is the present one, False where steps are missing. Raises StoreNewer, and StoreDamaged also
    for the database of another store: a directory in which a database lies is named after its store."""
    try:
        connection.execute("BEGIN")  # one moment: somebody may be migrating it just now
        try:
            return _check(connection, path)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    except apsw.SQLError as error:
        raise _lacking(path, error) from error
    except apsw.Error as error:
        raise translated(error, path) from error


def _check(connection: apsw.Connection, path: str) -> bool:
    version = schema_version(connection)
    latest = len(migrations())
    foreign = connection.pragma("application_id") != APPLICATION_ID
    if version == 0:
        foreign = one(connection, "SELECT 1 FROM sqlite_schema LIMIT 1") is not None
    if foreign or version < 0:
        raise StoreDamaged(f"{path} is a database of another program; nothing was changed", hint=TO_MEND_A_STORE)
    if version > latest:
        raise StoreNewer(
            f"{path} has schema {version}, this memstore knows {latest}; it was left as it is",
            hint="upgrade memstore",
        )
    directory = os.path.basename(os.path.dirname(path))
    if version > 0 and is_uuid(directory):
        row = one(connection, "SELECT id FROM store")
        if row is not None and is_uuid(row[0]) and row[0] != directory:
            raise StoreDamaged(
                f"{path} is the database of another store, {row[0]}; nothing was changed", hint=TO_MEND_A_STORE
            )
    return version == latest


def migrate(connection: apsw.Connection, *, store: str = "", now: int = 0) -> None:
    """Runs the missing steps. `store`: the id of a new store; `now`: unix microseconds. Call it under the open lock."""
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    found = schema_version(connection)
    if 0 < found < len(migrations()):
        _copy(connection, found)
    for number, script in migrations():
        connection.execute("BEGIN IMMEDIATE")
        try:
            if schema_version(connection) == number - 1:
                _step(connection, number, script, store, now)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, apsw.SQLError):
                raise _lacking(connection.filename, error) from error
            raise


def _step(connection: apsw.Connection, number: int, script: str, store: str, now: int) -> None:
    connection.execute(script)
    if number == 1:
        connection.execute(
            "INSERT INTO store (id, created_at, terms_version) VALUES (?, ?, ?)", (store, now, TERMS_VERSION)
        )
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {number}")


def _lacking(path: str, error: apsw.SQLError) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is not made as its schema's number says ({error}); no memory was changed", hint=TO_MEND_A_STORE
    )


def _copy(connection: apsw.Connection, version: int) -> None:
    """All that an older schema held, beside the database. A copy that an interrupted migration left gives way."""
    target = f"{connection.filename}.before-schema-{version + 1}"
    part = target + ".part"
    try:
        if os.path.lexists(part):
            os.unlink(part)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        connection.execute("VACUUM INTO ?", (part,))
        os.rename(part, target)
        sync_directory(os.path.dirname(target))
    except OSError as error:
        raise StoreUnavailable(
            f"no copy of {connection.filename} could be made before its schema changes: {error.strerror}",
            hint="make room in the store's folder, then repeat the command",
        ) from error
