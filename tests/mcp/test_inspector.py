"""The MCP inspector's command line as a client. `scripts/inspector` fetches it and names it in MEMSTORE_INSPECTOR."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.served import environment, repository

PROGRAM = os.environ.get("MEMSTORE_INSPECTOR")
"""Looked up once: no test sees the variables of whoever runs it."""

pytestmark = pytest.mark.skipif(not PROGRAM, reason="run scripts/inspector: it fetches the inspector with npm")


def test_the_inspector_lists_writes_reads_searches_and_is_refused(tmp_path: Path):
    place, home = repository(tmp_path / "repo"), tmp_path / "own"
    home.mkdir()
    server = {"command": sys.executable, "args": ["-m", "memstore", "mcp"], "env": environment(home)}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"memstore": server}}))

    def ask(*arguments: str) -> dict[str, Any]:
        assert PROGRAM
        command = [PROGRAM, "--cli", "--config", str(config), "--server", "memstore", "--method", *arguments]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    def call(tool: str, **given: str) -> dict[str, Any]:
        words = [word for key, value in given.items() for word in ("--tool-arg", f"{key}={value}")]
        return ask("tools/call", "--tool-name", tool, *words)

    names = {tool["name"] for tool in ask("tools/list")["tools"]}
    assert {"memory_read", "memory_write", "memory_undo"} <= names and len(names) == 9
    made = call("memory_write", path="first.md", content="The cache lives on host h1.", if_version="new")
    assert made["isError"] is False
    version = json.loads(made["content"][0]["text"])["version"]
    again = call("memory_write", path="first.md", content="Elsewhere.", if_version="new")
    assert again["isError"] is True and json.loads(again["content"][0]["text"])["current_version"] == version
    read = call("memory_read", path="first.md")
    assert json.loads(read["content"][0]["text"])["version"] == version
    assert read["content"][1]["text"].endswith("The cache lives on host h1.\n")
    assert '"path": "first.md"' in call("memory_search", query="cache host", limit="3")["content"][1]["text"]
    assert call("memory_read", path="../escape")["isError"] is True
    uris = [resource["uri"] for resource in ask("resources/list")["resources"]]
    assert uris == ["memory://project/MEMORY.md", "memory://project/first.md"]
    assert "first.md" in ask("resources/read", "--uri", uris[0])["contents"][0]["text"]
    assert {prompt["name"] for prompt in ask("prompts/list")["prompts"]} == {"remember", "recall"}
