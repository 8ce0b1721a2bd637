"""Text to search terms, and a person's words to a query.

SQLite's FTS5 indexes a column of terms parted by spaces, and every character of a term is a token character
there, so this module alone decides what can be found:

- all text: NFKC, case and accents folded, invisible characters dropped;
- scripts written without spaces (Han, Kana, Hangul, Thai ...): overlapping pairs, then the last character, so
  that a longer word is a phrase of pairs and a single character is the prefix of one;
- identifiers: as written, as their compound segments, then as their smallest parts in order, so that
  `lib/i18n.ts` is found inside `src/lib/i18n.ts` as a phrase of parts;
- emoji and other symbols: one term each; ASCII punctuation alone is no term.

Whoever changes what a text becomes raises TERMS_VERSION: stores then index their memories anew.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import add
from typing import NamedTuple
from unicodedata import normalize

TERMS_VERSION = 1

LONGEST_TERM = 64  # code points; longer runs (keys, base64) are cut, alike in texts and in queries
LONGEST_IDENTIFIER = 200  # what is longer is no name anybody types: only its parts are terms
MOST_WORDS = 64  # of one query; the store then picks the rarest among them
MOST_QUERY_CHARACTERS = 20_000
_SLICE = 1 << 16  # a line is worked in pieces of this many characters, which bounds memory
_LINE = 400  # the terms of shorter lines are remembered: most lines of an edited text are as they were

_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff\u0f40-\u0fbc\u1000-\u1049\u1780-\u17d3"  # to Khmer
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"  # Kana
    "\u3005-\u3007\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"  # Han
)
# Letters, digits and marks of the other scripts, without their punctuation.
_LETTERS = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u037f-\u0386\u0388-\u0559\u0560-\u0588\u0591-\u05bd\u05bf\u05c1\u05c2"
    "\u05c4\u05c5\u05c7-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06ff\u0710-\u0963\u0966-\u096f"
    "\u0971-\u0dff\u10a0-\u10fa\u10fc-\u10ff\u1200-\u135f\u1369-\u139f\u13a0-\u13ff\u1401-\u166c\u166f-\u169a"
    "\u16a0-\u16ea\u16ee-\u1734\u1740-\u177f\u1810-\u1ab0\u1b00-\u1fff\u2c00-\u2cf8\u2d00-\u2dff\ua000-\ua4fd"
    "\ua500-\ua60c\ua610-\ua672\ua67f-\ua8cd\ua8d0-\ua95e\ua980-\uabff\ufb00-\ufdff\ufe70-\ufefc"
    "\U00010000-\U0001afff\U0001b170-\U0001efff"
)
# These join a name: load_cfg, --no-verify, pkg.mod, src/lib, node:fs, user@host, C++, C#, 50%, don't.
_JOINERS = "#$%'+\\-./:@_~"
_ASCII_CHUNK = re.compile(f"[{_JOINERS}0-9A-Za-z]+")
_CHUNK = (
    f"[{_JOINERS}0-9A-Za-z{_LETTERS}]+"
    f"|[{_SPACELESS}]+"
    "|[\U0001f1e6-\U0001f1ff]{2}"  # a flag is two letters
    # Symbols and emoji, also those newer than this Python knows; not box drawing.
    "|[\u00a2-\u00a7\u00a9\u00ac\u00ae-\u00b1\u00b6\u00d7\u00f7\u20a0-\u20cf\u2100-\u24ff\u25a0-\u2bff\ue000-\uf8ff"
    "\U0001f000-\U0001fbff\U000f0000-\U0010fffd]"
)
# First character of a spaceless range, first one after it, and so on.
_SPACELESS_BOUNDS = sorted(
    bound for first, last in re.findall("(.)(?:-(.))?", _SPACELESS) for bound in (first, chr(ord(last or first) + 1))
)

# Runs of what folding may change: all but ASCII, Han, Kana and the commonest punctuation. Only the marks below
# join with a character before them, which may be one of those.
_FOLDING = re.compile(
    "[^\\x00-\x7f\u2013\u2014\u201c\u201d\u3001\u3002\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff]+"
)
_JOINING = re.compile("[\u0300-\u0344\u3099\u309a\uff9e\uff9f]")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\ufe00-\ufe0f\ufeff"
    "\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]+"
)
_FOLDED = re.compile("[\u00c0-\u05c7\u0610-\u06ff\u1e00-\u1fff\u2010\u2019\u02bc]+")
# The breve of Cyrillic short i is no accent: that is a letter of its own.
_MARKS = re.compile(
    "(?<![\u0418\u0438])[\u0300-\u036f]+|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]+"
    "|[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]+"
)
_PLAIN = str.maketrans(
    {
        "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d",
        "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH", "ł": "l", "Ł": "L", "ı": "i", "ħ": "h", "Ħ": "H",
        "ς": "σ", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "’": "'", "ʼ": "'", "‐": "-",
    }
)  # fmt: skip

_LETTER = f"[^{_JOINERS}]"  # within a chunk
_JOINER = re.compile(f"[{_JOINERS}]")
_CORE = re.compile(f"{_LETTER}(?:.*{_LETTER})?(?:(?<=[A-Za-z])(?:\\+\\+|#))?")
_PART = re.compile(f"{_LETTER}+(?:\\+\\+|#(?!{_LETTER}))?")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
# From the loosest joint of a compound name to the tightest.
_JOINTS = (re.compile(r"[/:@#%$~+']+"), re.compile(r"\.+"), re.compile(r"-+"))

_STOP_WORDS = (
    "a about above after again all also am an and any are as at be because been before being below "
    "between both but by can cannot could did do does doing don't down during each few for from further "
    "get had has have having he her here hers him his how i i'd i'll i'm i've if in into is it it's its "
    "just let let's like me more most my no nor not now of off on once only or other our out over own "
    "please same she should so some such than that that's the their them then there these they this those "
    "through to too under until up us very was we were what what's when where which while who whom why "
    "will with would you your "
    "什么 怎么 如何 为什么 哪些 这个 那个 我们 你们 他们 可以 请问 一个 是否 吗 呢 吧 的 了 是 在 和"
)
_STOP = frozenset(_STOP_WORDS.split())
# A pair with one of these joins two words of a sentence; as part of a longer run it says nothing.
_PARTICLES = frozenset("的了吗呢吧啊嘛着是在和与及或也就都很把被從从對对請请您我你他她它們们這这那個个嗎麼么")


@dataclass(frozen=True, slots=True)
class Word:
    """One typed word. `exact`, `parts` and `bonus` hold terms, or phrases: terms parted by spaces."""

    text: str  # folded, as typed
    exact: tuple[str, ...]  # each is a hit of the whole word, best first
    parts: tuple[str, ...] = ()  # each is a hit of a piece of it
    bonus: tuple[str, ...] = ()  # implied by a hit; makes it a better one
    prefix: bool = False  # longer terms that begin like the last exact one are hits too
    stop: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What a person typed, as words in their order. No word twice."""

    words: tuple[Word, ...]

    @property
    def content(self) -> tuple[Word, ...]:
        """The words that say something; all of them if none does."""
        return tuple(word for word in self.words if not word.stop) or self.words


