"""One connection: transactions, errors in a person's words, files that are swapped, other processes."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import apsw
import pytest

from memstore.errors import (
    Defect,
    DiskFull,
    StoreBusy,
    StoreDamaged,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from memstore.store import connection as connection_module
from memstore.store.connection import translated
from memstore.store.ddl import migrations, schema_directory
from memstore.store.store import Store
from tests.store.stores import at, create, open_store, put


def test_a_write_inside_a_write_is_refused_and_neither_happens(store: Store):
    with pytest.raises(Defect, match="transaction within a transaction"), store._link.writing() as database:
        database.execute("INSERT INTO folder (path, taken_at) VALUES ('f', 0)")
        put(store, create("inner"))
    assert (store.memories(), store.add_folder("f").pk) == ([], 1)
    assert not store._link.connection.in_transaction


def test_a_write_inside_a_view_is_refused_and_the_view_goes_on(store: Store):
    put(store, create("note"))
    with store.view() as database:
        with pytest.raises(Defect, match="transaction within a transaction"):
            put(store, create("inner"))
        assert database.execute("SELECT count(*) FROM memory").get == 1
    put(store, create("later"))


def test_a_view_is_one_moment_whatever_is_committed_meanwhile(store: Store, tmp_path: Path):
    other = open_store(tmp_path / "store")
    with store.view() as database:
        assert database.execute("SELECT count(*) FROM memory").get == 0
        put(other, create("note"))
        assert database.execute("SELECT count(*) FROM memory").get == 0
    assert len(store.memories()) == 1
    other.close()


def test_whatever_is_raised_inside_a_write_undoes_all_of_it(store: Store):
    for error in (KeyboardInterrupt(), ValueError("mine"), apsw.ConstraintError("theirs")):
        with pytest.raises(Defect if isinstance(error, apsw.Error) else type(error)), store._link.writing() as database:
            database.execute("INSERT INTO folder (path, taken_at) VALUES ('f', 0)")
            raise error
        assert not store._link.connection.in_transaction
    with store.view() as database:
        assert database.execute("SELECT count(*) FROM folder").get == 0


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.BusyError("x"), StoreBusy),
        (apsw.LockedError("x"), StoreBusy),
        (apsw.FullError("x"), DiskFull),
        (apsw.ReadOnlyError("x"), StoreReadOnly),
        (apsw.PermissionsError("x"), StoreReadOnly),
        (apsw.CorruptError("x"), StoreDamaged),
        (apsw.NotADBError("x"), StoreDamaged),
        (apsw.IOError("x"), StoreUnavailable),
        (apsw.CantOpenError("x"), StoreUnavailable),
        (apsw.ConnectionClosedError("x"), StoreUnavailable),
        (apsw.ConstraintError("x"), Defect),
    ],
)
def test_an_error_of_sqlite_names_the_store_and_the_next_step(error: apsw.Error, kind: type[Exception]):
    said = translated(error, "/a/store.db")
    assert type(said) is kind
    assert ("/a/store.db" in str(said) and bool(said.hint)) or kind is Defect


def test_a_write_waits_no_longer_than_its_time_and_then_says_busy(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection_module, "BUSY_MILLISECONDS", 30)
    waiting = open_store(tmp_path / "store")
    store._link.connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="stayed locked by another process"):
        put(waiting, create("note"))
    assert waiting.memories() == []  # readers do not wait
    store._link.connection.execute("ROLLBACK")
    put(waiting, create("note"))
    waiting.close()


def test_a_database_that_was_replaced_is_noticed_before_and_after_the_commit(store: Store, tmp_path: Path):
    put(store, create("note"))
    database = tmp_path / "store" / "store.db"
    with pytest.raises(StoreUnavailable, match="replaced while it was open"), store._link.writing() as inside:
        inside.execute("INSERT INTO folder (path, taken_at) VALUES ('f', 0)")
        os.rename(database, database.with_name("moved"))
        database.touch()
    for call in (lambda: put(store, create("later")), store.memories):
        with pytest.raises(StoreUnavailable, match="replaced while it was open"):
            call()
    database.unlink()
    with pytest.raises(StoreUnavailable, match="is gone"):
        store.memories()
    os.rename(database.with_name("moved"), database)
    assert at(store, "note").version == 1


def test_a_log_that_was_swapped_away_is_never_acknowledged_into(store: Store, tmp_path: Path):
    """What another process does when this one's locks were dropped: a commit into the old log is seen by nobody."""
    log = tmp_path / "store" / "store.db-wal"
    with pytest.raises(StoreUnavailable, match="replaced while it was open"), store._link.writing() as inside:
        inside.execute("INSERT INTO folder (path, taken_at) VALUES ('f', 0)")
        os.rename(log, log.with_name("kept"))
    with pytest.raises(StoreUnavailable, match="replaced while it was open"):
        put(store, create("note"))
    os.rename(log.with_name("kept"), log)


