"""Copies of a whole database, and what is known of one: how much it holds, and whether it is sound.

A copy is made by SQLite's backup API from one view of the store: what others write meanwhile neither waits nor shows.
It is a file of its own, without a log beside it, and it counts only once it was opened anew and holds the same rows.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b

import apsw

from memstore.core.ids import fingerprint
from memstore.errors import DiskFull, StoreDamaged, StoreUnavailable
from memstore.store.connection import APPLICATION_ID, READ_ONLY_HINT, Reading, check_engine, many, one, translated
from memstore.store.plainfile import sync_directory
from memstore.store.reader import text_content

Step = Callable[[int, int], None]
"""Called with how many pages are copied, and how many there are."""

_PAGES = 512
"""Copied at a time: two megabytes."""

_CHECKED_WHOLE = 65_536
"""Pages up to which SQLite's own check is run on every copy; it would take longer than the copy itself beyond."""

PART = ".part"
"""The end of a copy's name for as long as it is not whole. What stands before it is the process and a number, so that
neither another process nor a file of somebody's own has that name."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database holds. `rows`: how many, by table. `digest`: of all versions and texts. `memories`: the living
    ones. `operation`: the newest one, made `at` (unix microseconds; 0: there is none)."""

    store: str
    schema: int
    rows: tuple[tuple[str, int], ...]
    digest: bytes
    memories: int
    operation: int
    at: int

    @property
    def versions(self) -> int:
        """How many versions of memories."""
        return dict(self.rows).get("version", 0)


def contents(connection: Reading) -> Contents:
    """What the database of a connection holds. Call it inside a view."""
    tables = many(connection, "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict ORDER BY name")
    rows = tuple((name, _number(connection, f'SELECT count(*) FROM "{name}"')) for (name,) in tables)
    whole = blake2b(digest_size=32)
    for version in connection.execute("SELECT memory, number, token, text, operation FROM version ORDER BY pk"):
        whole.update(repr(version).encode())
    for number, digest in connection.execute("SELECT id, digest FROM text ORDER BY id"):
        whole.update(b"%d:" % number + digest)
    newest = one(connection, "SELECT seq, at FROM operation ORDER BY seq DESC LIMIT 1") or (0, 0)
    identity = one(connection, "SELECT id FROM store")
    return Contents(
        "" if identity is None else identity[0],
        int(connection.pragma("user_version")),
        rows,
        whole.digest(),
        _number(connection, "SELECT count(*) FROM memory WHERE state = 'live'"),
        newest[0],
        newest[1],
    )


def copy(source: Reading, target: str, step: Step | None = None) -> Contents:
    """Copies the database of a view into `target`, which must not exist, readable by its owner alone; what it holds.

    What was copied is compared with the view before the name appears. Raises FileExistsError and other OSError,
    StoreDamaged where the copy does not hold what the view shows, StoreUnavailable.
    """
    if os.path.lexists(target):
        raise OSError(errno.EEXIST, "there is a file of that name", target)  # a FileExistsError
    directory, name = os.path.split(target)
    remove_parts(directory, name)
    part, handle = _make_part(target)
    try:
        # This read begins the view. Without one, SQLite would begin the copy anew whenever somebody has written.
        held = contents(source)
        pages = _copy_pages(source, part, step)
        with opened(part) as made:
            if contents(made) != held:
                raise StoreDamaged(f"the copy {part} does not hold what was copied", hint="run `memstore doctor`")
            check_texts(made, part)
            if pages <= _CHECKED_WHOLE:
                check_whole(made, part)
        sync_file(part)
        os.link(part, target)
        os.unlink(part)
        sync_directory(directory)
    except BaseException:
        remove_copy(part)
        raise
    finally:
        os.close(handle)
    return held


def _make_part(target: str) -> tuple[str, int]:
    """An empty file beside the target, and what keeps it: as long as that is open, nobody takes it for a leftover."""
    number = 0
    while os.path.lexists(part := f"{target}.{os.getpid()}-{number}{PART}"):
        number += 1
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with suppress(OSError):  # a file system without locks
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return part, handle


def remove_parts(directory: str, name: str | None = None) -> tuple[str, ...]:
    """Removes what copies of this name, or of any, left when they were killed; the paths of what went."""
    removed = []
    unfinished = re.compile(rf"({'.+' if name is None else re.escape(name)}\.\d+-\d+{re.escape(PART)})(-journal)?")
    for found in os.listdir(directory or "."):
        part = os.path.join(directory, found)
        if unfinished.fullmatch(found) and _is_nobodys(part):
            with suppress(FileNotFoundError):
                os.unlink(part)
                removed.append(part)
    return tuple(removed)


