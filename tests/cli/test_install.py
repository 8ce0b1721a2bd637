"""`install` and `uninstall`, on real files of a home directory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memstore import installing
from memstore.claude.install import PLUGIN
from memstore.cli import install as door
from tests.cli.conftest import Run

OWN = '{\n\t"model": "opus",\n\t"x": [1,2],\n\n\t"hooks": {"Stop": []}\n}'


def tree(*places: Path) -> dict[str, object]:
    """Everything below the places: the bytes of files with their mode, where links lead, directories."""
    found: dict[str, object] = {}
    for place in places:
        for path in sorted(place.rglob("*")):
            if path.is_symlink():
                found[str(path)] = os.readlink(path)
            elif path.is_file():
                found[str(path)] = (path.read_bytes(), path.stat().st_mode)
            else:
                found[str(path)] = "directory"
    return found


@pytest.fixture
def config(home: Path) -> Path:
    """The client's directory, with settings of somebody's own."""
    place = home / ".claude"
    place.mkdir()
    (place / "settings.json").write_text(OWN)
    return place


@pytest.fixture
def plugin(home: Path) -> Path:
    return home / "memstore" / "claude-plugin"


def test_install_for_the_user_links_the_plugin_and_changes_no_setting(run: Run, config: Path, plugin: Path):
    done = run("install", "claude", "--yes")
    assert done.code == 0
    assert f"new      {config}/skills/memstore -> {plugin}" in done.out
    assert os.readlink(config / "skills" / "memstore") == str(plugin)
    assert (config / "settings.json").read_text() == OWN
    server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["memstore"]
    assert (server["command"], server["alwaysLoad"]) == (sys.executable, True)
    assert f"/{config}/projects/*/memory/**" in (plugin / "hooks" / "hooks.json").read_text()


def test_what_is_installed_can_be_started(run: Run, plugin: Path, tmp_path: Path):
    run("install", "claude", "--yes")
    server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["memstore"]
    commands = [[server["command"], *server["args"][:-1], "--version"], [str(plugin / "bin" / "memstore"), "--version"]]
    for command in commands:
        shown = subprocess.run(
            command, cwd=tmp_path, env={"PATH": os.defpath}, capture_output=True, text=True, check=True
        )
        assert shown.stdout.startswith("memstore ")
    hook = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]["Stop"][0]["hooks"][0]
    environment = {name: os.environ[name] for name in ("HOME", "MEMSTORE_HOME")} | {"MEMSTORE_DEBUG": "1"}
    ended = subprocess.run(
        [hook["command"], *hook["args"]], input="{}", env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""


@pytest.mark.parametrize("scope", [(), ("--project",)])
def test_uninstall_leaves_every_byte_as_it_was(run: Run, config: Path, home: Path, repo: Path, scope: tuple[str, ...]):
    (home / "memstore").mkdir(mode=0o700)
    (config / "settings.json").chmod(0o600)
    before = tree(home, repo)
    assert run("install", "claude", "--yes", *scope).code == 0
    assert tree(home, repo) != before
    assert run("uninstall", "claude", "--yes").code == 0
    assert tree(home, repo) == before


@pytest.mark.parametrize("scope", [(), ("--project",)])
def test_a_home_without_the_clients_directory_is_one_again_afterwards(
    run: Run, home: Path, repo: Path, scope: tuple[str, ...]
):
    (home / "memstore").mkdir(mode=0o700)
    before = tree(home, repo)
    assert run("install", "claude", "--yes", *scope).code == 0
    assert run("uninstall", "claude", "--yes").code == 0
    assert tree(home, repo) == before


def test_installing_again_changes_nothing(run: Run, home: Path, config: Path, repo: Path):
    for scope in ((), ("--project",)):
        run("install", "claude", "--yes", *scope)
        before = tree(home, repo)
        again = run("install", "claude", *scope)  # nothing to agree to
        assert (again.code, again.out) == (0, "nothing to change: it is installed\n")
        assert tree(home, repo) == before
    assert config.is_dir()


@pytest.mark.usefixtures("config")
def test_a_dry_run_shows_the_changes_and_makes_none(run: Run, home: Path, repo: Path):
    before = tree(home, repo)
    shown = run("install", "claude", "--project", "--dry-run")
    assert shown.code == 0
    assert re.search(rf'^\+ +"{PLUGIN}": false$', shown.out, re.MULTILINE)
    assert re.search(rf'^\+ +"{PLUGIN}": true$', shown.out, re.MULTILINE)
    assert tree(home, repo) == before
    told = run("install", "claude", "--dry-run", "--json").json
    assert told["done"] is False
    assert {change["kind"] for change in told["changes"]} == {"plugin", "link"}
    run("install", "claude", "--yes")
    installed = tree(home, repo)
    assert f"gone     {home}/.claude/skills/memstore" in run("uninstall", "claude", "--dry-run").out
    assert tree(home, repo) == installed


@pytest.mark.usefixtures("config")
def test_without_a_terminal_nothing_happens_unless_it_is_agreed_to(run: Run, home: Path, repo: Path):
    before = tree(home, repo)
    refused = run("install", "claude")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert run("install", "claude", "--json").code == 2
    assert tree(home, repo) == before


@pytest.mark.parametrize(("answer", "installed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_a_person_at_a_terminal_is_asked(home: Path, repo: Path, answer: str, installed: bool):
    master, slave = os.openpty()
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "memstore", "-C", str(repo), "install", "claude"],
            stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        os.write(master, answer.encode())
        out, err = child.communicate(timeout=60)
    finally:
        os.close(master)
        os.close(slave)
    assert (child.returncode, "Install? [y/N]" in out + err) == (0, True)
    assert ("nothing was changed" in err) is not installed
    assert (home / ".claude" / "skills" / "memstore").is_symlink() is installed


def test_one_project_alone(run: Run, config: Path, repo: Path, tmp_path: Path):
    run("install", "claude", "--project", "--yes")
    local = repo / ".claude" / "settings.local.json"
    assert json.loads(local.read_text()) == {"enabledPlugins": {PLUGIN: True}}
    assert json.loads((config / "settings.json").read_text())["enabledPlugins"] == {PLUGIN: False}
    second = tmp_path / "second"
    (second / ".git").mkdir(parents=True)
    (second / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    run("install", "claude", "--project", "--yes", at=second)
    assert run("uninstall", "claude", "--project", "--yes").code == 0
    assert not local.exists()
    assert (config / "skills" / "memstore").is_symlink()
    assert run("uninstall", "claude", "--project", "--yes", at=second).code == 0
    assert not (config / "skills").exists()
    assert (config / "settings.json").read_text() == OWN


def test_a_linked_worktree_installs_for_its_repository(run: Run, repo: Path, tmp_path: Path):
    worktree, inside = tmp_path / "wt", repo / ".git" / "worktrees" / "wt"
    worktree.mkdir()
    inside.mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {inside}\n")
    (inside / "commondir").write_text("../..\n")
    (inside / "gitdir").write_text(f"{worktree}/.git\n")
    (inside / "HEAD").write_text("ref: refs/heads/wt\n")
    assert run("install", "claude", "--project", "--yes", at=worktree).code == 0
    assert (repo / ".claude" / "settings.local.json").exists()
    assert not (worktree / ".claude").exists()


def test_another_configuration_directory(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plugin: Path
):
    run("install", "claude", "--yes")
    other = tmp_path / "other config"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
    assert run("install", "claude", "--yes").code == 0
    assert (other / "skills" / "memstore").is_symlink()
    hooks = (plugin / "hooks" / "hooks.json").read_text()
    for config in (other, home / ".claude"):  # the first installation goes on to count
        assert f"Write(/{config}/projects/*/memory/**)" in hooks
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert run("uninstall", "claude", "--yes").code == 0
    assert not other.exists()
    assert not plugin.exists()


def test_a_memory_folder_of_ones_own_has_its_rule(run: Run, config: Path, plugin: Path, tmp_path: Path):
    notes = tmp_path / "my (own) notes"
    (config / "settings.json").write_text(json.dumps({"autoMemoryDirectory": str(notes)}))
    run("install", "claude", "--yes")
    rules = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]["PostToolUse"][0]["hooks"]
    escaped = str(notes).replace("(", r"\(").replace(")", r"\)")
    assert f"Write(/{escaped}/**)" in [handler["if"] for handler in rules]


def test_a_memory_folder_has_its_rule_in_both_unicode_forms(run: Run, config: Path, plugin: Path, tmp_path: Path):
    """The client composes the setting's letters, whatever the directory is called."""
    notes = tmp_path / "cafe\u0301"
    notes.mkdir()
    (config / "settings.json").write_text(json.dumps({"autoMemoryDirectory": str(notes)}))
    run("install", "claude", "--yes")
    rules = (plugin / "hooks" / "hooks.json").read_text()
    assert f"Write(/{notes}/**)" in rules and f"Write(/{tmp_path}/caf\u00e9/**)" in rules


