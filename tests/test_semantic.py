"""Likeness of meaning: the setting that asks for it, and the optional extra itself where it is installed."""

from __future__ import annotations

import socket
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memstore import semantic
from memstore.app import Memstore
from memstore.core.model import SHELF
from memstore.core.plan import Wanted
from memstore.errors import ExtraMissing
from memstore.recalling import ranked, ranked_in
from memstore.store.search import Filters
from memstore.world import World

ROOT = Path(__file__).parents[1]

with_the_extra = pytest.mark.skipif(
    not semantic.is_installed(), reason="memstore[semantic] is not installed; scripts/semantic test runs this"
)


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


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    semantic.installed.cache_clear()
    yield
    semantic.installed.cache_clear()


def switched_on(memories: Memstore) -> None:
    environment = {**memories.world.environment, "MEMSTORE_RECALL_SEMANTIC": "true"}
    memories.world = replace(memories.world, environment=environment)


def two_notes(memories: Memstore) -> None:
    memories.write("vehicles", Wanted(body="The car is at the garage; the mechanic wants a new bumper."))
    memories.write("zoo", Wanted(body="The car park of the zoo: giraffes and elephants, lions, penguins."))


def test_pyproject_and_the_hint_name_the_same_requirements():
    with open(ROOT / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert tuple(extras["semantic"]) == semantic.REQUIREMENTS


def test_without_the_setting_nothing_of_it_is_asked_for(memories: Memstore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(semantic, "is_installed", lambda: pytest.fail("nobody asked for it"))
    two_notes(memories)
    assert len(ranked(memories, "the car")) == 2
    assert memories.recall("where is the car with the bumper?").memories


def test_what_is_asked_for_and_absent_is_refused_with_the_step(memories: Memstore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(semantic, "is_installed", lambda: False)
    two_notes(memories)
    switched_on(memories)
    for ask in (lambda: ranked(memories, "the car"), lambda: memories.recall("the car"), lambda: memories.recall("?")):
        with pytest.raises(ExtraMissing, match="not installed") as refused:
            ask()
        assert f"{sys.executable} -m pip install 'wordllama" in refused.value.hint
        assert "memstore config set recall.semantic false" in refused.value.hint


def test_what_is_alike_comes_first_and_the_texts_compared_are_those_of_the_memories(memories: Memstore):
    two_notes(memories)
    given: list[str] = []

    def likeness(prompt: str, texts: Sequence[str]) -> list[float]:
        assert prompt == "the car"
        given.extend(texts)
        return [float("zoo" in text) for text in texts]

    with memories.store.view() as connection:
        found = ranked_in(connection, "the car", 10, Filters(scopes=(SHELF.scope,)), likeness)
        assert ranked_in(connection, "unheard", 10, Filters(scopes=(SHELF.scope,)), likeness) == []
    assert [one.memory.path for one in found] == ["zoo.md", "vehicles.md"]
    assert sorted(given) == sorted(memories.show(name)[0].state.content.decode() for name in ("zoo", "vehicles"))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("", []), (" \n\t ", []), ("a few words", [11]), ("x" * 650, [300, 300, 50]), ("\ud800", [1])],
)
def test_a_text_is_read_in_pieces(text: str, sizes: list[int]):
    assert [len(piece) for piece in semantic.pieces(text)] == sizes


def test_pieces_are_cut_between_words_and_only_the_beginning_is_read():
    text = "word " * 1_000
    found = semantic.pieces(text)
    assert " ".join(found) == text.strip() and max(map(len, found)) <= 300
    assert sum(map(len, semantic.pieces("x" * 100_000))) == 32_000


@with_the_extra
def test_meaning_counts_besides_words_without_the_network(memories: Memstore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("no network"))
    memories.write("zoo", Wanted(body="The car park of the zoo: giraffes and elephants, lions, penguins."))
    memories.write("vehicles", Wanted(body="That car is at the garage; its mechanic wants a new bumper today."))
    question = "who repairs a broken automobile, a car?"
    switched_on(memories)
    first, second = ranked(memories, question)
    assert (first.memory.path, second.memory.path) == ("vehicles.md", "zoo.md")
    assert "wordllama" not in sys.modules
    memories.write("fruit", Wanted(body="Bananas."))
    model = semantic.installed()
    texts = ["Bananas and apples.", "A contract with the bank.", "", "\ud800\x00 💥锁"]
    alike = model.likeness("which fruit is ripe?", texts)
    assert alike[0] > alike[1] >= 0 and alike[2] == 0 and 0 <= alike[3] <= 1
    assert model.likeness("which fruit is ripe?", texts) == alike
    assert model.likeness("", texts) == [0.0] * 4


@with_the_extra
def test_what_is_kept_of_texts_has_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(semantic, "_KEPT", 10)
    model = semantic.installed()
    for number in range(20):
        model.likeness("tea", [f"tea {number}"])
    assert len(model._kept) == 5


@with_the_extra
def test_files_that_are_not_as_they_should_be_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "weights").mkdir()
    header = b'{"embedding.weight": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}'
    content = len(header).to_bytes(8, "little") + header + bytes(4)
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(content)
    with pytest.raises(ExtraMissing, match="F32"):
        semantic.Model(str(tmp_path))
