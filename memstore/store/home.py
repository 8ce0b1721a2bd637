"""The program's own home: which root has which store, and what a person consented to.

    <home>/roots/<key>.json      one repository (or directory, or the user) and the id of its store
    <home>/trust/<key>.json      one value that a person consented to, for one root
    <home>/stores/<store id>/    the store itself

One small file for each fact, so that two processes seldom meet in one, and a crash leaves it whole or absent.
Directories have mode 0700, files 0600.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memstore.core.ids import digest, is_uuid
from memstore.errors import EngineTooOld, InputRefused, Moved, NotFound, PlaceRefused, SettingRefused
from memstore.store.entry import (
    USER_ROOT,
    Entry,
    entry_text,
    identity_of,
    is_at,
    json_names,
    read_entry,
    read_object,
    refusal,
    unreadable,
)
from memstore.store.plainfile import create_whole, replace_whole, sync_directory

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Registration:
    """The store of a root, and whether this call registered it."""

    store: str
    created: bool


@dataclass(frozen=True, slots=True)
class Home:
    """The program's home. Nothing is created before there is something to keep."""

    path: str

    @classmethod
    def locate(cls, environment: Mapping[str, str], platform: str = sys.platform) -> Home:
        """$MEMSTORE_HOME, else the platform's place for a user's data.

        Raises EngineTooOld on an untested platform, SettingRefused for a relative MEMSTORE_HOME, PlaceRefused
        for a home that others own or can write.
        """
        if platform in ("win32", "cygwin"):
            raise EngineTooOld(
                "memstore has not been tested on Windows and does not run there",
                hint="use it inside WSL, with the repository and the home on a Linux file system",
            )
        path = environment.get("MEMSTORE_HOME") or _data_directory(environment, platform)
        if not os.path.isabs(path) or "\0" in path:
            raise SettingRefused(
                f"MEMSTORE_HOME is {path!r}, which is not an absolute path",
                hint="give it a path that begins with /",
            )
        home = cls(os.path.realpath(path))
        home._check()
        return home

    def store_directory(self, store: str) -> str:
        """The directory of a store's database. Raises InputRefused for what is no store id."""
        if not is_uuid(store):
            raise InputRefused(f"{store[:80]!r} is not the id of a store", hint="see `memstore where`")
        return os.path.join(self.path, "stores", store)

    def find(self, root: str) -> Entry | None:
        """The entry of a root, also where the registry knows the directory by another name; makes nothing.

        Raises Moved when the very directory is known under a path where it no longer is: its memories are
        offered, neither taken nor left behind silently.
        """
        known = self.entry(root)
        if known is not None or root == USER_ROOT:
            return known
        identity = identity_of(root)
        same = [entry for entry in self.entries() if (entry.device, entry.inode) == identity]
        for entry in same:
            if is_at(entry):  # one directory with two names: a bind mount, a name in other case
                return entry
        if same:
            raise Moved(root, same[0].root, same[0].store)
        return None

    def store_for(self, root: str, new_id: Callable[[], str], now: int) -> Registration:
        """The store of a root; the first caller registers it under `new_id()`. `now`: unix microseconds.

        Raises Moved as `find` does.
        """
        known = self.find(root)
        if known is not None:
            return Registration(known.store, created=False)
        device, inode = identity_of(root)
        mine = Entry(root, device, inode, new_id(), now)
        try:
            created = create_whole(self._entry_path(root, make=True), entry_text(mine))
        except OSError as error:
            raise refusal(f"{root} cannot be registered", error) from error
        winner = mine if created else self.entry(root)
        if winner is None:
            raise PlaceRefused(f"the registry of {root} changed just now", hint="repeat the command")
        return Registration(winner.store, created)

    def entry(self, root: str) -> Entry | None:
        """What the registry knows about a root. Raises PlaceRefused when its file cannot be read."""
        path = self._entry_path(root)
        entry = read_entry(path)
        if entry is not None and entry.root != root:
            raise unreadable(path, f"it speaks of {entry.root}")
        return entry

    def file_of(self, root: str) -> str:
        """The file in which a root is registered, whether it is there or not."""
        return self._entry_path(root)

    def entries(self) -> tuple[Entry, ...]:
        """All roots that are registered, by path. Raises PlaceRefused when one's file cannot be read."""
        directory = os.path.join(self.path, "roots")
        found = (read_entry(os.path.join(directory, name)) for name in json_names(directory))
        return tuple(sorted((entry for entry in found if entry is not None), key=lambda entry: entry.root))

    def link(self, root: str, target: str, now: int) -> Registration:
        """Gives a root an existing store: `target` is the store's id or a root that has it.

        Raises NotFound when there is no such store.
        """
        store = self._find_store(target)
        known = self.entry(root)
        if known is not None and known.store == store:
            return Registration(store, created=False)
        others = [entry for entry in self.entries() if entry.store == store]
        gone = [entry for entry in others if entry.root != USER_ROOT and not os.path.isdir(entry.root)]
        formerly = [path for entry in gone for path in (*entry.formerly, entry.root)]
        self._put(root, store, now, tuple(dict.fromkeys(formerly)))
        # A path that the store has left must not lead a new repository there to it. (A path where a directory
        # still stands keeps the store: a person linked two clones.)
        for entry in gone:
            self._remove(self._entry_path(entry.root))
        return Registration(store, created=False)

    def link_new(self, root: str, new_id: Callable[[], str], now: int) -> Registration:
        """Gives a root a store of its own, whatever it had before; the earlier store stays in the home."""
        store = new_id()
        self._put(root, store, now, ())
        return Registration(store, created=True)

    def trust(self, root: str, key: str, value: Scalar, now: int) -> None:
        """Keeps a person's consent to one value of one setting for one root. `now`: unix microseconds."""
        content = {"root": root, "key": key, "value": value, "at": now}
        path = self._trust_path(root, key, value, make=True)
        try:
            replace_whole(path, json.dumps(content).encode())
        except OSError as error:
            raise refusal("the consent cannot be kept", error) from error

    def trusted(self, root: str, key: str, value: Scalar) -> bool:
        """Whether a person consented to this very value. Raises PlaceRefused when the file cannot be read."""
        path = self._trust_path(root, key, value)
        content = read_object(path)
        if content is None:
            return False
        kept = (content.get("root"), content.get("key"), json.dumps(content.get("value")))
        if kept != (root, key, json.dumps(value)):
            raise unreadable(path, "it speaks of another value")
        return True

    def withdraw(self, root: str, key: str, value: Scalar) -> bool:
        """Takes a consent back; False when there was none."""
        return self._remove(self._trust_path(root, key, value))

    def _check(self) -> None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise refusal(f"the home {self.path} cannot be used", error) from error
        if not stat.S_ISDIR(found.st_mode):
            raise PlaceRefused(f"the home {self.path} is not a directory", hint="set MEMSTORE_HOME")
        if found.st_uid != os.geteuid():
            raise PlaceRefused(
                f"the home {self.path} belongs to another user",
                hint="set MEMSTORE_HOME to a directory of yours",
            )
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PlaceRefused(f"others can write in the home {self.path}", hint=f"run: chmod 700 {self.path}")

    def _directory(self, name: str) -> str:
        """A directory inside the home, made with its parents if it is not there."""
        directory = os.path.join(self.path, name)
        if os.path.isdir(directory):
            return directory
        try:
            for path in (self.path, directory):
                if not os.path.isdir(path):
                    os.makedirs(path, mode=0o700, exist_ok=True)
                    sync_directory(os.path.dirname(path))
        except OSError as error:
            raise refusal(f"the home {self.path} cannot be made", error) from error
        self._check()
        return directory

    def _entry_path(self, root: str, *, make: bool = False) -> str:
        directory = self._directory("roots") if make else os.path.join(self.path, "roots")
        return os.path.join(directory, digest(os.fsencode(root)) + ".json")

    def _trust_path(self, root: str, key: str, value: Scalar, *, make: bool = False) -> str:
        directory = self._directory("trust") if make else os.path.join(self.path, "trust")
        return os.path.join(directory, digest(json.dumps([root, key, value]).encode()) + ".json")

    def _find_store(self, target: str) -> str:
        if target == USER_ROOT or os.path.isabs(target):
            entry = self.entry(target) or self.entry(os.path.realpath(target))
            if entry is not None:
                return entry.store
        elif is_uuid(target) and (
            os.path.isdir(self.store_directory(target)) or any(entry.store == target for entry in self.entries())
        ):
            return target
        raise NotFound(f"no store is known for {target}", hint="`memstore where` lists the stores")

    def _put(self, root: str, store: str, now: int, formerly: tuple[str, ...]) -> None:
        device, inode = identity_of(root)
        known = self.entry(root)
        replaced = () if known is None else (*known.replaced, known.store)
        entry = Entry(root, device, inode, store, now, formerly, replaced)
        try:
            replace_whole(self._entry_path(root, make=True), entry_text(entry))
        except OSError as error:
            raise refusal(f"{root} cannot be linked", error) from error

    def _remove(self, path: str) -> bool:
        try:
            os.unlink(path)
            sync_directory(os.path.dirname(path))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise refusal(f"{path} cannot be removed", error) from error
        return True


def _data_directory(environment: Mapping[str, str], platform: str) -> str:
    if platform != "linux":
        from platformdirs import user_data_dir

        return user_data_dir("memstore")
    # What platformdirs does on Linux; a test compares the two. Its import costs more than a search.
    data = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):
        home = environment.get("HOME", "")
        if not os.path.isabs(home):
            import pwd

            home = pwd.getpwuid(os.getuid()).pw_dir
        data = os.path.join(home, ".local", "share")
    return os.path.join(data, "memstore")
