"""Of a memory that git keeps the history alone is purged, once its files are as they should be."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.app import Memstore
from memstore.core.forgetting import secret_of
from memstore.errors import PlaceRefused
from memstore.store import redacting
from memstore.upkeep import purging
from memstore.upkeep.purging import Purged, Wanted
from memstore.world import World
from tests.files.desk import topic

SECRET = "hunter2-Zaubertrank"


def git(cwd: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


def purge(memories: Memstore, *names: str) -> Purged:
    wanted = Wanted(names) if names else Wanted(secret=secret_of(SECRET))
    return purging.purge(memories, purging.plan(memories, wanted))


def test_the_files_are_somebody_else_s_and_the_history_follows_them(tmp_path: Path):
    folder = tmp_path / "shop/.claude/agent-memory/rev"
    folder.mkdir(parents=True)
    git(tmp_path / "shop", "init", "-q")
    (folder / "style.md").write_text(topic("style", body=f"The key is {SECRET}.\n"))
    (folder / "other.md").write_text(topic("other", body="Words of another kind stay here.\n"))
    git(tmp_path / "shop", "add", ".")
    git(tmp_path / "shop", "commit", "-q", "-m", "memory")
    world = replace(World.real(str(tmp_path / "shop"), "rev"), pause=lambda _: None)
    with Memstore.open(world=world) as memories:
        memories.sync()
        before = (folder / "style.md").read_bytes()
        with pytest.raises(PlaceRefused, match="only reads"):
            purge(memories)
        with pytest.raises(PlaceRefused, match="only reads"):
            purge(memories, "style")
        assert (folder / "style.md").read_bytes() == before and memories.show("style")[0].version == 1
        (folder / "style.md").write_text(topic("style", body="The key is elsewhere.\n"))
        done = purge(memories)
        assert done.whole and done.seq is not None
        with memories.store.view() as connection:
            assert redacting.left_in(connection, [SECRET.encode()]) == []
        (folder / "other.md").unlink()
        assert purge(memories, "other").whole
        assert [memory.path for memory in memories.store.memories(retired=True)] == ["style.md"]
    assert sorted(path.name for path in folder.iterdir()) == ["style.md"]
