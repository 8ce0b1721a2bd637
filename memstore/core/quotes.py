"""Whether words stand in what somebody wrote: a quote that is found says whose they are.

A quote is found where it occurs literally and as whole words; case, white space, compatibility forms, characters
that nobody sees, and the shapes of quotation marks and dashes aside. It must say enough to be somebody's words:
`LEAST` letters or digits, of which a Han character or Hangul syllable counts for two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Protocol
from unicodedata import category, normalize

from memstore.core.terms import document_terms, is_spaceless, parse_query

LEAST: Final = 4

_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e0fff]+"
)
_SHAPES = str.maketrans({
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032\u00b4`", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
})  # fmt: skip
_DENSE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\uac00-\ud7a3]")


class Said(Protocol):
    """A message, as far as it matters here."""

    @property
    def id(self) -> str: ...

    @property
    def text(self) -> str: ...


class Speech:
    """Texts that quotes are looked for in, each prepared once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(texts)
        self._folded: list[str | None] = [None] * len(self._texts)

    def find(self, quote: str, first: Sequence[int] = ()) -> int | None:
        """Which text holds the quote; of several the first, those in `first` before all others."""
        wanted = folded(quote)
        if not _says_enough(wanted):
            return None
        return next((at for at in (*first, *range(len(self._texts))) if _holds(self._text(at), wanted)), None)

    def _text(self, at: int) -> str:
        found = self._folded[at]
        if found is None:
            found = self._folded[at] = folded(self._texts[at])
        return found


def says_enough(quote: str) -> bool:
    """Whether a text is long enough to be somebody's words."""
    return _says_enough(folded(quote))


def bears_on(quote: str, words: str) -> bool:
    """Whether a quote and words have something in common to speak of: a word that is not in every sentence."""
    common = set(document_terms(quote).split()) & set(document_terms(words).split())
    return any(not word.stop for term in common for word in parse_query(term).words)


def folded(text: str) -> str:
    """The form in which texts are compared."""
    text = _UNSEEN.sub("", text).translate(_SHAPES)
    if not text.isascii():
        # Twice, because a folded letter may compose with what follows it, and that may have a lower case again.
        text = normalize("NFKC", normalize("NFKC", normalize("NFKD", text).casefold()).casefold()).translate(_SHAPES)
    return " ".join(text.casefold().split())


def _says_enough(wanted: str) -> bool:
    return sum(2 if _DENSE.match(character) else 1 for character in wanted if character.isalnum()) >= LEAST


def _holds(text: str, wanted: str) -> bool:
    at = text.find(wanted)
    while at >= 0:
        within = _parts_a_word(text, at)
        if not within and not _parts_a_word(text, at + len(wanted)):
            return True
        at += 1
        while within and _parts_a_word(text, at):  # comparing at each letter of a very long word takes seconds
            at += 1
        at = text.find(wanted, at)
    return False


def _parts_a_word(text: str, at: int) -> bool:
    """Whether a cut before this character goes through a word. Scripts without spaces do not show their words."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if category(after)[0] == "M":
        return True
    return (before.isalnum() or category(before)[0] == "M") and after.isalnum() and not (
        is_spaceless(before) or is_spaceless(after)
    )  # fmt: skip
