"""Agents' own memories in sessions: real processes of the hook see what is written there, and a prompt names them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from memstore.core.plan import Wanted
from memstore.working import adopt
from memstore.world import World
from tests.files.desk import Desk, topic
from tests.hooks.calls import Session, at_rest, settled, until


@dataclass
class Own(Desk):
    """The memory of an agent, in the same repository."""

    whose: str = ""

    def world(self) -> World:
        return replace(super().world(), whose=self.whose)


@pytest.fixture
def rev(desk: Desk, tmp_path: Path) -> Iterator[Own]:
    """The memory of an agent, which an agent's first write has brought into a store."""
    desk.folder = Path(desk.memories.world.home) / ".claude/agent-memory/rev"
    desk.folder.mkdir(parents=True)
    Session(desk, "first").writes("port.md", topic("port", "the port of staging", "a\nb\nc\n"))
    until((desk.folder / ".memstore").exists)
    made = Own(tmp_path, ahead=0.0, whose="rev")
    at_rest(made)
    yield made
    at_rest(made)
    made.close()


def test_an_agents_first_write_gives_its_memory_a_store_and_later_ones_are_merged(rev: Own):
    one, two = Session(rev, "one", agent="a"), Session(rev, "two", agent="b")
    one.reads("port.md")
    two.reads("port.md")
    one.writes("port.md", topic("port", "the port of staging", "a1\nb\nc\n"))
    two.writes("port.md", topic("port", "the port of staging", "a\nb\nc2\n"))
    settled(rev, lambda: b"a1\nb\nc2\n" in rev.memories.show("port")[1].state.content)
    assert {step.provenance.session for step, _ in rev.memories.log("port")} >= {"one/a", "two/b"}
    assert "a1\nb\nc2\n" in (rev.folder / "port.md").read_text()


def test_a_prompt_that_names_the_agent_is_told_from_its_memory_once(desk: Desk, rev: Own):
    desk.memories.write("staging-port", Wanted(body="Staging listens on 1.", description="port of staging"))
    rev.memories.write("staging-port", Wanted(body="Staging listens on 7443.", description="port of staging"))
    session, prompt = Session(desk, "s"), "@agent-rev which port does staging listen on?"
    told = session.hook("UserPromptSubmit", prompt=prompt).context
    assert "> Staging listens on 7443." in told and "own memory of the agent rev:user" in told
    assert "listens on 1." not in told
    assert "7443" not in session.hook("UserPromptSubmit", prompt=prompt).context
    assert "listens on 1." in session.hook("UserPromptSubmit", prompt=prompt.replace("-rev", "-none")).context
    session.starts("compact")
    assert "7443" in session.hook("UserPromptSubmit", prompt=prompt).context


def test_an_agents_memory_answers_where_the_repository_has_none(desk: Desk, rev: Own):
    assert desk.memories.memories() == []
    prompt = "@agent-rev which port does staging listen on?"
    assert "own memory of the agent" in Session(desk, "s").hook("UserPromptSubmit", prompt=prompt).context


def test_in_a_checkout_only_what_git_keeps_or_never_keeps_is_taken_in_unasked(tmp_path: Path, home: Path):
    repo = tmp_path / "shop"
    repo.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
    files = {}
    for name, above in (("kept", "agent-memory"), ("new", "agent-memory"), ("own", "agent-memory-local")):
        files[name] = repo / ".claude" / above / name / "port.md"
        files[name].parent.mkdir(parents=True)
        files[name].write_text(topic("port"))
    subprocess.run(["git", "add", str(files["kept"])], cwd=repo, check=True)
    here = Path.cwd()
    try:
        for file in (*files.values(), repo / "src" / "agent-memory.md", repo / ".claude/agent-memory/x.md"):
            adopt(str(file), str(repo))
    finally:
        os.chdir(here)
    assert [name for name, file in files.items() if (file.parent / ".memstore").exists()] == ["own"]
    roots = (home / "memstore" / "roots").iterdir()
    assert sorted(json.loads(root.read_text())["root"].rsplit("/", 1)[1] for root in roots) == ["kept", "own"]
