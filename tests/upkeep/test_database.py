"""sqlite-utils sees a copy and never a store; what it says is passed on; it does not outlive the call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memstore.app import Memstore
from memstore.core.plan import Wanted
from memstore.errors import InputRefused
from memstore.upkeep import database
from memstore.upkeep.database import Call

ENDLESS = "WITH RECURSIVE a (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT x FROM a"


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memstore]:
    place = tmp_path / "repo"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with Memstore.open(str(place)) as opened:
        opened.write("deploy", Wanted(body="On Fridays. 金曜日に発布\n"))
        yield opened


def said(memories: Memstore, call: Call) -> str:
    pieces: list[bytes] = []
    with database.copied(memories) as made:
        database.run(call, made.path, pieces.append, cwd=str(memories.place.root.path), environment=os.environ)
    return b"".join(pieces).decode()


def test_a_copy_has_what_was_edited_in_the_folder_until_now(memories: Memstore):
    assert memories.place.folder is not None
    file = Path(memories.place.folder) / "deploy.md"
    file.write_text(file.read_text(encoding="utf-8") + "By hand.\n", encoding="utf-8")
    assert "By hand." in said(memories, Call("rows", ("--csv",), ("memories",)))


@pytest.mark.parametrize("before", ["", "  \n", "-- a remark\n", "/* one\n */ /* two */", ";", "\ufeff"])
def test_a_query_opens_no_other_file_by_itself(before: str):
    with pytest.raises(InputRefused, match="attaches no database"):
        database.query_call(f"{before}aTTach 'store.db' AS live", ())
    with pytest.raises(InputRefused, match="writes no file"):
        database.query_call(f"{before}VACUUM INTO 'copy.db'", ())
    assert database.query_call(f"{before}SELECT 'attach'", ()).arguments


def test_a_database_with_a_quote_in_its_name_is_attached_and_none_is_made(memories: Memstore, tmp_path: Path):
    home = memories.place.home
    other = tmp_path / "it's '||' one.db"
    with pytest.raises(InputRefused, match="is no file"):
        database.attachable(str(other), home)
    database.keep_copy(memories, str(other), force=False)
    attach = ("--attach", "a ] b", database.attachable(str(other), home), "--csv")
    assert "deploy.md" in said(memories, Call("query", attach, ('SELECT path FROM "a ] b".memories',)))
    assert [path.name for path in tmp_path.glob("*.db")] == [other.name]


def test_what_is_changed_in_a_copy_is_changed_nowhere_else(memories: Memstore):
    before = memories.memories()
    assert "rows_affected" in said(memories, Call("query", (), ("DELETE FROM search_document",)))
    assert memories.memories() == before
    assert memories.search("Fridays")[1]


@pytest.mark.parametrize("words", ["fridays", "金曜日", "発布 friday"])
def test_words_in_any_script_find_what_the_search_finds(memories: Memstore, words: str):
    table = "search_document" if " " in words else "memories"
    assert "deploy" in said(memories, database.search_call(table, words, ("--csv",), 1))


def test_words_are_no_syntax(memories: Memstore):
    assert said(memories, database.search_call("memories", 'NEAR( "x" OR -- y', ("--csv",))).count("deploy.md") == 0
    with pytest.raises(InputRefused, match="no word"):
        database.search_call("memories", "  ", ())


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call("rows", (), ("nowhere",)), "no such table: nowhere"),
        (Call("schema", (), ("nowhere",)), "no such table"),
        (Call("query", (), ("DELETE FROM version",)), "this: history is append-only"),
        (Call("query", (), ("selec",)), "syntax error"),
        (Call("query", (), ("select 1; select 2",)), "more than one statement"),
        (Call("query", (), ("select nowhere",)), "no such column: nowhere"),
        (Call("insert", ("--text",), ("memory", "/dev/null")), "this: NOT NULL constraint failed"),
        (Call("search", (), ("memory", "x")), "not configured for full-text search"),
        (Call("query", (), ("select " + "1" * 200_000,)), "cannot be started"),
        (Call("query", (), ("select 1\0",)), "cannot be started"),
    ],
)
def test_what_sqlite_utils_refuses_is_told_in_one_sentence(memories: Memstore, call: Call, reason: str):
    with pytest.raises(InputRefused, match=reason) as caught:
        said(memories, call)
    assert caught.value.hint
    assert "Traceback" not in str(caught.value)


def test_a_folder_that_somebody_stands_in_supplies_no_module(memories: Memstore):
    place = Path(memories.place.root.path)
    (place / "sqlite_utils.py").write_text("print('hostile')")
    assert "hostile" not in said(memories, Call("tables"))


def test_rows_are_handed_on_as_they_come_and_the_child_ends_with_the_call(
    memories: Memstore, monkeypatch: pytest.MonkeyPatch
):
    sizes: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)

    def enough(piece: bytes) -> None:
        sizes.append(len(piece))
        if sum(sizes) > 1_000_000:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError), database.copied(memories) as made:
        call = Call("query", ("--nl",), (ENDLESS,))
        database.run(call, made.path, enough, cwd="/", environment=os.environ, held=made.held)
    assert max(sizes) <= 65_536
    assert not Path(made.path).exists()
    (child,) = started
    assert child.returncode is not None


def test_files_of_a_store_are_no_scratch(memories: Memstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home, path = memories.place.home, memories.store.path
    os.link(path, tmp_path / "hard.db")
    (tmp_path / "soft.db").symlink_to(path)
    (tmp_path / "hole").symlink_to(home.path)
    refused = [
        path,
        f"{path}-wal",
        f"{home.path}/new.db",
        *(str(tmp_path / n) for n in ("hard.db", "soft.db", "hole/x")),
    ]
    for one in refused:
        with pytest.raises(InputRefused):
            database.check_scratch(one, home)
    monkeypatch.setenv("MEMSTORE_HOME", str(tmp_path / "second"))
    with Memstore.open(memories.place.root.path) as other:
        elsewhere = other.store.path
    monkeypatch.delenv("MEMSTORE_HOME")
    with pytest.raises(InputRefused, match="database of a store"):
        database.check_scratch(elsewhere, home)
    database.keep_copy(memories, str(tmp_path / "copy.db"), force=False)
    for fine in ("copy.db", "absent.db"):
        database.check_scratch(str(tmp_path / fine), home)


def test_a_copy_to_keep_replaces_nothing_unasked_and_stays_out_of_what_agents_read(memories: Memstore, tmp_path: Path):
    target = tmp_path / "copy.db"
    assert database.keep_copy(memories, str(target), force=False) == target.stat().st_size
    first = target.stat().st_ino
    with pytest.raises(InputRefused, match="is there already"):
        database.keep_copy(memories, str(target), force=False)
    database.keep_copy(memories, str(target), force=True)
    assert target.stat().st_ino != first
    assert memories.place.folder is not None
    for wrong in (f"{memories.place.folder}/copy.db", str(tmp_path / "absent" / "copy.db"), str(tmp_path)):
        with pytest.raises(InputRefused):
            database.keep_copy(memories, wrong, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "repo"]
