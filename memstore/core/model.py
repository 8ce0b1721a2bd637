"""The values that everything speaks of: memories, their versions, operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["person", "agent", "file", "team", "import", "tool"]
ORIGINS: tuple[Origin, ...] = ("person", "agent", "file", "team", "import", "tool")
"""Most to least trusted. Derived text takes the least trusted origin of its inputs."""

Listing = Literal["listed", "due", "unlisted"]
"""Whether the index names a memory: it does, it will with the next real write, or a person took it out."""

LARGEST = 16 * 1024 * 1024
"""Bytes of the largest text that is a memory; a larger file is left alone."""

NEW = "new"
"""What a write expects when the memory must not exist yet."""

INDEX_NAME = "MEMORY.md"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where a memory stands: who shares it, and which worktrees see it."""

    scope: str = "private"
    layer: str = "shared"


SHELF = Shelf()

WORDS_OF_TOOLS = "words of tools"
"""The mark of a memory whose origin is `tool`, wherever one is named: it is nobody's wish."""

NOTES = Shelf("session")
"""Where the notes of sessions stand: with history, but in no folder, index, search, list of memories or count."""
NOTES_KIND = "notes"
"""What their jobs, runs and operations are called."""


@dataclass(frozen=True, slots=True)
class State:
    """All that one version says of a memory."""

    shelf: Shelf
    path: str
    content: bytes
    live: bool = True
    pinned: bool = False
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it stands now. Times are unix microseconds."""

    id: str
    version: int
    token: str
    state: State
    name: str
    description: str
    type: str | None
    origin: Origin
    listing: Listing
    created_at: int
    changed_at: int
    seq: int

    @property
    def path(self) -> str:
        """The address on its shelf, such as `feedback-testing.md`."""
        return self.state.path


@dataclass(frozen=True, slots=True)
class Version:
    """One row version of a memory, as it was written."""

    memory: str
    number: int
    token: str
    parent: str | None
    change: str
    state: State
    name: str
    description: str
    type: str | None
    origin: Origin
    operation: str
    seq: int
    at: int


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who acts, and from where."""

    origin: Origin
    author: str
    session: str | None = None
    worktree: str | None = None
    branch: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One committed transaction. `seq` is the commit order in this store."""

    id: str
    seq: int
    kind: str
    at: int
    provenance: Provenance
    reason: str
    undoes: str | None


@dataclass(frozen=True, slots=True)
class Applied:
    """What `Store.apply` did: the operation and the versions it made. `repeated`: it had been done before."""

    operation: str
    seq: int
    versions: tuple[Version, ...]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class ConflictRecord:
    """Two texts for one place that could not be merged. The current one is the memory's own."""

    id: str
    memory: str | None
    path: str
    kind: str
    base: bytes | None
    theirs: bytes
    note: str
    at: int
    operation: str
    resolved_by: str | None
    resolution: str | None


def least_trusted(*origins: Origin) -> Origin:
    """The origin that text derived from all of these carries."""
    return max(origins, key=ORIGINS.index)
