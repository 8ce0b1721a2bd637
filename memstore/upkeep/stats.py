"""How much there is: memories, growth, worktrees, and what it takes on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from memstore.app import Memstore
from memstore.store import stats
from memstore.store.stats import Figures
from memstore.upkeep.backups import directory_of

_DEEPEST = 8
_MOST = 100_000
"""Directories below one, and files, that are counted at most."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes on the disk. `log`: what is written and not yet in the database; `folder`: the files that agents read."""

    database: int
    log: int
    backups: int
    folder: int


@dataclass(frozen=True, slots=True)
class Stats:
    """The figures, and when they are from on: `since` in unix microseconds, 0 for all."""

    since: int
    figures: Figures
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Month:
    """A month in which memories came or went, as `2026-03`; `memories`: how many there were at its end."""

    name: str
    came: int
    went: int
    memories: int


def stats_of(memories: Memstore, since: int = 0) -> Stats:
    """The figures of this moment, with what was edited in the folder until now."""
    memories.look()
    zone = memories.world.zone(memories.store.now())
    with memories.store.view() as connection:
        found = stats.figures(connection, since, zone)
    path = memories.store.path
    folder = memories.place.folder
    sizes = Sizes(
        _size(path),
        _size(path + "-wal"),
        _size_below(directory_of(memories.place.home.path, memories.store.id)),
        0 if folder is None else _size_below(folder),
    )
    return Stats(since, found, sizes)


def day_of(number: int) -> date:
    """The date of a day that is counted from 1970."""
    return date(1970, 1, 1) + timedelta(days=number)


def months(figures: Figures) -> list[Month]:
    """The days by month, oldest first."""
    found: dict[str, Month] = {}
    for day in figures.days:
        name = day_of(day.number).strftime("%Y-%m")
        before = found.get(name, Month(name, 0, 0, 0))
        found[name] = Month(name, before.came + day.came, before.went + day.went, day.memories)
    return list(found.values())


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _size_below(directory: str) -> int:
    return sum(size for size, _ in zip(_sizes(directory, _DEEPEST), range(_MOST), strict=False))


def _sizes(directory: str, deepest: int) -> Iterator[int]:
    """The sizes of the files in a directory and below it; no link is followed."""
    try:
        with os.scandir(directory) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if deepest:
                    yield from _sizes(entry.path, deepest - 1)
            elif entry.is_file(follow_symlinks=False):
                yield entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
