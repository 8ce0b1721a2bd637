"""The client's own fork of a session, as its hooks meet it: it thinks about what was said, and changes nothing.

memstore starts such a fork itself (`jobs/fork.py`), so no hook may record what it does, queue it or start anything.
Only `PreToolUse` says something: what is not known to be for reading is denied. Cheap to import.
"""

from __future__ import annotations

import os

VARIABLE = "MEMSTORE_FORK"
"""Set in the environment of a fork, and so in that of all that it starts."""

READERS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "ToolSearch"})
"""The client's own tools that only read. A tool that is not known may do anything."""

OWN_READERS = ("memory_list", "memory_read", "memory_search", "memory_history")
"""The tools of memstore's MCP server that only read."""

REASON = (
    "This is a fork that memstore made of the session, and it only reads: nothing is written, deleted or run here."
    " Put what is to be changed into the list that you answer with."
)

DENIAL = (
    b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
    b'"permissionDecisionReason":"' + REASON.encode() + b'"}}\n'
)


def answer(event: str, data: bytes | None) -> bytes:
    """What a hook prints in a fork. `data` None: there was more than is looked at."""
    if event != "PreToolUse":
        return b""
    from memstore.store.quick import Json

    found = None if data is None else Json().fields(data, ("tool_name",))
    tool = found[0] if found else None
    return b"" if isinstance(tool, bytes) and only_reads(os.fsdecode(tool)) else DENIAL


def only_reads(tool: str) -> bool:
    """Whether a tool is known to change nothing."""
    server, _, name = tool.rpartition("__")
    return tool in READERS or (server.startswith("mcp__") and "memstore" in server and name in OWN_READERS)
