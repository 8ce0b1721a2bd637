"""Completion: scripts that the shells take, names of memories, and silence whatever is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

Ask = Callable[..., list[str]]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which `memstore` is on the PATH."""
    program = tmp_path / "bin" / "memstore"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m memstore "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.fixture
def ask(repo: Path, environment: dict[str, str]) -> Ask:
    """What bash is offered for words, of which the last one is being typed."""

    def offered(*words: str, at: Path = repo, shell: str = "bash") -> list[str]:
        line = ["memstore", *words]
        asked = {
            "_MEMSTORE_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": "\n".join(line),
            "COMP_CWORD": str(len(words)),
        }
        done = subprocess.run(
            ["memstore"], env={**environment, **asked}, cwd=at, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return [one for one in done.stdout.split("\n") if one]

    return offered


@pytest.fixture
def memories(run: Run) -> None:
    for name in ("staging-port", "staging-cert", "测试策略"):
        assert run("write", name, "text", "-d", "what it is").code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_takes(run: Run, tmp_path: Path, shell: str):
    script = run("completion", shell)
    assert script.code == 0
    assert f"_MEMSTORE_COMPLETE={shell}_complete" in script.out
    assert run("completion", shell, "--json").json["script"].strip() == script.out.strip()
    program = shutil.which(shell)
    if program is not None:
        (tmp_path / "script").write_text(script.out)
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True)


def test_another_shell_is_refused(run: Run):
    assert run("completion", "tcsh").code == 2


@pytest.mark.usefixtures("memories")
def test_names_of_memories_commands_options_and_settings_are_offered(ask: Ask):
    assert ask("show", "st") == ["plain,staging-cert", "plain,staging-port"]
    assert ask("supersede", "x", "--by", "测") == ["plain,测试策略"]
    assert ask("rename", "staging-p") == ["plain,staging-port"]
    assert ask("li") == ["plain,list", "plain,link", "plain,lint"]
    assert ask("lint", "--rule", "da") == ["plain,date"]
    assert ask("lint", "./x") == ["file,./x"]
    assert ask("config", "get", "extract.v") == ["plain,extract.via"]
    assert "plain,--exit-zero" in ask("lint", "--e")


@pytest.mark.usefixtures("memories")
def test_a_name_that_a_shell_would_read_as_more_is_not_offered(ask: Ask, folder: Path):
    for name in ("$(date).md", "-rf.md", "a*b.md", "x'y.md"):
        (folder / name).write_text("text")
    assert ask("show", "") == ["plain,staging-cert", "plain,staging-port", "plain,测试策略"]


def test_other_directories_are_asked_for_by_their_option(ask: Ask, run: Run, repo: Path, tmp_path: Path):
    run("write", "here", "text")
    assert ask("-C", str(repo), "show", "h", at=tmp_path) == ["plain,here"]


@pytest.mark.usefixtures("memories")
def test_words_come_as_they_are_typed(ask: Ask, repo: Path, home: Path):
    (home / "a b").symlink_to(repo)
    for typed in ("~/'a b'", "~/a\\ b", f'"{home}/a b"'):
        assert ask("-C", typed, "show", "staging-p", at=Path("/")) == ["plain,staging-port"]
    assert ask("lint", "--rule", "=", "da") == ["plain,date"]  # as bash takes it apart
    assert ask("lint", "--rule", "=", "date", "staging-p") == ["plain,staging-port"]


def test_where_there_is_nothing_nothing_is_made_and_nothing_said(ask: Ask, tmp_path: Path):
    before = sorted(tmp_path.rglob("*"))
    assert ask("show", "st") == []
    assert ask("-C", "/nonexistent", "show", "st") == []
    assert ask("--agent", "nobody", "show", "st") == []
    assert ask("nonsense", "xyz") == []
    assert ask("show", "st", shell="tcsh") == []
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("memories")
def test_a_damaged_or_closed_store_is_no_matter(ask: Ask, tmp_path: Path):
    for database in tmp_path.rglob("*.db"):
        database.write_bytes(b"no database")
    assert ask("show", "staging-p") == ["plain,staging-port"]


@pytest.mark.usefixtures("memories")
def test_a_real_bash_completes_a_name(run: Run, repo: Path, environment: dict[str, str]):
    bash = shutil.which("bash")
    assert bash is not None
    script = (
        'eval "$(memstore completion bash)"\n'
        "COMP_WORDS=(memstore show staging-p); COMP_CWORD=2\n"
        "_memstore_completion memstore\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
        "complete -p memstore\n"
    )
    done = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", script],
        cwd=repo, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split("\n")[0] == "staging-port"
    assert "-F _memstore_completion memstore" in done.stdout
    assert done.stderr == ""
