"""Brings a store's schema up to date: plain numbered SQL, one transaction a step.

`PRAGMA user_version` counts the steps. A store of a newer memstore is left as it is. Before a store that holds
rows is changed, a copy is made beside it.
"""

from __future__ import annotations

import os

import apsw

from memstore.core.terms import TERMS_VERSION
from memstore.errors import StoreDamaged, StoreNewer
from memstore.store.connection import APPLICATION_ID, translated
from memstore.store.ddl import migrations


def schema_version(connection: apsw.Connection) -> int:
    """How many steps the database has seen; 0 for an empty one."""
    version = connection.pragma("user_version")
    assert isinstance(version, int)
    return version


def check(connection: apsw.Connection, path: str) -> bool:
    """True where the schema is the present one, False where steps are missing. Raises StoreNewer, StoreDamaged."""
    try:
        version = schema_version(connection)
    except apsw.Error as error:
        raise translated(error, path) from error
    latest = len(migrations())
    if version > latest:
        raise StoreNewer(
            f"{path} has schema {version}, this memstore knows {latest}; it was left as it is",
            hint="upgrade memstore",
        )
    if version > 0 and connection.pragma("application_id") != APPLICATION_ID:
        raise StoreDamaged(
            f"{path} is a database of another program; nothing was changed", hint="move it out of the way"
        )
    return version == latest


def migrate(connection: apsw.Connection, *, store: str = "", now: int = 0) -> None:
    """Runs the missing steps. `store`: the id of a new store; `now`: unix microseconds. Call it under the open lock."""
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    found = schema_version(connection)
    if 0 < found < len(migrations()):
        _copy(connection, found)
    for number, script in migrations():
        if number <= found:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(script)
            if number == 1:
                connection.execute(
                    "INSERT INTO store (id, created_at, terms_version) VALUES (?, ?, ?)",
                    (store, now, TERMS_VERSION),
                )
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _copy(connection: apsw.Connection, version: int) -> None:
    target = f"{connection.filename}.before-schema-{version + 1}"
    if os.path.lexists(target):
        return
    connection.execute("VACUUM INTO ?", (target + ".part",))
    os.rename(target + ".part", target)
