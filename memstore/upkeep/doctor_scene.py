"""What the doctor has before it: opened step by step, as far as it is sound."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from memstore.app import Memstore
from memstore.core.findings import Finding
from memstore.place import Place
from memstore.store.connection import Link, Reading
from memstore.store.opening import DATABASE, MARK
from memstore.world import World

Need = Literal["", "home", "place", "store", "database", "rows", "memories"]
"""What a look needs: nothing, the home of all stores, what is known of this directory, a store's directory, a database
that opens, one whose rows may be believed and have the present schema, the memories with their folder."""

Look = Callable[["Scene"], "Iterable[Finding] | str"]
"""What one look found; a text is why it could not look."""


@dataclass(frozen=True, slots=True)
class Check:
    """One look. `says`: what it looks at, for whoever waits."""

    name: str
    says: str
    needs: Need
    look: Look


@dataclass(slots=True)
class Scene:
    """`lacks`: why what is needed is not there, by what it is. `index_is_sound`: the check of the index of words, which
    goes on in a thread of its own: SQLite takes as long for it as all other looks take. `compared`: what was looked at
    in part only, and how far."""

    world: World
    thorough: bool = False
    mending: bool = False
    home: str | None = None
    place: Place | None = None
    link: Link | None = None
    memories: Memstore | None = None
    index_is_sound: Future[bool] | None = None
    lacks: dict[str, str] = field(default_factory=dict)
    compared: list[str] = field(default_factory=list)

    @property
    def directory(self) -> str | None:
        """The store's, without links; None where there is no store."""
        found = None if self.place is None else self.place.store_directory
        return None if found is None else os.path.realpath(found)

    @property
    def path(self) -> str | None:
        """Where the database is, or should be."""
        return None if self.directory is None else os.path.join(self.directory, DATABASE)

    @property
    def was_used(self) -> bool:
        """Whether the store's mark says that it has been used."""
        return self.directory is not None and os.path.lexists(os.path.join(self.directory, MARK))

    @contextmanager
    def view(self) -> Iterator[Reading]:
        """One moment of the database, over the connection for reading."""
        assert self.link is not None
        with self.link.reading() as connection:
            yield connection

    def reason(self, need: Need) -> str:
        """Why what a look needs is not there; empty where it is."""
        there = {
            "": True,
            "home": self.home is not None,
            "place": self.place is not None,
            "store": self.directory is not None and os.path.isdir(self.directory),
            "database": self.link is not None,
            "rows": self.link is not None,
            "memories": self.memories is not None,
        }
        wants: dict[Need, tuple[Need, ...]] = {"rows": ("database", "rows"), "memories": ("database", "rows", need)}
        for each in wants.get(need, (need,)):
            if each in self.lacks or not there[each]:
                return self.lacks.get(each) or self.lacks.get("database") or self.lacks.get("store") or _NOTHING
        return ""

    def close(self) -> None:
        """Lets go of all. A database that was found unsound is left as it is."""
        if self.index_is_sound is not None:
            with suppress(Exception):  # whoever asked for it has been told
                self.index_is_sound.result()
        if self.link is not None:
            if "rows" in self.lacks:
                self.link.leave()
            else:
                self.link.close()
        if self.memories is not None:  # the last one: what may write leaves no empty files of SQLite's behind
            self.memories.close()
        self.link = self.memories = None


_NOTHING = "there is no store yet"
