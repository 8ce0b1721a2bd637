"""H15 and H16 with a watcher that runs: watching is a hint only, and what it does itself is no edit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from memstore.core.plan import Wanted
from tests.files.desk import Desk, topic
from tests.files.watching import Watching, holds, rests, says, until

FILES = 3_000


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, ahead=0.0)
    yield made
    made.close()


def test_h15_three_thousand_files_of_one_loop_are_all_there_after_a_while(desk: Desk):
    with Watching(desk) as watching:
        for number in range(FILES):
            desk.put(f"topic-{number}.md", topic(f"topic-{number}", body=f"Number {number}.\n"))
        until(lambda: desk.memories.store.counts()["live"] == FILES, 120)
    assert len(watching.noted()) == FILES
    assert {memory.version for memory in desk.memories.store.memories()} == {1}
    assert desk.text("topic-2999").endswith("Number 2999.\n")


def test_h16_each_change_makes_one_version_and_its_file_is_not_written(desk: Desk):
    desk.write("e", "Loop test.\n")
    with Watching(desk, interval=0.5) as watching:
        for number in range(5):
            desk.edit("e.md", "Loop test." if number == 0 else f"Edit {number - 1}.", f"Edit {number}.")
            before = desk.stamps()["e.md"]
            until(partial(says, desk, "e", f"Edit {number}."))
            assert desk.stamps()["e.md"] == before
        until(lambda: rests(desk, "e.md"))
        before_all = desk.stamps(), desk.versions()
        assert before_all[1] == {"e.md": 6}
        holds(lambda: (desk.stamps(), desk.versions()) == before_all, 1.5)
    assert [noted.what for noted in watching.noted()] == ["revised"] * 5


def test_h16_a_memory_that_is_put_and_deleted_at_once_stays_deleted(desk: Desk):
    desk.write("e", "Loop test.\n")
    with Watching(desk, interval=0.2) as watching:
        for number in range(10):
            head = desk.head("e")
            assert head is not None
            desk.memories.write("e", Wanted(body=f"Put {number}.\n"), expect=head.token, reason="put")
            desk.memories.delete("e")
            holds(lambda: desk.living() == [] and not (desk.folder / "e.md").exists(), 0.3)
            desk.memories.restore("e")
        desk.memories.delete("e")
        until(lambda: rests(desk, "MEMORY.md"))
        assert desk.living() == []
    # Written, deleted, and brought back ten times, and deleted once more: nothing else made a version.
    assert desk.number("e") == 1 + 10 * 3 + 1
    assert watching.noted() == []
