"""Words such as `yesterday`, `next week`, `上周`: whoever reads them later cannot know which day they mean. Pure.

What stands in code or alone in quotes is spoken of, not said. A date beside the words makes them clear. In a line
about what comes again (`every`, `daily`, `每`) such words as `this week` mean each of them, so only those count there
that mean one day all the same. `older than two weeks`, `the last week of May`, `am Morgen`, `cada mañana` are no such
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE = 2_000
"""Characters of a line that are looked at."""
_BESIDE = 30
"""So far from the words a date makes them clear."""

_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_SPANS = f"week|weekend|month|quarter|year|sprint|{_DAYS}"
_NUMBER = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of|some|several|\d{1,3})"
_TAGE = "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"


class _Words(NamedTuple):
    """`keys`: in lower case, one of them stands in each text that has the words. `once`: they mean one day even in a
    line about what comes again."""

    keys: tuple[str, ...]
    pattern: re.Pattern[str]
    once: bool


def _latin(keys: str, pattern: str, *, once: bool = False) -> _Words:
    whole = rf"(?<![\w/.$@-])(?:{pattern})(?![\w/$@]|-\w|\.\w)"
    return _Words(tuple(keys.split()), re.compile(whole, re.IGNORECASE), once)


def _other(pattern: str, *, once: bool = False, alone: str = "") -> _Words:
    """Of a script without spaces. `alone`: characters that do not stand before the words."""
    before = f"(?<![{alone}])" if alone else ""
    keys = tuple(word.split("(")[0] for word in pattern.split("|"))
    return _Words(keys, re.compile(f"{before}(?:{pattern})"), once)


_NOT_ONE = r"(?<!\bthe )(?<!\bany )(?<!\beach )(?<!\bper )(?<!\bevery )"

_TABLE = (
    _latin("yesterday tomorrow", r"(?:the day (?:before|after) )?(?:yesterday|tomorrow)(?: (?:morning|evening))?",
           once=True),
    _latin("ago", rf"(?<!\bthan ){_NUMBER} (?:minutes?|hours?|days?|weeks?|months?|years?) ago", once=True),
    _latin("other", "the other day", once=True),
    _latin("today tonight", "today|tonight"),
    _latin("morning afternoon evening", r"this (?:morning|afternoon|evening)"),
    _latin("last next this", rf"{_NOT_ONE}(?:last|next|this) (?:{_SPANS})(?!s\b)(?! of\b| in a row\b)"),
    _latin("last next", rf"{_NOT_ONE}(?:last|next) (?:{_MONTHS})(?! of\b)"),
    _latin("monday tuesday wednesday thursday friday saturday sunday",
           rf"(?:by|until|till|due|due on|since|coming) (?:{_DAYS})(?:(?= (?:morning|noon|evening|night))|(?![a-z]))"),
    _latin("end", rf"{_NOT_ONE}by (?:the )?end of (?:the |this |next )?(?:week|month|quarter|year)(?! of\b)"),
    # German. `Morgen` with a capital is a morning, `hier` is no French.
    _latin("gestern", "vorgestern|gestern", once=True),
    _latin("heute bermorgen", "heute|übermorgen"),
    _latin("morgen", r"(?<!\bam )(?<!\bjeden )(?<!\bguten )(?<!\bheute )(?-i:morgen)"),
    _latin("woche monat jahr quartal tag", r"(?:letzte|nächste|diese|vorige|kommende)[nrsm]? (?:woche|monat|jahr"
           rf"|quartal|{_TAGE})(?! (?:des|der|im)\b)"),
    _latin("vor", r"vor (?:einer|einem|zwei|drei|vier|ein paar|einigen) (?:tage?n?|wochen?|monate?n?|jahre?n?)",
           once=True),
    # Romance languages.
    _latin("aujourd", "aujourd['’]hui"),
    _latin("demain hier", r"demain|après-demain|avant-hier|hier (?:soir|matin)", once=True),
    _latin("derni prochain cette mois",
           r"(?:la semaine|le mois|l['’]année|l['’]an) (?:derni(?:er|ère)|prochaine?)|cette semaine|ce mois-ci"),
    _latin("ayer", "ayer|anteayer", once=True),
    _latin("hoy", r"hoy(?! en día\b)"),
    _latin("ñana", r"(?<!\bla )(?<!\bcada )(?<!\bde )mañana"),
    _latin("semana mes", r"(?:la semana|el mes|el año) (?:pasad[oa]|que viene)|(?:la )?próxima semana|esta semana"
           r"|semana passada|mês passado|próximo mês"),
    _latin("ontem hoje amanh", "ontem|hoje|amanhã"),
    _latin("ieri domani", "ieri|l['’]altro ieri|domani|dopodomani", once=True),
    _latin("settimana mese", r"(?:la )?settimana (?:scorsa|prossima)|il mese (?:scorso|prossimo)"),
    # Russian.
    _latin("вчера завтра", "позавчера|вчера|завтра|послезавтра", once=True),
    _latin("сегодня недел месяц год",
           r"сегодня|на (?:прошлой|следующей|этой) неделе|в (?:прошлом|следующем|этом) (?:месяце|году)"),
    # Chinese, Japanese, Korean.
    _other("昨天|昨日|前天|大前天|一昨日|几天前|幾天前|前几天|前幾天|不久前|数日前", once=True, alone="每毎"),
    _other("今天|明天|后天|後天|今日|明日(?!香)|明後日"),
    _other("上周|上週|上星期|上个星期|上個星期|下周|下週|下星期|下个星期|下個星期|这周|這週|本周|本週|这个星期|這個星期"),
    _other("上个月|上個月|下个月|下個月|这个月|這個月|本月|去年|今年|明年|前年|昨年"),
    _other("先週|今週|来週|再来週|先月|今月|来月|来年"),
    _other("어제|그저께|엊그제|며칠 전", once=True, alone="가-힣"),
    _other("오늘(?!날)|내일|모레|지난주|지난 주|이번 주|이번주|다음 주|다음주|작년|올해|내년", alone="가-힣"),
    _other("지난달|지난 달|이번 달|이번달|다음 달|다음달", alone="가-힣"),
)  # fmt: skip

_ASCII = tuple(words for words in _TABLE if any(key.isascii() for key in words.keys))
"""Those that may stand in a text of ASCII alone."""

_AGAIN = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|whenever|always|täglich|wöchentlich|monatlich|jede[nrsm]?|chaque"
    r"|tous les|cada|todos os|ogni|каждый|каждую|каждое)\b|[每毎]|매(?:일|주|달|월|년)",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:19|20)\d\d\s?[-/.年년]\s?\d{1,2}|\d{1,2}\s?月\s?\d{1,2}\s?[日号號]|\b\d{1,2}[./]\s?\d{1,2}[./]\s?(?:19|20)\d\d"
    rf"|\b(?:{_MONTHS}|may|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? \d{{1,2}}\b"
    rf"|\b\d{{1,2}}\.? (?:{_MONTHS}|may|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»", "「": "」", "『": "』", "《": "》"}


class Relative(NamedTuple):
    """Words that mean another day for each reader. `line`: of the text, from 0."""

    line: int
    words: str


def relative(prose: str) -> Iterator[Relative]:
    """The first such words of each line, in order. `prose`: a text without its code."""
    lower = prose.lower()
    table = _ASCII if lower.isascii() else _TABLE
    tried = [words for words in table if any(key in lower for key in words.keys)]
    if not tried:
        return
    for number, (line, low) in enumerate(zip(prose.split("\n"), lower.split("\n"), strict=True)):
        here = [words for words in tried if any(key in low for key in words.keys)]
        found = _in_line(line[:_LINE], here) if here else ""
        if found:
            yield Relative(number, found)


def _in_line(line: str, tried: list[_Words]) -> str:
    found = [(one.start(), one[0], words.once) for words in tried for one in words.pattern.finditer(line)
             if not _is_clear(line, one)]  # fmt: skip
    if found and _AGAIN.search(line):
        found = [one for one in found if one[2]]
    return min(found)[1] if found else ""


def _is_clear(line: str, found: re.Match[str]) -> bool:
    """Whether a date stands beside the words, or they are only spoken of."""
    start, end = found.span()
    before, after = line[start - 1 : start], line[end : end + 1]
    if before in _QUOTES and after.startswith((_QUOTES[before], ",", ".")):
        return True
    return _DATE.search(line[max(0, start - _BESIDE) : end + _BESIDE]) is not None
