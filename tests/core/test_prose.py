"""What is code or a comment is blanked, and every line and place stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memstore.core.prose import without_code, without_comments

TEXTS = st.text(alphabet="`~ab \n\r<!->*1.", max_size=80)


def test_blocks_and_spans_of_code_are_blanked():
    assert without_code("a `b c` d") == "a       d"
    assert without_code("a\n```py\ncode\n```\nb") == "a\n     \n    \n   \nb"
    assert without_code("- ~~~\n  code\n  ~~~\nb") == "     \n      \n     \nb"
    assert without_code("a\n```\nnever closed") == "a\n   \n            "


def test_what_only_looks_like_code_stays():
    for text in ("a ` b", "\\`a`", "a\n``` not a fence ``` b", "it's 5 ~~~ or so"):
        assert "b" not in text or "b" in without_code(text)
    assert without_code("a ` b") == "a ` b"


def test_comments_are_blanked_and_open_ones_stay():
    assert without_comments("a <!-- b\nc --> d") == "a       \n      d"
    assert without_comments("a <!-- b") == "a <!-- b"


@given(TEXTS)
def test_every_place_stays(text: str):
    for blanked in (without_code(text), without_comments(text)):
        assert len(blanked) == len(text)
        assert all(new in (old, " ") for old, new in zip(text, blanked, strict=True))
        assert [len(line) for line in blanked.split("\n")] == [len(line) for line in text.split("\n")]
