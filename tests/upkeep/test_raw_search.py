"""Bytes are found in whatever file they stand, wherever a piece of it ends; nothing is opened that is no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore.errors import StoreUnavailable
from memstore.upkeep import raw_search, searching
from memstore.upkeep.searching import search_files


def test_what_stands_across_the_end_of_a_piece_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(raw_search, "_PIECE", 8)
    path = tmp_path / "file"
    for at in range(20):
        path.write_bytes(b"." * at + b"needle" + b"." * 9)
        assert raw_search.holds(str(path), [b"absent", b"needle"])
        assert not raw_search.holds(str(path), [b"needles"])


def test_directories_are_looked_through_and_what_is_no_file_is_passed_over(tmp_path: Path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "held").write_bytes(b"\0\xffneedle")
    (deep / "the needle.md").touch()
    (tmp_path / "outside").write_bytes(b"needle")
    (deep / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(deep / "pipe")
    found, unread = search_files([b"needle"], [str(tmp_path / "a"), str(tmp_path / "gone")])
    assert found == (str(deep / "held"), str(deep / "the needle.md"))
    assert unread == ()
    assert search_files([], [str(tmp_path)]) == ((), ())


def test_a_search_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(searching.raw_search, "__file__", str(tmp_path / "no program"))
    with pytest.raises(StoreUnavailable, match="could not be searched"):
        search_files([b"needle"], [str(tmp_path)])
