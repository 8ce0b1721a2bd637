"""The piece of a text that shows why it was found: one line, with the places to mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from memstore.core.terms import Query, Word, fold, is_spaceless

ELLIPSIS = "…"
_MOST_CHARACTERS = 1_000_000  # a hit beyond them is shown by the beginning of the text
_PIECE = 4_000  # longer lines are looked at in pieces
_MOST_WORDS = 16
_MOST_HITS = 100  # of one line, to choose the stretch of it from

# What may be folded into one with the character before it: accents, Hangul vowels and finals, Kana voicing.
_CLUSTER = re.compile("[\\s\\S][\u0300-\u036f\u0591-\u05bd\u064b-\u0655\u1160-\u11ff\u3099\u309a\ufe0f]*")
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_ENDINGS = re.compile("(?:ations?|ings?|ions?|edly|ed|ies|es|ly|s|e|y)$")


class _Hit(NamedTuple):
    start: int
    end: int
    word: int
    whole: bool


class _Needle(NamedTuple):
    word: int
    whole: bool
    stem: str | None  # a plain word: other words with this stem are hits as well


def excerpt(text: str, query: Query, width: int = 160) -> tuple[str, tuple[tuple[int, int], ...]]:
    """(at most `width` characters of one line around the best hit, the (start, end) in it to be marked).

    Without a hit it is the beginning of the first line that is not blank, and nothing to mark.
    """
    width = max(width, 8)
    needles = _needles(query.content[:_MOST_WORDS])
    line, hits = _best_line(text, needles)
    if not hits:
        line = next((piece for piece in _pieces(text) if piece.strip()), "")
    start, end = _window(line, hits, width)
    piece = line[start:end]
    lead = len(piece) - len(piece.lstrip())
    start, piece = start + lead, piece.strip()
    before = ELLIPSIS if line[:start].strip() else ""
    after = ELLIPSIS if line[start + len(piece) :].strip() else ""
    shown = before + _UNSHOWABLE.sub(" ", piece) + after
    return shown, _spans(hits, start, start + len(piece), len(before))


def _needles(words: tuple[Word, ...]) -> tuple[re.Pattern[str], dict[str, _Needle]] | None:
    """One pattern for all words, and whose word each of its groups is: the group captures the needle."""
    needles: dict[str, _Needle] = {}
    for number, word in enumerate(words):
        for term in (word.text, *word.exact[1:], *word.parts):
            if " " not in term:
                stem = _stem(term)
                needles.setdefault(stem, _Needle(number, term == word.text, stem if _plain(term) else None))
    if not needles:
        return None
    longest_first = sorted(needles, key=len, reverse=True)
    return re.compile("|".join(_pattern(key, needles[key]) for key in longest_first)), needles


def _pattern(key: str, needle: _Needle) -> str:
    if is_spaceless(key):
        return f"({re.escape(key)})"
    # Han may touch an English word, and is none of its letters.
    letter = "[a-z0-9]" if key.isascii() else r"[^\W_]"
    before = f"(?<!{letter})" if key[0].isalnum() else ""
    if needle.stem is not None:
        return f"{before}({re.escape(key)}){letter}*"
    return f"{before}({re.escape(key)})" + (f"(?!{letter})" if key[-1].isalnum() else "")


def _plain(term: str) -> bool:
    return term.isalpha() and not is_spaceless(term)


def _stem(term: str) -> str:
    if not _plain(term) or not term.isascii() or len(term) < 4:
        return term
    stem = _ENDINGS.sub("", term)
    return stem if len(stem) > 2 else term


def _pieces(text: str) -> Iterator[str]:
    for line in text[:_MOST_CHARACTERS].split("\n"):
        if len(line) <= _PIECE:
            yield line
        else:
            yield from (line[start : start + _PIECE] for start in range(0, len(line), _PIECE - 100))


def _best_line(text: str, needles: tuple[re.Pattern[str], dict[str, _Needle]] | None) -> tuple[str, list[_Hit]]:
    """The line that shows most words, and its hits. The first of equals."""
    if needles is None:
        return "", []
    best, best_hits, best_worth = "", list[_Hit](), 0
    most = 2 * (1 + max(needle.word for needle in needles[1].values()))
    for piece in _pieces(text):
        hits = _find(fold(piece).casefold(), *needles)
        worth = _worth(hits)
        if worth > best_worth:
            best, best_hits, best_worth = piece, hits, worth
            if worth >= most:
                break
    if not best.isascii():
        folded, origins = _fold_with_origins(best)
        best_hits = [hit._replace(start=origins[hit.start], end=origins[hit.end]) for hit in _find(folded, *needles)]
    return best, best_hits


def _find(folded: str, pattern: re.Pattern[str], needles: dict[str, _Needle]) -> list[_Hit]:
    hits = []
    for match in pattern.finditer(folded):
        needle = needles[match[match.lastindex or 0]]
        found = match[0]
        inflected = not found.isascii() and len(match[match.lastindex or 0]) > 3
        if needle.stem is None or inflected or _stem(found) == needle.stem:
            hits.append(_Hit(match.start(), match.end(), needle.word, needle.whole))
    return hits


def _worth(hits: list[_Hit]) -> int:
    words: dict[int, int] = {}
    for hit in hits:
        words[hit.word] = max(words.get(hit.word, 0), 1 + hit.whole)
    return sum(words.values())


def _fold_with_origins(line: str) -> tuple[str, list[int]]:
    """The folded line, and for each of its characters (and its end) where that begins in the line."""
    folded: list[str] = []
    origins: list[int] = []
    for match in _CLUSTER.finditer(line):
        cluster = _fold_cluster(match[0])
        folded.append(cluster)
        origins += [match.start()] * len(cluster)
    return "".join(folded), [*origins, len(line)]


@lru_cache(maxsize=2048)
def _fold_cluster(cluster: str) -> str:
    return fold(cluster).casefold()


def _window(line: str, hits: list[_Hit], width: int) -> tuple[int, int]:
    """The (start, end) of the line to show: the stretch with most words, some room before it."""
    if len(line.strip()) <= width:
        return 0, len(line)
    room = width - 2  # for the ellipses
    if not hits:
        return 0, _word_end(line, room)
    reach = room * 3 // 4

    def within(first: _Hit) -> list[_Hit]:
        return [hit for hit in hits[:_MOST_HITS] if first.start <= hit.start < first.start + reach]

    first = max(hits[:_MOST_HITS], key=lambda hit: (_worth(within(hit)), -hit.start))
    last = max(hit.end for hit in within(first))
    start = max(0, first.start - max(0, room - (last - first.start)) // 3)
    start = max(0, min(start, len(line) - room))
    if start:
        space = line.find(" ", start, min(start + 16, first.start))
        start = space + 1 if space >= 0 else start
    return start, max(_word_end(line, start + room), min(first.end, start + room))


def _word_end(line: str, end: int) -> int:
    if end >= len(line):
        return len(line)
    space = line.rfind(" ", max(0, end - 16), end)
    return space if space > 0 else end


def _spans(hits: list[_Hit], start: int, end: int, shift: int) -> tuple[tuple[int, int], ...]:
    """The hits inside [start, end), moved to where they stand in what is shown; touching ones are one."""
    spans: list[tuple[int, int]] = []
    for hit in sorted(hits):
        left, right = max(hit.start, start), min(hit.end, end)
        if left >= right:
            continue
        left, right = left - start + shift, right - start + shift
        if spans and left <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(right, spans[-1][1]))
        else:
            spans.append((left, right))
    return tuple(spans)
