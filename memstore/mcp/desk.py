"""The session's memories: opened when first asked for, and opened anew where they are others by now.

A server lives as long as its session. Meanwhile a person may switch branches, change a setting, move the repository,
restore the database from a backup: about once a second a call looks at the place again before it does anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from memstore.app import Memstore
from memstore.claude.agents import Agent, existing
from memstore.errors import InputRefused, MemstoreError, PlaceRefused, StoreBusy, StoreReplaced, StoreUnavailable
from memstore.place import Place, find_place
from memstore.world import World

T = TypeVar("T")

PROJECT = "project"
STORES = {
    PROJECT: "What is known of this repository: shared by all its worktrees and sessions.",
}
"""The stores that can be opened, and what they are for."""

OTHERS = ("user", "team")
AGENT = "agent/"
"""How the id of a store begins that is an agent's own memory; then its name, or name:scope."""
ORGANISATION = "CLAUDE_CODE_DISABLE_ORG_MEMORY"
"""The client's own switch for tools of these names."""

_LOOK = 1.0
_MOST = 8
"""Stores of agents that are held open."""


class Desk:
    """Gives the memories of `world` to one call after the other. It belongs to one thread."""

    def __init__(self, world: World, clock: Callable[[], float] = time.monotonic) -> None:
        self._world = world
        self._clock = clock
        self._open: Memstore | None = None
        self._looked = float("-inf")
        self._agents: dict[str, Desk] = {}

    def of(self, store: object) -> Desk:
        """The desk of a store: another one for an agent's own memory."""
        if not isinstance(store, str) or not store.startswith(AGENT) or store == AGENT:
            return self
        desk = self._agents.pop(store, None) or Desk(replace(self._world, whose=store[len(AGENT) :]), self._clock)
        self._agents[store] = desk
        for oldest in list(self._agents)[:-_MOST]:
            self._agents.pop(oldest).close()
        return desk

    @property
    def world(self) -> World:
        """Where it is looked from."""
        return self._world

    def agents(self) -> list[Agent]:
        """Those that have a memory of their own here."""
        return existing(self._world.cwd, self._world.environment, self._world.home)

    def use(self, step: Callable[[Memstore], T], *, make: bool = False) -> T:
        """What `step` gives. With `make` a store is made where none is; otherwise NotFound is raised there.

        A step that meets a database that was replaced under it is done again with the new one: what it had done
        went with the old one. Raises PlaceRefused where memory is switched off.
        """
        memories = self._memories(make)
        try:
            return step(memories)
        except StoreUnavailable as error:
            if isinstance(error, StoreBusy):
                raise
            self.close()
            if type(error) not in (StoreUnavailable, StoreReplaced):  # of other kinds opening it again is no help
                raise
        except MemstoreError:
            raise
        except Exception:
            self.close()
            raise
        return step(self._memories(make))

    def close(self) -> None:
        """Closes the store, and those of agents; the next call opens it."""
        for desk in self._agents.values():
            desk.close()
        opened, self._open = self._open, None
        self._looked = float("-inf")
        if opened is not None:
            opened.close()

    def hidden(self) -> tuple[str, ...]:
        """The places of this machine that no answer names."""
        names = [self._world.cwd, self._world.home, self._world.environment.get("MEMSTORE_HOME", "")]
        if self._open is not None:
            place = self._open.place
            names += [place.home.path, place.placement.directory, place.root.path, place.root.worktree or ""]
        return tuple(name for name in sorted(names, key=len, reverse=True) if len(name) > 1)

    def _memories(self, make: bool) -> Memstore:
        now = self._clock()
        if self._open is None or not 0 <= now - self._looked < _LOOK:
            place = find_place(self._world)
            self._check_switches(place)
            if self._open is not None and _moved(self._open.place, place):
                self.close()
            if self._open is None:
                self._open = Memstore.open(world=self._world, make=make, origin="agent")
            self._looked = now
        return self._open

    def _check_switches(self, place: Place) -> None:
        if self._world.environment.get(ORGANISATION, "").strip().lower() in ("1", "true", "yes", "on"):
            raise _off(f"the variable {ORGANISATION}")
        if not place.placement.enabled:
            raise _off(place.placement.why)


def check_store(name: str) -> None:
    """Raises InputRefused for a store that cannot be opened."""
    if name in STORES or (name.startswith(AGENT) and name != AGENT):
        return
    told = f"the {name} store cannot be opened yet" if name in OTHERS else f"there is no store {name[:80]!r}"
    raise InputRefused(told, hint=f"there is {', '.join(STORES)}")


def _moved(known: Place, found: Place) -> bool:
    return (known.root, known.store, known.folder, known.refusal) != (
        found.root,
        found.store,
        found.folder,
        found.refusal,
    )


def _off(rule: str) -> PlaceRefused:
    return PlaceRefused(
        f"memory is switched off here: {rule}", hint="do not use the memory tools unless the user switches it on"
    )