def test_a_write_holds_the_lock_from_its_first_moment(store: Store, tmp_path: Path):
    """One that starts by reading, and only then asks for the lock, fails at once when another was faster."""
    other = apsw.Connection(str(tmp_path / "store" / "store.db"))
    with store._link.writing(), pytest.raises(apsw.BusyError):
        other.execute("BEGIN IMMEDIATE")
    other.execute("BEGIN IMMEDIATE; ROLLBACK")
    other.close()


@pytest.mark.parametrize(
    "change", ["ALTER TABLE memory ADD COLUMN more TEXT", "ALTER TABLE memory RENAME COLUMN pinned TO held"]
)
def test_a_newer_memstore_that_migrates_meanwhile_stops_this_ones_writes(store: Store, tmp_path: Path, change: str):
    put(store, create("note"))
    newer = apsw.Connection(str(tmp_path / "store" / "store.db"))
    latest = len(migrations())
    newer.execute(f"{change}; PRAGMA user_version = {latest + 1}")
    newer.close()
    told = f"has schema {latest + 1} now, this memstore works with {latest}; nothing was written"
    with pytest.raises(StoreNewer, match=told):
        put(store, create("later"))
    if "RENAME" in change:
        with pytest.raises(StoreNewer, match=f"has schema {latest + 1} now"):
            store.memories()
    else:
        assert [memory.path for memory in store.memories()] == ["note.md"]


def test_a_closed_store_says_so_and_may_be_closed_again(tmp_path: Path):
    store = open_store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        store.memories()


def _use_in_child(store: Store, answers: Pipe) -> None:
    said = []
    for call in (store.memories, lambda: put(store, create("child")), store.schema, store.counts):
        try:
            call()
        except Defect as error:
            said.append(str(error))
    store.close()
    answers.send(said)


def test_a_store_in_a_forked_process_raises_and_leaves_its_parent_alone(store: Store, tmp_path: Path):
    put(store, create("before"))
    context = multiprocessing.get_context("fork")
    answers, there = context.Pipe()
    child = context.Process(target=_use_in_child, args=(store, there))
    with store._link.writing() as database:
        database.execute("INSERT INTO folder (path, taken_at) VALUES ('f', 0)")
        child.start()
        said = answers.recv()
        child.join()
    assert said == ["a store's connection was used in a forked process"] * 4
    put(store, create("after"))
    store.close()
    seen = open_store(tmp_path / "store")
    assert ([memory.path for memory in seen.memories()], seen.add_folder("f").pk) == (["after.md", "before.md"], 1)
    seen.close()


AS_NOBODY = """
import os, sys
from pathlib import Path
from memstore.errors import StoreReadOnly
from tests.store.stores import at, create, open_store, put
import memstore.store.shown, memstore.store.writer  # loaded when they are needed, and nobody may read them then
from memstore.store import ddl
ddl.schema_directory = lambda: sys.argv[2]  # a copy, for the checkout may lie where only its owner looks
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
from memstore.store import connection
connection.os.geteuid = lambda: 0  # the files are somebody else's: only their modes are to speak
store = open_store(Path(sys.argv[1]))
assert not store.writable
print(at(store, "note").state.content.decode(), end="")
assert len(store.operations()) == 1 and store.index()
try:
    put(store, create("more"))
except StoreReadOnly as error:
    print(error.hint)
store.close()
"""


@pytest.fixture
def reached() -> Iterator[Path]:
    """A directory that every user reaches. Those of pytest are closed to others, and each pytest that starts closes the
    one that all share."""
    with tempfile.TemporaryDirectory(prefix="memstore-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.parametrize("log", ["at rest", "with a log"])
def test_a_store_that_can_only_be_read_is_read(reached: Path, log: str):
    place = reached / "store"
    store = open_store(place)
    put(store, create("note", "words to keep\n"))
    if log == "at rest":
        store.close()
    for path in place.iterdir():
        path.chmod(0o444)
    place.chmod(0o555)
    schema = shutil.copytree(schema_directory(), reached / "schema")
    for path in (schema, *schema.iterdir()):
        path.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, place, schema], capture_output=True, text=True)
    place.chmod(0o700)
    store.close()
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "words to keep\ncheck the permissions of the store's folder, or move it with MEMSTORE_HOME\n"
    )
