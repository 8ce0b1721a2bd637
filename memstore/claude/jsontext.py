"""One member of a JSON file is put in or taken out; every other byte stays as it was.

A settings file is somebody's own: its order, indentation, line ends and unknown keys are kept by editing the
text, not by writing the value anew. What `put` adds, `take` removes again, byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memstore.errors import InputRefused

_SPACE = re.compile("[ \t\r\n]*")
_LINE = re.compile("\r?\n")
_BOM = "\ufeff"
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int  # of the key
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    start: int  # of the brace
    end: int  # behind the closing brace
    members: tuple[_Member, ...]


def read_object(text: str, shown: str) -> Mapping[str, Any]:
    """The object that the text holds; a blank text holds an empty one. Raises InputRefused, naming `shown`."""
    body = text.removeprefix(_BOM)
    if not body.strip(" \t\r\n"):
        return {}
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError):
        reason = "a number or the nesting in it is too large"
    else:
        if isinstance(value, dict):
            return value
        reason = "it holds no object"
    raise InputRefused(
        f"{shown} is not JSON that can be edited ({reason}); it is left as it is",
        hint="mend it, then repeat the command; comments and commas at the end are not JSON, to the client neither",
    )


def get(content: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value under the keys, or None."""
    found: Any = content
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def put(text: str, path: Sequence[str], value: Any, shown: str) -> str:
    """The text with `value` under the keys of `path`; objects that are missing on the way are made.

    Raises InputRefused where something else than an object stands on the way, or a key stands twice.
    """
    if get(read_object(text, shown), path) == value and value is not None:
        return text
    if not text.removeprefix(_BOM).strip(" \t\r\n"):
        return text + _rendered(_nested(path, value), "", "\n", "  ") + "\n"
    here = _object(text, _start(text))
    for depth, key in enumerate(path):
        member = _only(here, key, shown)
        if member is None:
            return _insert(text, here, key, _nested(path[depth + 1 :], value))
        if depth == len(path) - 1:
            outer, newline, unit = _style(text, here)
            return text[: member.value] + _rendered(value, outer, newline, unit) + text[member.end :]
        here = _inner(text, member, shown)
    return text


def take(text: str, path: Sequence[str], shown: str) -> str:
    """The text without the member under the keys of `path`; the text itself where there is none."""
    if not text.removeprefix(_BOM).strip(" \t\r\n"):
        return text
    read_object(text, shown)
    here = _object(text, _start(text))
    for key in path[:-1]:
        member = _only(here, key, shown)
        if member is None:
            return text
        here = _inner(text, member, shown)
    member = _only(here, path[-1], shown)
    if member is None:
        return text
    at = here.members.index(member)
    if len(here.members) == 1:
        return text[: here.start] + "{}" + text[here.end :]
    if at == 0:
        return text[: member.start] + text[here.members[1].start :]
    return text[: here.members[at - 1].end] + text[member.end :]


def is_empty(text: str, path: Sequence[str], shown: str) -> bool:
    """Whether an object without members stands under the keys."""
    return bool(get(read_object(text, shown), path) == {})


def _start(text: str) -> int:
    return _space(text, len(_BOM) if text.startswith(_BOM) else 0)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _object(text: str, start: int) -> _Object:
    """The members of the object whose brace is at `start`, in a text that is known to be JSON."""
    members: list[_Member] = []
    at = _space(text, start + 1)
    while text[at] != "}":
        key, behind = _DECODER.raw_decode(text, at)
        value = _space(text, _space(text, behind) + 1)
        end = _DECODER.raw_decode(text, value)[1]
        members.append(_Member(key, at, value, end))
        at = _space(text, end)
        if text[at] == ",":
            at = _space(text, at + 1)
    return _Object(start, at + 1, tuple(members))


def _inner(text: str, member: _Member, shown: str) -> _Object:
    if text[member.value] != "{":
        raise InputRefused(
            f"{shown} has something else than an object under {member.key!r}; it is left as it is",
            hint="the client expects an object there; mend it",
        )
    return _object(text, member.value)


def _only(here: _Object, key: str, shown: str) -> _Member | None:
    found = [member for member in here.members if member.key == key]
    if len(found) > 1:
        raise InputRefused(f"{shown} has {key!r} twice in one object; it is left as it is", hint="take one of them out")
    return found[0] if found else None


def _insert(text: str, here: _Object, key: str, value: Any) -> str:
    """A member behind the last one, in the manner of the others."""
    outer, newline, unit = _style(text, here)
    member = json.dumps(key, ensure_ascii=False) + ": " + _rendered(value, outer, newline, unit)
    if here.members:
        end = here.members[-1].end
        gap = newline + outer if newline else " "
        return text[:end] + "," + gap + member + text[end:]
    inside = newline + outer + member + newline + outer.removesuffix(unit) if newline else member
    return text[: here.start + 1] + inside + text[here.end - 1 :]


def _style(text: str, here: _Object) -> tuple[str, str, str]:
    """Indentation of the object's members, its line end (empty: all on one line), and one step of indentation."""
    if here.members:
        gap = text[here.start + 1 : here.members[0].start]
        lines = _LINE.findall(gap)
        if not lines:
            return "", "", ""
        outer = gap.rsplit("\n", 1)[1]
        return outer, lines[0], _step(text) or outer
    found = _LINE.search(text)
    top = _object(text, _start(text))
    if found is None or (top.members and "\n" not in text[top.start : top.members[0].start]):
        # All on one line, except that an object with nothing in it says nothing of how its owner writes.
        return ("  ", found[0] if found else "\n", "  ") if not top.members else ("", "", "")
    line = text[text.rfind("\n", 0, here.start) + 1 : here.start]
    unit = _step(text) or "  "
    return line[: len(line) - len(line.lstrip(" \t"))] + unit, found[0], unit


def _step(text: str) -> str:
    top = _object(text, _start(text))
    if not top.members:
        return ""
    gap = text[top.start + 1 : top.members[0].start]
    return gap.rsplit("\n", 1)[1] if "\n" in gap else ""


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _rendered(value: Any, outer: str, newline: str, unit: str) -> str:
    if not newline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit or None).split("\n")
    return (newline + outer).join(lines)
