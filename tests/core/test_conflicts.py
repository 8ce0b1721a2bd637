"""Each choice for each kind of conflict."""

from __future__ import annotations

import pytest

from memstore.core.changes import Revise, SetIndexLine
from memstore.core.conflicts import CHOICES, joined, resolution
from memstore.core.index_values import Line
from memstore.core.model import SHELF, ConflictRecord, Memory, State
from memstore.errors import InputRefused, NotFound

OURS = b"---\nname: a\n---\none\ntwo\n"
THEIRS = b"---\nname: a\n---\none\nthree\n"


def record(kind: str = "text", theirs: bytes = THEIRS, base: bytes | None = OURS) -> ConflictRecord:
    return ConflictRecord("c", "m", "a.md", kind, base, theirs, "", 0, "op", None, None)


def head(content: bytes = OURS, *, live: bool = True) -> Memory:
    return Memory("m", 1, "t", State(SHELF, "a.md", content, live), "a", "", None, "agent", "listed", 0, 0, 1)


ROWS = (
    Line("1", "- [A](a.md) — ours", "auto", "m", "1", "derived", 3, 1),
    Line("2", "prose", "free", None, "2", "hand", 5, 1),
)


def test_ours_changes_nothing_even_where_the_memory_is_gone():
    assert resolution(record(), head(), "ours", None, ()) == ((), ())
    assert resolution(record(), None, "ours", None, ()) == ((), ())
    assert resolution(record("line"), None, "ours", None, ()) == ((), ())


def test_theirs_both_and_a_text_of_ones_own():
    assert resolution(record(), head(), "theirs", None, ()) == ((Revise("m", "t", THEIRS),), ())
    assert resolution(record(), head(), "both", None, ()) == ((Revise("m", "t", OURS + b"three\n"),), ())
    assert resolution(record(), head(), "text", "mine", ()) == ((Revise("m", "t", b"mine"),), ())


def test_what_stands_there_already_needs_no_step_but_a_retired_memory_comes_back():
    assert resolution(record(), head(THEIRS), "theirs", None, ()) == ((), ())
    assert resolution(record(), head(THEIRS, live=False), "theirs", None, ()) == ((Revise("m", "t", THEIRS),), ())


@pytest.mark.parametrize("take", ["theirs", "both"])
def test_a_conflict_whose_memory_is_gone_can_only_be_closed(take: str):
    with pytest.raises(NotFound, match="is gone"):
        resolution(record(), None, take, None, ())


@pytest.mark.parametrize(("take", "text"), [("mine", None), ("text", None), ("ours", "x"), ("both", "x"), ("", None)])
def test_any_other_choice_is_refused(take: str, text: str | None):
    with pytest.raises(InputRefused, match="not settled by"):
        resolution(record(), head(), take, text, ())
    assert set(CHOICES) == {"ours", "theirs", "both", "text"}


def test_half_a_character_is_refused():
    with pytest.raises(InputRefused, match="half a surrogate pair"):
        resolution(record(), head(), "text", "\udc80", ())


@pytest.mark.parametrize(
    ("ours", "theirs", "then"),
    [
        (b"a\n", b"a\n", b"a\n"),
        (b"a", b"b", b"a\nb\n"),
        (b"a\r\n", b"b\n\nc\r\n", b"a\r\nb\r\nc\r\n"),
        (b"a\n", b"---\nname: x\n---\nb\n", b"a\nb\n"),
        (b"a\nb\n", b"b\nc\nb\n", b"a\nb\nc\n"),
    ],
)
def test_both_is_ours_and_then_the_lines_that_ours_lacks(ours: bytes, theirs: bytes, then: bytes):
    assert joined(ours, theirs) == then


def test_a_line_of_the_index_takes_theirs_or_a_line_of_ones_own():
    line = record("line", b"- [A](a.md) - theirs", ROWS[0].text.encode())
    for take, text, chosen in (("theirs", None, "- [A](a.md) - theirs"), ("text", "own\nmore", "own")):
        expected = SetIndexLine("1", 3, "pointer", chosen, "m", "1", "hand", True)
        assert resolution(line, None, take, text, ROWS) == ((), (expected,))
    moved = record("line", b"x", b"what it was long ago")
    assert resolution(moved, None, "theirs", None, ROWS)[1][0].id == "1"  # type: ignore[union-attr]  # a SetIndexLine
    with pytest.raises(InputRefused, match="cannot be both"):
        resolution(line, None, "both", None, ROWS)
    with pytest.raises(NotFound, match="line of this conflict is gone"):
        resolution(line, None, "theirs", None, ())
