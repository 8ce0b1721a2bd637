"""Which file system a path lies on, told by mountinfo, and that no store is opened where a database breaks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.errors import GroundRefused, StoreUnavailable
from memstore.store import ground, quick
from memstore.store.ground import holding, parsed
from tests.store.stores import create, open_store, put

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")

ROOT = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw"
UNSAFE = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "fuse", "ceph", "lustre", "afs", "glusterfs"]
SAFE = ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuseblk", "fuse.fuse-overlayfs"]


def kind_at(path: str, *lines: str) -> str | None:
    mount = holding(parsed("\n".join((ROOT, *lines)).encode()), path)
    return None if mount is None else mount.kind


def test_a_path_lies_on_the_mount_below_which_it_stands():
    home = "30 22 0:40 / /net rw - nfs4 server:/net rw"
    assert kind_at("/net/a/b", home) == "nfs4"
    assert kind_at("/net", home) == "nfs4"
    assert kind_at("/netstead/a", home) == "ext4"
    assert kind_at("/", home) == "ext4"


def test_a_mount_in_a_mount_counts():
    home, disk = "30 22 0:40 / /net rw - nfs4 server:/net rw", "31 30 8:1 / /net/a/disk rw - xfs /dev/sda1 rw"
    assert kind_at("/net/a/disk/store", home, disk) == "xfs"
    assert kind_at("/net/a/store", home, disk) == "nfs4"


def test_of_two_mounts_at_one_place_the_later_one_is_seen():
    stacked = ("30 22 8:1 / /data rw - ext4 /dev/sda1 rw", "31 30 0:40 / /data rw - cifs //server/data rw")
    beside = ("30 22 8:1 / /data rw - ext4 /dev/sda1 rw", "31 22 0:40 / /data rw - cifs //server/data rw")
    assert kind_at("/data/x", *stacked) == kind_at("/data/x", *beside) == "cifs"


def test_a_mount_that_a_later_one_hides_is_not_seen():
    lines = ("30 22 0:40 / /a/b rw - nfs4 server:/b rw", "31 22 8:1 / /a rw - xfs /dev/sda1 rw")
    assert kind_at("/a/b/c", *lines) == "xfs"


def test_a_bind_mount_is_what_it_shows():
    assert kind_at("/srv/memo/x", "30 22 0:40 /sub/dir /srv/memo rw - virtiofs host rw") == "virtiofs"


def test_optional_fields_and_escapes_are_read():
    line = r"30 22 0:40 / /a\040b\011c\134d\012 rw,noatime shared:1 master:2 - fuse.sshfs me@host:/x\040y ro,user_id=0"
    mount = holding(parsed(f"{ROOT}\n{line}\n".encode()), "/a b\tc\\d\n/store")
    assert mount is not None
    assert (mount.point, mount.kind, mount.source) == ("/a b\tc\\d\n", "fuse.sshfs", "me@host:/x y")
    assert mount.read_only


def test_below_a_changed_root_the_nearest_mount_counts():
    lines = b"30 22 0:40 / /net rw - nfs4 server:/net rw\n31 22 8:1 / /var rw - xfs /dev/sda1 rw\n"
    found = holding(parsed(lines), "/net/a")
    assert found is not None and found.kind == "nfs4"
    assert holding(parsed(lines), "/elsewhere") is None


def test_a_name_that_is_no_text_is_read():
    mount = holding(parsed(b"22 1 254:0 / /caf\xe9 rw - nfs4 s:/ rw"), os.fsdecode(b"/caf\xe9/x"))
    assert mount is not None and mount.kind == "nfs4"


@pytest.mark.parametrize(
    "line", ["", "22", "22 1 254:0 / /", "a b 1:1 / / rw - ext4 x rw", "22 1 1:1 / / rw ext4 x rw"]
)
def test_what_is_no_mount_is_left_out(line: str):
    assert parsed(line.encode()) == []


def test_mounts_that_name_one_another_end():
    assert holding(parsed(b"1 2 0:1 / / rw - nfs a rw\n2 1 0:2 / / rw - nfs b rw"), "/x") is None
    ring = "30 22 0:1 / /x rw - nfs a rw\n31 30 0:1 / /x rw - xfs a rw\n30 31 0:1 / /x rw - nfs a rw"
    assert kind_at("/x", *ring.split("\n")) in ("nfs", "xfs")


FIELDS = st.sampled_from(
    [b"1", b"2", b"3", b"0:1", b"/", b"/a", b"/a/b", rb"/\040", b"-", b"nfs", b"rw", b"\\", b"\xff"]
)


@given(st.lists(st.lists(FIELDS, max_size=12).map(b" ".join), max_size=6).map(b"\n".join))
def test_any_mountinfo_is_read(text: bytes):
    found = holding(parsed(text), "/a/b/c")
    assert found is None or found.point in ("/", "/a", "/a/b")


@pytest.mark.parametrize("kind", UNSAFE)
def test_what_others_serve_is_unsafe(kind: str):
    assert [mount.safe for mount in parsed(f"22 1 0:1 / / rw - {kind} x rw".encode())] == [False]


@pytest.mark.parametrize("kind", SAFE)
def test_what_this_machine_has_is_safe(kind: str):
    assert [mount.safe for mount in parsed(f"22 1 0:1 / / rw - {kind} x rw".encode())] == [True]


def test_of_an_unknown_file_system_nothing_is_said():
    assert parsed(b"22 1 0:1 / / rw - newfs x rw")[0].safe is None


# Opening


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of which the system says that a network serves it; each kind is written into the file `kind`."""
    place = tmp_path / "served"
    place.mkdir()
    told = tmp_path / "mountinfo"
    monkeypatch.setattr(ground, "MOUNTS", str(told))
    monkeypatch.setattr(quick, "is_disk", lambda _: False)
    tell(told, place, "nfs4")
    return place


