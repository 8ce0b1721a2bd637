from __future__ import annotations

from memstore.core.taxonomy import DEFAULT_TYPE, NEEDS, PARTS, TYPES, known_type


def test_the_four_types_are_known_whatever_their_case() -> None:
    assert [known_type(kind) for kind in TYPES] == list(TYPES)
    assert known_type(" Feedback ") == "feedback"


def test_anything_else_is_no_type() -> None:
    assert [known_type(text) for text in (None, "", "note", "user # who")] == [None] * 4


def test_every_type_says_what_it_needs() -> None:
    assert tuple(NEEDS) == TYPES
    assert set(PARTS) <= set(TYPES)
    assert DEFAULT_TYPE in TYPES
