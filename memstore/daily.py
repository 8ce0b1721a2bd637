"""The log of the day: an entry is kept in the store, shown in the folder, and read again with what others wrote there.

It works in every mode, and also where nothing can be shown: what is kept is shown by whoever comes next.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memstore.core import daylog as log
from memstore.core.model import Origin
from memstore.errors import FolderTaken, InputRefused, PlaceRefused, StoreUnavailable
from memstore.files import daylog as shown_log
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.report import SyncReport
from memstore.store import daylog as rows
from memstore.store import shown
from memstore.store.daylog import Entry

if TYPE_CHECKING:
    from memstore.app import Memstore

MOST_DAYS = 366


@dataclass(frozen=True, slots=True)
class Noted:
    """An entry that was kept. `path`: the file of its day; `unshown`: why the entry is not in it yet, or empty.

    `repeated`: the same call had kept it before.
    """

    entry: Entry
    path: str
    unshown: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class LogItem:
    """One thing that a day's log has. `at`: unix microseconds, `session` and `origin`: of entries that memstore kept.

    `path`: the file that it stands in; None: in none yet.
    """

    who: log.Who
    time: str
    text: str
    path: str | None
    at: int | None = None
    session: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class LogDay:
    """The log of one day: what stands in its files, then what is in none yet. `path`: of the file that grows."""

    day: str
    path: str
    items: tuple[LogItem, ...]
    unread: dict[str, str]
    """Paths of files that could not be read, and why."""


def note(
    memories: Memstore, text: str, origin: Origin | None, *, operation: str | None = None, session: str | None = None
) -> Noted:
    """Keeps an entry and shows it. With an `operation` id of the caller's own a repeated call changes nothing.

    Raises InputRefused for a text that can be none, OperationReused, and the kinds of StoreUnavailable.
    """
    world, text = memories.world, log.checked(text)
    at = world.clock()
    zone = world.zone(at)
    by = world.provenance(memories.place.root, origin)
    identity = operation or world.new_id()
    wanted = Entry(
        0, identity, at, zone, log.day_of(at, zone), text, by.origin, by.author, session or by.session, by.worktree,
        by.branch,
    )  # fmt: skip
    with memories.store.view() as connection:
        repeated = operation is not None and rows.by_id(connection, operation) is not None
    entry = memories.store.note(wanted)
    path, troubles = log.path_of(entry.day), show(memories)
    return Noted(entry, path, troubles.get("") or troubles.get(path, ""), repeated)


def show(memories: Memstore) -> dict[str, str]:
    """Adds to the folder's log files what they lack.

    Returns the paths of those that could not be added to, and why; under "" why none could.
    """
    place, store, world = memories.place, memories.store, memories.world
    if place.folder is None:
        return {"": place.refusal}
    if not _lacks(memories, place.folder):  # another process has shown it along with its own
        return {}
    try:
        _meet(memories, place.folder)
        folder = _own(memories, place.folder)
        if folder is None:
            return {"": f"nothing can be shown in {place.folder} now: `memstore sync` says why"}
        with folder, folder.turn(store.directory):
            return shown_log.show(store, folder, world.pause)
    except (PlaceRefused, StoreUnavailable) as error:
        return {"": f"{error} ({error.hint})" if error.hint else str(error)}


def after(memories: Memstore, report: SyncReport) -> SyncReport:
    """The report of a sync, once the log files have what they lack."""
    if report.folder is None or not _lacks(memories, report.folder):
        return report
    told = tuple(f"{path or 'the log of the day'}: {reason}" for path, reason in show(memories).items())
    return replace(report, notices=(*report.notices, *told))


def read(memories: Memstore, day: str | None = None, days: int = 1) -> list[LogDay]:
    """The log of some days, oldest first, the last of them `day` (YYYY-MM-DD; None: today). Raises InputRefused."""
    if not 1 <= days <= MOST_DAYS:
        raise InputRefused(f"{days} days cannot be shown at once", hint=f"1 to {MOST_DAYS} can")
    world, store = memories.world, memories.store
    now = world.clock()
    last = log.parse_day(day) if day is not None else log.day_of(now, world.zone(now))
    wanted = log.days_until(last, days)
    folder = memories.place.folder
    if folder is not None and store.writable and _lacks(memories, folder):
        show(memories)
    with store.view() as connection:
        entries = rows.of_days(connection, wanted[0], wanted[-1])
    files, troubles = _files(memories, wanted)
    return [
        LogDay(
            one,
            log.path_of(one),
            _items([file for file in files if file.day == one], [entry for entry in entries if entry.day == one]),
            {path: reason for path, reason in troubles.items() if log.day_in(path) == one},
        )
        for one in wanted
    ]


def _items(files: Sequence[shown_log.LogFile], entries: Sequence[Entry]) -> tuple[LogItem, ...]:
    waiting: dict[str, deque[Entry]] = defaultdict(deque)
    for entry in entries:
        waiting[log.block(entry.at, entry.zone, entry.text).rstrip("\n")].append(entry)
    items: list[LogItem] = []
    for file in files:
        for piece in log.pieces(file.text):
            if waiting.get(piece.raw):
                items.append(_item(waiting[piece.raw].popleft(), file.path))
            else:
                items.append(LogItem(piece.who, piece.time, piece.text, file.path))
    left = sorted((entry for several in waiting.values() for entry in several), key=lambda entry: entry.seq)
    return (*items, *(_item(entry, None) for entry in left))


def _item(entry: Entry, path: str | None) -> LogItem:
    time = log.time_of(entry.at, entry.zone)
    return LogItem("note", time, entry.text, path, entry.at, entry.session, entry.origin)


def _files(memories: Memstore, days: Sequence[str]) -> tuple[list[shown_log.LogFile], dict[str, str]]:
    path = memories.place.folder
    try:
        folder = None if path is None else _own(memories, path)
        if folder is None:
            return [], {}
        with folder:
            return shown_log.read(folder, days)
    except PlaceRefused:  # what is kept is told all the same
        return [], {}


def _lacks(memories: Memstore, folder: str) -> bool:
    with memories.store.view() as connection:
        return rows.lacks(connection, os.path.realpath(folder))


def _own(memories: Memstore, path: str) -> Folder | None:
    """The folder, if it is there and claimed for this store. Raises FolderTaken and other kinds of PlaceRefused."""
    world = memories.world
    folder = Folder.open(path, now=lambda: world.clock() * 1_000, pause=world.pause)
    if folder is None:
        return None
    claim = None
    try:
        claim = read_claim(folder)
        if claim is not None and claim.store != memories.store.id:
            raise FolderTaken(folder.path, claim.root or claim.store, memories.place.root.path)
    finally:
        if claim is None or claim.store != memories.store.id:
            folder.close()
    return None if claim is None else folder


def _meet(memories: Memstore, path: str) -> None:
    """Sees to it that the folder is there and claimed, as a sync does it; one that was swept away is left to that."""
    folder = _own(memories, path)
    if folder is not None:
        folder.close()
        return
    with memories.store.view() as connection:
        row = shown.folder_row(connection, os.path.realpath(path))
        swept = row is not None and bool(shown.stamps(connection, row.pk))
    if not swept:
        made = Folder.open(path, create=True)
        if made is not None:
            made.close()
    memories.files.absorb()
