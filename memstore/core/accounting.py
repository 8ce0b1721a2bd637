"""Whether what old texts said is still said: line by line, or with a reason for each line that is not. Pure.

The lines of a memory are its description, the other fields of its header and the lines of its body; its name, its type
and the client's stamps are none, nor is a line without a letter or digit. Two lines are the same whatever their indent,
their list mark or heading mark and their white space are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from unicodedata import normalize

from memstore.core.frontmatter import is_stamp, read
from memstore.core.near import differing
from memstore.core.quotes import says_enough
from memstore.core.terms import document_terms

Fate = Literal["reworded", "dropped"]

_MARKS = re.compile(r"(?:(?:[-*+>]|#{1,6}|[0-9]{1,3}[.)])[ \t]+)+")
_SAYS = re.compile(r"[^\W_]")
_FIGURE = re.compile(r"\d+")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


@dataclass(frozen=True, slots=True)
class Account:
    """What became of a line that is not in the new text as it was. `now`: what it is reworded to."""

    line: str
    fate: Fate
    reason: str
    now: str = ""


def lines_of(content: bytes) -> list[str]:
    """The lines of a memory's text that say something, each once."""
    document = read(content)
    found = [document.description or ""]
    found += [f"{key}: {value}" for key, value in document.extra if not is_stamp(key)]
    found += [f"{key}: {item}" for key, items in document.lists for item in items]
    found += document.body.split("\n")
    said = {key(line): line.strip() for line in reversed(found) if _SAYS.search(line)}
    return list(said.values())[::-1]


def key(line: str) -> str:
    """What two lines have in common that say the same."""
    text = " ".join(normalize("NFC", line).split())
    return _MARKS.sub("", f"{text} ", count=1).strip() if _MARKS.match(f"{text} ") else text


def keys_of(content: bytes) -> set[str]:
    """The keys of a text's lines."""
    return {key(line) for line in lines_of(content)}


def missing(old: bytes, new: Iterable[bytes]) -> list[str]:
    """The lines of an old text that are in none of the new ones."""
    there = set[str]().union(*(keys_of(each) for each in new))
    return [line for line in lines_of(old) if key(line) not in there]


def fresh(new: bytes, old: Sequence[bytes], accounts: Sequence[Account] = ()) -> list[str]:
    """The lines of a new text that are in no old one, nor what a line of one that is gone was reworded to.

    Words are a rewording where most of them, dates aside, stand in the old texts: else all could be said to be one.
    """
    there = set[str]().union(*(keys_of(each) for each in old))
    gone = there - keys_of(new)
    known = set[str]().union(*(_terms(each.decode("utf-8", "replace")) for each in old))
    left = list(accounts)
    while found := [each for each in left if key(each.line) in gone]:
        left = [each for each in left if each not in found]
        parts = [part for each in found for part in each.now.split("\n") if _is_made_of(part, known)]
        there.update(map(key, parts))
        gone.update(map(key, parts))
    return [line for line in lines_of(new) if key(line) not in there]


def keeps_sense(account: Account) -> bool:
    """Whether a line that was reworded says no less and nothing else, as far as its figures and its `not` tell."""
    line, now = account.line, account.now
    return account.fate == "reworded" and not differing(line, now) and _figures(line) <= _figures(now)


def _figures(text: str) -> set[str]:
    return set(_FIGURE.findall(normalize("NFKC", text)))


def _terms(text: str) -> list[str]:
    return document_terms(text).split()


def _is_made_of(words: str, known: Collection[str]) -> bool:
    terms = _terms(_DATE.sub(" ", words))
    return bool(terms) and 2 * sum(term in known for term in terms) >= len(terms)


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
