"""The notes of sessions stand on a shelf of their own: with history, and beside all that is told of memories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.model import NOTES, SHELF
from memstore.core.terms import parse_query
from memstore.store import notes, reader, runs, sessions, writer
from memstore.store.connection import many
from memstore.store.search import Filters, check_index
from memstore.store.store import Store
from tests.store.stores import create, index_of, keep_notes, open_store, put

TEXT = b"# Session Title\nport of the zeppelin cache\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path / "store")
    yield made
    made.close()


def test_notes_keep_their_versions(store: Store):
    keep_notes(store, "s", TEXT)
    keep_notes(store, "s", TEXT + b"more\n")
    memory = store.at(NOTES, "s.md")
    assert memory is not None and (memory.version, memory.state.content) == (2, TEXT + b"more\n")
    assert [version.state.content for version in store.versions(memory.id)] == [TEXT, TEXT + b"more\n"]
    assert [(one.kind, one.seq) for one, _ in store.operations(memory.id)] == [("notes", 2), ("notes", 1)]


def test_notes_are_listed_with_their_session_newest_first(store: Store):
    for session in ("a", "b", "a"):
        keep_notes(store, session, TEXT + str(store.now()).encode())
    put(store, create("a"))
    with store.view() as connection:
        found = notes.listed(connection)
        assert [(one.session, one.worktree, one.branch, one.memory.version) for one in found] == [
            ("a", "/srv/shop", "main", 2),
            ("b", "/srv/shop", "main", 1),
        ]
        assert notes.of_session(connection, "b") == found[1]
        assert notes.of_session(connection, "c") is None


def test_notes_are_no_memories_to_anybody_who_asks_for_these(store: Store):
    put(store, create("note", "a word\n"), operation="operation")
    before, lines = store.counts(), index_of(store)
    keep_notes(store, "note", TEXT)
    assert [memory.path for memory in store.memories()] == ["note.md"]
    assert [memory.state.shelf for memory in store.memories(retired=True)] == [SHELF]
    assert (store.counts(), index_of(store)) == (before, lines)
    assert [one.id for one, _ in store.operations()] == ["operation"]
    with store.view() as connection:
        assert reader.changed_after(connection, 1) == []
        assert reader.with_text(connection, TEXT) == []
        assert sessions.changed_by_others(connection, 1, "another") == ([], [])
        assert sessions.without_line(connection, "another") == []
        assert runs.saved_untold(connection) == []


def test_no_search_finds_notes_whatever_it_asks_for(store: Store):
    keep_notes(store, "s", TEXT)
    for filters in (Filters(), Filters(scopes=("session",)), Filters(include_retired=True)):
        assert store.search(parse_query("zeppelin"), filters, 10) == []
    with store.change() as connection:
        writer.reindex(connection)
        assert many(connection, "SELECT count(*) FROM search_document") == [(0,)]
        assert check_index(connection)


def test_a_memory_and_notes_may_have_one_name(store: Store):
    keep_notes(store, "note", TEXT)
    put(store, create("note", "a word\n"))
    memory, kept = store.at(SHELF, "note.md"), store.at(NOTES, "note.md")
    assert memory is not None and kept is not None and memory.id != kept.id