def test_the_folder_of_another_repository_that_has_a_store_has_its_rule_too(
    run: Run, repo: Path, plugin: Path, tmp_path: Path
):
    notes = tmp_path / "notes"
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text(json.dumps({"autoMemoryDirectory": str(notes)}))
    run("trust", "--all")
    run("write", "note", "text")
    run("install", "claude", "--yes", at=tmp_path)
    assert f"Write(/{notes}/**)" in (plugin / "hooks" / "hooks.json").read_text()


@pytest.mark.parametrize(
    "content", ['{"a": 1, // why\n "b": 2}', "[]", '{"a": 1,}', '{"enabledPlugins": 1}', b"\xff{}"]
)
def test_settings_that_cannot_be_edited_are_named_and_left(
    run: Run, config: Path, home: Path, repo: Path, content: str | bytes
):
    (config / "settings.json").write_bytes(content.encode() if isinstance(content, str) else content)
    before = tree(home, repo)
    refused = run("install", "claude", "--project", "--yes")
    assert refused.code == 2
    assert str(config / "settings.json") in refused.err
    assert tree(home, repo) == before


def test_read_only_settings_are_not_changed(run: Run, config: Path, home: Path, repo: Path):
    (config / "settings.json").chmod(0o444)
    before = tree(home, repo)
    refused = run("install", "claude", "--project", "--yes")
    assert refused.code == 5
    assert f"{config}/settings.json: it is read-only" in refused.err
    assert f'"{PLUGIN}": false' in refused.out  # what a person would have to add
    assert tree(home, repo) == before
    assert run("install", "claude", "--yes").code == 0  # needs no setting


