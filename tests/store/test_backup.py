"""Copies of a database: of one moment, compared, and whole or not there."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memstore.errors import DiskFull, StoreDamaged, StoreUnavailable
from memstore.store import backup
from memstore.store.store import Store
from tests.store.stores import STORE, at, create, open_store, put, who

WITNESS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
for asked in ("PRAGMA integrity_check", "PRAGMA journal_mode", "SELECT count(*) FROM version"):
    print(connection.execute(asked).fetchone()[0])
"""


def copied(store: Store, target: Path) -> backup.Contents:
    with store.view() as connection:
        return backup.copy(connection, str(target))


def test_a_copy_is_one_sound_file_of_its_owner_alone_that_holds_all_rows(store: Store, tmp_path: Path):
    put(store, *(create(f"note-{n}", os.urandom(3_000).hex()) for n in range(20)))
    target = tmp_path / "copy.db"
    before = os.umask(0)
    try:
        held = copied(store, target)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert (held.store, held.memories, held.versions, held.operation) == (STORE, 20, 20, 1)
    with backup.opened(str(target)) as connection:
        assert backup.contents(connection) == held
        assert backup.identity(connection, str(target)) == STORE
    # Reading makes nothing beside it, and another SQLite in another process finds it sound.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "store"]
    told = subprocess.run([sys.executable, "-c", WITNESS, target], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["ok", "delete", "20"]


def test_a_copy_is_of_one_moment_and_no_writer_waits_for_it(store: Store, tmp_path: Path):
    put(store, *(create(f"note-{n}", os.urandom(30_000).hex()) for n in range(60)))
    other = open_store(tmp_path / "store")
    number = 0

    def meanwhile(done: int, pages: int) -> None:
        nonlocal number
        number += 1
        put(other, create(f"later-{number}", os.urandom(3_000).hex()))

    with store.view() as connection:
        held = backup.copy(connection, str(tmp_path / "copy.db"), meanwhile)
    assert number > 1 and len(other.memories()) == 60 + number
    other.close()
    assert (held.memories, held.operation) == (60, 1)


def test_what_lies_under_the_name_stays(store: Store, tmp_path: Path):
    target = tmp_path / "copy.db"
    target.write_text("mine")
    with pytest.raises(FileExistsError):
        copied(store, target)
    assert target.read_text() == "mine"


def test_what_a_killed_copy_left_gives_way_and_nothing_else_does(store: Store, tmp_path: Path):
    for name in ("copy.db.77-0.part", "copy.db.77-0.part-journal", "copy.db.part", "copy.db.88-0.part", "x.99-0.part"):
        (tmp_path / name).write_text("half")
    with open(tmp_path / "copy.db.88-0.part") as going_on:
        fcntl.flock(going_on, fcntl.LOCK_EX)
        copied(store, tmp_path / "copy.db")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"store", "copy.db", "copy.db.part", "copy.db.88-0.part", "x.99-0.part"}
    assert len(backup.remove_parts(str(tmp_path))) == 2


def test_a_copy_that_is_not_what_was_copied_never_gets_its_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    put(store, create("note", "words\n"))
    sync = backup._copy_pages

    def spoilt(source: apsw.Connection, part: str, step: backup.Step | None) -> int:
        pages = sync(source, part, step)
        made = apsw.Connection(part)
        made.execute("PRAGMA recursive_triggers = OFF; DROP TRIGGER version_stays; DELETE FROM version")
        made.close()
        return pages

    monkeypatch.setattr(backup, "_copy_pages", spoilt)
    with pytest.raises(StoreDamaged, match="does not hold what was copied"):
        copied(store, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_a_text_that_is_not_what_its_digest_says_is_found(store: Store, tmp_path: Path):
    put(store, create("note", "words\n"))
    store._link.connection.execute("DROP TRIGGER text_keeps; UPDATE text SET content = 'other'")
    with pytest.raises(StoreDamaged, match="is not what was written"):
        copied(store, tmp_path / "copy.db")


def test_a_full_disk_leaves_nothing_behind(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The copy may grow to so many pages only: SQLite then says that the disk is full."""
    put(store, *(create(f"note-{n}", os.urandom(3_000).hex()) for n in range(20)))
    real = apsw.Connection

    def narrow(*given: object, **options: object) -> apsw.Connection:
        connection = real(*given, **options)  # type: ignore[arg-type]  # handed on as it came
        connection.execute("PRAGMA max_page_count = 20").fetchall()
        return connection

    monkeypatch.setattr(apsw, "Connection", narrow)
    with pytest.raises(DiskFull):
        copied(store, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("content", [b"text\n" * 999, b"SQLite format 3\0" + b"\xaa" * 8192], ids=["text", "noise"])
def test_what_is_no_database_is_no_copy(tmp_path: Path, content: bytes):
    path = tmp_path / "x.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged), backup.opened(str(path)) as connection:
        backup.identity(connection, str(path))
    assert path.read_bytes() == content


def test_a_database_of_another_program_a_directory_and_a_link_are_no_copy(tmp_path: Path):
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("CREATE TABLE store (id); INSERT INTO store VALUES ('x')")
    other.close()
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(StoreDamaged, match="not a regular file"), backup.opened(str(tmp_path / "pipe.db")):
        pass
    with pytest.raises(StoreDamaged, match="no copy"), backup.opened(str(tmp_path / "other.db")) as connection:
        backup.identity(connection, "other.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "other.db")
    for name in ("link.db", "absent.db", ""):
        with pytest.raises(StoreUnavailable), backup.opened(str(tmp_path / name)):
            pass


def test_what_it_holds_tells_two_histories_apart(store: Store):
    put(store, create("note", "one\n"))
    with store.view() as connection:
        before = backup.contents(connection)
    put(store, create("other", "two\n"))
    assert at(store, "other").version == 1 and who().origin == "agent"
    with store.view() as connection:
        after = backup.contents(connection)
    assert before.digest != after.digest and dict(after.rows)["text"] == dict(before.rows)["text"] + 1
