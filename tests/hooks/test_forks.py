"""Hooks inside a fork that memstore made of a session: nothing is recorded or queued, and nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memstore.claude import forks
from tests.files.desk import Desk, topic
from tests.hooks.calls import HOOK, Session, inbox, spooled, start

WRITERS = (
    "Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "Task", "Agent", "WebFetch", "KillShell", "SomethingNew", "",
    "mcp__plugin_memstore_memstore__memory_write", "mcp__plugin_memstore_memstore__memory_edit",
    "mcp__plugin_memstore_memstore__memory_delete", "mcp__plugin_memstore_memstore__memory_undo",
    "mcp__memstore__memory_write", "mcp__memstore__memory_note",
    "mcp__github__create_issue", "mcp__other__memory_read", "memory_read", "Read\udcff",
)  # fmt: skip
READERS = (
    "Read", "Grep", "Glob", "ToolSearch", "mcp__memstore__memory_read", "mcp__plugin_memstore_memstore__memory_list",
    "mcp__plugin_memstore_memstore__memory_search", "mcp__plugin_memstore_memstore__memory_history",
)  # fmt: skip


@pytest.fixture
def fork(desk: Desk) -> Session:
    return Session(desk, "s1", variables={"MEMSTORE_FORK": "1"})


@pytest.mark.parametrize("tool", WRITERS)
def test_what_is_not_known_to_read_only_is_denied(tool: str):
    given = json.dumps({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {}}).encode()
    told = json.loads(forks.answer("PreToolUse", given))
    assert told["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert told["hookSpecificOutput"]["permissionDecisionReason"] == forks.REASON


@pytest.mark.parametrize("tool", READERS)
def test_what_only_reads_is_left_to_the_client_s_own_rules(tool: str):
    given = json.dumps({"hook_event_name": "PreToolUse", "tool_name": tool}).encode()
    assert forks.answer("PreToolUse", given) == b""


@pytest.mark.parametrize("data", [None, b"", b"[]", b"{", b'{"tool_name": ["Read"]}', b'{"tool_name": 1}', b"\xff"])
def test_what_cannot_be_understood_is_denied(data: bytes | None):
    assert forks.answer("PreToolUse", data) == forks.DENIAL


def test_a_fork_that_writes_is_denied_and_leaves_no_row(desk: Desk, fork: Session):
    before = sorted(path.name for path in desk.folder.iterdir())
    path = str(desk.folder / "new.md")
    asked = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": path, "content": topic("x", "new")}}
    denied = fork.hook("PreToolUse", **asked)
    assert denied.out == forks.DENIAL
    fork.hook("PostToolUse", **asked, tool_response={"type": "create", "filePath": path, "content": "x"})
    assert (inbox(desk), spooled(desk)) == ([], [])
    assert sorted(path.name for path in desk.folder.iterdir()) == before


@pytest.mark.parametrize(
    "event", ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd"]
)
def test_no_other_hook_of_a_fork_says_or_queues_anything(desk: Desk, fork: Session, event: str):
    answer = fork.hook(event, source="startup", prompt="go on", reason="other", trigger="auto")
    assert answer.out == b""
    with desk.memories.store.view() as connection:
        assert connection.execute("SELECT count(*) FROM job").get == 0
        assert connection.execute("SELECT count(*) FROM session").get == 0
    assert spooled(desk) == []


def test_a_worker_does_nothing_inside_a_fork(desk: Desk):
    """Else its locks would lie beside the database."""
    store = desk.memories.store
    command = [sys.executable, "-I", "-S", HOOK, "work", store.id]
    for variables, locks in (({"MEMSTORE_FORK": "1"}, []), ({}, ["work-next", "work-now"])):
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert sorted(path.name for path in Path(store.directory).glob("work*")) == locks


def test_a_hook_that_goes_wrong_inside_a_fork_denies(tmp_path: Path):
    """Code 2 is the client's word for it. `--site` names a place without libraries, so nothing can be looked at."""
    command = [sys.executable, "-I", "-S", HOOK, "--site", str(tmp_path), "PreToolUse"]
    asked = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Read"}).encode()
    for variables, code in (({"MEMSTORE_FORK": "1"}, 2), ({}, 0)):
        done = subprocess.run(command, input=asked, env={**os.environ, **variables}, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout) == (code, b"")


def test_an_input_that_is_too_large_is_denied_inside_a_fork(tmp_path: Path):
    from memstore.hook import LARGEST

    asked = b'{"tool_name": "Read", "x": "' + b"x" * LARGEST + b'"}'
    assert start("PreToolUse", asked, tmp_path, MEMSTORE_FORK="1").out == forks.DENIAL
