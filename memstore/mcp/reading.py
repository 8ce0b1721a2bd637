"""Texts as clients are given them."""

from __future__ import annotations

from memstore.app import Memstore
from memstore.core.index_values import in_order
from memstore.core.model import Memory
from memstore.errors import InputRefused

UNDECIDED = "edits of the memory files could not be taken in: the user sees why with `memstore status`"
CHANGED = "the index has changed since its first page, so that lines may be missing or here twice: read it anew"


def index_text(memories: Memstore) -> str:
    """The whole index, also the lines for which its file has no room."""
    memories.look()
    return "\n".join(row.text for row in in_order(memories.store.index(memories.shelf)))


def documents(memories: Memstore, cursor: str | None) -> list[Memory]:
    """All documents. Edits of their files are looked for before the first page, not before each of many."""
    return memories.memories() if cursor is None else memories.store.memories(memories.shelf)


def doubt(memories: Memstore) -> str | None:
    """What there is to know of a text that may be older than its file; None where there is nothing."""
    return UNDECIDED if memories.undecided else None


def words_of(origin: str) -> str | None:
    """A mark for what nobody but a tool said; None for the words of people and agents."""
    return "tools" if origin == "tool" else None


def decoded(content: bytes) -> str:
    """The text of a document that is to be edited. Raises InputRefused where a byte of it would be lost by that."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputRefused(
            "the document is not UTF-8 throughout", hint="write it anew as a whole with memory_write"
        ) from None
