"""How often the right memory stands first: queries in Chinese, Japanese, Korean and mixed scripts, and identifiers,
all asked of one store that holds the memories of all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from memstore.app import Memstore
from memstore.core.changes import ChangeSet, Create
from memstore.core.frontmatter import compose
from memstore.core.ids import uuid7
from memstore.core.model import SHELF, Provenance
from memstore.recalling import ranked
from memstore.semantic import is_installed
from memstore.world import World

SETS = sorted((Path(__file__).parent / "data" / "recall").glob("*.json"), key=lambda path: path.name)
SHARE = 0.95


class Asked(NamedTuple):
    text: str
    answer: str  # the path of the right memory


def read(path: Path) -> tuple[dict[str, bytes], list[Asked]]:
    """The memories of a set by path, and what is asked."""
    held = json.loads(path.read_text(encoding="utf-8"))
    texts = {
        f"{path.stem}-{number:02}.md": compose(name, description, type, body)
        for number, (name, description, type, body) in enumerate(held["memories"])
    }
    paths = dict(zip((name for name, *_ in held["memories"]), texts, strict=True))
    return texts, [Asked(text, paths[name]) for text, name in held["queries"]]


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memstore]:
    directory = tmp_path_factory.mktemp("recall")
    (directory / "project").mkdir()
    world = replace(
        World.real(str(directory / "project")),
        environment={"MEMSTORE_HOME": str(directory / "home"), "HOME": str(directory)},
        home=str(directory),
    )
    texts = {path: text for held in SETS for path, text in read(held)[0].items()}
    made = tuple(
        Create(uuid7(number, bytes(10)), SHELF, path, text) for number, (path, text) in enumerate(texts.items(), 1)
    )
    with Memstore.open(world=world) as memories:
        memories.store.apply(ChangeSet(uuid7(0, bytes(10)), "import", 0, Provenance("import", "test"), made))
        yield memories


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_nearly_every_query_of_a_set_has_its_memory_first(memories: Memstore, path: Path):
    _, asked = read(path)
    missed = [one for one in asked if [hit.memory.path for hit in ranked(memories, one.text, 1)] != [one.answer]]
    assert len(missed) <= (1 - SHARE) * len(asked), missed


@pytest.mark.skipif(not is_installed(), reason="memstore[semantic] is not installed")
@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_meaning_takes_no_memory_of_another_script_from_its_place(
    memories: Memstore, path: Path, monkeypatch: pytest.MonkeyPatch
):
    environment = {**memories.world.environment, "MEMSTORE_RECALL_SEMANTIC": "true"}
    monkeypatch.setattr(memories, "world", replace(memories.world, environment=environment))
    test_nearly_every_query_of_a_set_has_its_memory_first(memories, path)


def test_the_sets_hold_at_least_two_hundred_queries():
    assert sum(len(read(path)[1]) for path in SETS) >= 200
