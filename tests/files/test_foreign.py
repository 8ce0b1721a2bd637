"""Other programs' databases: read by a child that trusts nothing in them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import apsw
import pytest

from memstore import errors
from memstore.files import tables
from memstore.files.source import read_source
from memstore.files.tables import Rows, of_database
from tests.files.desk import Desk
from tests.files.test_import_formats import database, refused

FACTS = "CREATE TABLE facts(name TEXT, body TEXT); INSERT INTO facts VALUES ('a', 'text of a'), ('b', 'text of b');"


def rows(desk: Desk, place: Path, table: str | None = None) -> Rows:
    before = {path.name: path.read_bytes() for path in place.parent.glob(f"{place.name}*")}
    found = of_database(str(place), table, {}, desk.world())
    assert {path.name: path.read_bytes() for path in place.parent.glob(f"{place.name}*")} == before
    return found


def test_the_rows_of_a_table_come_with_what_their_log_still_holds(desk: Desk, tmp_path: Path):
    connection = apsw.Connection(str(tmp_path / "x.db"))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(FACTS).fetchall()
    assert (tmp_path / "x.db-wal").stat().st_size
    found = rows(desk, tmp_path / "x.db")
    assert found.table == "facts" and sorted(found.files) == ["a.md", "b.md"]
    connection.close()


def test_binary_values_are_named_and_texts_in_bytes_are_read(desk: Desk, tmp_path: Path):
    place = database(
        tmp_path / "x.db", FACTS + "ALTER TABLE facts ADD pic; INSERT INTO facts VALUES ('c', x'6162', x'ff')"
    )
    found = rows(desk, place)
    assert found.files["c.md"].endswith(b"\nab\n")
    assert found.skipped == (("column pic", "it is binary, from row 3 on"),)


@pytest.mark.parametrize(
    ("more", "table", "told"),
    [
        ("CREATE VIEW v AS SELECT * FROM facts", "v", "v is a view"),
        ("CREATE VIRTUAL TABLE f USING fts5(body)", "f", "f is no plain table"),
        ("", "sqlite_schema", "no plain table"),
        ("", "none", "no plain table"),
        ("", 'facts"; DROP TABLE facts; --', "no plain table"),
        ("INSERT INTO facts VALUES ('c', CAST(x'ff61' AS TEXT))", None, "row 3 holds text that is not UTF-8"),
        ("ALTER TABLE facts RENAME COLUMN body TO x", None, "no table of it"),
        ("PRAGMA application_id = 1835363699", None, "a store of memstore"),
    ],
)
def test_only_plain_tables_of_others_are_read(desk: Desk, tmp_path: Path, more: str, table: str | None, told: str):
    place = database(tmp_path / "x.db", FACTS + more)
    with pytest.raises(errors.ImportRefused) as caught:
        rows(desk, place, table)
    assert told in str(caught.value) and str(place) in str(caught.value) and caught.value.hint


@pytest.mark.parametrize(
    "more",
    [
        "CREATE VIEW v AS " + " UNION ALL ".join(["SELECT name FROM facts"] * 9),
        "CREATE VIEW v AS SELECT json_object('a',1,'b',2,'c',3,'d',4,'e',5) FROM facts WHERE " + " OR ".join("abc" * 9),
        "CREATE TABLE wide(" + ",".join(f"c{n}" for n in range(300)) + ")",
        "ALTER TABLE facts ADD c INTEGER CHECK (c" + " + 1" * 40 + " > 0)",
    ],
)
def test_an_honest_schema_may_be_of_any_kind(desk: Desk, tmp_path: Path, more: str):
    assert sorted(rows(desk, database(tmp_path / "x.db", FACTS + more)).files) == ["a.md", "b.md"]


def test_a_text_that_is_generated_is_a_column_like_others(desk: Desk, tmp_path: Path):
    script = "CREATE TABLE t(name TEXT, body TEXT AS (name || '!')); INSERT INTO t(name) VALUES ('a')"
    assert rows(desk, database(tmp_path / "x.db", script)).files["a.md"].endswith(b"\na!\n")


def test_an_order_of_its_program_is_not_asked_for(desk: Desk, tmp_path: Path):
    connection = apsw.Connection(str(tmp_path / "x.db"))
    connection.create_collation("mine", lambda one, other: len(one) - len(other))
    connection.execute("CREATE TABLE t(name TEXT COLLATE mine, body TEXT); CREATE INDEX i ON t(name)").fetchall()
    connection.execute("INSERT INTO t VALUES ('bbb', 'x'), ('c', 'y')").fetchall()
    connection.close()
    assert sorted(rows(desk, tmp_path / "x.db").files) == ["bbb.md", "c.md"]


def test_what_is_hidden_in_a_schema_does_not_run(desk: Desk, tmp_path: Path):
    place = tmp_path / "x.db"
    connection = apsw.Connection(str(place))
    connection.create_scalar_function("evil", lambda *_: "evil", deterministic=True)
    connection.execute(
        FACTS + "ALTER TABLE facts ADD COLUMN more TEXT AS (evil(body)) VIRTUAL;"
        "CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM facts; END;"
    ).fetchall()
    connection.close()
    before = place.read_bytes()
    with pytest.raises(errors.ImportRefused):
        rows(desk, place)
    assert place.read_bytes() == before


def test_triggers_and_views_lie_still(desk: Desk, tmp_path: Path):
    views = (
        "CREATE VIEW body AS SELECT name, body FROM facts; CREATE TRIGGER t AFTER DELETE ON facts BEGIN SELECT 1; END;"
    )
    assert sorted(rows(desk, database(tmp_path / "x.db", FACTS + views)).files) == ["a.md", "b.md"]


def test_a_row_that_is_larger_than_any_memory_is_refused(desk: Desk, tmp_path: Path):
    place = database(tmp_path / "x.db", FACTS + "INSERT INTO facts VALUES ('c', zeroblob(17000000))")
    with pytest.raises(errors.ImportRefused) as caught:
        rows(desk, place)
    assert "too big" in str(caught.value)


def test_bad_pages_are_found_before_anything_is_read(desk: Desk, tmp_path: Path):
    place = database(tmp_path / "x.db", FACTS + f"INSERT INTO facts VALUES ('c', '{'x' * 20_000}')")
    whole = place.read_bytes()
    chance = random.Random(5)
    told = 0
    for _ in range(4):
        content = bytearray(whole)
        for _ in range(64):
            content[chance.randrange(100, len(content))] ^= 1 << chance.randrange(8)
        place.write_bytes(content)
        try:
            rows(desk, place)
        except errors.ImportRefused as error:
            told += "nothing was changed" in str(error)
    assert told
    for content in (whole[:200], whole[:100] + bytes(4_000), b"SQLite format 3\0"):
        place.write_bytes(content)
        with pytest.raises(errors.ImportRefused):
            rows(desk, place)


def test_a_live_store_is_refused_and_its_locks_stay(desk: Desk, tmp_path: Path):
    desk.write("a", "text\n")
    (live,) = Path(os.environ["MEMSTORE_HOME"]).glob("stores/*/*.db")
    assert "database of a store" in refused(desk, live)
    desk.write("a", "other\n")
    with pytest.raises(errors.ImportRefused):
        of_database(str(live), None, {}, desk.world())
    desk.write("a", "third\n")


def test_a_reader_that_takes_too_long_is_stopped(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "_SECONDS", 0.0)
    with pytest.raises(errors.ImportRefused) as caught:
        read_source(str(database(tmp_path / "x.db", FACTS)), desk.world())
    assert "took longer" in str(caught.value)


def test_what_a_reader_may_say_is_bounded(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 50)
    with pytest.raises(errors.ImportRefused) as caught:
        read_source(str(database(tmp_path / "x.db", FACTS)), desk.world())
    assert "gave more" in str(caught.value)
