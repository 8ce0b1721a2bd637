"""The index as rows: lines that follow their memories, and edits that touch nothing else."""

from __future__ import annotations

import pytest

from memstore.core.changes import AddIndexLine, Append, Create, Pin, Rename, Retire, Revise, SetIndexLine, SetListing
from memstore.core.index_values import END
from memstore.core.model import SHELF
from memstore.errors import StaleVersion
from memstore.store.store import Store
from tests.store.stores import at, create, put


def text_of(store: Store) -> list[str]:
    return [line.text for line in store.index()]


def described(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nbody\n"


def hand(
    identity: str, text: str, memory: str | None = None, kind: str = "free", rank: str | None = None
) -> AddIndexLine:
    return AddIndexLine(identity, kind, text, memory, rank)


def by_hand(store: Store) -> None:
    """An index written by a person: a heading, a pointer with a hook of its own, a note."""
    lines = (
        hand("1", "# Notes"),
        hand("2", "- [Mine](note.md) — my own words", "note", "pointer"),
        hand("3", "Remember the tides."),
        hand("4", "", rank=END),
    )
    put(store, create("note", described("note", "what it says")), lines=lines)


HAND_MADE = ["# Notes", "- [Mine](note.md) — my own words", "Remember the tides.", ""]


def test_a_real_write_gives_each_due_memory_one_line_and_an_absorbed_one_waits(store: Store):
    put(store, create("a", described("a", "first")), real=False)
    assert text_of(store) == []
    put(store, create("b", described("b", "second")))
    assert text_of(store) == ["- [a](a.md) — first", "- [b](b.md) — second", ""]
    put(store, Append("a", b"more"))
    assert len(text_of(store)) == 3
    assert {at(store, name).listing for name in ("a", "b")} == {"listed"}


def test_a_memory_that_waits_for_its_moment_gets_its_line_then(store: Store):
    put(store, create("a", described("a", "first"), due_at=10**15), real=False)
    put(store, Pin("a", True), real=False)
    assert text_of(store) == []
    put(store, create("late", due_at=1), real=False)
    assert text_of(store) == ["- [late](late.md)", ""]


def test_what_a_person_took_out_stays_out(store: Store):
    put(store, create("a", described("a", "first")))
    line = store.index()[0]
    gone = SetIndexLine(line.id, line.version, line.kind, line.text, "a", line.rank, line.hook_by, False)
    put(store, lines=(gone, SetListing("a", "unlisted")))
    put(store, Revise("a", at(store, "a").token, described("a", "anew").encode()))
    put(store, create("b"))
    assert text_of(store) == ["- [b](b.md)", ""]


def test_a_line_by_hand_keeps_its_words_and_follows_the_path(store: Store):
    by_hand(store)
    assert text_of(store) == HAND_MADE
    put(store, Revise("note", at(store, "note").token, described("note", "another description").encode()))
    assert text_of(store) == HAND_MADE
    put(store, Rename("note", at(store, "note").token, "moved.md"))
    assert text_of(store)[1] == "- [Mine](moved.md) — my own words"


def test_a_line_of_ours_says_what_the_memory_says_now(store: Store):
    put(store, create("a", described("a", "first")))
    put(store, Revise("a", at(store, "a").token, described("A title", "second").encode()))
    assert text_of(store) == ["- [A title](a.md) — second", ""]


@pytest.mark.parametrize("between", [False, True], ids=["at once", "after more was done to it"])
def test_a_retired_memorys_line_goes_and_comes_back_where_it_stood(store: Store, between: bool):
    by_hand(store)
    before = store.index()
    put(store, Retire("note", at(store, "note").token))
    assert text_of(store) == [HAND_MADE[0], *HAND_MADE[2:]]
    if between:
        put(store, Pin("note", True))
        put(store, create("other"))
    put(store, Revise("note", at(store, "note").token, described("note", "back").encode()))
    after = [line for line in store.index() if line.kind != "auto"]
    assert [(line.id, line.text, line.rank) for line in after] == [(line.id, line.text, line.rank) for line in before]


def test_a_memory_that_comes_back_elsewhere_has_its_line_there(store: Store):
    by_hand(store)
    put(store, Retire("note", at(store, "note").token))
    put(store, Rename("note", at(store, "note").token, "moved.md"))
    assert text_of(store)[1] == "- [Mine](moved.md) — my own words"


def test_a_line_that_waited_for_its_topic_is_bound_to_it(store: Store):
    put(store, lines=(hand("1", "- [Soon](soon.md) — later"), hand("2", "", rank=END)))
    put(store, Create("s", SHELF, "soon.md", b"here\n"))
    (line, _) = store.index()
    assert (line.id, line.memory, line.kind, line.text) == ("1", "s", "pointer", "- [Soon](soon.md) — later")
    assert at(store, "soon").listing == "listed"


def test_an_edit_of_a_line_that_moved_on_is_refused_whole_so_that_its_words_are_planned_anew(store: Store):
    by_hand(store)
    line = store.index()[2]
    edits = [
        SetIndexLine(line.id, line.version, "free", text, None, line.rank, "hand", True) for text in ("first", "second")
    ]
    put(store, lines=(edits[0],))
    for stale in (edits[1], SetIndexLine("nobody", 1, "free", "x", None, "1", "hand", True)):
        with pytest.raises(StaleVersion):
            put(store, lines=(stale,))
    assert text_of(store)[2] == "first"


def test_every_version_of_a_line_is_kept(store: Store):
    by_hand(store)
    put(store, Rename("note", at(store, "note").token, "moved.md"))
    put(store, Retire("note", at(store, "moved").token))
    with store.view() as database:
        kept = database.execute(
            "SELECT v.version, v.text, v.live, v.operation FROM line_version v JOIN line l ON l.pk = v.line"
            " WHERE l.id = '2' ORDER BY v.version"
        ).fetchall()
        heads = database.execute(
            "SELECT count(*) FROM line l JOIN line_version v ON v.line = l.pk AND v.version = l.version"
            " WHERE (v.text, v.live, v.rank) IS (l.text, l.live, l.rank)"
        ).get
        lines = database.execute("SELECT count(*) FROM line").get
    assert kept == [
        (1, "- [Mine](note.md) — my own words", 1, 1),
        (2, "- [Mine](moved.md) — my own words", 1, 2),
        (3, "- [Mine](moved.md) — my own words", 0, 3),
    ]
    assert heads == lines
