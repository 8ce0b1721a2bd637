"""The client's lock: honoured while a client dreams, taken over else, and afterwards as it is to be."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.claude import consolidate_lock
from memstore.claude.consolidate_lock import LASTS, NAME, Lock, give_back, is_held, read, take, why_free
from memstore.errors import ClientDreams
from memstore.store.process import is_client

NOW = 1_800_000_000_000_000
DAY = 86_400_000_000
ME = os.getpid()


def put(folder: Path, body: str, at: int) -> Path:
    path = folder / NAME
    path.write_text(body)
    os.utime(path, ns=(at * 1_000, at * 1_000))
    return path


def state(folder: Path) -> tuple[bytes, int]:
    path = folder / NAME
    return path.read_bytes(), path.stat().st_mtime_ns // 1_000


@pytest.fixture
def client(tmp_path: Path) -> Iterator[int]:
    """The pid of a process whose program has the client's name."""
    program = tmp_path / "claude"
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "60"]) as running:
        yield running.pid
        running.kill()
    program.unlink()


def test_it_is_held_only_while_young_and_a_client_runs_under_its_pid(tmp_path: Path, client: int):
    held = []
    for pid in (client, ME):
        for age in (0, LASTS - 1, LASTS, -1):
            put(tmp_path, str(pid), NOW - age)
            held.append(is_held(read(str(tmp_path)), NOW, is_client))
    assert held == [True, True, False, False, False, False, False, False]


@pytest.mark.parametrize("at", [NOW, NOW - 2 * DAY, NOW + 365 * DAY], ids=["now", "days ago", "years ahead"])
@pytest.mark.parametrize(
    "body", ["999999", "", "garbage", str(ME), "1"], ids=["dead", "empty", "corrupt", "ours", "init"]
)
def test_h31a_a_lock_that_no_dream_holds_is_taken_over_and_it_is_said(tmp_path: Path, body: str, at: int):
    put(tmp_path, body, at)
    found = read(str(tmp_path))
    assert not is_held(found, NOW, is_client)
    said = why_free(found, NOW)
    assert bool(said) == (body != "" or at > NOW)
    assert take(str(tmp_path), found, ME, NOW) == ""
    assert state(tmp_path) == (b"%d" % ME, NOW)
    give_back(str(tmp_path), ME, found.at)
    assert state(tmp_path) == (b"", at)


def test_where_there_was_none_a_failure_leaves_none_and_a_dream_its_time(tmp_path: Path):
    assert take(str(tmp_path), read(str(tmp_path)), ME, NOW) == ""
    assert state(tmp_path) == (b"%d" % ME, NOW)
    assert give_back(str(tmp_path), ME, 0) == "" and not list(tmp_path.iterdir())
    take(str(tmp_path), read(str(tmp_path)), ME, NOW)
    assert give_back(str(tmp_path), ME, NOW) == "" and state(tmp_path) == (b"", NOW)


def test_who_comes_between_the_look_and_the_writing_keeps_it(tmp_path: Path):
    found = read(str(tmp_path))
    put(tmp_path, "4711", NOW)
    with pytest.raises(ClientDreams):
        take(str(tmp_path), found, ME, NOW)
    put(tmp_path, "4712", NOW)
    with pytest.raises(ClientDreams):
        take(str(tmp_path), Lock(NOW, 4711, b"4711"), ME, NOW)
    assert give_back(str(tmp_path), ME, 0) == ""
    assert state(tmp_path) == (b"4712", NOW)


def test_what_is_no_lock_is_left_as_it_is_and_reported(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    odd: dict[str, str] = {}
    for name in ("a link", "a broken link", "a directory", "a FIFO", "a second name", "a large file"):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / NAME
        match name:
            case "a link":
                path.symlink_to(outside)
            case "a broken link":
                path.symlink_to(tmp_path / "nowhere")
            case "a directory":
                path.mkdir()
            case "a FIFO":
                os.mkfifo(path)
            case "a second name":
                os.link(outside, path)
            case _:
                path.write_text("x" * 5_000)
        before = path.lstat()
        odd[name] = take(str(folder), read(str(folder)), ME, NOW)
        assert odd[name] == read(str(folder)).odd and give_back(str(folder), ME, NOW) is not None
        after = path.lstat()
        assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    assert odd == {
        "a link": "it is a link",
        "a broken link": "it is a link that leads nowhere",
        "a directory": "it is a directory",
        "a FIFO": "it is no regular file",
        "a second name": "it has a second name",
        "a large file": "it holds 5000 bytes, which is no pid",
    }
    assert outside.read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_a_link_that_leads_to_a_held_lock_is_honoured(tmp_path: Path, client: int):
    put(tmp_path, str(client), NOW).rename(tmp_path / "elsewhere")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    assert is_held(read(str(tmp_path)), NOW, is_client)


def test_a_folder_that_is_gone_has_no_lock(tmp_path: Path):
    gone = str(tmp_path / "gone")
    assert read(gone) == Lock() and take(gone, Lock(), ME, NOW) == "the folder is gone"
    assert give_back(gone, ME, NOW) == "" and not os.path.lexists(gone)
    assert consolidate_lock.why_free(Lock(), NOW) == ""


def test_a_disk_that_is_full_leaves_no_lock_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", full)
        assert take(str(tmp_path), Lock(), ME, NOW) == "it cannot be written: No space left on device"
    assert not list(tmp_path.iterdir())