def tell(told: Path, place: Path, kind: str) -> None:
    told.write_text(f"{ROOT}\n30 22 0:40 / {os.path.realpath(place)} rw - {kind} server:/x rw\n")


@LINUX
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_h21_a_no_store_is_made_or_opened_on_a_network(served: Path, tmp_path: Path, kind: str):
    tell(tmp_path / "mountinfo", served, "ext4")
    store = open_store(served / "old")
    put(store, create("note"))
    store.close()
    before = {path.name: path.read_bytes() for path in (served / "old").iterdir()}
    tell(tmp_path / "mountinfo", served, kind)
    for name, writable in (("new", True), ("old", True), ("old", False)):
        with pytest.raises(GroundRefused) as refused:
            open_store(served / name, writable=writable)
        assert isinstance(refused.value, StoreUnavailable)
        assert f"lies on {kind} (server:/x, mounted at {served})" in str(refused.value)
        assert "MEMSTORE_HOME" in refused.value.hint
    assert {path.name: path.read_bytes() for path in (served / "old").iterdir()} == before
    assert not (served / "new").exists()


@LINUX
def test_a_store_behind_a_link_is_judged_where_it_lies(served: Path, tmp_path: Path):
    (tmp_path / "home").symlink_to(served)
    with pytest.raises(GroundRefused):
        open_store(tmp_path / "home" / "store")
    open_store(tmp_path / "store").close()


@LINUX
def test_a_hook_opens_nothing_there(served: Path, tmp_path: Path):
    tell(tmp_path / "mountinfo", served, "ext4")
    open_store(served / "store").close()
    tell(tmp_path / "mountinfo", served, "virtiofs")
    assert quick.open_quick(str(served / "store" / "store.db"), 100) == "it lies on virtiofs"


@LINUX
def test_what_lies_on_a_disk_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ground, "MOUNTS", str(tmp_path))  # a directory: reading it would fail
    monkeypatch.setattr(quick, "is_disk", lambda _: True)
    monkeypatch.setattr(ground, "mount_of", None)
    assert ground.unsafe(str(tmp_path)) is None


def test_where_the_system_does_not_tell_a_store_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ground, "MOUNTS", str(tmp_path / "absent"))
    monkeypatch.setattr(quick, "is_disk", lambda _: False)
    assert ground.mount_of(str(tmp_path)) is None
    open_store(tmp_path / "store").close()


@LINUX
def test_this_machine_tells_of_its_own_directories(tmp_path: Path):
    found = ground.mount_of(str(tmp_path / "not" / "there"))
    assert found is not None
    assert os.path.commonpath([found.point, os.path.realpath(tmp_path)]) == found.point
