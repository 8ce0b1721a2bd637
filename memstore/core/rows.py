"""Rows of somebody else's table as memories: which column is what, a name for each, and its text.

Nothing that a row says is dropped without a word: other columns become fields of the header, a description that is too
long for one line is kept in the body as well, and what cannot be kept is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from memstore.core.frontmatter import FIELDS
from memstore.core.model import LARGEST
from memstore.core.names import EXTENSION, alternative, collision_key, file_name, stem
from memstore.core.scalars import render
from memstore.core.taxonomy import TYPES
from memstore.errors import ImportRefused, NameRefused

Skipped = tuple[tuple[str, str], ...]
"""(What it is, why it was left alone)."""

COLUMNS = (*FIELDS, "body")
"""What a memory needs of a row."""

_USUAL = {
    "name": ("name", "title", "key", "subject", "heading", "topic"),
    "description": ("description", "summary", "abstract"),
    "type": ("type", "kind", "category"),
    "body": ("body", "content", "text", "value", "memory", "note", "notes", "fact", "observation", "observations"),
}
_OTHER_TYPE = "reference"
_LONGEST_NAME = 80
_LONGEST_DESCRIPTION = 250
_LONGEST_FIELD = 500
_MOST_FIELDS = 40
_KEY = re.compile(r"\w(?:[\w./ -]{0,62}[\w./-])?")
_UNSAFE = re.compile(r"[\x00-\x1f/\\:%~]+")
_KEPT_KEYS = frozenset((*FIELDS, "metadata", "node_type", "originSessionId", "modified"))


class Paths:
    """File names for titles, each only once. The same titles in the same order have the same names."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, title: str) -> str:
        """A path that none before has."""
        wanted = _file_name(title)
        path, number = wanted, 2
        while collision_key(path) in self._taken:
            path = alternative(wanted, number)
            number += 1
        self._taken.add(collision_key(path))
        return path


def _file_name(title: str) -> str:
    for tried in (title, _UNSAFE.sub("-", title).strip(" .-")):
        try:
            return file_name(tried)
        except NameRefused:
            continue
    return f"memory-{blake2b(title.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}{EXTENSION}"


def one_line(text: str, most: int) -> str:
    """The text on one line, and no longer than that."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[: most - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:") + "…"


def type_of(given: str) -> str:
    """One of the four types: the given one, if it is."""
    return given if (given := given.strip().lower()) in TYPES else _OTHER_TYPE


def memory_text(name: str, description: str, kind: str, others: Mapping[str, str], body: str) -> bytes:
    """The text of a memory, with other fields in its header. Raises ImportRefused for half a surrogate pair."""
    lines = ["---", f"name: {render(name)}", f"description: {render(description)}"]
    lines += [f"{key}: {render(value)}" for key, value in others.items()]
    text = "\n".join([*lines, "metadata:", f"  type: {render(kind)}", "---", "", body])
    try:
        return (text if text.endswith("\n") else text + "\n").encode()
    except UnicodeEncodeError as error:
        raise ImportRefused("it holds half a surrogate pair", hint="leave that character out") from error


def choose(columns: Sequence[str], given: Mapping[str, str], told: str) -> dict[str, str]:
    """Which column holds what: as `given`, else by the usual names. Raises ImportRefused where none holds the text."""
    for wanted, column in given.items():
        if wanted not in COLUMNS:
            raise ImportRefused(f"{wanted!r} is nothing that a column holds", hint=f"there are {', '.join(COLUMNS)}")
        if column not in columns:
            raise ImportRefused(f"{told} has no column {column!r}", hint=f"it has {_listed(columns)}")
    chosen = dict(given)
    by_name = {column.strip().lower(): column for column in reversed(columns)}
    for wanted, usual in _USUAL.items():
        found = [by_name[name] for name in usual if name in by_name and by_name[name] not in chosen.values()]
        if wanted not in chosen and found:
            chosen[wanted] = found[0]
    if "body" not in chosen:
        raise ImportRefused(
            f"{told} has no column that is known to hold a text; it has {_listed(columns)}",
            hint="name it: --column body=COLUMN",
        )
    return chosen


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(column[:60] for column in columns[:20])
    return shown + (f" and {len(columns) - 20} more" if len(columns) > 20 else "") if columns else "none"


def memories(
    columns: Sequence[str], rows: Sequence[Sequence[object]], given: Mapping[str, str], told: str
) -> tuple[dict[str, bytes], Skipped]:
    """Each row as one memory, by its path; and what was left alone. Raises ImportRefused."""
    chosen = choose(columns, given, told)
    made = _Made(columns, chosen)
    for number, row in enumerate(rows, 1):
        made.add(number, {column: _text(value) for column, value in zip(columns, row, strict=True)})
    lost = [(f"column {column}", reason) for column, reason in made.lost.items()]
    return made.files, (*made.skipped, *lost)


class _Made:
    def __init__(self, columns: Sequence[str], chosen: Mapping[str, str]) -> None:
        self.files: dict[str, bytes] = {}
        self.skipped: list[tuple[str, str]] = []
        self.lost: dict[str, str] = {}
        self._chosen = chosen
        self._others = [column for column in columns if column not in chosen.values()]
        self._paths = Paths()

    def add(self, number: int, row: Mapping[str, str]) -> None:
        values = {wanted: row[column] for wanted, column in self._chosen.items()}
        body = values["body"].lstrip("\r\n")
        if not body.strip():
            self.skipped.append((f"row {number}", f"its column {self._chosen['body']} is empty"))
            return
        description, name = values.get("description", ""), values.get("name", "")
        title = name if name.strip() else one_line(first_words(description or body), _LONGEST_NAME)
        short = one_line(title, _LONGEST_NAME * 2)
        told = one_line(description if description.strip() else first_words(body), _LONGEST_DESCRIPTION)
        if len(" ".join(description.split())) > len(told) or "\n" in description.strip():
            body = f"{description.strip()}\n\n{body}"
        others = self._fields(number, row)
        kind = values.get("type", "")
        if kind.strip() and type_of(kind) != kind.strip().lower():
            others = {"original_type": one_line(kind, _LONGEST_FIELD), **others}
        try:
            content = memory_text(short or title, told, type_of(kind), others, body)
        except ImportRefused as error:
            self.skipped.append((f"row {number}", str(error)))
            return
        if len(content) > LARGEST:
            self.skipped.append((f"row {number}", "it is too large to be a memory"))
            return
        self.files[self._paths.of(title)] = content

    def _fields(self, number: int, row: Mapping[str, str]) -> dict[str, str]:
        """What the other columns say, for the header."""
        fields: dict[str, str] = {}
        for column in self._others:
            value = row[column].strip()
            if not value:
                continue
            key = f"original_{column}" if column in _KEPT_KEYS else column
            if not _KEY.fullmatch(key) or len(fields) == _MOST_FIELDS:
                self.lost.setdefault(column, "it cannot be a field of a memory's header")
            elif len(value) > _LONGEST_FIELD or "\n" in value:
                self.lost.setdefault(column, f"too long for a memory's header, from row {number} on")
            else:
                fields[key] = value
        return fields


def first_words(text: str) -> str:
    """The first line that says something, without the marks of Markdown before it."""
    for line in text.split("\n"):
        words = line.strip().lstrip("#>*- \t").strip()
        if words and words != "```":
            return words
    return stem(text.strip()[:_LONGEST_NAME]) or "a memory"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
