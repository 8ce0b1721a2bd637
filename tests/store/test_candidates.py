"""The short-list of a store: which memories, with which places."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.ranking import BODY, NAME, Pool
from memstore.core.sought import read_prompt
from memstore.store import candidates as module
from memstore.store.candidates import bodies, candidates, found
from memstore.store.search import Filters
from tests.store.test_search import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path / "store.sqlite")
    yield shelf
    shelf.connection.close()


def listed(shelf: Shelf, prompt: str, filters: Filters | None = None) -> Pool:
    return candidates(shelf.connection, read_prompt(prompt).sought, filters or Filters())


def ids(shelf: Shelf, pool: Pool) -> set[str]:
    keys = [one.key for one in pool.candidates]
    return {one.id for one in found(shelf.connection, keys).values()}


def test_a_candidate_tells_where_each_thing_is(shelf: Shelf):
    shelf.put("a", name="lock files", body="the lock is taken twice: lock, then lock")
    pool = listed(shelf, "locks")
    (one,) = pool.candidates
    assert set(one.hits[0][NAME]) == {0}
    assert set(one.hits[0][BODY]) == {1, 5, 7}
    assert one.sizes == (2, 0, 8)


def test_kin_and_forms_are_found_too(shelf: Shelf):
    shelf.put("form", body="she went home")
    shelf.put("kin", body="the postgres server")
    shelf.put("neither", body="nothing of it")
    assert ids(shelf, listed(shelf, "where did they go")) == {"form"}
    assert ids(shelf, listed(shelf, "which database")) == {"kin"}


def test_only_living_memories_that_the_filters_allow(shelf: Shelf):
    shelf.put("live", body="cache")
    shelf.put("gone", body="cache", state="retired")
    shelf.put("other", body="cache", scope="team")
    assert ids(shelf, listed(shelf, "cache", Filters(scopes=("private",)))) == {"live"}


def test_in_a_large_store_the_list_is_bounded_and_rare_things_decide(shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST", 20)
    monkeypatch.setattr(module, "ROWS", 60)
    with shelf.connection:
        for number in range(100):
            shelf.put(
                f"m{number}", body="common words " + ("quagga" if number == 42 else "zebra" if number % 4 else "")
            )
    pool = listed(shelf, "common zebra quagga words")
    assert len(pool.candidates) <= 20
    assert "m42" in ids(shelf, pool)
    assert pool.sought[0].text == "quagga"
    assert pool.rows[0] == 1


def test_a_thing_that_only_names_have_is_looked_for_in_a_large_store_too(shelf: Shelf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST", 5)
    with shelf.connection:
        for number in range(10):
            shelf.put(f"m{number}", name="quagga" if number == 3 else "", body="words")
    pool = listed(shelf, "quagga")
    assert ids(shelf, pool) == {"m3"}
    assert pool.rows == (0.0,)


def test_a_long_prompt_is_told_by_its_rarest_things(shelf: Shelf):
    with shelf.connection:
        for number in range(40):
            shelf.put(f"m{number}", body=f"common w{number} " + ("quagga" if number == 7 else ""))
    filler = " ".join(f"absent{number} common{number % 3}" for number in range(150))
    pool = listed(shelf, f"{filler} common quagga")
    assert pool.sought[0].text == "quagga"
    assert len(pool.sought) <= 12
    assert "m7" in ids(shelf, pool)


@pytest.mark.parametrize("prompt", ['"', "a* OR NEAR(b)", "name:x", "') --", "\x00\ud800", "^body", "😀 {name}: x"])
def test_no_prompt_is_syntax(shelf: Shelf, prompt: str):
    shelf.put("a", body="a b x name body")
    listed(shelf, prompt)


def test_the_terms_of_bodies_are_read_by_key(shelf: Shelf):
    shelf.put("a", name="left out", body="My Cache")
    key = listed(shelf, "cache").candidates[0].key
    assert bodies(shelf.connection, [key]) == {key: "my cache"}


def test_an_empty_store_has_no_candidates(shelf: Shelf):
    assert listed(shelf, "anything").candidates == []
    assert listed(shelf, "").candidates == []
