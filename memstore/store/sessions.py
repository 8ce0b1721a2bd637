"""Sessions of agents: what they did, what they were told, where saving rests, what is left to do. Cheap to import.

The short path of a hook and the long one use the same statements. Everything that a hook writes is a record that can
be written any number of times and counts once.
"""

from __future__ import annotations

import apsw

INDEX = "MEMORY.md"

ARRIVES = (
    "INSERT INTO inbox (id, kind, state, folder, name, session, message, worktree, branch, found, original, result, at)"
    " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13"
)
# What the client overwrote it tells without CR; what was found before the call has them.
COMPLETES = (
    " ON CONFLICT (id) DO UPDATE SET state = 'done', original = iif(typeof(found) = 'text'"
    " AND typeof(excluded.original) = 'text' AND replace(found, char(13, 10), char(10)) = excluded.original,"
    " found, excluded.original), result = excluded.result, at = excluded.at"
    " WHERE excluded.state = 'done' AND state IN ('open', 'dead', 'heard')"
    " AND session = excluded.session AND folder = excluded.folder AND name = excluded.name"
)
"""A call that is done completes the row that said it was about to begin, and no other session's."""

# A call that failed may have written all the same (it was interrupted): given up, but known again by its outcome.
STATEMENTS = {
    "arrival": f"{ARRIVES} WHERE EXISTS (SELECT 1 FROM folder WHERE path = ?4){COMPLETES}",
    "failed": (
        "UPDATE inbox SET state = 'dead'"
        " WHERE id = ?1 AND state = 'open' AND session = ?2 AND folder = ?3 AND name = ?4"
    ),
    "job": (
        "INSERT INTO job (id, kind, state, session, transcript, cwd, event, at, turns)"
        " VALUES (?1, 'extract', 'waiting', ?2, ?3, ?4, ?5, ?6, ?5 = 'Stop') ON CONFLICT (id) DO NOTHING"
        " ON CONFLICT (kind, session) WHERE state = 'waiting' DO UPDATE SET id = excluded.id, event = excluded.event,"
        " transcript = excluded.transcript, cwd = excluded.cwd, at = excluded.at, turns = turns + excluded.turns"
        " WHERE excluded.at >= at"
    ),
    "ended": (
        "INSERT INTO session (id, source, worktree, branch, heard, turn_ended, started_at)"
        " SELECT ?1, 'startup', ?2, ?3, coalesce(max(seq), 0), ?4, ?4 FROM operation WHERE true"
        " ON CONFLICT (id) DO UPDATE SET turn_ended = max(coalesce(turn_ended, 0), excluded.turn_ended)"
    ),
    "heard": (
        "INSERT INTO session (id, source, worktree, branch, heard, started_at) VALUES (?1, 'startup', ?2, ?3, ?4, ?5)"
        " ON CONFLICT (id) DO UPDATE SET heard = max(heard, excluded.heard)"
    ),
    "started": (
        "INSERT INTO session (id, source, worktree, branch, transcript, heard, started_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET source = excluded.source,"
        " worktree = excluded.worktree, branch = excluded.branch, transcript = excluded.transcript,"
        " heard = max(heard, excluded.heard), started_at = excluded.started_at"
    ),
    "pause": "INSERT INTO pause (scope, key, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    "rested": (
        "INSERT INTO rested (scope, key, since, until)"
        " SELECT scope, key, at, ?3 FROM pause WHERE scope = ?1 AND key = ?2"
    ),
    "resume": "DELETE FROM pause WHERE scope = ?1 AND key = ?2",
}


def write(connection: apsw.Connection, what: str, values: tuple[object, ...]) -> bool:
    """Runs one of the statements; whether it changed anything. Call inside a write transaction."""
    connection.execute(STATEMENTS[what], values)
    return connection.changes() == 1


LOADING = 10_000_000
"""Microseconds: what came into the index so shortly before a session's first hook, it may not have loaded."""

_OWN = "(instr(o.session || '/', ?2 || '/') = 1)"
"""The session's own operations, and those of the agents inside it."""


