"""The program's home: one store for a root whoever asks first, and never a silent fresh start."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.core.ids import is_uuid, uuid7
from memstore.errors import (
    EngineTooOld,
    InputRefused,
    Moved,
    NotFound,
    PlaceRefused,
    SettingRefused,
    StoreReadOnly,
)
from memstore.store.entry import USER_ROOT
from memstore.store.home import Home, Registration

PROJECT = Path(__file__).parents[2]
NOW = 1_800_000_000_000_000


def new_id() -> str:
    return uuid7(NOW // 1000, os.urandom(10))


@pytest.fixture
def store_home(tmp_path: Path) -> Home:
    return Home.locate({"MEMSTORE_HOME": str(tmp_path / "home")})


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], str]:
    def make(name: str) -> str:
        (tmp_path / name).mkdir()
        return str(tmp_path / name)

    return make


def entry_file(home: Home) -> Path:
    (path,) = (Path(home.path) / "roots").iterdir()
    return path


def test_the_first_caller_registers_a_root_and_later_ones_find_it(
    store_home: Home, folder: Callable[[str], str]
) -> None:
    root = folder("repo")
    first = store_home.store_for(root, new_id, NOW)
    assert first.created
    assert is_uuid(first.store)
    assert store_home.store_for(root, new_id, NOW) == Registration(first.store, created=False)
    (entry,) = store_home.entries()
    assert (entry.root, entry.store, entry.at) == (root, first.store, NOW)
    assert (entry.device, entry.inode) == (os.stat(root).st_dev, os.stat(root).st_ino)


def test_h02_two_roots_have_two_stores(store_home: Home, folder: Callable[[str], str]) -> None:
    stores = {store_home.store_for(folder(name), new_id, NOW).store for name in ("my_app", "my-app", "新聞", "暫存")}
    assert len(stores) == 4


RACER = """
import os, sys
from memstore.core.ids import uuid7
from memstore.store.home import Home
print("ready", flush=True)
sys.stdin.readline()
home = Home.locate({"MEMSTORE_HOME": sys.argv[1]})
found = home.store_for(sys.argv[2], lambda: uuid7(1, os.urandom(10)), 1)
print(found.store, found.created)
"""


def test_eight_processes_that_register_a_new_root_at_once_get_one_store(
    tmp_path: Path, folder: Callable[[str], str]
) -> None:
    root = folder("repo")
    for attempt in range(3):
        home = tmp_path / f"home{attempt}"
        command = [sys.executable, "-c", RACER, str(home), root]
        racers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT)
            for _ in range(8)
        ]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        found = [racer.communicate(timeout=30)[0].split() for racer in racers]
        assert [racer.returncode for racer in racers] == [0] * 8
        assert len({store for store, _ in found}) == 1
        assert sorted(created for _, created in found) == ["False"] * 7 + ["True"]
        assert len(os.listdir(home / "roots")) == 1


def test_h03_a_moved_repository_is_never_a_silent_fresh_start(
    store_home: Home, folder: Callable[[str], str], tmp_path: Path
) -> None:
    real, renamed = folder("real"), str(tmp_path / "renamed")
    store = store_home.store_for(real, new_id, NOW).store
    os.rename(real, renamed)
    with pytest.raises(Moved) as refusal:
        store_home.store_for(renamed, new_id, NOW)
    assert (refusal.value.root, refusal.value.old_root, refusal.value.store) == (renamed, real, store)
    assert "memstore link" in refusal.value.hint
    with pytest.raises(Moved):
        store_home.find(renamed)

    assert store_home.link(renamed, real, NOW).store == store
    assert store_home.store_for(renamed, new_id, NOW) == Registration(store, created=False)
    (entry,) = store_home.entries()
    assert (entry.root, entry.formerly) == (renamed, (real,))


def test_h03_a_new_repository_at_the_old_path_does_not_hide_the_moved_one(
    store_home: Home, folder: Callable[[str], str], tmp_path: Path
) -> None:
    real, renamed = folder("real"), str(tmp_path / "renamed")
    store_home.store_for(real, new_id, NOW)
    os.rename(real, renamed)
    folder("real")
    with pytest.raises(Moved):
        store_home.store_for(renamed, new_id, NOW)


def test_after_a_link_the_old_path_is_free_for_another_repository(
    store_home: Home, folder: Callable[[str], str], tmp_path: Path
) -> None:
    real, renamed = folder("real"), str(tmp_path / "renamed")
    store = store_home.store_for(real, new_id, NOW).store
    os.rename(real, renamed)
    store_home.link(renamed, store, NOW)
    assert store_home.store_for(folder("real"), new_id, NOW).store != store


def test_a_moved_repository_can_start_afresh_and_the_old_store_stays_known(
    store_home: Home, folder: Callable[[str], str], tmp_path: Path
) -> None:
    real, renamed = folder("real"), str(tmp_path / "renamed")
    old = store_home.store_for(real, new_id, NOW).store
    os.rename(real, renamed)
    fresh = store_home.link_new(renamed, new_id, NOW)
    assert fresh.created
    assert fresh.store != old
    assert store_home.store_for(renamed, new_id, NOW).store == fresh.store
    assert {entry.store for entry in store_home.entries()} == {old, fresh.store}
    (tmp_path / "alias").symlink_to(renamed)
    assert store_home.store_for(str(tmp_path / "alias"), new_id, NOW).store == fresh.store


def test_linking_keeps_the_store_that_was_replaced(store_home: Home, folder: Callable[[str], str]) -> None:
    one, two = folder("one"), folder("two")
    first, second = (store_home.store_for(root, new_id, NOW).store for root in (one, two))
    store_home.link(two, one, NOW)
    assert store_home.store_for(two, new_id, NOW).store == first
    assert store_home.store_for(one, new_id, NOW).store == first
    entry = store_home.entry(two)
    assert entry is not None
    assert entry.replaced == (second,)


@pytest.mark.parametrize("target", ["/nowhere", "no-id", uuid7(0, bytes(10))], ids=["path", "word", "id"])
def test_linking_to_an_unknown_store_is_refused(store_home: Home, folder: Callable[[str], str], target: str) -> None:
    with pytest.raises(NotFound):
        store_home.link(folder("repo"), target, NOW)
    assert store_home.entries() == ()


def test_the_same_directory_by_another_name_has_the_same_store(
    store_home: Home, folder: Callable[[str], str], tmp_path: Path
) -> None:
    root = folder("repo")
    (tmp_path / "other").symlink_to(root)
    store = store_home.store_for(root, new_id, NOW).store
    assert store_home.store_for(str(tmp_path / "other"), new_id, NOW) == Registration(store, created=False)


def test_the_users_own_store_needs_no_directory(store_home: Home) -> None:
    store = store_home.store_for(USER_ROOT, new_id, NOW).store
    assert store_home.store_for(USER_ROOT, new_id, NOW) == Registration(store, created=False)


def test_a_root_that_is_not_there_is_refused(store_home: Home, tmp_path: Path) -> None:
    with pytest.raises(PlaceRefused):
        store_home.store_for(str(tmp_path / "missing"), new_id, NOW)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 5000,
        b"x" * 70_000,
        b'{"root": "/r", "store": "../../etc", "device": 1, "inode": 1, "at": 1}',
    ],
    ids=["empty", "cut", "list", "bare", "bytes", "deep", "huge", "climbing"],
)
def test_a_damaged_registry_file_is_named_and_left_alone(
    store_home: Home, folder: Callable[[str], str], damage: bytes
) -> None:
    root, other = folder("repo"), folder("other")
    store_home.store_for(root, new_id, NOW)
    path = entry_file(store_home)
    path.write_bytes(damage)
    for place in (root, other):
        with pytest.raises(PlaceRefused, match=path.name):
            store_home.store_for(place, new_id, NOW)
    assert path.read_bytes() == damage


def test_a_registry_file_that_speaks_of_another_root_is_refused(store_home: Home, folder: Callable[[str], str]) -> None:
    root = folder("repo")
    store_home.store_for(root, new_id, NOW)
    path = entry_file(store_home)
    path.write_text(path.read_text().replace(root, "/somewhere/else"))
    with pytest.raises(PlaceRefused, match="/somewhere/else"):
        store_home.store_for(root, new_id, NOW)


def test_a_fifo_in_the_registry_is_refused_without_waiting(store_home: Home, folder: Callable[[str], str]) -> None:
    root = folder("repo")
    store_home.store_for(root, new_id, NOW)
    path = entry_file(store_home)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(PlaceRefused, match="not a regular file"):
        store_home.store_for(root, new_id, NOW)


def test_a_root_whose_name_is_not_utf8_is_registered(store_home: Home, tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(raw)
    root = os.fsdecode(raw)
    store = store_home.store_for(root, new_id, NOW).store
    assert store_home.store_for(root, new_id, NOW).store == store
    assert store_home.entries()[0].root == root


def test_directories_are_private_and_files_too(store_home: Home, folder: Callable[[str], str]) -> None:
    old = os.umask(0)
    try:
        store_home.store_for(folder("repo"), new_id, NOW)
        store_home.trust("/r", "key", True, NOW)
    finally:
        os.umask(old)
    for directory, _, files in os.walk(store_home.path):
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
        for name in files:
            assert stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) == 0o600


def test_looking_creates_nothing(store_home: Home, tmp_path: Path) -> None:
    assert store_home.entries() == ()
    assert store_home.entry("/r") is None
    assert store_home.find(str(tmp_path)) is None
    assert not store_home.trusted("/r", "key", True)
    assert not store_home.withdraw("/r", "key", True)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_home_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(mode)
    with pytest.raises(PlaceRefused) as refusal:
        Home.locate({"MEMSTORE_HOME": str(tmp_path / "home")})
    assert "chmod 700" in refusal.value.hint


def test_a_foreign_home_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PlaceRefused, match="another user"):
        Home.locate({"MEMSTORE_HOME": str(tmp_path / "home")})


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(PlaceRefused, match="not a directory"):
        Home.locate({"MEMSTORE_HOME": str(tmp_path / "home")})


@pytest.mark.parametrize("value", ["relative", "~/x", "/nul\0"])
def test_a_home_that_is_no_absolute_path_is_refused(value: str) -> None:
    with pytest.raises(SettingRefused):
        Home.locate({"MEMSTORE_HOME": value})


def test_windows_is_refused_with_a_plain_message() -> None:
    with pytest.raises(EngineTooOld, match="Windows"):
        Home.locate({}, platform="win32")


@pytest.mark.parametrize("data", [None, "", "relative", "/var/data"], ids=["unset", "empty", "relative", "absolute"])
def test_the_place_on_linux_is_the_one_of_platformdirs(data: str | None, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    if data is not None:
        environment["XDG_DATA_HOME"] = data
    code = "import platformdirs; print(platformdirs.user_data_dir('memstore'), end='')"
    theirs = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert Home.locate(environment, platform="linux").path == os.path.realpath(theirs)


def test_a_home_that_cannot_be_written_is_named(
    store_home: Home, folder: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, mode: int = 0o777, exist_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "makedirs", refuse)
    with pytest.raises(StoreReadOnly, match="Permission denied"):
        store_home.store_for(folder("repo"), new_id, NOW)


def test_a_store_directory_comes_from_an_id_only(store_home: Home) -> None:
    store = new_id()
    assert store_home.store_directory(store) == f"{store_home.path}/stores/{store}"
    for bad in ("../../etc", "", store.upper() + "x", f"{store}/..", store.replace("-", "/")):
        with pytest.raises(InputRefused):
            store_home.store_directory(bad)


def test_consent_holds_for_one_root_and_one_value(store_home: Home) -> None:
    store_home.trust("/r", "autoMemoryDirectory", "~/mem", NOW)
    assert store_home.trusted("/r", "autoMemoryDirectory", "~/mem")
    assert not store_home.trusted("/r", "autoMemoryDirectory", "~/other")
    assert not store_home.trusted("/other", "autoMemoryDirectory", "~/mem")
    assert not store_home.trusted("/r", "autoDreamEnabled", "~/mem")


def test_consent_tells_true_from_one(store_home: Home) -> None:
    store_home.trust("/r", "autoMemoryEnabled", True, NOW)
    assert store_home.trusted("/r", "autoMemoryEnabled", True)
    assert not store_home.trusted("/r", "autoMemoryEnabled", 1)


def test_consent_can_be_withdrawn(store_home: Home) -> None:
    store_home.trust("/r", "autoMemoryEnabled", False, NOW)
    store_home.trust("/r", "autoMemoryEnabled", False, NOW)
    assert store_home.withdraw("/r", "autoMemoryEnabled", False)
    assert not store_home.trusted("/r", "autoMemoryEnabled", False)


def test_a_damaged_consent_is_no_consent_but_a_refusal(store_home: Home) -> None:
    store_home.trust("/r", "autoMemoryEnabled", True, NOW)
    (path,) = (Path(store_home.path) / "trust").iterdir()
    path.write_text(json.dumps({"root": "/r", "key": "autoMemoryEnabled", "value": False}))
    with pytest.raises(PlaceRefused, match="another value"):
        store_home.trusted("/r", "autoMemoryEnabled", True)
