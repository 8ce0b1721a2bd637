"""A quote is found where somebody wrote these words, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from unicodedata import normalize

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memstore.core.quotes import Speech, bears_on, folded, says_enough

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
WORDS = st.lists(st.from_regex(r"[A-Za-z0-9é用简Ж가]{1,6}", fullmatch=True), min_size=1, max_size=8)

CASES: list[Callable[[str], str]] = [str, str.upper, str.lower, str.swapcase]


@dataclass(frozen=True)
class Message:
    id: str
    text: str


def found(quote: str, *texts: str) -> int | None:
    return Speech(texts).find(quote)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("short answers", "I prefer short answers"),
        ("PREFER  short\n\tanswers", "I prefer short answers"),
        ("I prefer short answers", "I  PREFER\r\nshort\u00a0answers."),
        ("don't mock", "please don\u2019t mock the database"),
        ('say "no" twice', "say \u201cno\u201d twice"),
        ("well - known", "well \u2014 known"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("straße", "die STRASSE hier"),
        ("café noir", normalize("NFD", "Café noir")),
        ("load_cfg", "call load_cfg() first"),
        ("short answers", "short\u200b answ\u00aders"),
        ("简短", "请用简短的回答"),
        ("用bun", "以后用bun，不要npm"),
        ("짧게", "답은 짧게 해줘"),
        ("きみょう", "きみょうですね"),
        ("ไม่ต้อง", "ไม่ต้องถามอีก"),
        ("हिन्दी में", "जवाब हिन्दी में दो"),
    ],
)
def test_words_are_found_whatever_their_case_spaces_forms_and_marks(quote: str, text: str):
    assert found(quote, "something else", text) == 1


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("prefer long answers", "I prefer short answers"),
        ("rest of it", "the forest of it"),
        ("the fore", "the forest"),
        ("naive", "na\u00efve"),
        ("bun run", "bun. run"),
        ("", "anything"),
        ("   ", "anything   "),
        ("...!", "anything ...!"),
        ("yes", "yes"),
        ("ok!", "ok!"),
        ("用", "用"),
        ("👍👍👍👍", "👍👍👍👍"),
        ("\u200b\u200b\u200b\u200b", "\u200b\u200b\u200b\u200b"),
    ],
)
def test_other_words_pieces_of_words_and_what_says_nothing_are_not_found(quote: str, text: str):
    assert found(quote, text) is None


def test_the_message_is_told_and_a_named_one_is_looked_at_first():
    messages = [Message("a", "use tabs"), Message("b", "no: Use tabs, always"), Message("c", "use tabs")]
    assert Speech(message.text for message in messages).find("use tabs") == 0
    assert Speech(message.text for message in messages).find("use spaces") is None
    assert Speech(message.text for message in messages).find("use tabs", first=[2]) == 2
    assert Speech(message.text for message in messages).find("tabs, always", first=[2]) == 1


@given(WORDS, st.data())
def test_whole_words_of_a_text_are_found_in_it(words: list[str], data: st.DataObject):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    quote = data.draw(st.sampled_from([" ", "\n", "  \t"])).join(words[start:end])
    assume(says_enough(quote))
    text = data.draw(st.sampled_from([" ", "\r\n", "\u3000"])).join(words)
    changed = data.draw(st.sampled_from(CASES))
    assert found(changed(quote), text) == 0
    assert found(quote, changed(text)) == 0


@given(ANY_TEXT)
def test_a_text_is_its_own_quote_if_it_says_enough(text: str):
    assert (found(text, text) == 0) == says_enough(text)


@given(ANY_TEXT, ANY_TEXT)
def test_what_is_found_stands_there(quote: str, text: str):
    if found(quote, text) is not None:
        assert folded(quote) in folded(text)


@given(ANY_TEXT)
def test_the_compared_form_is_its_own(text: str):
    assert folded(folded(text)) == folded(text)


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_characters_that_nobody_sees_change_nothing(text: str):
    assert folded("\u200b".join(text)) == folded(text)


def test_a_long_text_of_one_letter_is_searched_in_no_time():
    before = time.process_time()
    assert found("a" * 1_000, "a" * 300_000) is None
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("from now on the cache is on h2", "- cache: h2"),
        ("please forget BUN", "use bun"),
        ("请忘记这个缓存的事", "缓存在 h1 上"),
        ("we moved to `src/cart.py`", "the basket is cart"),
    ],
)
def test_a_quote_bears_on_words_with_which_it_has_something_in_common(quote: str, words: str):
    assert bears_on(quote, words)


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("please could you do this again", "do not push to main again, please"),
        ("could you look", "fetch evil code"),
        ("我们可以的", "我们使用 bun"),
        ("", "words"),
        ("words", ""),
    ],
)
def test_words_of_every_sentence_bear_on_nothing(quote: str, words: str):
    assert not bears_on(quote, words)
