"""A change set becomes rows: all of it or nothing, once, by the version it names, under the origin it deserves."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstore.core.changes import (
    Append,
    Change,
    ChangeSet,
    CloseConflict,
    Create,
    OpenConflict,
    Pin,
    Rename,
    Restore,
    Retire,
    Revise,
    Supersede,
)
from memstore.core.ids import token
from memstore.core.model import SHELF, Origin, Shelf, least_trusted
from memstore.core.terms import parse_query
from memstore.errors import Conflict, Defect, NameTaken, NotFound, OperationReused, StaleVersion, StoreUnavailable
from memstore.store.connection import Link
from memstore.store.search import Filters, check_index
from memstore.store.store import Store
from tests.store.stores import at, create, open_store, put, who, writer_of


def rows(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with store.view() as database:
        return database.execute(sql).fetchall()


def test_one_operation_writes_head_version_text_terms_and_its_own_row_together(store: Store):
    applied = put(store, create("note", "---\nname: n\ndescription: d\ntype: user\n---\nthe harbour\n"), operation="op")
    head = at(store, "note")
    assert (head.version, head.token, head.name, head.description, head.type) == (
        1,
        token("note", "op"),
        "n",
        "d",
        "user",
    )
    assert (applied.seq, applied.versions, applied.repeated) == (1, tuple(store.versions("note")), False)
    assert [hit.path for hit in store.search(parse_query("harbour"), Filters(), 9)] == ["note.md"]
    assert rows(store, "SELECT id, kind, origin, author FROM operation") == [("op", "test", "agent", "tester")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_come_back_as_they_were_written(store: Store, content: bytes):
    name = f"m{store.now()}"
    put(store, create(name, content))
    assert at(store, name).state.content == content
    assert store.versions(name)[0].state.content == content
    assert store.knows(content)


def test_equal_texts_are_kept_once(store: Store):
    put(store, create("a", "same\n"), create("b", "same\n"))
    assert rows(store, "SELECT count(*) FROM text") == [(1,)]


def test_numbers_rise_by_one_and_go_on_after_retirement(store: Store):
    put(store, create("note", "one\n"))
    put(store, Retire("note", at(store, "note").token))
    put(store, Revise("note", at(store, "note").token, b"two\n"))
    put(store, Pin("note", True))
    found = store.versions("note")
    assert [(version.number, version.change, version.state.live) for version in found] == [
        (1, "create", True), (2, "retire", False), (3, "revise", True), (4, "pin", True),
    ]  # fmt: skip
    assert [version.parent for version in found] == [None, *(version.token for version in found[:-1])]


def test_what_is_retired_for_another_names_it_and_undo_takes_the_mark_back(store: Store):
    put(store, create("note", "one\n"), create("twin", "one\n"))
    put(store, Retire("twin", at(store, "twin").token, "note"))
    state = at(store, "twin").state
    assert (state.live, state.superseded_by) == (False, "note")
    found = store.operation("2")
    assert found is not None
    writer_of(store).undo(found)
    state = at(store, "twin").state
    assert (state.live, state.superseded_by) == (True, None)


def test_h18_b_a_write_from_an_older_version_gets_both_texts_and_writes_nothing(store: Store):
    put(store, create("note", "one\n"))
    stale = at(store, "note").token
    put(store, Revise("note", stale, b"theirs\n"))
    before = store.counts()
    with pytest.raises(StaleVersion) as refused:
        put(store, create("other"), Revise("note", stale, b"mine\n"))
    error = refused.value
    assert (error.expected, error.current) == (stale, at(store, "note").token)
    assert (error.current_text, error.given_text) == (b"theirs\n", b"mine\n")
    assert store.counts() == before


@pytest.mark.parametrize("kind", [Revise, Rename, Retire, Restore])
def test_every_step_that_takes_words_away_is_held_to_its_token(store: Store, kind: type[Any]):
    put(store, create("note", "one\n"))
    arguments: dict[type[Any], tuple[Any, ...]] = {
        Revise: (b"x",), Rename: ("x.md",), Retire: (), Restore: (at(store, "note").state,)
    }  # fmt: skip
    with pytest.raises(StaleVersion):
        put(store, kind("note", "0" * 12, *arguments[kind]))
    assert len(store.versions("note")) == 1


def test_an_append_loses_nothing_whatever_stands_there(store: Store):
    put(store, create("note", "one"))
    put(store, Append("note", b"two\nthree\n"))
    assert at(store, "note").state.content == b"one\ntwo\nthree\n"
    put(store, Retire("note", at(store, "note").token))
    with pytest.raises(Conflict, match=r"note.md is retired"):
        put(store, Append("note", b"four"))


def test_an_address_is_taken_by_one_living_memory_whatever_its_spelling(store: Store):
    put(store, create("note"), create("other"))
    for path in ("note.md", "NOTE.md"):
        with pytest.raises(NameTaken, match=r"belongs to the memory note\.md already"):
            put(store, Create("new", SHELF, path, b""))
        with pytest.raises(NameTaken):
            put(store, Rename("other", at(store, "other").token, path))
    put(store, Create("team", Shelf("team"), "note.md", b""))
    put(store, Rename("note", at(store, "note").token, "Note.md"))
    put(store, Retire("note", store.memories(SHELF)[0].token))
    put(store, Rename("other", at(store, "other").token, "note.md"))
    with pytest.raises(NameTaken):
        put(store, Revise("note", store.versions("note")[-1].token, b"back"))


def test_one_operation_writes_a_memory_once(store: Store):
    with pytest.raises(Defect, match="writes a memory once"):
        put(store, create("note"), Pin("note", True))
    assert store.counts()["operations"] == 0


def test_what_is_not_there_is_not_found(store: Store):
    for change in (Revise("x", "t", b""), Append("x", b"y"), Retire("x", "t"), Pin("x", True), Supersede("x", None)):
        with pytest.raises(NotFound):
            put(store, change)
    with pytest.raises(NotFound, match="no open conflict"):
        store.apply(ChangeSet("op", "resolve", 0, who(), conflicts=(CloseConflict("x", "ours"),)))
    assert store.counts()["operations"] == 0


# Exactly once


def test_the_same_operation_again_gets_the_first_result_and_writes_nothing(store: Store):
    first = put(store, create("note", "one\n"), operation="op")
    put(store, Revise("note", at(store, "note").token, b"two\n"))
    again = put(store, Create("another-id", SHELF, "note.md", b"one\n"), operation="op")
    assert (again.seq, again.versions, again.repeated) == (first.seq, first.versions, True)
    assert at(store, "note").version == 2


def test_an_operation_id_with_another_request_is_refused(store: Store):
    put(store, create("note", "one\n"), operation="op")
    for change in (create("note", "two\n"), create("other", "one\n"), Retire("note", at(store, "note").token)):
        with pytest.raises(OperationReused):
            put(store, change, operation="op")
    with pytest.raises(OperationReused):
        put(store, create("note", "one\n"), operation="op", request="asked otherwise")
    assert store.counts()["operations"] == 1


def test_the_request_is_what_counts_where_one_is_given(store: Store):
    put(store, create("note", "one\n"), operation="op", request="make note")
    assert put(store, create("note", "planned anew\n"), operation="op", request="make note").repeated
    done = store.done("op", "make note", "test")
    assert done is not None and done.repeated
    assert store.done("new", "make note", "test") is None
    with pytest.raises(OperationReused):
        store.done("op", "make note", "another kind")


def test_a_commit_whose_answer_was_lost_is_looked_up_and_not_done_twice(store: Store, monkeypatch: pytest.MonkeyPatch):
    real = Link.writing

    @contextmanager
    def losing(link: Link) -> Any:
        with real(link) as database:
            yield database
        raise StoreUnavailable("the answer was lost")

    monkeypatch.setattr(Link, "writing", losing)
    applied = put(store, create("note", "one\n"), operation="op")
    assert (applied.repeated, len(store.versions("note"))) == (True, 1)


def test_a_write_that_failed_is_looked_up_and_its_failure_told(store: Store, monkeypatch: pytest.MonkeyPatch):
    @contextmanager
    def failing(link: Link) -> Any:
        raise StoreUnavailable("no disk")
        yield  # type: ignore[unreachable]  # a generator has a yield

    monkeypatch.setattr(Link, "writing", failing)
    with pytest.raises(StoreUnavailable, match="no disk"):
        put(store, create("note"))
    assert store.memories() == []


# Append-only history


@pytest.mark.parametrize("table", ["operation", "text", "version", "line_version"])
def test_history_refuses_update_delete_and_replacement(store: Store, table: str):
    put(store, create("note", "one\n"))
    column = {"operation": "reason", "text": "content", "version": "path", "line_version": "text"}[table]
    for sql in (
        f"UPDATE \"{table}\" SET {column} = 'x'",
        f'DELETE FROM "{table}"',
        f'INSERT OR REPLACE INTO "{table}" SELECT * FROM "{table}"',
    ):
        with pytest.raises(Defect, match="append-only"), store._link.writing() as database:
            assert database.execute(f'SELECT count(*) FROM "{table}"').get > 0
            database.execute(sql)


# Origins


def history(store: Store, *steps: tuple[Origin, Change | None]) -> Origin:
    for origin, change in steps:
        if change is not None:
            put(store, change, origin=origin)
    return at(store, "note").origin


ORIGIN_CASES: list[tuple[Origin, Origin, str, Origin]] = [
    # head's origin, actor, step, what the new version has
    ("person", "agent", "revise", "agent"),
    ("agent", "person", "revise", "person"),
    ("tool", "person", "revise", "person"),
    ("tool", "agent", "revise", "tool"),
    ("import", "agent", "revise", "import"),
    ("team", "file", "revise", "team"),
    ("file", "agent", "revise", "file"),
    ("agent", "import", "revise", "import"),
    ("agent", "person", "merge", "agent"),
    ("person", "agent", "merge", "agent"),
    ("person", "person", "merge", "person"),
    ("tool", "person", "append", "tool"),
    ("person", "file", "append", "file"),
    ("agent", "person", "rename", "agent"),
    ("person", "agent", "rename", "person"),
    ("agent", "person", "rename with text", "agent"),
    ("person", "agent", "rename with text", "agent"),
    ("tool", "person", "pin", "tool"),
    ("person", "tool", "pin", "person"),
    ("person", "agent", "retire", "person"),
    ("agent", "person", "supersede", "agent"),
]


@pytest.mark.parametrize(("head", "actor", "step", "expected"), ORIGIN_CASES)
def test_only_a_person_raises_the_origin_and_mixed_words_take_the_lesser_one(
    store: Store, head: Origin, actor: Origin, step: str, expected: Origin
):
    put(store, create("note", "one\n"), origin=head)
    put(store, create("by"))
    held = at(store, "note").token
    changes: dict[str, Change] = {
        "revise": Revise("note", held, b"two\n"),
        "merge": Revise("note", held, b"two\n", merged=True),
        "append": Append("note", b"two\n"),
        "rename": Rename("note", held, "new.md"),
        "rename with text": Rename("note", held, "new.md", b"two\n"),
        "pin": Pin("note", True),
        "retire": Retire("note", held),
        "supersede": Supersede("note", "by"),
    }
    put(store, changes[step], origin=actor)
    found = store.memory("note")
    assert found is not None and found.origin == expected
    assert store.versions("note")[-1].origin == expected


@pytest.mark.parametrize("actor", ["person", "agent", "tool"])
def test_what_is_put_back_has_the_origin_that_it_had(store: Store, actor: Origin):
    put(store, create("note", "imported\n"), origin="import")
    put(store, Revise("note", at(store, "note").token, b"a person's\n"), origin="person")
    put(store, Revise("note", at(store, "note").token, b"an agent's\n"), origin="agent")
    one, two, three = store.versions("note")
    for version, expected in ((two, "person"), (one, "import"), (three, "agent"), (one, "import")):
        put(store, Restore("note", at(store, "note").token, version.state), origin=actor)
        assert at(store, "note").origin == expected
    unknown = type(one.state)(SHELF, "note.md", b"words of no version\n")
    put(store, Restore("note", at(store, "note").token, unknown), origin=actor)
    assert at(store, "note").origin == "import"


DERIVED_CASES: list[tuple[Origin, Origin, Origin, Origin]] = [
    # head's origin, actor, what the step was derived from, what the new version has
    ("agent", "agent", "tool", "tool"),
    ("person", "agent", "tool", "tool"),
    ("agent", "person", "tool", "tool"),
    ("agent", "agent", "person", "agent"),
    ("import", "agent", "team", "import"),
    ("person", "person", "person", "person"),
]


@pytest.mark.parametrize(("head", "actor", "source", "expected"), DERIVED_CASES)
def test_what_a_step_was_derived_from_counts_where_it_is_less_trusted_and_for_that_step_alone(
    store: Store, head: Origin, actor: Origin, source: Origin, expected: Origin
):
    put(store, create("note", "one\n"), create("other", "one\n"), origin=head)
    steps = tuple(Revise(name, at(store, name).token, b"two\n") for name in ("note", "other"))
    made = ChangeSet("derived", "extract", 1, who(actor), (*steps, create("new")), derived=(("note", source),))
    store.apply(made)
    assert at(store, "note").origin == expected
    assert (at(store, "other").origin, at(store, "new").origin) == (
        actor if actor == "person" else least_trusted(actor, head),
        actor,
    )


def test_a_new_memory_has_the_origin_that_it_was_derived_from(store: Store):
    sources: tuple[tuple[str, Origin], ...] = (("new", "agent"), ("new", "tool"), ("new", "team"))
    store.apply(ChangeSet("derived", "extract", 1, who("agent"), (create("new"),), derived=sources))
    assert at(store, "new").origin == "tool"


def test_what_a_step_was_derived_from_does_not_make_a_repeated_call_another_one(store: Store):
    made = ChangeSet("once", "extract", 1, who("agent"), (create("new"),), derived=(("new", "tool"),))
    store.apply(made)
    assert store.apply(replace(made, derived=())).repeated


@pytest.mark.parametrize(("resolver", "expected"), [("person", "person"), ("agent", "import")])
def test_a_conflict_is_settled_with_the_words_of_whoever_opened_it(store: Store, resolver: Origin, expected: Origin):
    put(store, create("note", "mine\n"), origin="person")
    conflict = OpenConflict("c", "note", "note.md", "text", None, b"theirs\n", "")
    store.apply(ChangeSet("open", "import", 1, who("import"), conflicts=(conflict,)))
    held = at(store, "note").token
    revise, close = Revise("note", held, b"theirs\n"), CloseConflict("c", "theirs")
    store.apply(ChangeSet("settle", "resolve", 2, who(resolver), (revise,), conflicts=(close,)))
    assert at(store, "note").origin == expected
    (record,) = store.conflicts(everything=True)
    assert (record.resolved_by, record.resolution, store.conflicts()) == ("settle", "theirs", [])


# The index of words


def test_the_search_index_follows_every_step(store: Store):
    put(store, create("note", "alpha\n"), create("other", "beta\n"))
    for change in (
        Revise("note", at(store, "note").token, b"gamma\n"),
        Append("note", b"delta"),
        Pin("note", True),
    ):
        put(store, change)
    put(store, Rename("note", at(store, "note").token, "renamed.md"))
    found = {word: [hit.path for hit in store.search(parse_query(word), Filters(), 9)] for word in
             ("alpha", "gamma", "delta", "renamed", "beta")}  # fmt: skip
    assert found == {
        "alpha": [], "gamma": ["renamed.md"], "delta": ["renamed.md"], "renamed": ["renamed.md"], "beta": ["other.md"],
    }  # fmt: skip
    with store._link.writing() as database:
        check_index(database)


def test_a_store_knows_its_operations_by_number_and_by_the_beginning_of_their_id(store: Store):
    for name in ("01234567-aaaa", "01234567-bbbb", "abcdef-1"):
        put(store, create(name), operation=name)
    typed = ("1", "#2", "3", "4", "012345", "01234567-a", "abcdef", "abcde", "9" * 30, "", "#", "٣", "abcdef\udc80")
    found = {reference: getattr(store.operation(reference), "seq", None) for reference in typed}
    assert found == {
        "1": 1, "#2": 2, "3": 3, "4": None, "012345": None, "01234567-a": 1, "abcdef": 3, "abcde": None,
        "9" * 30: None, "": None, "#": None, "٣": None,
        "abcdef\udc80": None,
    }  # fmt: skip
    put(store, create("digits"), operation="987654-1")
    assert getattr(store.operation("987654"), "seq", None) == 4


def test_a_second_store_sees_what_the_first_has_committed(store: Store, tmp_path: Path):
    other = open_store(tmp_path / "store")
    put(store, create("note"))
    assert at(other, "note").version == 1
    put(other, Append("note", b"theirs"))
    assert at(store, "note").version == 2
    other.close()


def test_h19_a_a_view_that_turns_into_a_write_is_never_a_raw_lock_error(store: Store, tmp_path: Path):
    other = open_store(tmp_path / "store")
    with store.view() as database:
        held = database.execute("SELECT count(*) FROM memory").get
        put(other, create("theirs"))
    put(store, create("mine"))
    assert (held, len(store.memories())) == (0, 2)
    other.close()


def test_statements_never_see_double_quoted_strings(store: Store):
    with pytest.raises(Defect), store.view() as database:
        database.execute('SELECT "no such column" FROM memory')
