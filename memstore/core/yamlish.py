"""The part of YAML that memory headers are made of, read as strings and never guessed at.

A header is a list of `key: value` lines. The line structure is read here, so nothing inside a value (U+0085,
U+2028, an alias, a tag, a quote left open) can start a key or reach another one. Only the inside of a block
scalar or of a quoted scalar that spans lines is left to PyYAML, at most `YAML_LIMIT` characters of it: an
inert string whatever it holds. As the client does, a value that strict YAML would refuse or cut (a colon, a
leading `*@%[{!-#` or backquote, an inline `#`) is plain text up to the end of its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstore.core.scalars import BLOCK, DOUBLE, SINGLE, YAML_LIMIT, flow_items, item, unescape, unfold

MAX_KEYS = 128
MAX_DEPTH = 4
MAX_PROBLEMS = 20

TYPE_KEYS = frozenset(("type", "metadata.type"))
TEXT_KEYS = TYPE_KEYS | {"name", "description"}

_TOP = {key: key for key in ("name", "description", "type", "created", "modified")}
_NESTED = {
    f"  {key}": f"metadata.{key}" for key in ("node_type", "type", "originSessionId", "modified", "created", "pinned")
}

_KEY = re.compile(r"""([ \t]*)(?:"([^"\\]{1,64})"|'([^']{1,64})'|(\w(?:[\w./ -]{0,62}[\w./-])?))[ \t]*:(?:[ \t]+|$)""")
_COMMENT = re.compile(r"[ \t]#")
_DASH = re.compile(r"[ \t]*-(?:[ \t]+|$)")
_ANCHORED = re.compile(r"[&*][\w-]+(?:[ \t]+[\[{].*)?$")
_ANCHORED_ITEM = re.compile(r"(?:[\[{,:]|^[ \t]*-)[ \t]*[&*][\w-]", re.M)


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be read, and in which line (from 1)."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a header. `start` and `end` are the value's span in the header's text.

    `style` is plain, quoted, block (scalars with a span of their own), flow (a scalar inside `{}`), list or
    map. `value` is None for lists and maps; `items` are a list's strings.
    """

    key: str
    value: str | None
    items: tuple[str, ...]
    line: int
    indent: str
    start: int
    end: int
    style: str


@dataclass(frozen=True, slots=True)
class Header:
    """All that a header says, in its order."""

    entries: tuple[Entry, ...]
    comments: tuple[str, ...]
    problems: tuple[Problem, ...]


def plain_fields(header: str) -> dict[str, str] | None:
    """The scalars of a header in the shape that nearly all have; None where `parse` has to look closer.

    Where it answers, it answers what `parse` would, in a tenth of the time.
    """
    if "\t" in header or "\r" in header or " \n" in header:
        return None
    fields: dict[str, str] = {}
    lines = header[:-1].split("\n")
    known = _TOP
    for line in lines:
        key, _, value = line.partition(": ")
        if not value:
            if line != "metadata:" or known is _NESTED:
                return None
            known = _NESTED
            continue
        first = value[0]
        if first == '"':
            if value.find('"', 1) != len(value) - 1 or "\\" in value:
                return None
            value = value[1:-1]
        elif first in " '|>[{&*!#":
            return None
        if key not in known:
            return None
        fields[known[key]] = value
    kind = fields.get("metadata.type") or fields.get("type")
    if (kind and "#" in kind) or len(fields) != len(lines) - (known is _NESTED):
        return None  # a comment, or a key that is there twice
    return fields if known is _TOP or lines[-1] != "metadata:" else None


def parse(header: str, first_line: int = 1) -> Header:
    """Every entry of the text between two fences. Never raises; linear in time.

    `first_line` is the line of the file that the header's first line is.
    """
    reader = _Reader(header, first_line)
    reader.block(0, -1, "", 0)
    return Header(tuple(reader.entries), tuple(reader.comments), tuple(reader.problems))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


class _Reader:
    """Walks the lines once; the methods return the index of the line that comes next."""

    def __init__(self, header: str, first_line: int) -> None:
        self.header = header
        self.first_line = first_line
        self.lines: list[str] = []
        self.starts: list[int] = []
        self.entries: list[Entry] = []
        self.comments: list[str] = []
        self.problems: list[Problem] = []
        at = 0
        for line in header.split("\n"):
            self.lines.append(line.removesuffix("\r"))
            self.starts.append(at)
            at += len(line) + 1

    def block(self, at: int, above: int, prefix: str, depth: int) -> int:
        """Entries of the lines that are indented deeper than `above`."""
        while at < len(self.lines):
            line = self.lines[at]
            bare = line.strip(" \t")
            if not bare:
                at += 1
                continue
            if _indent(line) <= above:
                break
            key = _KEY.match(line)
            if bare[0] == "#":
                self.comments.append(bare)
            elif key is None:
                self.problem(at, "not a line of the form `key: value`")
            elif len(self.entries) >= MAX_KEYS:
                self.problem(at, f"more than {MAX_KEYS} keys")
                return len(self.lines)
            else:
                at = self.entry(at, key, prefix, depth)
                continue
            at += 1
        return at

    def entry(self, at: int, key: re.Match[str], prefix: str, depth: int) -> int:
        name = prefix + (key[2] or key[3] or key[4])
        column, indent = key.end(), len(key[1])
        text = self.lines[at][column:].rstrip(" \t")
        above_block = text[:1] == "#" and name not in TEXT_KEYS and self.child(at + 1, indent) is not None
        if not text or above_block:
            self.comments += [text] * above_block
            return self.nested(at, name, key[1], column, depth)
        if text[0] in "|>" and BLOCK.match(text):
            end = self.extent(at + 1, indent)
            return self.through_yaml(at, end, name, key[1], column, "block")
        if text[0] in "\"'":
            taken = self.quoted(at, name, key[1], column)
            if taken:
                return taken
        if name not in TEXT_KEYS:
            if _ANCHORED.match(text):
                self.problem(at, "anchors and aliases are not read")
                return at + 1
            if text[0] in "[{":
                taken = self.flow(at, name, key[1], column)
                if taken:
                    return taken
        return self.plain(at, name, key[1], column, text)

    def plain(self, at: int, name: str, indent: str, column: int, text: str) -> int:
        """Text up to the end of the line, and the deeper lines after it that are no keys."""
        if name in TYPE_KEYS and (comment := _COMMENT.search(text)):
            self.comments.append(text[comment.end() - 1 :])
            text = text[: comment.start()].rstrip(" \t")
        last, end_column, blanks = at, column + len(text), 0
        parts = [text] if text else []
        for i in range(at + 1, len(self.lines)):
            bare = self.lines[i].strip(" \t")
            if not bare:
                blanks += 1
                continue
            key = _KEY.match(self.lines[i])
            is_key = key is not None and " " not in (key[4] or "")
            if _indent(self.lines[i]) <= len(indent) or bare[0] == "#" or is_key:
                break
            parts.append(("\n" * blanks or " ") + bare if parts else bare)
            last, end_column, blanks = i, len(self.lines[i].rstrip(" \t")), 0
        self.add(name, "".join(parts), at, indent, column, last, end_column, "plain")
        return last + 1

    def quoted(self, at: int, name: str, indent: str, column: int) -> int:
        """A quoted scalar. 0 if the quotes are but part of the text (`"a" and b`, or never closed)."""
        line = self.lines[at]
        whole = DOUBLE.match(line, column) if line[column] == '"' else SINGLE.match(line, column)
        if whole and whole[1] is not None:
            if whole[2]:
                self.comments.append(whole[2])
            value = unescape(whole[1]) if line[column] == '"' else whole[1].replace("''", "'")
            self.add(name, value, at, indent, column, at, whole.end(1) + 1, "quoted")
            return at + 1
        start = self.starts[at] + column
        window = self.header[start : start + YAML_LIMIT].replace("\r", "")
        whole = DOUBLE.match(window) if window[0] == '"' else SINGLE.match(window)
        if whole is None:
            return 0
        end = at + whole.group().count("\n") + 1
        for i in range(at + 1, end):
            line = self.lines[i]
            if line.strip(" \t") and _indent(line) <= len(indent) and _KEY.match(line):
                return 0
        return self.through_yaml(at, end, name, indent, column, "quoted")

    def nested(self, at: int, name: str, indent: str, column: int, depth: int) -> int:
        """Nothing after the colon: a map, a list or text on the following lines, or the empty string."""
        child = self.child(at + 1, len(indent))
        if child is None:
            self.add(name, "", at, indent, column, at, column, "plain")
            return at + 1
        line = self.lines[child]
        if _DASH.match(line):
            end = self.extent(child, _indent(line) - 1, dashes_only=_indent(line) == len(indent))
            return self.listed(at, end, name, indent, column)
        end = self.extent(child, len(indent))
        bare = line.lstrip(" \t")
        if _KEY.match(line) and bare[0] not in "\"'":
            if depth >= MAX_DEPTH:
                self.problem(at, "nested too deeply")
                return end
            self.add(name, None, at, indent, column, at, column, "map")
            return self.block(at + 1, len(indent), f"{name}.", depth + 1)
        if bare[0] in "\"'|>":
            return self.through_yaml(at, end, name, indent, column, "block")
        return self.plain(at, name, indent, column, "")

    def listed(self, at: int, end: int, name: str, indent: str, column: int) -> int:
        """`- a` lines."""
        lines = [line.strip(" \t") for line in self.lines[at + 1 : end]]
        lines = [line for line in lines if line and line[0] != "#"]
        if any(_ANCHORED_ITEM.match(line) for line in lines):
            self.problem(at, "anchors and aliases are not read")
            return end
        items = [item(line[1:].strip(" \t")) if line[0] == "-" else None for line in lines]
        known = tuple(item for item in items if item is not None)
        last = len(self.lines[end - 1])
        items_read = known if len(known) == len(items) else tuple(lines)
        self.add(name, None, at, indent, column, end - 1, last, "list", items_read)
        return end

    def flow(self, at: int, name: str, indent: str, column: int) -> int:
        """`[a, b]` or `{a: b}`. 0 if the bracket is but part of the text (`[draft] do not trust`)."""
        closing = "]" if self.lines[at][column] == "[" else "}"
        end = at + 1
        if not self.lines[at].rstrip(" \t").endswith(closing):
            end = self.extent(at + 1, len(indent))
            if end < len(self.lines) and self.lines[end].strip(" \t") == closing:
                end += 1
        lines = [self.lines[at][column:], *self.lines[at + 1 : end]]
        text = "\n".join(lines).strip(" \t\n")
        if not text.endswith(closing):
            return 0
        if _ANCHORED_ITEM.search(text):
            self.problem(at, "anchors and aliases are not read")
            return end
        raw = flow_items(text[1:-1])
        span = (at, indent, column, end - 1, len(self.lines[end - 1].rstrip(" \t")))
        if closing == "}" and raw is not None and all(_KEY.match(pair) for pair in raw):
            self.add(name, None, *span, "flow map")
            for pair in raw[:MAX_KEYS]:
                if key := _KEY.match(pair):
                    value = item(pair[key.end() :].strip())
                    self.add(f"{name}.{key[2] or key[3] or key[4]}", value or "", *span, "flow")
            return end
        items = [None] if raw is None or closing == "}" else [item(one) for one in raw]
        known = tuple(found for found in items if found is not None)
        self.add(name, None, *span, "list", known if len(known) == len(items) else (text,))
        return end

    def through_yaml(self, at: int, end: int, name: str, indent: str, column: int, style: str) -> int:
        """A block scalar, or a quoted one over several lines: an inert string, so PyYAML may unfold it."""
        lines = [self.lines[at][column:], *(line[len(indent) :] for line in self.lines[at + 1 : end])]
        chunk = "\n".join(lines) + "\n"
        value = unfold(chunk)
        if value is None:
            self.problem(at, "more than 64 KiB" if len(chunk) > YAML_LIMIT else "not readable as YAML")
            return max(end, at + 1)
        while end > at + 1 and not self.lines[end - 1].strip(" \t"):
            end -= 1
        self.add(name, value, at, indent, column, end - 1, len(self.lines[end - 1].rstrip(" \t")), style)
        return end

    def child(self, at: int, indent: int) -> int | None:
        """The first line below that is indented deeper, or is a `-` of the same depth."""
        while at < len(self.lines):
            bare = self.lines[at].strip(" \t")
            if bare and bare[0] != "#":
                deeper = _indent(self.lines[at]) - indent
                return at if deeper > 0 or (deeper == 0 and _DASH.match(self.lines[at])) else None
            at += 1
        return None

    def extent(self, at: int, indent: int, *, dashes_only: bool = False) -> int:
        """The index after the last line from `at` on that is deeper than `indent`; blank lines are let in."""
        end = at
        for i in range(at, len(self.lines)):
            line = self.lines[i]
            if not line.strip(" \t"):
                continue
            if _indent(line) <= indent or (dashes_only and _indent(line) == indent + 1 and not _DASH.match(line)):
                break
            end = i + 1
        return end

    def add(
        self,
        key: str,
        value: str | None,
        line: int,
        indent: str,
        column: int,
        last: int,
        end_column: int,
        style: str,
        items: tuple[str, ...] = (),
    ) -> None:
        start, end = self.starts[line] + column, self.starts[last] + end_column
        if any(entry.key == key for entry in self.entries):
            self.problem(line, f"the key `{key}` is there twice; its first value counts")
        self.entries.append(Entry(key, value, items, self.first_line + line, indent, start, end, style))

    def problem(self, line: int, reason: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self.first_line + line, reason))
