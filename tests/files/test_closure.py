"""Copy to tests/files/ and run: the index names files that are not there."""

from __future__ import annotations

import errno

from tests.files.desk import Desk, topic
from tests.files.outages import INDEX, check_closure, check_stands, directory_there, failing, pending


def test_a_memory_whose_place_is_taken_is_not_named_by_the_index(desk: Desk):
    # work.held (blocked names) with base None never reach outcome.absent, so MEMORY.md names them
    check_stands(desk, directory_there, "it is a directory", ("b.md",))


def test_a_deleted_memorys_file_stays_while_the_index_that_names_it_cannot_be_written(desk: Desk):
    # carry_out takes topics away although the index put has failed
    desk.put("a.md", topic("a"))
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    with failing(errno.EPERM, "MEMORY.md")(desk.folder):
        saved = desk.memories.delete("a")
        assert "MEMORY.md" in pending(saved.files)
        check_closure(desk)
    desk.sync()
    assert "a.md" not in desk.read("MEMORY.md") and not (desk.folder / "a.md").exists()
    assert desk.sync().quiet


def test_a_renamed_memorys_old_file_stays_while_the_index_that_names_it_cannot_be_written(desk: Desk):
    desk.put("a.md", topic("a"))
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    with failing(errno.EPERM, "MEMORY.md")(desk.folder):
        saved = desk.memories.rename("a", "c")
        assert "MEMORY.md" in pending(saved.files)
        check_closure(desk)
    desk.sync()
    check_closure(desk)
    assert not (desk.folder / "a.md").exists() and (desk.folder / "c.md").exists()
    assert desk.sync().quiet