def test_a_link_to_the_settings_stays_a_link(run: Run, config: Path, tmp_path: Path):
    real = tmp_path / "dotfiles" / "settings.json"
    real.parent.mkdir()
    (config / "settings.json").rename(real)
    (config / "settings.json").symlink_to(real)
    assert run("install", "claude", "--project", "--yes").code == 0
    assert (config / "settings.json").is_symlink()
    assert PLUGIN in real.read_text()
    run("uninstall", "claude", "--yes")
    assert real.read_text() == OWN
    real.unlink()
    broken = run("install", "claude", "--project", "--yes")
    assert (broken.code, "is a link to" in broken.err) == (5, True)


def test_settings_that_became_a_link_after_the_install_are_edited_once(run: Run, config: Path, tmp_path: Path):
    settings, real = config / "settings.json", tmp_path / "dotfile.json"
    settings.write_text('{"model": "opus"}\n')
    assert run("install", "claude", "--project", "--yes").code == 0
    settings.rename(real)
    settings.symlink_to(real)
    taken = run("uninstall", "claude", "--yes")
    assert (taken.code, taken.err) == (0, "")
    assert taken.out.count(f"changed  {real}") == 1
    assert (settings.is_symlink(), real.read_text()) == (True, '{"model": "opus"}\n')


