"""What a prompt looks for: its telling words, each with what stands for it and how much it says.

A prompt is no query: most of its words only ask. Those that say nothing are left out, those that ask (`how many`,
`recommend`, `currently`) weigh less than those that name something. An identifier is looked for whole and in its
parts, a run of a script without spaces as a phrase and in its pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memstore.core.kindred import forms, kindred
from memstore.core.terms import Query, Word, is_spaceless, parse_query

_FORM = 0.8  # of a hit of the word itself
_ASKS = 0.4
_PART = 0.5
_END = 0.3
_RUN = 8  # the longest run that somebody writes twice in the same way
_PIECE = 60  # words; each piece of a long prompt is read as one query
_MOST_PIECES = 5

_ASKING_WORDS = (
    "ago called considered considering could current currently different discussed ever first go going gone got "
    "happened help ideas interested kind kinds last lately likely long looking made main make many might much "
    "must name named need new number often old previous previously recently recommend recommendations remember "
    "remind said say says since sort specific still suggest suggestions talked tell thinking thought time times "
    "tips told total try trying type types use used using want went wondering yet"
)
_ASKING = frozenset(_ASKING_WORDS.split())
"""Words with which people ask, whatever they ask for."""

FIRST_PERSON = frozenset(("i", "i'd", "i'll", "i'm", "i've", "me", "mine", "my", "myself"))
"""Words in which writers speak of themselves."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Terms that make a hit, parted by spaces where they must follow each other. `share`: of a full hit."""

    terms: str
    share: float = 1.0
    prefix: bool = False  # longer terms that begin like it are hits too


@dataclass(frozen=True, slots=True)
class Sought:
    """One thing that is looked for. A hit of `kin` counts only where the thing itself does not occur."""

    text: str
    weight: float
    same: tuple[Spelling, ...]
    kin: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a prompt looks for, in its order; nothing twice. `own`: its writer speaks of himself."""

    sought: tuple[Sought, ...]
    own: bool


def read_prompt(text: str) -> Prompt:
    """Takes any text. Of a very long one its beginning and its end are read: there it says what it is about."""
    queries = map(parse_query, _pieces(text))
    words = {word.text: word for query in queries for word in query.words}
    things: dict[str, Sought] = {}
    for thing in _things(Query(tuple(words.values())).content):
        known = things.get(thing.same[0].terms)
        if known is None or known.weight < thing.weight:
            things[thing.same[0].terms] = thing
    return Prompt(tuple(things.values()), not FIRST_PERSON.isdisjoint(words))


def _pieces(text: str) -> list[str]:
    words = text.split()
    pieces = [" ".join(words[at : at + _PIECE]) for at in range(0, len(words), _PIECE)]
    return pieces if len(pieces) <= _MOST_PIECES else [*pieces[: _MOST_PIECES - 1], " ".join(words[-_PIECE:])]


def _things(words: Iterable[Word]) -> Iterator[Sought]:
    for word in words:
        yield from _run(word) if is_spaceless(word.text) else _name(word)


def _name(word: Word) -> Iterator[Sought]:
    asks = word.text in _ASKING
    whole = [Spelling(terms) for terms in word.exact]
    if word.prefix:
        whole.append(Spelling(word.exact[0], _FORM, prefix=True))
    plain = word.text.isascii() and word.text.isalpha()
    if plain:
        whole += [Spelling(form, _FORM) for form in forms(word.text)]
    kin = kindred(word.text) if plain and not asks else ()
    yield Sought(word.text, _ASKS if asks else 1.0, tuple(whole), tuple(term for term in kin if term not in word.exact))
    for part in word.parts:
        yield Sought(part, _PART, (Spelling(part),))


def _run(word: Word) -> Iterator[Sought]:
    if len(word.text) <= _RUN:
        yield Sought(word.text, 1.0, tuple(Spelling(terms, prefix=word.prefix) for terms in word.exact))
        for terms in word.bonus:
            yield Sought(word.text, _END, (Spelling(terms),))
    for pair in word.parts:
        yield Sought(pair, 1.0, (Spelling(pair),))
