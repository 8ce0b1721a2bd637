"""Where settings are kept: what is set is found, what stands beside it stays, what cannot be read is refused."""

from __future__ import annotations

import json
import os
import stat
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from memstore.errors import SettingRefused, StoreBusy, StoreReadOnly
from memstore.store import settings
from memstore.store.store import Store
from tests.race.crowd import crowd


def test_what_is_set_for_a_repository_is_found_changed_and_taken_back(store: Store):
    with store.change() as connection:
        settings.put(connection, "extract.every", "3", 1)
        settings.put(connection, "extract.every", "4", 2)
        settings.put(connection, "notes.enabled", "false", 3)
    with store.change() as connection:
        assert settings.stored(connection) == {"extract.every": "4", "notes.enabled": "false"}
        assert settings.remove(connection, "extract.every")
        assert not settings.remove(connection, "extract.every")
        assert settings.stored(connection) == {"notes.enabled": "false"}


def test_the_store_counts_before_the_user_and_the_environment_before_both(store: Store, tmp_path: Path):
    home = str(tmp_path / "home")
    settings.put_user(home, "extract.every", "5")
    settings.put_user(home, "extract.turns", "6")
    with store.change() as connection:
        settings.put(connection, "extract.every", "4", 1)
    with store.view() as connection:
        found = settings.load(home, {"MEMSTORE_NOTES_CALLS": "9"}, connection)
    names = ("extract.every", "extract.turns", "notes.calls", "extract.via")
    assert [(found.get(name), found.origin_of(name)) for name in names] == [
        (4, "store"),
        (6, "user"),
        (9, "environment"),
        ("auto", "default"),
    ]
    assert settings.load(home, {}, None).get("extract.every") == 5


def test_the_user_s_file_is_made_for_its_owner_alone_and_nothing_is_made_by_reading(tmp_path: Path):
    home = tmp_path / "a" / "home"
    assert settings.user_settings(str(home)) == {}
    assert not settings.remove_user(str(home), "extract.every")
    assert not home.exists()
    settings.put_user(str(home), "extract.every", "5")
    assert json.loads((home / "settings.json").read_text()) == {"extract.every": "5"}
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.iterdir())}
    assert modes == {"home": 0o700, "settings.json": 0o600, "settings.lock": 0o600}


def test_a_person_may_write_the_file_as_json_reads_and_what_is_beside_the_settings_stays(tmp_path: Path):
    home, file = str(tmp_path), tmp_path / "settings.json"
    file.write_text('{"extract.enabled": false, "extract.every": 3, "budget.day": 0.5, "later.key": ["x"], "n": null}')
    found = settings.load(home, {}, None)
    assert (found.get("extract.enabled"), found.get("extract.every"), found.get("budget.day")) == (False, 3, 500_000)
    settings.put_user(home, "extract.every", "4")
    assert settings.remove_user(home, "budget.day") and not settings.remove_user(home, "budget.day")
    assert settings.remove_user(home, "n")
    assert json.loads(file.read_text()) == {"extract.enabled": False, "extract.every": "4", "later.key": ["x"]}


@pytest.mark.parametrize("value", ["null", "[]", "{}", '"\\ud800"', "1e400", "true", '""'])
def test_json_that_is_no_such_setting_is_refused_by_name_and_the_others_hold(tmp_path: Path, value: str):
    (tmp_path / "settings.json").write_text(f'{{"extract.every": {value}, "extract.turns": 7}}')
    found = settings.load(str(tmp_path), {}, None)
    with pytest.raises(SettingRefused, match=r"^extract\.every cannot be .* \(the user's settings\)$"):
        found.get("extract.every")
    assert found.get("extract.turns") == 7


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 60_000, b" " * 70_000, b"{}\0"])
def test_a_file_that_cannot_be_read_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes):
    file = tmp_path / "settings.json"
    file.write_bytes(content)
    for act in (settings.user_settings, lambda home: settings.put_user(home, "extract.every", "1")):
        with pytest.raises(SettingRefused, match=r"settings\.json cannot be used: ") as refused:
            act(str(tmp_path))
        assert "left as it is" in refused.value.hint
    assert file.read_bytes() == content


def test_a_fifo_or_a_directory_in_the_file_s_place_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "settings.json")
    with pytest.raises(SettingRefused, match="not a regular file"):
        settings.user_settings(str(tmp_path))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "settings.json").mkdir()
    with pytest.raises(SettingRefused, match="cannot be used"):
        settings.user_settings(str(tmp_path / "other"))


def test_a_link_in_the_lock_s_place_is_not_followed(tmp_path: Path):
    (tmp_path / "settings.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="cannot be locked"):
        settings.put_user(str(tmp_path), "extract.every", "1")
    assert not (tmp_path / "elsewhere").exists()


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(path: str, data: bytes) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(settings, "replace_whole", refuse)
    with pytest.raises(StoreReadOnly, match="cannot be written: Permission denied"):
        settings.put_user(str(tmp_path), "extract.every", "1")


def test_whoever_waits_in_vain_for_another_s_change_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "_SECONDS", 0.05)
    with settings._locked(str(tmp_path)), pytest.raises(StoreBusy, match="has kept"):
        settings.put_user(str(tmp_path), "extract.every", "1")
    settings.put_user(str(tmp_path), "extract.every", "1")


def change(barrier: Barrier, number: int, home: str) -> None:
    barrier.wait(60)
    for turn in range(10):
        settings.put_user(home, f"key {number} {turn}", "x")


def test_processes_that_set_at_once_lose_nothing_of_each_other(tmp_path: Path):
    crowd(4, change, str(tmp_path))
    assert len(settings.user_settings(str(tmp_path))) == 40
    assert sorted(path.name for path in tmp_path.iterdir()) == ["settings.json", "settings.lock"]
