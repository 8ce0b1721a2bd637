"""The files that a purge has to do with: memory folders, the log of the day, and what memstore keeps in its home."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from memstore.app import Memstore
from memstore.core.forgetting import Secret
from memstore.errors import MemstoreError, NotProjected
from memstore.files.folder import Folder
from memstore.files.in_place import InPlace
from memstore.files.redact import redact as redact_file
from memstore.files.sync import Sync
from memstore.store import snapshot, spool
from memstore.store.entry import Entry
from memstore.store.plainfile import read_bounded, replace_whole
from memstore.upkeep.searching import search_files
from memstore.working import folders_of, sync_in

_LOGS = "logs"

_LONGEST = 16 * 1024 * 1024

_OF_STORES = ("stores", "backups", "salvage")
"""Directories of the home that have one for each store."""


def absorb(memories: Memstore) -> None:
    """Takes in what was edited in the folders."""
    memories.files.absorb()
    for sync in others(memories):
        sync.absorb()


def folders(memories: Memstore) -> list[str]:
    """The memory folders that show this store, each once."""
    here = memories.place.folder
    first = [os.path.realpath(here)] if here is not None and os.path.isdir(here) else []
    return [*first, *_others(memories)]


def others(memories: Memstore) -> list[Sync | InPlace]:
    """What looks after the folders of this store beside that of the working directory."""
    return list(_others(memories).values())


def _others(memories: Memstore) -> dict[str, Sync | InPlace]:
    here = None if memories.place.folder is None else os.path.realpath(memories.place.folder)
    found: dict[str, Sync | InPlace] = {}
    for path in dict.fromkeys(map(os.path.realpath, folders_of(memories.store))):
        with suppress(MemstoreError):
            sync = None if path == here else sync_in(memories.store, path, memories.world)
            if sync is not None:
                found[path] = sync
    return found


def redact_logs(memories: Memstore, secret: Secret) -> list[str]:
    """Takes it out of the files of the daily log. Returns what could not be changed, and why."""
    troubles = []
    world = memories.world
    for path in folders(memories):
        held, _ = search_files(secret.forms, [os.path.join(path, _LOGS)])
        try:
            folder = Folder.open(path) if held else None
            if folder is None:
                continue
            with folder, folder.turn(memories.store.directory):
                for file in held:
                    name = os.path.relpath(file, path)
                    try:
                        redact_file(folder, name, secret, lambda: world.clock() * 1_000, world.pause)
                    except NotProjected as error:
                        troubles.append(f"{file} could not be changed: {error.reason}")
        except MemstoreError as error:
            troubles.append(f"the logs in {path} could not be changed: {error}")
    return troubles


def clear_beside(memories: Memstore, secret: Secret | None) -> list[str]:
    """Takes away copies that killed commands have left, and the secret out of the lines that were typed into the
    database's shell. Returns what could not be changed, and why."""
    from memstore.store.shell import history_file

    home = memories.place.home.path
    snapshot.sweep_home(home)
    path = history_file(home)
    if secret is None or not os.path.lexists(path):
        return []
    try:
        content = read_bounded(path, _LONGEST)
        if secret.within(content):
            replace_whole(path, secret.out_of(content))
    except OSError as error:
        return [f"{path} could not be changed: {error.strerror}"]
    return []


def own_places(memories: Memstore) -> list[str]:
    """Where memstore keeps anything of this store, or of no store: all of its home but what is another store's."""
    home, own = memories.place.home.path, memories.store.id
    places = [os.path.realpath(memories.store.directory)]
    places += [os.path.join(home, name, own) for name in _OF_STORES]
    places += [memories.place.home.file_of(entry.root) for entry in _registered(memories) if entry.store == own]
    spooled = spool.directory_of(home)
    places += [os.path.join(spooled, name) for name in _names(spooled) if name.startswith(own)]
    places += [os.path.join(home, name) for name in _names(home) if name not in (*_OF_STORES, "roots", "spool")]
    return places


def elsewhere(memories: Memstore, secret: Secret) -> list[str]:
    """Which other stores of the home seem to hold it: their roots, or ids where they have none. Agents' own memories
    are such stores, too."""
    home, own = memories.place.home, memories.store.id
    above = os.path.join(home.path, "stores")
    found, _ = search_files(secret.forms, [os.path.join(above, name) for name in _names(above) if name != own])
    stores = {os.path.relpath(path, above).partition(os.sep)[0] for path in found}
    roots = {entry.store: entry.root for entry in _registered(memories)}
    return sorted(roots.get(store, store) for store in stores)


def _registered(memories: Memstore) -> tuple[Entry, ...]:
    try:
        return memories.place.home.entries()
    except MemstoreError:  # the doctor says why
        return ()


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def remove(paths: Sequence[str]) -> tuple[str, ...]:
    """Deletes these files. Returns those that are gone by that."""
    removed = []
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
            removed.append(path)
    return tuple(removed)
