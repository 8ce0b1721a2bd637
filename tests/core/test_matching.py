"""Blocks of equal lines rise in both texts, never overlap, and hold equal lines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.matching import GAP_LIMIT, LineMatcher

texts = st.lists(st.sampled_from(["a", "b", "c", "d", "e", ""]), max_size=12)


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_blocks_rise_and_hold_equal_lines(a: list[str], b: list[str]) -> None:
    blocks = LineMatcher(None, a, b).get_matching_blocks()
    assert blocks[-1] == (len(a), len(b), 0)
    at_a = at_b = 0
    for in_a, in_b, size in blocks:
        assert in_a >= at_a
        assert in_b >= at_b
        assert a[in_a : in_a + size] == b[in_b : in_b + size]
        at_a, at_b = in_a + size, in_b + size


def test_lines_that_stand_once_are_matched_before_blank_ones() -> None:
    a = ["", "one", "", "two", ""]
    b = ["", "", "", "one", "", "two", ""]
    assert (1, 3, 4) in LineMatcher(None, a, b).get_matching_blocks()


def test_a_moved_line_keeps_the_longer_run_in_place() -> None:
    assert LineMatcher(None, ["x", "a", "b", "c"], ["a", "b", "c", "x"]).get_matching_blocks() == [
        (1, 0, 3),
        (4, 4, 0),
    ]


def test_a_long_stretch_without_a_sure_match_is_not_searched() -> None:
    a = ["x", "y"] * GAP_LIMIT
    assert LineMatcher(None, a, ["y", *a]).get_matching_blocks() == [(len(a), len(a) + 1, 0)]
    assert LineMatcher(None, ["sure", *a], ["sure", "y", *a]).get_matching_blocks()[0] == (0, 0, 1)
