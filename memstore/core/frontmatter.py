"""The text of a memory and its fields: reads them, replaces one and leaves every other byte alone.

A header stands between two lines of `---`; before it there may be a byte-order mark and blank lines. The
blank lines after it separate and belong to neither field nor body; they are counted to the header, so a body
never begins with one. A header that is never closed is none: the whole text is body.

The type is `metadata.type`, as the current client writes it, before a top-level `type`, as older ones did:
the current client looks at the former only. A `type` ends where a comment begins; in every other plain value
` #` is text. Values are strings as typed. Lines end with "\\n" only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from memstore.core.fences import MARK, OPENING, spans, split
from memstore.core.scalars import render
from memstore.core.yamlish import Entry, Header, Problem, parse, plain_fields
from memstore.errors import InputRefused

__all__ = [
    "FIELDS",
    "Document",
    "Problem",
    "alike",
    "calm",
    "compose",
    "read",
    "same_name",
    "set_field",
    "split",
    "with_body",
]

FIELDS = ("name", "description", "type")

_BLANK_LINES = re.compile(rb"(?:[ \t\r]*\n)*")
_FIRST_KEY = re.compile(rb"[ \t\r\n]*[\w-]+:(?:\s|$)")
_STAMPS = frozenset(("node_type", "originSessionId", "modified"))
_NO_WORD = re.compile("[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Document:
    """What a memory's text says. None: the field is not there, or cannot be read (see `problems`).

    `extra` are the other scalars of the header, nested keys dotted (`metadata.modified`), `lists` its lists.
    `newline` is how the first line ends.
    """

    name: str | None
    description: str | None
    type: str | None
    body: str
    extra: tuple[tuple[str, str], ...]
    problems: tuple[Problem, ...]
    has_header: bool
    newline: str
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()


class _Fields(NamedTuple):
    """What a header says, whichever way it was read. (A tuple: made for every file of every scan.)"""

    name: str | None
    description: str | None
    type: str | None
    extra: tuple[tuple[str, str], ...]
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    comments: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


_NO_FIELDS = _Fields(None, None, None, ())


def read(content: bytes) -> Document:
    """The fields and the body. Never raises, whatever the bytes are."""
    start, end, body_start = spans(content)
    fields = _fields(content, start, end) if start else _NO_FIELDS
    problems = fields.problems
    try:
        body = content[body_start:].decode()
    except UnicodeDecodeError as error:
        body = content[body_start:].decode(errors="replace")
        problems += (Problem(_line(content, body_start + error.start), "not UTF-8"),)
    if b"\0" in content:
        problems += (Problem(_line(content, content.index(b"\0")), "a NUL character"),)
    if not start and (line := _unclosed(content)):
        problems += (Problem(line, "a header begins here that is never closed"),)
    newline = "\r\n" if content[: content.find(b"\n") + 1].endswith(b"\r\n") else "\n"
    return Document(
        fields.name,
        fields.description,
        fields.type,
        body,
        fields.extra,
        problems,
        start > 0,
        newline,
        fields.lists,
    )


def with_body(content: bytes, body: str) -> bytes:
    """`content` with another body; its header stays byte for byte.

    Where the old body's lines end with CRLF throughout, a body without any CR gets them too.
    """
    header, old = split(content)
    if "\r" not in body and 0 < old.count(b"\n") == old.count(b"\r\n"):
        body = body.replace("\n", "\r\n")
    if body and header and header != MARK and not header.endswith(b"\n"):
        header += b"\r\n" if b"\r\n" in header else b"\n"
    return header + _utf8(body, "body")


def compose(name: str, description: str, type: str | None, body: str) -> bytes:
    """The text of a new memory in the shape of the current client, with a newline at its end.

    Raises InputRefused for half a surrogate pair, as everything does here that makes bytes.
    """
    for value, what in ((name, "name"), (description, "description"), (type or "", "type")):
        _utf8(value, what)
    lines = ["---", f"name: {render(name)}", f"description: {render(description)}"]
    if type is not None:
        lines += ["metadata:", f"  type: {render(type)}"]
    text = "\n".join([*lines, "---", ""])
    if body:
        text += "\n" + body + ("" if body.endswith("\n") else "\n")
    return _utf8(text, "body")


def set_field(content: bytes, field: str, value: str) -> bytes:
    """`content` with one of name, description, type replaced, and no other byte changed.

    A field that is missing is put in: type under `metadata` where there is one. Where there is no header, one
    is put in front. Raises InputRefused where the header has problems: nothing is stacked on what is unread.
    """
    if field not in FIELDS:
        raise InputRefused(f"{field!r} is no field of a memory", hint="the fields are " + ", ".join(FIELDS))
    _utf8(value, field)
    start, end, _ = spans(content)
    if not start:
        return _with_header(content, field, value)
    before = _fields(content, start, end)
    if before.problems:
        raise _unreadable(field, before.problems[0].line, before.problems[0].reason)
    text = content[start:end].decode()
    newline = "\r\n" if content[start - 2 : start] == b"\r\n" else "\n"
    changed = _replaced(text, parse(text, _line(content, start)), field, value, newline)
    result = content[:start] + changed.encode() + content[end:]
    after = _fields(result, *spans(result)[:2])
    if after._asdict() | {"comments": ()} != before._asdict() | {"comments": (), field: value}:
        raise _unreadable(field, _line(content, start), "its shape leaves no safe place for the new value")
    return result


def calm(content: bytes) -> bytes:
    """What is left of a text without its name, the client's stamps, quoting, key order, shape and line ends.

    Contents that differ in nothing else have equal calm forms: first a line for the header, then the body.
    A header with problems is kept as it is: nothing in it is known to be a mere stamp.
    """
    start, end, body_start = spans(content)
    body = content[body_start:]
    if not start:
        body = body[_BLANK_LINES.match(body).end() :]  # type: ignore[union-attr]  # matches the empty string too
    fields = _fields(content, start, end) if start else _NO_FIELDS
    if fields.problems:
        head = repr(content[start:end].replace(b"\r\n", b"\n"))
    else:
        others: list[tuple[str, object]] = [*fields.extra, *fields.lists] if fields.lists else [*fields.extra]
        others = [(key.removeprefix("metadata."), value) for key, value in others]
        others = [other for other in others if other[0] not in _STAMPS]
        others.sort(key=repr)
        head = repr((fields.description, fields.type, others, fields.comments))
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n")
    return head.encode("utf-8", "surrogatepass") + b"\n" + body.removesuffix(b"\n")


def is_stamp(key: str) -> bool:
    """Whether a field of a header only says which client saved it, in which session and when."""
    return key.removeprefix("metadata.") in _STAMPS


def same_name(a: str | None, b: str | None) -> bool:
    """Whether two names are equal up to what the client does to them when it saves.

    It makes a name kebab case ("Old Name", "old-name"); one without any ASCII letter or digit, or a missing
    one, becomes the empty string.
    """
    if a == b:
        return True
    return (b is not None and b in _saved_as(a)) or (a is not None and a in _saved_as(b))


def alike(a: bytes, b: bytes) -> bool:
    """Whether two contents say the same: equal calm forms and the same name."""
    if a == b:
        return True
    return calm(a) == calm(b) and same_name(_name(a), _name(b))


def _name(content: bytes) -> str | None:
    start, end, _ = spans(content)
    return _fields(content, start, end).name if start else None


def _saved_as(name: str | None) -> tuple[str, ...]:
    """What a saved name may have become; accents are dropped by themselves or with their letter."""
    if not name:
        return ("",)
    from unicodedata import normalize

    lowered = name.lower()
    bare = normalize("NFKD", lowered).encode("ascii", "ignore").decode()
    return _NO_WORD.sub("-", lowered).strip("-"), _NO_WORD.sub("-", bare).strip("-")


def _unclosed(content: bytes) -> int:
    """The line of an opening fence with a key below it, in a text without a header; else 0."""
    opening = OPENING.match(content)
    return _line(content, opening.end() - 1) if opening and _FIRST_KEY.match(content, opening.end()) else 0


def _line(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1


def _fields(content: bytes, start: int, end: int) -> _Fields:
    problems: tuple[Problem, ...] = ()
    try:
        text = content[start:end].decode()
    except UnicodeDecodeError as error:
        text = content[start:end].decode(errors="replace")
        problems = (Problem(_line(content, start + error.start), "not UTF-8"),)
    plain = plain_fields(text.replace("\r\n", "\n") if "\r" in text else text)
    if plain is None or problems:
        return _gathered(parse(text, _line(content, start)), problems)
    name, description = plain.pop("name", None), plain.pop("description", None)
    kind = plain.pop("metadata.type", None)
    if kind is None:
        kind = plain.pop("type", None)
    return _Fields(name, description, kind, tuple(plain.items()))


def _gathered(header: Header, problems: tuple[Problem, ...]) -> _Fields:
    scalars: dict[str, str] = {}
    lists: list[tuple[str, tuple[str, ...]]] = []
    for entry in header.entries:
        if entry.value is not None:
            scalars.setdefault(entry.key, entry.value)
        elif entry.style == "list":
            lists.append((entry.key, entry.items))
    if scalars.get("metadata") == "":  # an empty block says nothing
        del scalars["metadata"]
    name, description = scalars.pop("name", None), scalars.pop("description", None)
    kind = scalars.pop("metadata.type", None)
    if kind is None:
        kind = scalars.pop("type", None)
    problems += header.problems
    return _Fields(name, description, kind, tuple(scalars.items()), tuple(lists), header.comments, problems)


def _replaced(text: str, header: Header, field: str, value: str, newline: str) -> str:
    """The header's text with the field's value in place of its span, or in a new line."""
    first: dict[str, Entry] = {}
    for entry in header.entries:
        first.setdefault(entry.key, entry)
    old = first.get("metadata.type") or first.get("type") if field == "type" else first.get(field)
    if old:
        if old.style not in ("plain", "quoted", "block"):
            raise _unreadable(field, old.line, "it is a list or map, or inside a map in brackets")
        space = " " if text[old.start - 1] == ":" else ""
        return text[: old.start] + space + render(value, quote=old.style == "quoted") + text[old.end :]
    indent = header.entries[0].indent if header.entries else ""
    at, key = 0, field
    name = first.get("name")
    if field == "description" and name and name.style != "map":
        at = text.find("\n", name.end) + 1
    elif field == "type":
        at, metadata = len(text), first.get("metadata")
        if metadata and (metadata.style == "map" or metadata.value == ""):
            at = text.find("\n", metadata.end) + 1
            child = next((entry for entry in header.entries if entry.key.startswith("metadata.")), None)
            indent = child.indent if child else metadata.indent + "  "
    return f"{text[:at]}{indent}{key}: {render(value)}{newline}{text[at:]}"


def _with_header(content: bytes, field: str, value: str) -> bytes:
    line = _unclosed(content)
    if line:
        raise _unreadable(field, line, "a header begins here that is never closed")
    mark = MARK if content.startswith(MARK) else b""
    newline = read(content).newline
    shape = ["metadata:", f"  type: {render(value)}"] if field == "type" else [f"{field}: {render(value)}"]
    text = newline.join(["---", *shape, "---", "", ""])
    return mark + text.encode() + content[len(mark) :]


def _unreadable(field: str, line: int, reason: str) -> InputRefused:
    return InputRefused(
        f"the {field} cannot be set: line {line}: {reason}",
        hint="correct that line by hand, or write the whole text anew",
    )


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputRefused(
            f"the {what} is not text: half a surrogate pair at character {error.start + 1}",
            hint="leave that character out",
        ) from None
