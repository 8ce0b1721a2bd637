"""Takes memories out of the history for good: the one exception to its being append-only.

It is one transaction, in which alone the triggers of the history let go (`purge_permit`), and it leaves a tombstone:
an operation that says who took how much, when and why. Foreign keys are looked at once, at its end: row by row it would
take minutes in a large store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from json import dumps, loads

import apsw

from memstore.core.changes import ChangeSet
from memstore.core.forgetting import MARK, names_one, without_links
from memstore.core.model import INDEX_NAME, Provenance
from memstore.core.names import collision_key
from memstore.errors import Defect, StoreBusy
from memstore.store import tombstones, writer
from memstore.store.connection import Reading, many, one
from memstore.store.reader import text_content
from memstore.store.search import rebuild_index
from memstore.store.store import Store

KIND = "purge"
"""The kind of the operation that stays."""

_NAMED = ("shown", "shown_before", "known_since", "seen", "kept", "set_aside")
"""Tables that keep texts by the name of a file."""


@dataclass(slots=True)
class Reach:
    """What a purge takes, counted by kind; the paths of memories that go; the operations that lose something."""

    taken: dict[str, int] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    operations: set[int] = field(default_factory=set)

    def count(self, what: str, number: int) -> None:
        """Adds to a count."""
        if number:
            self.taken[what] = self.taken.get(what, 0) + number


Connection = apsw.Connection
"""That of the transaction, for the functions of this room."""

Work = Callable[[Connection, Reach], None]


def commit(
    store: Store, what: str, operation: str, by: Provenance, reason: str, work: Work
) -> tuple[int | None, Reach]:
    """Does the work in one transaction and leaves a tombstone. Returns the number of its operation and its reach; None
    where there was nothing to take.

    Raises what the work does and the kinds of StoreUnavailable; then nothing is changed.
    """
    reach = Reach()
    try:
        with _forgetting(store) as connection:
            work(connection, reach)
            if not reach.taken:
                raise _Enough
            rebuild_index(connection)
            made = ChangeSet(operation, KIND, store.now(), by, reason=reason)
            seq = writer.apply(connection, made, {}, writer.request_digest(made)).seq
            tombstones.put(connection, seq, what, reach.taken, reach.paths, reach.operations)
    except _Enough:
        return None, reach
    return seq, reach


def rehearse(store: Store, work: Work) -> Reach:
    """What the work would take. It is done and rolled back, so that it is counted as it would be."""
    reach = Reach()
    try:
        with _forgetting(store) as connection:
            work(connection, reach)
            raise _Enough
    except _Enough:
        return reach


class _Enough(Exception):
    """Nothing of it is to be kept."""


@contextmanager
def _forgetting(store: Store) -> Iterator[apsw.Connection]:
    connection = store._link.connection  # the pragmas below take effect outside of a transaction alone
    careful = connection.pragma("secure_delete")
    connection.execute("PRAGMA foreign_keys = OFF; PRAGMA secure_delete = ON").fetchall()
    try:
        with store.change():
            connection.execute("INSERT INTO purge_permit (id) VALUES (1)")
            yield connection
            connection.execute("DELETE FROM purge_permit")
            broken = one(connection, 'SELECT "table", parent FROM pragma_foreign_key_check LIMIT 1')
            if broken is not None:
                raise Defect(f"a purge would leave rows of {broken[0]} without their {broken[1]}; nothing was changed")
    finally:
        with suppress(apsw.ConnectionClosedError):
            connection.execute(f"PRAGMA foreign_keys = ON; PRAGMA secure_delete = {careful}").fetchall()


def forget_memories(
    connection: apsw.Connection, memories: Iterable[str], reach: Reach, *, rehearsal: bool = False
) -> None:
    """Takes memories (by id) out, with all their versions, and with all that tells of them by their file's name.

    Raises StoreBusy where one lives again, or a session is at work on its file.
    """
    gone = _Gone.of(connection, memories)
    if not rehearsal:
        _check_rest(connection, gone)
    texts = gone.texts(connection)
    _note_operations(connection, gone, reach)
    _forget_files(connection, gone, reach)
    _forget_index(connection, gone, reach)
    _forget_runs(connection, gone, reach)
    _forget_rows(connection, gone, reach)
    reach.paths |= gone.paths
    forget_reasons(connection, gone.mine, reach.operations)
    reach.count("texts", drop_texts(connection, texts))


@dataclass(frozen=True, slots=True)
class _Gone:
    """The memories that go. `pks`, `ids`, `mine`: JSON arrays, for SQL; `mine`: of their paths those that no other
    memory has or had."""

    pks: str
    ids: str
    paths: frozenset[str]
    mine: str

    @classmethod
    def of(cls, connection: Reading, memories: Iterable[str]) -> _Gone:
        ids = dumps(sorted(memories))
        rows = many(connection, "SELECT pk FROM memory WHERE id IN (SELECT value FROM json_each(?))", (ids,))
        pks = dumps([row[0] for row in rows])
        every = "SELECT memory AS pk, path FROM version UNION SELECT pk, path FROM memory"
        within = "pk IN (SELECT value FROM json_each(?))"
        paths = {row[0] for row in connection.execute(f"SELECT path FROM ({every}) WHERE {within}", (pks,))}
        others = {row[0] for row in connection.execute(f"SELECT path FROM ({every}) WHERE NOT {within}", (pks,))}
        keys = {collision_key(path) for path in others}
        mine = sorted(path for path in paths if collision_key(path) not in keys)
        return cls(pks, ids, frozenset(paths), dumps(mine, ensure_ascii=False))

    def texts(self, connection: Reading) -> set[int]:
        """The texts of which nothing may be left, unless another memory has them too."""
        found = connection.execute(
            "SELECT text FROM version WHERE memory IN (SELECT value FROM json_each(?1)) UNION"
            " SELECT text FROM memory WHERE pk IN (SELECT value FROM json_each(?1)) UNION"
            " SELECT theirs FROM conflict WHERE memory IN (SELECT value FROM json_each(?1)) UNION"
            " SELECT base FROM conflict WHERE memory IN (SELECT value FROM json_each(?1))",
            (self.pks,),
        )
        return {row[0] for row in found if row[0] is not None} | {
            row[0]
            for table in _NAMED
            for row in connection.execute(
                f"SELECT {'base' if table == 'kept' else 'text'} FROM {table}"
                " WHERE name IN (SELECT value FROM json_each(?))",
                (self.mine,),
            )
            if row[0] is not None
        }


def _check_rest(connection: Reading, gone: _Gone) -> None:
    busy = one(
        connection,
        "SELECT path FROM memory WHERE state = 'live' AND pk IN (SELECT value FROM json_each(?1)) UNION SELECT name"
        " FROM inbox WHERE state IN ('open', 'done') AND name IN (SELECT value FROM json_each(?2))",
        (gone.pks, gone.mine),
    )
    if busy is not None:
        raise StoreBusy(f"somebody is writing {busy[0]} just now", hint="repeat the command in a moment")


def _note_operations(connection: Reading, gone: _Gone, reach: Reach) -> None:
    rows = connection.execute(
        "SELECT operation FROM version WHERE memory IN (SELECT value FROM json_each(?1)) UNION"
        " SELECT operation FROM line_version WHERE memory IN (SELECT value FROM json_each(?1))",
        (gone.pks,),
    )
    reach.operations |= {row[0] for row in rows}


def _forget_files(connection: apsw.Connection, gone: _Gone, reach: Reach) -> None:
    named = "name IN (SELECT value FROM json_each(?))"
    for table in _NAMED:
        kind = "set-aside files" if table == "set_aside" else "records of files"
        reach.count(kind, _delete(connection, table, named, gone.mine))
    owned = "memory IN (SELECT value FROM json_each(?))"
    for table in ("shown", "kept"):
        reach.count("records of files", _delete(connection, table, owned, gone.pks))
    reach.count("inbox rows", _delete(connection, "inbox", named, gone.mine))
    own = connection.execute(
        "SELECT text FROM version WHERE memory IN (SELECT value FROM json_each(?1)) EXCEPT"
        " SELECT text FROM version WHERE memory NOT IN (SELECT value FROM json_each(?1))",
        (gone.pks,),
    )
    forget_texts(connection, {row[0] for row in own}, reach)
    _delete(connection, "dream_seen", named, gone.mine)
    reach.count("conflicts", _delete(connection, "conflict", owned, gone.pks))
    reach.count("conflicts", _delete(connection, "conflict", "path IN (SELECT value FROM json_each(?))", gone.mine))


def forget_texts(connection: apsw.Connection, own: set[int], reach: Reach) -> None:
    """Takes out what files and sessions had of texts, whatever the name: another memory may have had it too."""
    texts = dumps(sorted(own))
    for table in ("shown_before", "known_since", "seen", "set_aside"):
        kind = "set-aside files" if table == "set_aside" else "records of files"
        reach.count(kind, _delete(connection, table, "text IN (SELECT value FROM json_each(?))", texts))
    contents = {
        row[0]
        for row in connection.execute("SELECT content FROM text WHERE id IN (SELECT value FROM json_each(?))", (texts,))
    }
    settled = "SELECT seq, found, original, result, taken FROM inbox WHERE state IN ('settled', 'dead', 'heard')"
    rows = [seq for seq, *held in connection.execute(settled) if not contents.isdisjoint(held)]
    reach.count("inbox rows", _delete(connection, "inbox", "seq IN (SELECT value FROM json_each(?))", dumps(rows)))


def _forget_index(connection: apsw.Connection, gone: _Gone, reach: Reach) -> None:
    """Their lines go, and so they do from what is kept of the index's file."""
    owned = "memory IN (SELECT value FROM json_each(?))"
    versions = _delete(connection, "line_version", f"line IN (SELECT pk FROM line WHERE {owned})", gone.pks)
    versions += _delete(connection, "line_version", owned, gone.pks)
    reach.count("versions of index lines", versions)
    reach.count("index lines", _delete(connection, "line", owned, gone.pks))
    paths = loads(gone.mine)
    # A living line by somebody's hand that names the file is that person's to take out.
    standing = {row[0] for row in connection.execute("SELECT text FROM line WHERE live = 1")}
    for table in ("line", "line_version"):
        for (text,) in many(connection, f"SELECT DISTINCT text FROM {table} WHERE text LIKE '%](%'"):
            if text not in standing and not without_links(text.encode(), paths):
                connection.execute(f"UPDATE {table} SET text = ? WHERE text = ?", (MARK, text))
    _redraw_indexes(connection, paths, reach)


