"""The end of a transcript, for what a client has noted of itself there: its version, and what the session has cost."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
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


def tokens_of(usage: object) -> int:
    """All tokens of a client's count by model."""
    models = usage.values() if isinstance(usage, Mapping) else ()
    counts = (model.get(name) for model in models if isinstance(model, Mapping) for name in _COUNTED)
    return sum(count for count in counts if isinstance(count, int))


def _rows(tail: bytes) -> Iterator[dict[str, Any]]:
    """The lines that may tell something, last one first."""
    for line in reversed(tail.split(b"\n")):
        if b'"version"' in line or b'"cost-state"' in line:
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
