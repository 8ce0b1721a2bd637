"""The stamps that a folder and its files had when their bytes were last known. Reads ask for nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memstore.store.connection import one


def known_stamps(connection: apsw.Connection, folder: str, names: Sequence[str]) -> dict[str, str | None] | None:
    """The stamp of the directory, under the empty name, and of those of `names` that were shown there.

    None as a stamp: the file is to be read again. None instead of all: the folder is not known.
    """
    row = one(connection, "SELECT pk, stamp FROM folder WHERE path = ?", (folder,))
    if row is None:
        return None
    found = connection.execute(
        f"SELECT name, stamp FROM shown WHERE folder = ? AND name IN ({','.join('?' * len(names))})", (row[0], *names)
    )
    return {"": row[1], **dict(found)}


def is_waiting(connection: apsw.Connection, folder: str) -> bool:
    """Whether sessions told of anything that can be taken in, or are at work in this folder."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE (state IN ('open', 'done') AND folder = ?)"
        " OR (state = 'done' AND folder IN (SELECT path FROM folder)))",
        (folder,),
    )
    return bool(row and row[0])


def missing_names(connection: apsw.Connection, folder: str, among: Sequence[str] | None = None) -> frozenset[str]:
    """The names whose files were not there when a folder was last looked at; of all, or of those among these."""
    chosen = "" if among is None else f" AND s.name IN ({','.join('?' * len(among))})"
    rows = connection.execute(
        "SELECT s.name FROM shown s JOIN folder f ON f.pk = s.folder WHERE f.path = ? AND s.missing_since IS NOT NULL"
        + chosen,
        (folder, *(among or ())),
    )
    return frozenset(row[0] for row in rows)
