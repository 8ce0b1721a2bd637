"""The inbox: what hooks saw sessions do to files, what each session had seen, what became known since.

A row is one call of a session, with the call's own id: however often it arrives, it counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import apsw

from memstore.core.frontmatter import calm
from memstore.core.ids import fingerprint
from memstore.errors import StaleVersion
from memstore.store.connection import Row, many, one
from memstore.store.reader import text_content
from memstore.store.sessions import ARRIVES, COMPLETES
from memstore.store.writer import stored, text_row

Kind = Literal["load", "read", "write", "edit"]
State = Literal["open", "done", "settled", "dead", "heard"]

PATIENCE = 5_000_000
"""Microseconds for which a call that was about to begin is waited for: rule 5."""

MEMORY = 3_600_000_000
"""Microseconds for which such a call is known again by what it was about to write."""

_RECENT = 40
_TAKEN_IN = "NOT EXISTS (SELECT 1 FROM kept k WHERE k.folder = b.folder AND k.name = b.name AND k.n = b.n)"
_LAY_THERE = "SELECT text FROM shown UNION SELECT text FROM shown_before UNION SELECT text FROM known_since"
_COLUMNS = (
    "SELECT seq, id, kind, state, folder, name, at, session, message, worktree, branch, found, original, result, taken"
    " FROM inbox"
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a hook saw of one call. `at`: unix microseconds. See `schema/0003_inbox.sql` for the words."""

    id: str
    kind: Kind
    state: State
    folder: str
    name: str
    at: int
    session: str
    message: str | None = None
    worktree: str | None = None
    branch: str | None = None
    found: bytes | None = None
    original: bytes | None = None
    result: bytes | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row that waits. `seq`: the order of arrival."""

    seq: int
    call: Arrival
    taken: bytes | None


@dataclass(frozen=True, slots=True)
class Known:
    """A text that is known under a name from now on. `put`: it is about to be projected there."""

    name: str
    content: bytes
    put: bool = False


@dataclass(frozen=True, slots=True)
class SeenBy:
    """What a session had before it under a name. `loaded`: cut to what the client loads at the start."""

    session: str
    folder: str
    name: str
    content: bytes
    loaded: bool = False


@dataclass(frozen=True, slots=True)
class Settle:
    """A row was worked in, or given up. Nothing of the operation happens where another process was faster."""

    id: str
    was: State
    state: State


@dataclass(frozen=True, slots=True)
class Forgo:
    """What was about to be projected under a name was not."""

    name: str


InboxChange = Forgo | Known | SeenBy | Settle


def receive(connection: apsw.Connection, arrivals: Sequence[Arrival]) -> None:
    """Puts rows into the inbox. A call that is done completes the row that said it was about to begin."""
    for call in arrivals:
        connection.execute(
            f"{ARRIVES} WHERE true{COMPLETES}",
            (call.id, call.kind, call.state, call.folder, call.name, call.session, call.message, call.worktree,
             call.branch, _stored(call.found), _stored(call.original), _stored(call.result), call.at),
        )  # fmt: skip


def names_waiting(connection: apsw.Connection, folder: str) -> list[str]:
    """The names in a folder under which rows wait."""
    rows = connection.execute(
        "SELECT DISTINCT name FROM inbox WHERE state IN ('open', 'done') AND folder = ? ORDER BY name", (folder,)
    )
    return [row[0] for row in rows]


def waiting(connection: apsw.Connection, folder: str, name: str) -> list[Waiting]:
    """The rows of a name that wait, in the order in which it happened."""
    rows = connection.execute(
        f"{_COLUMNS} WHERE state IN ('open', 'done') AND folder = ? AND name = ? ORDER BY at, seq", (folder, name)
    )
    return [_waiting(row) for row in rows]


def names_given_up(connection: apsw.Connection, folder: str, now: int) -> set[str]:
    """The names under which calls may still be made of which nothing was heard in time: a person may be thinking
    about whether to allow them."""
    rows = connection.execute(
        "SELECT DISTINCT name FROM inbox WHERE state = 'dead' AND result IS NOT NULL AND folder = ? AND at > ?",
        (folder, now - MEMORY),
    )
    return {row[0] for row in rows}


def given_up(connection: apsw.Connection, folder: str, name: str, now: int) -> list[Waiting]:
    """These calls, of one name."""
    rows = connection.execute(
        f"{_COLUMNS} WHERE state = 'dead' AND result IS NOT NULL AND folder = ? AND name = ? AND at > ?"
        " ORDER BY at, seq",
        (folder, name, now - MEMORY),
    )
    return [_waiting(row) for row in rows]


def folders_told(connection: apsw.Connection) -> list[str]:
    """The folders in which calls that are done wait."""
    rows = connection.execute("SELECT DISTINCT folder FROM inbox WHERE state = 'done' ORDER BY folder")
    return [row[0] for row in rows]


def busy(connection: apsw.Connection, folder: str, now: int) -> set[str]:
    """The names under which a session is at work just now: rule 5."""
    rows = connection.execute(
        "SELECT name FROM inbox WHERE state = 'open' AND folder = ? AND at BETWEEN ? AND ?",
        (folder, now - PATIENCE, now + PATIENCE),
    )
    return {row[0] for row in rows}


def known_since(connection: apsw.Connection, folder: int, name: str) -> tuple[bytes, ...]:
    """The texts that became known under a name since its B, in the order in which they did."""
    rows = connection.execute(
        "SELECT t.content FROM known_since k JOIN text t ON t.id = k.text WHERE k.folder = ? AND k.name = ?"
        " ORDER BY k.at, k.text",
        (folder, name),
    )
    return tuple(text_content(row[0]) for row in rows)


def begun(connection: apsw.Connection, folder: int, name: str) -> tuple[bytes, ...]:
    """The texts that were about to be projected under a name, by processes that did not come to record it."""
    rows = connection.execute(
        "SELECT t.content FROM known_since k JOIN text t ON t.id = k.text WHERE k.folder = ? AND k.name = ? AND k.put",
        (folder, name),
    )
    return tuple(text_content(row[0]) for row in rows)


def names_known_since(connection: apsw.Connection, folder: int) -> set[str]:
    """The names under which texts became known since their B."""
    return {row[0] for row in connection.execute("SELECT DISTINCT name FROM known_since WHERE folder = ?", (folder,))}


def seen_by(connection: apsw.Connection, session: str, folder: str, name: str) -> SeenBy | None:
    """What a session last loaded, read or wrote under a name, as far as its rows are worked in."""
    row = one(
        connection,
        "SELECT t.content, s.loaded FROM seen s JOIN text t ON t.id = s.text"
        " WHERE s.session = ? AND s.folder = ? AND s.name = ?",
        (session, folder, name),
    )
    return None if row is None else SeenBy(session, folder, name, text_content(row[0]), bool(row[1]))


class KnownTexts(Collection[bytes]):
    """The texts that the store knows under a name. It contains all of them; it lists the recent ones of those that
    lay in a file, newest first: what only tools wrote, or what was merged and not shown yet, nobody can have edited.

    What came out of a projection and is not taken in yet is not one of them: nothing of it is in any memory.
    """

    def __init__(self, connection: apsw.Connection, name: str, memory: str | None) -> None:
        self._connection = connection
        self._name = name
        self._memory = memory
        self._recent: list[bytes] | None = None

    def __contains__(self, content: object) -> bool:
        """Whether this text, the client's stamps aside, is known."""
        if not isinstance(content, bytes):
            return False
        row = one(
            self._connection,
            "SELECT EXISTS (SELECT 1 FROM text t WHERE (t.digest = ?1 OR t.calm = ?2) AND ("
            " EXISTS (SELECT 1 FROM version v JOIN memory m ON m.pk = v.memory WHERE v.text = t.id AND m.id = ?4)"
            " OR EXISTS (SELECT 1 FROM shown WHERE name = ?3 AND text = t.id)"
            f" OR EXISTS (SELECT 1 FROM shown_before b WHERE b.name = ?3 AND b.text = t.id AND {_TAKEN_IN})"
            " OR EXISTS (SELECT 1 FROM known_since WHERE name = ?3 AND text = t.id)"
            " OR EXISTS (SELECT 1 FROM conflict WHERE path = ?3 AND kind = 'text' AND theirs = t.id)"
            " OR EXISTS (SELECT 1 FROM set_aside WHERE name = ?3 AND text = t.id)))",
            (fingerprint(content), fingerprint(calm(content)), self._name, self._memory),
        )
        return bool(row and row[0])

    def __iter__(self) -> Iterator[bytes]:
        if self._recent is None:
            self._recent = self._listed()
        return iter(self._recent)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _listed(self) -> list[bytes]:
        rows = many(
            self._connection,
            "SELECT content FROM (SELECT t.content, 0 AS age, k.at AS n FROM known_since k JOIN text t ON t.id = k.text"
            " WHERE k.name = ?1 UNION ALL SELECT t.content, 1, 0 FROM shown s JOIN text t ON t.id = s.text"
            " WHERE s.name = ?1 UNION ALL SELECT * FROM (SELECT t.content, 2, b.at FROM shown_before b"
            f" JOIN text t ON t.id = b.text WHERE b.name = ?1 AND {_TAKEN_IN} ORDER BY b.at DESC, b.n DESC LIMIT ?3)"
            " UNION ALL SELECT * FROM (SELECT t.content, 3, v.number FROM version v JOIN memory m ON m.pk = v.memory"
            f" JOIN text t ON t.id = v.text WHERE m.id = ?2 AND v.text IN ({_LAY_THERE}) ORDER BY v.number DESC"
            " LIMIT ?3)) ORDER BY age, n DESC",
            (self._name, self._memory, _RECENT),
        )
        return list(dict.fromkeys(text_content(row[0]) for row in rows))