def _redraw_indexes(connection: apsw.Connection, paths: list[str], reach: Reach) -> None:
    drawn: set[int] = set()
    for table, column in text_columns(connection):
        if table in (*_NAMED[1:], "conflict"):  # what is shown now has them no more
            place = "path" if table == "conflict" else "name"
            found = connection.execute(f"SELECT {column} FROM {table} WHERE {place} = ?", (INDEX_NAME,))
            drawn |= {row[0] for row in found if row[0] is not None}
    for text in sorted(drawn):
        row = one(connection, "SELECT content FROM text WHERE id = ?", (text,))
        assert row is not None
        content = text_content(row[0])
        left = without_links(content, paths)
        if left != content:
            replace_text(connection, text, left)
            reach.count("texts of the index", 1)
    for seq, *texts in many(
        connection, "SELECT seq, found, original, result, taken FROM inbox WHERE name = ?", (INDEX_NAME,)
    ):
        for column, held in zip(("found", "original", "result", "taken"), texts, strict=True):
            content = text_content(held) if isinstance(held, str | bytes) else b""
            left = without_links(content, paths)
            if left != content:
                value = left.decode("utf-8") if isinstance(held, str) else left
                connection.execute(f"UPDATE inbox SET {column} = ? WHERE seq = ?", (value, seq))
                reach.count("inbox rows", 1)


