"""The log of the day: entries in the order in which they arrived, and which of them the files of a folder have.

A row is the acknowledgement of an entry; nothing ever changes or goes. Call what writes inside a write transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from memstore.core.model import Origin
from memstore.errors import OperationReused
from memstore.store.connection import Row, many, one

UNTRIED = -1
"""Where an entry stands that nobody has tried to add to its file yet."""

_COLUMNS = "e.seq, e.id, e.at, e.zone, e.day, e.text, e.origin, e.author, e.session, e.worktree, e.branch"

_LAST = "(SELECT coalesce(max(entry), 0) FROM log_shown WHERE folder = ?1)"
"""The last entry that has a row for a folder: all before it have one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `at`: unix microseconds; `zone`: minutes east of UTC; `day`: the local one. `seq` 0: not kept yet."""

    seq: int
    id: str
    at: int
    zone: int
    day: str
    text: str
    origin: Origin
    author: str
    session: str | None = None
    worktree: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """An entry that a folder's file may lack. `at`: no byte of it stands before this place there."""

    entry: Entry
    at: int


def add(connection: apsw.Connection, entry: Entry) -> Entry:
    """Keeps an entry; one whose id was used before for the same text is found, and nothing is added.

    Raises OperationReused where the id was used for another text.
    """
    found = by_id(connection, entry.id)
    if found is not None:
        if found.text != entry.text:
            raise OperationReused(entry.id)
        return found
    connection.execute(
        "INSERT INTO log_entry (id, at, zone, day, text, origin, author, session, worktree, branch)"
        " VALUES (?,?,?,?,?,?,?,?,?,?)",
        (entry.id, entry.at, entry.zone, entry.day, entry.text, entry.origin, entry.author, entry.session,
         entry.worktree, entry.branch),
    )  # fmt: skip
    kept = by_id(connection, entry.id)
    assert kept is not None, "it was just added"
    return kept


def by_id(connection: apsw.Connection, identity: str) -> Entry | None:
    """The entry with this id."""
    row = one(connection, f"SELECT {_COLUMNS} FROM log_entry e WHERE e.id = ?", (identity,))
    return None if row is None else Entry(*row)


def of_days(connection: apsw.Connection, first: str, last: str) -> list[Entry]:
    """The entries of some days, the last one included, in the order in which they arrived."""
    rows = many(
        connection, f"SELECT {_COLUMNS} FROM log_entry e WHERE e.day BETWEEN ? AND ? ORDER BY e.seq", (first, last)
    )
    return [Entry(*row) for row in rows]


def newest(connection: apsw.Connection) -> int:
    """The number of the newest entry, or 0."""
    row = one(connection, "SELECT coalesce(max(seq), 0) FROM log_entry")
    assert row is not None, "an aggregate has a row"
    return int(row[0])


def lacks(connection: apsw.Connection, folder: str) -> bool:
    """Whether a folder's files may lack an entry."""
    row = one(
        connection,
        f"SELECT EXISTS (SELECT 1 FROM log_entry WHERE seq > {_LAST}) OR"
        " EXISTS (SELECT 1 FROM log_shown WHERE folder = ?1 AND done = 0)",
        (folder,),
    )
    return row is not None and bool(row[0])


def is_met(connection: apsw.Connection, folder: str, day: str) -> bool:
    """Whether somebody ever began to add an entry of this day to the files of a folder."""
    found = one(
        connection,
        # By the day first: a folder has all entries of years.
        "SELECT 1 FROM log_entry e CROSS JOIN log_shown s ON s.entry = e.seq WHERE e.day = ? AND s.folder = ?"
        " AND s.at >= 0 LIMIT 1",
        (day, folder),
    )
    return found is not None


def open_entries(connection: apsw.Connection, folder: str, after: int, limit: int) -> list[Open]:
    """The first of the entries after a number that a folder's files may lack, in order."""
    rows: list[Row] = many(
        connection,
        f"SELECT {_COLUMNS}, s.at FROM log_shown s JOIN log_entry e ON e.seq = s.entry"
        " WHERE s.folder = ?1 AND s.done = 0 AND s.entry > ?2"
        f" UNION ALL SELECT {_COLUMNS}, {UNTRIED} FROM log_entry e WHERE e.seq > max(?2, {_LAST})"
        " ORDER BY 1 LIMIT ?3",
        (folder, after, limit),
    )
    return [Open(Entry(*row[:-1]), row[-1]) for row in rows]


def begin(connection: apsw.Connection, folder: str, places: Iterable[tuple[int, int]]) -> None:
    """Somebody is about to add these entries (number, place) to the files of a folder. All before them have a row.

    Where a place is known it is not forgotten for UNTRIED.
    """
    connection.executemany(
        "INSERT INTO log_shown (folder, entry, at, done) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (folder, entry) DO UPDATE SET at = excluded.at WHERE done = 0 AND excluded.at >= 0",
        [(folder, entry, at) for entry, at in places],
    )


def done(connection: apsw.Connection, folder: str, entries: Sequence[int]) -> None:
    """These entries stand in the files of a folder."""
    connection.executemany(
        "UPDATE log_shown SET done = 1 WHERE folder = ? AND entry = ?", [(folder, entry) for entry in entries]
    )
