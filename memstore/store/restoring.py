"""A backup put in the place of what a store holds now.

First the backup becomes a draft beside the database: a copy that is checked, brought to the present schema, and calmed,
so that nothing in it which was going on then wakes up. Then the draft goes into the live database by SQLite's backup
API: for everybody who has it open that is one transaction, and until its end the earlier rows stand there. Where the
database cannot be opened, the draft takes its place, and what lay there is renamed.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest

import apsw

from memstore.core.changes import ChangeSet
from memstore.core.model import INDEX_NAME
from memstore.core.terms import TERMS_VERSION
from memstore.errors import InputRefused, StoreBusy, StoreDamaged, StoreNewer
from memstore.store import backup, migrate, search, shown, writer
from memstore.store.connection import Link, many, one, open_link, translated
from memstore.store.ddl import migrations
from memstore.store.opening import DATABASE, MARK
from memstore.store.plainfile import create_whole, sync_directory
from memstore.store.turn import Turn, lock_within

DRAFT = "restore.draft"
"""The name of the draft in the store's directory."""
LOCK = "restore.lock"
"""Held by whoever restores or rebuilds: the draft is theirs."""

_NOTE = "the database was restored from a backup"
_SIDES = ("", "-wal", "-shm")
_SECONDS = 10.0
_PAUSE = 0.02
_WORKED = ("done", "failed")
_HEARD = ("settled", "dead", "heard")


