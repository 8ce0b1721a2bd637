"""Files that came out of a projection and wait to be taken in: what had been shown there before them.

A process that dies before it has looked at such a file leaves this behind; without it, its text would be compared
with what lies there now.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps, loads

import apsw

from memstore.store.connection import many, one
from memstore.store.reader import text_content
from memstore.store.writer import text_row


@dataclass(frozen=True, slots=True)
class Keep:
    """A kept file, by its path. `base`: what had been shown under its name before, with `memory` and `lines` as in
    `shown.ShownRow`; None: nothing. `since`: the texts that had become known after that. `came_out`: its text,
    which may be one of those that were there before (`shown.Before`) and nevertheless be somebody's edit."""

    path: str
    name: str
    base: bytes | None
    memory: str | None = None
    lines: str | None = None
    since: tuple[bytes, ...] = ()
    came_out: bytes | None = None


@dataclass(frozen=True, slots=True)
class TakenIn:
    """The text of a kept file is in the store as an edit; the file may still be written."""

    path: str


@dataclass(frozen=True, slots=True)
class LetGo:
    """A kept file is no more."""

    path: str


KeptChange = Keep | TakenIn | LetGo


def kept(connection: apsw.Connection, folder: int, path: str) -> Keep | None:
    """What is known of a kept file."""
    row = one(
        connection,
        "SELECT t.content, (SELECT m.id FROM memory m WHERE m.pk = k.memory), k.lines, k.since, k.name FROM kept k"
        " LEFT JOIN text t ON t.id = k.base WHERE k.folder = ? AND k.path = ?",
        (folder, path),
    )
    if row is None:
        return None
    ids = loads(row[3])
    since = many(connection, f"SELECT content FROM text WHERE id IN ({','.join('?' * len(ids))})", ids)
    base = None if row[0] is None else text_content(row[0])
    return Keep(path, row[4], base, row[1], row[2], tuple(text_content(found[0]) for found in since))


def paths(connection: apsw.Connection, folder: int) -> set[str]:
    """The kept files of a folder."""
    return {row[0] for row in many(connection, "SELECT path FROM kept WHERE folder = ?", (folder,))}


def waiting(connection: apsw.Connection, folder: int) -> set[str]:
    """Those whose text stands among the texts that were there before, and is not taken in yet."""
    return {row[0] for row in many(connection, "SELECT path FROM kept WHERE folder = ? AND n IS NOT NULL", (folder,))}


def write(connection: apsw.Connection, folder: int, change: KeptChange) -> None:
    """Carries out one change. Call inside a write transaction."""
    if isinstance(change, LetGo):
        connection.execute("DELETE FROM kept WHERE folder = ? AND path = ?", (folder, change.path))
        return
    if isinstance(change, TakenIn):
        connection.execute("UPDATE kept SET n = NULL WHERE folder = ? AND path = ?", (folder, change.path))
        return
    since = dumps([text_row(connection, text) for text in change.since])
    base = None if change.base is None else text_row(connection, change.base)
    came_out = None if change.came_out is None else text_row(connection, change.came_out)
    connection.execute(
        "INSERT INTO kept (folder, path, name, n, memory, base, lines, since) VALUES (?1, ?2, ?3,"
        " (SELECT max(n) FROM shown_before WHERE folder = ?1 AND name = ?3 AND text = ?4),"
        " (SELECT pk FROM memory WHERE id = ?5), ?6, ?7, ?8) ON CONFLICT (folder, path) DO NOTHING",
        (folder, change.path, change.name, came_out, change.memory, base, change.lines, since),
    )
