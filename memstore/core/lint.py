"""What memories lack by the rules of good ones: remarks with a reason and a suggestion, never a refusal. Pure.

Each rule has a name. `<!-- memstore-lint: ignore RULE, RULE -->` anywhere in a memory switches rules off for it; the
rule itself must be named there, so that nothing is hidden by a word that says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from unicodedata import name as name_of

from memstore.core import lint_dates, lint_fields, lint_repeats, secrets
from memstore.core.fences import spans
from memstore.core.frontmatter import Document, calm, read
from memstore.core.index_lines import CLIENT, measure, parse, read_line
from memstore.core.model import INDEX_NAME
from memstore.core.names import collision_key, stem
from memstore.core.near import differing, near
from memstore.core.prose import without_code, without_comments
from memstore.core.recall_text import BYTES, LINES
from memstore.core.taxonomy import TYPES
from memstore.core.unseen import visible


class Rule(NamedTuple):
    """`why`: what comes of it where it is not kept."""

    name: str
    why: str


RULES: Final[dict[str, Rule]] = {
    rule.name: rule
    for rule in (
        Rule("header", "name, description and type are read from the header: without them a memory is not told apart"),
        Rule("type", "the type says how a memory is used, and what it must hold"),
        Rule("description", "by this line alone a session decides whether a memory helps it"),
        Rule("empty", "a memory without a text takes a line of the index and says nothing"),
        Rule("why", "a rule without its reason cannot be weighed where it does not quite fit"),
        Rule("how", "who does not know when a rule holds follows it too often, or never"),
        Rule("date", "whoever reads it later cannot know which day is meant"),
        Rule("size", f"a recall shows {BYTES:,} bytes and {LINES} lines of a memory at most"),
        Rule("link", "a reader who follows it finds nothing"),
        Rule("recorded", "what the repository says itself is read there, and goes out of date here"),
        Rule("near", "of two texts that say the same, one is forgotten when the other is corrected"),
        Rule("secret", "every session reads it, and history keeps it"),
        Rule("unseen", "they carry words that a person who reads the text does not see"),
        Rule("index", "a session loads the beginning of the index only, and each line costs every session"),
        Rule("ignore", "a rule that is named wrongly there is not switched off"),
    )
}
"""All rules, in the order in which they are told."""

LONGEST_POINTER: Final = 200
"""Characters of a line of the index that points to a memory; the client's advice is about 150."""

_MOST: Final = 20
"""Remarks of one rule on one memory; the last one says how many more there are."""
_SHOWN = 60
_NO_TEXT = frozenset({"not UTF-8", "a NUL character"})
"""Problems of a header that are those of the whole file."""
_WIKI = re.compile(r"(?<![A-Za-z0-9_)\]])\[\[([^\[\]\n]{1,200})\]\]")
_NO_LINK = re.compile(r"[$\"=;<>]|^-\w |^[\W\d_]+$")
_IGNORE = re.compile(r"<!--\s*memstore-lint:\s*ignore\b([^>]{0,500}?)-->")
_MARKED = re.compile(r"<U\+([0-9A-F]{4,6})>")
_TURNING = frozenset({0x200E, 0x200F, 0x061C})
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


class Remark(NamedTuple):
    """Something to be mended. `line`: of the text with its header, from 1. `mend`: what could be done."""

    path: str
    line: int
    rule: str
    what: str
    mend: str


class Around(NamedTuple):
    """What a text is looked at beside. `names`: keys of all names and stems; `paths`: of all files of the folder;
    `recorded`: as `lint_repeats.lines_of`; `is_there`: whether the repository has a file."""

    names: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()
    recorded: Mapping[str, str] = {}
    is_there: Callable[[str], bool] = lambda path: False


class Text(NamedTuple):
    """A memory's text, read. `line`: on which its body begins."""

    path: str
    content: bytes
    document: Document
    line: int
    prose: str

    @property
    def words(self) -> str:
        return f"{self.document.description or ''}\n{self.document.body}"


