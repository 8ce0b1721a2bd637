"""The notes that sessions have: rows of the memories' table, on a shelf of their own (`core.model.NOTES`)."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from memstore.core.model import NOTES, Memory
from memstore.core.notes_text import path_of
from memstore.store import reader
from memstore.store.connection import many


@dataclass(frozen=True, slots=True)
class Notes:
    """The notes of one session, and where it was at work when they began."""

    session: str
    worktree: str | None
    branch: str | None
    memory: Memory


def listed(connection: apsw.Connection) -> list[Notes]:
    """The notes of all sessions, those that changed last first."""
    heads = {head.id: head for head in reader.heads(connection, NOTES)}
    rows = many(
        connection,
        "SELECT m.id, o.session, o.worktree, o.branch FROM memory m JOIN version v ON v.memory = m.pk"
        " AND v.number = 1 JOIN operation o ON o.seq = v.operation"
        " WHERE m.scope = ? AND m.layer = ? AND m.state = 'live'",
        (NOTES.scope, NOTES.layer),
    )
    found = [Notes(row[1] or "", row[2], row[3], heads[row[0]]) for row in rows]
    return sorted(found, key=lambda one: -one.memory.seq)


def of_session(connection: apsw.Connection, session: str) -> Notes | None:
    """The notes of one session."""
    memory = reader.by_path(connection, NOTES, path_of(session))
    if memory is None or not memory.state.live:
        return None
    first = reader.version_by(connection, memory.id, number=1)
    assert first is not None, "a memory has a first version"
    began = reader.operation_by_seq(connection, first.seq)
    assert began is not None, "a version has its operation"
    return Notes(session, began.provenance.worktree, began.provenance.branch, memory)
