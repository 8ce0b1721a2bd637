"""What recall told each session, and what a session knows of the memories anyway. Cheap to import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import apsw

STATEMENTS = {
    "recalled": (
        "INSERT INTO recalled (session, memory, token, bytes, at) SELECT ?1, pk, ?3, ?4, ?5 FROM memory WHERE id = ?2"
        " ON CONFLICT (session, memory, token) DO UPDATE SET bytes = bytes + excluded.bytes, at = excluded.at"
    ),
    "asked": (
        "INSERT INTO recall_asked (session, prompt, transcript, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (session)"
        " DO UPDATE SET prompt = excluded.prompt, transcript = excluded.transcript, at = excluded.at"
    ),
    "delivered": "DELETE FROM recall_picked WHERE session = ?1",
    "cleared": (
        # A clock that was set back does not make what the session saw before that newer than this.
        "UPDATE session SET cleared_at = (SELECT max(at) FROM (SELECT ?2 AS at"
        " UNION ALL SELECT max(at) FROM seen WHERE session = ?1 UNION ALL SELECT max(at) FROM inbox WHERE session = ?1"
        " UNION ALL SELECT max(at) FROM operation WHERE session = ?1)) WHERE id = ?1"
    ),
    "forgotten": "DELETE FROM recalled WHERE session = ?1",
}
"""Records as in `store/sessions.py`, for `quick.write`."""


def clear(connection: apsw.Connection, session: str, at: int) -> None:
    """The session's conversation was taken away: what it was told or saw counts as unseen. Call inside a write
    transaction."""
    connection.execute(STATEMENTS["cleared"], (session, at))
    connection.execute(STATEMENTS["forgotten"], (session,))


def record(connection: apsw.Connection, session: str, told: Sequence[tuple[str, str, int]], at: int) -> None:
    """Keeps what a session was told: (memory, token, bytes) each. Call inside a write transaction."""
    for memory, token, size in told:
        connection.execute(STATEMENTS["recalled"], (session, memory, token, size, at))


def spent(connection: apsw.Connection, session: str) -> int:
    """Bytes that the session was told."""
    row = connection.execute("SELECT coalesce(sum(bytes), 0) FROM recalled WHERE session = ?", (session,)).fetchone()
    return 0 if row is None else int(row[0])


def known(connection: apsw.Connection, session: str, memories: Sequence[str]) -> dict[str, str]:
    """Which of these memories the session knows as they stand now, by their ids: `told`, `read` or `written`."""
    marks = ",".join("?" * len(memories))
    since = "coalesce((SELECT cleared_at FROM session WHERE id = ?1), 0)"
    found: dict[str, str] = {}
    for how, source in (
        ("told", "JOIN recalled r ON r.memory = m.pk AND r.token = m.token WHERE r.session = ?1"),
        ("written", f"JOIN operation o ON o.seq = m.operation WHERE o.session = ?1 AND o.at > {since}"),
        ("read", f"JOIN seen s ON s.name = m.path AND s.text = m.text WHERE s.session = ?1 AND s.at > {since}"),
        (
            # What its hooks told and nobody has taken in yet.
            "read",
            "JOIN text t ON t.id = m.text JOIN inbox i ON i.name = m.path AND i.result = t.content"
            f" WHERE i.session = ?1 AND i.state = 'done' AND i.at > {since}",
        ),
    ):
        rows = connection.execute(f"SELECT m.id FROM memory m {source} AND m.id IN ({marks})", (session, *memories))
        for (memory,) in rows:
            found.setdefault(str(memory), how)
    return found


@contextmanager
def one_moment(connection: apsw.Connection) -> Iterator[None]:
    """All that is read within belongs to one moment of the store."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def living(connection: apsw.Connection) -> int:
    """How many memories there are."""
    row = connection.execute("SELECT count(*) FROM memory WHERE state = 'live'").fetchone()
    return 0 if row is None else int(row[0])


def take_asked(connection: apsw.Connection, since: int) -> tuple[str, str, str | None] | None:
    """The session, the prompt and the transcript for which a model is to pick, newest first; it is taken out. What was
    asked before `since` is forgotten. Call inside a write transaction."""
    connection.execute("DELETE FROM recall_asked WHERE at < ?", (since,))
    row = connection.execute("SELECT session, prompt, transcript FROM recall_asked ORDER BY at DESC LIMIT 1").fetchone()
    if row is None:
        return None
    connection.execute("DELETE FROM recall_asked WHERE session = ?", (row[0],))
    return str(row[0]), str(row[1]), row[2]


def pick(connection: apsw.Connection, session: str, memories: Sequence[str], at: int) -> None:
    """Keeps what a model picked, until the session's next prompt. Call inside a write transaction."""
    connection.execute(STATEMENTS["delivered"], (session,))
    for memory in memories:
        connection.execute(
            "INSERT INTO recall_picked (session, memory, at) SELECT ?1, pk, ?3 FROM memory WHERE id = ?2",
            (session, memory, at),
        )


def picked(connection: apsw.Connection, session: str) -> list[int]:
    """The living memories that a model picked for a session and that it was not told yet, by their keys."""
    rows = connection.execute(
        "SELECT p.memory FROM recall_picked p JOIN memory m ON m.pk = p.memory AND m.state = 'live'"
        " WHERE p.session = ? ORDER BY p.memory",
        (session,),
    )
    return [int(row[0]) for row in rows]


def told(connection: apsw.Connection, session: str) -> list[str]:
    """The paths of what a session was told."""
    rows = connection.execute(
        "SELECT DISTINCT m.path FROM recalled r JOIN memory m ON m.pk = r.memory WHERE r.session = ? ORDER BY m.path",
        (session,),
    )
    return [str(row[0]) for row in rows]


def missing(connection: apsw.Connection, paths: Sequence[str]) -> set[str]:
    """Those of these paths whose files were not there when one of the folders was last looked at."""
    rows = connection.execute(
        f"SELECT DISTINCT name FROM shown WHERE missing_since IS NOT NULL AND name IN ({','.join('?' * len(paths))})",
        tuple(paths),
    )
    return {str(row[0]) for row in rows}
