"""The rows of a store, for the tools that people know: sqlite-utils in a child process, on a copy.

Nothing but apsw opens a live store: a second SQLite in a process drops the locks of the first. So `sqlite_utils` runs
in a process of its own, and what it gets to see is a copy of one moment (`store/snapshot.py`). What it may be told is
listed here: options that run code or load libraries are not passed on.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from memstore.app import Memstore
from memstore.core.terms import parse_query
from memstore.errors import InputRefused
from memstore.files.tables import SQLITE_UTILS
from memstore.store.guard import identity
from memstore.store.home import Home
from memstore.store.opening import DATABASE
from memstore.store.plainfile import sync_directory
from memstore.store.search import all_of
from memstore.store.snapshot import Progress, Snapshot, copy, snapshot

_PIECE = 65_536
_MOST_ERRORS = 65_536
_GRACE = 2.0
_MARK = slice(68, 72)
"""Where a database says which program's it is."""

_FIRST_WORD = re.compile(r"(?:[\s;\ufeff]|--[^\n]*|/\*.*?\*/)*([A-Za-z]+)", re.DOTALL)

_EXCEPTION = re.compile(r"^sqlite3\.\w+: ")

FOUND = "memories"
"""What `search` looks through by the search index of the store, in place of sqlite-utils' own way."""

_SEARCH = (
    "SELECT m.path, m.description, m.type, m.state, m.changed, m.text FROM search_index"
    " JOIN memories m ON m.pk = search_index.rowid WHERE search_index MATCH :words"
    " ORDER BY bm25(search_index, 4.0, 3.0, 1.0), m.pk"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of sqlite-utils: its command, its options, and what comes behind the database."""

    command: str
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


@contextmanager
def copied(memories: Memstore, progress: Progress | None = None) -> Iterator[Snapshot]:
    """A copy of the store, with what was edited in the folder until now. It is gone at the end."""
    memories.look()
    with snapshot(memories.store.path, memories.place.home.path, progress) as made:
        yield made


def keep_copy(memories: Memstore, target: str, *, force: bool, progress: Progress | None = None) -> int:
    """Writes a copy to a file of the person's, and gives its size. Raises InputRefused for a place where it cannot be.

    With `force` a file that lies there gives way, as soon as the copy is whole.
    """
    check_target(memories, target, force=force)
    memories.look()
    part = f"{target}.{os.urandom(8).hex()}.part"
    copy(memories.store.path, part, progress)
    try:
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        if force:
            os.rename(part, target)
        else:
            os.link(part, target)
            os.unlink(part)
        sync_directory(os.path.dirname(target) or ".")
    except BaseException as error:
        with suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError):
            raise InputRefused(f"{target} cannot be written: {error.strerror}", hint="give another file") from error
        raise
    return os.stat(target).st_size


def check_target(memories: Memstore, target: str, *, force: bool) -> None:
    """Raises InputRefused where no copy is to be written."""
    check_scratch(target, memories.place.home)
    if not os.path.isdir(os.path.dirname(target)):
        raise InputRefused(f"{os.path.dirname(target)} is no directory", hint="make it, or give another file")
    folder = memories.place.placement.directory
    if _lies_in(target, folder):
        raise InputRefused(
            f"{target} lies in the memory folder, which agents read", hint="give a file outside of the folder"
        )
    if os.path.lexists(target) and not (force and os.path.isfile(target) and not os.path.islink(target)):
        step = "give another file, or --force to replace it" if os.path.isfile(target) else "give another file"
        raise InputRefused(f"{target} is there already", hint=step)


def check_scratch(path: str, home: Home) -> None:
    """Raises InputRefused for a file that belongs to a store, by its place, its identity or what it says of itself."""
    inside = _lies_in(path, home.path)
    if inside or identity(path) in set(_databases(home)):
        raise InputRefused(
            f"{path} {'lies in the home of memstore' if inside else 'is the file of a store'}: nothing but memstore"
            " itself writes there",
            hint="give a scratch file elsewhere; to look at a store, copy it with `memstore db snapshot FILE`",
        )
    if _says_store(path):
        raise InputRefused(
            f"{path} is the database of a store", hint="give a scratch file; `memstore db snapshot FILE` copies a store"
        )


def attachable(path: str, home: Home) -> str:
    """A database that a query may have besides, as sqlite-utils takes it. Raises InputRefused for what is none."""
    check_scratch(path, home)
    if not os.path.isfile(path):
        raise InputRefused(f"{path} is no file", hint="make it with `memstore db insert`, or name another one")
    # sqlite-utils puts the path into its SQL as it stands.
    return os.path.realpath(path).replace("'", "''")


def query_call(sql: str, options: tuple[str, ...]) -> Call:
    """One statement on the copy. Raises InputRefused for one that opens another file, whatever that is."""
    found = _FIRST_WORD.match(sql)
    first = "" if found is None else found[1].upper()
    if first == "VACUUM":
        raise InputRefused("a query writes no file", hint="`memstore db snapshot FILE` keeps a copy")
    if first == "ATTACH":
        raise InputRefused(
            "a query attaches no database by itself",
            hint="name it with `--attach ALIAS FILE`, and use it as ALIAS.TABLE",
        )
    return Call("query", options, (sql,))


def search_call(table: str, words: str, options: tuple[str, ...], limit: int | None = None) -> Call:
    """How a table is searched. The words are a person's, in any script; they are no syntax of FTS5."""
    most = () if limit is None else ("--limit", str(limit))
    expression = all_of(parse_query(words).content)
    if not expression:
        raise InputRefused(f"there is no word to search in {words[:80]!r}", hint="give a word")
    if table == FOUND:
        return Call(
            "query", (*options, "--param", "words", expression), (f"{_SEARCH} LIMIT {-1 if limit is None else limit}",)
        )
    if table == "search_document":
        return Call("search", (*options, *most), (table, expression))
    return Call("search", (*options, *most, "--quote"), (table, words))


def run(
    call: Call,
    database: str,
    out: Callable[[bytes], object],
    *,
    cwd: str,
    environment: Mapping[str, str],
    held: int | None = None,
    reads: bool = False,
) -> None:
    """Runs sqlite-utils on a database and hands on what it prints, piece by piece; it does not outlive the call.

    `held`: a file that the child holds open too. `reads`: whether it gets the standard input of this process. Raises
    InputRefused with what sqlite-utils says.
    """
    argv = [*SQLITE_UTILS, call.command, *call.options, "--", database, *call.arguments]
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**environment, "PYTHONIOENCODING": "utf-8:backslashreplace"},
            stdin=None if reads else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if held is None else (held,),
            preexec_fn=_not_alone(),
        )
    except (OSError, ValueError) as error:
        raise InputRefused(
            f"sqlite-utils cannot be started: {error}", hint="give at most 128 KiB, and no NUL"
        ) from error
    try:
        errors = _hand_on(process, out)
        code = process.wait()
    finally:
        _end(process)
    if code:
        raise _refused(call, errors.decode("utf-8", "replace"), code)


