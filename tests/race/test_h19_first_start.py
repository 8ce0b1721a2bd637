"""H19: processes that start at the same moment, with no database or an older one, all open and all write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memstore.core.terms import parse_query
from memstore.store import ddl
from memstore.store.search import Filters
from tests.race import workers
from tests.race.crowd import crowd
from tests.store.older import older
from tests.store.stores import check_witness, open_store

PROCESSES = 8
ROUNDS_NEW, ROUNDS_OLDER = 12, 8


def notes(directory: Path) -> list[str]:
    store = open_store(directory)
    found = [memory.path for memory in store.memories()]
    hits = store.search(parse_query("words"), Filters(), 99)
    assert sorted(hit.path for hit in hits) == sorted(found)
    assert len(store.index()) == len(found) + 1
    store.close()
    return found


def test_h19_b_eight_fresh_processes_without_a_database_all_open_and_write(tmp_path: Path):
    for n in range(ROUNDS_NEW):
        place = tmp_path / str(n)
        schemas = crowd(PROCESSES, workers.open_and_write, place)
        assert schemas == [len(ddl.migrations())] * PROCESSES
        assert notes(place) == [f"note-{number}.md" for number in range(PROCESSES)]
    check_witness(tmp_path / "0", tmp_path / "copy")


@pytest.mark.parametrize("version", range(1, len(ddl.migrations())))
def test_h19_c_eight_fresh_processes_on_an_older_schema_all_open_and_write(tmp_path: Path, version: int):
    older(tmp_path / "older", version)
    for n in range(ROUNDS_OLDER):
        place = tmp_path / str(n)
        shutil.copytree(tmp_path / "older", place)
        schemas = crowd(PROCESSES, workers.open_and_write, place)
        assert schemas == [len(ddl.migrations())] * PROCESSES
        assert notes(place) == [*(f"note-{number}.md" for number in range(PROCESSES)), "note.md"]
    check_witness(tmp_path / "0", tmp_path / "copy")
