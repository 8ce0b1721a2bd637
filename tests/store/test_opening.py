"""Opening: what is made, what is migrated, what is refused and then left exactly as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memstore.core.terms import TERMS_VERSION, parse_query
from memstore.errors import (
    DiskFull,
    EngineTooOld,
    StoreBusy,
    StoreDamaged,
    StoreNewer,
    StoreReadOnly,
    StoreUnavailable,
)
from memstore.store import connection, ddl, migrate, opening
from memstore.store.search import Filters
from memstore.store.store import Store
from tests.store.older import older
from tests.store.stores import STORE, at, check_witness, create, open_store, put

LATEST = len(ddl.migrations())
"""The number of the present schema."""


def bytes_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("store.*") if path.is_file()}


def edited(path: Path, *statements: str) -> None:
    database = apsw.Connection(str(path))
    for statement in statements:
        database.execute(statement)
    database.close()


def used(directory: Path) -> Path:
    """A store with one memory, closed. Returns the database."""
    store = open_store(directory)
    put(store, create("note", "words to keep\n"))
    store.close()
    return directory / "store.db"


def test_a_new_store_and_its_folder_belong_to_their_owner_alone(tmp_path: Path):
    before = os.umask(0)
    try:
        store = open_store(tmp_path / "stores" / "one")
        put(store, create("note"))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "stores").rglob("*")}
    store.close()
    assert modes.pop("one") == 0o700
    assert stat.S_IMODE((tmp_path / "stores").stat().st_mode) == 0o700
    assert {"store.db", "store.db-wal", "store.db-shm", "store.id"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_a_store_says_who_it_is_and_is_found_again(tmp_path: Path):
    used(tmp_path)
    store = open_store(tmp_path)
    assert (tmp_path / "store.id").read_text() == STORE + "\n"
    assert (store.schema(), store.writable, at(store, "note").state.content) == (LATEST, True, b"words to keep\n")
    assert store.id == tmp_path.name
    store.close()


def test_a_closed_store_is_sound_for_another_sqlite(tmp_path: Path):
    used(tmp_path / "store")
    check_witness(tmp_path / "store", tmp_path / "copy")


def test_writes_are_durable_and_foreign_keys_hold(tmp_path: Path):
    store = open_store(tmp_path)
    folder = store.add_folder("/f").pk
    for _ in range(2):
        with store.view() as database:
            names = ("synchronous", "foreign_keys", "recursive_triggers", "journal_mode")
            assert [database.pragma(name) for name in names] == [2, 1, 1, "wal"]
        store.show(folder, (), durable=False)  # what may be lost in a power cut must not take others along
    store.close()


def test_the_write_ahead_log_stays_bounded(store: Store, tmp_path: Path):
    put(store, *(create(f"long-{n}", os.urandom(200_000).hex()) for n in range(60)))
    for n in range(3):
        put(store, create(f"short-{n}"))
    assert (tmp_path / "store" / "store.db-wal").stat().st_size <= 16 * 1024 * 1024


@pytest.mark.parametrize(
    "content",
    [b"not a database", b"SQLite format 3\0" + bytes(range(256)) * 32, b"\0" * 8192, b"x" * 100, b"\n" * 4096],
    ids=["text", "header and noise", "zeros", "short", "newlines"],
)
def test_h22_what_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes):
    (tmp_path / "store.db").write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"left exactly as it is|nothing was changed"):
        open_store(tmp_path)
    assert {path.name for path in tmp_path.glob("store.*")} == {"store.db"}
    assert (tmp_path / "store.db").read_bytes() == content


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_h22_a_store_that_was_used_and_is_missing_or_empty_is_no_fresh_start(tmp_path: Path, lost: str):
    database = used(tmp_path)
    database.unlink()
    if lost == "empty":
        database.touch()
    before = bytes_of(tmp_path)
    with pytest.raises(StoreDamaged, match="missing or empty, yet this store has been used") as refused:
        open_store(tmp_path)
    assert "restore it from a backup" in refused.value.hint
    assert bytes_of(tmp_path) == before


def test_h22_a_store_whose_rows_all_went_with_its_log_is_no_fresh_start(tmp_path: Path):
    """Right after creation all rows stand in the log: whoever deletes it leaves a sound, empty database."""
    database = used(tmp_path)
    database.unlink()
    edited(database, "PRAGMA journal_mode = WAL", "CREATE TABLE t (x)", "DROP TABLE t", "VACUUM")
    before = bytes_of(tmp_path)
    with pytest.raises(StoreDamaged, match="holds nothing, yet this store has been used"):
        open_store(tmp_path)
    assert bytes_of(tmp_path) == before


def test_h22_an_empty_database_beside_a_log_is_refused_and_the_log_stays(tmp_path: Path):
    (tmp_path / "store.db").touch()
    (tmp_path / "store.db-wal").write_bytes(b"rows" * 1000)
    for writable in (True, False):
        with pytest.raises(StoreDamaged, match="is empty, but its log is not"):
            open_store(tmp_path, writable=writable)
    assert bytes_of(tmp_path) == {"store.db": b"", "store.db-wal": b"rows" * 1000}


def test_an_empty_file_that_was_never_a_store_becomes_one(tmp_path: Path):
    """A process was killed between making the file and filling it."""
    (tmp_path / "store.db").touch(0o600)
    used(tmp_path)


def test_a_store_whose_maker_was_killed_before_it_was_marked_gets_its_mark(tmp_path: Path):
    database = used(tmp_path)
    (tmp_path / "store.id").unlink()
    open_store(tmp_path).close()
    assert (tmp_path / "store.id").exists()
    database.write_bytes(b"")
    with pytest.raises(StoreDamaged):
        open_store(tmp_path)


@pytest.mark.parametrize("version", [0, 1, 2, 9999, -1])
def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path, version: int):
    edited(tmp_path / "store.db", "CREATE TABLE theirs (x)", f"PRAGMA user_version = {version}")
    before = bytes_of(tmp_path)
    with pytest.raises(StoreDamaged, match="another program"):
        open_store(tmp_path)
    assert bytes_of(tmp_path) == before


def test_h22_a_newer_schema_is_refused_with_both_numbers_and_every_byte_stays(tmp_path: Path):
    database = used(tmp_path)
    edited(database, "PRAGMA user_version = 9999")
    before = bytes_of(tmp_path)
    with pytest.raises(StoreNewer, match=f"has schema 9999, this memstore knows {LATEST}"):
        open_store(tmp_path)
    assert bytes_of(tmp_path) == before
    with pytest.raises(StoreNewer, match=f"has schema 9999, this memstore knows {LATEST}"):
        open_store(tmp_path, writable=False)
    assert bytes_of(tmp_path)["store.db"] == before["store.db"]


def test_h22_a_newer_schema_with_a_log_of_its_own_keeps_the_log_too(tmp_path: Path):
    """Somebody was killed: closing the last connection would move their log into the database."""
    used(tmp_path)
    killed = (
        "import apsw, os, sys\n"
        "c = apsw.Connection(sys.argv[1])\n"
        "c.execute('PRAGMA user_version = 9999')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", killed, tmp_path / "store.db"], check=False)
    before = bytes_of(tmp_path)
    assert len(before["store.db-wal"]) > 0
    with pytest.raises(StoreNewer):
        open_store(tmp_path)
    after = bytes_of(tmp_path)
    assert (after["store.db"], after["store.db-wal"]) == (before["store.db"], before["store.db-wal"])


def test_h22_a_foreign_log_beside_a_sound_database_loses_nothing(tmp_path: Path):
    database = used(tmp_path)
    (tmp_path / "store.db-wal").write_bytes(os.urandom(8192))
    store = open_store(tmp_path)
    assert at(store, "note").state.content == b"words to keep\n"
    store.close()
    assert database.exists()


def test_h22_damage_in_the_middle_is_named_when_it_is_met_and_not_before(tmp_path: Path):
    store = open_store(tmp_path)
    put(store, *(create(f"note-{n}", "words " * 300) for n in range(50)))
    store.close()
    database = tmp_path / "store.db"
    content = bytearray(database.read_bytes())
    for at_byte in range(4096 * 2, len(content), 4096):
        content[at_byte : at_byte + 64] = b"\xff" * 64
    database.write_bytes(content)
    opened: list[Store] = []
    with pytest.raises(StoreDamaged, match="does not read as a sound database"):
        opened.append(open_store(tmp_path))
        opened[0].memories()
    for store in opened:
        store.close()
    assert database.read_bytes() == content


def test_a_directory_a_fifo_and_a_link_are_no_database(tmp_path: Path):
    makers: list[Callable[[Path], object]] = [
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to(tmp_path / "elsewhere.db"),
    ]
    for n, make in enumerate(makers):
        place = tmp_path / str(n)
        place.mkdir()
        make(place / "store.db")
        with pytest.raises(StoreDamaged, match="not a regular file"):
            open_store(place)
        assert [path.name for path in place.iterdir()] == ["store.db"]
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_folder_that_was_moved_and_linked_is_followed_and_keeps_its_id(tmp_path: Path):
    used(tmp_path / "moved")
    (tmp_path / "store").symlink_to(tmp_path / "moved")
    store = open_store(tmp_path / "store")
    assert (store.id, at(store, "note").version) == ("store", 1)
    store.close()


def test_a_place_where_no_folder_can_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly, match="cannot be used"):
        open_store(tmp_path / "file" / "store")
    with pytest.raises(StoreUnavailable, match="there is no store"):
        open_store(tmp_path / "nothing", writable=False)
    assert not (tmp_path / "nothing").exists()


def test_an_old_engine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "OLDEST_ENGINE", (99, 0, 0))
    with pytest.raises(EngineTooOld, match="can corrupt a store"):
        open_store(tmp_path)


OLDER = range(1, LATEST)


@pytest.mark.parametrize("version", OLDER)
def test_every_older_schema_is_migrated_and_what_it_held_is_found(tmp_path: Path, version: int):
    older(tmp_path / "store", version)
    store = open_store(tmp_path / "store")
    hits = store.search(parse_query("harbour"), Filters(), 5)
    assert ([hit.path for hit in hits], store.schema()) == (["note.md"], LATEST)
    put(store, create("next"))
    store.close()
    check_witness(tmp_path / "store", tmp_path / "copy")


@pytest.mark.parametrize("version", OLDER)
def test_a_migration_keeps_a_copy_of_what_was_there(tmp_path: Path, version: int):
    database = older(tmp_path, version)
    copy = database.with_name(f"store.db.before-schema-{version + 1}")
    copy.with_name(copy.name + ".part").write_bytes(b"left by somebody who was killed")
    open_store(tmp_path).close()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not copy.with_name(copy.name + ".part").exists()
    kept = apsw.Connection(str(copy))
    assert (kept.pragma("user_version"), kept.execute("SELECT count(*) FROM version").get) == (version, 1)
    kept.close()


@pytest.mark.parametrize("version", OLDER)
def test_a_migration_that_fails_is_not_begun_and_succeeds_later(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
):
    database = older(tmp_path, version)
    check = apsw.Connection(str(database))
    before = {row[0] for row in check.execute("SELECT name FROM sqlite_schema")}
    check.close()
    steps = ddl.migrations()
    broken = [*steps[:version], (version + 1, steps[version][1] + "; CREATE TABLE memory (x)"), *steps[version + 1 :]]
    monkeypatch.setattr(migrate, "migrations", lambda: broken)
    with pytest.raises(Exception, match="memory already exists"):
        open_store(tmp_path)
    check = apsw.Connection(str(database))
    names = {row[0] for row in check.execute("SELECT name FROM sqlite_schema")}
    assert (check.pragma("user_version"), names) == (version, before)
    check.close()
    monkeypatch.undo()
    store = open_store(tmp_path)
    assert store.schema() == len(steps)
    store.close()


def test_an_older_schema_that_cannot_be_written_says_so(tmp_path: Path):
    older(tmp_path, 1)
    with pytest.raises(StoreReadOnly, match="needs a newer schema and is read-only"):
        open_store(tmp_path, writable=False)


def test_new_rules_of_the_terms_segment_everything_anew(tmp_path: Path):
    database = used(tmp_path)
    edited(database, "UPDATE store SET terms_version = 0", "UPDATE search_document SET body = 'old'")
    store = open_store(tmp_path)
    with store.view() as view:
        assert view.execute("SELECT terms_version FROM store").get == TERMS_VERSION
    assert [hit.path for hit in store.search(parse_query("keep"), Filters(), 5)] == ["note.md"]
    store.close()


def test_an_opener_that_waits_in_vain_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(opening, "_SECONDS", 0.05)
    holder = opening._lock(str(tmp_path))
    try:
        with pytest.raises(StoreBusy, match="another process has been making or migrating"):
            open_store(tmp_path)
    finally:
        os.close(holder)
    open_store(tmp_path).close()


def test_a_full_disk_is_named(store: Store):
    with store.view() as database:
        pages = database.pragma("page_count")
    store._link.connection.pragma("max_page_count", pages)
    with pytest.raises(DiskFull, match="the disk is full; nothing was written"):
        put(store, create("long", os.urandom(300_000).hex()))
    assert store.memories() == []
    store._link.connection.pragma("max_page_count", 1 << 30)
    put(store, create("long", "short\n"))
