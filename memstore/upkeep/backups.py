"""Backups of a store: made, listed, and removed again when there are enough of them.

They lie in the program's home, in `backups/STORE`, which only their owner can enter: one file each, named after its
moment in UTC. `2026-03-01T09-30-00.000001Z.db` was asked for; `….before-restore.db` is what the store held before a
restore. Where somebody gave a place of their own, the copy lies there and is nobody's to remove but theirs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memstore.errors import InputRefused, MemstoreError, NotFound
from memstore.files import claim
from memstore.store import backup
from memstore.store.plainfile import sync_directory
from memstore.working import folders_of

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.files.report import Progress
    from memstore.store.backup import Contents

DIRECTORY = "backups"
BEFORE = ".before-restore"
LATEST = "latest"
_NAME = re.compile(rf"(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{6}}Z)({re.escape(BEFORE)})?\.db")
_STAMP = "%Y-%m-%dT%H-%M-%S.%fZ"


@dataclass(frozen=True, slots=True)
class Backup:
    """One copy in the default place. `at`: unix microseconds. `before_restore`: it was made by a restore, of what the
    store held until then."""

    path: str
    at: int
    size: int
    before_restore: bool


@dataclass(frozen=True, slots=True)
class Pruned:
    """Which older backups go, and which stay although they are too many, each with the reason."""

    removed: tuple[str, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup came to. `size` in bytes; of a dry run that of the database."""

    path: str
    size: int
    holds: Contents
    pruned: Pruned
    notices: tuple[str, ...] = ()


def directory_of(home: str, store: str) -> str:
    """Where the backups of a store lie."""
    return os.path.join(home, DIRECTORY, store)


def listed(home: str, store: str) -> list[Backup]:
    """The backups in the default place, newest first."""
    directory = directory_of(home, store)
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise backup.unwritable(directory, error) from error
    found = []
    for name in names:
        at = _moment(name)
        if at is None:
            continue
        path = os.path.join(directory, name)
        try:
            size = os.lstat(path).st_size
        except FileNotFoundError:
            continue
        found.append(Backup(path, at, size, BEFORE in name))
    return sorted(found, key=lambda one: one.path, reverse=True)


def chosen(home: str, store: str, reference: str, given: str) -> str:
    """The file that a person means: `latest`, a number of the list, or a path (`given`: as seen from where they are).

    Raises NotFound.
    """
    known = listed(home, store)
    wanted = [one for one in known if not one.before_restore] if reference == LATEST else known
    if reference == LATEST or (reference.isascii() and reference.isdigit() and len(reference) < 9):
        number = 1 if reference == LATEST else int(reference)
        if 1 <= number <= len(wanted):
            return wanted[number - 1].path
        if not known:
            raise NotFound(
                f"there is no backup of this store in {directory_of(home, store)}",
                hint="`memstore backup` makes one; of a database that is damaged, `memstore rebuild` saves what it can",
            )
        raise NotFound(
            f"there is no backup {reference} in {directory_of(home, store)}", hint="see `memstore backup --list`"
        )
    if not os.path.lexists(given):
        raise NotFound(f"there is no file {given}", hint="see `memstore backup --list`")
    return os.path.realpath(given)


