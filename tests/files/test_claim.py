from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memstore import errors
from memstore.files.claim import Claim, make_claim, read_claim
from memstore.files.folder import Folder


def opened(place: Path) -> Folder:
    folder = Folder.open(str(place), pause=lambda _: None)
    assert folder
    return folder


def test_a_folder_is_claimed_once_and_the_same_store_may_come_again(tmp_path: Path):
    with opened(tmp_path) as folder:
        assert read_claim(folder) is None
        claim = make_claim(folder, "store-1", "/srv/shop")
        assert claim == Claim("store-1", "/srv/shop") == read_claim(folder)
        assert make_claim(folder, "store-1", "/srv/moved") == claim
    assert os.listdir(tmp_path) == [".memstore"]
    written = json.loads((tmp_path / ".memstore").read_text(encoding="utf-8"))
    assert written == {"store": "store-1", "root": "/srv/shop", "version": 1}


def test_another_stores_folder_is_refused_and_both_are_named(tmp_path: Path):
    with opened(tmp_path) as folder:
        make_claim(folder, "store-1", "/srv/a_b")
        with pytest.raises(errors.FolderTaken) as taken:
            make_claim(folder, "store-2", "/srv/a-b")
        assert (taken.value.owner, taken.value.wanted_by) == ("/srv/a_b", "/srv/a-b")
        assert read_claim(folder) == Claim("store-1", "/srv/a_b")
    assert os.listdir(tmp_path) == [".memstore"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b'{"store": "", "root": "/", "version": 1}',
        b'{"store": 1, "root": "/", "version": 1}',
        b'{"store": "s", "root": "/"}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_claim_that_cannot_be_understood_is_named_and_left(tmp_path: Path, text: bytes):
    (tmp_path / ".memstore").write_bytes(text)
    with opened(tmp_path) as folder:
        with pytest.raises(errors.PlaceRefused, match=r"/\.memstore cannot be understood"):
            read_claim(folder)
        with pytest.raises(errors.PlaceRefused, match=r"/\.memstore cannot be understood"):
            make_claim(folder, "s", "/")
    assert (tmp_path / ".memstore").read_bytes() == text


def test_a_newer_claim_and_a_linked_one_are_refused(tmp_path: Path):
    (tmp_path / ".memstore").write_text('{"version": 2}', encoding="utf-8")
    with opened(tmp_path) as folder:
        with pytest.raises(errors.PlaceRefused, match="newer memstore"):
            read_claim(folder)
        (tmp_path / ".memstore").unlink()
        (tmp_path / ".memstore").symlink_to("elsewhere")
        with pytest.raises(errors.PlaceRefused, match="it is a link"):
            make_claim(folder, "s", "/")


def test_a_turn_is_held_by_one_and_comes_back(tmp_path: Path):
    place = tmp_path / "memory"
    place.mkdir()
    with opened(place) as one, opened(place) as other:
        with (
            one.turn(str(tmp_path)),
            pytest.raises(errors.StoreBusy, match="another process"),
            other.turn(str(tmp_path), wait=0),
        ):
            pytest.fail("two had the turn")
        with other.turn(str(tmp_path), wait=0):
            pass
    assert os.listdir(place) == []


def test_turns_of_two_folders_do_not_meet(tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        opened(tmp_path / "a") as one,
        opened(tmp_path / "b") as other,
        one.turn(str(tmp_path), wait=0),
        other.turn(str(tmp_path), wait=0),
    ):
        assert len([name for name in os.listdir(tmp_path) if name.startswith("turn-")]) == 2


def test_a_turn_without_a_place_for_its_lock_says_so(tmp_path: Path):
    with (
        opened(tmp_path) as folder,
        pytest.raises(errors.StoreReadOnly, match="cannot be opened"),
        folder.turn(str(tmp_path / "none")),
    ):
        pytest.fail("there is no such directory")