def write(connection: apsw.Connection, folder: int, change: InboxChange, now: int, seq: int | None) -> None:
    """Carries out one change. Call inside a write transaction. Raises StaleVersion where a row is settled already."""
    match change:
        case Known(name=name, content=content, put=put):
            connection.execute(
                "INSERT INTO known_since (folder, name, text, put, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (folder, name, text_row(connection, content), put, now),
            )
        case SeenBy(session=session, folder=path, name=name, content=content, loaded=loaded):
            connection.execute(
                "INSERT INTO seen (session, folder, name, text, loaded, at) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (session, folder, name) DO UPDATE SET text = excluded.text, loaded = excluded.loaded,"
                " at = excluded.at",
                (session, path, name, text_row(connection, content), loaded, now),
            )
        case Forgo(name=name):
            connection.execute("DELETE FROM known_since WHERE folder = ? AND name = ? AND put", (folder, name))
        case Settle():
            _settle(connection, change, seq)


def _settle(connection: apsw.Connection, change: Settle, seq: int | None) -> None:
    """The texts of a settled row are in the text table by now. One that was given up may still be made."""
    connection.execute(
        "UPDATE inbox SET state = ?1, operation = coalesce(?2, operation), taken = iif(?1 = 'heard', result, NULL),"
        " found = iif(?1 = 'dead', found, NULL), original = NULL, result = iif(?1 = 'dead', result, NULL)"
        " WHERE id = ?3 AND state = ?4",
        (change.state, seq, change.id, change.was),
    )
    if connection.changes() != 1:
        raise StaleVersion(change.id, change.was, "settled", b"", b"")