def _not_alone() -> Callable[[], object] | None:
    """What the child does first: it asks to be killed with this process, which a query without end would outlive."""
    if sys.platform != "linux":
        return None
    import ctypes

    control, ends_with_parent = ctypes.CDLL(None).prctl, 1
    return lambda: control(ends_with_parent, signal.SIGKILL)


def _hand_on(process: subprocess.Popen[bytes], out: Callable[[bytes], object]) -> bytes:
    """What the child prints goes to `out`; what it says of errors is the answer, or as much of its end as is kept."""
    assert process.stdout and process.stderr
    errors = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    out(piece)
                else:
                    errors += piece
                    del errors[:-_MOST_ERRORS]
    return bytes(errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _refused(call: Call, said: str, code: int) -> InputRefused:
    lines = [line.strip() for line in said.split("\n") if line.strip()]
    # The statement may follow what was wrong with it; a traceback ends with that.
    told = [line for line in lines if line.startswith("Error: ")][:1] or lines[-1:] or [f"it ended with code {code}"]
    reason = _EXCEPTION.sub("", told[0].removeprefix("Error: "))
    hint = f"see `memstore db {call.command} --help`"
    if call.command == "schema" and reason.startswith("TypeError"):
        reason = "no such table"  # its own words are about None
    if reason.startswith("no such table") or "not configured for full-text search" in reason:
        hint = "`memstore db tables` and `memstore db views` list what is there; `memstore db search` takes `memories`"
    elif "one statement at a time" in reason:
        reason, hint = "that is more than one statement", "give one; `memstore db shell` takes as many as you like"
    elif reason.startswith("no such column"):
        hint = "schema/README.md names the columns; `memstore db schema TABLE` shows them"
    return InputRefused(f"sqlite-utils refuses this: {reason}", hint=hint)


def _lies_in(path: str, directory: str) -> bool:
    """Whether a path leads into a directory, whatever links there are."""
    above = os.path.realpath(directory)
    return os.path.commonpath([os.path.realpath(path), above]) == above


def _databases(home: Home) -> Iterator[tuple[int, int]]:
    """Which files are those of the home's stores, by device and inode."""
    stores = os.path.join(home.path, "stores")
    with suppress(OSError):
        for name in os.listdir(stores):
            for suffix in ("", "-wal", "-shm"):
                found = identity(os.path.join(stores, name, DATABASE + suffix))
                if found is not None:
                    yield found


def _says_store(path: str) -> bool:
    """Whether a file is some store's database. It is none of this home's, so that it is not open in this process."""
    from memstore.store.connection import APPLICATION_ID

    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[_MARK] == APPLICATION_ID.to_bytes(4, "big")
