"""The doctor's look at the client: its memory's switch, and the plugin on real files of a home directory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.core.findings import Finding
from memstore.place import find_place
from memstore.upkeep import doctor_files
from memstore.world import World
from tests.cli.conftest import Run, repo, run

__all__ = ["repo", "run"]

Look = Callable[[str], list[Finding]]


@pytest.fixture
def look(repo: Path) -> Look:
    """What one check finds without a store."""

    def found(check: str) -> list[Finding]:
        world = World.real(str(repo))
        return [one for one in doctor_files.place_findings(find_place(world), world) if one.check == check]

    return found


@pytest.fixture
def plugin(run: Run, home: Path) -> Path:
    """The installed plugin."""
    (home / ".claude").mkdir()
    assert run("install", "claude", "--yes").code == 0
    return home / "memstore" / "claude-plugin"


def test_a_plugin_that_is_not_installed_is_worth_a_word(look: Look, home: Path):
    (found,) = look("plugin")
    assert (found.severity, found.mend) == ("note", "run `memstore install claude`")
    assert str(home / ".claude") in found.what


def test_an_installed_plugin_is_as_it_should_be(look: Look, plugin: Path):
    assert look("plugin") == []


def test_a_plugin_of_another_version_is_named_with_both(look: Look, plugin: Path):
    manifest = plugin / ".claude-plugin" / "plugin.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": "0.0.1"}))
    (found,) = look("plugin")
    assert found.severity == "warning" and "are of memstore 0.0.1, this is " in found.what
    manifest.write_text("[")
    assert "of an unknown version" in look("plugin")[0].what


def test_a_memory_folder_that_the_hooks_do_not_know_is_found(look: Look, plugin: Path, home: Path, tmp_path: Path):
    (home / ".claude" / "settings.json").write_text(json.dumps({"autoMemoryDirectory": str(tmp_path / "own")}))
    (found,) = look("plugin")
    assert found.what.startswith("hooks/hooks.json of the plugin is not as this memstore makes it")
    assert "a memory folder came that the hooks do not know" in found.why


def test_hooks_that_are_switched_off_and_a_plugin_of_another_home_are_warnings(
    look: Look, plugin: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"disableAllHooks": True}))
    (found,) = look("plugin")
    assert found.severity == "warning" and "disableAllHooks" in found.what
    settings.unlink()
    monkeypatch.setenv("MEMSTORE_HOME", str(home / "other"))
    (found,) = look("plugin")
    assert found.what == f"the client's plugin is that of another home: {plugin}"


def test_something_else_in_the_plugins_place_and_settings_that_cannot_be_read_are_named(look: Look, home: Path):
    place = home / ".claude" / "skills" / "memstore"
    place.mkdir(parents=True)
    assert "is not memstore's: it is no link" in look("plugin")[0].what
    (home / ".claude" / "settings.json").write_bytes(b"\xff")
    (found,) = look("plugin")
    assert found.what.startswith("the client's plugin cannot be looked at: ") and found.mend


def test_a_memory_that_is_switched_off_is_said(look: Look, monkeypatch: pytest.MonkeyPatch):
    assert look("client-memory") == []
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")
    (found,) = look("client-memory")
    assert found.severity == "note" and "CLAUDE_CODE_DISABLE_AUTO_MEMORY" in found.what
