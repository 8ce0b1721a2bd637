"""The rows of a table in somebody else's SQLite database. It runs as a program of its own, and trusts nothing in there.

    python foreign.py DATABASE TABLE-OR-NOTHING

in an empty directory, into which the database is copied; the original is opened to be read by nobody but the copying.
Out come JSON lines: {"table", "columns"}, a list of values for each row, {"rows": how many}. What cannot be used is
told as {"refused", "hint"}. Only apsw and what belongs to Python is imported, for it runs without the package.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import apsw

MOST_BYTES = 1024 * 1024 * 1024
MOST_ROWS = 100_000
SECONDS = 60
_LARGEST_VALUE = 16 * 1024 * 1024
_MEMSTORE = 0x6D656D73
_COPY = "copy.db"
_SIDES = ("", "-wal", "-journal")
_USUAL = ("body", "content", "text", "value", "memory", "note", "notes", "fact", "observation", "observations")
_READS = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE})


def main(path: str, table: str) -> None:
    """Prints the rows of the table, or of the one that holds texts."""
    for what, most in (
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 2 * MOST_BYTES),
        (resource.RLIMIT_AS, 2 * MOST_BYTES),
    ):
        with suppress(OSError, ValueError):  # a lower one holds already, or the system has no such limit
            resource.setrlimit(what, (most, most))
    try:
        _copy(path)
        connection = _open(time.monotonic() + SECONDS)
        _examine(connection)
        table = _chosen(connection, table)
        _print_rows(connection, table)
    except apsw.Error as error:
        _refuse(f"it cannot be read ({error})", "mend it, or have its program write it anew")
    finally:  # also where whoever started this is gone, so that nobody else clears up
        for side in (*_SIDES, "-shm"):
            with suppress(OSError):
                os.unlink(_COPY + side)


def _refuse(reason: str, hint: str) -> NoReturn:
    _say({"refused": reason, "hint": hint})
    sys.exit(3)


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


def _copy(path: str) -> None:
    """Copies the database, with what its log holds, as they were at one moment."""
    for _ in range(5):
        before = [_stamp(path + side) for side in _SIDES]
        if sum(stamp[0] for stamp in before if stamp) > MOST_BYTES:
            _refuse(f"it is larger than {MOST_BYTES >> 20} MB", "export the table as CSV or JSON and import that")
        try:
            for side, stamp in zip(_SIDES, before, strict=True):
                if stamp:
                    shutil.copyfile(path + side, _COPY + side)
        except OSError as error:
            _refuse(f"it cannot be read ({os.strerror(error.errno or 0)})", "mend its permissions")
        if before == [_stamp(path + side) for side in _SIDES]:
            return
    _refuse("it changes all the time", "stop the program that writes it, then try again")


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        _refuse("it, or its log, is no plain file", "export the table as CSV or JSON and import that")
    return found.st_size, found.st_mtime_ns, found.st_ino


def _open(deadline: float) -> apsw.Connection:
    connection = apsw.Connection(_COPY, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
    ):
        connection.config(option, value)
    # Views and triggers are parsed with the schema, though they never run: honest ones have to pass.
    for limit, most in (
        (apsw.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE),
        (apsw.SQLITE_LIMIT_SQL_LENGTH, 100_000),
        (apsw.SQLITE_LIMIT_COLUMN, 1_000),
        (apsw.SQLITE_LIMIT_EXPR_DEPTH, 200),
        (apsw.SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (apsw.SQLITE_LIMIT_VDBE_OP, 50_000),
        (apsw.SQLITE_LIMIT_FUNCTION_ARG, 100),
        (apsw.SQLITE_LIMIT_ATTACHED, 0),
        (apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
        (apsw.SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (apsw.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.limit(limit, most)
    # A collation of its own program orders an index, which nothing here asks for.
    connection.collation_needed(lambda _, name: connection.create_collation(name, _by_code_points))
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    for pragma in ("query_only = ON", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _by_code_points(one: str, other: str) -> int:
    return (one > other) - (one < other)


def _examine(connection: apsw.Connection) -> None:
    """Before anything is asked of it: whether it is sound, and not memstore's own."""
    found = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
    if found != ["ok"]:
        _refuse(
            "it is damaged: " + " ".join(str(found[0]).split())[:200],
            "have its program mend it, or import an export of it",
        )
    if connection.pragma("application_id") == _MEMSTORE:
        hint = "run `memstore export DIR` in the repository that it belongs to, and import DIR"
        _refuse("it is the database of a store of memstore", hint)
    # From here on nothing but reading tables; no PRAGMA, no ATTACH, no functions that do something.
    connection.authorizer = _allow


def _allow(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
    if action == apsw.SQLITE_FUNCTION and second in ("load_extension", "fts3_tokenizer", "writefile", "readfile"):
        return int(apsw.SQLITE_DENY)
    return int(apsw.SQLITE_OK if action in _READS else apsw.SQLITE_DENY)


def _chosen(connection: apsw.Connection, wanted: str) -> str:
    connection.authorizer = None
    kinds = {
        str(name): str(kind)
        for schema, name, kind, *_ in connection.execute("PRAGMA table_list").fetchall()
        if schema == "main" and not str(name).startswith("sqlite_")
    }
    plain = [name for name, kind in kinds.items() if kind == "table"]
    usable = sorted(name for name in plain if any(c.lower() in _USUAL for c in _columns(connection, name)))
    connection.authorizer = _allow
    told = f"it has {', '.join(sorted(plain)[:30]) or 'none'}"
    if wanted and wanted not in plain:
        what = "a view" if kinds.get(wanted) == "view" else "no plain table of it"
        _refuse(f"{wanted} is {what}", f"only the rows of a plain table are taken; {told}")
    if not wanted and len(usable) != 1:
        which = "more than one table of it holds texts" if usable else "no table of it is known to hold texts"
        _refuse(which, f"name one with --table, and the column with --column body=COLUMN; {told}")
    return wanted or usable[0]


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    """Its columns, generated ones among them."""
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_xinfo({_quoted(table)})") if row[6] != 1]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _print_rows(connection: apsw.Connection, table: str) -> None:
    # No ORDER BY: without one the rows come in the order of the table itself, and nothing has to be sorted.
    asked = f"SELECT * FROM {_quoted(table)} LIMIT {MOST_ROWS + 1}"
    cursor = _stepped(lambda: connection.execute(asked), 1)
    first = _stepped(lambda: next(cursor, None), 1)
    columns = [] if first is None else [str(one[0]) for one in cursor.get_description()]
    _say({"table": table, "columns": columns})
    number = 0
    row: Any = first
    while row is not None:
        number += 1
        if number > MOST_ROWS:
            _refuse(f"the table {table} has more than {MOST_ROWS:,} rows", "import a part of it")
        _say([_value(one) for one in row])
        row = _stepped(lambda: next(cursor, None), number + 1)
    _say({"rows": number})


def _stepped(step: Callable[[], Any], number: int) -> Any:
    """What a step gives that reads the row of this number."""
    try:
        return step()
    except UnicodeDecodeError:
        _refuse(f"its row {number} holds text that is not UTF-8", "mend that row, or leave it out")
    except apsw.TooBigError:
        most = f"{_LARGEST_VALUE >> 20} MB"
        _refuse(
            f"its row {number} holds a value that is too big: larger than {most}",
            "export the other columns as CSV and import that",
        )


def _value(value: Any) -> object:
    """A value that JSON can say: bytes are a text where they are UTF-8, and else nothing."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"blob": len(value)}
    return value


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
