"""Words such as `yesterday`, `next week`, `上周`: whoever reads them later cannot know which day they mean. Pure.

What stands in code or alone in quotes is spoken of, not said. A date beside the words makes them clear. In a line
about what comes again (`every`, `daily`, `每`) such words as `this week` or `yesterday's` mean each of them, so only
those count there that mean one day all the same. `older than two weeks`, `the last week of May`, `am Morgen`, `cada
mañana`, `两周前提醒` of what ends then, are no such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

_LINE = 2_000
"""Characters of a line that are looked at."""
_BESIDE = 30
"""So far from the words a date makes them clear."""

_LABEL = 6
"""Characters after the words before the quotation ends: no more is a name of something, such as “今日特价”."""

_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_SPANS = f"week|weekend|month|quarter|year|sprint|{_DAYS}"
_NUMBER = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of|some|several|\d{1,3})"
_UNITS = r"(?:minutes?|hours?|days?|weeks?|months?|years?)"
_TAGE = "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
_JOURS = "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
_DIAS = "lunes|martes|miércoles|jueves|viernes|sábado|domingo"
_HAN_SPAN = (
    r"(?<![\d.一二两兩三四五六七八九十几幾数數半第月年])(?:[一二两兩三四五六七八九十几幾数數半]{1,3}|\d{1,3})"
    r"(?:多?\s?[个個][半多]?(?:小时|小時|星期|礼拜|禮拜|月)|多?\s?(?:小时|小時|天|周|週|星期|年|時間|週間|[かヶカヵ]月)多?)之?前"
)
"""`三天前`, `2个月前`, `2週間前`."""
_NOT_AFTER = "".join(
    f"(?<!{one}{two})" for one, two in (
        "到期", "过期", "過期", "截止", "结束", "結束", "开始", "開始", "发布", "發布", "上线", "上線", "开会", "期限",
        "締切", "終了", "超过", "超過", "早于", "早於", "限の", "切の",
    )
)  # fmt: skip
"""So long before something else, or older than that."""
_OF_THAT_AGE = (
    "的?[旧舊]?(?:日志|日誌|数据|數據|文件|记录|記錄|备份|備份|事件|快照|缓存|订单)|の(?:ログ|データ|ファイル|記録)"
)


class _Words(NamedTuple):
    """`keys`: in lower case, one of them stands in each text that has the words. `once`: they mean one day even in a
    line about what comes again."""

    keys: tuple[str, ...]
    pattern: re.Pattern[str]
    once: bool


def _latin(keys: str, pattern: str, *, once: bool = False) -> _Words:
    whole = rf"(?<![\w/.$@-])(?:{pattern})(?![\w/$@]|-\w|\.\w)"
    return _Words(tuple(keys.split()), re.compile(whole, re.IGNORECASE), once)


def _other(pattern: str, *, once: bool = False, alone: str = "", keys: str = "") -> _Words:
    """Of a script without spaces. `alone`: characters that do not stand before the words; `keys`: where the pattern is
    no row of words."""
    before = f"(?<![{alone}])" if alone else ""
    found = tuple(keys.split() or (word.split("(")[0] for word in pattern.split("|")))
    return _Words(found, re.compile(f"{before}(?:{pattern})"), once)


_NOT_ONE = r"(?<!\bthe )(?<!\bany )(?<!\beach )(?<!\bper )(?<!\bevery )"

_TABLE = (
    _latin("yesterday tomorrow", r"(?:the day (?:before|after) )?(?:yesterday|tomorrow)(?: (?:morning|evening))?"
           r"(?!['’]s dates?\b)", once=True),
    _latin("ago", rf"(?<!\bthan ){_NUMBER} {_UNITS} ago", once=True),
    _latin("now", rf"{_NUMBER} {_UNITS} from now", once=True),
    _latin("back", r"(?<!\bgo )(?:a|an|a few|a couple of|some|several) (?:days?|weeks?|months?|years?) back",
           once=True),
    _latin("day week month year", rf"(?:is|are|starts?|begins?|launch(?:es)?|ships?|planned) in {_NUMBER}"
           r" (?:days?|weeks?|months?|years?)(?! of\b)"),
    _latin("few", r"(?:the )?(?:past|last|next|coming) few (?:days|weeks|months|years)"),
    _latin("other", "the other day", once=True),
    _latin("night", "last night", once=True),
    _latin("today tonight",
           r"today(?!['’]s dates?\b)(?! (?:widget|page|view|tab|screen|button|panel|component|filter)s?\b)|tonight"),
    _latin("morning afternoon evening", r"this (?:morning|afternoon|evening)"),
    _latin("last next this", rf"{_NOT_ONE}(?:last|next|this) (?:{_SPANS})(?!s\b)(?! of\b| in a row\b)"),
    _latin("last next", rf"{_NOT_ONE}(?:last|next) (?:{_MONTHS})(?! of\b)"),
    _latin("monday tuesday wednesday thursday friday saturday sunday",
           rf"(?:by|until|till|due|due on|since|coming) (?:{_DAYS})(?:(?= (?:morning|noon|evening|night))|(?![a-z]))"),
    _latin("monday tuesday wednesday thursday friday saturday sunday",
           rf"(?<!\bweek )(?:after|before|starts|starts on|starting|begins|begins on|beginning|ends|ends on|lifts"
           r"|lifts on|effective)"
           rf" (?:{_DAYS})(?![a-z])(?! (?:to|through|until|and|or)\b)"),
    _latin("monday tuesday wednesday thursday friday saturday sunday",
           r"(?:was|were|happened|broke|failed|decided|agreed|shipped|moved|merged|changed)(?: [\w'’]{1,20}){0,4}"
           rf" on (?:{_DAYS})(?![a-z])"),
    _latin("summer winter spring autumn fall",
           rf"{_NOT_ONE}(?:last|next|this) (?:summer|winter|spring|autumn|fall)(?! of\b)"),
    _latin("eod eow eom", "by (?:eod|eow|eom)"),
    _latin("end", rf"{_NOT_ONE}by (?:the )?end of (?:the |this |next )?(?:week|month|quarter|year)(?! of\b)"),
    # German. `Morgen` with a capital is a morning, `hier` is no French.
    _latin("gestern", "vorgestern|gestern", once=True),
    _latin("heute bermorgen", r"(?<!\bbis )heute|übermorgen"),
    _latin("morgen", r"(?<!\bam )(?<!\bjeden )(?<!\bguten )(?<!\bheute )(?-i:morgen)"),
    _latin("woche monat jahr quartal tag", r"(?:letzte|nächste|diese|vorige|kommende)[nrsm]? (?:woche|monat|jahr"
           rf"|quartal|{_TAGE})(?! (?:des|der|im)\b)"),
    _latin("vor", r"vor (?:einer|einem|zwei|drei|vier|ein paar|einigen) (?:tage?n?|wochen?|monate?n?|jahre?n?)",
           once=True),
    _latin("nacht", "(?:letzte|diese|heute) nacht", once=True),
    _latin("tag mittwoch", rf"(?<!tag )(?<!woch )(?:bis|ab|seit) (?:{_TAGE})"
           rf"(?! (?:bis|und|oder)\b)(?!,? (?:den )?\d)"),
    _latin("ende", "bis (?:zum )?(?:monatsende|jahresende|wochenende|ende (?:der woche|des monats|des jahres))"),
    # Romance languages.
    _latin("aujourd", "aujourd['’]hui"),
    _latin("demain hier", r"demain|après-demain|avant-hier|hier (?:soir|matin)", once=True),
    _latin("hier", r"hier (?:en|à|au|aux|par|dans|pendant|avec|nous|on|le|la|les|pour)"
           r"|(?:depuis|dès|décidé|jusqu['’]à) hier", once=True),
    _latin("il y a", r"il y a (?:une?|deux|trois|quatre|cinq|six|dix|quelques|\d{1,3}) (?:jours?|semaines?|mois|ans?)",
           once=True),
    _latin("derni prochain", rf"(?:{_JOURS}) (?:dernier|prochain)"),
    _latin("derni prochain cette mois",
           r"(?:la semaine|le mois|l['’]année|l['’]an) (?:derni(?:er|ère)|prochaine?)|cette semaine|ce mois-ci"),
    _latin("ayer", "ayer|anteayer", once=True),
    _latin("anoche esta noche", "anoche|esta noche", once=True),
    _latin("hace", r"hace (?:una?|dos|tres|cuatro|cinco|seis|diez|un[oa]s|unos pocos|\d{1,3})"
           r" (?:días?|semanas?|mes(?:es)?|años?)", once=True),
    _latin("pasado próximo viene", rf"(?:{_DIAS}) (?:pasado|que viene)|próximo (?:{_DIAS})"),
    _latin("hoy", r"hoy(?! en día\b)"),
    _latin("ñana", r"(?<!\bla )(?<!\bcada )(?<!\bde )mañana"),
    _latin("semana mes", r"(?:la semana|el mes|el año) (?:pasad[oa]|que viene)|(?:la )?próxima semana|esta semana"
           r"|semana passada|mês passado|próximo mês"),
    _latin("que vem", "(?:semana|mês|ano) que vem"),
    _latin("há", r"há (?:uma?|dois|duas|três|quatro|cinco|seis|dez|\d{1,3}) (?:dias?|semanas?|m[êe]s(?:es)?|anos?)",
           once=True),
    _latin("ontem hoje amanh", "ontem|hoje|amanhã"),
    _latin("ieri domani", "ieri|l['’]altro ieri|domani|dopodomani", once=True),
    _latin("giorn settiman mes ann", r"(?:una?|due|tre|quattro|cinque|sei|dieci|\d{1,3})"
           r" (?:giorn[oi]|settiman[ae]|mes[ei]|ann[oi]) fa",
           once=True),
    _latin("oggi stasera stanotte", r"(?<!['’])oggi|stasera|stanotte"),
    _latin("settimana mese", r"(?:la )?settimana (?:scorsa|prossima)|il mese (?:scorso|prossimo)"),
    # Russian.
    _latin("вчера завтра", "позавчера|вчера|завтра|послезавтра", once=True),
    _latin("сегодня недел месяц год",
           r"сегодня|на (?:прошлой|следующей|этой) неделе|в (?:прошлом|следующем|этом) (?:месяце|году)"),
    _latin("назад", "(?:недел[юи]|недель|день|дня|дней|месяца?|месяцев|года?|лет) назад", once=True),
    _latin("прошл следующ эт", r"в (?:прошлый|следующий|этот) (?:понедельник|вторник|четверг)"
           r"|в (?:прошлую|следующую|эту) (?:среду|пятницу|субботу)"),
    # Chinese, Japanese, Korean.
    _other("昨天|昨日|大前天|一昨日|不久前|昨晚|昨夜|昨晩|昨早|前晚|一昨年|先日|さっき|おととい", once=True,
           alone="每毎"),
    _other("前天(?![数數])|前几天|前幾天|前两天|前兩天|前些天|前阵子|前陣子|前段时间"
           "|前段時間|数日前|几天前|幾天前|[这這][两兩几幾]天", once=True,
           keys="前天 前几 前幾 前两 前兩 前些 前阵 前陣 前段 日前 天前 两天 兩天 几天 幾天",
           alone=r"^\W\d_们們在是就从從自也还還于於"),
    _other("今天|明天|今日(?![头頭]条)|明日(?!香|方舟|之后|之星)|明後日|今晚|今晩|今夜|今早|今晨|今朝|明早"
           "|明晨|明晚|明朝(?!代)"),
    _other("(?<![先])后天(?!性|的?(?:习得|形成|努力|损坏|失明|因素|教育|环境|缺陷|免疫))|後天(?!性)", keys="后天 後天"),
    _other("上周|上週|上星期|上个星期|上個星期|下周|下週|下星期|下个星期|下個星期|上礼拜|上禮拜|下礼拜|下禮拜"
           "|这周|這週|本周|本週|这个星期|這個星期|这个周末|這個週末"),
    _other("上个月|上個月|下个月|下個月|这个月|這個月|本月|去年|今年|明年|前年|昨年|上季度|下季度|本季度"
           "|这个季度|這個季度"),
    _other("(?<![以晚])上月(?!亮)|(?<!以)下月(?!亮)|(?<!年)[上下]半年", keys="上月 下月 半年"),
    _other(r"(?<![\d一二三四五六七八九十])(?:月底|月末|年底|年末|季度末)(?:之前|以前|前)", keys="前"),
    _other("(?:周|週|星期|[礼禮]拜)[一二三四五六日天末](?:之前|以前|前|之后|之後|以后|以後|起(?!始))",
           keys="前 后 後 起"),
    _other(f"{_NOT_AFTER}{_HAN_SPAN}(?!{_OF_THAT_AGE})", keys="前"),
    _other(r"(?<![\d期切の])(?:[二三四五六七八九十数]|\d{1,2})日前に", keys="日前に"),
    _other("先週|今週|来週|再来週|先月|今月|来月|来年|再来年"),
    _other("(?<!から)[月火水木金土日]曜日?(?:までに|以降)", keys="曜"),
    _other("어제|그제|그저께|엊그제|며칠 전|어젯밤|간밤", once=True, alone="가-힣"),
    _other("오늘(?!날|의집)|내일|모레|작년|올해|내년", alone="가-힣"),
    _other("(?:지난|다음|이번|저번) ?(?:주말|주(?![가-힣])|주(?=에|의(?!사항)|까지|부터|중|초|는|도)|달(?!성|력|러)"
           "|분기|[월화수목금토일]요일)", alone="가-힣", keys="지난 다음 이번 저번"),
    _other(r"(?<!만료 )(?<!마감 )(?<!종료 )(?<!시작 )(?<!\d)(?:\d{1,3}|[한두세네몇수]|다섯|여섯) ?"
           "(?:일|주일?|개월|달|년) ?전(?! ?(?:로그|데이터|기록|파일|알림))", alone="가-힣", keys="전"),
    _other("(?<!부터 )[월화수목금토일]요일(?:까지|이후)", keys="요일"),
)  # fmt: skip

_Keys = tuple[tuple[str, int], ...]
_KEYS: _Keys = tuple((key, at) for at, words in enumerate(_TABLE) for key in words.keys)
_ASCII: _Keys = tuple((key, at) for key, at in _KEYS if key.isascii())
"""Those that may stand in a text of ASCII alone."""

_AGAIN = re.compile(
    rf"\b(?:every|each|daily|nightly|weekly|monthly|yearly|whenever|always|(?:{_DAYS})s"
    r"|täglich|wöchentlich|monatlich|jede[nrsm]?|chaque"
    r"|tous les|cada|todos os|ogni|каждый|каждую|каждое)\b|[每毎]|매(?:일|주|달|월|년)",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"\b(?:19|20)\d\d\s?[-/.年년]\s?\d{1,2}|\d{1,2}\s?月\s?\d{1,2}\s?[日号號]|\b\d{1,2}[./]\s?\d{1,2}[./]\s?(?:19|20)\d\d"
    rf"|\b(?:{_MONTHS}|may|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? \d{{1,2}}\b"
    rf"|\b\d{{1,2}}\.? (?:{_MONTHS}|may|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"(?:yesterday|tomorrow)['’]s\b|(?:昨天|昨日|昨晚)(?:[的の分]|数据|數據|日志|活跃|订单|新增)"
    "|어제(?:의|자| 데이터| 로그| 매출)"
)
"""What is spoken of in a line about what comes again is that of each time."""
_ROW = re.compile(r"\s{0,2}[,，、/|]\s{0,2}")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»", "「": "」", "『": "』", "《": "》"}


class Relative(NamedTuple):
    """Words that mean another day for each reader. `line`: of the text, from 0."""

    line: int
    words: str


def relative(prose: str) -> Iterator[Relative]:
    """The first such words of each line, in order. `prose`: a text without its code."""
    lower = prose.lower()
    tried = _held(lower, _ASCII if lower.isascii() else _KEYS)
    if not tried:
        return
    keys = [(key, at) for at in sorted(tried) for key in _TABLE[at].keys]
    for number, (line, low) in enumerate(zip(prose.split("\n"), lower.split("\n"), strict=True)):
        here = [_TABLE[at] for at in _held(low, keys)] if low else ()
        found = _in_line(line[:_LINE], here) if here else ""
        if found:
            yield Relative(number, found)


def _held(lower: str, keys: Iterable[tuple[str, int]]) -> set[int]:
    """Which words of the table may stand there."""
    return {at for key, at in keys if key in lower}


def _in_line(line: str, tried: Iterable[_Words]) -> str:
    found = [(one.start(), one[0], words.once) for words in tried for one in words.pattern.finditer(line)
             if not _is_clear(line, one)]  # fmt: skip
    if len(found) > 1:
        found = _not_named(line, sorted(found))
    if found and _AGAIN.search(line):
        found = [one for one in found if one[2] and not _EACH.match(line, one[0])]
    return min(found)[1] if found else ""


def _not_named(line: str, found: list[tuple[int, str, bool]]) -> list[tuple[int, str, bool]]:
    """Without those that stand in a row, as the choices of a filter do: `Today, Yesterday`, `昨天、今天、明天`."""
    named: set[int] = set()
    for (start, words, _), (next_, _, _) in pairwise(found):
        if _ROW.fullmatch(line, start + len(words), max(next_, start + len(words))):
            named |= {start, next_}
    return [one for one in found if one[0] not in named]


def _is_clear(line: str, found: re.Match[str]) -> bool:
    """Whether a date stands beside the words, or they are only spoken of."""
    start, end = found.span()
    before, after = line[start - 1 : start], line[end : end + 1]
    if before in _QUOTES and (after.startswith((",", ".")) or _QUOTES[before] in line[end : end + _LABEL]):
        return True
    return _DATE.search(line[max(0, start - _BESIDE) : end + _BESIDE]) is not None
