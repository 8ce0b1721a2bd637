"""The one change that is made to a log file: a secret goes, whatever is added meanwhile stays."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.forgetting import secret_of
from memstore.errors import NotProjected
from memstore.files import exchange, redact
from memstore.files.folder import Folder

SECRET = secret_of("hunter2")
LOG = "logs/2026/01/2026-01-01.md"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "logs/2026/01").mkdir(parents=True)
    (tmp_path / LOG).write_bytes(b"- used hunter2\n- and more\n")
    (tmp_path / LOG).chmod(0o640)
    opened = Folder.open(str(tmp_path))
    assert opened is not None
    with opened:
        yield opened


def act(folder: Folder) -> None:
    # The test's own write is long ago.
    redact.redact(folder, LOG, SECRET, lambda: time.time_ns() + 10_000_000_000, lambda _: None)


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "logs/2026/01").iterdir())


def test_the_secret_goes_and_mode_and_all_else_stay(folder: Folder, tmp_path: Path):
    act(folder)
    assert (tmp_path / LOG).read_bytes() == b"- used [purged]\n- and more\n"
    assert (tmp_path / LOG).stat().st_mode & 0o777 == 0o640 and names(tmp_path) == ["2026-01-01.md"]
    inode = (tmp_path / LOG).stat().st_ino
    act(folder)
    assert (tmp_path / LOG).stat().st_ino == inode


@pytest.mark.parametrize(
    ("added", "left"),
    [
        (b"- added\n", b"- used [purged]\n- and more\n- added\n"),
        (b"- hunter2 again\n", b"- used [purged]\n- and more\n- [purged] again\n"),
    ],
)
def test_what_is_added_just_before_the_exchange_is_kept(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, added: bytes, left: bytes
):
    swap = exchange.exchange

    def late(*arguments: object) -> str:
        with open(tmp_path / LOG, "ab") as file:
            file.write(added)
        return swap(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(exchange, "exchange", late)
    act(folder)
    assert (tmp_path / LOG).read_bytes() == left and names(tmp_path) == ["2026-01-01.md"]


def test_a_file_that_was_changed_just_now_is_left_to_its_writer(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    swap = exchange.exchange
    calls: list[int] = []

    def late(*arguments: object) -> str:
        if not calls:
            (tmp_path / LOG).write_bytes(b"quite another text with hunter2\n")
        calls.append(1)
        return swap(*arguments)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(exchange, "exchange", late)
    with pytest.raises(NotProjected, match="changed it just now"):
        act(folder)
    assert (tmp_path / LOG).read_bytes() == b"quite another text with hunter2\n" and names(tmp_path) == [
        "2026-01-01.md"
    ]


def test_a_link_is_not_followed(folder: Folder, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"hunter2")
    (tmp_path / LOG).unlink()
    (tmp_path / LOG).symlink_to(outside)
    with pytest.raises(NotProjected, match="link"):
        act(folder)
    assert outside.read_bytes() == b"hunter2"


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> str:
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr(exchange, "exchange", refuse)
    with pytest.raises(NotProjected):
        act(folder)
    assert names(tmp_path) == ["2026-01-01.md"] and b"hunter2" in (tmp_path / LOG).read_bytes()
