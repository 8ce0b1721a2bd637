"""A write as a value, before it happens: what changes, and the version each step expects.

Every step names the token it is based on; a step without one can overwrite no words (it appends, pins, or
points). `next_state` is the only place where a step becomes a memory's next state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memstore.core.model import Listing, Origin, Provenance, Shelf, State
from memstore.errors import Conflict, Defect, NotFound


@dataclass(frozen=True, slots=True)
class Create:
    """A new memory at a path that must be free."""

    memory: str
    shelf: Shelf
    path: str
    content: bytes
    pinned: bool = False
    listing: Listing = "due"
    due_at: int | None = None


@dataclass(frozen=True, slots=True)
class Revise:
    """New text for a live memory; for a retired one it revives it. `merged`: words that stood there stay in it."""

    memory: str
    expect: str
    content: bytes
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """Text at the end of whatever stands there now: needs no token, loses nothing."""

    memory: str
    text: bytes


@dataclass(frozen=True, slots=True)
class Rename:
    """Another path, and perhaps the text that goes with it. The history stays."""

    memory: str
    expect: str
    path: str
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Retire:
    """Takes the memory out of use. Its versions stay. `by`: the id of the memory that has its words from now on."""

    memory: str
    expect: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """Pins or unpins."""

    memory: str
    pinned: bool


@dataclass(frozen=True, slots=True)
class Supersede:
    """Marks a memory as corrected by another (an id), or takes the mark away (None)."""

    memory: str
    by: str | None


@dataclass(frozen=True, slots=True)
class Restore:
    """Puts a whole earlier state back, as a new version."""

    memory: str
    expect: str
    state: State


Change = Create | Revise | Append | Rename | Retire | Pin | Supersede | Restore


@dataclass(frozen=True, slots=True)
class OpenConflict:
    """A text that could not be merged, kept beside the current one. `memory` None: the index."""

    id: str
    memory: str | None
    path: str
    kind: str
    base: bytes | None
    theirs: bytes
    note: str


@dataclass(frozen=True, slots=True)
class CloseConflict:
    """Settles a conflict."""

    id: str
    resolution: str


@dataclass(frozen=True, slots=True)
class AddIndexLine:
    """A new line of the index. `memory`: the memory it points to. `rank` None: at the end."""

    id: str
    kind: str
    text: str
    memory: str | None
    rank: str | None
    hook_by: str = "hand"


@dataclass(frozen=True, slots=True)
class SetIndexLine:
    """The whole next state of a line, if it is still at version `expect`; else nothing happens."""

    id: str
    expect: int
    kind: str
    text: str
    memory: str | None
    rank: str
    hook_by: str
    live: bool


@dataclass(frozen=True, slots=True)
class SetListing:
    """Whether the index should name a memory. `due_at` (unix microseconds): not before then."""

    memory: str
    listing: Listing
    due_at: int | None = None


LineChange = AddIndexLine | SetIndexLine | SetListing


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One operation to be: all of it happens, or none. `at` is unix microseconds."""

    operation: str
    kind: str
    at: int
    provenance: Provenance
    changes: tuple[Change, ...] = ()
    lines: tuple[LineChange, ...] = ()
    conflicts: tuple[OpenConflict | CloseConflict, ...] = ()
    reason: str = ""
    undoes: str | None = None
    request: str = ""
    """What the caller asked for, so that a repeated call is told from another one; empty: the changes themselves."""
    real: bool = True
    """A real write gives due memories their index line; absorbing a folder does not."""
    derived: tuple[tuple[str, Origin], ...] = ()
    """Memory id and origin of what its step was made from: that counts where it is less trusted than the actor's."""


def next_state(change: Change, head: State | None) -> State:
    """What `change` makes of the memory whose state is `head` (None: there is none).

    Raises Conflict or NotFound where the step does not fit the head.
    """
    if isinstance(change, Create):
        if head is not None:
            raise Defect(f"the memory id {change.memory} is in use already")
        return State(change.shelf, change.path, change.content, pinned=change.pinned)
    if head is None:
        raise NotFound(f"there is no memory with the id {change.memory}", hint="see `memstore list`")
    if isinstance(change, Revise):
        return replace(head, content=change.content, live=True)
    if isinstance(change, Append):
        if not head.live:
            raise Conflict(f"{head.path} is retired", hint=f"restore it first: memstore restore {head.path}")
        return replace(head, content=appended(head.content, change.text))
    if isinstance(change, Rename):
        content = head.content if change.content is None else change.content
        return replace(head, path=change.path, content=content, live=True)
    if isinstance(change, Retire):
        if not head.live:
            raise Conflict(f"{head.path} is retired already", hint="nothing is left to do")
        return replace(head, live=False, superseded_by=change.by or head.superseded_by)
    if isinstance(change, Pin):
        return replace(head, pinned=change.pinned)
    if isinstance(change, Supersede):
        return replace(head, superseded_by=change.by)
    return change.state


def expectation(change: Change) -> str | None:
    """The token that a step names, or None where it names none."""
    return change.expect if isinstance(change, (Revise, Rename, Retire, Restore)) else None


def change_name(change: Change) -> str:
    """What the history calls a step, in one lowercase word."""
    return type(change).__name__.lower()


def appended(content: bytes, text: bytes) -> bytes:
    """`text` as whole lines at the end, in the line ends that the content has."""
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    text = text.replace(b"\r\n", b"\n").rstrip(b"\n").replace(b"\n", newline)
    joint = b"" if not content or content.endswith(b"\n") else newline
    return content + joint + text + newline