def back_up(
    memories: Memstore,
    target: str | None = None,
    *,
    keep: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> BackedUp:
    """Copies the database into a file of its own, compared with what it was copied from.

    `target`: by default a new name in the default place. `keep`: of the backups there, so many stay. What was edited in
    the folder is taken in first. Raises InputRefused for a place that is no good, StoreDamaged where the copy is not
    what the store shows, StoreUnavailable.
    """
    home, store = memories.place.home.path, memories.store.id
    notices = () if dry_run else memories.files.absorb().notices
    path = named(home, store, memories.world.clock()) if target is None else _fit(memories, target)
    if dry_run:
        with memories.store.view() as connection:
            holds = backup.contents(connection)
        return BackedUp(path, os.stat(memories.store.path).st_size, holds, _pruned(home, store, keep, path), notices)
    if target is None:
        make_directory(os.path.dirname(path))
        backup.remove_parts(os.path.dirname(path))
    holds = write(memories, path, progress)
    size = os.lstat(path).st_size
    pruned = _pruned(home, store, keep, path)
    for old in pruned.removed:
        backup.remove_copy(old)
    return BackedUp(path, size, holds, pruned, notices)


def write(memories: Memstore, path: str, progress: Progress | None = None) -> Contents:
    """Copies the database of open memories to a path."""
    make_directory(os.path.dirname(path))

    def told(done: int, pages: int) -> None:
        if progress is not None:
            progress(done, pages, "pages")

    try:
        with memories.store.view() as connection:
            return backup.copy(connection, path, told)
    except FileExistsError as error:
        raise InputRefused(f"{path} exists already; it was left as it is", hint="give another name") from error
    except OSError as error:
        raise backup.unwritable(path, error, "give another place: memstore backup FILE") from error


def named(home: str, store: str, at: int, kind: str = "") -> str:
    """A path in the default place for what is made at a moment (unix microseconds)."""
    stamp = datetime.fromtimestamp(at / 1e6, UTC).replace(microsecond=at % 1_000_000)
    return os.path.join(directory_of(home, store), f"{stamp.strftime(_STAMP)}{kind}.db")


def make_directory(directory: str) -> None:
    """A directory and what lies above it, each made for its owner alone where it is not there."""
    if os.path.isdir(directory):
        return
    above = os.path.dirname(directory)
    try:
        make_directory(above)
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
            sync_directory(above)
    except FileExistsError:
        return
    except OSError as error:
        raise backup.unwritable(directory, error) from error


def _fit(memories: Memstore, target: str) -> str:
    """The path of a backup in a place of a person's choice. Raises InputRefused."""
    above, name = os.path.split(os.path.abspath(target))
    path = os.path.join(os.path.realpath(above), name)
    kept_apart = [os.path.join(memories.place.home.path, "stores"), memories.store.directory]
    kept_apart += [memories.place.placement.directory, *folders_of(memories.store)]
    kept_apart += _claimed_above(path)
    for place in map(os.path.realpath, kept_apart):
        if os.path.commonpath([path, place]) == place:
            raise InputRefused(f"{path} lies in {place}, where no backup belongs", hint="give another place")
    if os.path.isdir(path):
        raise InputRefused(f"{path} is a directory", hint="give the name of a file in it")
    if not os.path.isdir(os.path.dirname(path)):
        raise InputRefused(f"there is no directory {os.path.dirname(path)}", hint="make it first, or give another one")
    return path


def _claimed_above(path: str) -> Iterator[str]:
    """The memory folders of whatever store that a path lies in."""
    above = os.path.dirname(path)
    while above != os.path.dirname(above):
        if os.path.isfile(os.path.join(above, claim.NAME)):
            yield above
        above = os.path.dirname(above)


def _pruned(home: str, store: str, keep: int | None, made: str) -> Pruned:
    """What `keep` leaves too much of, with the one at `made`. Only what is seen to be a backup of this store counts, or
    is to go. What is newer than that one stays: it is that of another process, which looks after the older ones too, or
    the clock went back."""
    if keep is None:
        return Pruned()
    removed, left, sound = [], [], 1
    for one in listed(home, store):
        if one.before_restore or one.path == made:
            continue
        reason = _why_not(one.path, store)
        if reason:
            left.append((one.path, reason))
        elif sound < keep or one.path > made:
            sound += 1
        else:
            removed.append(one.path)
    return Pruned(tuple(removed), tuple(left))


def _why_not(path: str, store: str) -> str:
    try:
        with backup.opened(path) as connection:
            return "" if backup.identity(connection, path) == store else "it is a backup of another store"
    except MemstoreError as error:
        return str(error)


def _moment(name: str) -> int | None:
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    try:
        moment = datetime.strptime(found[1], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond
