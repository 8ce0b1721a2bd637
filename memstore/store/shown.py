"""What the folders show: the bytes last put or accepted under each (folder, name), and their version.

They are the merge base of an edit that nobody signed. A stamp is a file's size, times and inode when its bytes
were last known; where the file was too young for its times to be telling, the stamp is None and the file is read
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json import dumps, loads

import apsw

from memstore.core.frontmatter import calm
from memstore.core.ids import fingerprint
from memstore.store import inbox, kept
from memstore.store.connection import many, one
from memstore.store.reader import text_content
from memstore.store.writer import text_row

# So much is rendered whole, whatever the characters: `core.index_lines.Limits` has the client's own.
_SURE_LINES = 150
_SURE_CHARACTERS = 10_000


@dataclass(frozen=True, slots=True)
class FolderRow:
    """A folder that the store knows. `shows`: every operation up to this one is on its files.

    `stamp`: the directory's own stamp at the last whole scan.
    """

    pk: int
    path: str
    gone_at: int | None
    shows: int
    stamp: str | None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """What was last put or accepted under a name. `memory` None: the index.

    `put`: this text was projected, not taken from the file. `flagged`: lines kept once against the file's wish.
    """

    name: str
    memory: str | None
    version: int
    content: bytes
    stamp: str | None = None
    missing_since: int | None = None
    lines: str | None = None
    flagged: tuple[str, ...] = ()
    put: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    """Drops what is known of a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Missing:
    """Marks a name as absent since a moment (unix microseconds), or, with None, as there again."""

    name: str
    since: int | None


@dataclass(frozen=True, slots=True)
class Stamp:
    """The bytes are as they were; only the stamp is new."""

    name: str
    stamp: str | None


@dataclass(frozen=True, slots=True)
class Aside:
    """A file that was put aside: its bytes are kept."""

    name: str
    content: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Before:
    """A text that lay under a name when its newest projection took its place."""

    name: str
    content: bytes


ShownChange = ShownRow | Forget | Missing | Stamp | Aside | Before | inbox.InboxChange | kept.KeptChange


def folder_row(connection: apsw.Connection, path: str) -> FolderRow | None:
    """What is known of a folder."""
    row = one(connection, "SELECT pk, path, gone_at, shows, stamp FROM folder WHERE path = ?", (path,))
    return None if row is None else FolderRow(*row)


def add_folder(connection: apsw.Connection, path: str, now: int) -> FolderRow:
    """Makes a folder known. Call inside a write transaction."""
    connection.execute("INSERT INTO folder (path, taken_at) VALUES (?, ?) ON CONFLICT (path) DO NOTHING", (path, now))
    row = folder_row(connection, path)
    assert row is not None
    return row


def stamps(connection: apsw.Connection, folder: int) -> dict[str, str | None]:
    """The stamp of every name that was shown."""
    return dict(many(connection, "SELECT name, stamp FROM shown WHERE folder = ?", (folder,)))


def digests(connection: apsw.Connection, folder: int, names: Sequence[str]) -> dict[str, tuple[bytes, int]]:
    """The fingerprint and the version of what was last shown under each of these names."""
    rows = connection.execute(
        "SELECT s.name, t.digest, s.version FROM shown s JOIN text t ON t.id = s.text"
        f" WHERE s.folder = ? AND s.name IN ({','.join('?' * len(names))})",
        (folder, *names),
    )
    return {name: (digest, version) for name, digest, version in rows}


def missing(connection: apsw.Connection, folder: int) -> dict[str, int]:
    """The names that were absent in an earlier scan, and since when."""
    return dict(
        many(
            connection,
            "SELECT name, missing_since FROM shown WHERE folder = ? AND missing_since IS NOT NULL",
            (folder,),
        )
    )


def shown_row(connection: apsw.Connection, folder: int, name: str) -> ShownRow | None:
    """What was last put or accepted under a name."""
    row = one(
        connection,
        "SELECT s.name, (SELECT m.id FROM memory m WHERE m.pk = s.memory), s.version, t.content, s.stamp,"
        " s.missing_since, s.lines, s.flagged FROM shown s JOIN text t ON t.id = s.text"
        " WHERE s.folder = ? AND s.name = ?",
        (folder, name),
    )
    if row is None:
        return None
    flagged = tuple(loads(row[7])) if row[7] else ()
    return ShownRow(row[0], row[1], row[2], text_content(row[3]), row[4], row[5], row[6], flagged)


def names_saying(connection: apsw.Connection, folder: int, content: bytes) -> list[str]:
    """The names under which this text is shown, the client's stamps aside."""
    rows = connection.execute(
        "SELECT s.name FROM shown s JOIN text t ON t.id = s.text"
        " WHERE s.folder = ? AND t.calm = ? AND s.memory IS NOT NULL",
        (folder, fingerprint(calm(content))),
    )
    return [row[0] for row in rows]


def shown_names_of(connection: apsw.Connection, folder: int, memory: str) -> list[str]:
    """The names under which a memory is shown (more than one after a rename that is not on the files yet)."""
    rows = connection.execute(
        "SELECT s.name FROM shown s JOIN memory m ON m.pk = s.memory WHERE s.folder = ? AND m.id = ?",
        (folder, memory),
    )
    return [row[0] for row in rows]


def texts_before(connection: apsw.Connection, folder: int, name: str, limit: int = 20) -> list[bytes]:
    """The texts that were shown, or known, under a name before its newest projection; newest first."""
    rows = connection.execute(
        "SELECT t.content FROM shown_before b JOIN text t ON t.id = b.text WHERE b.folder = ?1 AND b.name = ?2"
        " AND b.n <= (SELECT max(n) FROM shown_before WHERE folder = ?1 AND name = ?2 AND put = 1)"
        " ORDER BY b.n DESC LIMIT ?3",
        (folder, name, limit),
    )
    return [text_content(row[0]) for row in rows]


def write(
    connection: apsw.Connection, folder: int, changes: tuple[ShownChange, ...], now: int, seq: int | None = None
) -> None:
    """Carries out changes to what a folder shows. Call inside a write transaction. `seq`: the operation they go with.

    Raises StaleVersion where another process was faster with a row of the inbox.
    """
    for change in changes:
        if isinstance(change, inbox.InboxChange):
            inbox.write(connection, folder, change, now, seq)
        elif isinstance(change, kept.KeptChange):
            kept.write(connection, folder, change)
        elif isinstance(change, ShownRow):
            _put(connection, folder, change, now)
        elif isinstance(change, Forget):
            _keep_before(connection, folder, change.name, None, now, put=True)
            inbox.flush_known(connection, folder, change.name, 0, now, put=False)
            connection.execute("DELETE FROM shown WHERE folder = ? AND name = ?", (folder, change.name))
        elif isinstance(change, Missing):
            connection.execute(
                "UPDATE shown SET missing_since = ? WHERE folder = ? AND name = ?",
                (change.since, folder, change.name),
            )
        elif isinstance(change, Stamp):
            connection.execute(
                "UPDATE shown SET stamp = ?, missing_since = NULL WHERE folder = ? AND name = ?",
                (change.stamp, folder, change.name),
            )
        elif isinstance(change, Before):
            inbox.keep_before(connection, folder, change.name, change.content, now)
        else:
            connection.execute(
                "INSERT INTO set_aside (folder, name, text, reason, at) VALUES (?, ?, ?, ?, ?)",
                (folder, change.name, text_row(connection, change.content), change.reason, now),
            )


def _put(connection: apsw.Connection, folder: int, row: ShownRow, now: int) -> None:
    text = text_row(connection, row.content)
    before = one(connection, "SELECT text FROM shown WHERE folder = ? AND name = ?", (folder, row.name))
    if row.put or before is None or before[0] != text:
        inbox.flush_known(connection, folder, row.name, text, now, put=row.put)
        _keep_before(connection, folder, row.name, text, now, put=row.put)
    flagged = dumps(list(row.flagged), ensure_ascii=False) if row.flagged else None
    connection.execute(
        "INSERT INTO shown (folder, name, memory, version, text, stamp, missing_since, lines, flagged)"
        " VALUES (?, ?, (SELECT pk FROM memory WHERE id = ?), ?, ?, ?, ?, ?, ?) ON CONFLICT (folder, name) DO UPDATE"
        " SET memory = excluded.memory, version = excluded.version, text = excluded.text, stamp = excluded.stamp,"
        " missing_since = excluded.missing_since, lines = excluded.lines, flagged = excluded.flagged",
        (folder, row.name, row.memory, row.version, text, row.stamp, row.missing_since, row.lines, flagged),
    )


