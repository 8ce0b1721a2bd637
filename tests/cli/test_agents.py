"""`--agent` and `agents`, as typed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memstore.cli import exits
from tests.cli.conftest import Run


def test_every_command_works_on_the_agents_own_memory(run: Run, home: Path):
    assert run("--agent", "rev:user", "write", "port", "It is 7443.").code == 0
    assert (home / ".claude/agent-memory/rev/port.md").exists()
    for words in (["show", "port"], ["search", "7443"], ["log"], ["status"], ["where"], ["recall", "--ranked", "7443"]):
        found = run("--agent", "rev", *words)
        assert found.code == 0 and ("port" in found.out or "rev" in found.out), words
    assert run("show", "port").code == exits.NOT_FOUND
    listed = run("agents").out
    assert listed == f"rev:user  1 memory  kept in a store, and shown there  {home}/.claude/agent-memory/rev\n"


def test_a_prompt_that_names_an_agent_is_answered_where_the_repository_has_no_memories(run: Run):
    run("--agent", "rev:user", "write", "port", "It is 7443.", "-d", "the port of staging")
    assert "> It is 7443." in run("recall", "@agent-rev the port of staging?").out
    for prompt in ("the port of staging?", "@agent-other the port of staging?"):
        assert run("recall", prompt).code == exits.NOT_FOUND


def test_where_says_that_what_git_keeps_is_only_read(run: Run, tmp_path: Path):
    kept = tmp_path / "shop/.claude/agent-memory/rev"
    kept.mkdir(parents=True)
    (kept / "a.md").write_text("A fact.\n")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path / "shop", check=True)
    found = run("--agent", "rev", "where", at=tmp_path / "shop")
    assert found.code == 0 and "projected  no: git keeps that directory" in found.out
    found = run("--agent", "rev", "write", "b", "x", at=tmp_path / "shop")
    assert found.code == exits.PLACE and "edit the file itself" in found.err
    assert [path.name for path in kept.iterdir()] == ["a.md"]


def test_without_any_agent_the_list_says_so(run: Run):
    found = run("agents")
    assert (found.code, found.out) == (0, "") and "no agent has a memory" in found.err


@pytest.mark.parametrize(
    "words", [("--agent", "", "list"), ("--agent", "rev:user", "dream"), ("--agent", "x", "agents")]
)
def test_an_agent_that_cannot_be_meant_is_refused(run: Run, words: tuple[str, ...], home: Path):
    found = run(*words)
    assert found.code == exits.USAGE and "--agent" in found.err
    assert not (home / ".claude").exists()


def test_an_unknown_agent_is_told_how_to_begin(run: Run, home: Path):
    found = run("--agent", "rev", "write", "port", "x")
    assert found.code == exits.NOT_FOUND and "--agent rev:user" in found.err
    assert not (home / ".claude").exists()
