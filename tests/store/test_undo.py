"""Undo on a real store: exact bytes of memories and index come back, later work is kept, no undo is half done."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memstore.core.changes import (
    AddIndexLine,
    Append,
    ChangeSet,
    CloseConflict,
    OpenConflict,
    Pin,
    Rename,
    Restore,
    Retire,
    Revise,
    SetIndexLine,
    SetListing,
    Supersede,
)
from memstore.core.index_values import END
from memstore.core.model import Applied, State
from memstore.errors import Conflict, NameTaken
from memstore.store.store import Store
from tests.store.stores import at, create, index_of, put, who, writer_of

NOTE = b"---\nname: note\ndescription: what it says \nmetadata:\n  x: y\n---\r\nbody\r\n\r\nlast"


def undo(store: Store, seq: int) -> Applied:
    operation = store.operation(f"#{seq}")
    assert operation is not None
    return writer_of(store).undo(operation)


def states(store: Store) -> dict[str, State]:
    return {memory.id: memory.state for memory in store.memories()}


def world(store: Store) -> tuple[dict[str, State], list[tuple[str, str, str | None, str, str]]]:
    return states(store), index_of(store)


def started(store: Store) -> None:
    """Three memories, one with a line by hand, and a heading."""
    put(
        store, create("note", NOTE), create("other", b"- a\n- b\n- c\n"), create("third", b"3\n"),
        lines=(
            AddIndexLine("h", "free", "# Notes", None, None),
            AddIndexLine("p", "pointer", "* [Mine](./note.md): my own words  ", "note", None),
            AddIndexLine("e", "free", "", None, END),
        ),
    )  # fmt: skip


def token(store: Store, name: str) -> str:
    found = store.memory(name)
    assert found is not None
    return found.token


OPERATIONS: dict[str, Callable[[Store], Applied]] = {
    "create": lambda store: put(store, create("new", b"text")),
    "revise": lambda store: put(store, Revise("note", token(store, "note"), b"other text")),
    "description": lambda store: put(store, Revise("other", token(store, "other"), b"---\ndescription: d\n---\n")),
    "append": lambda store: put(store, Append("note", b"more")),
    "rename": lambda store: put(store, Rename("note", token(store, "note"), "moved.md", b"---\nname: moved\n---\n")),
    "rename case": lambda store: put(store, Rename("note", token(store, "note"), "NOTE.md")),
    "retire": lambda store: put(store, Retire("note", token(store, "note"))),
    "pin": lambda store: put(store, Pin("other", True)),
    "supersede": lambda store: put(store, Supersede("note", "other")),
    "restore": lambda store: put(
        store, Restore("note", token(store, "note"), State(at(store, "note").state.shelf, "x.md", b"x", pinned=True))
    ),
    "swap of two names": lambda store: put(
        store, Rename("note", token(store, "note"), "spare.md"), Rename("other", token(store, "other"), "note.md")
    ),
    "one goes and another takes its name": lambda store: put(
        store, Retire("note", token(store, "note")), Rename("other", token(store, "other"), "note.md"),
    ),
    "batch": lambda store: put(
        store, Retire("note", token(store, "note")), Append("other", b"d"), create("new", b"n"),
        Supersede("third", "other"),
    ),
    "index edit": lambda store: put(
        store,
        lines=(
            SetIndexLine("h", 1, "free", "# Other heading", None, store.index()[0].rank, "hand", True),
            SetIndexLine("p", 1, "pointer", "", "note", "1", "hand", False),
            SetListing("note", "unlisted"),
            AddIndexLine("q", "free", "a new line", None, None),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_undo_gives_every_byte_back_and_an_undo_of_it_takes_every_byte_again(store: Store, name: str):
    started(store)
    before = world(store)
    done = OPERATIONS[name](store)
    after = world(store)
    assert after != before
    undone = undo(store, done.seq)
    assert world(store) == before
    redone = undo(store, undone.seq)
    assert world(store) == after
    undo(store, redone.seq)
    assert world(store) == before
    kinds = [operation.undoes for operation, _ in store.operations(limit=3)]
    assert kinds == [redone.operation, undone.operation, done.operation]
    if done.versions:
        with pytest.raises(Conflict, match=rf"#{done.seq} was taken back already, by #"):
            undo(store, done.seq)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_undo_adds_no_line_for_what_is_due(store: Store, name: str):
    started(store)
    put(store, create("waiting", b"for its line"), real=False)
    before = world(store)
    done = OPERATIONS[name](store)
    undo(store, done.seq)
    assert world(store) == before
    if name != "index edit":
        put(store, Pin("third", True))
        assert any(memory == "waiting" for _, _, memory, _, _ in index_of(store))


def test_later_work_on_other_lines_is_kept(store: Store):
    started(store)
    done = put(store, Revise("other", token(store, "other"), b"- A\n- b\n- c\n"))
    put(store, Revise("other", token(store, "other"), b"- A\n- b\n- C\n"))
    put(store, Pin("other", True))
    put(store, Rename("other", token(store, "other"), "moved.md"))
    undo(store, done.seq)
    found = store.memory("other")
    assert found is not None
    assert (found.state.content, found.path, found.state.pinned) == (b"- a\n- b\n- C\n", "moved.md", True)


def test_later_work_on_the_same_lines_refuses_the_whole_undo_and_is_named(store: Store):
    started(store)
    done = put(store, Revise("other", token(store, "other"), b"- A\n- b\n- c\n"), Pin("note", True))
    put(store, Revise("other", token(store, "other"), b"- AA\n- b\n- c\n"))
    last = put(store, Pin("other", True))
    before = world(store), store.counts()
    with pytest.raises(Conflict, match=rf"other\.md cannot be taken back.*last by operation #{last.seq}"):
        undo(store, done.seq)
    assert (world(store), store.counts()) == before


def test_a_memory_that_was_made_and_changed_since_is_not_retired_unasked(store: Store):
    started(store)
    done = put(store, create("new", b"one\n"))
    put(store, Append("new", b"two"))
    with pytest.raises(Conflict, match="was made by this operation and changed since"):
        undo(store, done.seq)
    put(store, Retire("new", token(store, "new")))
    with pytest.raises(Conflict, match="changed nothing that could be taken back"):
        undo(store, done.seq)


def test_a_line_that_was_touched_since_stays(store: Store):
    started(store)
    done = OPERATIONS["rename"](store)
    line = store.index()[1]
    put(
        store, lines=(SetIndexLine("p", line.version, "pointer", "* [New](moved.md)", "note", line.rank, "hand", True),)
    )
    undo(store, done.seq)
    assert store.index()[1].text == "* [New](note.md)"


def test_a_name_that_was_taken_meanwhile_refuses_the_undo(store: Store):
    started(store)
    done = put(store, Retire("note", token(store, "note")))
    put(store, Rename("other", token(store, "other"), "note.md"))
    before = world(store)
    with pytest.raises(NameTaken):
        undo(store, done.seq)
    assert world(store) == before


def test_an_undone_settlement_opens_the_conflict_again(store: Store):
    started(store)
    conflict = OpenConflict("c", "note", "note.md", "text", NOTE, b"theirs\n", "")
    store.apply(ChangeSet("open", "absorb", 1, who("file"), conflicts=(conflict,)))
    settle = (Revise("note", token(store, "note"), b"theirs\n"),)
    done = store.apply(ChangeSet("settle", "resolve", 2, who(), settle, conflicts=(CloseConflict("c", "theirs"),)))
    assert store.conflicts() == []
    undo(store, done.seq)
    assert [record.id for record in store.conflicts()] == ["c"]
    assert at(store, "note").state.content == NOTE


def test_an_undo_that_is_asked_for_twice_under_one_id_happens_once(store: Store):
    started(store)
    done = put(store, Append("note", b"more"))
    operation = store.operation(f"#{done.seq}")
    assert operation is not None
    first = writer_of(store).undo(operation, operation="undo-1")
    again = writer_of(store).undo(operation, operation="undo-1")
    assert (again.seq, again.versions, again.repeated) == (first.seq, first.versions, True)


def test_an_undo_meets_a_faster_writer_and_keeps_its_words(store: Store, monkeypatch: pytest.MonkeyPatch):
    started(store)
    done = put(store, Revise("other", token(store, "other"), b"- A\n- b\n- c\n"))
    operation = store.operation(f"#{done.seq}")
    assert operation is not None
    real = Store.steps

    def slow(self: Store, seq: int) -> object:
        found = real(self, seq)
        if len(store.versions("other")) == 2:
            put(store, Append("other", b"- d"))
        return found

    monkeypatch.setattr(Store, "steps", slow)
    writer_of(store).undo(operation)
    assert at(store, "other").state.content == b"- a\n- b\n- c\n- d\n"


def test_the_last_newline_stays_while_another_line_needs_it(store: Store):
    first = put(store, create("a"))
    put(store, create("b"))
    undo(store, first.seq)
    assert [text for text, *_ in index_of(store)] == ["- [b](b.md)", ""]


def test_an_index_that_was_empty_is_empty_again(store: Store):
    undo(store, put(store, create("a")).seq)
    assert index_of(store) == []
