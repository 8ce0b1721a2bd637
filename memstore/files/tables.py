"""Rows that somebody else's program keeps, read by a child process: they never meet the SQLite of the live store.

CSV and JSON go through sqlite-utils; a database is read by `store/foreign.py`. Both are stopped when their time is up
or when they say more than an import may be, and neither outlives the call.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memstore.core.rows import Skipped, memories
from memstore.errors import ImportRefused
from memstore.jobs import child
from memstore.store import foreign
from memstore.world import World

SQLITE_UTILS = (
    sys.executable, "-P", "-c",
    "import sys; sys.modules['numpy'] = None; from sqlite_utils.cli import cli; cli(prog_name='sqlite-utils')",
)  # fmt: skip
"""How a process of sqlite-utils begins. It takes numpy where it finds it: to no use here, and most of its start.
-P: a folder that somebody stands in does not supply the module."""

MOST_BYTES = 128 * 1024 * 1024
MOST_ROWS = foreign.MOST_ROWS
_SECONDS = 120.0
_MARK = b"\xef\xbb\xbf"
_TOLD_SEPARATOR = re.compile(r"sep=([,;\t])(?:\r\n?|\n)", re.IGNORECASE)
"""A line that spreadsheets put before a table, and read themselves."""
_QUOTED = re.compile('"[^"]*(?:"|$)')
_HEADER = 64 * 1024
_REASON = re.compile(r"^(?:[\w.]+(?:Error|Exception)|Error|RowError): ?(?P<reason>.+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rows:
    """`files`: the memories by path; `skipped`: (row or column, reason). `table`: which one it was."""

    table: str
    files: Mapping[str, bytes]
    skipped: Skipped


def of_text(kind: str, content: bytes, path: str, given: Mapping[str, str], world: World) -> tuple[
    Mapping[str, bytes], Skipped
]:  # fmt: skip
    """The rows of a CSV or JSON file as memories. Raises ImportRefused."""
    body = content.removeprefix(_MARK)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ImportRefused(
            f"{path} is not UTF-8 in its line {line}; nothing was changed", hint="save it as UTF-8"
        ) from error
    if "\0" in text:
        raise ImportRefused(f"{path} holds a NUL character; nothing was changed", hint="take it out")
    columns, data = _csv(text, path) if kind == "csv" else _json(text, path)
    rows = _through_sqlite_utils(kind, data, path, world) if data else []
    if rows:
        columns = list(rows[0])
    return memories(columns, [[row[column] for column in columns] for row in rows], given, path)


def of_database(path: str, table: str | None, given: Mapping[str, str], world: World) -> Rows:
    """The rows of a table as memories. Raises ImportRefused."""
    with tempfile.TemporaryDirectory(prefix="memstore-import-") as scratch:
        argv = [sys.executable, "-P", os.path.abspath(foreign.__file__), path, table or ""]
        told = _run(argv, scratch, b"", path, world)
    lines = told.out.split(b"\n")
    values = [json.loads(line) for line in lines if line.strip()] if told.code in (0, 3) else []
    last = values[-1] if values else None
    if isinstance(last, dict) and "refused" in last:
        raise ImportRefused(f"{path} is not taken in: {last['refused']}; nothing was changed", hint=last["hint"])
    if not isinstance(last, dict) or last.get("rows") != len(values) - 2:
        raise _failed(path, told, "have its program write its rows as CSV or JSON, and import that")
    head = values[0]
    if not head["columns"]:
        return Rows(head["table"], {}, ())
    rows, binary = _without_blobs(head["columns"], values[1:-1])
    files, skipped = memories(head["columns"], rows, given, f"the table {head['table']} of {path}")
    return Rows(head["table"], files, (*skipped, *binary))


def _without_blobs(columns: Sequence[str], rows: Sequence[list[object]]) -> tuple[list[list[object]], Skipped]:
    """The rows with nothing where a value is binary, and which columns that are."""
    binary: dict[str, str] = {}
    cleaned = []
    for number, row in enumerate(rows, 1):
        for column, value in zip(columns, row, strict=True):
            if isinstance(value, dict):
                binary.setdefault(f"column {column}", f"it is binary, from row {number} on")
        cleaned.append([None if isinstance(value, dict) else value for value in row])
    return cleaned, tuple(binary.items())


def _through_sqlite_utils(kind: str, data: str, path: str, world: World) -> list[dict[str, object]]:
    """The rows of a text, out of a table in the child's memory. All have the same columns."""
    program = [*SQLITE_UTILS, "memory", f"stdin:{kind}", "--no-detect-types"]
    with tempfile.TemporaryDirectory(prefix="memstore-import-") as scratch:
        told = _run([*program, "select * from stdin"], scratch, data.encode(), path, world)
    if told.code:
        raise _failed(path, told, "mend it, then import it again")
    found: list[dict[str, object]] = json.loads(told.out)
    if len(found) > MOST_ROWS:
        raise ImportRefused(f"{path} has more than {MOST_ROWS:,} rows", hint="import it in parts")
    return found


