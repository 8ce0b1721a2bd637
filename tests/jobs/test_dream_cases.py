"""The dream that deletes: what users of other tools lost in a night, done to a copy of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstore.core.model import SHELF
from memstore.jobs.dream import SHARE
from memstore.jobs.dream_held import accept
from memstore.store import steps
from tests.jobs import desk
from tests.jobs.night import Night, deletes, reads, writes
from tests.messages_api import Say, Use
from tests.store.stores import writer_of

NAMES = tuple(f"pref-{number:02}" for number in range(20))
GONE = NAMES[:18]


def twenty(night: Night, kind: str) -> None:
    """The memories, and what else lies in the folder and came into the store with it."""
    for number, name in enumerate(NAMES):
        night.keep(name, f"preference {number}", type=kind)
    desk.put(night.store, desk.create("2026-03-01", b"daily note\n"))


def answers(kind: str = "feedback") -> list[object]:
    """Deletes 18 topics, merges 2, rewrites the index to one line, deletes the daily note and a foreign file."""
    merged = writes("pref-18", "preference 18", "preference 19", "about pref-19", type=kind, sources=["pref-19.md"])
    index = {"file_path": "MEMORY.md", "reason": "tidy"}
    foreign = Use("Delete", {"file_path": "unrelated.txt", "reason": "tidy"})
    return [
        reads(*NAMES, "2026-03-01"),
        (
            *(deletes(name, "it is a preference") for name in GONE), merged,
            Use("Write", {**index, "content": "- all is well"}),
            Use("Edit", {**index, "old_string": "- [pref-00](pref-00.md) — about pref-00", "new_string": ""}),
            deletes("2026-03-01", "old"), foreign,
        ),
        (deletes("pref-19", "said twice", into="pref-18.md"),),
        Say("Tidied up."),
    ]  # fmt: skip


def test_h30_what_speaks_for_the_person_is_not_deleted_without_the_person(night: Night):
    twenty(night, "feedback")
    files, index = night.files(), night.index()
    report = night.dream(*answers())
    told = "\n".join(night.refusals())
    assert told.count("it speaks for the person: merge it into a memory of its type") == 18
    assert told.count("MEMORY.md is not written") == 2
    assert "Delete '2026-03-01.md': it is the note of a day" in told and "Delete 'unrelated.txt': " in told
    assert night.steps() == [("revise", "pref-18.md", "done"), ("merge", "pref-19.md", "done")]
    assert night.bodies()["pref-18.md"] == "preference 18\npreference 19\nabout pref-19", "what was merged is all there"
    assert len(night.files()) == 20 and report.operation is not None

    operation = night.store.operation(report.operation)
    assert operation is not None and "pref-19.md merged into pref-18.md: said twice" in operation.reason
    writer_of(night.store).undo(operation)
    assert night.files() == files and night.index() == index, "the exact state"


def test_h30_beyond_a_share_it_stops_and_asks_and_each_removal_has_its_reason(night: Night):
    twenty(night, "project")
    rows = ("memory", "version", "operation", "line", "line_version")
    before = night.rows(*rows)
    files, index = night.files(), night.index()
    report = night.dream(*answers("project"))
    assert (report.end.outcome, report.end.gate) == ("skipped", SHARE)
    assert report.end.reason.startswith("it would take 19 of 21 memories away")
    assert night.rows(*rows) == before
    run = night.runs()[-1]
    with night.store.view() as connection:
        held = steps.of_run(connection, run.id)
        assert steps.waiting(connection) == [(run.id, 20)]
    assert {each.state for each in held} == {"held"} and len(held) == 20
    assert {each.step.reason for each in held} == {"it is a preference", "said once", "said twice"}

    answered = accept(night.store, SHELF, run.id, desk.who("person"), "accepted-1")
    assert {each.state for each in answered.outcomes} == {"done"}
    assert sorted(night.files()) == ["2026-03-01.md", "pref-18.md"]
    assert answered.applied is not None
    assert {version.change for version in answered.applied.versions} == {"retire", "revise"}
    assert all(night.store.versions(memory.id) for memory in night.store.memories(retired=True)), "tombstones"
    assert night.runs()[-1].operation == "accepted-1"

    operation = night.store.operation("accepted-1")
    assert operation is not None and operation.reason == f"accepted of the dream {run.id}"
    writer_of(night.store).undo(operation)
    assert night.files() == files and night.index() == index, "the exact state"


@pytest.mark.parametrize("kind", ["feedback", "project"])
def test_h30_the_store_holds_every_word_afterwards(night: Night, tmp_path: Path, kind: str):
    twenty(night, kind)
    words = set(night.files().values())
    night.dream(*answers(kind))
    run = night.runs()[-1]
    if night.steps() and night.steps()[0][2] == "held":
        accept(night.store, SHELF, run.id, desk.who("person"), "accepted-1")
    assert all(night.store.knows(text) for text in words)
