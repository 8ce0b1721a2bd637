"""Whether a database is sound, and its rows agree with one another. Changes nothing.

Each function looks at one thing and gives what is wrong; nothing where all is well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import apsw

from memstore.core.ids import fingerprint
from memstore.core.model import NOTES
from memstore.errors import MemstoreError
from memstore.store import leases, migrate, search, writer
from memstore.store.connection import Link, many, one, open_alone, open_link, translated
from memstore.store.ddl import migrations
from memstore.store.reader import text_content

T = TypeVar("T")

MOST = 20
"""So many troubles of a kind are named."""

LEAST = 100
"""So many are compared however long it takes."""

_HEAD = ("scope", "layer", "path", "state", "pinned", "superseded_by", "name", "description", "type", "text", "origin")


@dataclass(frozen=True, slots=True)
class Sample:
    """What a comparison found: the paths and the keys of what is wrong. `compared`: with how many of them it was done,
    `of` how many there are."""

    wrong: tuple[str, ...]
    keys: frozenset[int]
    compared: int
    of: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What was last shown of a name in a folder, and of which operation the memory is by now."""

    name: str
    digest: bytes
    stamp: str | None
    missing: bool


@dataclass(frozen=True, slots=True)
class Waiting:
    """What hooks told and nobody has taken in. Times are unix microseconds."""

    open: int
    done: int
    oldest: int


def open_for_look(path: str) -> Link:
    """A fresh connection for reading alone. Raises StoreDamaged, StoreNewer and kin; the files are left as they are."""
    link = open_link(path, writable=False)
    try:
        # SQLite would go through the index of words as well, and less thoroughly than FTS5 itself does.
        link.connection.drop_modules(None)
        migrate.check(link.connection, path)
    except BaseException:
        link.leave()
        raise
    return link


def integrity(connection: apsw.Connection) -> list[str]:
    """What SQLite's own check of every page and index finds."""
    return _told(connection, f"PRAGMA integrity_check({MOST})")


def makeup(connection: apsw.Connection) -> list[str]:
    """The tables, columns, indexes and triggers that a database of its schema has, and this one has not; or that only
    a later schema has. What somebody added is no fault."""
    version, steps = migrate.schema_version(connection), migrations()
    wanted, found = _made_by(steps[:version]), _objects(connection)
    lacking = [f"{kind} {name} is missing" for (kind, name) in wanted if (kind, name) not in found]
    for (kind, name), columns in wanted.items():
        missing = [column for column in columns if column not in found.get((kind, name), columns)]
        lacking += [f"column {column} of table {name} is missing" for column in missing]
    later = [one for one in _made_by(steps) if one not in wanted] if version < len(steps) else []
    return lacking + [f"{kind} {name} is of a later schema" for kind, name in later if (kind, name) in found]


def sound_without_log(path: str) -> bool:
    """Whether the database file alone is a sound store, where a log lies beside it: then that is another database's."""
    try:
        if os.path.getsize(path + "-wal") == 0:
            return False
        link = open_alone(path)
    except (MemstoreError, OSError):
        return False
    try:
        link.connection.drop_modules(None)
        migrate.check(link.connection, path)
        return not (integrity(link.connection) or references(link.connection) or makeup(link.connection))
    except (MemstoreError, apsw.Error):
        return False
    finally:
        link.leave()


def references(connection: apsw.Connection) -> list[str]:
    """The rows that name a row which is not there."""
    rows = many(connection, "PRAGMA foreign_key_check")
    return [f"row {rowid} of {table} names no row of {other}" for table, rowid, other, _ in rows[:MOST]]


def heads(connection: apsw.Connection) -> list[str]:
    """The memories that are not what their newest version says."""
    differs = " OR ".join(f"m.{column} IS NOT v.{column}" for column in _HEAD)
    rows = many(
        connection,
        "SELECT m.path FROM memory m LEFT JOIN version v ON v.memory = m.pk AND v.number ="
        " (SELECT max(number) FROM version WHERE memory = m.pk)"
        f" WHERE v.pk IS NULL OR v.number <> m.version OR v.token <> m.token OR v.operation <> m.operation OR {differs}"
        " ORDER BY m.path",
    )
    return [path for (path,) in rows]


def digests(connection: apsw.Connection) -> list[str]:
    """The texts that are not the bytes that were written, told by the memories that have or had them."""
    wrong = [
        number
        for number, digest, content in connection.execute("SELECT id, digest, CAST(content AS BLOB) FROM text")
        if fingerprint(content) != digest
    ]
    return [_whose(connection, number) for number in wrong]


def unreadable(connection: apsw.Connection, seconds: float | None = None) -> list[str]:
    """The tables with a text that is not UTF-8, which SQLite's own check does not mind. `seconds`: how long it may
    take; the texts of the memories and their terms are then left to the looks at these. None: every row is read."""
    found: list[str] = []
    until = None if seconds is None else time.monotonic() + seconds
    for kind, name in _objects(connection):
        if kind != "table" or name.startswith("search_index") or (until and name in ("text", "search_document")):
            continue
        try:
            for number, _ in enumerate(connection.execute(f'SELECT * FROM "{name}"')):
                if until is not None and number % LEAST == 0 and time.monotonic() > until:
                    return found
        except UnicodeDecodeError:
            found.append(f"table {name} has a text that is not UTF-8")
    return found