def _forget_runs(connection: apsw.Connection, gone: _Gone, reach: Reach) -> None:
    """Of what jobs did with them stays that they did something."""
    steps = (
        "memory IN (SELECT value FROM json_each(?1)) OR into_memory IN (SELECT value FROM json_each(?1))"
        " OR path IN (SELECT value FROM json_each(?2)) OR into_path IN (SELECT value FROM json_each(?2))"
    )
    connection.execute(
        f"DELETE FROM run_line WHERE (run, n) IN (SELECT run, n FROM run_step WHERE {steps})", (gone.ids, gone.mine)
    )
    connection.execute(
        f"UPDATE run_step SET content = NULL, path = ?3, into_path = iif(into_path IS NULL, NULL, ?3), told = '',"
        f" needs = '[]', reason = ?3, state = iif(state = 'held', 'rejected', state) WHERE {steps}",
        (gone.ids, gone.mine, MARK),
    )
    reach.count("steps of runs", connection.changes())
    for table, column in (("run_event", "text"), ("run", "reason"), ("run_progress", "note"), ("job", "note")):
        reach.count("records of runs", _blank(connection, table, column, gone.mine))


def _forget_rows(connection: apsw.Connection, gone: _Gone, reach: Reach) -> None:
    within = "memory IN (SELECT value FROM json_each(?))"
    for table in ("recalled", "recall_picked", "source"):
        reach.count("records of sessions", _delete(connection, table, within, gone.pks))
    for table in ("memory", "version"):
        connection.execute(
            f"UPDATE {table} SET superseded_by = NULL WHERE superseded_by IN (SELECT value FROM json_each(?))",
            (gone.pks,),
        )
    _delete(connection, "search_document", within, gone.pks)
    reach.count("versions", _delete(connection, "version", within, gone.pks))
    reach.count("memories", _delete(connection, "memory", "pk IN (SELECT value FROM json_each(?))", gone.pks))


