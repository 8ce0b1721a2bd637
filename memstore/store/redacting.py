"""Takes a secret out of every row, whatever table it stands in: what nobody thought of is looked through as well.

What the program itself wrote for its own use (ids, states, ranks, digests) is left as it is, and so are the paths of
the memory folders, which are names of real directories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import apsw

from memstore.core.changes import SetIndexLine
from memstore.core.forgetting import MARK, PATH_MARK, Secret
from memstore.core.index_pointer import CUT
from memstore.core.names import EXTENSION, collision_key, stem
from memstore.core.spellings import Cuts, file_stem
from memstore.errors import StoreBusy
from memstore.store import writer
from memstore.store.connection import Reading, many, one
from memstore.store.purging import Reach, replace_text
from memstore.store.reader import text_content

_OWN_WORDS = frozenset(
    {
        *("action", "change", "fate", "gate", "hook_by", "kind", "layer", "listing", "origin", "outcome", "scope"),
        *("source", "state", "type", "via", "what"),  # words of a list
        *("boot", "calm", "day", "digest", "input", "owner", "rank", "stamp", "started"),  # made by the program
        *("lines", "path_key", "since", "folder"),  # follow from something else
    }
)
"""Columns whose values the program chose, or a directory has."""

_OWN_TABLES = frozenset({"text", "search_document", "store", "folder", "lease", "purge", "purged", "dream_lock"})
"""`text` and the terms have functions of their own."""

_OWN_VALUE = re.compile("[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Tokens and ids."""

_IDS = frozenset(
    {
        *("id", "token", "parent", "seen", "memory", "into_memory", "undoes", "resolution", "commit_id", "key"),
        *("session", "message"),
    }
)
"""Columns in which such a value is one. In any other somebody wrote it, and it may be a secret."""

_IDS_OF_OTHERS = frozenset({"session", "message"})
"""Those of another program, which stay only where part of one is the secret."""

_HISTORY = frozenset({"memory", "version", "operation", "line", "line_version", "log_entry", "run", "job"})
"""Tables that lose no row by it."""

_NAMED = ("shown", "shown_before", "known_since", "seen", "kept", "set_aside", "inbox")

_OF_FILES = frozenset(
    {
        *((table, "path") for table in ("memory", "version", "conflict", "run_step", "kept")),
        *((table, "name") for table in _NAMED),
        ("run_step", "into_path"),
    }
)
"""Columns that have the path of a memory's file."""


_NOT_CURRENT = {
    "line": "live = 0",
    "memory": "state <> 'live'",
    "version": "NOT EXISTS (SELECT 1 FROM memory m WHERE m.pk = version.memory AND m.state = 'live'"
    " AND m.version = version.number)",
}
"""Rows that may lose what only begins like it. Others are as the files show them: an operation has changed them where
they had all of it."""


def redact(connection: apsw.Connection, secret: Secret, reach: Reach, *, rehearsal: bool = False) -> None:
    """Takes the secret out of all rows. Raises StoreBusy where it stands in what is current by now: that is changed by
    an operation first, so that its file follows."""
    if not rehearsal:
        _check_current(connection, secret)
    cuts = Cuts(secret.forms)
    touched = _redact_texts(connection, secret, cuts, reach)
    for table, keys, column in _columns(connection):
        touched |= _redact_column(connection, table, keys, column, secret, cuts, reach)
    if touched:
        writer.reindex(connection, touched)
    # The files get shorter, so that what was noted of their ends holds no more.
    connection.execute("UPDATE log_shown SET at = 0 WHERE done = 0 AND at > 0")


def left_in(connection: Reading, needles: Sequence[bytes]) -> list[str]:
    """Where any of these bytes stand, as `table.column`, whatever the column is for."""
    found = []
    for table, column in many(
        connection,
        "SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_info(t.name) AS c"
        " WHERE t.schema = 'main' AND t.strict AND c.type IN ('TEXT', 'BLOB', 'ANY') ORDER BY 1, 2",
    ):
        condition, values = _holds(f'"{column}"', needles)
        if one(connection, f'SELECT 1 FROM "{table}" WHERE {condition} LIMIT 1', values) is not None:
            found.append(f"{table}.{column}")
    return found


def file_stems(connection: Reading, secret: Secret) -> set[str]:
    """What the files are called, without `.md`, of memories in whose name it stands and that are called after it."""
    spelled = (form.decode("utf-8", "surrogatepass") for form in secret.forms)
    made = [collision_key(found) for found in map(file_stem, spelled) if found is not None]
    if not made:
        return set()
    condition, values = _holds("name", secret.forms)
    named = f"SELECT path FROM memory WHERE {condition} UNION SELECT path FROM version WHERE {condition}"
    stems = {stem(path) for (path,) in connection.execute(named, (*values, *values))}
    found = {path for path in stems if any(each in collision_key(path) for each in made)}
    # A name of one word may be a word of others, but for the file's ending.
    return {path if "-" in path else path + EXTENSION for path in found}


def current_texts(connection: Reading, secret: Secret) -> list[tuple[str, str]]:
    """The id and the path of every living memory in whose text or path the secret stands."""
    text, values = _holds("t.content", secret.forms)
    path, more = _holds("m.path", secret.forms)
    return many(
        connection,
        "SELECT m.id, m.path FROM memory m JOIN text t ON t.id = m.text WHERE m.state = 'live'"
        f" AND ({text} OR {path}) ORDER BY m.path",
        (*values, *more),
    )