def _run(argv: Sequence[str], scratch: str, data: bytes, path: str, world: World) -> child.Finished:
    environment = {**world.environment, "PYTHONUTF8": "1", "PYTHONWARNINGS": "ignore"}
    try:
        told = child.run(argv, scratch, environment, data, seconds=_SECONDS, most=MOST_BYTES)
    except OSError as error:
        raise ImportRefused(
            f"the program that reads {path} cannot be started: {os.strerror(error.errno or 0)}", hint="try again"
        ) from error
    if told.late or told.large:
        why = f"took longer than {_SECONDS:.0f} s" if told.late else f"gave more than {MOST_BYTES >> 20} MB"
        raise ImportRefused(f"reading {path} {why}; nothing was changed", hint="import it in parts")
    return told


def _failed(path: str, told: child.Finished, step: str) -> ImportRefused:
    """With the reason that the child gave last."""
    text = told.err.decode("utf-8", "replace")
    reasons = [found["reason"] for found in _REASON.finditer(text)]
    lines = [line for line in text.split("\n") if line.strip()]
    reason = reasons[-1] if reasons else lines[-1] if lines else f"its reader ended with code {told.code}"
    return ImportRefused(f"{path} cannot be read as rows: {reason[:300]}; nothing was changed", hint=step)


def _csv(text: str, path: str) -> tuple[list[str], str]:
    """The columns of a CSV file, and its text with commas between them; empty where it has no rows."""
    text = text.lstrip("\r\n")
    csv.field_size_limit(len(text) + 1)
    told = _TOLD_SEPARATOR.match(text)
    body = text if told is None else text[told.end() :]
    separator = told[1] if told else max(",;\t", key=_header(body).count)
    # Strict: a quotation mark that is never closed would take all further rows into one.
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        found = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        where = f"in or before its line {reader.line_num + (told is not None)}"
        raise ImportRefused(f"{path} is no CSV {where}: {error}; nothing was changed", hint="mend it") from error
    columns, *rows = [row for _, row in found] or [[]]
    while columns and not columns[-1].strip() and not any("".join(row[len(columns) - 1 :]).strip() for row in rows):
        columns.pop()  # what a spreadsheet writes beside its table
    names = [column.strip().lower() for column in columns]
    twice = next((column for column, name in zip(columns, names, strict=True) if names.count(name) > 1), None)
    if twice is not None:
        raise ImportRefused(f"{path} has the column {twice[:60]!r} twice; nothing was changed", hint="rename one")
    for (line, _), row in zip(found[1:], rows, strict=True):
        if "".join(row[len(columns) :]).strip():
            raise ImportRefused(
                f"{path} has extra values in the row that ends in its line {line + (told is not None)}, which belong"
                " to no column; nothing was changed",
                hint="mend that row; a text with separators in it stands in quotation marks",
            )
    again = io.StringIO(newline="")
    csv.writer(again).writerows([columns, *(row[: len(columns)] for row in rows)])
    return columns, again.getvalue() if rows else ""


def _header(text: str) -> str:
    """The first line without what stands in quotation marks."""
    return re.split("[\r\n]", _QUOTED.sub("", text[:_HEADER]), maxsplit=1)[0]


def _json(text: str, path: str) -> tuple[list[str], str]:
    """The columns of a JSON text, and the array of objects that it is; empty where it has none."""
    value = _value(text, path)
    if isinstance(value, dict):  # the only array in it is meant
        arrays = [one for one in value.values() if _objects(one)]
        value = arrays[0] if len(arrays) == 1 else [value]
    if not isinstance(value, list) or (value and not _objects(value)):
        raise ImportRefused(f"{path} is JSON, but no array of objects; nothing was changed", hint="make it one")
    for number, one in enumerate(value, 1):
        try:
            json.dumps(one, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ImportRefused(
                f"{path} holds half a surrogate pair in its row {number}; nothing was changed",
                hint="leave that character out",
            ) from error
    return list(value[0]) if value else [], json.dumps(value) if value else ""


def _value(text: str, path: str) -> object:
    """What a JSON text says; of several lines that are an object each the list of them."""
    try:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) > 1 and _is_object(lines[0]):
            return [_line(number, line, path) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ImportRefused(
            f"{path} is not JSON ({where}: {error.msg}); nothing was changed", hint="mend it, then import it again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ImportRefused(
            f"{path} is JSON that goes too deep or holds too large a number; nothing was changed", hint="mend it"
        ) from error


def _line(number: int, line: str, path: str) -> object:
    if _is_object(line):
        return json.loads(line)
    raise ImportRefused(f"line {number} of {path} is no JSON object; nothing was changed", hint="mend that line")


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
