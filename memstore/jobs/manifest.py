"""The memories that there are, a line for each, as a model is told of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from memstore.core.model import Memory
from memstore.jobs.team import TEAM

MOST = 400
"""Memories that are listed: the newest; the rest is counted."""

_LONGEST = 160


def manifest(memories: Iterable[Memory], most: int = MOST) -> str:
    """`- [type] path (when it was changed): description`, newest first; of team memory `[team, type]`.

    No text makes a line of its own.
    """
    found = sorted(memories, key=lambda memory: (-memory.changed_at, memory.path))
    lines = [_line(memory) for memory in found[:most]]
    if len(found) > most:
        lines.append(f"({len(found) - most} older ones are not listed: Grep and Glob find them)")
    return "\n".join(lines) or "(none yet)"


def _line(memory: Memory) -> str:
    when = datetime.fromtimestamp(memory.changed_at / 1_000_000, UTC)
    kinds = ([TEAM] if memory.state.shelf.scope == TEAM else []) + ([_plain(memory.type)] if memory.type else [])
    kind = f"[{', '.join(kinds)}] " if kinds else ""
    told = f": {_plain(memory.description)}" if memory.description else ""
    return f"- {kind}{_plain(memory.path)} ({when:%Y-%m-%dT%H:%MZ}){told}"


def _plain(text: str) -> str:
    """On one line, without what cannot be seen."""
    shown = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
