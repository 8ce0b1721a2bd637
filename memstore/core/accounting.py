"""Whether what old texts said is still said: line by line, or with a reason for each line that is not. Pure.

The lines of a memory are its description, the other fields and the comments of its header and the lines of its body;
its name, its type and the client's stamps are none, nor is a line without a letter or digit. Two lines are the same
whatever their indent, their list mark or heading mark and their white space are. But in a block of code these are part
of the line, what is commented out is another line, and what a body says twice (of two hosts) is to be said twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple
from unicodedata import normalize

from memstore.core.frontmatter import is_stamp, read, split
from memstore.core.near import differing, turns
from memstore.core.quotes import says_enough
from memstore.core.terms import document_terms, is_spaceless, parse_query

Fate = Literal["reworded", "dropped"]

_MARKS = re.compile(r"(?:(?:[-*+>]|#{1,6}|[0-9]{1,3}[.)])[ \t]+)+")
_SAYS = re.compile(r"[^\W_]")
_FIGURE = re.compile(r"\d+")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
# What names one place or number, and is another one with other letters.
_EXACT = re.compile(r"\S*(?:[/\\@$`]|\d{3})\S*")
_YEAR = re.compile(r"\D*(?:19|20)\d\d\D*")
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})")
_OPENS, _CLOSES = "<!--", "-->"
_BELONGS = re.compile(r"[ \t]|[-*+>][ \t]|[0-9]{1,3}[.)][ \t]")
_TEXTS = 8
"""Texts that are remembered line by line: one call asks for the same ones several times."""
_STEM = 4
"""Letters at their beginning that words of one stem have in common."""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of a line that is not in the new text as it was. `now`: what it is reworded to."""

    line: str
    fate: Fate
    reason: str
    now: str = ""


class _Line(NamedTuple):
    """A line. `same`: equal for lines that say the same in the same way. `counts`: twice is to be said twice."""

    same: str
    text: str
    counts: bool


def lines_of(content: bytes) -> list[str]:
    """The lines of a memory's text that say something, each once."""
    said = {key(line.text): line.text.strip() for line in reversed(_lines(content))}
    return list(said.values())[::-1]


@lru_cache(_TEXTS)
def _lines(content: bytes) -> tuple[_Line, ...]:
    document = read(content)
    found = [document.description or ""]
    found += [f"{key}: {value}" for key, value in document.extra if not is_stamp(key)]
    found += [f"{key}: {item}" for key, items in document.lists for item in items]
    header = split(content)[0].decode("utf-8", "replace") if document.has_header else ""
    found += [line for line in header.split("\n") if line.lstrip().startswith("#")]
    lines = [*(_Line(key(line), line, False) for line in found), *_body(document.body)]
    return tuple(line for line in lines if _SAYS.search(line.text))


def _body(body: str) -> Iterator[_Line]:
    fence, indent, hidden = "", "", False
    for line in body.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found is not None and found[2].startswith(fence) and not line[found.end() :].strip():
                fence = ""
                continue
            yield _Line(f"{fence[:3]}{line.removeprefix(indent).rstrip()}", line, True)
        elif found is not None and not hidden:
            indent, fence = found[1], found[2]
            yield _Line(key(line), line, False)
        else:
            hidden = hidden or line.lstrip().startswith(_OPENS)
            mark = _OPENS if hidden else ""
            yield _Line(f"{mark}{key(line)}", line, not line.startswith("#"))
            hidden = hidden and _CLOSES not in line


def key(line: str) -> str:
    """What two lines have in common that say the same."""
    text = " ".join(normalize("NFC", line).split())
    return _MARKS.sub("", f"{text} ", count=1).strip() if _MARKS.match(f"{text} ") else text


def keys_of(content: bytes) -> set[str]:
    """The keys of a text's lines."""
    return {key(line) for line in lines_of(content)}


def missing(old: bytes, new: Iterable[bytes]) -> list[str]:
    """The lines of an old text that the new ones do not have, or not as often."""
    there = Counter(line.same for each in new for line in _lines(each))
    lines = _lines(old)
    often = Counter(line.same for line in lines if line.counts)
    gone = {key(line.text) for line in lines if there[line.same] < max(1, often[line.same])}
    return _named(old, gone)


def misplaced(old: bytes, new: Iterable[bytes]) -> list[str]:
    """The lines of an old text that new ones have below another heading of it, and not below the one that they had."""
    mine, there = _places(old), _all_places(new)
    headings = {place[:2] for places in mine.values() for place in places}
    found = set[str]()
    for line, places in mine.items():
        before, now = {place[:2] for place in places}, {place[:2] for place in there.get(line, ())}
        if not before <= now and now & (headings - before):
            found.add(line)
    return _named(old, found)


def turned(old: bytes, new: Iterable[bytes]) -> list[str]:
    """The lines of an old text that new ones have below a heading with a `not`, and it had not, or the other way."""
    mine, there = _places(old), _all_places(new)
    found = set[str]()
    for line, places in mine.items():
        if line in there and not {place.turns for place in places} <= {place.turns for place in there[line]}:
            found.add(line)
    return _named(old, found)


def _named(content: bytes, keys: Collection[str]) -> list[str]:
    return [line for line in lines_of(content) if key(line) in keys] if keys else []


class _Place(NamedTuple):
    """Where a line stands: its heading, the line with a colon above it, and whether these say `not` or the like."""

    heading: str
    colon: str
    turns: bool


