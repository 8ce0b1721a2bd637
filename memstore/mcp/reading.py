"""Texts as clients are given them."""

from __future__ import annotations

from memstore.app import Memstore
from memstore.core.index_render import render
from memstore.errors import InputRefused
from memstore.store import lines

UNDECIDED = "edits of the memory files could not be taken in: the user sees why with `memstore status`"


def index_text(memories: Memstore) -> str:
    """The index, as the client loads it."""
    memories.look()
    with memories.store.view() as connection:
        rows = lines.rows(connection, memories.shelf)
        return render(rows, lines.entries(connection, memories.shelf)).text if rows else ""


def doubt(memories: Memstore) -> str | None:
    """What there is to know of a text that may be older than its file; None where there is nothing."""
    return UNDECIDED if memories.undecided else None


def decoded(content: bytes) -> str:
    """The text of a document that is to be edited. Raises InputRefused where a byte of it would be lost by that."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputRefused(
            "the document is not UTF-8 throughout", hint="write it anew as a whole with memory_write"
        ) from None