def stored(content: bytes | None) -> str | bytes | None:
    """A text as it is kept: as TEXT where it is UTF-8."""
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return content


def pauses(connection: apsw.Connection, session: str, worktree: str) -> list[str]:
    """What is paused of `session`, `worktree` and `store`, as it concerns this session."""
    rows = connection.execute(
        "SELECT scope FROM pause WHERE scope = 'store' OR (scope = 'session' AND key = ?1)"
        " OR (scope = 'worktree' AND key = ?2) ORDER BY scope",
        (session, worktree),
    )
    return [row[0] for row in rows]


def all_pauses(connection: apsw.Connection) -> set[tuple[str, str]]:
    """What is paused, as scope and key: of a session its id, of a worktree its path."""
    return {(str(row[0]), str(row[1])) for row in connection.execute("SELECT scope, key FROM pause")}


def rests(connection: apsw.Connection, session: str, worktree: str) -> list[tuple[int, int | None]]:
    """From when until when saving was paused for a session, in unix microseconds; None: it still is."""
    rows = connection.execute(
        "SELECT since, until FROM (SELECT scope, key, since, until FROM rested"
        " UNION ALL SELECT scope, key, at, NULL FROM pause)"
        " WHERE scope = 'store' OR (scope = 'session' AND key = ?1) OR (scope = 'worktree' AND key = ?2)"
        " ORDER BY since",
        (session, worktree),
    )
    return [(int(row[0]), row[1]) for row in rows]


def folders(connection: apsw.Connection) -> list[str]:
    """The memory folders that the store is shown in."""
    return [row[0] for row in connection.execute("SELECT path FROM folder ORDER BY pk")]


def surely_loaded(connection: apsw.Connection, folder: str, content: bytes, now: int) -> bytes:
    """Of an index the lines that a session has loaded for sure.

    The client reads it some time before its first hook runs: what came in between must not count as loaded, for a
    session that does not write it back would seem to take it out. A line that is taken for not loaded is kept, at
    worst against the session's wish.
    """
    rows = connection.execute(
        "SELECT t.content FROM folder f JOIN shown s ON s.folder = f.pk AND s.name = ?2 JOIN text t ON t.id = s.text"
        " WHERE f.path = ?1 UNION ALL"
        " SELECT t.content FROM folder f JOIN shown_before b ON b.folder = f.pk AND b.name = ?2"
        " JOIN text t ON t.id = b.text WHERE f.path = ?1 AND b.at >= ?3 UNION ALL"
        " SELECT t.content FROM folder f JOIN known_since k ON k.folder = f.pk AND k.name = ?2"
        " JOIN text t ON t.id = k.text WHERE f.path = ?1 AND k.at >= ?3 UNION ALL"
        " SELECT original FROM inbox WHERE folder = ?1 AND name = ?2 AND state = 'done' AND at >= ?3"
        " AND original IS NOT NULL",
        (folder, INDEX, now - LOADING),
    )
    lines = content.split(b"\n")
    for (text,) in rows:
        known = set((text.encode() if isinstance(text, str) else text).split(b"\n"))
        lines = [line for line in lines if line in known]
    return b"\n".join(lines)


def heard(connection: apsw.Connection, session: str) -> int | None:
    """Up to which operation a session was told; None: it is new."""
    row = connection.execute("SELECT heard FROM session WHERE id = ?", (session,)).fetchone()
    return None if row is None else int(row[0])


def place(connection: apsw.Connection, session: str) -> tuple[str | None, str | None]:
    """The worktree and the branch that a session was last known to be at."""
    row = connection.execute("SELECT worktree, branch FROM session WHERE id = ?", (session,)).fetchone()
    return (None, None) if row is None else (row[0], row[1])


def last_operation(connection: apsw.Connection) -> int:
    """The newest operation; 0 in an empty store."""
    row = connection.execute("SELECT coalesce(max(seq), 0) FROM operation").fetchone()
    return 0 if row is None else int(row[0])


