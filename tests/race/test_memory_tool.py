"""Eight processes with the memory tool on one memory: what was acknowledged is there.

The SDK's own helper for files is the control, in `scripts/bench tool`: it keeps about a fifth of it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore import Memstore
from tests.race import tool_workers as workers
from tests.race.crowd import crowd
from tests.race.tool_workers import Place

EIGHT = 8


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return Place(str(tmp_path / "repo"), {name: os.environ[name] for name in ("HOME", "MEMSTORE_HOME")})


def create(place: Place, text: str) -> None:
    with place.tool(0) as tool:
        workers.call(tool, "create", path=workers.PATH, file_text=text)


def shown(place: Place, path: str) -> tuple[str, str]:
    """A file as the store has it, and as it lies in the folder once all is settled."""
    with Memstore.open(place.repository) as memories:
        report = memories.sync()
        assert not report.absorbed and not report.pending, report
        assert memories.place.folder is not None and memories.conflicts() == []
        name = path.removeprefix("/memories/")
        text = (Path(memories.place.folder) / name).read_text()
        if path != workers.INDEX:
            assert memories.show(name)[1].state.content.decode() == text
    with place.tool(0) as tool:
        view = workers.call(tool, "view", path=path)
    return "\n".join(line.partition("\t")[2] for line in view.split("\n")[1:]), text


@pytest.mark.parametrize("path", [workers.PATH, workers.INDEX])
def test_no_inserted_line_is_lost(path: str, place: Place):
    create(place, "first\n")
    told = crowd(EIGHT, workers.insert, place, path, 5)
    text, file = shown(place, path)
    assert text == file
    lines = text.split("\n")
    assert sorted(line for line in lines if line.startswith("line ")) == sorted(line for some in told for line in some)
    assert len(lines) == EIGHT * 5 + 2
    if path == workers.PATH:
        for some in told:  # each writer's own lines stand in its order, the last on top
            assert [line for line in lines if line in some] == some[::-1]


def test_no_replaced_text_is_lost(place: Place):
    create(place, "".join(f"slot {number}: 0.\n" for number in range(EIGHT)))
    crowd(EIGHT, workers.replace, place, 5)
    text, file = shown(place, workers.PATH)
    assert text == file == "".join(f"slot {number}: 5.\n" for number in range(EIGHT))


def test_a_replacement_of_what_has_just_changed_is_refused_and_not_acknowledged(place: Place):
    create(place, "count: 0.\n")
    refused = crowd(EIGHT, workers.count, place, 5)
    assert shown(place, workers.PATH)[0] == f"count: {EIGHT * 5}.\n"
    assert sum(refused) > 0


def test_a_file_is_created_by_one_of_many(place: Place):
    told = crowd(EIGHT, workers.create, place, 12)
    assert sorted(n for some in told for n in some) == list(range(12))
    for number, some in enumerate(told):
        for n in some:
            assert shown(place, f"/memories/n/{n}.md")[0] == f"by {number}"


def test_files_that_all_move_and_delete_never_break_a_command(place: Place):
    assert sum(crowd(EIGHT, workers.shuffle, place, 8)) > EIGHT
    with Memstore.open(place.repository) as memories:
        assert not memories.sync().absorbed
        for memory in memories.memories():
            assert memory.path in ("0.md", "1.md", "2.md")
