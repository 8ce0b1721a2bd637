"""A store with memories, a workspace over it, and others who write meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

from memstore.core.changes import Change, Create, Pin, Rename, Restore, Retire, Revise
from memstore.core.frontmatter import compose
from memstore.core.model import SHELF, Listing, Memory, Origin
from memstore.jobs.vouching import Made
from memstore.jobs.workspace import Workspace
from memstore.store.store import Store
from tests.store.stores import at, create, open_store, put, ticking, who

PERSON, AGENT, TOOL = Made("person", "said"), Made("agent", "answered"), Made("tool")


def text_of(name: str, body: str = "x\n", *, type: str = "project", description: str = "d") -> bytes:
    """A memory's text as the client writes it."""
    return compose(name, description, type, body)


def opened(directory: Path) -> Store:
    """A store that does not wait for the disk."""
    store = open_store(directory)
    store._link.connection.execute("PRAGMA synchronous = OFF")
    return store


def save(
    store: Store,
    name: str,
    body: str = "1\n2\n3\n",
    *,
    type: str = "project",
    origin: Origin = "agent",
    pinned: bool = False,
    listing: Listing = "due",
) -> Memory:
    """A memory whose id is its name."""
    content = text_of(name, body, type=type)
    put(store, create(name, content, pinned=pinned, listing=listing), origin=origin)
    return at(store, name)


def numbered() -> Callable[[], str]:
    """Ids that count."""
    numbers = count(1)
    return lambda: f"new-{next(numbers)}"


def workspace_of(store: Store) -> Workspace:
    """A workspace at the present moment."""
    return Workspace(store, SHELF, numbered(), ticking(5_000_000))


def change(store: Store, name: str, old: str, new: str, *, origin: Origin = "agent") -> None:
    """Somebody changes words of a memory."""
    head = at(store, name)
    put(store, Revise(head.id, head.token, head.state.content.replace(old.encode(), new.encode())), origin=origin)


def retire(store: Store, name: str) -> None:
    """Somebody deletes a memory."""
    head = at(store, name)
    put(store, Retire(head.id, head.token))


def rename(store: Store, name: str, to: str) -> None:
    """Somebody moves a memory."""
    head = at(store, name)
    put(store, Rename(head.id, head.token, f"{to}.md"))


def pin(store: Store, name: str) -> None:
    """Somebody pins a memory."""
    put(store, Pin(at(store, name).id, True))


def commit(store: Store, workspace: Workspace, operation: str = "run") -> list[str]:
    """Commits what is staged, as a run does; the paths it wrote."""
    change_set = workspace.change_set("extract", operation, who(), "a reason")
    assert change_set is not None
    return [version.state.path for version in store.apply(change_set).versions]


__all__ = (
    "AGENT", "PERSON", "SHELF", "TOOL", "Change", "Create", "Restore", "at", "change", "commit", "numbered", "opened",
    "pin", "put", "rename", "retire", "save", "text_of", "workspace_of",
)  # fmt: skip