@pytest.mark.parametrize("linked", ["settings.local.json", ""])
def test_a_repository_cannot_lead_the_edit_elsewhere(run: Run, repo: Path, tmp_path: Path, linked: str):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "settings.local.json").write_text("{}")
    if linked:
        (repo / ".claude").mkdir()
        (repo / ".claude" / linked).symlink_to(elsewhere / linked)
    else:
        (repo / ".claude").symlink_to(elsewhere)
    refused = run("install", "claude", "--project", "--yes")
    assert (refused.code, "leads out of the repository" in refused.err) == (5, True)
    assert (elsewhere / "settings.local.json").read_text() == "{}"


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_what_stands_in_the_way_is_left(run: Run, config: Path, home: Path, tmp_path: Path, kind: str):
    way = config / "skills" / "memstore"
    way.parent.mkdir()
    if kind == "directory":
        way.mkdir()
    elif kind == "file":
        way.write_text("mine")
    else:
        way.symlink_to(tmp_path)
    before = tree(home)
    refused = run("install", "claude", "--yes")
    assert (refused.code, str(way) in refused.err) == (5, True)
    assert run("uninstall", "claude", "--yes").code == 0
    assert tree(home) == before


@pytest.mark.parametrize("managed", [{"strictKnownMarketplaces": []}, {"enabledPlugins": {PLUGIN: False}}])
def test_an_organisation_that_does_not_allow_the_plugin_is_named(run: Run, config: Path, home: Path, managed: object):
    file = config / "remote-settings.json"  # where the client keeps what the organisation's server sent
    file.write_text(json.dumps(managed))
    before = tree(home)
    refused = run("install", "claude", "--yes")
    assert (refused.code, str(file) in refused.err) == (5, True)
    assert tree(home) == before


def test_hooks_that_are_switched_off_are_told(run: Run, config: Path):
    (config / "settings.json").write_text('{"disableAllHooks": true}')
    done = run("install", "claude", "--yes")
    assert (done.code, "disableAllHooks" in done.err) == (0, True)


def test_an_installation_that_was_stopped_is_completed_by_the_next(
    run: Run, config: Path, plugin: Path, home: Path, repo: Path
):
    run("install", "claude", "--project", "--yes")
    whole = tree(home, repo)
    (config / "skills" / "memstore").unlink()
    (plugin / "hooks" / "hooks.json").unlink()
    (repo / ".claude" / "settings.local.json").unlink()
    assert run("install", "claude", "--project", "--yes").code == 0
    assert tree(home, repo) == whole


