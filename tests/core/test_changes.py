"""A step and a state give the next state; what does not fit is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.changes import (
    Append,
    Change,
    Create,
    Pin,
    Rename,
    Restore,
    Retire,
    Revise,
    Supersede,
    appended,
    change_name,
    expectation,
    next_state,
)
from memstore.core.model import ORIGINS, SHELF, Origin, State, least_trusted
from memstore.errors import Conflict, Defect, NotFound

LIVE = State(SHELF, "a.md", b"one\n", pinned=True, superseded_by="x")
RETIRED = State(SHELF, "a.md", b"one\n", live=False)

CASES: list[tuple[Change, State | None, State]] = [
    (Create("m", SHELF, "a.md", b"one\n"), None, State(SHELF, "a.md", b"one\n")),
    (Create("m", SHELF, "a.md", b"", pinned=True), None, State(SHELF, "a.md", b"", pinned=True)),
    (Revise("m", "t", b"two"), LIVE, State(SHELF, "a.md", b"two", True, True, "x")),
    (Revise("m", "t", b"two"), RETIRED, State(SHELF, "a.md", b"two")),
    (Append("m", b"two"), LIVE, State(SHELF, "a.md", b"one\ntwo\n", True, True, "x")),
    (Rename("m", "t", "b.md"), LIVE, State(SHELF, "b.md", b"one\n", True, True, "x")),
    (Rename("m", "t", "b.md", b"new"), RETIRED, State(SHELF, "b.md", b"new")),
    (Retire("m", "t"), LIVE, State(SHELF, "a.md", b"one\n", False, True, "x")),
    (Retire("m", "t", "y"), LIVE, State(SHELF, "a.md", b"one\n", False, True, "y")),
    (Pin("m", False), LIVE, State(SHELF, "a.md", b"one\n", True, False, "x")),
    (Pin("m", True), RETIRED, State(SHELF, "a.md", b"one\n", False, True)),
    (Supersede("m", None), LIVE, State(SHELF, "a.md", b"one\n", True, True)),
    (Restore("m", "t", RETIRED), LIVE, RETIRED),
]


@pytest.mark.parametrize(("change", "head", "then"), CASES)
def test_a_step_changes_what_it_names_and_nothing_else(change: Change, head: State | None, then: State):
    assert next_state(change, head) == then


@pytest.mark.parametrize("change", [change for change, head, _ in CASES if head is not None])
def test_a_step_on_nothing_is_not_found(change: Change):
    with pytest.raises(NotFound, match="no memory with the id m"):
        next_state(change, None)


def test_what_does_not_fit_the_state_is_refused():
    with pytest.raises(Defect, match="in use already"):
        next_state(Create("m", SHELF, "a.md", b""), LIVE)
    with pytest.raises(Conflict, match="retired"):
        next_state(Append("m", b"x"), RETIRED)
    with pytest.raises(Conflict, match="retired already"):
        next_state(Retire("m", "t"), RETIRED)


def test_every_step_that_can_overwrite_words_names_the_version_it_saw():
    named = {change_name(change): expectation(change) for change, _, _ in CASES}
    assert named == {
        "create": None, "append": None, "pin": None, "supersede": None,
        "revise": "t", "rename": "t", "retire": "t", "restore": "t",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "text", "then"),
    [
        (b"", b"x", b"x\n"),
        (b"a", b"x", b"a\nx\n"),
        (b"a\n", b"x\n", b"a\nx\n"),
        (b"a\n\n", b"x\ny\n\n", b"a\n\nx\ny\n"),
        (b"a\r\n", b"x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb", b"x\r\ny\r\n", b"a\r\nb\r\nx\r\ny\r\n"),
        (b"\xff", b"\xfe", b"\xff\n\xfe\n"),
    ],
)
def test_an_append_adds_whole_lines_in_the_line_ends_that_are_there(content: bytes, text: bytes, then: bytes):
    assert appended(content, text) == then


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_an_append_keeps_every_byte_that_was_there(content: bytes, text: bytes):
    then = appended(content, text)
    assert then.startswith(content) and then.endswith(b"\n")


@given(st.lists(st.sampled_from(ORIGINS), min_size=1))
def test_the_least_trusted_origin_counts(origins: list[Origin]):
    found = least_trusted(*origins)
    assert found in origins and all(ORIGINS.index(found) >= ORIGINS.index(origin) for origin in origins)
