"""Files that belong to somebody else are changed whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore.claude.changing import put_file, put_link, remove, remove_empty, unchangeable
from memstore.errors import PlaceRefused

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
no_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_keeps_its_mode_and_nothing_is_left_beside_it(tmp_path: Path):
    file = tmp_path / "s.json"
    for mode in (0o600, 0o640, 0o664):
        file.write_bytes(b"old")
        file.chmod(mode)
        put_file(str(file), b"old", b"new")
        assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", mode)
    assert names(tmp_path) == ["s.json"]


def test_a_new_file_follows_the_umask_or_the_mode_that_is_asked_for(tmp_path: Path):
    earlier = os.umask(0o027)
    try:
        put_file(str(tmp_path / "deep" / "s.json"), None, b"x")
        put_file(str(tmp_path / "p" / "tool"), None, b"x", mode=0o700, check=False)
    finally:
        os.umask(earlier)
    assert (tmp_path / "deep" / "s.json").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "p" / "tool").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("before", [b"shown", None])
def test_a_file_that_was_changed_meanwhile_is_left_alone(tmp_path: Path, before: bytes | None):
    file = tmp_path / "s.json"
    file.write_bytes(b"somebody else's")
    with pytest.raises(PlaceRefused, match="changed meanwhile"):
        put_file(str(file), before, b"ours")
    with pytest.raises(PlaceRefused, match="changed meanwhile"):
        remove(str(file), before)
    assert file.read_bytes() == b"somebody else's"
    assert names(tmp_path) == ["s.json"]


def test_a_file_that_vanished_meanwhile_is_not_made_anew(tmp_path: Path):
    with pytest.raises(PlaceRefused, match="changed meanwhile"):
        put_file(str(tmp_path / "s.json"), b"shown", b"ours")
    assert names(tmp_path) == []


def test_a_read_only_file_is_not_changed_by_replacing_it(tmp_path: Path):
    file = tmp_path / "s.json"
    file.write_bytes(b"old")
    file.chmod(0o444)
    assert unchangeable(str(file)) == "it is read-only"
    with pytest.raises(PlaceRefused, match="read-only"):
        put_file(str(file), b"old", b"new")
    assert file.read_bytes() == b"old"


@no_root
def test_a_directory_that_cannot_be_written_is_named_before_anything_is_done(tmp_path: Path):
    tmp_path.chmod(0o500)
    assert "cannot be written" in unchangeable(str(tmp_path / "s.json"))
    with pytest.raises(PlaceRefused, match="Permission denied"):
        put_file(str(tmp_path / "s.json"), None, b"x")
    tmp_path.chmod(0o700)
    assert names(tmp_path) == []


@root_only
def test_the_owner_of_a_file_stays_its_owner(tmp_path: Path):
    file = tmp_path / "s.json"
    file.write_bytes(b"old")
    os.chown(file, 12_345, 12_345)
    put_file(str(file), b"old", b"new")
    assert (file.stat().st_uid, file.stat().st_gid, file.read_bytes()) == (12_345, 12_345, b"new")


def test_no_room_on_the_way_is_a_refusal_and_leaves_the_file(tmp_path: Path):
    file = tmp_path / ("s" * 240)  # the name of a temporary file beside it would be too long
    file.write_bytes(b"old")
    with pytest.raises(PlaceRefused, match="too long"):
        put_file(str(file), b"old", b"new")
    assert file.read_bytes() == b"old"


def test_a_link_is_made_moved_and_taken_away(tmp_path: Path):
    link = str(tmp_path / "skills" / "m")
    put_link(link, None, "/first")
    put_link(link, "/first", "/second")
    assert os.readlink(link) == "/second"
    with pytest.raises(PlaceRefused, match="changed meanwhile"):
        put_link(link, "/first", None)
    put_link(link, "/second", None)
    assert names(tmp_path / "skills") == []


def test_a_directory_under_a_links_name_is_not_touched(tmp_path: Path):
    (tmp_path / "m").mkdir()
    with pytest.raises(PlaceRefused):
        put_link(str(tmp_path / "m"), None, "/x")
    assert (tmp_path / "m").is_dir()


def test_only_empty_directories_go(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    remove_empty(str(tmp_path / name) for name in ("empty", "full", "missing"))
    assert names(tmp_path) == ["full"]
