from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memstore import errors
from memstore.files import exchange
from memstore.files.folder import Folder
from memstore.files.walk import FileRead, Strange, is_racy

SECOND = 1_000_000_000


def opened(place: Path, now: int | None = None) -> Folder:
    folder = Folder.open(str(place)) if now is None else Folder.open(str(place), now=lambda: now)
    assert folder
    return folder


def content(found: FileRead | Strange | None) -> bytes:
    assert isinstance(found, FileRead)
    return found.content


def test_a_file_is_read_as_it_is(tmp_path: Path):
    text = b"\xef\xbb\xbfa\r\nb\x00\xff"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_bytes(text)
    (tmp_path / "sub" / "a.md").chmod(0o640)
    with opened(tmp_path) as folder:
        found = folder.read("sub/a.md")
        assert isinstance(found, FileRead)
        assert (found.content, found.mode, found.settled) == (text, 0o640, True)
        assert found.stamp == folder.scan().files["sub/a.md"]


def test_a_file_that_is_not_there_is_none(tmp_path: Path):
    with opened(tmp_path) as folder:
        assert folder.read("a.md") is None
        assert folder.read("sub/a.md") is None


@pytest.mark.parametrize("path", ["", "/etc/x.md", "../a.md", "a/../b.md", "a//b.md", "./a.md", "a\0.md", "a/"])
def test_paths_that_lead_elsewhere_are_refused(tmp_path: Path, path: str):
    with opened(tmp_path) as folder:
        with pytest.raises(errors.NameRefused):
            folder.read(path)
        with pytest.raises(errors.NameRefused):
            folder.put(path, b"x", expect=None)
        with pytest.raises(errors.NameRefused):
            folder.take(path)
        with pytest.raises(errors.NameRefused):
            folder.discard(path, b"")


def test_links_pipes_and_huge_files_are_not_read(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("secret", encoding="utf-8")
    place = tmp_path / "memory"
    place.mkdir()
    (place / "link.md").symlink_to(outside / "a.md")
    (place / "sub").symlink_to(outside)
    os.link(outside / "a.md", place / "hard.md")
    os.mkfifo(place / "fifo.md")
    (place / "dir.md").mkdir()
    (place / "null.md").symlink_to("/dev/null")
    with open(place / "huge.md", "wb") as file:
        file.truncate(1 << 40)
    with opened(place) as folder:
        for name in (
            "link.md",
            "sub/a.md",
            "hard.md",
            "fifo.md",
            "dir.md",
            "null.md",
            "huge.md",
            "hard.md/x.md",
        ):
            assert isinstance(folder.read(name), Strange), name


def test_a_file_that_somebody_writes_is_not_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By a lease where the system has them, else by its age."""
    file = tmp_path / "a.md"
    file.write_bytes(b"half")
    changed = file.stat().st_ctime_ns
    with open(file, "ab"), opened(tmp_path) as folder:
        found = folder.read("a.md")
        assert isinstance(found, FileRead)
        assert found.settled is (sys.platform != "linux" and found.settled)
    with opened(tmp_path) as folder:
        again = folder.read("a.md")
        assert isinstance(again, FileRead)
        assert again.settled is (sys.platform == "linux")
    monkeypatch.setattr(exchange, "take_read_lease", lambda handle: None)
    for age, settled in ((SECOND - 1, False), (SECOND, True)):
        with opened(tmp_path, now=changed + age) as folder:
            aged = folder.read("a.md")
            assert isinstance(aged, FileRead)
            assert aged.settled is settled


def test_a_writer_who_comes_while_a_file_is_read_is_noticed_and_nobody_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "a.md"
    file.write_bytes(b"whole")
    read = os.read
    writers: list[threading.Thread] = []

    def reading(handle: int, size: int) -> bytes:
        if not writers:
            writers.append(threading.Thread(target=lambda: open(file, "ab").close()))
            writers[0].start()
            while sys.platform == "linux" and exchange.lease_stands(handle):
                pass  # until the writer's open has reached the kernel, where it waits
        return read(handle, size)

    monkeypatch.setattr(os, "read", reading)
    assert signal.getsignal(signal.SIGIO) == signal.SIG_DFL
    with opened(tmp_path) as folder:
        found = folder.read("a.md")
    writers[0].join()
    assert isinstance(found, FileRead)
    assert found.content == b"whole"
    assert not found.settled


def test_no_link_is_followed_while_a_directory_and_a_link_change_places(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_bytes(b"secret")
    place = tmp_path / "memory"
    (place / "sub").mkdir(parents=True)
    (place / "sub" / "a.md").write_bytes(b"good")
    (place / "evil").symlink_to(outside)
    script = (
        "import os, sys\nfrom memstore.files.exchange import exchange\n"
        "here = os.open(sys.argv[1], os.O_RDONLY)\nos.write(1, b'.')\n"
        "while True: exchange(here, 'sub', 'evil', 'aside')"
    )
    with (
        subprocess.Popen(
            [sys.executable, "-B", "-c", script, str(place)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        ) as swapper,
        opened(place) as folder,
    ):
        try:
            assert swapper.stdout and swapper.stdout.read(1) == b"."
            good = refused = 0
            while good < 100 or refused < 100:
                found = folder.read("sub/a.md")
                if isinstance(found, FileRead):
                    assert found.content == b"good"
                    good += 1
                else:
                    refused += 1
                with contextlib.suppress(errors.NotProjected):
                    folder.put("sub/b.md", b"x", expect=None)
        finally:
            swapper.kill()
    assert sorted(os.listdir(outside)) == ["a.md"]


def test_a_stamp_taken_right_after_a_change_proves_nothing():
    stamp = f"5 {9 * SECOND} {10 * SECOND} 77"
    assert is_racy(stamp, 10 * SECOND)
    assert is_racy(stamp, 12 * SECOND - 1)
    assert not is_racy(stamp, 12 * SECOND)
    assert is_racy(stamp, 3 * SECOND)