def says_nothing(word: str) -> bool:
    """Whether a folded word is one of those that only hold a sentence together."""
    return word in _STOP


def document_terms(text: str) -> str:
    """The terms of a text, parted by spaces, in the order of the text."""
    return " ".join(filter(None, map(_line_terms, text.split("\n"))))


def _line_terms(line: str) -> str:
    if len(line) <= _LINE:
        return _known_terms(line)
    return " ".join(filter(None, map(_slice_terms, _slices(line))))


def _slice_terms(text: str) -> str:
    terms: list[str] = []
    for chunk in _chunks(fold(text)):
        if chunk.islower() and chunk.isalpha() and len(chunk) <= LONGEST_TERM:
            terms.append(chunk)
        elif chunk >= "\u0e00" and is_spaceless(chunk):
            terms.append(" ".join(map(add, chunk, chunk[1:])))
            terms.append(chunk[-1])
        else:
            terms.append(_name_terms(chunk) if len(chunk) <= LONGEST_IDENTIFIER else _long_terms(chunk))
    return " ".join(filter(None, terms))


_known_terms = lru_cache(maxsize=8192)(_slice_terms)


def index_document(name: str, description: str, body: str) -> tuple[str, str, str]:
    """The three columns of a memory's search document."""
    return document_terms(name), document_terms(description), document_terms(body)


def parse_query(text: str) -> Query:
    """A person's words as a query. Takes any text; at most MOST_WORDS different words are kept."""
    words: dict[str, Word] = {}
    stops = 0
    for chunk in _chunks(fold(text[:MOST_QUERY_CHARACTERS])):
        word = _run_word(chunk) if is_spaceless(chunk) else _name_word(chunk)
        if word is None or word.text in words:
            continue
        words[word.text] = word
        stops += word.stop
        if len(words) - stops == MOST_WORDS:
            break
    return Query(tuple(words.values()))


def count_words(text: str, most: int) -> int:
    """How many words a text has, counted up to about `most`. In a script without spaces each pair of characters is
    one; a name in code is one, whatever its parts."""
    count = 0
    for line in text.split("\n"):
        for part in _slices(line) if len(line) > _LINE else (line,):
            for chunk in _chunks(fold(part)):
                if any(map(str.isalnum, chunk)):
                    count += max(1, len(chunk) - 1) if is_spaceless(chunk) else 1
                if count >= most:
                    return count
    return count


def fold(text: str) -> str:
    """Without compatibility forms, accents and invisible characters; the case stays: it parts camelCase."""
    if text.isascii():
        return text
    return _fold_all(text) if _JOINING.search(text) else _FOLDING.sub(_fold_run, text)


def is_spaceless(chunk: str) -> bool:
    """Is it in a script that is written without spaces? One chunk is of one kind."""
    return bool(bisect(_SPACELESS_BOUNDS, chunk[0]) & 1)


def _chunks(folded: str) -> list[str]:
    return _ASCII_CHUNK.findall(folded) if folded.isascii() else _any_chunk().findall(folded)