def _is_nobodys(part: str) -> bool:
    """Whether whoever made it is gone."""
    try:
        handle = os.open(part, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return stat.S_ISREG(os.fstat(handle).st_mode)
    except OSError:
        return False
    finally:
        os.close(handle)


def _copy_pages(source: Reading, part: str, step: Step | None) -> int:
    made = apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    try:
        # A copy that is not whole is thrown away: it needs neither a journal nor the disk's word for each step.
        made.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF").fetchall()
        with made.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(_PAGES)
                if step is not None:
                    step(backup.page_count - backup.remaining, backup.page_count)
            pages = backup.page_count
        # Without a log of its own it can be read where nothing can be written.
        made.execute("PRAGMA journal_mode = DELETE").fetchall()
        return pages
    except apsw.FullError as error:
        raise DiskFull(f"there is no room for {part}", hint="free some space and repeat the command") from error
    except apsw.Error as error:
        raise translated(error, part) from error
    finally:
        made.close()


@contextmanager
def opened(path: str) -> Iterator[Reading]:
    """A copy that nobody writes, for reading. Its name is not followed if it is a link; nothing is made beside it.

    Raises StoreDamaged for what is no database, StoreUnavailable.
    """
    from urllib.parse import quote

    check_engine()
    _check_kind(path)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_URI
    # A plain copy of a database says that it has a log. Where none lies there, SQLite is not to make one.
    whole = not any(os.path.lexists(path + side) for side in ("-wal", "-journal"))
    try:
        name = f"file:{quote(os.fsencode(os.path.abspath(path)))}{'?immutable=1' if whole else ''}"
        connection = apsw.Connection(name, flags=flags)
    except apsw.Error as error:
        raise translated(error, path) from error
    try:
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # The index of words is made of the rest: a check of the pages does not go through it.
        connection.drop_modules(None)
        connection.execute("PRAGMA query_only = ON; PRAGMA cell_size_check = ON")
        connection.execute("BEGIN")
        yield connection
    except apsw.Error as error:
        raise translated(error, path) from error
    finally:
        connection.close()


def _check_kind(path: str) -> None:
    """A FIFO would be waited for without end, and a device has no end."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StoreUnavailable(f"{path} cannot be read: {why}", hint="see `memstore backup --list`") from error
    if stat.S_ISLNK(found.st_mode):
        raise StoreUnavailable(f"{path} is a link", hint="give the file that it points to")
    if not stat.S_ISREG(found.st_mode):
        raise StoreDamaged(f"{path} is not a regular file", hint="see `memstore backup --list`")


def identity(connection: Reading, path: str) -> str:
    """The id of the store that this is a copy of. Raises StoreDamaged for another program's database."""
    row = None
    if connection.pragma("application_id") == APPLICATION_ID:
        row = one(connection, "SELECT id FROM store")
    if row is None:
        raise StoreDamaged(f"{path} is no copy of a memstore database", hint="see `memstore backup --list`")
    return str(row[0])


def check_texts(connection: Reading, path: str) -> None:
    """Raises StoreDamaged where a text is not what its digest says."""
    for number, digest, content in connection.execute("SELECT id, digest, content FROM text"):
        if fingerprint(text_content(content)) != digest:
            raise StoreDamaged(f"text {number} in {path} is not what was written", hint="run `memstore doctor`")


def check_whole(connection: Reading, path: str) -> None:
    """SQLite's own check of all pages and rows. Raises StoreDamaged."""
    found = [str(row[0]) for row in many(connection, "PRAGMA quick_check(1)")]
    broken = many(connection, "PRAGMA foreign_key_check") if found == ["ok"] else []
    if found != ["ok"] or broken:
        told = found[0] if found != ["ok"] else f"a row of {broken[0][0]} refers to nothing"
        raise StoreDamaged(f"{path} is not sound: {told}", hint="run `memstore doctor`")


def remove_copy(path: str) -> None:
    """Removes a copy and what SQLite may have left beside it."""
    for name in (path, path + "-journal", path + "-wal", path + "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(name)


def sync_file(path: str) -> None:
    """Makes the bytes of a file that nobody has open survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unwritable(path: str, error: OSError, hint: str = READ_ONLY_HINT) -> StoreUnavailable:
    """Why a file could not be made."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"there is no room for {path}", hint="free some space and repeat the command")
    return StoreUnavailable(f"{path} cannot be made: {error.strerror}", hint=hint)


def _number(connection: Reading, sql: str) -> int:
    row = one(connection, sql)
    return 0 if row is None else int(row[0])
