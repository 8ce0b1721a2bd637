"""Tidying a store: one operation, done over what stands there by then, taken back whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memstore import Memstore, Wanted
from memstore.tidying import Proposal

TEXT = "Use bun to install dependencies in this repository, and commit the lock file with each change you make."
NEAR = TEXT.replace("each", "every")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A directory that looks like a repository."""
    place = tmp_path / "repo"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return place


@pytest.fixture
def memories(repo: Path):
    """Two copies of a memory, one that is near to them, and one that is past its date."""
    with Memstore.open(str(repo)) as found:
        for name, body in (("a", TEXT), ("b", TEXT), ("c", NEAR), ("d", "The freeze holds until 2020-01-01.")):
            found.write(name, Wanted(body=body, description="d"))
        yield found


def everything(proposals: Sequence[Proposal]) -> Sequence[Proposal]:
    return proposals


def texts(memories: Memstore) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(memories.place.folder or "").iterdir()}


def test_what_is_safe_is_one_operation_and_undo_brings_back_every_byte(memories: Memstore):
    before = texts(memories)
    done = memories.tidy()
    assert [(one.kind, one.paths) for one in done.done] == [("duplicate", ("a.md", "b.md"))]
    assert memories.store.memories(memories.shelf, retired=True)[1].state.superseded_by == memories.show("a")[0].id
    assert texts(memories).keys() == before.keys() - {"b.md"}
    memories.undo(str(done.seq))
    assert texts(memories) == before


def test_all_of_it_is_one_operation_that_loses_no_line(memories: Memstore):
    before = texts(memories)
    done = memories.tidy(everything)
    assert [one.kind for one in done.done] == ["duplicate", "near", "expired"]
    assert [memory.path for memory in memories.memories()] == ["a.md"]
    assert {TEXT, NEAR} <= set(texts(memories)["a.md"].decode().split("\n"))
    memories.undo(str(done.seq))
    assert texts(memories) == before


def test_a_dry_run_changes_nothing_and_a_second_one_finds_nothing_more(memories: Memstore):
    seq = memories.log(limit=1)[0][0].seq
    assert [one.kind for one in memories.tidy(dry_run=True).proposals] == ["duplicate", "near", "expired"]
    assert memories.log(limit=1)[0][0].seq == seq
    assert memories.tidy().seq == seq + 1
    again = memories.tidy()
    assert (again.seq, again.done, [one.kind for one in again.proposals]) == (None, (), ["near", "expired"])


def test_what_somebody_changed_while_a_person_chose_is_left(memories: Memstore, repo: Path):
    def slow(proposals: Sequence[Proposal]) -> Sequence[Proposal]:
        with Memstore.open(str(repo)) as other:
            other.append("c", "Theirs.")
        return proposals

    done = memories.tidy(slow)
    assert [one.kind for one in done.done] == ["duplicate", "expired"]
    assert memories.show("c")[1].state.content.endswith(b"Theirs.\n")


def test_a_repeated_operation_does_nothing_more(memories: Memstore):
    first = memories.tidy(operation="once")
    memories.write("e", Wanted(body=TEXT, description="d"))
    again = memories.tidy(operation="once")
    assert (again.repeated, again.seq) == (True, first.seq)
    assert "e.md" in texts(memories)


def test_files_that_are_no_memories_are_neither_touched_nor_missed(memories: Memstore):
    folder = Path(memories.place.folder or "")
    (folder / "logs" / "2026").mkdir(parents=True)
    (folder / "logs" / "2026" / "x.md").write_text(TEXT)
    (folder / "linked.md").symlink_to("/etc/hosts")
    with open(folder / "MEMORY.md", "a", encoding="utf-8") as index:
        index.write("- [log](logs/2026/x.md)\n- [linked](linked.md)\n- [nothing](nothing.md) — by hand\n")
    done = memories.tidy(everything)
    assert [one.paths for one in done.proposals if one.kind == "pointer"] == [("nothing.md",)]
    assert (folder / "logs" / "2026" / "x.md").read_text() == TEXT
    assert (folder / "MEMORY.md").read_text().endswith("- [nothing](nothing.md) — by hand\n")
    assert (folder / "linked.md").is_symlink()
