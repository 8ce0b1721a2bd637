"""The list of changes that a fork answers with, as calls of the tools of a run. Pure.

A list is taken as a whole or not at all: half of an answer is not what was meant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from memstore.errors import InputRefused
from memstore.jobs.messages import ToolUse

MOST = 100
"""Changes in one list."""

LARGEST = 1_000_000
"""Characters of an answer."""

_FENCE = "```"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of change: the tool that carries it out, and for each member of the change that tool's parameter."""

    tool: str
    needed: Mapping[str, str]
    others: Mapping[str, str]


_VOUCHED: Final = {"quote": "quote", "message": "message"}
KINDS: Final[Mapping[str, Kind]] = {
    "read": Kind("Read", {"path": "file_path"}, {}),
    "write": Kind("Write", {"path": "file_path", "content": "content"}, _VOUCHED),
    "edit": Kind(
        "Edit", {"path": "file_path", "old": "old_string", "new": "new_string"}, {"all": "replace_all", **_VOUCHED}
    ),
    "delete": Kind("Delete", {"path": "file_path", "reason": "reason"}, _VOUCHED),
}
_TYPES: Final[Mapping[str, type]] = {"all": bool, "message": int}
"""Of the members that are no texts."""


@dataclass(frozen=True, slots=True)
class ChangeList:
    """What is to be done, in this order, and in one sentence why."""

    calls: tuple[ToolUse, ...]
    reason: str


def parse(text: str, prefix: str = "change") -> ChangeList:
    """The list in an answer: one JSON object, plain or in a fence with words around it.

    `prefix`: what the ids of the calls begin with. Raises InputRefused, which says what is wrong.
    """
    found = _object(text)
    if set(found) != {"changes", "reason"}:
        raise InputRefused('the object needs "changes" and "reason", and nothing else')
    changes, reason = found["changes"], found["reason"]
    if not isinstance(changes, list) or not isinstance(reason, str):
        raise InputRefused('"changes" is a list, "reason" a text')
    if len(changes) > MOST:
        raise InputRefused(f"there are {len(changes)} changes; a list has {MOST} at most")
    if not reason.strip():
        raise InputRefused('"reason" is empty')
    calls = (_call(number, change, f"{prefix}-{number}") for number, change in enumerate(changes, 1))
    return ChangeList(tuple(calls), " ".join(reason.split()))


def _object(text: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise InputRefused(f"the answer has {len(text)} characters; it has {LARGEST} at most")
    start, fenced = _start(text)
    try:
        found, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise InputRefused(f"the JSON cannot be read: {_why(error)}") from None
    rest = text[end:].strip()
    if fenced:
        closed, _, rest = rest.partition(_FENCE)
        if closed.strip() or not text[end:].lstrip().startswith(_FENCE):
            raise InputRefused("the fence around the JSON is not closed right behind it")
        if _FENCE in rest:
            raise InputRefused("there is more than one fence, so it is not clear which holds the list")
    elif rest:
        raise InputRefused("something stands behind the JSON object")
    if not isinstance(found, dict):
        raise InputRefused("the answer is no JSON object")
    return found


def _start(text: str) -> tuple[int, bool]:
    """Where the object begins, and whether it is in a fence."""
    plain = len(text) - len(text.lstrip())
    if text.startswith("{", plain):
        return plain, False
    fence = text.find(_FENCE)
    if fence < 0:
        raise InputRefused("there is no JSON object in the answer, neither by itself nor in a fence")
    inside = text[fence + len(_FENCE) :]
    body = inside.removeprefix("json").lstrip()
    return len(text) - len(body), True


def _call(number: int, change: object, identity: str) -> ToolUse:
    if not isinstance(change, dict):
        raise InputRefused(f"change {number} is no object")
    kind = KINDS.get(change["do"]) if isinstance(change.get("do"), str) else None
    if kind is None:
        raise InputRefused(f'change {number}: "do" is one of {", ".join(KINDS)}')
    known = {**kind.needed, **kind.others}
    given: dict[str, object] = {}
    for name, value in change.items():
        if name == "do" or (value is None and name in kind.others):
            continue
        if name not in known:
            raise InputRefused(f"change {number}: there is no {name[:40]!r} in a change of this kind")
        if type(value) is not _TYPES.get(name, str):
            raise InputRefused(f"change {number}: {name!r} is no {_TYPES.get(name, str).__name__}")
        given[known[name]] = value
    missing = [name for name, parameter in kind.needed.items() if parameter not in given]
    if missing:
        raise InputRefused(f"change {number} lacks {', '.join(missing)}")
    return ToolUse(identity, kind.tool, given)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InputRefused("the JSON cannot be read: a name stands in an object twice")
    return found


def _constant(name: str) -> object:
    raise InputRefused(f"the JSON cannot be read: {name} is no JSON")


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} in line {error.lineno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)
