"""The log of the day as rows: append-only, once for each id, and which of them a folder may lack."""

from __future__ import annotations

import apsw
import pytest

from memstore.errors import OperationReused
from memstore.store import daylog
from memstore.store.daylog import UNTRIED, Entry
from memstore.store.store import Store


def add(store: Store, text: str, day: str = "2026-03-02", identity: str = "") -> Entry:
    return store.note(Entry(0, identity or text, 1, 540, day, text, "agent", "tester", "s", "/srv/shop", "main"))


def lacking(store: Store, folder: str) -> list[tuple[str, int]]:
    with store.view() as connection:
        found = daylog.open_entries(connection, folder, 0, 100)
        assert daylog.lacks(connection, folder) == bool(found)
        return [(one.entry.text, one.at) for one in found]


@pytest.mark.parametrize("statement", ["DELETE FROM log_entry", "UPDATE log_entry SET text = 'other'"])
def test_no_entry_is_ever_changed_or_deleted(store: Store, statement: str):
    add(store, "one")
    with store.change() as connection, pytest.raises(apsw.ConstraintError, match="append-only"):
        connection.execute(statement)


def test_an_id_counts_once(store: Store):
    first = add(store, "one", identity="a")
    assert add(store, "one", "2026-03-03", identity="a") == first
    with pytest.raises(OperationReused):
        add(store, "two", identity="a")
    with store.view() as connection:
        assert daylog.of_days(connection, "2026-03-01", "2026-03-02") == [first]
        assert daylog.of_days(connection, "2026-03-03", "2026-03-04") == []
        assert daylog.newest(connection) == first.seq == 1


def test_a_folder_lacks_what_no_row_or_an_open_one_tells_of(store: Store):
    for text in "abcd":
        add(store, text)
    assert lacking(store, "/f") == [("a", UNTRIED), ("b", UNTRIED), ("c", UNTRIED), ("d", UNTRIED)]
    with store.change() as connection:
        daylog.begin(connection, "/f", [(1, 0), (2, UNTRIED), (3, 7)])
        daylog.done(connection, "/f", [1])
    assert lacking(store, "/f") == [("b", UNTRIED), ("c", 7), ("d", UNTRIED)]
    assert len(lacking(store, "/g")) == 4
    with store.change() as connection:
        daylog.begin(connection, "/f", [(1, 9), (2, 9), (3, UNTRIED)])
    assert lacking(store, "/f") == [("b", 9), ("c", 7), ("d", UNTRIED)]
    with store.view() as connection:
        assert daylog.is_met(connection, "/f", "2026-03-02")
        assert not daylog.is_met(connection, "/f", "2026-03-03")
        assert not daylog.is_met(connection, "/g", "2026-03-02")
