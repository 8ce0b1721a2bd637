"""A projection after one write touches the files that it must, and none of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from memstore.files import temporary
from memstore.files.folder import Folder
from tests.files.desk import Desk, topic

DASH = "\u2014"
FILES = 200


@pytest.fixture
def full(desk: Desk) -> Iterator[Desk]:
    """A folder of two hundred files: `hand.md` has a line by hand, all others have one of memstore's own."""
    for number in range(FILES - 2):
        desk.put(f"n{number:03}.md", topic(f"n{number:03}", "what it is"))
    desk.put("hand.md", topic("hand"))
    desk.put("MEMORY.md", f"# Mine\n\n- [Hand](hand.md) {DASH} in my own words\n")
    desk.sync()
    desk.sync(70)
    desk.write("hand", "With a real write all get their lines.\n")
    desk.sync(70)
    assert desk.sync().quiet
    yield desk


def touched(desk: Desk, act: Callable[[], object]) -> tuple[set[str], int]:
    """The names whose file, time or size is another one, and how many files were written for it."""
    before, written, write = desk.stamps(), 0, temporary.write

    def counted(*given: Any) -> tuple[str, int]:
        nonlocal written
        written += 1
        return write(*given)

    with mock.patch.object(temporary, "write", counted):
        act()
    after = desk.stamps()
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}, written


ACTS: dict[str, tuple[Callable[[Desk], object], set[str], int]] = {
    "a body": (lambda desk: desk.write("n007", "changed\n"), {"n007.md"}, 1),
    "an append": (lambda desk: desk.memories.append("n007", "more"), {"n007.md"}, 1),
    "a description": (
        lambda desk: desk.memories.set_field("n007", "description", "another word"),
        {"n007.md", "MEMORY.md"},
        2,
    ),
    "a description behind a line by hand": (
        lambda desk: desk.memories.set_field("hand", "description", "another word"),
        {"hand.md"},
        1,
    ),
    "a type": (lambda desk: desk.memories.set_field("n007", "type", "user"), {"n007.md"}, 1),
    "a new one": (lambda desk: desk.write("brand-new", "text\n"), {"brand-new.md", "MEMORY.md"}, 2),
    "a deletion": (lambda desk: desk.memories.delete("n007"), {"n007.md", "MEMORY.md"}, 1),
    "another name": (lambda desk: desk.memories.rename("n007", "m"), {"n007.md", "m.md", "MEMORY.md"}, 2),
    "a pin": (lambda desk: desk.memories.pin("hand"), set(), 0),
    "the same again": (lambda desk: desk.write("n007", "Body.\n"), set(), 0),
    "a read": (lambda desk: (desk.memories.search("words"), desk.memories.show("n007")), set(), 0),
}


@pytest.mark.parametrize("what", ACTS)
def test_one_write_touches_its_topic_and_the_index_only_where_its_line_changes(full: Desk, what: str):
    act, names, written = ACTS[what]
    assert touched(full, lambda: act(full)) == (names, written)
    assert touched(full, full.sync) == (set(), 0)


def test_an_edit_by_hand_touches_nothing_else_and_opens_one_file(full: Desk):
    full.edit("n007.md", "Body.", "Body, by hand.")
    opened: list[str] = []
    read = Folder.read

    def counted(self: Folder, path: str) -> object:
        opened.append(path)
        return read(self, path)

    with mock.patch.object(Folder, "read", counted):
        assert touched(full, full.sync) == (set(), 0)
    assert set(opened) == {".memstore", "n007.md"}
    assert "by hand" in full.text("n007")


def test_in_a_second_folder_the_same_files_are_touched(full: Desk):
    there = full.second()
    there.sync()
    there.sync(70)
    full.write("n007", "changed\n")
    full.memories.set_field("n008", "description", "another word")
    assert touched(there, there.sync) == ({"n007.md", "n008.md", "MEMORY.md"}, 3)
    assert touched(full, full.sync) == (set(), 0)
