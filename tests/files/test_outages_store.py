"""The store's own disk is full, and the folder's path leads nowhere: a typed error, nothing half, reads go on."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import pytest

from memstore.errors import DiskFull
from memstore.files.turn import FolderTurn
from tests.files.desk import Desk
from tests.files.outages import Unable, check_closure, command, litter, no_room, small_disk

ROOT = Path(__file__).parents[2]
LIMITED = """
import resource, sys
from memstore.cli.main import main
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
main()
"""


def _check_whole(desk: Desk, kept: dict[str, str]) -> None:
    """What was acknowledged is there, is read and is shown; of what failed there is nothing."""
    assert desk.living() == sorted(kept)
    for path, body in kept.items():
        assert desk.text(path).endswith(body) and desk.read(path) == desk.text(path)
        assert command(desk, "show", path, "--json").json["content"].endswith(body)
    assert sorted(path.name for path in desk.folder.glob("*.md")) == sorted([*kept, "MEMORY.md"])
    assert litter(desk.folder) == []
    check_closure(desk)


def test_a_store_whose_disk_fills_refuses_what_it_cannot_keep_and_goes_on_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kept: dict[str, str] = {}
    try:
        with small_disk(tmp_path / "small", "size=2m") as small:
            monkeypatch.setenv("MEMSTORE_HOME", str(small / "home"))
            desk = Desk(tmp_path)
            _fill_up(desk, kept)
            desk.close()
    except Unable as reason:
        pytest.skip(str(reason))


def _fill_up(desk: Desk, kept: dict[str, str]) -> None:
    full = None
    for number in range(200):
        try:
            desk.write(f"n{number}", f"{number} " + "words " * 5_000 + "\n")
        except DiskFull as error:
            full = error
            break
        kept[f"n{number}.md"] = f"{number} " + "words " * 5_000 + "\n"
    assert full is not None and len(kept) > 2
    assert "disk is full" in str(full) and full.hint
    told = command(desk, "write", "more", "words " * 20_000)
    assert told.code == 6 and "disk is full" in told.err
    assert command(desk, "write", "more", "words " * 20_000, "--json").json["error"]["kind"] == "DiskFull"
    _check_whole(desk, kept)
    assert command(desk, "search", "words").code == 0
    with no_room(Path(desk.memories.store.directory)):
        # Not one block is left: reading needs none, and a sync says why nothing is taken in.
        _check_whole(desk, kept)
        desk.put("by-hand.md", "by hand " * 100_000)
        synced = command(desk, "sync")
        assert "disk is full" in synced.err and "0 files taken in" in synced.out, synced
        (desk.folder / "by-hand.md").rename(desk.base / "by-hand.md")
    desk.close()
    for path in list(Path(desk.memories.place.home.path).rglob("*")):
        assert path.is_dir() or path.stat().st_size <= 2 << 20
    reopened = desk.open()
    assert {memory.path for memory in reopened.memories()} == set(kept)


@pytest.mark.parametrize("limit", [100, 40_000, 120_000])
def test_a_database_that_cannot_grow_ends_with_code_6_and_keeps_what_it_has(desk: Desk, limit: int):
    """The kernel cuts a write short and refuses the next, as a quota does."""
    desk.write("a", "old\n")
    desk.sync()
    before, size = desk.files(), os.path.getsize(desk.memories.store.path)
    place = str(desk.base / desk.root)
    big = desk.base / "big.txt"
    big.write_text("words " * 50_000)

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        started = [sys.executable, "-c", LIMITED, str(limit), "-C", place, *args]
        return subprocess.run(started, cwd=ROOT, capture_output=True, text=True, check=False)

    written = run("write", "b", "--file", str(big), "--json")
    assert written.returncode == 6, written
    error = json.loads(written.stdout)["error"]
    assert error["kind"] in ("DiskFull", "StoreUnavailable", "StoreReadOnly") and error["hint"]
    assert "Traceback" not in written.stderr
    assert desk.files() == before
    read = run("show", "a", "--json")
    assert read.returncode == 0 and json.loads(read.stdout)["content"].endswith("old\n"), read
    assert desk.living() == ["a.md"] and os.path.getsize(desk.memories.store.path) >= size
    desk.write("b", "new\n")
    assert desk.read("b.md") == desk.text("b") and desk.sync().quiet


def test_a_home_on_a_full_disk_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    desk = Desk(tmp_path)
    try:
        with small_disk(tmp_path / "small") as small, no_room(small):
            monkeypatch.setenv("MEMSTORE_HOME", str(small / "home"))
            for _ in range(2):
                told = command(desk, "write", "a", "text")
                assert told.code == 6 and ("full" in told.err or "No space" in told.err), told
            assert command(desk, "list").code in (3, 6)
    except Unable as reason:
        pytest.skip(str(reason))
    finally:
        desk.close()


def test_a_turn_that_cannot_be_taken_for_want_of_room_says_so(tmp_path: Path):
    with pytest.raises(DiskFull, match="No space left on device") as full, _no_inode():
        FolderTurn("/some/folder", str(tmp_path), 0.0, lambda _: None).__enter__()
    assert "free some space" in full.value.hint


def _no_inode() -> AbstractContextManager[object]:
    return mock.patch.object(os, "open", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))


def test_a_folder_whose_path_is_too_long_is_told_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "/".join(["d" * 200] * 25)))
    desk = Desk(tmp_path)
    try:
        saved = desk.write("a", "text\n")
        assert saved.files.folder is None
        assert any("File name too long" in notice for notice in saved.files.notices), saved.files
        synced = command(desk, "sync")
        assert synced.code == 5 and "choose a shorter path" in synced.err, synced
        told = command(desk, "append", "a", "more")
        assert told.code == 0 and "not projected: " in told.err and "File name too long" in told.err
        assert "more" in command(desk, "show", "a").out
        monkeypatch.delenv("CLAUDE_CONFIG_DIR")
        assert command(desk, "sync").code == 0
        assert "more" in Path(command(desk, "where", "--json").json["folder"], "a.md").read_text()
    finally:
        desk.close()


def _bare(monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    from memstore.files import exchange

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr(exchange, "_system_call", lambda: None)
    if not links:
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.parametrize("links", [True, False])
def test_where_names_cannot_be_exchanged_writes_edits_and_conflicts_go_as_everywhere(
    desk: Desk, links: bool, monkeypatch: pytest.MonkeyPatch
):
    _bare(monkeypatch, links)
    desk.write("a", "one\ntwo\nthree\nfour\n")
    desk.write("b", "text\n")
    between(desk, monkeypatch, lambda: desk.edit("a.md", "four", "four, by hand"))
    desk.write("a", "one, by the tool\ntwo\nthree\nfour\n")
    assert "one, by the tool" in desk.read("a.md") and "four, by hand" in desk.read("a.md")
    between(desk, monkeypatch, lambda: desk.edit("a.md", "two", "two, by hand"))
    desk.write("a", "one\ntwo, by the tool\nthree\nfour\n")
    (conflict,) = desk.memories.store.conflicts()
    assert b"two, by hand" in conflict.theirs and "two, by the tool" in desk.read("a.md")
    desk.memories.rename("b", "c")
    desk.memories.delete("a")
    assert sorted(desk.files()) == [".memstore", "MEMORY.md", "c.md"]
    assert litter(desk.folder) == [] and desk.sync().quiet
    check_closure(desk)


def between(desk: Desk, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Lets somebody act between the last look at the folder and the projection into it."""
    from memstore.files import publishing

    publish = publishing.publish_all

    def first(*given: object) -> object:
        monkeypatch.setattr(publishing, "publish_all", publish)
        act()
        return publish(*given)  # type: ignore[arg-type]  # what the room itself passes on

    monkeypatch.setattr(publishing, "publish_all", first)
