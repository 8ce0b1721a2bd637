"""What a tool answers: a JSON object that says what it is, then the text itself, if any; and errors in the same form.

An error says what is wrong and what to do next. It never names a path of this machine, a statement or a value that
the caller did not give.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memstore.errors import (
    AlreadyExists,
    Conflict,
    Defect,
    DiskFull,
    InputRefused,
    MemstoreError,
    Mendable,
    Moved,
    NotFound,
    NotTrusted,
    OperationReused,
    StaleVersion,
    StoreBusy,
    StoreDamaged,
    StoreNewer,
    StoreReadOnly,
)
from memstore.mcp.pages import page_of

_ENCODED = json.JSONEncoder(ensure_ascii=False).encode
_PATH = re.compile(r"(?<![\w.<])(?<!memory:)(?<!memory:/)~?/[^\s'\"`,;()]*[^\s'\"`,;().:]")

_MESSAGES: tuple[tuple[type[MemstoreError], str, str], ...] = (
    (StoreBusy, "other processes kept the store locked; nothing was written", "try again in a moment"),
    (StoreReadOnly, "the store is read-only here; nothing was written", "tell the user: `memstore status` says why"),
    (DiskFull, "the disk is full; nothing was written", "tell the user to free some space, then repeat the call"),
    (StoreDamaged, "the store does not read as a sound database; it was left as it is", "tell the user"),
    (StoreNewer, "the store belongs to a newer memstore by now", "tell the user to start this session again"),
    (Moved, "this repository was known elsewhere, and its memories wait for it", "tell the user: `memstore link`"),
    (NotTrusted, "a setting that came with the repository waits for consent", "tell the user: `memstore trust`"),
)
"""Those whose own words name places of this machine."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The blocks of an answer, and whether it is an error."""

    blocks: tuple[str, ...]
    failed: bool = False


def answer(facts: Mapping[str, object], *texts: str) -> Answer:
    """An object, without what is None, and the texts after it."""
    return Answer((dumped(facts), *texts))


def dumped(facts: Mapping[str, object]) -> str:
    """One line of JSON."""
    return _ENCODED({key: value for key, value in facts.items() if value is not None})


def moment(at: int) -> str:
    """Unix microseconds as text."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def refusal(error: Exception, hidden: Sequence[str] = (), **facts: object) -> Answer:
    """An error as an answer. What is not of memstore's own kinds is told by its kind alone."""
    message, hint = (_without_places(text, hidden) for text in _words(error))
    kind = type(error).__name__ if isinstance(error, Mendable) else "Defect"
    return Answer((dumped({"error": kind, "message": message, "hint": hint or None, **facts}),), failed=True)


def conflict(error: Conflict, current: str, version: str, *, deleted: bool = False) -> Answer:
    """A write that came too late: the version that stands there, and its text (the first page of it)."""
    page = page_of(current)
    told = refusal(
        error,
        current_version=version,
        current_deleted=deleted or None,
        next=None if page.next is None else f"{version}-{page.next}",
    )
    return Answer((*told.blocks, page.text), failed=True)


def _without_places(text: str, hidden: Sequence[str]) -> str:
    for name in hidden:
        text = text.replace(name, "…")
    return _PATH.sub("…", text)


def _words(error: Exception) -> tuple[str, str]:
    for kind, message, hint in _MESSAGES:
        if isinstance(error, kind):
            return message, hint
    if isinstance(error, Conflict) and not isinstance(error, OperationReused):
        return _conflict_words(error)
    if isinstance(error, NotFound):
        return str(error), "see memory_history" if "memstore log" in error.hint else "see memory_list or memory_search"
    if isinstance(error, InputRefused):
        return str(error), error.hint
    if isinstance(error, Defect) or not isinstance(error, MemstoreError):
        return "memstore's own fault; nothing else is known to be wrong", "try again; if it stays, tell the user"
    return str(error), error.hint


def _conflict_words(error: Conflict) -> tuple[str, str]:
    again = "take its current text into account and repeat the call with if_version = current_version"
    if isinstance(error, StaleVersion):
        return f"{error.name} is no longer at version {error.expected}; nothing was written", again
    if isinstance(error, AlreadyExists):
        return f"{error.name} exists already; nothing was written", again
    return str(error), "see memory_history"
