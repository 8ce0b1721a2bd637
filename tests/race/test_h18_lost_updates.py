"""H18: cycles of read, change and write from many processes lose nothing and double nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstore.core.model import NEW
from memstore.core.plan import OnConflict, Wanted
from tests.race import workers
from tests.race.crowd import crowd
from tests.store.stores import at, check_witness, create, open_store, put, writer_of

PROCESSES = 8
ROUNDS = 50


def expected(rounds: int = ROUNDS) -> list[str]:
    return sorted(f"line {number}-{n}" for number in range(PROCESSES) for n in range(rounds))


def lines_of(directory: Path) -> list[str]:
    store = open_store(directory)
    found = [line for line in at(store, "list").state.content.decode().split("\n") if line.startswith("line ")]
    numbers = [version.number for version in store.versions(at(store, "list").id)]
    assert numbers == list(range(1, len(numbers) + 1))
    store.close()
    return found


def test_h18_a_eight_processes_that_expect_a_version_lose_no_line(tmp_path: Path):
    store = open_store(tmp_path / "store")
    put(store, create("list"))
    store.close()
    crowd(PROCESSES, workers.revise, tmp_path / "store", ROUNDS)
    assert sorted(lines_of(tmp_path / "store")) == expected()
    store = open_store(tmp_path / "store")
    assert at(store, "list").version == 1 + PROCESSES * ROUNDS
    store.close()
    check_witness(tmp_path / "store", tmp_path / "copy")


@pytest.mark.parametrize("on_conflict", ["merge", "refuse"])
def test_h18_d_writers_that_go_on_from_the_answer_they_got_lose_no_line(tmp_path: Path, on_conflict: OnConflict):
    store = open_store(tmp_path / "store")
    writer_of(store).write("list", Wanted(body="start\n"), expect=NEW, on_conflict="refuse")
    store.close()
    tokens = crowd(PROCESSES, workers.write, tmp_path / "store", ROUNDS, on_conflict)
    assert sorted(lines_of(tmp_path / "store")) == expected()
    every = [token for seen in tokens for token in seen]
    assert len(set(every)) == len(every) == PROCESSES * ROUNDS


def test_appends_to_a_memory_that_nobody_has_made_yet_all_arrive(tmp_path: Path):
    crowd(PROCESSES, workers.append, tmp_path / "store", 20)
    assert sorted(lines_of(tmp_path / "store")) == expected(20)


def test_one_of_many_makes_a_memory_and_the_others_are_told(tmp_path: Path):
    for n in range(5):
        told = crowd(PROCESSES, workers.create_one_name, tmp_path / str(n))
        assert sorted(told) == ["made"] + ["told"] * (PROCESSES - 1)


def test_one_call_repeated_by_many_at_once_happens_once_and_all_get_its_answer(tmp_path: Path):
    for n in range(5):
        told = crowd(PROCESSES, workers.create_twins, tmp_path / str(n))
        assert sorted(what for what, _ in told) == ["created"] + ["repeated"] * (PROCESSES - 1)
        assert len({token for _, token in told}) == 1


def test_a_name_that_many_want_belongs_to_one_at_a_time(tmp_path: Path):
    won = crowd(4, workers.compete_for_names, tmp_path / "store", 10)
    assert sum(won) > 0
    store = open_store(tmp_path / "store")
    assert len(store.memories()) == 4
    assert len({memory.path for memory in store.memories()}) == 4
    store.close()
    check_witness(tmp_path / "store", tmp_path / "copy")