def _keep_before(connection: apsw.Connection, folder: int, name: str, text: int | None, now: int, *, put: bool) -> None:
    """Keeps the text shown until now, unless it stays the same."""
    connection.execute(
        "INSERT INTO shown_before (folder, name, n, text, put, at) SELECT s.folder, s.name,"
        " (SELECT coalesce(max(n), 0) + 1 FROM shown_before b WHERE b.folder = s.folder AND b.name = s.name),"
        " s.text, ?, ? FROM shown s WHERE s.folder = ? AND s.name = ? AND s.text IS NOT ?",
        (put, now, folder, name, text),
    )


def set_shows(connection: apsw.Connection, folder: int, seq: int) -> None:
    """Every operation up to `seq` is on the folder's files."""
    connection.execute("UPDATE folder SET shows = max(shows, ?) WHERE pk = ?", (seq, folder))


def set_stamp(connection: apsw.Connection, folder: int, stamp: str | None) -> None:
    """The directory's own stamp at a whole scan."""
    connection.execute("UPDATE folder SET stamp = ? WHERE pk = ?", (stamp, folder))


def set_gone(connection: apsw.Connection, folder: int, since: int | None) -> None:
    """Marks the folder as missing or emptied since a moment, or, with None, as there."""
    connection.execute("UPDATE folder SET gone_at = ? WHERE pk = ?", (since, folder))


def forget_all(connection: apsw.Connection, folder: int, now: int) -> None:
    """Drops what is known of every name: the folder is shown afresh."""
    names = many(connection, "SELECT name FROM shown WHERE folder = ?", (folder,))
    write(connection, folder, tuple(Forget(row[0]) for row in names), now)
    connection.execute("UPDATE folder SET shows = 0, stamp = NULL, gone_at = NULL WHERE pk = ?", (folder,))


def due_now(connection: apsw.Connection, now: int) -> bool:
    """Whether a memory's index line has waited long enough. `now`: unix microseconds."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM memory WHERE listing = 'due' AND state = 'live' AND due_at <= ?)",
        (now,),
    )
    return bool(row and row[0])


def moved_since(connection: apsw.Connection, seq: int) -> list[str]:
    """The ids of the memories whose head was written after operation `seq`."""
    rows = connection.execute("SELECT id FROM memory WHERE operation > ? ORDER BY pk", (seq,))
    return [row[0] for row in rows]


def index_moved_since(connection: apsw.Connection, seq: int) -> bool:
    """Whether any line of the index was written after operation `seq`, or a memory that may now deserve its line
    more or less than others do. That asks for an index with more lines or text than find room for sure."""
    row = one(
        connection,
        "SELECT EXISTS (SELECT 1 FROM line WHERE operation > ?1) OR (EXISTS (SELECT 1 FROM memory WHERE operation > ?1)"
        " AND (SELECT count(*) > ?2 OR total(length(text) + 1) > ?3"
        " FROM (SELECT text FROM line WHERE live = 1 LIMIT ?2 + 1)))",
        (seq, _SURE_LINES, _SURE_CHARACTERS),
    )
    return bool(row and row[0])


def last_operation(connection: apsw.Connection) -> int:
    """The place of the newest operation in the commit order; 0 in an empty store."""
    row = one(connection, "SELECT coalesce(max(seq), 0) FROM operation")
    return 0 if row is None else int(row[0])


def set_asides(connection: apsw.Connection, limit: int = 100) -> list[tuple[str, str, str, int, bytes]]:
    """Files that were put aside, newest first: (folder, name, reason, at, content)."""
    rows = connection.execute(
        "SELECT f.path, a.name, a.reason, a.at, t.content FROM set_aside a JOIN folder f ON f.pk = a.folder"
        " JOIN text t ON t.id = a.text ORDER BY a.pk DESC LIMIT ?",
        (limit,),
    )
    return [(row[0], row[1], row[2], row[3], text_content(row[4])) for row in rows]