@dataclass(frozen=True, slots=True)
class Present:
    """What the rows of now say, which the ones of then cannot know. `numbers`: the last of each counted table, which
    are not to be given again. `jobs`, `calls`: how those ended that may still be open in the backup. `purges`: how many
    operations forgot something on purpose, by their ids."""

    numbers: tuple[tuple[str, int], ...] = ()
    jobs: tuple[tuple[str, str], ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    purges: frozenset[str] = frozenset()


@contextmanager
def alone(directory: str) -> Iterator[None]:
    """For one process at a time, while it makes a draft and puts it into the store. Raises StoreBusy."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        lock = os.open(os.path.join(directory, LOCK), flags, 0o600)
    except OSError as error:
        raise backup.unwritable(os.path.join(directory, LOCK), error) from error
    try:
        mine = lock_within(lock, _SECONDS)  # where it is not, the lock's descriptor is not ours to close either
    except OSError as error:
        os.close(lock)
        raise backup.unwritable(os.path.join(directory, LOCK), error) from error
    if not mine:
        raise StoreBusy(
            f"another process is restoring or rebuilding the store in {directory}; nothing was changed",
            hint="look at what it did, then decide anew",
        )
    try:
        yield
    finally:
        os.close(lock)


def is_left(directory: str) -> bool:
    """Whether a restore that was killed left its draft. While one is going on it is none."""
    if not any(name == DRAFT or name.startswith((DRAFT + "-", DRAFT + ".")) for name in os.listdir(directory)):
        return False
    try:
        lock = os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)


def present(connection: apsw.Connection) -> Present:
    """The same of the live database."""
    return Present(
        tuple((str(name), int(seq)) for name, seq in connection.execute("SELECT name, seq FROM sqlite_sequence")),
        tuple((str(a), str(b)) for a, b in connection.execute("SELECT id, state FROM job WHERE state <> 'waiting'")),
        tuple(
            (str(a), str(b))
            for a, b in connection.execute("SELECT id, state FROM inbox WHERE state NOT IN ('open', 'done')")
        ),
        purges(connection),
    )


def purges(connection: apsw.Connection) -> frozenset[str]:
    """The ids of the operations that forgot something on purpose."""
    return frozenset(row[0] for row in connection.execute("SELECT id FROM operation WHERE kind = 'purge'"))


def examine(path: str, store: str) -> tuple[backup.Contents, frozenset[str]]:
    """What a backup holds, and its purges, once it is known to be a sound one of this store.

    Raises StoreDamaged, StoreNewer, InputRefused for that of another store, StoreUnavailable.
    """
    with backup.opened(path) as connection:
        found = backup.identity(connection, path)
        if found != store:
            raise InputRefused(
                f"{path} is a backup of the store {found}, this one is {store}; nothing was changed",
                hint="run the command in the repository of that store; `memstore where` shows the store of one",
            )
        schema = migrate.schema_version(connection)
        if schema < 1:
            raise StoreDamaged(f"{path} says of itself that it has no tables")
        if schema > len(migrations()):
            raise StoreNewer(
                f"{path} has schema {schema}, this memstore knows {len(migrations())}; nothing was changed",
                hint="upgrade memstore",
            )
        backup.check_whole(connection, path)
        backup.check_texts(connection, path)
        return backup.contents(connection), purges(connection)


def draft(path: str, directory: str, step: backup.Step | None = None) -> str:
    """Makes the draft of a backup that was examined, with the present schema; its path."""
    target = os.path.join(directory, DRAFT)
    remove_draft(target)
    try:
        with backup.opened(path) as connection:
            backup.copy(connection, target, step)
        connection = _connected(target)
        with closing(connection):
            migrate.migrate(connection)
            if one(connection, "SELECT 1 FROM store WHERE terms_version <> ?", (TERMS_VERSION,)):
                with _transaction(connection):
                    writer.reindex(connection)
                    connection.execute("UPDATE store SET terms_version = ?", (TERMS_VERSION,))
            if not search.check_index(connection):
                with _transaction(connection):
                    search.rebuild_index(connection)
    except OSError as error:
        remove_draft(target)
        raise backup.unwritable(target, error) from error
    except BaseException as error:
        remove_draft(target)
        if isinstance(error, apsw.Error):
            raise translated(error, target) from error
        raise
    return target


def remove_draft(target: str) -> None:
    """Removes a draft, and what making it left beside it."""
    directory, name = os.path.split(target)
    with suppress(FileNotFoundError):
        for found in os.listdir(directory):
            if found == name or found.startswith((name + "-", name + ".")):
                os.unlink(os.path.join(directory, found))


def folders(target: str) -> dict[str, list[str]]:
    """The names that each memory folder showed when the backup was made."""
    with backup.opened(target) as connection:
        found: dict[str, list[str]] = {row[0]: [] for row in connection.execute("SELECT path FROM folder")}
        rows = "SELECT f.path, s.name FROM shown s JOIN folder f ON f.pk = s.folder ORDER BY 1, 2"
        for path, name in connection.execute(rows):
            found[path].append(name)
        return found


def calm(target: str, now: Present, missing: Mapping[str, Sequence[str]], operation: ChangeSet) -> int:
    """Makes a draft fit to be lived in, and puts the restore into its history; the operation's number.

    What was going on when the backup was made has ended since: leases and locks are nobody's, a run that had begun
    failed, a job or a hook's record that was dealt with stays dealt with. `missing`: names that a folder showed and
    whose files are gone; they are shown afresh, and not taken for deleted.
    """
    try:
        with closing(_connected(target)) as connection, _transaction(connection):
            at = operation.at
            connection.execute("DELETE FROM lease; DELETE FROM dream_lock; DELETE FROM run_progress")
            connection.execute(
                "UPDATE run SET state = 'failed', outcome = 'failed', reason = ?, ended_at = ? WHERE state = 'running'",
                (_NOTE, at),
            )
            for identity, state in now.jobs:
                if state in _WORKED:
                    connection.execute(
                        "UPDATE job SET state = ? WHERE id = ? AND state IN ('waiting', 'running')", (state, identity)
                    )
            connection.execute("UPDATE job SET state = 'failed', note = ? WHERE state = 'running'", (_NOTE,))
            for identity, state in now.calls:
                if state in _HEARD:
                    connection.execute(
                        "UPDATE inbox SET state = 'settled' WHERE id = ? AND state IN ('open', 'done')", (identity,)
                    )
            for pk, path in many(connection, "SELECT pk, path FROM folder"):
                _show_again(connection, pk, missing.get(path, ()), at)
            connection.execute("UPDATE folder SET shows = 0, stamp = NULL, gone_at = NULL")
            _count_on(connection, now.numbers)
            return writer.apply(connection, operation, {}, writer.request_digest(operation)).seq
    except apsw.Error as error:
        raise translated(error, target) from error


def _show_again(connection: apsw.Connection, folder: int, gone: Sequence[str], at: int) -> None:
    """Drops what is known of files that are gone, and of their lines in the index: whoever deleted the file took the
    line out as well, and neither is to be taken for an edit of what was restored."""
    index = shown.shown_row(connection, folder, INDEX_NAME)
    if index is not None and index.lines and INDEX_NAME not in gone:
        rows = many(
            connection,
            "SELECT l.id FROM line l JOIN shown s ON s.memory = l.memory WHERE l.live = 1 AND s.folder = ?"
            " AND s.name IN (SELECT value FROM json_each(?))",
            (folder, json.dumps(list(gone))),
        )
        without = {row[0] for row in rows}
        lines = index.content.decode("utf-8", "surrogateescape").split("\n")
        kept = [pair for pair in zip_longest(lines, json.loads(index.lines)) if pair[1] not in without]
        if len(kept) < len(lines):
            content = "\n".join(line for line, _ in kept if line is not None).encode("utf-8", "surrogateescape")
            ids = json.dumps([identity for _, identity in kept])
            shown.write(connection, folder, (replace(index, content=content, lines=ids, stamp=None),), at)
    shown.write(connection, folder, tuple(shown.Forget(name) for name in gone), at)


def _count_on(connection: apsw.Connection, numbers: Iterable[tuple[str, int]]) -> None:
    for name, last in numbers:
        connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, name))
        if not connection.changes():
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last))


def put(path: str, target: str, locked: Callable[[], None], step: backup.Step | None = None) -> None:
    """Puts a draft into the live database, in one transaction.

    `locked` is called once nobody else can write any more, and may change the draft; what it raises leaves everything
    as it was. Raises StoreDamaged where the database cannot be opened, StoreBusy, DiskFull.
    """
    link = open_link(path)
    turn = Turn(os.path.dirname(path))
    try:
        _fit_pages(target, link.connection.pragma("page_size"))
        turn.take()
        _put_into(link, target, locked, step)
        turn.give()
        with suppress(apsw.Error):  # the log has grown to the size of the database; readers may still need it
            # Writers are held up by the second alone, which finds little left to do.
            link.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            link.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.Error as error:
        raise translated(error, path) from error
    finally:
        turn.close()
        link.close()


def _fit_pages(target: str, size: int) -> None:
    """Gives a draft the page size of the database that it is for: somebody may have written one of them anew."""
    with closing(_connected(target)) as draft:
        if draft.pragma("page_size") != size:
            draft.execute(f"PRAGMA journal_mode = DELETE; PRAGMA page_size = {size}").fetchall()
            draft.execute("VACUUM").fetchall()


def _put_into(link: Link, target: str, locked: Callable[[], None], step: backup.Step | None) -> None:
    source = apsw.Connection(target, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
    with closing(source), link.connection.backup("main", source, "main") as into:
        end = time.monotonic() + _SECONDS
        while True:  # the first page takes the write lock, and keeps it to the end
            try:
                into.step(1)
                break
            except (apsw.BusyError, apsw.LockedError):
                if time.monotonic() >= end:
                    raise StoreBusy(
                        f"the store {link.path} stayed locked by another process; nothing was changed",
                        hint="try again in a moment",
                    ) from None
                time.sleep(_PAUSE)
        locked()
        while not into.done:
            into.step(4_096)
            if step is not None:
                step(into.page_count - into.remaining, into.page_count)


def put_in_place(directory: str, target: str, store: str, now: int) -> tuple[str, ...]:
    """Gives a database that cannot be used another name, and its place to `target`. The new names of what lay there.

    Call it on a person's word alone. Killed in the middle, it leaves no database and says so when one is opened; the
    same call then ends what it began.
    """
    path = os.path.join(directory, DATABASE)
    lock = _lock(directory)
    try:
        with closing(_connected(target)) as connection:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        backup.sync_file(target)
        aside = set_aside(path, now)
        os.rename(target, path)
        sync_directory(directory)
        create_whole(os.path.join(directory, MARK), store.encode() + b"\n")
        return aside
    except OSError as error:
        raise backup.unwritable(path, error) from error
    except apsw.Error as error:
        raise translated(error, target) from error
    finally:
        os.close(lock)


def set_aside(path: str, now: int) -> tuple[str, ...]:
    """Renames a database and its log; their new names. The database goes first: without it nobody uses the log."""
    stamp = datetime.fromtimestamp(now / 1e6, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    base, number = f"{path}.damaged-{stamp}", 1
    while any(os.path.lexists(base + side) for side in _SIDES):
        number += 1
        base = f"{path}.damaged-{stamp}-{number}"
    moved = []
    for side in _SIDES:
        if os.path.lexists(path + side):
            os.rename(path + side, base + side)
            moved.append(base + side)
    sync_directory(os.path.dirname(path))
    return tuple(moved)


def _lock(directory: str) -> int:
    lock = os.open(os.path.join(directory, "open.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if not lock_within(lock, _SECONDS):
        raise StoreBusy(f"another process is opening the store in {directory}", hint="try again in a moment")
    return lock


def _connected(target: str) -> apsw.Connection:
    connection = apsw.Connection(target, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    connection.execute("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA synchronous = OFF")
    return connection


class _transaction:
    """`BEGIN IMMEDIATE` … `COMMIT` on a draft."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def fresh(directory: str, store: str, now: int) -> str:
    """The draft of a store that holds nothing yet; its path."""
    target = os.path.join(directory, DRAFT)
    remove_draft(target)
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        connection = _connected(target)
        with closing(connection):
            migrate.migrate(connection, store=store, now=now)
    except OSError as error:
        raise backup.unwritable(target, error) from error
    except apsw.Error as error:
        raise translated(error, target) from error
    return target
