"""What the header and the shape of a memory lack by its type: a description that tells it apart, the lines **Why:** and
**How to apply:**. Pure.

The two lines are known by their word at the beginning of a line or of a sentence, or in bold, with its colon; or as a
heading. The word may be one of several, in any of the languages below.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from memstore.core.index_pointer import LINE_LENGTH, pointer_line, visible
from memstore.core.terms import count_words, document_terms

Part = Literal["why", "how"]

LABELS: Final[dict[Part, str]] = {
    "why": (
        "why|reason|reasons|rationale|because|warum|grund|begründung|weil|pourquoi|raison|por qué|por que|motivo|razón"
        "|perché|почему|причина|为什么|為什麼|为何|原因|理由|缘由|緣由|なぜ|背景|왜|이유|까닭|배경"
    ),
    "how": (
        "how to apply|how to use(?: it)?|how|applies(?: to| when)?|applied|when(?: to apply| it applies| it holds)?"
        "|where(?: to apply| it applies| it holds)?|apply|applicability|scope|usage|in practice|what to do"
        "|what follows|consequences?|next steps?|so wenden|wie anwenden|anwendung|anwenden|folge|wann"
        "|comment appliquer|application|quand|cómo aplicar(?:lo|la)?|aplicación|cuándo|como aplicar|quando"
        "|come applicare|как применять|применение|когда|如何|怎么|怎麼|怎样|怎樣|应用方式|应用场景|應用場景"
        "|应用|應用|使用方法|使用方式|适用范围|适用场景|适用|適用|做法|操作|执行|執行|何时|何時|適用方法|適用範囲"
        "|使い方|やり方|どう|いつ|적용 방법|적용|사용법|사용 방법|어떻게|언제"
    ),
}
"""What stands before the reason, and before when it holds."""

FEWEST: Final = 2
"""Words of a description that says anything."""

LONGEST: Final = LINE_LENGTH
"""Characters of a description: no longer one is told in one line."""

_START = r"(?:^|(?<=[.!?。！？;；)）])\s{0,4})[ \t>]{0,20}(?:[-*+][ \t]{1,4}|\d{1,3}[.)][ \t]{1,4})?"
_NO_WORDS_OF_ITS_OWN = (
    "a an the of for and or to in on at with about by from is are this that it its some various several general all any"
    " note notes info infos information detail details stuff thing things misc miscellaneous memory memories todo tbd"
    " description untitled placeholder my our project user feedback reference useful important helpful relevant general"
    " related"
)
_NO_WORDS = frozenset(_NO_WORDS_OF_ITS_OWN.split())
_FILLING = re.compile(
    "关于|關於|一些|这个|這個|项目|項目|有用|重要|相关|相關|其他|其它|杂项|雜項|说明|說明|笔记|筆記|记录|記錄|信息|資訊|备忘|備忘|的"
    "|について|プロジェクト|いろいろ|雑多|メモ|ノート|情報|記録|일반|프로젝트|관련|기타|메모|기록|정보|노트"
)
"""The same in scripts whose words are not parted."""


def _labelled(names: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:{_START}[*_]{{0,3}}(?:{names})(?:\b|(?<=[^\x00-\x7f]))[^:：\n*_.]{{0,30}}[*_]{{0,3}}"
        r"[ \t]*[:：][*_]{0,3}"
        rf"|(?:\*\*|__)(?:{names})(?:[ \t]*[:：?？][ \t]*(?:\*\*|__)|(?:\*\*|__)[ \t]*[:：]?)"
        rf"|^[ \t]*\#{{1,6}}[ \t]+(?:\d+[.)]?[ \t]+)?(?:{names})"
        rf"(?:[ \t]+(?:this|it|that|we)\b[^:：?\n]{{0,30}})?[ \t]*[:：?？]?[ \t\r]*$)(?P<rest>[^\n]*)",
        re.IGNORECASE | re.MULTILINE,
    )


_PATTERNS: Final = {part: _labelled(names) for part, names in LABELS.items()}
_SIGNS = (":", "：", "**", "__", "#")
"""One of them stands in each line that has a label."""
_ANY = re.compile(f"(?:{_PATTERNS['why'].pattern}|{_PATTERNS['how'].pattern.replace('rest', 'more')})", re.I | re.M)
_NOTHING = " \t\r*_-—–.…。:："


def lacks(part: Part, prose: str, body: str | None = None) -> str:
    """What is the matter with one of the two lines in the body of a memory; nothing where it is there. `prose`: the
    body with blanks for its code, so that no label is found there; what a line says may well be code."""
    body = prose if body is None else body
    word = "**Why:**" if part == "why" else "**How to apply:**"
    found, start = False, 0
    for line in prose.split("\n"):
        begin, end = start, start + len(line)
        start = end + 1
        if any(sign in line for sign in _SIGNS):
            for label in _PATTERNS[part].finditer(prose, begin, end):
                found = True
                if _says(body[label.start("rest") : end]) or _goes_on(body, end):
                    return ""
    return f"its line {word} says nothing" if found else f"it has no line {word}"


def _goes_on(prose: str, at: int) -> bool:
    """Whether words of its own stand below a line that only names what comes."""
    for line in prose[at : at + 4_000].split("\n"):
        if line.strip(_NOTHING):
            return not line.lstrip().startswith("#") and _says(line)
    return False


def _says(words: str) -> bool:
    """Whether there are words of its own, and not the next label."""
    return bool(words.strip(_NOTHING)) and not _ANY.match(words.lstrip())


def is_described(description: str | None, name: str, path: str) -> str:
    """What is the matter with a description; nothing where it tells the memory apart."""
    if description is None or not description.strip():
        return "it has no description"
    if "\n" in description.strip():
        return "its description has more than one line"
    shown = visible(description[: 10 * LONGEST])
    said = set(document_terms(_FILLING.sub(" ", shown)).split()) - _NO_WORDS
    known = set(document_terms(f"{name} {path.removesuffix('.md').replace('-', ' ').replace('_', ' ')}").split())
    if said <= known:
        return "its description says no more than its name"
    if len(said) < 3 and count_words(shown, FEWEST) < FEWEST:
        return "its description is one word"
    if len(shown) > LONGEST:
        room = len(pointer_line(name, path, shown).partition(" — ")[2])
        return f"its description has {len(description)} characters, and its line in MEMORY.md shows {room} of them"
    return ""
