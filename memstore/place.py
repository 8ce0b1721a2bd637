"""Where a working directory's memories are: its root, its store, its memory folder, and why."""

from __future__ import annotations

import os
from dataclasses import dataclass

from memstore.claude.paths import Placement, memory_directory, settings_for
from memstore.claude.root import Root, find_root
from memstore.claude.settings import Settings
from memstore.errors import NotFound, SettingRefused
from memstore.store.home import Home
from memstore.world import World


@dataclass(frozen=True, slots=True)
class Place:
    """What was found for a working directory. `store`: the id, or None where the root has none yet."""

    root: Root
    home: Home
    settings: Settings
    placement: Placement
    store: str | None

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
    """Looks, and makes nothing. Raises PlaceRefused, or Moved for a repository that was known elsewhere."""
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
    _keep_apart(home.path, placement.directory)
    entry = home.find(root.path)
    return Place(root, home, settings, placement, None if entry is None else entry.store)


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
    registration = place.home.store_for(place.root.path, world.new_id, world.clock())
    return Place(place.root, place.home, place.settings, place.placement, registration.store)