def _all_places(texts: Iterable[bytes]) -> dict[str, set[_Place]]:
    found: dict[str, set[_Place]] = {}
    for text in texts:
        for line, places in _places(text).items():
            found.setdefault(line, set()).update(places)
    return found


@lru_cache(_TEXTS)
def _places(content: bytes) -> Mapping[str, set[_Place]]:
    """The places of each line of a body, by its key."""
    found: dict[str, set[_Place]] = {}
    heading = colon = ""
    blank = says_not = False
    for line in read(content).body.split("\n"):
        bare = line.strip(" \t\r*_")
        if not bare:
            blank = True
            continue
        if blank and colon and not _BELONGS.match(line):
            colon, says_not = "", turns(heading)
        blank = False
        if bare.startswith("#"):
            heading, colon, says_not = key(bare), "", turns(bare)
        elif bare.endswith((":", "：")):
            colon, says_not = key(bare), turns(heading) or turns(bare)
        else:
            found.setdefault(key(line), set()).add(_Place(heading, colon, says_not))
    return found


def fresh(new: bytes, old: Sequence[bytes], accounts: Sequence[Account] = (), *, strict: bool = False) -> list[str]:
    """The lines of a new text that are in no old one, nor what a line of one that is gone was reworded to.

    Words are a rewording where most of them, dates aside, stand in the old texts, and all of their addresses, paths and
    longer figures: else all could be said to be one. `strict`: all of them do that say something.
    """
    there = set[str]().union(*(keys_of(each) for each in old))
    gone = there - keys_of(new)
    texts = "\n".join(each.decode("utf-8", "replace") for each in old)
    known = set(_terms(texts))
    left = list(accounts)
    while found := [each for each in left if key(each.line) in gone]:
        left = [each for each in left if each not in found]
        parts = [part for each in found for part in each.now.split("\n") if _is_made_of(part, known, texts)]
        parts = [part for part in parts if not (strict and _says_more(part, known, texts))]
        there.update(map(key, parts))
        gone.update(map(key, parts))
    return [line for line in lines_of(new) if key(line) not in there]


def keeps_sense(account: Account) -> bool:
    """Whether a line that was reworded says no less and nothing else, as far as its words, figures and its `not` tell.

    One that was reworded to itself is said less often, or not any more as code.
    """
    line, now = account.line, account.now
    if account.fate != "reworded" or key(line) == key(now) or says_less(account):
        return False
    return not differing(line, now) and _figures(line) <= _figures(now)


def says_less(account: Account) -> bool:
    """Whether less than half of a line's words are left in what it was reworded to, or none as it was dropped."""
    if account.fate == "dropped":
        return True
    wanted, there = set(_terms(account.line)), {term[:_STEM] for term in _terms(account.now)}
    return 2 * sum(term[:_STEM] in there for term in wanted) < len(wanted)


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(normalize("NFKC", text)))


def _terms(text: str) -> list[str]:
    return document_terms(text).split()


def _is_made_of(words: str, known: Collection[str], texts: str) -> bool:
    undated = _DATE.sub(" ", words)
    exact = (found.strip(".,;:!?()[]{}<>*_`\"'") for found in _EXACT.findall(undated))
    if any(each not in texts for each in exact if not _YEAR.fullmatch(each)):
        return False
    terms = _terms(undated)
    return bool(terms) and 2 * sum(term in known for term in terms) >= len(terms)


def _says_more(words: str, known: Collection[str], texts: str) -> bool:
    """Whether words have one that says something and is in none of the old texts, in any form."""
    stems = set(map(_stem, known))
    for term in _terms(_DATE.sub(" ", words)):
        if _stem(term) in stems or (is_spaceless(term) and all(letter in texts for letter in term)):
            continue
        if any(not word.stop for word in parse_query(term).words):
            return True
    return False


def _stem(term: str) -> str:
    return term[:_STEM] if len(term) > _STEM else term[: _STEM - 1]


def settled(lines: Sequence[str], accounts: Sequence[Account], new: Iterable[bytes]) -> tuple[list[Account], list[str]]:
    """What became of lines that are missing in the new texts, and those of which that is not said.

    What a line was reworded to may have been reworded again: the last words count, and must be in a new text.
    """
    told = {key(each.line): each for each in accounts}
    there = set[str]().union(*(keys_of(each) for each in new))
    found = [(line, _followed(line, told, there)) for line in lines]
    return [each for _, each in found if each is not None], [line for line, each in found if each is None]


def _followed(line: str, told: Mapping[str, Account], there: Collection[str]) -> Account | None:
    first = each = told.get(key(line))
    seen: set[str] = set()
    while each is not None and each.fate == "reworded" and not says(each.now, there):
        if key(each.now) in seen:
            return None
        seen.add(key(each.now))
        each = told.get(key(each.now))
    if first is None or each is None:
        return None
    return replace(each, line=line, reason=first.reason if each is first else f"{first.reason}; {each.reason}")


def says(words: str, there: Collection[str]) -> bool:
    """Whether words are in a text, given by its keys: each line of them as a line of it, or in one."""
    wanted = [key(part) for part in words.split("\n") if _SAYS.search(part)]
    return bool(wanted) and all(part in there or (says_enough(part) and _is_within(part, there)) for part in wanted)


def _is_within(words: str, there: Collection[str]) -> bool:
    return any(words in line for line in there)
