"""Several projectors of one folder, and of two: a finished write is on disk or said to be pending, and all come to
rest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.app import Memstore
from memstore.files import temporary
from scripts.proofs.client import resaved
from tests.files.desk import Desk, topic
from tests.files.outages import check_closure
from tests.race import projectors
from tests.race.crowd import crowd
from tests.race.projectors import Told


@pytest.fixture
def variables(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "MEMSTORE_HOME": str(home / "memstore")}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return tmp_path / "repo"


@pytest.fixture
def memories(place: Path, variables: dict[str, str]) -> Iterator[Memstore]:
    with projectors.opened(place, variables) as made:
        yield made


def _all_told(told: list[Told], writes: int) -> None:
    assert [missing for _, _, missing in told if missing] == []
    shown, late = sum(one[0] for one in told), sum(one[1] for one in told)
    assert shown + late == writes
    assert shown > writes * 0.9, f"{late} of {writes} were pending"


def _at_rest(memories: Memstore) -> Path:
    assert memories.place.folder is not None
    folder = Path(memories.place.folder)
    memories.sync()
    memories.world.pause(0)
    assert memories.sync().quiet
    for memory in memories.store.memories():
        assert (folder / memory.path).read_bytes() == memory.state.content
    assert [name for name in os.listdir(folder) if temporary.is_ours(name)] == []
    assert memories.store.conflicts() == []
    return folder


@pytest.mark.parametrize("shared", [True, False], ids=["one memory", "a memory each"])
def test_a_write_that_returned_is_on_disk_or_said_to_be_pending(
    place: Path, variables: dict[str, str], memories: Memstore, shared: bool
):
    told = crowd(8, projectors.write_and_look, place, variables, 20, shared)
    _all_told(told, 160)
    folder = _at_rest(memories)
    if shared:
        lines = [line for line in (folder / "list.md").read_text().split("\n") if line.startswith("line ")]
        assert sorted(lines) == sorted(f"line {number}-{n}" for number in range(8) for n in range(20))
    else:
        assert {memory.version for memory in memories.store.memories()} == {20}


def test_new_memories_of_all_are_on_disk_and_in_the_index(place: Path, variables: dict[str, str], memories: Memstore):
    told = crowd(6, projectors.create_and_look, place, variables, 12)
    _all_told(told, 72)
    folder = _at_rest(memories)
    index = (folder / "MEMORY.md").read_text()
    assert all(index.count(f"({memory.path})") == 1 for memory in memories.store.memories())
    assert len(memories.store.memories()) == 72


def _mixed(barrier: object, number: int, *given: object) -> object:
    work = projectors.edit_by_hand if number % 3 == 0 else projectors.write_and_look
    more = given if number % 3 == 0 else (*given, number % 3 == 1)
    return work(barrier, number, *more)  # type: ignore[arg-type]  # as `crowd` passes them on


def test_writers_and_people_with_editors_lose_nothing_to_each_other(
    place: Path, variables: dict[str, str], memories: Memstore
):
    told = crowd(6, _mixed, place, variables, 15)
    assert [missing for _, _, missing in told if missing] == []
    folder = _at_rest(memories)
    for number in (0, 3):
        assert [line for line in (folder / f"hand-{number}.md").read_text().split("\n") if line.startswith("line")] == [
            f"line {number}-{n}" for n in range(15)
        ]
    assert len([line for line in (folder / "list.md").read_text().split("\n") if line.startswith("line ")]) == 30


# Coming to rest beside a client that stamps


SHAPES = {
    "plain": topic("A Name With Words", "d, and more: words"),
    "other-letters": topic("记忆", "短い説明"),
    "client": '---\nname: client\ndescription: "d"\nmetadata:\n  type: user\n  tags:\n    - one\n    - two\n---\n\nB\n',
    "lines": topic("lines").replace("\n", "\r\n"),
    "mark": "\ufeff" + topic("mark"),
    "bare": "no header at all\n",
    "broken": "---\nname: [unclosed\n---\n\nBody.\n",
    "unclosed": "---\nname: unclosed\nBody without an end\n",
    "extra": "---\nname: x\ndescription: d\nowner: me\ncreated: 2026-03-01\ntype: feedback\n---\n\n\n\nBody",
    "no-name": "---\ndescription: only that\n---\nBody\n",
}


def _save_as_the_client(desk: Desk, number: int) -> None:
    for path in desk.folder.glob("*.md"):
        if path.name != "MEMORY.md":
            after = resaved(path.read_bytes(), f"session-{number}", f"2026-03-01T10:00:{number:02}.000Z")
            path.write_bytes(after)


def test_two_folders_with_a_client_each_that_stamps_rest_within_two_rounds(tmp_path: Path):
    desk = Desk(tmp_path)
    for name, text in SHAPES.items():
        desk.put(f"{name}.md", text)
    desk.sync()
    there = desk.second()
    there.sync()
    versions = desk.versions()
    for number in range(4):
        _save_as_the_client(desk, 2 * number)
        _save_as_the_client(there, 2 * number + 1)
        stamps = desk.stamps(), there.stamps()
        reports = [desk.sync(), there.sync(), desk.sync(), there.sync()]
        assert desk.versions() == versions, number
        assert (desk.stamps(), there.stamps()) == stamps
        assert all(report.absorbed == () and report.projected == () for report in reports)
        assert reports[2].quiet and reports[3].quiet
    desk.close()


def test_an_edit_beside_stamping_clients_is_one_version_and_rests_within_two_rounds(tmp_path: Path):
    desk = Desk(tmp_path)
    for name, text in SHAPES.items():
        desk.put(f"{name}.md", text)
    desk.put("MEMORY.md", "# Mine\n- [P](plain.md)\n")
    desk.sync()
    there = desk.second()
    there.sync()
    versions = desk.versions()
    for name in SHAPES:
        path = there.folder / f"{name}.md"
        path.write_bytes(path.read_bytes().rstrip(b"\r\n") + b"\nAn agent's line.\n")
    written: list[tuple[str, ...]] = []
    for number in range(4):
        _save_as_the_client(there, number)
        there.sync()
        report = desk.sync()
        _save_as_the_client(desk, 10 + number)
        written.append((*report.projected, *there.sync().projected, *desk.sync().projected))
    assert sorted(written[0]) == sorted(f"{name}.md" for name in SHAPES)
    assert written[1:] == [(), (), ()]
    assert desk.versions() == {path: number + 1 for path, number in versions.items()}
    assert desk.memories.store.conflicts() == [] and desk.set_aside() == []
    for name in SHAPES:
        assert "An agent's line." in desk.read(f"{name}.md") and "An agent's line." in there.read(f"{name}.md")
    check_closure(desk)
    desk.close()


def test_projectors_of_one_folder_rest_beside_clients_that_save_whatever_changed(
    place: Path, variables: dict[str, str], memories: Memstore
):
    folder = Path(str(memories.place.folder))
    folder.mkdir(parents=True)
    for name, text in SHAPES.items():
        (folder / f"{name}.md").write_bytes(text.encode())
    (folder / "MEMORY.md").write_text("# Mine\n")
    memories.sync()
    versions = {memory.path: memory.version for memory in memories.store.memories()}
    names = [f"{name}.md" for name in SHAPES]
    told = crowd(2, projectors.project_and_stamp, place, variables, names, 8)
    assert min(saves for saves, _, _ in told) >= len(SHAPES) / 2
    assert sum(wrote for _, wrote, _ in told) == 0 and sum(took for _, _, took in told) == 0, told
    assert {memory.path: memory.version for memory in memories.store.memories()} == versions
    memories.sync()
    assert memories.sync().quiet
