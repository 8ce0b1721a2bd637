"""Where a working directory's memories are: its root, its store, its memory folder, and why."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from memstore.claude.agents import Agent, chosen
from memstore.claude.paths import Placement, memory_directory, settings_for
from memstore.claude.root import Root, find_root
from memstore.claude.settings import MEMORY_ENABLED, Settings
from memstore.errors import Moved, NotFound, PlaceRefused, SettingRefused
from memstore.store.home import Home
from memstore.store.store import Store
from memstore.world import World


@dataclass(frozen=True, slots=True)
class Place:
    """What was found for a working directory. `store`: the id, or None where the root has none yet. `agent`: whose own
    memory it is; its directory is the root and the folder."""

    root: Root
    home: Home
    settings: Settings
    placement: Placement
    store: str | None
    agent: Agent | None = None

    @property
    def store_directory(self) -> str | None:
        """The directory of the store's database."""
        return None if self.store is None else self.home.store_directory(self.store)

    @property
    def folder(self) -> str | None:
        """The memory folder to project into; None while a value of the repository awaits consent."""
        return None if self.refusal else self.placement.directory

    @property
    def refusal(self) -> str:
        """Why nothing is projected here; empty where it is."""
        if not self.placement.untrusted:
            return ""
        values = ", ".join(f"{value.key} = {value.value!r} ({value.source})" for value in self.placement.untrusted)
        return f"the repository itself sets {values}; nothing is projected until `memstore trust` accepts it"


def find_place(world: World) -> Place:
    """Looks, and makes nothing. Raises PlaceRefused, or Moved for a repository that was known elsewhere; where an
    agent's own memory is asked for also what `claude.agents.chosen` raises."""
    place = locate(world)
    known = place.agent is not None and not os.path.isdir(place.root.path)
    try:
        entry = place.home.entry(place.root.path) if known else place.home.find(place.root.path)
    except Moved as moved:
        if not _is_reused(place, moved):
            raise
        entry = None
    return replace(place, store=None if entry is None else entry.store)


def _is_reused(place: Place, moved: Moved) -> bool:
    """Whether an agent's directory only got the number of one that was deleted: else the claim came along with it."""
    from memstore.files.claim import read_claim
    from memstore.files.folder import Folder

    folder = None if place.agent is None else Folder.open(place.root.path)
    if folder is None:
        return False
    with folder:
        claim = read_claim(folder)
    return claim is None or claim.store != moved.store


def locate(world: World) -> Place:
    """The same without its store."""
    root = find_root(world.cwd)
    home = Home.locate(world.environment)
    settings = settings_for(
        root,
        world.environment,
        world.home,
        consent=lambda key, value: home.trusted(root.path, key, value),
        cwd=world.cwd,
    )
    placement = memory_directory(root, world.environment, world.home, settings, cwd=world.cwd)
    agent = None
    if world.whose:
        agent = chosen(world.whose, world.cwd, world.environment, world.home)
        rule = f"the own memory of the agent {agent.name}, scope {agent.scope}"
        # The rest of the root stays the checkout's: it says where whoever writes is at work.
        root = replace(root, path=os.path.realpath(agent.directory), rule=rule)
        waiting = tuple(value for value in placement.untrusted if value.key == MEMORY_ENABLED)
        placement = replace(placement, directory=agent.directory, rule=rule, untrusted=waiting)
    _keep_apart(home.path, placement.directory)
    return Place(root, home, settings, placement, None, agent)


def _keep_apart(home: str, folder: str) -> None:
    """The database never lies where files are shown and scanned, nor the other way round."""
    shown = os.path.realpath(folder)
    if os.path.commonpath([home, shown]) in (home, shown):
        raise SettingRefused(
            f"the stores' home {home} and the memory folder {shown} lie one inside the other",
            hint="set MEMSTORE_HOME to a directory of its own",
        )


def hand_over_folder(place: Place, store: str) -> bool:
    """After a person linked the root to another store: the folder that the earlier one had claimed goes along."""
    from memstore.files.claim import hand_over
    from memstore.files.folder import Folder

    folder = None if place.folder is None else Folder.open(place.folder)
    if folder is None:
        return False
    with folder:
        return hand_over(folder, store, place.root.path)


def registered(place: Place, world: World, *, make: bool) -> Place:
    """The place with its store. Without `make` a root that has neither store nor memory folder is left alone.

    Raises Moved for a repository that was known elsewhere, NotFound where there is nothing to open.
    """
    if place.store is None and not make and not os.path.isdir(place.placement.directory):
        raise NotFound(
            f"there are no memories for {place.root.path} yet",
            hint="write one (`memstore write NAME`), or import a directory (`memstore import DIR`)",
        )
    if place.store is None and place.agent is not None:
        _make(place.root.path)
    try:
        registration = place.home.store_for(place.root.path, world.new_id, world.clock())
    except Moved as moved:
        if not _is_reused(place, moved):
            raise
        registration = place.home.link_new(place.root.path, world.new_id, world.clock())
    return replace(place, store=registration.store)


def open_store(place: Place, world: World) -> Store:
    """The store of a place that has one. That of a directory which git keeps is closed to writes."""
    assert place.store is not None and place.store_directory is not None
    store = Store.open(place.store_directory, place.store, world.clock)
    if place.agent is not None:
        from memstore.files.in_place import keep_out

        keep_out(store, place.folder)
    return store


def _make(directory: str) -> None:
    """An agent's directory, as the client makes it when the agent starts."""
    try:
        os.makedirs(directory, exist_ok=True)
    except OSError as error:
        raise PlaceRefused(
            f"{directory} cannot be made: {error.strerror}", hint="mend its permissions, or move away what is there"
        ) from error
