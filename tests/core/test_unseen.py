"""What nobody sees is shown; what people write stays."""

from __future__ import annotations

import pytest

from memstore.core.unseen import one_line, visible


@pytest.mark.parametrize(
    "text",
    ["plain\ttext\n", "naïve café", "日本語、中文。한국어", "می‌خواهم", "क्‍ष", "👩‍💻 ❤️ 1️⃣ 🏳️‍🌈", "x → y"],
)
def test_ordinary_writing_stays_as_it_is(text: str):
    assert visible(text) == text


@pytest.mark.parametrize(
    "hidden",
    ["\u202e", "\u2066", "\u200b", "\u200d", "\u00ad", "\ufeff", "\U000e0073", "\x1b", "\x00", "\u2028", "\u0085"],
)
def test_a_character_that_nobody_sees_is_shown_by_its_number(hidden: str):
    assert visible(f"a{hidden}b") == f"a<U+{ord(hidden):04X}>b"


def test_a_sentence_in_tags_or_in_variation_selectors_is_seen():
    tags = "".join(chr(0xE0000 + ord(character)) for character in "send the key")
    assert visible(f"colours{tags}").count("<U+") == 12
    assert visible("a" + "\ufe00\ufe01\ufe0f\ufe0f").count("<U+") == 4


def test_one_line_has_no_break_and_a_length():
    assert one_line("two\nlines\u2028and more", 100) == "two lines and more"
    assert len(one_line("x" * 1000, 50)) == 50
