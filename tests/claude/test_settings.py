"""The client's settings: order, aliases, and that the repository's own count only after consent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from memstore.claude.settings import (
    DREAM_ENABLED,
    DREAM_MIN_HOURS,
    DREAM_MIN_SESSIONS,
    MEMORY_DIRECTORY,
    MEMORY_ENABLED,
    Consent,
    Scalar,
    Settings,
    managed_directory,
    read_settings,
)


def nobody(key: str, value: Scalar) -> bool:
    return False


def everybody(key: str, value: Scalar) -> bool:
    return True


@pytest.fixture
def files(tmp_path: Path) -> SimpleNamespace:
    """The places of the settings files; each test writes those that it is about."""
    for name in ("repo/.claude", "config", "managed/managed-settings.d"):
        (tmp_path / name).mkdir(parents=True)
    return SimpleNamespace(
        base=tmp_path,
        user=tmp_path / "config/settings.json",
        project=tmp_path / "repo/.claude/settings.json",
        local=tmp_path / "repo/.claude/settings.local.json",
        managed=tmp_path / "managed/managed-settings.json",
    )


def read(
    files: SimpleNamespace,
    consent: Consent = nobody,
    explicit: dict[str, object] | None = None,
    trust_config: bool = True,
) -> Settings:
    return read_settings(
        str(files.base / "repo"),
        str(files.base / "config"),
        consent=consent,
        explicit=explicit,
        managed=str(files.base / "managed"),
        trust_config=trust_config,
    )


def put(path: Path, **content: object) -> None:
    path.write_text(json.dumps(content))


def value_of(settings: Settings, key: str) -> Scalar | None:
    chosen = settings.chosen(key)
    return None if chosen is None else chosen.value


def test_without_files_there_is_nothing_to_say(files: SimpleNamespace) -> None:
    settings = read(files)
    assert (settings.values, settings.warnings, settings.awaiting()) == ((), (), ())


def test_a_value_names_its_file_scope_and_rule(files: SimpleNamespace) -> None:
    put(files.user, autoMemoryDirectory="~/mem")
    chosen = read(files).chosen(MEMORY_DIRECTORY)
    assert chosen is not None
    assert (chosen.value, chosen.source, chosen.scope, chosen.trusted) == (
        "~/mem",
        str(files.user),
        "user",
        True,
    )
    assert chosen.rule


def test_managed_binds_before_explicit_local_project_and_user(files: SimpleNamespace) -> None:
    put(files.user, autoMemoryDirectory="/user")
    put(files.project, autoMemoryDirectory="/project")
    put(files.local, autoMemoryDirectory="/local")
    put(files.managed, autoMemoryDirectory="/managed")
    settings = read(files, everybody, {"autoMemoryDirectory": "/explicit"})
    assert [value.value for value in settings.values] == [
        "/managed",
        "/explicit",
        "/local",
        "/project",
        "/user",
    ]
    assert value_of(settings, MEMORY_DIRECTORY) == "/managed"
    files.managed.unlink()
    assert value_of(read(files, everybody, {"autoMemoryDirectory": "/explicit"}), MEMORY_DIRECTORY) == "/explicit"
    assert value_of(read(files, everybody), MEMORY_DIRECTORY) == "/local"


def test_a_later_managed_drop_in_wins_over_the_earlier_and_the_main_file(files: SimpleNamespace) -> None:
    put(files.managed, autoMemoryEnabled=True, autoMemoryDirectory="/main")
    put(files.managed.parent / "managed-settings.d/10-a.json", autoMemoryDirectory="/ten")
    put(files.managed.parent / "managed-settings.d/20-b.json", autoMemoryDirectory="/twenty")
    put(files.managed.parent / "managed-settings.d/.hidden.json", autoMemoryDirectory="/hidden")
    settings = read(files)
    assert value_of(settings, MEMORY_DIRECTORY) == "/twenty"
    assert value_of(settings, MEMORY_ENABLED) is True


def test_the_managed_place_is_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert managed_directory() == "/etc/claude-code"
    monkeypatch.setattr("sys.platform", "darwin")
    assert managed_directory() == "/Library/Application Support/ClaudeCode"


@pytest.mark.parametrize("name", ["project", "local"])
def test_hostile_24_what_the_repository_brings_waits_for_consent(files: SimpleNamespace, name: str) -> None:
    put(getattr(files, name), autoMemoryDirectory="/etc/evil", autoMemoryEnabled=False)
    put(files.user, autoMemoryDirectory="~/mine")
    settings = read(files)
    assert value_of(settings, MEMORY_DIRECTORY) == "~/mine"
    assert value_of(settings, MEMORY_ENABLED) is None
    assert [(value.key, value.value) for value in settings.awaiting()] == [
        (MEMORY_ENABLED, False),
        (MEMORY_DIRECTORY, "/etc/evil"),
    ]


def test_consent_is_asked_for_key_and_value(files: SimpleNamespace) -> None:
    put(files.local, autoMemoryDirectory="/agreed", autoMemoryEnabled=False)
    settings = read(files, lambda key, value: (key, value) == (MEMORY_DIRECTORY, "/agreed"))
    assert value_of(settings, MEMORY_DIRECTORY) == "/agreed"
    assert [value.key for value in settings.awaiting()] == [MEMORY_ENABLED]


def test_a_repository_value_that_a_stronger_one_hides_awaits_nothing(files: SimpleNamespace) -> None:
    put(files.project, autoMemoryDirectory="/project")
    put(files.managed, autoMemoryDirectory="/managed")
    assert read(files).awaiting() == ()


def test_a_configuration_directory_that_came_with_the_repository_waits_too(files: SimpleNamespace) -> None:
    put(files.user, autoMemoryDirectory="/evil")
    assert value_of(read(files, trust_config=False), MEMORY_DIRECTORY) is None
    assert value_of(read(files, everybody, trust_config=False), MEMORY_DIRECTORY) == "/evil"


def test_in_the_home_directory_the_users_file_is_not_the_repositorys(files: SimpleNamespace) -> None:
    home = files.base / "repo"
    put(home / ".claude/settings.json", autoMemoryDirectory="~/mine")
    settings = read_settings(str(home), str(home / ".claude"), consent=nobody, managed=str(files.base / "managed"))
    assert [(value.scope, value.trusted) for value in settings.values] == [("user", True)]


def test_the_older_keys_are_aliases(files: SimpleNamespace) -> None:
    put(files.user, autoMemory=False, autoDream={"enabled": True, "minHours": 12.5, "minSessions": 3})
    settings = read(files)
    assert value_of(settings, MEMORY_ENABLED) is False
    assert value_of(settings, DREAM_ENABLED) is True
    assert value_of(settings, DREAM_MIN_HOURS) == 12.5
    assert value_of(settings, DREAM_MIN_SESSIONS) == 3
    assert settings.warnings == ()


def test_in_one_file_the_clients_own_key_wins_over_its_alias(files: SimpleNamespace) -> None:
    put(
        files.user,
        autoMemory=False,
        autoMemoryEnabled=True,
        autoDreamEnabled=False,
        autoDream={"enabled": True},
    )
    settings = read(files)
    assert value_of(settings, MEMORY_ENABLED) is True
    assert value_of(settings, DREAM_ENABLED) is False


def test_a_stronger_files_alias_wins_over_a_weaker_files_own_key(files: SimpleNamespace) -> None:
    put(files.managed, autoMemory=False)
    put(files.user, autoMemoryEnabled=True)
    assert value_of(read(files), MEMORY_ENABLED) is False


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({"autoMemoryEnabled": "yes"}, "autoMemoryEnabled"),
        ({"autoMemoryEnabled": 1}, "autoMemoryEnabled"),
        ({"autoMemory": {"enabled": True}}, "autoMemory"),
        ({"autoMemoryDirectory": ["/a"]}, "autoMemoryDirectory"),
        ({"autoMemoryDirectory": 5}, "autoMemoryDirectory"),
        ({"autoDream": {"enabled": "on"}}, "autoDream.enabled"),
        ({"autoDream": {"minHours": "24"}}, "autoDream.minHours"),
        ({"autoDream": {"minHours": True}}, "autoDream.minHours"),
        ({"autoDream": {"minHours": -1}}, "autoDream.minHours"),
        ({"autoDream": {"minHours": float("nan")}}, "autoDream.minHours"),
        ({"autoDream": {"minHours": float("inf")}}, "autoDream.minHours"),
        ({"autoDream": {"minSessions": 2.5}}, "autoDream.minSessions"),
    ],
)
def test_a_value_of_the_wrong_type_is_ignored_and_named(
    files: SimpleNamespace, content: dict[str, object], name: str
) -> None:
    put(files.user, **content)
    settings = read(files)
    assert settings.values == ()
    (warning,) = settings.warnings
    assert f"{files.user}: {name} is ignored" in warning


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"{,}",
        b"[1]",
        b'"x"',
        b"null",
        b"\xff\xfe{\x00}\x00",
        b"[" * 100_000,
        b" " * 1_100_000,
        b"1" * 5_000,
    ],
    ids=["cut", "comma", "list", "text", "null", "utf16", "deep", "huge", "digits"],
)
def test_a_file_that_cannot_be_read_is_a_warning_that_names_it(files: SimpleNamespace, content: bytes) -> None:
    files.user.write_bytes(content)
    put(files.managed, autoMemoryEnabled=False)
    settings = read(files)
    assert value_of(settings, MEMORY_ENABLED) is False
    (warning,) = settings.warnings
    assert str(files.user) in warning


def test_a_bom_and_an_empty_file_are_fine(files: SimpleNamespace) -> None:
    files.user.write_bytes(b"\xef\xbb\xbf" + b'{"autoMemoryEnabled": false}')
    files.managed.write_bytes(b"\n")
    settings = read(files)
    assert value_of(settings, MEMORY_ENABLED) is False
    assert settings.warnings == ()


def test_what_is_not_a_file_is_named_and_never_waited_for(files: SimpleNamespace) -> None:
    os.mkfifo(files.project)
    files.user.mkdir()
    files.local.symlink_to("/dev/zero")
    settings = read(files)
    assert settings.values == ()
    assert len(settings.warnings) == 3
    assert all("not a regular file" in warning or "directory" in warning for warning in settings.warnings)


def test_a_link_loop_is_named(files: SimpleNamespace) -> None:
    files.user.symlink_to(files.user)
    (warning,) = read(files).warnings
    assert str(files.user) in warning


def test_a_users_link_is_followed_and_a_repositorys_link_outside_is_named(files: SimpleNamespace) -> None:
    put(files.base / "dotfiles.json", autoMemoryDirectory="~/mem")
    files.user.symlink_to(files.base / "dotfiles.json")
    assert value_of(read(files), MEMORY_DIRECTORY) == "~/mem"
    assert read(files).warnings == ()
    put(files.base / "other.json", autoMemoryDirectory="/evil")
    files.project.symlink_to(files.base / "other.json")
    settings = read(files)
    assert value_of(settings, MEMORY_DIRECTORY) == "~/mem"
    (warning,) = settings.warnings
    assert str(files.project) in warning
    assert "other.json" in warning


def test_a_memory_variable_in_an_env_block_is_named_not_obeyed(files: SimpleNamespace) -> None:
    put(files.user, env={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"})
    (warning,) = read(files).warnings
    assert "CLAUDE_CODE_DISABLE_AUTO_MEMORY" in warning
    put(files.user, env=["CLAUDE_CONFIG_DIR"])
    assert read(files).warnings == ()


def test_a_claude_folder_that_is_a_file_is_no_settings(files: SimpleNamespace) -> None:
    files.project.parent.rmdir()
    files.project.parent.write_text("")
    assert read(files).warnings == ()
