"""A model picks memories for a prompt: one question over the list of what there is. It decides nothing else.

The list comes first and is the same for each prompt of a session while the memories are, so that the API caches it.
Names that are not in the list, anything beyond five, and an answer of any other shape count for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from memstore.core.model import Memory
from memstore.core.recall_text import MEMORIES
from memstore.jobs.manifest import manifest
from memstore.jobs.messages import Reply, Request, user
from memstore.jobs.showing import framed, visible

LIMIT: Final = 256
"""Tokens of an answer."""
LISTED: Final = 200
"""Memories of the list."""

_FIELD = "selected_memories"
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {_FIELD: {"type": "array", "items": {"type": "string"}}},
    "required": [_FIELD],
    "additionalProperties": False,
}
_LONGEST = 8_000  # characters of a prompt: its beginning and its end
_NAMED = 60


def question(
    model: str, memories: Sequence[Memory], prompt: str, known: Sequence[str] = (), tools: Sequence[str] = ()
) -> Request:
    """What a model is asked. `known`: paths that the session has; `tools`: those in use."""
    listed = framed("The memories, newest first.", manifest(memories, LISTED))
    asked = [framed("The prompt.", visible(_shortened(prompt)))]
    if known:
        asked.append(framed("The session knows these.", visible("\n".join(known[:_NAMED]))))
    if tools:
        asked.append(framed("Tools in use right now.", visible("\n".join(tools[:_NAMED]))))
    return Request(model, (user(listed), user("\n\n".join(asked))), LIMIT, (_rules(),), (), _SCHEMA)


def picked(reply: Reply, paths: Sequence[str]) -> list[str]:
    """The paths that were picked, of those that are in the list; none where the answer is not of the shape."""
    if reply.cut:
        return []
    try:
        found = json.loads(reply.text)
    except (ValueError, RecursionError):
        return []
    names = found.get(_FIELD) if isinstance(found, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    known = set(paths)
    return [name for name in dict.fromkeys(names) if name in known][:MEMORIES]


def _shortened(prompt: str) -> str:
    half = _LONGEST // 2
    return prompt if len(prompt) <= _LONGEST else f"{prompt[:half]}\n…\n{prompt[-half:]}"


@cache
def _rules() -> str:
    return files("memstore.jobs").joinpath("prompts", "recall.md").read_text(encoding="utf-8")
