"""What the client's fork is told: which part of the conversation is new, and what came of its earlier answers. Pure.

All that somebody else wrote stands in JSON, in which no text is taken for an order or for the name of a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from memstore.claude.entries import Entry
from memstore.jobs.change_list import KINDS
from memstore.jobs.messages import Message, Text, ToolResult, ToolUse
from memstore.jobs.window import Window

UNREAD: Final = "list"
"""The name of a call that stands for an answer that is no list of changes."""

_OLD = 20
"""Of a long part's messages of the person so many first ones and so many last ones are named."""
_BEGINNING = 400
_KINDS_OF_TOOLS: Final = {kind.tool: name for name, kind in KINDS.items()}


def material(part: Window, compacted: int, listed: str) -> str:
    """The memories that there are, which messages are new, and what of them a compaction took out of the conversation.

    `compacted`: the byte of the transcript before which that is all.
    """
    people = [(number, entry) for number, entry in enumerate(part.shown, 1) if entry.kind == "person"]
    new: list[object] = [_named(number, entry) for number, entry in people]
    if len(new) > 2 * _OLD:
        new[_OLD:-_OLD] = [f"({len(new) - 2 * _OLD} messages in between are new, too)"]
    told: dict[str, object] = {"memories": listed.split("\n"), "new": {"messages of the person": new}}
    if part.more:
        told["new"] = {"messages of the person": new, "what comes after the last of them": "is looked at later"}
    lost = sum(entry.end <= compacted for entry in part.shown)
    if lost:
        told["new, but taken out of your conversation by a compaction"] = _first(part.text, lost)
    return _dumped(told)


def _named(number: int, entry: Entry) -> dict[str, object]:
    text = " ".join(entry.text.split())
    cut = text if len(text) <= _BEGINNING else text[:_BEGINNING] + "…"
    return {"message": number, "at": entry.at, "begins": cut}


def _first(text: str, messages: int) -> list[str]:
    """The lines of the first messages of a window."""
    lines = text.split("\n")
    heads = [at for at, line in enumerate(lines) if line.startswith("[")]
    return lines[: heads[messages]] if messages < len(heads) else lines


def text(system: Sequence[str], messages: Sequence[Message]) -> str:
    """All that one fork is told: what it is to do, about what, and what came of the answers before its own."""
    first, *later = messages
    parts = [*system, _fenced(first.blocks[0].text if isinstance(first.blocks[0], Text) else "")]
    uses: dict[str, ToolUse] = {}
    for message in later:
        uses |= {block.id: block for block in message.blocks if isinstance(block, ToolUse)}
        came = [_came(block, uses) for block in message.blocks if isinstance(block, ToolResult)]
        words = [block.text for block in message.blocks if isinstance(block, Text)]
        if came:
            parts.append("You answered already. This is what came of your changes:\n\n" + _fenced(_dumped(came)))
        elif message.role == "user" and words:
            parts.append("This has to be told of them:\n\n" + _fenced(_dumped(words)))
    if later:
        parts.append(
            "Answer once more with such an object: what is to be done in place of what was not done. What was done"
            " stays and is not listed again; an empty list leaves it at that."
        )
    return "\n\n".join(parts) + "\n"


def _came(result: ToolResult, uses: Mapping[str, ToolUse]) -> dict[str, object]:
    use = uses.get(result.id, ToolUse(result.id, "", {}))
    if use.name == UNREAD:
        return {"done": False, "your answer": use.input.get("answer"), "because": result.text}
    change = _change(use)
    if result.error:
        return {"done": False, "change": change, "because": result.text}
    brief = {name: change[name] for name in ("do", "path") if name in change}
    return {"done": True, "change": brief, **({"text": result.text} if use.name == "Read" else {})}


def _change(use: ToolUse) -> dict[str, object]:
    """A call as a member of a list."""
    name = _KINDS_OF_TOOLS[use.name]
    members = {parameter: member for member, parameter in (*KINDS[name].needed.items(), *KINDS[name].others.items())}
    return {"do": name, **{members[parameter]: value for parameter, value in use.input.items()}}


def _dumped(value: object) -> str:
    """JSON in which no text is taken for the name of a file: the client reads in what follows an @."""
    return json.dumps(value, ensure_ascii=False, indent=1).replace("@", "\\u0040")


def _fenced(text: str) -> str:
    return f"```json\n{text}\n```"