def forget_reasons(connection: apsw.Connection, mine: str, operations: set[int]) -> None:
    """Why somebody did what is gone may quote it: that goes too, and every reason that names one of the paths."""
    connection.execute(
        "UPDATE operation SET reason = ?2 WHERE reason <> '' AND seq IN (SELECT value FROM json_each(?1)) AND"
        " NOT EXISTS (SELECT 1 FROM version v WHERE v.operation = operation.seq)",
        (dumps(sorted(operations)), MARK),
    )
    _blank(connection, "operation", "reason", mine)


def _blank(connection: apsw.Connection, table: str, column: str, mine: str) -> int:
    """Takes away the texts of a column that name one of the paths. Returns how many."""
    texts = many(
        connection,
        f"SELECT DISTINCT {column} FROM {table} WHERE EXISTS"
        f" (SELECT 1 FROM json_each(?) AS p WHERE instr({column}, p.value))",
        (mine,),
    )
    blanked = 0
    for (text,) in texts:
        if names_one(text, loads(mine)):
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (MARK, text))
            blanked += connection.changes()
    return blanked


# Texts


def text_columns(connection: Reading) -> list[tuple[str, str]]:
    """Every column that names a text, as (table, column)."""
    return many(
        connection,
        'SELECT t.name, f."from" FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS f'
        " WHERE t.schema = 'main' AND f.\"table\" = 'text' ORDER BY 1, 2",
    )


def drop_texts(connection: apsw.Connection, candidates: set[int] | None = None) -> int:
    """Takes away the texts that nothing names any more; of all, or of these. Returns how many."""
    used: set[int] = set()
    for table, column in text_columns(connection):
        used |= {row[0] for row in connection.execute(f"SELECT DISTINCT {column} FROM {table}")}
    for (since,) in connection.execute("SELECT since FROM kept"):
        used |= set(loads(since))
    if candidates is None:
        candidates = {row[0] for row in connection.execute("SELECT id FROM text")}
    return _delete(connection, "text", "id IN (SELECT value FROM json_each(?))", dumps(sorted(candidates - used)))


def replace_text(connection: apsw.Connection, text: int, content: bytes) -> None:
    """Gives a text another content; where there is one with it, that takes its place everywhere."""
    new = writer.text_row(connection, content)
    for table, column in text_columns(connection):
        connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {column} = ?", (new, text))
    for folder, path, since in many(connection, "SELECT folder, path, since FROM kept"):
        known = loads(since)
        if text in known:
            changed = dumps([new if one_text == text else one_text for one_text in known])
            connection.execute("UPDATE kept SET since = ? WHERE folder = ? AND path = ?", (changed, folder, path))
    connection.execute("DELETE FROM text WHERE id = ?", (text,))


def _delete(connection: apsw.Connection, table: str, where: str, value: str) -> int:
    connection.execute(f"DELETE FROM {table} WHERE {where}", (value,))
    return connection.changes()
