"""The committed schema is the one that a new store gets, and other SQLite tools can use such a store."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memstore.store import migrate

ROOT = Path(__file__).parents[2]

ANOTHER_TOOL = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
    connection.execute(f'SELECT * FROM "{name}" LIMIT 1').fetchall()
connection.execute(
    "INSERT INTO operation (id, kind, digest, at, origin, author, reason)"
    " VALUES ('1', 'write', x'00', 0, 'tool', 'tester', '')"
)
connection.execute("INSERT INTO text (id, digest, calm, content) VALUES (1, x'00', x'00', 'words')")
connection.commit()
for statement in (
    "UPDATE operation SET reason = 'x'",
    "DELETE FROM operation",
    "UPDATE text SET content = 'x'",
    "DELETE FROM text",
):
    try:
        connection.execute(statement)
    except sqlite3.IntegrityError as error:
        assert "append-only" in str(error)
    else:
        raise SystemExit(statement + " was let through")
connection.close()
"""

LOAD = """
import sqlite3, sys
connection = sqlite3.connect(":memory:")
connection.executescript(open(sys.argv[1], encoding="utf-8").read())
"""


def child(*arguments: str | Path) -> str:
    """Another process: a second SQLite library in this one would drop the first one's locks."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    connection = apsw.Connection(str(tmp_path / "store.db"))
    migrate.migrate(connection)
    connection.close()
    return tmp_path / "store.db"


def test_the_committed_schema_is_that_of_a_migrated_empty_store():
    child(ROOT / "scripts" / "schema.py", "--check")


def test_the_committed_schema_can_be_run_as_it_is():
    child("-c", LOAD, ROOT / "schema" / "schema.sql")


def test_another_sqlite_opens_and_writes_a_store_and_is_held_to_append_only_history(empty_store: Path, tmp_path: Path):
    copy = tmp_path / "copy.db"
    shutil.copy(empty_store, copy)
    child("-c", ANOTHER_TOOL, copy)


def test_migrating_twice_changes_nothing(empty_store: Path):
    connection = apsw.Connection(str(empty_store))
    before = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2").get
    migrate.migrate(connection)
    assert connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2").get == before
    connection.close()
