"""Agents' own memories with the real client: where it keeps them, and what becomes of what they write there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from memstore.claude.agents import bases, sanitised
from tests.client.api import Model, Say, Use, saying
from tests.client.collision import memory
from tests.client.places import ask, with_plugin
from tests.client.running import Client, Session
from tests.hooks.calls import until


def runs(client: Client, cwd: Path, name: str, scope: str, model: Model) -> Session:
    """A session of an agent that has a memory of its own."""
    definition = {name: {"description": "reviews", "prompt": "You review.", "memory": scope}}
    options = ("--agents", json.dumps(definition), "--agent", name)
    return client.start(cwd, "Have a look at this, please.", model, options=options).finish()


def told(session: Session) -> set[str]:
    """The directories that the agent was told of."""
    said = json.dumps([request.body for request in session.script.requests], ensure_ascii=False)
    return set(re.findall(r"/[^\s`\"]*/agent-memory[^\s`\"]*(?=/[\s`\"])", said))


def test_the_directories_are_where_the_client_has_them(bare: Client, repository: Path):
    below = repository / "sub"
    below.mkdir()
    for name, scope in (("my:rev x", "user"), ("a.b_c", "project"), ("记忆😀", "local")):
        base = bases(str(below), {}, str(bare.home))[scope]
        assert told(runs(bare, below, name, scope, saying(Say("Fine.")))) == {f"{base}/{sanitised(name)}"}
    bare.environment["CLAUDE_CODE_REMOTE_MEMORY_DIR"] = remote = str(repository.parent / "remote")
    for scope, base in bases(str(below), {"CLAUDE_CODE_REMOTE_MEMORY_DIR": remote}, str(bare.home)).items():
        assert told(runs(bare, below, "rev", scope, saying(Say("Fine.")))) == {f"{base}/rev"}


def test_what_an_agent_writes_into_its_memory_has_history_from_the_first_write(
    bare: Client, repository: Path, tmp_path: Path
):
    client = with_plugin(bare, tmp_path / "plugin", repository)
    folder = client.home / ".claude/agent-memory/rev"
    first = memory("port", "the port of staging", "It is 7080.")
    write = Use("Write", {"file_path": str(folder / "port.md"), "content": first})
    runs(client, repository, "rev", "user", saying(write, Say("Noted.")))
    until((folder / ".memstore").exists)
    change = {"file_path": str(folder / "port.md"), "old_string": "7080", "new_string": "7443"}
    read = Use("Read", {"file_path": str(folder / "port.md")})
    session = runs(client, repository, "rev", "user", saying(read, Use("Edit", change), Say("Mended.")))
    until(lambda: len(ask(repository, "--agent", "rev", "log", "port")["operations"]) == 2)
    newest = ask(repository, "--agent", "rev", "log", "port")["operations"][0]
    assert (newest["session"] or "").startswith(session.id)
    assert "7443" in ask(repository, "--agent", "rev", "show", "port")["content"]
