"""The short-list for a prompt, through the app."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.app import Memstore
from memstore.core.plan import Wanted
from memstore.recalling import ranked
from memstore.world import World


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memstore]:
    (tmp_path / "project").mkdir()
    world = replace(
        World.real(str(tmp_path / "project")),
        environment={"MEMSTORE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        home=str(tmp_path),
    )
    with Memstore.open(world=world) as memories:
        yield memories


def paths(memories: Memstore, text: str, limit: int = 10) -> list[str]:
    return [one.memory.path for one in ranked(memories, text, limit)]


def test_the_best_comes_first_with_its_reasons(memories: Memstore):
    memories.write("deploy-window", Wanted(body="We deploy on Tuesdays.", description="when to deploy"))
    memories.write("tea", Wanted(body="Tuesdays are for tea."))
    first, second = ranked(memories, "when do we deploy? on tuesdays?")
    assert (first.memory.path, second.memory.path) == ("deploy-window.md", "tea.md")
    assert [(reason.word, reason.fields) for reason in first.reasons] == [
        ("deploy", ("name", "description", "body")),
        ("tuesdays", ("body",)),
    ]
    assert first.score > second.score > 0


def test_what_was_corrected_stands_behind_its_correction_even_if_that_was_not_found(memories: Memstore):
    memories.write("old-port", Wanted(body="Staging listens on 7080."))
    memories.write("new-port", Wanted(body="It is 7443 by now."))
    memories.supersede("old-port", "new-port")
    correction, corrected = ranked(memories, "staging")
    assert (correction.memory.path, corrected.memory.path) == ("new-port.md", "old-port.md")
    assert correction.reasons == ()
    assert corrected.memory.superseded_by == correction.memory.id


def test_what_was_edited_in_its_file_is_found_at_once(memories: Memstore):
    memories.write("cache", Wanted(body="It lives on host h1."))
    folder = memories.place.folder
    assert folder is not None
    file = Path(folder) / "cache.md"
    file.write_text(file.read_text().replace("host h1", "machine quagga"))
    assert paths(memories, "quagga") == ["cache.md"]


def test_retired_memories_and_deleted_files_are_not_handed_out(memories: Memstore):
    memories.write("gone", Wanted(body="quagga"))
    memories.write("swept", Wanted(body="quagga"))
    memories.delete("gone")
    (Path(memories.place.folder or "") / "swept.md").unlink()
    assert paths(memories, "quagga") == []


@pytest.mark.parametrize("text", ["", "the and of", "?", "zyzzyva", "\ud800\x00", "💥" * 300])
def test_what_says_nothing_or_occurs_nowhere_gets_nothing(memories: Memstore, text: str):
    memories.write("cache", Wanted(body="It lives on host h1."))
    assert ranked(memories, text) == []


def test_the_limit_holds(memories: Memstore):
    for number in range(5):
        memories.write(f"note-{number}", Wanted(body="quagga"))
    assert len(paths(memories, "quagga", 3)) == 3
    assert paths(memories, "quagga", 0) == []
