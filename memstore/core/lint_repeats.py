"""What a memory repeats: lines of the project's own instructions, lists of files, lists of commits. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from memstore.core.terms import count_words

FEWEST_WORDS: Final = 6
"""Words of a line that nobody writes twice by chance."""

_FEWEST_LINES = 3
_MOST_SHARE = 0.8
_LONG = 2_000
_MARKS = re.compile(r"^[\s>]*(?:[-*+]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)?")
_NO_LETTERS = re.compile(r"[*_`]+")
_FILE = re.compile(
    r"\s*(?:[-*+]\s+)?`?(?:[│├└─|+`\\\s-]{2,40}[\w.@-]+(?:\.\w{1,10}|/)|(?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]+)+/?"
    r"|[\w@+-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|c|h|cpp|rb|php|md|toml|yaml|yml|json|txt|sh|sql|css|html)|[\w.-]+/)`?"
    r"(?:\s+[#←(].{0,80})?\s*|[d-][rwxst-]{9}\S*\s.{3,200}"
)
_COMMIT = re.compile(r"\s*(?:[-*+]\s+)?`?(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}`?(?:[\s:—-].{0,200})?")


class Recorded(NamedTuple):
    """A line that stands elsewhere. `line`: of the body, from 0; `more`: others of the same text that do."""

    line: int
    where: str
    more: int


def lines_of(sources: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Where each line of these (name, text) stands, as far as it says enough."""
    found: dict[str, str] = {}
    for name, text in sources:
        for line in text.split("\n"):
            plain = _plain(line)
            if plain:
                found.setdefault(plain, name)
    return found


def repeated(body: str, known: Mapping[str, str]) -> Recorded | None:
    """The first line of a body that stands in the project's own instructions, and how many others do."""
    if not known:
        return None
    first, more = None, 0
    for number, line in enumerate(body.split("\n")):
        where = known.get(_folded(line)) if len(line) <= _LONG else None
        if where is not None:
            first, more = first or Recorded(number, where, 0), more + 1
    return None if first is None else first._replace(more=more - 1)


def listing(body: str) -> str:
    """`files` or `commits` where a body is little more than a list of these; else nothing."""
    lines = [line[:_LONG] for line in body.split("\n") if line.strip() and not line.lstrip().startswith(("```", "~~~"))]
    if len(lines) < _FEWEST_LINES:
        return "commits" if len(lines) == 1 and _COMMIT.fullmatch(lines[0]) and len(lines[0].split()) < 3 else ""
    kinds: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("commits", _COMMIT.fullmatch),
        ("files", _FILE.fullmatch),
    )
    for kind, fits in kinds:
        if sum(1 for line in lines if fits(line)) >= _MOST_SHARE * len(lines):
            return kind
    return ""


def _plain(line: str) -> str:
    """A line as it is compared; nothing where it says too little."""
    folded = _folded(line) if len(line) <= _LONG else ""
    return folded if count_words(folded, FEWEST_WORDS) >= FEWEST_WORDS else ""


def _folded(line: str) -> str:
    return " ".join(_NO_LETTERS.sub("", _MARKS.sub("", line)).casefold().split())
