"""What is wrong with a database is found, and looking changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import apsw
import pytest

from memstore.core.changes import Revise
from memstore.errors import StoreDamaged, StoreNewer
from memstore.store import examining
from memstore.store.connection import open_link
from tests.store.stores import create, open_store, put

TROUBLES = ("integrity", "references", "heads", "digests")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A store at rest, with a few memories."""
    store = open_store(tmp_path / "store")
    for name in ("one", "two", "three"):
        put(store, create(name, f"---\nname: {name}\n---\nwords of {name}\n"))
    store.close()
    return store.path


def plant(path: str, *statements: str, trusting: bool = False) -> None:
    """Changes rows behind the program's back. `trusting`: also what SQLite itself would refuse."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA foreign_keys = OFF")
    if trusting:
        connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    for (name,) in list(connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")):
        if "search" not in name:
            connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def troubles(path: str) -> dict[str, list[str]]:
    link = examining.open_for_look(path)
    try:
        with link.reading() as connection:
            found = {name: getattr(examining, name)(connection) for name in TROUBLES}
            found["terms"] = list(examining.terms(connection, None).wrong)
    finally:
        link.close()
    return {name: what for name, what in found.items() if what}


def test_nothing_is_wrong_with_a_store_as_it_is_written(path: str):
    assert troubles(path) == {}
    assert examining.search_index(path)


@pytest.mark.parametrize(
    ("statement", "look", "told"),
    [
        ("UPDATE memory SET token = '0123456789ab' WHERE name = 'two'", "heads", "two.md"),
        ("UPDATE memory SET version = 7 WHERE name = 'two'", "heads", "two.md"),
        ("UPDATE memory SET description = 'x' WHERE name = 'two'", "heads", "two.md"),
        ("UPDATE memory SET state = 'retired' WHERE name = 'two'", "heads", "two.md"),
        ("DELETE FROM version WHERE name = 'two'", "heads", "two.md"),
        ("UPDATE text SET content = 'other' WHERE content LIKE '%words of two%'", "digests", "two.md, version 1"),
        ("UPDATE search_document SET body = 'x' WHERE body LIKE '%two%'", "terms", "two.md"),
        ("DELETE FROM search_document WHERE body LIKE '%two%'", "terms", "two.md"),
        ("INSERT INTO kept (folder, path, name, since) VALUES (9, 'x', 'x', '0')", "references", "kept names no row"),
        ("DELETE FROM operation WHERE seq = 2", "references", "names no row of operation"),
    ],
)
def test_rows_that_do_not_agree_are_named(path: str, statement: str, look: str, told: str):
    plant(path, statement)
    assert any(told in one for one in troubles(path)[look])


def test_a_text_that_is_no_longer_present_is_told_so(path: str):
    store = open_store(Path(path).parent)
    head = next(memory for memory in store.memories() if memory.path == "two.md")
    put(store, Revise(head.id, head.token, b"another\n"))
    store.close()
    plant(path, "UPDATE text SET content = 'other' WHERE content LIKE '%words of two%'")
    assert troubles(path) == {"digests": ["two.md, version 1, which is not the present one"]}


def test_an_index_that_lacks_terms_is_found_and_only_by_its_own_check(path: str):
    plant(
        path,
        "INSERT INTO search_index (search_index, rowid, name, description, body)"
        " SELECT 'delete', memory, name, description, body FROM search_document WHERE body LIKE '%two%'",
    )
    assert troubles(path) == {}
    assert not examining.search_index(path)


def test_bytes_that_changed_on_the_disk_are_found(path: str):
    file = Path(path)
    content = bytearray(file.read_bytes())
    page = content.index(b"words of two") // 4096 * 4096
    content[page : page + 12] = b"\xff" * 12
    file.write_bytes(content)
    assert is_damaged(path)
    assert file.read_bytes() == content


def is_damaged(path: str) -> bool:
    link = examining.open_for_look(path)
    try:
        with link.reading() as connection:
            return bool(examining.integrity(connection))
    finally:
        link.leave()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda path: Path(path).write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 32), StoreDamaged),
        (lambda path: Path(path).write_text("not a database"), StoreDamaged),
        (lambda path: plant(path, "PRAGMA user_version = 9999"), StoreNewer),
        (lambda path: plant(path, "PRAGMA application_id = 7"), StoreDamaged),
    ],
)
def test_what_is_refused_keeps_every_byte(path: str, change: Callable[[str], object], error: type[Exception]):
    change(path)
    before = Path(path).read_bytes()
    with pytest.raises(error):
        examining.open_for_look(path)
    assert Path(path).read_bytes() == before


def test_a_look_leaves_a_log_where_it_is(path: str):
    store = open_store(Path(path).parent)
    put(store, create("four"))
    store._link.leave()  # as if it had been killed
    files = [Path(path), Path(path + "-wal")]
    before = [file.read_bytes() for file in files]
    link = examining.open_for_look(path)
    with link.reading() as connection:
        assert examining.integrity(connection) == []
        assert examining.newest(connection) is not None
        assert examining.size(connection)[0] > 0
    link.close()
    assert [file.read_bytes() for file in files] == before


def test_without_time_a_part_of_the_terms_is_compared_and_that_is_told(path: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(examining, "LEAST", 1)
    link = examining.open_for_look(path)
    with link.reading() as connection:
        some = examining.terms(connection, 0.5, clock=count().__next__)
        every = examining.terms(connection, None)
    link.close()
    assert (some.compared, some.of, every.compared) == (1, 3, 3)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 100])
def test_every_key_has_its_turn_once_and_the_first_are_spread(size: int):
    order = examining.spread(list(range(size)))
    assert sorted(order) == list(range(size))
    first = sorted(order[: max(1, size // 4)])
    gaps = [second - one for one, second in zip(first, [*first[1:], size], strict=False)]
    assert all(gap <= max(8, size // 4 * 2) for gap in gaps)


def test_the_log_is_moved_into_the_database(path: str):
    store = open_store(Path(path).parent)
    put(store, create("four"))
    assert (Path(path).parent / "store.db-wal").stat().st_size > 0
    link = open_link(path)
    assert examining.checkpoint(link)
    link.close()
    assert (Path(path).parent / "store.db-wal").stat().st_size == 0
    store.close()
