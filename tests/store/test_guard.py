"""Nothing else in the process opens a live store's files, and no public call drops SQLite's locks."""

from __future__ import annotations

import gc
import io
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.core.changes import Append
from memstore.core.terms import parse_query
from memstore.errors import Defect
from memstore.store.search import Filters
from memstore.store.shown import Missing, ShownRow
from memstore.store.store import Store
from tests.store.stores import create, open_store, put


def linked(link: Callable[[Path, Path], None], path: Path, name: Path) -> bytes:
    link(path, name)
    return name.read_bytes()


WAYS: dict[str, Callable[[Path, Path], object]] = {
    "open": lambda path, beside: path.read_bytes(),
    "os.open": lambda path, beside: os.close(os.open(path, os.O_RDONLY)),
    "FileIO": lambda path, beside: io.FileIO(os.fsencode(path)),
    "copy": lambda path, beside: shutil.copy(path, beside / "copy"),
    "sqlite3": lambda path, beside: sqlite3.connect(path),
    "sqlite3 uri": lambda path, beside: sqlite3.connect(f"file:{path}?mode=ro", uri=True),
    "sqlite3 escaped uri": lambda path, beside: sqlite3.connect(
        "file://localhost" + str(path).replace("store", "%73tore") + "?mode=ro#x", uri=True
    ),
    "hard link": lambda path, beside: linked(os.link, path, beside / "hard"),
    "symbolic link": lambda path, beside: linked(os.symlink, path, beside / "soft"),
    "append": lambda path, beside: path.open("ab"),
}


def locks() -> list[str]:
    """This process's locks, as the kernel knows them."""
    with open("/proc/locks", encoding="ascii") as file:
        rows = [line.split()[1:] for line in file if "->" not in line]
    return sorted({" ".join(row) for row in rows if row[3] == str(os.getpid()) and row[0] == "POSIX"})


def keeps(before: list[str]) -> bool:
    """Whether the locks are those from before. The kernel tells them by the page, while others come and go: a
    lock that is really gone stays gone, so one good look is enough."""
    return any(locks() == before for _ in range(50))


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("way", WAYS)
def test_every_other_way_into_a_live_store_is_refused(store: Store, tmp_path: Path, way: str, suffix: str):
    with pytest.raises(Defect, match="live store's file was refused"):
        WAYS[way](tmp_path / "store" / f"store.db{suffix}", tmp_path)
    put(store, create("note"))


def test_two_stores_on_one_file_are_guarded_until_both_are_closed(store: Store, tmp_path: Path):
    path = tmp_path / "store" / "store.db"
    open_store(tmp_path / "store").close()
    with pytest.raises(Defect):
        path.read_bytes()
    store.close()
    assert path.read_bytes().startswith(b"SQLite format 3")


def test_files_beside_a_store_are_free(store: Store, tmp_path: Path):
    (tmp_path / "store" / "notes.txt").write_text("free")
    assert (tmp_path / "store" / "store.id").read_text()
    with open(os.devnull, "wb") as out:
        os.close(os.dup(out.fileno()))
    sqlite3.connect(":memory:").close()
    with pytest.raises(FileNotFoundError):
        (tmp_path / "file:missing").read_bytes()


def test_a_file_that_takes_over_the_inode_of_a_closed_store_is_free(tmp_path: Path):
    for n in range(20):
        store = open_store(tmp_path / f"s{n}")
        put(store, create("note"))
        store.close()
        for path in (tmp_path / f"s{n}").iterdir():
            path.unlink()
        for m in range(8):
            (tmp_path / f"{n}-{m}").write_text("free")


def test_a_file_that_takes_over_the_inode_of_a_store_that_was_forgotten_is_free(tmp_path: Path):
    forgotten = open_store(tmp_path / "store")
    put(forgotten, create("note"))
    del forgotten
    gc.collect()
    shutil.rmtree(tmp_path / "store")
    for number in range(200):
        path = tmp_path / f"{number}.md"
        path.write_text("x")
        assert path.read_text() == "x"


def test_no_public_call_changes_what_sqlite_has_locked(store: Store, tmp_path: Path):
    first = put(store, create("note", "- one\n"), operation="first")
    folder = store.add_folder("/somewhere").pk
    before = max((locks() for _ in range(50)), key=len)
    assert len(before) >= 2
    row = ShownRow("note.md", "note", 1, b"- one\n")
    calls: dict[str, Callable[[], object]] = {
        "apply": lambda: put(store, Append("note", b"two")),
        "apply again": lambda: put(store, create("note", "- one\n"), operation="first"),
        "done": lambda: store.done("none", "", ""),
        "show": lambda: store.show(folder, (row,), shows=first.seq, stamp="s"),
        "mark_gone": lambda: store.mark_gone(folder, None),
        "add_folder": lambda: store.add_folder("/elsewhere"),
        "forget_shown": lambda: store.forget_shown(folder),
        "missing": lambda: store.show(folder, (Missing("note.md", 3),)),
        "memory": lambda: store.memory("note"),
        "memories": lambda: store.memories(retired=True),
        "versions": lambda: store.versions("note"),
        "version": lambda: store.version("note", number=1),
        "operation": lambda: store.operation("#1"),
        "operations": lambda: store.operations("note"),
        "steps": lambda: store.steps(first.seq),
        "conflicts": lambda: store.conflicts(everything=True),
        "search": lambda: store.search(parse_query("one"), Filters(), 3),
        "index": store.index,
        "schema": store.schema,
        "knows": lambda: store.knows(b"- one\n"),
        "counts": store.counts,
        "another connection": lambda: open_store(tmp_path / "store").close(),
        "looking up": lambda: store._look_up(
            lambda connection: connection.execute("SELECT count(*) FROM operation").get
        ),
    }
    for name, call in calls.items():
        call()
        assert keeps(before), name
    for way in WAYS.values():
        with pytest.raises(Defect):
            way(tmp_path / "store" / "store.db", tmp_path)
        for left in ("hard", "soft"):
            (tmp_path / left).unlink(missing_ok=True)
    assert keeps(before)
