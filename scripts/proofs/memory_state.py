"""One memory in small histories: what store, folders and sessions hold at one moment."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from memstore.core.inbox import Row

HEADER = b"---\nname: a\ndescription: d\n---\n\n"
LINES = ("alpha", "beta", "gamma", "delta", "epsilon")


class Shown(NamedTuple):
    """What a folder shows: B, the texts known since, those that saves replaced since the last projection, those that
    were there before it, and the lines of rule 25."""

    content: bytes
    since: frozenset[bytes] = frozenset()
    replaced: tuple[bytes, ...] = ()
    earlier: tuple[bytes, ...] = ()
    flagged: frozenset[str] = frozenset()


class Kept(NamedTuple):
    """A projection that was begun. `out`: what came out, None before the exchange. `written`: somebody has the
    file that came out open for writing. `owner`: who looks at it; empty once that process is dead."""

    owner: str
    before: Shown
    put: bytes
    out: bytes | None
    written: bool = False


class Place(NamedTuple):
    """One folder: F, B, projections under way. `written`: somebody has F open for writing. `projected`: whose lines
    a projection brought into the file, rather than a save."""

    file: bytes
    shown: Shown
    kept: tuple[Kept, ...] = ()
    written: bool = False
    projected: frozenset[str] = frozenset()


class Post(NamedTuple):
    """An inbox row, where it was posted, and what its session had seen there."""

    place: int
    row: Row
    seen: bytes | None


class Intent(NamedTuple):
    """What a session is about to do. `found`: the file when it said so. `dead`: it will never be heard of again."""

    session: str
    place: int
    found: bytes
    outcome: bytes | None
    post: Post
    dead: bool = False


class Memory(NamedTuple):
    """One moment. `at`: how far each actor is; `typed`: whose lines were saved.

    `swallowed`: those of them that were overwritten where nobody outside an editor or client can see it, and in whose
    window; `outdated`: those that an old buffer lacked when it was saved, and that only other saves had brought.
    """

    head: bytes
    places: tuple[Place, ...]
    known: frozenset[bytes]
    sides: frozenset[bytes] = frozenset()
    posts: tuple[Post, ...] = ()
    intents: tuple[Intent, ...] = ()
    typed: frozenset[str] = frozenset()
    swallowed: frozenset[tuple[str, str]] = frozenset()
    outdated: frozenset[str] = frozenset()
    at: tuple[tuple[str, object], ...] = ()

    def place(self, at: int, **changes: Any) -> Memory:
        """With one folder changed."""
        places = list(self.places)
        places[at] = places[at]._replace(**changes)
        return self._replace(places=tuple(places))


def text(*lines: str) -> bytes:
    """A memory of these lines."""
    return HEADER + "".join(f"{line}\n" for line in lines).encode()


def lines_of(content: bytes) -> list[str]:
    """The lines of a memory's body."""
    return content.removeprefix(HEADER).decode().removesuffix("\n").split("\n")


@lru_cache(maxsize=1 << 16)
def letters(content: bytes) -> frozenset[str]:
    """The actors whose line stands in a text."""
    return frozenset(found[-1] for found in lines_of(content) if found.startswith("line of "))


def start(actors: str, places: int) -> Memory:
    """Everybody has the same text, and nobody has done anything."""
    content = text(*LINES)
    return Memory(
        content, (Place(content, Shown(content)),) * places, frozenset((content,)), at=tuple((x, 0) for x in actors)
    )