def text_of(path: str, content: bytes) -> Text:
    """A memory's text, to be looked at."""
    document = read(content)
    body = document.body
    return Text(path, content, document, content.count(b"\n", 0, spans(content)[2]) + 1, without_code(body))


def keys_of(texts: Sequence[Text]) -> tuple[frozenset[str], frozenset[str]]:
    """The names and the paths that links of these texts may mean: see `Around`."""
    names = (name for text in texts for name in (text.document.name or "", stem(text.path), text.path[:-3]))
    return frozenset(map(collision_key, names)), frozenset(collision_key(text.path) for text in texts)


def examine(text: Text, around: Around) -> list[Remark]:
    """The remarks on one memory, in the order of its lines."""
    ignored, wrong = _ignored(text)
    found = [*wrong, *_header(text), *_body(text), *_links(text, around), *_recorded(text, around), *_whole(text)]
    return _few(sorted((one for one in found if one.rule not in ignored), key=lambda one: one.line))


def examine_all(
    texts: Sequence[Text], around: Callable[[Text], Around], told: Callable[[int], None] | None = None
) -> Iterator[Remark]:
    """The remarks on several memories of one folder, also on those that say nearly the same as another. `told` hears of
    three steps for each."""
    doubles = {one.path: one for one in _near(texts, told)}
    for number, text in enumerate(texts):
        if told is not None:
            told(2 * len(texts) + number + 1)
        found = examine(text, around(text))
        double = doubles.get(text.path)
        if double is not None and "near" not in _ignored(text)[0]:
            found.append(double)
        yield from found


def examine_index(content: bytes, around: Around, path: str = INDEX_NAME) -> list[Remark]:
    """The remarks on an index."""
    text = content.decode("utf-8", "replace")
    lines, size = measure(text)
    found = []
    if lines > CLIENT.lines or size > CLIENT.units:
        what = f"it has {lines:,} lines and {size:,} characters; a session loads {CLIENT.lines} and {CLIENT.units:,}"
        found.append(Remark(path, 1, "index", what, "shorten lines by hand; `memstore tidy` says what has no room"))
    for number, piece in enumerate(parse(text), 1):
        if piece.target is not None and len(piece.bare) > LONGEST_POINTER:
            what = f"this line has {len(piece.bare):,} characters"
            found.append(Remark(path, number, "index", what, "keep it to about 150: the memory itself says the rest"))
        for target in piece.mentions:
            if collision_key(target) not in around.paths and not around.is_there(target):
                found.append(_broken(path, number, target))
    return _few(sorted([*found, *_unsafe(path, text)], key=lambda one: one.line))


# The header


def _header(text: Text) -> Iterator[Remark]:
    document, path = text.document, text.path
    for problem in document.problems:
        mend = "correct that line by hand" if document.has_header else "close the header with a line of ---"
        if problem.reason in _NO_TEXT:
            mend = "save it as plain text in UTF-8"
        yield Remark(path, problem.line, "header", f"it cannot be read: {problem.reason}", mend)
    if not document.has_header:
        if not document.problems:
            mend = "begin with ---, name, description, type and --- in lines of their own"
            yield Remark(path, 1, "header", "it has no header", mend)
        return
    kinds = ", ".join(TYPES)
    if not document.type:
        yield Remark(path, 1, "type", "it has no type", f"set one of {kinds}")
    elif document.type not in TYPES:
        what = f"{_cut(document.type)!r} is no type of memory"
        yield Remark(path, _field_line(text, "type"), "type", what, f"set one of {kinds}")
    matter = lint_fields.is_described(document.description, document.name or "", path)
    if matter and not (document.description is None and document.problems):
        mend = "say in one line what it says and when that helps, as somebody would ask for it"
        yield Remark(path, _field_line(text, "description"), "description", matter, mend)


def _field_line(text: Text, field: str) -> int:
    start, end, _ = spans(text.content)
    found = re.search(rb"(?m)^[ \t]*\"?" + field.encode() + rb"\"?[ \t]*:", text.content[start:end])
    return text.content.count(b"\n", 0, start + found.start()) + 1 if found else 1


