"""The claim: a small file in a memory folder that names the one store which projects there."""

from __future__ import annotations

from dataclasses import dataclass

from memstore import errors
from memstore.files.folder import Folder
from memstore.files.walk import Strange

NAME = ".memstore"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Claim:
    """`store`: the id of a store; `root`: the repository that it belonged to when it made the claim."""

    store: str
    root: str


def read_claim(folder: Folder) -> Claim | None:
    """The folder's claim, or None. Raises PlaceRefused when there is one that cannot be understood."""
    found = folder.read(NAME)
    if found is None:
        return None
    if isinstance(found, Strange):
        raise _refused(folder, found.reason)
    import json

    try:
        value = json.loads(found.content)
    except (ValueError, RecursionError):
        raise _refused(folder, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _refused(folder, "it is not a JSON object")
    version = value.get("version")
    if type(version) is int and version > _VERSION:
        raise errors.PlaceRefused(
            f"the claim {folder.path}/{NAME} was made by a newer memstore", hint="upgrade memstore"
        )
    store, root = value.get("store"), value.get("root")
    if version != _VERSION or not isinstance(store, str) or not store or not isinstance(root, str):
        raise _refused(folder, "it names no store")
    return Claim(store, root)


def make_claim(folder: Folder, store: str, root: str) -> Claim:
    """Claims the folder for a store; returns the claim that stands: an earlier one of the same store stays.

    Raises FolderTaken when another store's claim stands there; PlaceRefused as `read_claim`, or when the
    folder cannot be written.
    """
    if folder.make_exclusively(NAME, _text(store, root)):
        return Claim(store, root)
    found = read_claim(folder)
    if found is None:
        raise _refused(folder, "it appeared and vanished again")
    if found.store != store:
        raise errors.FolderTaken(folder.path, found.root or found.store, root)
    return found


def hand_over(folder: Folder, store: str, root: str) -> bool:
    """Gives a folder that an earlier store of the same repository had claimed to `store`; True where it did.

    For `memstore link` alone: it is a person's word. A claim of another repository stays.
    """
    found = read_claim(folder)
    if found is None or found.store == store or found.root != root:
        return False
    if folder.remove_own(NAME, _text(found.store, found.root)):
        make_claim(folder, store, root)
        return True
    return False


def _text(store: str, root: str) -> bytes:
    import json

    return json.dumps({"store": store, "root": root, "version": _VERSION}, indent=2).encode() + b"\n"


def _refused(folder: Folder, reason: str) -> errors.PlaceRefused:
    return errors.PlaceRefused(
        f"the claim {folder.path}/{NAME} cannot be understood: {reason}",
        hint="if you know the folder's repository, delete that file and run `memstore sync` there",
    )
