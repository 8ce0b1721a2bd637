"""git's own list of what is checked out, in each of its versions, against git itself."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from memstore.claude.git_index import whole_index

PATHS = [
    "a",
    "dir/file.py",
    "dir/other.py",
    "dir/sub/x" + "y" * 200,
    "dirs",
    "lib/" + "/".join("z" * 99 for _ in range(9)),
]


def git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=place, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    git(tmp_path, "add", *PATHS[:-1])
    git(tmp_path, "add", "-N", PATHS[-1])  # in all versions but the second a longer entry
    return tmp_path


@pytest.mark.parametrize("version", ["3", "4"])
def test_each_path_stands_behind_its_length(repo: Path, version: str):
    git(repo, "update-index", "--index-version", version)
    index = whole_index(str(repo / ".git"))
    assert index is not None
    for path in PATHS:
        assert path.encode() + b"\0" in index
    for path in PATHS[:-1]:
        assert len(path).to_bytes(2) + path.encode() + b"\0" in index


def test_what_is_no_sound_list_is_none(repo: Path):
    git(repo, "update-index", "--index-version", "4")
    file, started = repo / ".git" / "index", time.process_time()
    sound = file.read_bytes()
    head = sound[:12]
    many = b"DIRC\0\0\0\4" + (1 << 20).to_bytes(4)
    for broken in (
        b"",
        b"DIRC",
        b"DIRC\0\0\0\2\0\0\1\0",
        sound[:200],
        head + sound[20:],
        head + b"\x80" * 5_000_000,
        many + bytes(5_000_000),
    ):
        file.write_bytes(broken)
        assert whole_index(str(repo / ".git")) is None
    file.unlink()
    assert whole_index(str(repo / ".git")) == b""
    assert time.process_time() - started < 2