# The body


def _body(text: Text) -> Iterator[Remark]:
    document, path = text.document, text.path
    if not document.body.strip():
        yield Remark(path, text.line, "empty", "it has no text", "write what it is about, or delete it")
        return
    prose = without_comments(text.prose)
    if document.type in ("feedback", "project"):
        said = without_comments(document.body)
        if matter := lint_fields.lacks("why", prose, said):
            yield Remark(path, text.line, "why", matter, "add a line `**Why:**` with the reason")
        if matter := lint_fields.lacks("how", prose, said):
            yield Remark(path, text.line, "how", matter, "add a line `**How to apply:**` with when and where it holds")
    for one in lint_dates.relative(without_code(document.description or "")):
        yield _undated(path, _field_line(text, "description"), one.words)
    for one in lint_dates.relative(prose):
        yield _undated(path, text.line + one.line, one.words)
    body = document.body.strip("\r\n")
    lines, size = body.count("\n") + 1, len(body.encode("utf-8", "replace"))
    if lines > LINES or size > BYTES:
        mend = "part it into memories of one fact each, or put first what matters most"
        yield Remark(path, text.line, "size", f"its text has {size:,} bytes in {lines:,} lines", mend)


def _undated(path: str, line: int, words: str) -> Remark:
    return Remark(path, line, "date", f"{_cut(words)!r} is no date", "write the day out, such as 2027-03-01")


def _links(text: Text, around: Around) -> Iterator[Remark]:
    prose, path = without_comments(text.prose), text.path
    if "[[" not in prose and "](" not in prose:
        return
    for number, line in enumerate(prose.split("\n"), text.line):
        for inner in _WIKI.findall(line) if "[[" in line else ():
            target = re.split(r"[|#]", inner, maxsplit=1)[0]
            if _is_link(inner, line) and collision_key(target.strip().removesuffix(".md")) not in around.names:
                yield _unknown(path, number, target.strip(), around)
        for mention in read_line(line).mentions if "](" in line else ():
            beside = f"{path.rpartition('/')[0]}/{mention}".lstrip("/")
            keys = {collision_key(mention), collision_key(beside)}
            if keys.isdisjoint(around.paths) and not (around.is_there(mention) or around.is_there(beside)):
                yield _broken(path, number, mention)


def _is_link(inner: str, line: str) -> bool:
    """Whether brackets hold a name, and not a test of a shell, a row of numbers, or a table of TOML."""
    toml = "." in inner and line.strip() == f"[[{inner}]]"
    return inner == inner.strip() and not toml and not _NO_LINK.search(inner) and inner[0] not in "|#"


def _unknown(path: str, line: int, target: str, around: Around) -> Remark:
    meant = _spelled(around.names).get(_letters(target), "")
    mend = f"write [[{meant}]]" if meant else "write that memory, or take the brackets away"
    return Remark(path, line, "link", f"[[{_cut(target)}]] names no memory", mend)


@lru_cache(maxsize=4)
def _spelled(names: frozenset[str]) -> dict[str, str]:
    """The names by their letters alone."""
    found = {_letters(name): name for name in sorted(names, reverse=True)}
    return found | {"": ""}


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", collision_key(name))


def _broken(path: str, line: int, target: str) -> Remark:
    return Remark(path, line, "link", f"{_cut(target)} is not there", "correct the link, or take it out")


def _recorded(text: Text, around: Around) -> Iterator[Remark]:
    body, path = text.document.body, text.path
    said = lint_repeats.repeated(body, around.recorded)
    if said is not None:
        more = f", and {said.more} more of its lines" if said.more else ""
        what = f"this line{more} stand{'' if more else 's'} word for word in {said.where}"
        yield Remark(path, text.line + said.line, "recorded", what, "leave it out: sessions read it there")
    kind = lint_repeats.listing(body)
    if kind:
        what = f"it is little more than a list of {kind}"
        mend = (
            "say what follows from them; git has the list itself" if kind == "commits" else "say what matters of them"
        )
        yield Remark(path, text.line, "recorded", what, mend)


