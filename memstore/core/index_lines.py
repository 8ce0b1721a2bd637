"""Reading MEMORY.md: what each line is, which links it holds, and how the client measures the whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

BOM = "\ufeff"

# Atomic groups, and never a possessive group: Pythons before 3.11.5 match those wrongly.
_LINK = (
    r"\[(?P<title>(?>(?:\\.|[^\[\]\\]|\[(?>(?:\\.|[^\[\]\\])*)\])*))\]"
    r"(?P<dest>\([ \t]*+(?:<(?P<angle>(?>(?:\\.|[^<>\\])*))>"
    r"|(?P<plain>(?!<)(?>(?:\\.|[^\s()\\]|\((?>(?:\\.|[^\s()\\])*)\))*)))"
    r"(?>(?:[ \t]++(?:\"(?>(?:\\.|[^\"\\])*)\"|'(?>(?:\\.|[^'\\])*)'|\((?>(?:\\.|[^()\\])*)\)))?)[ \t]*+\))"
)
_ITEM = r"[ \t]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++"
_POINTER = re.compile(
    rf"(?P<prefix>{_ITEM}(?>(?:\[[ xX]\][ \t]++)?)(?>(?:\*\*|__|~~|\*|_)?)){_LINK}"
    r"(?P<gap>(?>(?:\*\*|__|~~|\*|_)?)[ \t]*+(?>(?:(?:—|–|--?|:|：)[ \t]*+)?))(?P<hook>.*)\Z",
    re.DOTALL,
)
_ANY_LINK = re.compile(rf"(?<![!\\]){_LINK}")
_LIST_ITEM = re.compile(_ITEM)
_FENCE = re.compile(rf"(?>(?:{_ITEM})?)[ \t]*+(`{{3,}}+(?=[^`]*\Z)|~{{3,}}+)")
_NOT_LINKS = re.compile(r"(?<!\\)(`++)(?!`).*?(?<!`)\1(?!`)|<!--.*?-->")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SIMPLE = re.compile(r"[\w-]+\.md", re.ASCII)
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_MORE = re.compile(
    r"\s*[-*+] (?:…|\.\.\.) (?:[0-9][0-9,. ]*more memor(?:y|ies))?(?: and )?"
    r"(?:(?P<lines>[0-9][0-9,. ]*)more lines? kept in the store)?"
    r": (?:find them with `memstore search`|see `memstore show MEMORY\.md`)\s*\Z"
)
# The client's, with the figures and the advice of whatever version: a size, the limit, and then more words.
_WARNING = re.compile(r"\s*>\s*WARNING: (?:\S*/)?MEMORY\.md is (?:at )?[0-9][0-9.,]* ?[A-Za-z]+ .*\blimit\b")
_DIGITS = 9
_LONG = 1_000
"""How far into a line links in running text are looked for; a pointer's own link is read wherever it ends."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One line. For a pointer: `bare == prefix + "[" + title + "]" + dest + gap + hook`, all as written."""

    start: str
    bare: str
    end: str
    kind: Literal["free", "pointer"] = "free"
    target: str | None = None
    mentions: tuple[str, ...] = ()
    in_code: bool = False
    hidden: bool = False
    prefix: str = ""
    title: str = ""
    dest: str = ""
    gap: str = ""
    hook: str = ""

    @property
    def text(self) -> str:
        """The line as written: a byte order mark, the line, a carriage return."""
        return self.start + self.bare + self.end

    @property
    def blank(self) -> bool:
        return not self.bare or self.bare.isspace()


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of MEMORY.md a client loads (lines, UTF-16 units), and from where on it nags."""

    lines: int = 200
    units: int = 25_000
    near_lines: int = 160
    near_units: int = 20_000


CLIENT = Limits()


def parse(text: str) -> tuple[Piece, ...]:
    """One piece per line of the text, split at "\\n" only: a last newline gives an empty last piece.

    `in_code` lines (fenced or indented code, block comments, frontmatter) hold no links; `hidden` are
    those of them that the client strips before it loads the file (closed block comments, frontmatter).
    """
    lines = text.split("\n")
    header = _frontmatter(lines)
    pieces = [_cut(line, in_code=True, hidden=True) for line in lines[:header]]
    fence = ""
    in_list = False
    at = header
    while at < len(lines):
        bare = lines[at].removesuffix("\r")
        if at == 0:
            bare = bare.removeprefix(BOM)
        mark = _FENCE.match(bare)
        if fence:
            pieces.append(_cut(lines[at], in_code=True))
            if bare.strip().startswith(fence) and not bare.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
            in_list = in_list and bare[0] in " \t"
            pieces.append(_cut(lines[at], in_code=True))
        elif bare.lstrip(" ").startswith("<!--") and len(bare) - len(bare.lstrip(" ")) < 4:
            close = at
            while close < len(lines) and "-->" not in lines[close]:
                close += 1
            # What follows the end of the comment on its line may well be loaded: that line counts as seen.
            closed = close < len(lines)
            for line in lines[at : close + 1]:
                pieces.append(_cut(line, in_code=True, hidden=closed))
            if closed and lines[close].rstrip()[-3:] != "-->":
                pieces[-1] = _cut(lines[close], in_code=True)
            at = close
            in_list = in_list and bare[0] == " "
        elif not bare.strip():
            pieces.append(_cut(lines[at]))
        else:
            indented = bare.startswith(("    ", "\t", " \t", "  \t", "   \t"))
            if indented and not in_list:
                pieces.append(_cut(lines[at], in_code=True))
            else:
                pieces.append(read_line(lines[at]))
            in_list = bool(_LIST_ITEM.match(bare)) or (in_list and bare[0] in " \t")
        at += 1
    return tuple(pieces)


def read_line(line: str) -> Piece:
    """One line by itself, as if it stood outside of code."""
    start, bare, end = _ends(line)
    if "](" not in bare:
        return Piece(start, bare, end)
    match = _POINTER.match(bare)
    target = _target(match) if match else None
    if target is not None and bare.count("](") == 1:
        mentions: tuple[str, ...] = (target,)
    else:
        mentions = _mentions(bare)
    if match is None or target is None:
        return Piece(start, bare, end, mentions=mentions)
    if target not in mentions:
        mentions = (target, *mentions)
    prefix, title, dest, gap, hook = match.group("prefix", "title", "dest", "gap", "hook")
    return Piece(start, bare, end, "pointer", target, mentions, False, False, prefix, title, dest, gap, hook)


def without_ours(pieces: Sequence[Piece]) -> list[int]:
    """The places of the pieces that somebody wrote: neither our count of omissions nor the client's warning.

    Both are known by their form, whatever number is in them (rule 4). The client sets a blank line before its
    warning, which goes with it.
    """
    kept: list[int] = []
    for at, piece in enumerate(pieces):
        if _WARNING.match(piece.bare):
            if kept and kept[-1] == at - 1 and pieces[at - 1].blank:
                kept.pop()
        elif not _MORE.match(piece.bare):
            kept.append(at)
    return kept


def lines_left_out(text: str) -> int:
    """How many lines our count in an index says were left out, those of memories aside."""
    for line in reversed(text.split("\n")):
        if match := _MORE.match(line):
            return int("".join(filter(str.isdecimal, match["lines"] or "0"))[:_DIGITS])
    return 0


@dataclass(frozen=True, slots=True)
class Side:
    """A text's lines without what is ours (rule 4) and without the empty piece behind a last newline."""

    pieces: list[Piece]
    ids: list[str | None]
    ended: bool


