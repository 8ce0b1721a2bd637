"""`pause`, `resume`, and `hook` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(("scope", "what"), [("worktree", "this worktree"), ("store", "this repository")])
def test_a_pause_lasts_until_it_is_ended_and_status_says_so(run: Run, scope: str, what: str):
    assert run("pause", f"--{scope}").out == f"automatic saving is paused for {what}; `memstore resume` ends that\n"
    assert run("pause", f"--{scope}", "--json").json["paused"] == [what]
    assert f"paused:     {what}: automatic saving rests" in run("status").out
    assert run("status", "--json").json["paused"] == [what]
    assert run("resume").out == f"automatic saving goes on for {what}\n"
    assert run("resume").out == "nothing was paused\n"
    assert "paused" not in run("status").out


def test_inside_a_session_a_pause_concerns_that_session(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s")
    assert run("pause", "--json").json["paused"] == ["this session"]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "other")
    assert run("status", "--json").json["paused"] == []
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s")
    assert run("resume", "--session").code == 0


def test_outside_a_session_none_can_be_paused(run: Run):
    failed = run("pause", "--session")
    assert failed.code == 3 and "belongs to no session" in failed.err and "--worktree" in failed.err


def test_commands_work_while_paused(run: Run):
    run("pause", "--store")
    assert run("write", "note", "words").code == 0
    assert "note.md" in run("list").out


def test_a_hook_can_be_tried_out_as_a_command(run: Run, repo: Path, folder: Path):
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Notes\n" + "- a line\n" * 300)
    data = {"session_id": "s", "cwd": str(repo), "source": "startup", "hook_event_name": "SessionStart"}
    ran = run("hook", "SessionStart", stdin=json.dumps(data))
    assert ran.code == 0
    assert "301 lines, 200 of them" in json.loads(ran.out)["hookSpecificOutput"]["additionalContext"]
    assert run("hook", "Stop", stdin="{").out == ""
    assert run("hook", "Nope").code == 2