def current_lines(connection: Reading, secret: Secret) -> tuple[SetIndexLine, ...]:
    """The living lines of the index in which it stands, without it."""
    condition, values = _holds("l.text", secret.forms)
    rows = connection.execute(
        "SELECT l.id, l.version, l.kind, l.text, (SELECT m.id FROM memory m WHERE m.pk = l.memory), l.rank, l.hook_by"
        f" FROM line l WHERE l.live = 1 AND {condition}",
        values,
    )
    return tuple(
        SetIndexLine(identity, version, kind, secret.out_of_text(text), memory, rank, hook_by, True)
        for identity, version, kind, text, memory, rank, hook_by in rows
    )


def _check_current(connection: Reading, secret: Secret) -> None:
    again = [path for _, path in current_texts(connection, secret)]
    if again or current_lines(connection, secret):
        raise StoreBusy(
            f"it was written again meanwhile, in {again[0] if again else 'the index'}", hint="repeat the command"
        )


def _redact_texts(connection: apsw.Connection, secret: Secret, cuts: Cuts, reach: Reach) -> set[int]:
    """Replaces the texts in which it stands. Returns the rows of the memories that have one of them."""
    condition, values = _may_hold("content", secret, cuts)
    touched: set[int] = set()
    standing = "SELECT text FROM memory WHERE state = 'live' UNION SELECT text FROM shown"
    rows = many(connection, f"SELECT id, content, id IN ({standing}) FROM text WHERE {condition}", values)
    for text, stored, stands in rows:
        content = text_content(stored)
        new = secret.out_of(content)
        if not stands:  # the words of what stands now are somebody's own, and its files are as they are
            new = cuts.out_of(new, MARK.encode())
        if new == content:
            continue
        touched |= {row[0] for row in connection.execute("SELECT pk FROM memory WHERE text = ?", (text,))}
        replace_text(connection, text, new)
        reach.count("texts", 1)
    return touched


def _columns(connection: Reading) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Every column that may hold words of somebody, with its table and what identifies a row there."""
    tables = many(connection, "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND strict ORDER BY name")
    for table, without_rowid in tables:
        columns = many(connection, "SELECT name, type, pk FROM pragma_table_info(?)", (table,))
        keys = tuple(name for name, _, key in columns if key) if without_rowid else ("rowid",)
        for name, kind, _ in columns:
            if table not in _OWN_TABLES and name not in _OWN_WORDS and kind in ("TEXT", "BLOB", "ANY"):
                yield table, keys, name


def _redact_column(
    connection: apsw.Connection,
    table: str,
    keys: tuple[str, ...],
    column: str,
    secret: Secret,
    cuts: Cuts,
    reach: Reach,
) -> set[int]:
    condition, values = _may_hold(column, secret, cuts, _NOT_CURRENT.get(table, "1"))
    touched: set[int] = set()
    mark = PATH_MARK if (table, column) in _OF_FILES else MARK
    where = " AND ".join(f"{key} = ?" for key in keys)
    for value, *row in many(connection, f"SELECT {column}, {', '.join(keys)} FROM {table} WHERE {condition}", values):
        raw = text_content(value)
        theirs = column in _IDS_OF_OTHERS or (table, column) == ("session", "id")
        own = isinstance(value, str) and column in _IDS and _OWN_VALUE.fullmatch(value) is not None
        if own and not (theirs and raw in secret.forms):
            continue
        left = secret.out_of(raw, mark)
        if (table, column) in _OF_FILES and isinstance(value, str):
            left = secret.out_of_path(value).encode()
        left = cuts.out_of(left, mark.encode())
        if left == raw:
            continue
        new = left.decode("utf-8") if isinstance(value, str) else left
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (new, *row))
        except apsw.ConstraintError:  # another row is the same without it
            if table in _HISTORY:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (f"{new!s}-{row[0]}", *row))
            else:
                connection.execute(f"DELETE FROM {table} WHERE {where}", row)
        reach.count(f"rows of {table}", 1)
        if table == "memory" and column == "path":
            assert isinstance(new, str)
            connection.execute("UPDATE memory SET path_key = ? WHERE pk = ?", (collision_key(new), *row))
        if table == "memory":
            touched.add(row[0])
    return touched


def _may_hold(column: str, secret: Secret, cuts: Cuts, cut_where: str = "1") -> tuple[str, tuple[bytes, ...]]:
    """Whether it may stand in a column, whole or cut, as SQL and its values."""
    whole, values = _holds(column, secret.forms)
    begun, more = _holds(column, cuts.begins)
    cut, mark = _holds(column, [CUT.encode()])
    return f"({whole} OR {cut_where} AND {cut} AND {begun})", (*values, *mark, *more)


def _holds(column: str, needles: Sequence[bytes]) -> tuple[str, tuple[bytes, ...]]:
    """Whether any of these bytes stand in a column, as SQL and its values."""
    tests = [f"instr(CAST({column} AS BLOB), ?) > 0"] * len(needles)
    return f"({' OR '.join(tests)})", tuple(needles)
