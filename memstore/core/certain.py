"""Whether a memory surely bears on a prompt, judged by the words that both have. Pure.

A short-list always has a first one. What is told unasked has to be sure: better nothing than the nearest miss. So each
word counts by what it says: a name in code much, a word of every prompt (`fix`, `file`, `看看`) little, one that many
memories have little too; in name or description more than in the body. A memory is sure

- where what it shares with the prompt is enough for a prompt of that length, or
- where it has the better part of what the prompt says,

and where it is not far behind the best. Words of weight have to be among them in either case; a single one that only
the body has will do where it is no everyday word, or where the prompt has no common words: it then names what it wants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memstore.core.ranking import Reason
from memstore.core.sought import Sought
from memstore.core.terms import is_spaceless, says_nothing

_CODE: Final = 1.5
_COMMON: Final = 0.3
_PAIR: Final = 0.6  # two characters of a longer run often belong to two words
_BODY: Final = 0.6
_KIN: Final = 0.4
_ENOUGH: Final = 1.0
_SHORT: Final = 4.0  # what a prompt of one sentence says
_LONGER: Final = 0.13  # that a longer one must share more: some of many words are met by chance
_HALF: Final = 0.5
_TELLING: Final = 0.55
_BEHIND: Final = 0.35
_LONG: Final = 6
_JOINTS: Final = frozenset("._-/:@")
_FEW = 20  # memories: among fewer nothing is known to be frequent
_RARE, _FREQUENT = 0.05, 0.3

_COMMON_WORDS = (
    "able actually add adding again allow already always answer anything apply ask away back bad bash better big "
    "bit branch break broken bug build button call case cases change changed changes check class clean clear close "
    "code come command commit config continue correct create current data day delete details different does doesn't "
    "done edit else empty end enough error errors etc even every everything example exist expected explain fail "
    "failed failing fails feature file files find fine fix fixed fixing folder follow found full function functions "
    "git give good great handle happen hello hi idea implement implementation improve include input instead issue "
    "issues keep know last later left line lines list little load local log logs long look looking looks lot maybe "
    "mean method missing move needed needs never nice nothing ok okay old one open option order output page part "
    "pass people place plan point possible print problem project proper properly put question quick read ready "
    "really refactor remove rename repo request result return review right run running save see seems set setup "
    "show side simple small something start state step steps stop string stuff sure system take test tests text "
    "thank thanks thing things today together tomorrow true try two understand update updated user users value "
    "values version wait way week well work working works world write wrong yes yesterday "
    "一下 看看 帮我 帮忙 一些 这里 那里 现在 需要 使用 进行 问题 代码 文件 修改 添加 删除 检查 测试 项目 功能 "
    "实现 运行 时候 然后 知道 没有 怎样 继续 谢谢 "
    "ください してく てくだ 確認 修正 追加 お願 願い してい ます です 해주세 주세요 하세요 확인 수정 추가"
)
_COMMON_SET = frozenset(_COMMON_WORDS.split())
"""Words of every prompt: beside them a memory has to have another."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a memory is sure, and how much it shares with the prompt; `why`: in a few words."""

    sure: bool
    strength: float
    why: str


def spread(found: Sequence[Sequence[Reason]], memories: int) -> dict[str, float]:
    """For each word in which part of the memories it occurs, by the short-list of so many."""
    rows: dict[str, int] = {}
    for reasons in found:
        for word in {reason.word for reason in reasons if not reason.kin}:
            rows[word] = rows.get(word, 0) + 1
    return {word: count / max(memories, count) for word, count in rows.items()} if memories >= _FEW else {}


def verdicts(
    sought: Sequence[Sought], found: Sequence[Sequence[Reason]], spread_of: Mapping[str, float]
) -> list[Verdict]:
    """What holds of each memory. `found`: what of the prompt each has."""
    says: dict[str, float] = {}
    pieces = _pieces([thing.text for thing in sought])
    heard = {reason.word for reasons in found for reason in reasons}  # what occurs nowhere, nothing meets by chance
    within = _within([thing.text for thing in sought], heard)
    for thing in sought:
        weight = within.get(thing.text, _says(thing)) * _rarity(spread_of.get(thing.text, 0.0))
        if thing.text in pieces:
            weight *= _PAIR
        says[thing.text] = max(weight, says.get(thing.text, 0.0))
    whole = sum(says.values())
    enough = _ENOUGH + _LONGER * max(0.0, sum(says.get(word, 0.0) for word in heard) - _SHORT)
    names = min(says.values(), default=0.0) >= _TELLING
    special = {thing.text for thing in sought if _is_special(thing) or within.get(thing.text)}
    judged = [_Shared(says, special, reasons) for reasons in found]
    best = max((one.strength for one in judged), default=0.0)
    return [one.verdict(whole, enough, best, names) for one in judged]


