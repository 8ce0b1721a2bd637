"""Differences, and who wrote which line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memstore.core.compare import blame, lines_of, unified
from memstore.core.model import SHELF, State, Version


def versions(*contents: bytes) -> list[Version]:
    return [
        Version("m", n, f"t{n}", None, "revise", State(SHELF, "a.md", content), "a", "", None, "agent", f"op{n}", n, 0)
        for n, content in enumerate(contents, 1)
    ]


def numbers(*contents: bytes) -> list[tuple[str, int]]:
    return [(line.text, line.version.number) for line in blame(versions(*contents))]


def test_lines_end_at_newlines_only_and_what_is_no_text_is_shown():
    assert lines_of(b"a\nb\r\n\x0bc\xe2\x80\xa8d\n\n\xff") == ["a", "b\r", "\x0bc\u2028d", "", "\ufffd"]
    assert (lines_of(b""), lines_of(b"\n"), lines_of(b"a"), lines_of(b"a\n")) == ([], [""], ["a"], ["a"])


def test_a_line_belongs_to_the_version_from_which_it_stands_unchanged():
    assert numbers(b"a\nb\n", b"a\nB\n", b"x\na\nB\nc\n") == [("x", 3), ("a", 1), ("B", 2), ("c", 3)]
    assert numbers(b"a\n") == [("a", 1)]
    assert numbers(b"a\n", b"") == []


def test_a_line_that_went_and_came_back_belongs_to_who_brought_it_back():
    assert numbers(b"a\nb\n", b"b\n", b"a\nb\n") == [("a", 3), ("b", 1)]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=5))
def test_every_line_has_one_owner_whose_text_had_it(texts: list[list[str]]):
    made = versions(*("".join(f"{line}\n" for line in text).encode() for text in texts))
    found = blame(made)
    assert [line.text for line in found] == texts[-1]
    assert all(line.text in lines_of(line.version.state.content) for line in found)


def test_a_diff_has_both_labels_and_nothing_where_nothing_differs():
    assert unified(b"a\nb\n", b"a\nc\n", "one", "two") == ["--- one", "+++ two", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert unified(b"a\n", b"a", "one", "two") == []
