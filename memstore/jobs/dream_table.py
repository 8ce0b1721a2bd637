"""The tools of a dream, as a model is told of them: those of every run, with what a dream must say besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memstore.jobs.messages import Tool
from memstore.jobs.tool_table import DELETE, EDIT, GLOB, GREP, READ, WRITE

_REASON: Final = {"type": "string", "description": "Why, in one sentence; it is kept and shown to the person"}
_LINES: Final = {
    "type": "array",
    "description": (
        "What becomes of each line of the old texts (the description and the lines of the body) that is not in the"
        " result as it was. Without it the call is refused, and the lines that are missing are named"
    ),
    "items": {
        "type": "object",
        "properties": {
            "line": {"type": "string", "description": "The old line, whole"},
            "fate": {"type": "string", "enum": ["reworded", "dropped"]},
            "now": {"type": "string", "description": "For reworded: the words in the result that say it"},
            "reason": {"type": "string", "description": "Why, in a few words"},
        },
        "required": ["line", "fate", "reason"],
        "additionalProperties": False,
    },
}
_SOURCES: Final = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Paths of the memory files that the text was made from, beside the file itself",
}
_INTO: Final = {
    "type": "string",
    "description": (
        "Path of the file that says it now, where two are merged: write that one first. Every line of the deleted file"
        " must be in it, or be listed in `lines`"
    ),
}
_QUOTE: Final = {
    "type": "string",
    "description": (
        "Words that the person wrote in a session, word for word, as Grep shows them, that ask for this and name what"
        " it is about"
    ),
}


def _with(tool: Tool, description: str, more: Mapping[str, object], required: tuple[str, ...]) -> Tool:
    schema = dict(tool.schema)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    kept = {name: value for name, value in properties.items() if name not in ("message", "reason", "quote")}
    schema |= {"properties": {**kept, **more}, "required": list(required)}
    return replace(tool, description=description, schema=schema)


_MATERIAL = (
    " So are CLAUDE.md and the files below logs/ (where there are any); what is below sessions/ is only searched."
)

TOOLS: Final = (
    replace(READ, description=READ.description + _MATERIAL),
    replace(
        GREP,
        description=GREP.description
        + " Without a path the memories are searched; name logs, CLAUDE.md, sessions or one file below these to look"
        " there. In sessions the words must say enough, and the first lines are shown.",
    ),
    replace(GLOB, description=GLOB.description + " Also logs/* and sessions/*."),
    _with(
        EDIT,
        EDIT.description + " A person's memory (user, feedback) gets no words that are not in it or in what is merged"
        " into it, and loses none, but with a quote of the person.",
        {"reason": _REASON, "lines": _LINES, "sources": _SOURCES, "quote": _QUOTE},
        ("file_path", "old_string", "new_string", "reason"),
    ),
    _with(
        WRITE,
        WRITE.description,
        {"reason": _REASON, "lines": _LINES, "sources": _SOURCES, "quote": _QUOTE},
        ("file_path", "content", "reason"),
    ),
    _with(
        DELETE,
        "Takes a memory file out of use: because another one says it now (give `into`), or because it is wrong or"
        " overturned. It must have been read in full before, and can be brought back. A pinned memory stays; a user or"
        " feedback memory goes only into one of these types, or with a quote of the person.",
        {"reason": _REASON, "into": _INTO, "lines": _LINES, "quote": _QUOTE},
        ("file_path", "reason"),
    ),
)
"""What a dream has. No shell, no network."""
