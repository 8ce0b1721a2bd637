"""The files of the program's home: one JSON object each, read with distrust and never silently replaced."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from memstore.core.ids import is_uuid
from memstore.errors import DiskFull, Mendable, PlaceRefused, StoreReadOnly
from memstore.store.plainfile import read_bounded

USER_ROOT = "user"
"""Stands for the user where a root path stands for a repository; no path is called so."""

_LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """A root as the registry knows it. `at`: unix microseconds."""

    root: str
    device: int
    inode: int
    store: str
    at: int
    formerly: tuple[str, ...] = ()
    """Roots that the store had before it was linked here."""
    replaced: tuple[str, ...] = ()
    """Stores that this root had before; they are still in the home."""


def identity_of(root: str) -> tuple[int, int]:
    """Device and inode of a root; zeros for the user, who is no directory."""
    if root == USER_ROOT:
        return 0, 0
    try:
        found = os.stat(root)
    except OSError as error:
        raise refusal(f"{root} cannot be used", error) from error
    return found.st_dev, found.st_ino


def is_at(entry: Entry) -> bool:
    """Whether the directory that was registered still stands at its path."""
    try:
        found = os.stat(entry.root)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (entry.device, entry.inode)


def json_names(directory: str) -> list[str]:
    """The names of the JSON files in a directory of the home, sorted; none when it is not there."""
    try:
        return sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refusal(f"{directory} cannot be read", error) from error


def entry_text(entry: Entry) -> bytes:
    """The bytes of the entry's file."""
    content = {name: getattr(entry, name) for name in Entry.__slots__}
    return json.dumps(content, indent=1).encode()


def read_entry(path: str) -> Entry | None:
    """The entry in a file; None when there is no such file."""
    content = read_object(path)
    if content is None:
        return None
    root, store = content.get("root"), content.get("store")
    if not (isinstance(root, str) and isinstance(store, str) and is_uuid(store)):
        raise unreadable(path, "it does not name a root and its store")
    device, inode, at = (_number(content, name, path) for name in ("device", "inode", "at"))
    formerly, replaced = (_texts(content, name, path) for name in ("formerly", "replaced"))
    return Entry(root, device, inode, store, at, formerly, replaced)


def _number(content: Mapping[str, object], name: str, path: str) -> int:
    value = content.get(name)
    if type(value) is not int:
        raise unreadable(path, f"its {name} is no whole number")
    return value


def _texts(content: Mapping[str, object], name: str, path: str) -> tuple[str, ...]:
    value = content.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise unreadable(path, f"its {name} is no list of texts")
    return tuple(value)


def read_object(path: str) -> dict[str, object] | None:
    """The JSON object in a file of the home; None when there is no such file."""
    try:
        content = json.loads(read_bounded(path, _LARGEST))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise unreadable(path, "it is not valid JSON") from error
    if not isinstance(content, dict):
        raise unreadable(path, "it holds no JSON object")
    return content


def unreadable(path: str, reason: str) -> PlaceRefused:
    """The refusal of a file of the home that is damaged: it is named and left as it is."""
    return PlaceRefused(
        f"{path} cannot be used: {reason}",
        hint="it is left as it is: put back a good copy, or move it away and run " + _instead(path),
    )


def _instead(path: str) -> str:
    """The command that makes a file of the home anew."""
    home, kind = os.path.split(os.path.dirname(path))
    if kind != "roots":
        return "`memstore trust` again" if kind == "trust" else "`memstore install claude`"
    named: set[object] = set()
    for name in json_names(os.path.join(home, kind)):
        with suppress(OSError, ValueError, RecursionError, AttributeError, TypeError):
            content = json.loads(read_bounded(os.path.join(home, kind, name), _LARGEST))
            named.update((content.get("store"), *content.get("replaced", ())))
    with suppress(OSError):
        stores = [name for name in sorted(os.listdir(os.path.join(home, "stores"))) if is_uuid(name)]
        free = [store for store in stores if store not in named]
        if free:
            return f"`memstore link {free[0]}` in its repository" + "".join(f" (or {store})" for store in free[1:5])
    return "`memstore sync` in its repository"


def refusal(what: str, error: OSError) -> Mendable:
    """The refusal that fits what the operating system said."""
    reason = f"{what}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(reason, hint="make room and repeat the command")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreReadOnly(reason, hint="set MEMSTORE_HOME to a directory that you can write")
    return PlaceRefused(reason, hint="set MEMSTORE_HOME to a directory on a local disk, if that is the place")
