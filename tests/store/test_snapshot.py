"""A copy is the store of one moment, for any tool; it is gone with its command, and nobody takes it for a store."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memstore.errors import StoreDamaged, StoreUnavailable
from memstore.store import migrate, snapshot
from memstore.store.store import Store
from tests.store.stores import create, put

PLAIN = """
import sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?immutable=1", uri=True)
assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
found = "SELECT m.path FROM search_index JOIN memories m ON m.pk = search_index.rowid WHERE search_index MATCH ?"
print(connection.execute(found, (sys.argv[2],)).fetchall())
print(connection.execute("SELECT path, version, text FROM history ORDER BY path").fetchall())
print(connection.execute("SELECT kind, text, path FROM lines").fetchall())
print(connection.execute("SELECT number, kind, versions FROM operations").fetchall())
"""


def plain(path: Path, word: str) -> list[str]:
    """What the standard library's SQLite reads, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PLAIN, path, word], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n").split("\n")


def test_any_sqlite_reads_a_copy_without_side_files_and_finds_words_in_it(store: Store, tmp_path: Path):
    put(store, create("deploy", "On Fridays\n"), create("raw", b"\xff"))
    copy = tmp_path / "copy.db"
    snapshot.copy(store.path, str(copy))
    found, history, lines, operations = plain(copy, "friday")
    assert found == "[('deploy.md',)]"
    assert history == r"[('deploy.md', 1, 'On Fridays\n'), ('raw.md', 1, b'\xff')]"
    assert "('auto', '- [deploy](deploy.md)', 'deploy.md')" in lines
    assert operations == "[(1, 'test', 2)]"
    assert [path.name for path in tmp_path.glob("copy.db*")] == ["copy.db"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_copy_is_of_one_moment_and_holds_no_writer_up(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot, "_STEPS", 200)
    put(store, create("first"))
    with store.change() as connection:
        connection.execute("UPDATE memory SET pinned = 1")
        snapshot.copy(store.path, str(tmp_path / "during.db"))
    during = apsw.Connection(str(tmp_path / "during.db"))
    assert during.execute("SELECT path, pinned FROM memories").fetchall() == [("first.md", 0)]

    def write(done: int, whole: int, what: str) -> None:
        put(store, create(f"during-{len(store.memories())}"))

    snapshot.copy(store.path, str(tmp_path / "beside.db"), write)
    assert len(store.memories()) > 2
    beside = apsw.Connection(str(tmp_path / "beside.db"))
    assert beside.execute("SELECT path FROM memories").fetchall() == [("first.md",)]


def test_nobody_takes_a_copy_for_a_store(store: Store, tmp_path: Path):
    snapshot.copy(store.path, str(tmp_path / "copy.db"))
    connection = apsw.Connection(str(tmp_path / "copy.db"))
    with pytest.raises(StoreDamaged, match="another program"):
        migrate.check(connection, "copy.db")


def test_what_cannot_be_copied_leaves_nothing_behind(store: Store, tmp_path: Path):
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    with pytest.raises(FileExistsError):
        snapshot.copy(store.path, str(taken))
    assert taken.read_text() == "mine"
    with pytest.raises(StoreUnavailable, match="no copy can be made"):
        snapshot.copy(store.path, str(tmp_path / "absent" / "copy.db"))
    store.close()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"\x5a" * 8_176)
    with pytest.raises(StoreDamaged):
        snapshot.copy(str(damaged), str(tmp_path / "copy.db"))
    assert not (tmp_path / "copy.db").exists()


def test_a_copy_for_one_command_is_gone_after_it_however_it_ends(store: Store, tmp_path: Path):
    with snapshot.snapshot(store.path, str(tmp_path / "home")) as made:
        directory = Path(made.path).parent
        assert stat.S_IMODE(directory.stat().st_mode) == stat.S_IMODE(directory.parent.stat().st_mode) == 0o700
    assert not directory.exists()
    with pytest.raises(KeyboardInterrupt), snapshot.snapshot(store.path, str(tmp_path / "home")):
        raise KeyboardInterrupt
    assert list((tmp_path / "home" / "snapshots").iterdir()) == []


def test_what_a_killed_command_left_goes_with_the_next_one_but_not_what_somebody_holds(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    above = tmp_path / "home" / "snapshots"
    with snapshot.snapshot(store.path, str(tmp_path / "home")) as held:
        left, young = above / "db-left", above / "db-young"
        for place in (left, young):
            place.mkdir()
            (place / "snapshot.db").write_bytes(b"rows")
        with monkeypatch.context() as later:
            later.setattr(snapshot, "_YOUNG", -1)
            snapshot.sweep(str(above))
        assert [str(above / name) for name in os.listdir(above)] == [os.path.dirname(held.path)]
        young.mkdir()
        snapshot.sweep(str(above))
        assert young.exists()


def test_where_the_home_takes_no_directory_the_copy_stands_where_the_system_keeps_such_things(
    store: Store, tmp_path: Path
):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "snapshots").write_text("a file")
    with snapshot.snapshot(store.path, str(tmp_path / "home")) as made:
        directory = Path(made.path).parent
        assert directory.parent != tmp_path / "home"
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert not directory.exists()