def changed_by_others(
    connection: apsw.Connection, since: int, session: str
) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The paths that others changed after an operation, and by whom: (session, worktree, origin), each once.

    A path is empty where the words are a tool's, as in `store/runs.py`. Notes of sessions (`core/model.py` has their
    shelf) are no news to another session.
    """
    rows = connection.execute(
        "SELECT coalesce((SELECT path FROM memory m WHERE m.pk = v.memory), v.path), coalesce(o.session, ''),"
        " coalesce(o.worktree, ''), o.origin, o.seq, v.origin = 'tool'"
        " FROM operation o JOIN version v ON v.operation = o.seq"
        f" WHERE o.seq > ?1 AND v.scope <> 'session' AND NOT coalesce({_OWN}, 0) UNION ALL"
        " SELECT ?3, coalesce(o.session, ''), coalesce(o.worktree, ''), o.origin, o.seq, 0 FROM operation o"
        f" WHERE o.seq > ?1 AND NOT coalesce({_OWN}, 0)"
        " AND EXISTS (SELECT 1 FROM line_version l WHERE l.operation = o.seq AND l.kind <> 'auto')"
        " AND NOT EXISTS (SELECT 1 FROM version v WHERE v.operation = o.seq)"
        " ORDER BY 5",
        (since, session, INDEX),
    ).fetchall()
    paths = {str(row[0]): bool(row[5]) for row in rows}  # by its last version
    who = dict.fromkeys((str(row[1]), str(row[2]), str(row[3])) for row in rows)
    return ["" if of_tool else path for path, of_tool in paths.items()], list(who)


def make_due(connection: apsw.Connection, now: int) -> int:
    """The memories of sessions whose turn has ended get their index line now: rule 18 of `core/index.py`."""
    connection.execute(
        "UPDATE memory SET due_at = ?1 WHERE listing = 'due' AND state = 'live' AND due_at > ?1 AND operation IN ("
        " SELECT o.seq FROM operation o JOIN session s ON instr(o.session || '/', s.id || '/') = 1"
        " WHERE s.turn_ended IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.session = s.id AND i.at > s.turn_ended))",
        (now,),
    )
    return connection.changes()


def without_line(connection: apsw.Connection, session: str) -> list[tuple[str, str]]:
    """The memories of others whose index line is still to come: (path, description)."""
    rows = connection.execute(
        "SELECT m.path, m.description FROM memory m JOIN operation o ON o.seq = m.operation"
        " WHERE m.listing = 'due' AND m.state = 'live' AND NOT coalesce(instr(o.session || '/', ?1 || '/') = 1, 0)"
        " ORDER BY m.pk",
        (session,),
    )
    return [(str(row[0]), str(row[1])) for row in rows]


def has_memories(connection: apsw.Connection) -> bool:
    """Whether there is a memory that could be recalled."""
    row = connection.execute("SELECT EXISTS (SELECT 1 FROM memory WHERE state = 'live' AND scope <> 'session')")
    return bool(row.get)


def has_picks(connection: apsw.Connection, session: str) -> bool:
    """Whether a model has picked memories for a session that it was not told yet."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM recall_picked WHERE session = ?)", (session,)).get)


def running_notes(connection: apsw.Connection, session: str) -> str | None:
    """The run that is bringing a session's notes up to date, by its id; perhaps that of a worker that is gone."""
    row = connection.execute(
        "SELECT id FROM run WHERE kind = 'notes' AND session = ? AND state = 'running'", (session,)
    ).fetchone()
    return None if row is None else str(row[0])


def failed_jobs(connection: apsw.Connection) -> int:
    """How many jobs failed and wait for somebody to look."""
    row = connection.execute("SELECT count(*) FROM job WHERE state = 'failed'").fetchone()
    return 0 if row is None else int(row[0])


def open_conflicts(connection: apsw.Connection) -> list[str]:
    """The paths that have an open conflict."""
    rows = connection.execute("SELECT DISTINCT path FROM conflict WHERE resolved IS NULL ORDER BY pk")
    return [row[0] for row in rows]