def side(text: str, ids: Sequence[str | None] = ()) -> Side:
    """Reads one side; `ids` are the row ids of the text's lines, where they are known."""
    pieces = parse(text)
    kept = without_ours(pieces)
    ended = bool(kept) and pieces[kept[-1]].text == ""
    body = kept[:-1] if ended else kept
    return Side([pieces[at] for at in body], [ids[at] if ids else None for at in body], ended)


def is_backfill(pieces: Sequence[Piece], topics: Mapping[str, int | None]) -> bool:
    """Whether the client may have made this index up because the file was missing.

    It writes one pointer per topic file, newest first, until about 17 KB are full, and nothing else.
    `topics`: each topic file's path and mtime, None where the file changed after the index was written.
    """
    written = [piece for piece in pieces if not piece.blank]
    targets = [piece.target for piece in written]
    if not written or len(set(targets)) < len(targets):
        return False
    if any(target is None or target not in topics for target in targets):
        return False
    if len(targets) < len(topics) and sum(units(piece.bare) + 1 for piece in written) < 16_000:
        return False
    times = [time for target in targets if target is not None and (time := topics[target]) is not None]
    return all(newer >= older for newer, older in pairwise(times))


def units(text: str) -> int:
    """Length in UTF-16 code units, as the client counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def loaded_view(text: str, limits: Limits = CLIENT) -> str:
    """What a session gets to see of a file: without frontmatter, block comments, CR, BOM; trimmed; cut."""
    lines = _visible(text).split("\n")
    view = "\n".join(lines[: limits.lines])
    if units(view) <= limits.units:
        return view
    wide = view.encode("utf-16-le", "surrogatepass")
    held = wide[: 2 * limits.units + 2].decode("utf-16-le", "ignore")
    at = held.rfind("\n")
    return held[:at] if at > 0 else wide[: 2 * limits.units].decode("utf-16-le", "ignore")


def measure(text: str) -> tuple[int, int]:
    """Lines and UTF-16 units that the client counts in this file."""
    view = _visible(text)
    return (view.count("\n") + 1 if view else 0), units(view)


def may_hide(text: str) -> bool:
    """Whether the client may strip something: a quick look that spares reading the text line by line."""
    return "<!--" in text or text.removeprefix(BOM).startswith("---")


def _visible(text: str) -> str:
    if may_hide(text):
        text = "\n".join(piece.bare for piece in parse(text) if not piece.hidden)
    return text.replace("\r", "").strip().strip(BOM).strip()


def _frontmatter(lines: Sequence[str]) -> int:
    """How many lines a header takes: from "---" in the first line to the next one."""
    if lines[0].removeprefix(BOM).rstrip() != "---":
        return 0
    for at in range(1, len(lines)):
        if lines[at].rstrip() == "---":
            return at + 1
    return 0


def _cut(line: str, in_code: bool = False, hidden: bool = False) -> Piece:
    return Piece(*_ends(line), in_code=in_code, hidden=hidden)


def _mentions(bare: str) -> tuple[str, ...]:
    """The topic files that a line links to; links in code spans, in comments and of images do not count."""
    shown = bare[:_LONG]
    spoken = _NOT_LINKS.sub(" ", shown) if "`" in shown or "-->" in shown else shown
    found = [_target(link) for link in _ANY_LINK.finditer(spoken)]
    return tuple(dict.fromkeys(target for target in found if target is not None))


def _ends(line: str) -> tuple[str, str, str]:
    bare = line.removesuffix("\r")
    start = BOM if bare.startswith(BOM) else ""
    return start, bare[len(start) :], line[len(bare) :]


def _target(link: re.Match[str]) -> str | None:
    """The topic file that a link means, as a normalised relative path; None for anything else."""
    angle, plain = link.group("angle", "plain")
    raw = (plain if angle is None else angle).strip()
    if _SIMPLE.fullmatch(raw) and raw.casefold() != "memory.md":
        return raw
    if "&" in raw:
        from html import unescape

        raw = unescape(raw)
    path = re.split(r"[#?]", _ESCAPED.sub(r"\1", raw), maxsplit=1)[0]
    if not path or path.startswith(("/", "\\", "~/")) or _SCHEME.match(path):
        return None
    parts = [part for part in _PERCENT.sub(_decoded, path).split("/") if part not in ("", ".")]
    if not parts or ".." in parts or any(char in part for part in parts for char in "\0\n\\"):
        return None
    target = "/".join(parts)
    folded = target.casefold()
    return target if folded.endswith(".md") and folded != "memory.md" else None


def _decoded(run: re.Match[str]) -> str:
    try:
        return bytes.fromhex(run[0].replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return run[0]