def flush_known(connection: apsw.Connection, folder: int, name: str, text: int, now: int, *, put: bool) -> None:
    """B moves on: what was known since the last one joins the texts that were shown before."""
    if not connection.execute(
        "SELECT EXISTS (SELECT 1 FROM known_since WHERE folder = ? AND name = ?)", (folder, name)
    ).get:
        return
    connection.execute(
        "INSERT INTO shown_before (folder, name, n, text, put, at) SELECT ?1, ?2,"
        " (SELECT coalesce(max(n), 0) FROM shown_before WHERE folder = ?1 AND name = ?2)"
        " + row_number() OVER (ORDER BY k.at, k.text), k.text, ?4, ?5 FROM known_since k"
        " WHERE k.folder = ?1 AND k.name = ?2 AND k.text <> ?3",
        (folder, name, text, put, now),
    )
    connection.execute("DELETE FROM known_since WHERE folder = ? AND name = ?", (folder, name))


def keep_before(connection: apsw.Connection, folder: int, name: str, content: bytes, now: int) -> None:
    """Adds to the texts that were there before the newest projection."""
    connection.execute(
        "INSERT INTO shown_before (folder, name, n, text, put, at) VALUES (?1, ?2,"
        " (SELECT coalesce(max(n), 0) + 1 FROM shown_before WHERE folder = ?1 AND name = ?2), ?3, 1, ?4)",
        (folder, name, text_row(connection, content), now),
    )


def _waiting(row: Row) -> Waiting:
    texts = (None if text is None else text_content(text) for text in row[11:14])
    return Waiting(row[0], Arrival(*row[1:11], *texts), None if row[14] is None else text_content(row[14]))


def _stored(content: bytes | None) -> str | bytes | None:
    return None if content is None else stored(content)
