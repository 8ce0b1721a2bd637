"""Whether an agent kept memories itself, as its transcript tells. Pure."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise

from memstore.claude.entries import Entry, ToolCall

_WRITERS = ("Write", "Edit", "MultiEdit")
_SERVER = ("memory_write", "memory_edit", "memory_delete")
_COMMANDS = ("write", "append", "edit", "set", "delete", "rename", "supersede")


def own_saves(entries: Iterable[Entry], folders: Sequence[str]) -> list[str]:
    """What the main agent wrote in the memory folders, by file, by the MCP server or by a command, each once.

    A subagent's entries are of another kind, and what it does is not the main agent's doing. What failed, was not
    permitted or has no result yet was not written.
    """
    entries = list(entries)
    done = {entry.answers for entry in entries} - {entry.answers for entry in entries if entry.failed}
    tools = (call for entry in entries if entry.kind == "assistant" for call in entry.tools)
    calls = (call for call in tools if call.id in done)
    found = (_saved(call, [posixpath.normpath(folder) for folder in folders]) for call in calls)
    return list(dict.fromkeys(name for name in found if name is not None))


def _saved(call: ToolCall, folders: Sequence[str]) -> str | None:
    if call.name in _WRITERS and call.path is not None:
        path = posixpath.normpath(call.path)
        for folder in folders:
            if path.startswith(f"{folder}/"):
                return path[len(folder) + 1 :]
    if call.name.endswith(_SERVER) and call.name.startswith("mcp__"):
        return f"by {call.name.rpartition('__')[2]}"
    if call.name == "Bash" and call.command is not None and _is_ours(call.command):
        return "by the command line"
    return None


def _is_ours(command: str) -> bool:
    """Whether a shell command runs `memstore` to write something. In doubt it does not: then a model looks."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    return any(posixpath.basename(one) == "memstore" and other in _COMMANDS for one, other in pairwise(words))
