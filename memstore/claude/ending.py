"""The end of a transcript, for what a client has noted of itself there: its version, and what the session has cost."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_TAIL: Final = 512 * 1024
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_COUNTED = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


@dataclass(frozen=True, slots=True)
class CostState:
    """What a session had cost at one of its ends. `tokens`: of all models; `dollars`: None where a price is unknown."""

    tokens: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class End:
    """What the end of a transcript tells. `version`: of the client that wrote the last entry; empty: it is not told.

    `costs`: newest first; a client that resumes the session begins to count from one of them.
    """

    version: str = ""
    costs: tuple[CostState, ...] = ()


def read_end(path: str) -> End:
    """The end of a transcript; an empty one where it cannot be read."""
    version = ""
    costs: list[CostState] = []
    for row in _rows(_tail(path)):
        told = row.get("version")
        version = version or (told if isinstance(told, str) else "")
        if row.get("type") == "cost-state":
            dollars = row.get("totalCostUSD")
            known = float(dollars) if isinstance(dollars, int | float) and not row.get("hasUnknownModelCost") else None
            costs.append(CostState(tokens_of(row.get("modelUsage")), known))
    return End(version, tuple(costs))


def tools_in_use(path: str, most: int = 12) -> list[str]:
    """The tools that the session called last, newest first, each once; none where its transcript cannot be read."""
    found: dict[str, None] = {}
    for row in _rows(_tail(path), (b'"tool_use"',)):
        message = row.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in reversed(content) if isinstance(content, list) else ():
            name = block.get("name") if isinstance(block, dict) and block.get("type") == "tool_use" else None
            if isinstance(name, str) and name:
                found.setdefault(name[:100])
        if len(found) >= most:
            break
    return list(found)[:most]


def tokens_of(usage: object) -> int:
    """All tokens of a client's count by model."""
    models = usage.values() if isinstance(usage, Mapping) else ()
    counts = (model.get(name) for model in models if isinstance(model, Mapping) for name in _COUNTED)
    return sum(count for count in counts if isinstance(count, int))


def _rows(tail: bytes, marks: Sequence[bytes] = (b'"version"', b'"cost-state"')) -> Iterator[dict[str, Any]]:
    """The lines that may tell something, last one first."""
    for line in reversed(tail.split(b"\n")):
        if any(mark in line for mark in marks):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue  # the first one is cut off
            if isinstance(row, dict):
                yield row


def _tail(path: str) -> bytes:
    try:
        handle = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return b""
        return os.pread(handle, _TAIL, max(0, found.st_size - _TAIL))
    except OSError:
        return b""
    finally:
        os.close(handle)
