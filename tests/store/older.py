"""Stores as earlier schemas left them."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from memstore.store import connection, ddl
from tests.store.stores import create, open_store, put


def older(directory: Path, version: int) -> Path:
    """A store as a memstore with `version` schema steps left it, with one memory and its history."""
    store = open_store(directory)
    put(store, create("note", "---\nname: note\ndescription: where the harbour is\n---\nwords to keep\n"))
    store.close()
    fresh = directory / "older.db"
    database = apsw.Connection(str(fresh))
    for number, script in ddl.migrations()[:version]:
        database.execute(script)
        database.execute(f"PRAGMA user_version = {number}")
    database.execute(f"PRAGMA application_id = {connection.APPLICATION_ID}")
    database.execute("ATTACH ? AS new", (str(directory / "store.db"),))
    tables = [row[0] for row in database.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]
    for table in tables:
        if not table.startswith(("sqlite_", "search_index")):
            columns = ", ".join(row[1] for row in database.execute(f'PRAGMA main.table_info("{table}")'))
            database.execute(f'INSERT INTO main."{table}" SELECT {columns} FROM new."{table}"')
    database.close()
    os.replace(fresh, directory / "store.db")
    return directory / "store.db"