# The whole text


def _whole(text: Text) -> Iterator[Remark]:
    told = False
    binary = any(problem.reason in _NO_TEXT for problem in text.document.problems)
    for one in _unsafe(text.path, text.content.decode("utf-8", "replace")):
        if not (binary and told and one.rule == "unseen"):  # there it would be said of each line
            yield one
        told |= one.rule == "unseen"


def _unsafe(path: str, content: str) -> Iterator[Remark]:
    for found in secrets.find(content):
        what = f"it looks like a secret ({found.rule})"
        yield Remark(path, found.line, "secret", what, "say where it is kept instead, and change it if it is in use")
    content = content.removeprefix("\ufeff")
    shown = content if content.isascii() and "\x1b" not in content else visible(content.replace("\r\n", "\n"))
    if shown == content:
        return
    for number, line in enumerate(content.split("\n"), 1):
        codes = _unseen(line.removesuffix("\r"))
        if codes:
            told = ", ".join(codes[:3]) + (f" and {len(codes) - 3} more" if len(codes) > 3 else "")
            yield Remark(path, number, "unseen", f"it has characters that nobody sees: {told}", "take them out")


def _unseen(line: str) -> list[str]:
    shown = visible(line)
    if shown == line:
        return []
    marks = Counter(_MARKED.findall(shown)) - Counter(_MARKED.findall(line))
    turned = _RIGHT_TO_LEFT.search(line) is not None  # there people need them
    codes = [int(mark, 16) for mark in marks]
    return [f"U+{code:04X} {name_of(chr(code), 'control')}" for code in codes if not (turned and code in _TURNING)]


# Several texts


def _near(texts: Sequence[Text], told: Callable[[int], None] | None) -> Iterator[Remark]:
    first: dict[bytes, Text] = {}
    same: set[str] = set()
    for text in texts:
        kept = first.setdefault(calm(text.content), text) if text.words.strip() else text
        if kept is not text:
            same.add(text.path)
            yield Remark(text.path, text.line, "near", f"it says the same as {kept.path}", "keep one of them")
    for one in near([("", text.words) for text in texts], told):
        kept, text = texts[one.first], texts[one.second]
        if text.path in same:
            continue
        signs = differing(kept.words, text.words)
        if signs:
            what = f"it says nearly the same as {kept.path}, but not: {', '.join(signs)}"
            yield Remark(text.path, text.line, "near", what, "see which one holds; correct or delete the other")
        else:
            what = f"{100 * one.share:.0f} % of it stands in {kept.path} as well"
            yield Remark(text.path, text.line, "near", what, "make one of them; `memstore tidy` shows what is missing")


# What is switched off, and what is too much


def _ignored(text: Text) -> tuple[frozenset[str], list[Remark]]:
    """The rules that a memory switches off, and remarks on such that there are not."""
    if "memstore-lint" not in text.prose:
        return frozenset(), []
    names: set[str] = set()
    wrong = []
    for found in _IGNORE.finditer(text.prose):
        given = re.split(r"[,\s]+", found[1].strip())
        names.update(given)
        for name in given:
            if name not in RULES:
                line = text.line + text.prose.count("\n", 0, found.start())
                what = f"there is no rule {_cut(name)!r}" if name else "it names no rule"
                wrong.append(Remark(text.path, line, "ignore", what, f"the rules are {', '.join(RULES)}"))
    return frozenset(names) - {"ignore"}, wrong


def _few(remarks: Sequence[Remark]) -> list[Remark]:
    """Not more of one rule than a person reads."""
    counts = Counter(remark.rule for remark in remarks)
    if max(counts.values(), default=0) <= _MOST:
        return list(remarks)
    kept, seen = [], Counter[str]()
    for remark in remarks:
        seen[remark.rule] += 1
        left = counts[remark.rule] - _MOST
        if seen[remark.rule] < _MOST or left <= 0:
            kept.append(remark)
        elif seen[remark.rule] == _MOST:
            kept.append(remark._replace(what=f"{remark.what} (and so {left} more times)"))
    return kept


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
