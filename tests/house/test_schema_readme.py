"""schema/README.md names every table and column, and nothing else; its queries run on a copy of a real store."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memstore.store import snapshot
from tests.store.stores import create, open_store, put

README = (Path(__file__).parents[2] / "schema" / "README.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)

Query = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def query(tmp_path_factory: pytest.TempPathFactory) -> Query:
    """Asks a copy of a store with two memories."""
    place = tmp_path_factory.mktemp("copy")
    store = open_store(place / "store")
    put(
        store,
        create("deploy", "---\nname: deploy\ndescription: how we deploy\n---\nOn Fridays\n"),
        create("other", b"\xff"),
    )
    store.close()
    snapshot.copy(store.path, str(place / "copy.db"))
    connection = apsw.Connection(str(place / "copy.db"))
    return lambda sql: connection.execute(sql).fetchall()


def told() -> dict[str, list[str]]:
    """Tables and views with their columns, as the README tells of them."""
    found: dict[str, list[str]] = {}
    for name, body in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", README, re.DOTALL | re.MULTILINE):
        heads = re.findall(r"^- (`\w+`(?:, `\w+`)*): \S", body, re.MULTILINE)
        found[name] = [column for head in heads for column in re.findall(r"`(\w+)`", head)]
    return found


def test_every_table_view_and_column_is_told_of(query: Query):
    shadows = {row[1] for row in query("PRAGMA table_list") if row[2] == "shadow"}
    listed = [row[0] for row in query("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")]
    names = [name for name in listed if name not in shadows and not str(name).startswith("sqlite_")]
    held = {str(name): [str(row[1]) for row in query(f'PRAGMA table_info("{name}")')] for name in names}
    assert {name: sorted(columns) for name, columns in told().items()} == {
        name: sorted(columns) for name, columns in held.items()
    }


@pytest.mark.parametrize("sql", QUERIES, ids=[sql.split("\n")[0][:50] for sql in QUERIES])
def test_its_queries_run(query: Query, sql: str):
    query(sql)


def test_they_give_what_is_asked(query: Query):
    found = {sql: query(sql) for sql in QUERIES}
    assert [row[0] for row in found[QUERIES[0]]] == ["deploy.md", "other.md"]
    assert [rows for sql, rows in found.items() if "MATCH" in sql] == [[("deploy.md", "how we deploy")]]