@cache
def _any_chunk() -> re.Pattern[str]:
    return re.compile(_CHUNK)  # when it is needed: takes 3 ms


def _fold_run(match: re.Match[str]) -> str:
    text = match[0]
    return _folded(text) if len(text) <= LONGEST_TERM else _fold_all(text)


def _fold_all(text: str) -> str:
    return _FOLDED.sub(_fold_letters, _INVISIBLE.sub("", normalize("NFKC", text)))


_folded = lru_cache(maxsize=4096)(_fold_all)


def _fold_letters(match: re.Match[str]) -> str:
    return normalize("NFC", _MARKS.sub("", normalize("NFD", match[0]))).translate(_PLAIN)


def _slices(text: str) -> Iterator[str]:
    """The text in pieces that end at white space where there is any."""
    start = 0
    while len(text) - start > _SLICE:
        end = max(text.rfind(" ", start, start + _SLICE), text.rfind("\n", start, start + _SLICE)) + 1
        if end <= start + _SLICE // 2:
            end = start + _SLICE
        yield text[start:end]
        start = end
    yield text[start:] if start else text


@lru_cache(maxsize=4096)
def _name_terms(chunk: str) -> str:
    name = _read_name(chunk)
    return " ".join(dict.fromkeys(name.spellings)) + " ".join(("", *name.parts))


def _long_terms(chunk: str) -> str:
    return " ".join(part[:LONGEST_TERM].casefold() for part in _PART.findall(chunk))


class _Name(NamedTuple):
    """One chunk that is no run of a spaceless script, case folded."""

    whole: tuple[str, ...] = ()  # as written, then without what surrounds the name
    segments: tuple[str, ...] = ()  # compound pieces: i18n.ts of src/lib/i18n.ts
    parts: tuple[str, ...] = ()  # the smallest pieces in order; none if the name is one piece

    @property
    def spellings(self) -> tuple[str, ...]:
        return self.whole + self.segments


def _read_name(chunk: str) -> _Name:
    shown = chunk.rstrip(".:'-/~@$").lstrip("'+%:")
    found = _CORE.search(shown)
    if found is None:
        return _Name() if chunk.isascii() else _Name((chunk,))
    core = found[0]
    if core.endswith(("'s", "'S")):
        shown = core = core[:-2]
    whole = (shown.casefold(), core.casefold()) if core != shown else (core.casefold(),)
    if not _JOINER.search(core):
        if len(core) > LONGEST_TERM:
            return _Name((core[:LONGEST_TERM].casefold(),))
        if core.isascii():
            return _Name(whole, (), tuple(_camel(core)))
        bare = whole[-1].removeprefix("\u0627\u0644")  # the Arabic article is written as part of the word
        return _Name(whole, (bare,) if bare != whole[-1] and len(bare) > 2 else ())
    segments = []
    if core[0] in "vV" and core[1].isdigit():
        segments.append(core[1:].casefold())  # v2.10.3 is 2.10.3
    pieces = [core]
    for joint in _JOINTS:
        pieces = [part for piece in pieces for part in joint.split(piece) if part]
        segments += [piece.casefold() for piece in pieces if piece != core and _JOINER.search(piece)]
    parts = [low for part in _PART.findall(core) for low in (_camel(part) or [part.casefold()])]
    return _Name(whole, tuple(segments), tuple(parts) if (*parts,) != whole else ())


def _camel(name: str) -> list[str]:
    """httpserver -> nothing; HTTPServer -> http, server."""
    if not name.isascii() or name.islower() or name.isupper() or name[1:].islower():
        return []
    parts = _CAMEL.findall(name)
    return [part.lower() for part in parts] if len(parts) > 1 else []


def _name_word(chunk: str) -> Word | None:
    if len(chunk) > LONGEST_IDENTIFIER:
        name = _Name(parts=tuple(_long_terms(chunk).split()[:MOST_WORDS]))
    else:
        name = _read_name(chunk)
    exact = [*name.whole, " ".join(name.parts)] if name.parts else [*name.whole]
    if not exact:
        return None
    text = exact[0]
    pieces = dict.fromkeys(term for term in name.segments + name.parts if term not in exact and len(term) > 1)
    stems = len(text) > 3 and not text.isascii() and not _JOINER.search(text)
    return Word(text, tuple(exact), tuple(pieces), prefix=stems, stop=text in _STOP)


def _run_word(run: str) -> Word:
    if len(run) == 1:
        return Word(run, (run,), prefix=True, stop=run in _STOP)
    pairs = list(map(add, run, run[1:]))
    if len(pairs) == 1:
        return Word(run, (run,), bonus=(f"{run} {run[-1]}",), stop=run in _STOP)
    telling = [pair for pair in pairs if not _PARTICLES.intersection(pair)] or pairs
    parts = tuple(dict.fromkeys(telling))[:MOST_WORDS]
    end = f"{pairs[-1]} {run[-1]}"  # the text's run ends here too, so it is rather a word than a chance pair
    return Word(run, (" ".join(pairs[:MOST_WORDS]),), parts, bonus=(end,), stop=run in _STOP)