def terms(connection: apsw.Connection, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Sample:
    """The memories whose search terms are not those of their text. `seconds`: how long it may take; then it is done
    for a part of them, evenly spread. None: for all."""
    known = [row[0] for row in connection.execute("SELECT pk FROM memory WHERE scope <> ? ORDER BY pk", (NOTES.scope,))]
    wrong, compared, until = dict[int, str](), 0, None if seconds is None else clock() + seconds
    for pk in spread(known):
        row = one(
            connection,
            "SELECT m.path, t.content, d.name, d.description, d.body FROM memory m JOIN text t ON t.id = m.text"
            " LEFT JOIN search_document d ON d.memory = m.pk WHERE m.pk = ?",
            (pk,),
        )
        compared += 1
        if row is not None and writer.document_of(text_content(row[1]), row[0]) != row[2:]:
            wrong[pk] = row[0]
        if until is not None and compared >= LEAST and clock() > until:
            break
    return Sample(tuple(sorted(wrong.values())), frozenset(wrong), compared, len(known))


def search_index(path: str) -> bool:
    """Whether the index of words holds exactly the terms, on a connection of its own. It takes the lock of writers, for
    some 70 microseconds a memory: FTS5 has no other way."""
    link = open_link(path)
    try:
        with link.writing(durable=False) as connection:
            return search.check_index(connection)
    finally:
        link.close()


def shown(connection: apsw.Connection, folder: str) -> list[Shown]:
    """What a folder shows as far as the store knows."""
    rows = many(
        connection,
        "SELECT s.name, t.digest, s.stamp, s.missing_since IS NOT NULL FROM shown s JOIN text t ON t.id = s.text"
        " JOIN folder f ON f.pk = s.folder WHERE f.path = ? ORDER BY s.name",
        (folder,),
    )
    return [Shown(name, digest, stamp, bool(missing)) for name, digest, stamp, missing in rows]


def count(connection: apsw.Connection) -> int:
    """How many memories there are, retired ones too."""
    row = one(connection, "SELECT count(*) FROM memory")
    assert row is not None
    return int(row[0])


def newest(connection: apsw.Connection) -> int | None:
    """When the newest operation was done, by the clock of then; None where there is none."""
    row = one(connection, "SELECT max(at) FROM operation")
    return None if row is None else row[0]


def versions() -> tuple[str, str]:
    """Of SQLite, and of the library that calls it."""
    return apsw.sqlite_lib_version(), apsw.apsw_version()


def schema(connection: apsw.Connection) -> int:
    """The schema's number."""
    return migrate.schema_version(connection)


def size(connection: apsw.Connection) -> tuple[int, int]:
    """The bytes of the database, and how many of them are free pages."""
    page, pages = connection.pragma("page_size"), connection.pragma("page_count")
    return page * pages, page * connection.pragma("freelist_count")


def waiting(connection: apsw.Connection) -> Waiting:
    """What stands in the inbox."""
    row = one(
        connection,
        "SELECT count(*) FILTER (WHERE state = 'open'), count(*) FILTER (WHERE state = 'done'),"
        " coalesce(min(at), 0) FROM inbox WHERE state IN ('open', 'done')",
    )
    assert row is not None
    return Waiting(*row)


def held(connection: apsw.Connection) -> list[leases.Lease]:
    """Who may do which work alone."""
    kinds = many(connection, "SELECT kind FROM lease ORDER BY kind")
    return [lease for (kind,) in kinds if (lease := leases.current(connection, kind)) is not None]


def checkpoint(link: Link) -> bool:
    """Moves the log into the database and empties it; False where a reader or a writer is in the way."""
    try:
        row = one(link.connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.Error as error:
        raise translated(error, link.path) from error
    return row is not None and row[0] == 0


def _made_by(steps: Sequence[tuple[int, str]]) -> dict[tuple[str, str], list[str]]:
    """What these steps make, as `_objects` tells it."""
    connection = apsw.Connection(":memory:")
    try:
        for _, script in steps:
            connection.execute(script)
        return _objects(connection)
    finally:
        connection.close()


def _objects(connection: apsw.Connection) -> dict[tuple[str, str], list[str]]:
    """Tables, indexes, triggers and views by kind and name, and the columns of plain tables."""
    found: dict[tuple[str, str], list[str]] = {}
    for kind, name, sql in many(connection, "SELECT type, name, sql FROM sqlite_schema ORDER BY rowid"):
        plain = kind == "table" and not name.startswith("sqlite_") and not str(sql).startswith("CREATE VIRTUAL")
        if not name.startswith("sqlite_"):
            quoted = name.replace('"', '""')
            columns = many(connection, f'PRAGMA table_xinfo("{quoted}")') if plain else []
            found[kind, name] = [row[1] for row in columns]
    return found


def _told(connection: apsw.Connection, pragma: str) -> list[str]:
    try:
        # SQLite puts a heading above what it finds in the pages.
        told = [line for row in many(connection, pragma) for line in str(row[0]).split("\n")]
        return [line for line in told if line not in ("ok", "*** in database main ***")]
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]


def _whose(connection: apsw.Connection, text: int) -> str:
    row = one(
        connection,
        "SELECT v.path, max(v.number), m.text = v.text FROM version v JOIN memory m ON m.pk = v.memory"
        " WHERE v.text = ? GROUP BY v.memory ORDER BY m.text = v.text DESC LIMIT 1",
        (text,),
    )
    if row is None:
        return f"text {text}, which no version has"
    path, number, present = row
    return f"{path}, version {number}" + ("" if present else ", which is not the present one")


def spread(keys: Sequence[T]) -> list[T]:
    """The same keys in an order of which every beginning is evenly spread over all of them."""
    step = 1
    while step * 2 < len(keys):
        step *= 2
    order: list[T] = []
    first = range(0, len(keys), step)
    order.extend(keys[at] for at in first)
    while step > 1:
        step //= 2
        order.extend(keys[at] for at in range(step, len(keys), step * 2))
    return order