def start(home: Path, cwd: Path, *arguments: str) -> subprocess.Popen[str]:
    """`memstore` as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "memstore", *arguments], cwd=cwd, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip


def test_installations_at_the_same_time_leave_nothing_that_one_does_not_take_out_again(
    home: Path, config: Path, tmp_path: Path
):
    (home / "memstore").mkdir(mode=0o700)
    repositories = [tmp_path / f"shop{number}" for number in range(6)]
    for path in repositories:
        (path / ".git").mkdir(parents=True)
        (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (path / ".claude").mkdir()
        (path / ".claude" / "settings.local.json").write_text(OWN)
    before = tree(home, *repositories)
    for _ in range(2):
        children = [start(home, path, "install", "claude", "--project", "--yes") for path in repositories]
        assert [(child.communicate()[1], child.returncode) for child in children] == [("", 0)] * 6
    assert config.is_dir()
    out, err = (child := start(home, tmp_path, "uninstall", "claude", "--yes")).communicate()
    assert (child.returncode, err) == (0, ""), out
    assert tree(home, *repositories) == before


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_run_that_is_interrupted_anywhere_is_completed_and_undone(
    run: Run, home: Path, config: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, command: str
):
    (home / "memstore").mkdir(mode=0o700)
    before = tree(home, repo)
    steps = ("put_file", "put_link", "remove", "remove_empty")
    for stop in range(60):
        if command == "uninstall":
            assert run("install", "claude", "--project", "--yes").code == 0
        left = stop

        def interrupted(name: str, real: Callable[..., Any], *args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return real(*args, **options)

        with monkeypatch.context() as patch:
            for name in steps:
                patch.setattr(installing, name, partial(interrupted, name, getattr(installing, name)))
            ended = run(command, "claude", "--project", "--yes")
        assert run("install", "claude", "--project", "--yes").code == 0 if command == "install" else True
        for _ in range(2):
            assert run("uninstall", "claude", "--yes").code == 0
            assert tree(home, repo) == before, stop
        if ended.code == 0:
            return
    raise AssertionError("it never came to its end")


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("kind", ["file", "dangling link", "read-only"])
def test_what_keeps_the_link_from_being_made_is_told_before_anything_is_done(
    run: Run, home: Path, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    (home / "memstore").mkdir(mode=0o700)
    skills = home / ".claude" / "skills"
    if kind == "file":
        skills.write_text("mine")
    elif kind == "dangling link":
        skills.symlink_to(tmp_path / "nowhere")
    else:
        real = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(skills.parent) and real(path, mode))
    before = tree(home, repo)
    refused = run("install", "claude", "--yes")
    assert refused.code == 5 and "nothing was changed, for " in refused.err
    assert str(skills.parent if kind == "read-only" else skills) in refused.err
    assert tree(home, repo) == before


def test_what_changed_while_a_person_was_asked_is_not_carried_out(
    run: Run, home: Path, config: Path, monkeypatch: pytest.MonkeyPatch
):
    def asked(*_: object) -> None:
        (config / "settings.json").write_text('{"enabledPlugins": {"memstore@skills-dir": false}}')

    monkeypatch.setattr(door, "_ask", asked)
    refused = run("install", "claude")
    assert refused.code == 5 and "what was shown has changed; nothing was done" in refused.err
    assert not (home / "memstore" / "claude-plugin").exists()


def test_a_lost_record_is_written_anew(run: Run, home: Path, config: Path):
    run("install", "claude", "--yes")
    (home / "memstore" / "claude-plugin.json").unlink()
    run("install", "claude")
    assert run("uninstall", "claude", "--yes").code == 0
    assert not (home / "memstore" / "claude-plugin").exists()
    assert not (config / "skills" / "memstore").is_symlink()


def test_files_that_are_not_ours_stay_in_the_plugins_directory(run: Run, plugin: Path):
    run("install", "claude", "--yes")
    (plugin / "skills" / "mine.md").write_text("mine")
    run("uninstall", "claude", "--yes")
    assert [str(path.relative_to(plugin)) for path in plugin.rglob("*")] == ["skills", "skills/mine.md"]


def test_the_plugin_alone_can_be_written_into_a_directory(run: Run, home: Path, repo: Path):
    made = run("install", "claude", "--plugin-dir", "out")
    assert made.code == 0
    assert json.loads((repo / "out" / ".claude-plugin" / "plugin.json").read_text())["name"] == "memstore"
    assert os.access(repo / "out" / "bin" / "memstore", os.X_OK)
    assert not (home / ".claude").exists()
    assert run("install", "claude", "--plugin-dir", "out").code == 0
    (repo / "full").mkdir()
    (repo / "full" / "file").write_text("mine")
    assert run("install", "claude", "--plugin-dir", "full").code == 5
    assert run("install", "claude", "--plugin-dir", "full/file").code == 5
    assert len(run("install", "claude", "--plugin-dir", "dry", "-n", "--json").json["changes"]) > 5
    assert not (repo / "dry").exists()


@pytest.mark.parametrize("agent", ["codex", "cursor", "vscode", "mcp"])
def test_other_agents_get_their_configuration_and_nothing_is_changed(run: Run, home: Path, agent: str):
    shown = run("install", "--print", agent)
    assert shown.code == 0
    assert sys.executable in shown.out
    assert shown.err.strip()
    assert not (home / ".claude").exists()


@pytest.mark.parametrize(
    "call", [("install",), ("install", "other"), ("uninstall",), ("install", "claude", "--print", "mcp"),
             ("install", "--print", "mcp", "--json")]
)  # fmt: skip
def test_calls_that_make_no_sense_are_refused(run: Run, call: tuple[str, ...]):
    assert run(*call).code == 2


def test_prompt_names_the_folder_and_knows_the_log(run: Run, folder: Path):
    text = run("prompt").out
    assert f"`{folder}/MEMORY.md`" in text
    assert run("prompt", "--json").json["text"].rstrip("\n") == text.rstrip("\n")
    assert "logs/YYYY/MM/YYYY-MM-DD.md" in run("prompt", "--log").out


def test_prompt_names_no_folder_that_nobody_trusted(run: Run, repo: Path, tmp_path: Path):
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text(json.dumps({"autoMemoryDirectory": str(tmp_path / "wanted")}))
    assert str(tmp_path / "wanted") not in run("prompt").out
