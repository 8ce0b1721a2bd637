"""Until when a memory says that it holds: dates behind words such as `until`, `bis` and `到期`.

A day alone proves nothing; only a date that such a word belongs to counts, and never one in a block of code.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from memstore.core.frontmatter import Document

FIELDS = frozenset({"expires", "expiry", "until", "valid_until", "validUntil", "metadata.expires", "metadata.until"})
"""Fields of a header whose date says the same."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar", "feb february februar", "mar march märz", "apr april", "may mai", "jun june juni",
            "jul july juli", "aug august", "sep sept september", "oct october okt oktober", "nov november",
            "dec december dez dezember",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = (
    r"(?:(?P<year>\d{4})\s?[-/.年]\s?(?P<month>\d{1,2})(?:\s?[-/.月]\s?(?P<day>\d{1,2})(?!\d)日?|月(?:底|末)?|(?![\d./-]))"
    r"|(?P<day2>\d{1,2})\.\s?(?P<month2>\d{1,2})\.\s?(?P<year2>\d{4})"
    rf"|(?:(?P<day3>\d{{1,2}})(?:st|nd|rd|th|\.)?\s++)?(?P<month3>{_MONTH})\.?,?\s++(?P<year3>\d{{4}})"
    rf"|(?P<month4>{_MONTH})\.?\s++(?P<day4>\d{{1,2}})(?:st|nd|rd|th)?,?\s++(?P<year4>\d{{4}}))"
)
_BEFORE = (
    r"(?:\b(?:until|till|expir(?:es?|y|ed)(?:\s++(?:on|at|date))?|valid\s++through|bis(?:\s++zum)?|läuft\s++ab\s++am"
    r"|ablaufdatum|abgelaufen\s++am)|有效期(?:至|到)?|到期(?:日期?|时间)?|截止(?:日期|时间|到|至|于)?|截至|直到|期限)"
    r"\s*+(?:the\s++)?[:：]?\s*+[*_`]*+"
)
_BEHIND = r"\s*+(?:前|之前)?\s*+(?:到期|截止|失效|过期|為止|为止|まで)"
_UNTIL = re.compile(f"{_BEFORE}{_DATE}", re.IGNORECASE)
_CLOSES = re.compile(f"{_DATE}{_BEHIND}", re.IGNORECASE)
_ALONE = re.compile(f"\\s*{_DATE}", re.IGNORECASE)
_LONG = 2_000
_FENCES = ("```", "~~~")


class Expiry(NamedTuple):
    """The last day on which a memory holds, and the words that say so."""

    day: date
    words: str


def expiry(document: Document) -> Expiry | None:
    """The latest day up to which a memory says that it, or a part of it, holds; None where it says nothing."""
    return max(_found(document), key=lambda found: found.day, default=None)


def _found(document: Document) -> Iterator[Expiry]:
    for field, value in document.extra:
        if field in FIELDS and (said := _ALONE.match(value)) and (day := _day(said)):
            yield Expiry(day, f"{field}: {value}")
    fenced = False
    for line in f"{document.description or ''}\n{document.body}".split("\n"):
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        if fenced:
            continue
        for pattern in (_UNTIL, _CLOSES):
            for said in pattern.finditer(line[:_LONG]):
                if day := _day(said):
                    yield Expiry(day, said[0].strip())


def _day(said: re.Match[str]) -> date | None:
    """The day that was said; of a month alone its last one; None where there is no such day."""
    for suffix in ("", "2", "3", "4"):
        if (year := said[f"year{suffix}"]) is None:
            continue
        month, day = said[f"month{suffix}"], said[f"day{suffix}"]
        number = _MONTHS.get(month.casefold()) or int(month)
        try:
            return date(int(year), number, int(day) if day else monthrange(int(year), number)[1])
        except ValueError:
            return None
    return None
