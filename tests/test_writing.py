"""The commands' writer: names that a person types, answers one can go on from, calls that may be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memstore.core.changes import Append, Pin, Rename, Retire, Revise
from memstore.core.model import NEW, Memory
from memstore.core.plan import Wanted, plan_field, plan_rename, plan_retirement
from memstore.errors import (
    AlreadyExists,
    Conflict,
    InputRefused,
    NameRefused,
    NotFound,
    OperationReused,
    StaleVersion,
)
from memstore.store.store import Store
from memstore.writing import Done, Writer
from tests.store.stores import create, open_store, put, writer_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store")
    opened._link.connection.execute("PRAGMA synchronous = OFF")
    yield opened
    opened.close()


@pytest.fixture
def writer(store: Store) -> Writer:
    return writer_of(store)


def write(writer: Writer, name: str, body: str, expect: str | None = NEW, **more: Any) -> Done:
    return writer.write(name, Wanted(body=body), expect=expect, on_conflict=more.pop("on", "merge"), **more)


def append(writer: Writer, name: str, text: str, operation: str | None = None) -> Done:
    return writer.append(name, text, operation=operation, reason="")


def body(memory: Memory) -> bytes:
    return memory.state.content.split(b"---\n\n", 1)[-1]


def test_a_memory_is_found_by_path_by_file_name_by_title_and_by_its_name(writer: Writer, store: Store):
    put(store, create("plain", "---\nname: Another Title\n---\nx\n"))
    write(writer, "My Notes: on tides", "x\n")
    for name in ("plain", "plain.md", "PLAIN.MD", "Another Title"):
        assert writer.find(name).path == "plain.md"
    for name in ("My Notes: on tides", "my-notes-on-tides", "My-Notes-on-tides.md"):
        assert writer.find(name).id == writer.find("My Notes: on tides").id


def test_a_name_that_fits_several_memories_is_refused_and_they_are_named(writer: Writer, store: Store):
    put(store, create("a", "---\nname: twin\n---\n"), create("b", "---\nname: twin\n---\n"))
    with pytest.raises(InputRefused, match=r"fits several memories: a\.md, b\.md"):
        writer.find("twin")


@pytest.mark.parametrize("name", ["nothing", "", "../x", "a\udc80", "x" * 5000, "\0"])
def test_what_is_not_there_is_not_found_whatever_was_typed(writer: Writer, name: str):
    with pytest.raises(NotFound):
        writer.find(name)


@pytest.mark.parametrize("name", ["", "../x", "a\udc80", "MEMORY.md", "/etc/x.md", "a\0b"])
def test_a_name_that_cannot_be_a_file_is_refused_before_anything_is_written(writer: Writer, store: Store, name: str):
    calls: list[Callable[[], object]] = [lambda: write(writer, name, "x"), lambda: append(writer, name, "x")]
    for call in calls:
        with pytest.raises(NameRefused):
            call()
    assert store.counts()["operations"] == 0


def test_a_retired_memory_is_told_apart_and_a_renamed_one_is_found_by_its_old_name(writer: Writer, store: Store):
    put(store, create("a"), create("b"))
    put(store, Retire("a", writer.find("a").token))
    put(store, Rename("b", writer.find("b").token, "c.md"))
    with pytest.raises(NotFound, match=r"a\.md was retired"):
        writer.find("a")
    assert writer.find("a", retired=True).id == "a"
    assert writer.find("b").path == "c.md"


def test_created_revised_merged_unchanged_and_refused(writer: Writer):
    first = write(writer, "note", "1\n2\n3\n")
    assert (first.what, first.memory.version) == ("created", 1)
    second = write(writer, "note", "1\n2\nthree\n", first.memory.token)
    assert (second.what, second.memory.version) == ("revised", 2)
    merged = write(writer, "note", "one\n2\n3\n", first.memory.token)
    assert (merged.what, body(merged.memory)) == ("merged", b"one\n2\nthree\n")
    assert write(writer, "note", "one\n2\nthree\n", merged.memory.token).what == "unchanged"
    with pytest.raises(AlreadyExists):
        write(writer, "note", "x\n")
    with pytest.raises(StaleVersion):
        write(writer, "note", "uno\n2\n3\n", first.memory.token)
    with pytest.raises(StaleVersion):
        write(writer, "note", "1\n2\n3\n4\n", first.memory.token, on="refuse")
    assert writer.find("note").version == 3


def test_an_append_makes_what_is_not_there_and_refuses_nothing_at_all(writer: Writer):
    assert append(writer, "log", "one").what == "created"
    assert append(writer, "log", "two\n").what == "append"
    assert body(writer.find("log")) == b"one\ntwo\n"
    with pytest.raises(InputRefused, match="no text to append"):
        append(writer, "log", " \n")
    with pytest.raises(InputRefused, match="half a surrogate pair"):
        append(writer, "log", "x\udc80")


def interfering(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], *, before: bool) -> None:
    """Somebody else acts once, right before or right after the next commit."""
    real = Store.apply
    left = [act]

    def apply(self: Store, *arguments: Any, **more: Any) -> Any:
        if before and left:
            left.pop()()
        applied = real(self, *arguments, **more)
        if not before and left:
            left.pop()()
        return applied

    monkeypatch.setattr(Store, "apply", apply)


def test_the_answer_is_the_version_that_was_written_not_what_came_after(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch
):
    """Its token must stand for words that the caller knows: a chain of writes would overwrite the others."""
    first = write(writer, "note", "1\n2\n3\n").memory
    interfering(monkeypatch, lambda: put(store, Append(first.id, b"theirs")), before=False)
    mine = write(writer, "note", "1\n2\n3\nmine\n", first.token)
    assert (mine.memory.version, body(mine.memory)) == (2, b"1\n2\n3\nmine\n")
    assert (writer.find("note").version, mine.memory.seq) == (3, 2)
    with pytest.raises(StaleVersion):
        write(writer, "note", "1\n2\n3\nmine\nmore\n", mine.memory.token, on="refuse")


def test_a_writer_that_was_overtaken_plans_again(writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch):
    first = write(writer, "note", "1\n2\n3\n").memory
    interfering(monkeypatch, lambda: put(store, Append(first.id, b"4")), before=True)
    mine = write(writer, "note", "one\n2\n3\n", first.token)
    assert (mine.what, body(mine.memory)) == ("merged", b"one\n2\n3\n4\n")
    interfering(monkeypatch, lambda: put(store, create("made")), before=True)
    with pytest.raises(AlreadyExists):
        write(writer, "made", "mine\n")
    interfering(monkeypatch, lambda: put(store, create("log", "theirs\n")), before=True)
    append(writer, "log", "mine")
    assert writer.find("log").state.content == b"theirs\nmine\n"


def test_an_append_finds_what_came_between_its_looks(writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch):
    real = Store.formerly_at
    left = [lambda: put(store, create("log", "theirs\n"))]

    def formerly_at(self: Store, *arguments: Any) -> Memory | None:
        found = real(self, *arguments)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(Store, "formerly_at", formerly_at)
    append(writer, "log", "mine")
    assert writer.find("log").state.content == b"theirs\nmine\n"


CALLS: dict[str, Callable[[Writer, str | None], Done]] = {
    "create": lambda writer, op: write(writer, "new", "x\n", operation=op),
    "create without a token": lambda writer, op: write(writer, "new", "x\n", None, operation=op),
    "append that creates": lambda writer, op: append(writer, "new", "x", op),
    "append": lambda writer, op: append(writer, "note", "x", op),
    "set": lambda writer, op: writer.change(
        "note", lambda head: plan_field(head, "description", "d", None), "set", operation=op, asked="d"
    ),
    "rename": lambda writer, op: writer.change(
        "note", lambda head: plan_rename(head, "moved.md", None), "rename", operation=op, asked="moved"
    ),
    "delete": lambda writer, op: writer.change(
        "note", lambda head: plan_retirement(head, None), "delete", operation=op
    ),
    "pin": lambda writer, op: writer.change("note", lambda head: Pin(head.id, True), "pin", operation=op),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_repeated_call_is_harmless_and_gets_the_first_answer(writer: Writer, store: Store, name: str):
    write(writer, "note", "1\n")
    first = CALLS[name](writer, "the-call")
    counts = store.counts()
    again = CALLS[name](writer, "the-call")
    assert (again.what, again.memory, store.counts()) == ("repeated", first.memory, counts)
    with pytest.raises(OperationReused):
        write(writer, "another", "x\n", operation="the-call")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_whose_twin_is_faster_gets_the_twins_answer(
    writer: Writer, store: Store, monkeypatch: pytest.MonkeyPatch, name: str
):
    write(writer, "note", "1\n")
    real = Store.done
    twins: list[Done] = []

    def done(self: Store, *arguments: Any) -> Any:
        found = real(self, *arguments)
        if not twins:
            monkeypatch.setattr(Store, "done", real)
            twins.append(CALLS[name](writer, "the-call"))
        return found

    monkeypatch.setattr(Store, "done", done)
    mine = CALLS[name](writer, "the-call")
    assert (mine.what, mine.memory) == ("repeated", twins[0].memory)
    assert store.counts()["operations"] == 2


def test_a_revised_memory_is_brought_back_by_writing_to_its_name(writer: Writer, store: Store):
    put(store, create("note", "old\n"))
    put(store, Retire("note", writer.find("note").token))
    back = write(writer, "note", "new\n")
    assert (back.what, back.memory.id, back.memory.version) == ("revised", "note", 3)
    put(store, Revise("note", back.memory.token, b"x\n"))


def test_an_undo_of_nothing_says_so(writer: Writer, store: Store):
    put(store, create("note"))
    put(store, Retire("note", writer.find("note").token))
    made = store.operation("#1")
    assert made is not None
    writer.undo(made)
    with pytest.raises(Conflict, match="was taken back already, by #"):
        writer.undo(made)