class _Shared:
    """What one memory shares with the prompt."""

    def __init__(self, says: Mapping[str, float], special: Collection[str], reasons: Sequence[Reason]) -> None:
        self.strength, self.part = 0.0, 0.0
        self.telling, self.alone = 0, False  # words of weight; whether one of them will do without another
        self.words: dict[str, None] = {}
        for reason in reasons:
            weight = says.get(reason.word, 0.0)
            if reason.word in self.words or not weight:
                continue
            self.words[reason.word] = None
            named = not {"name", "description"}.isdisjoint(reason.fields)
            part = weight * (_KIN if reason.kin else 1.0)
            self.strength += part * (1.0 if named else _BODY)
            self.part += part
            if part >= _TELLING:
                self.telling += 1
                self.alone = self.alone or named or reason.word in special

    def verdict(self, whole: float, enough: float, best: float, names: bool) -> Verdict:
        """`whole`: what all of the prompt says. `names`: it has no common words."""
        shown = ", ".join(list(self.words)[:6]) or "nothing"
        if not self.telling:
            return Verdict(False, self.strength, f"has only words that say little: {shown}")
        if self.strength < enough and self.part < _HALF * whole:
            return Verdict(False, self.strength, f"shares too little with the prompt: {shown}")
        if self.telling == 1 and not self.alone and not names:
            return Verdict(False, self.strength, f"has only one telling word, somewhere in its text: {shown}")
        if self.strength < _BEHIND * best:
            return Verdict(False, self.strength, f"shares much less with the prompt than the best: {shown}")
        return Verdict(True, self.strength, f"has {shown}")


def _says(thing: Sought) -> float:
    """How much it says that a memory has this."""
    text = thing.text
    if text in _COMMON_SET or (len(text) == 1 and text.isalnum() and text.isascii()):
        return _COMMON * thing.weight
    if says_nothing(text) and text.isalpha():  # with a sign in it (`don't`) it was typed as it stands
        return _COMMON * thing.weight
    if is_spaceless(text):
        return thing.weight
    if text.isdigit() and len(text) < 4:
        return _COMMON * thing.weight
    compound = any(" " in spelling.terms for spelling in thing.same)
    plain = text.isalpha() and not compound
    return thing.weight * (1.0 if plain else _CODE)


def _is_special(thing: Sought) -> bool:
    """Whether it is no everyday word: a name in code, or a long word that no other stands for."""
    return _says(thing) > 1.0 or (len(thing.text) >= _LONG and not thing.kin and not is_spaceless(thing.text))


def _within(texts: Sequence[str], heard: set[str]) -> dict[str, float]:
    """What names in code say that stand in longer ones: `10.9.8.7` in `root@10.9.8.7`. Where the longer one occurs
    nowhere, the one in it says all of it."""
    names = [text for text in texts if not _JOINTS.isdisjoint(text) and not is_spaceless(text)]
    says: dict[str, float] = {}
    for name in names:
        around = [longer for longer in names if name in longer and name != longer] if name in heard else []
        if around and heard.isdisjoint(around):
            says[name] = _CODE
            says.update(dict.fromkeys(around, 0.0))
    return says


def _pieces(texts: Sequence[str]) -> set[str]:
    """The pairs that a longer run was cut into: each begins or ends where another one does."""
    pairs = {text for text in texts if len(text) == 2 and is_spaceless(text)}
    firsts, lasts = Counter(pair[0] for pair in pairs), Counter(pair[1] for pair in pairs)
    return {pair for pair in pairs if lasts[pair[0]] or firsts[pair[1]]}


def _rarity(share: float) -> float:
    """1 for what few memories have, `_COMMON` for what every third has."""
    over = (min(share, _FREQUENT) - _RARE) / (_FREQUENT - _RARE)
    return 1.0 - (1.0 - _COMMON) * max(0.0, over)
