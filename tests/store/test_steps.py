"""The record of a dream: its steps, its progress, what it had before it, and answers to steps that wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.accounting import Account
from memstore.core.changes import Revise
from memstore.core.dream_steps import Outcome, Planned, StepState
from memstore.errors import Conflict
from memstore.store import runs, steps
from memstore.store.runs import RunEnd
from memstore.store.steps import Progress
from memstore.store.store import Store
from tests.store.stores import at, create, open_store, put

DAY = 24 * 3600 * 1_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    put(opened, create("note", b"one\xff"), operation="first-operation")
    with opened.change() as connection:
        runs.begin(connection, "run", "dream", "", 10)
    yield opened
    opened.close()


def planned(store: Store, n: int = 1, **more: object) -> Planned:
    note = at(store, "note")
    return Planned(
        n, n, "revise", note.id, note.path, note.token, note.state.content, b"two\n", "agent", f"why {n}",
        **more,  # type: ignore[arg-type]  # a test's shorthand
    )  # fmt: skip


def record(store: Store, *outcomes: Outcome) -> None:
    with store.change() as connection:
        run = runs.one_run(connection, "run")
        assert run is not None
        steps.write(connection, run.seq, outcomes, None)


def test_steps_come_back_as_they_were_put_on_record(store: Store):
    lines = (Account("one", "reworded", "shorter", "two"), Account("a\ud800", "dropped", "over"))
    one = planned(store, into="x", into_path="x.md", needs=(("x", "t"),), lines=lines)
    gone = Planned(2, 1, "delete", "gone", "gone.md", "t", None, None, "tool", "why", loss=1.0)
    record(store, Outcome(one, "held"), Outcome(gone, "stale", "it was changed meanwhile"))
    with store.view() as connection:
        found = steps.of_run(connection, "run")
        assert steps.of_run(connection, "absent") == []
        assert steps.waiting(connection) == [("run", 1)]
        assert steps.operations(connection, "run") == []
    assert found[1] == Outcome(gone, "stale", "it was changed meanwhile")
    assert found[0].step.before == b"one\xff" and found[0].step.needs == (("x", "t"),)
    assert found[0].step.lines == (lines[0], Account("a?", "dropped", "over"))


def test_progress_is_the_last_that_was_told(store: Store):
    with store.change() as connection:
        assert steps.progress(connection, "run") is None
        for number in range(3):
            last = Progress("gather", number, number, number, f"note {number}", number)
            steps.note_progress(connection, "run", last)
        steps.note_progress(connection, "absent", last)
        assert steps.progress(connection, "run") == last and steps.progress(connection, "absent") is None


def test_what_a_dream_had_before_it_is_remembered_for_a_while(store: Store):
    with store.change() as connection:
        assert steps.seen(connection) == (None, {})
        steps.note_seen(connection, b"1", {"a": b"a", "b": b"b"}, DAY)
        steps.note_seen(connection, b"2", {"b": b"c"}, 80 * DAY)
        assert steps.seen(connection) == (b"2", {"a": b"a", "b": b"c"})
        steps.note_seen(connection, b"3", {}, 100 * DAY)
        assert steps.seen(connection) == (b"3", {"b": b"c"})


def test_an_answer_counts_once(store: Store):
    record(store, Outcome(planned(store), "held"), Outcome(planned(store, 2), "done"))
    states: dict[int, tuple[StepState, str]] = {1: ("rejected", "")}
    with store.change() as connection:
        steps.settle(connection, "run", states, None)
        with pytest.raises(Conflict, match="step 1 of the run run does not wait"):
            steps.settle(connection, "run", states, None)
        with pytest.raises(Conflict, match="step 2 of the run run does not wait"):
            steps.settle(connection, "run", {2: ("rejected", "")}, None)


def test_what_was_accepted_names_its_operation_and_so_does_the_run(store: Store):
    record(store, Outcome(planned(store), "held"), Outcome(planned(store, 2), "held"))
    store.finish_run(RunEnd("run", "skipped", 20, gate="share"))
    note = at(store, "note")
    put(store, Revise(note.id, note.token, b"two\n"), operation="second-operation")
    with store.change() as connection:
        steps.settle(connection, "run", {1: ("done", ""), 2: ("stale", "late")}, "second-operation")
        assert [(each.state, each.told) for each in steps.of_run(connection, "run")] == [
            ("done", ""),
            ("stale", "late"),
        ]
        assert steps.operations(connection, "run") == ["second-operation"]
        run = runs.one_run(connection, "run")
    assert run is not None and (run.operation, run.told) == ("second-operation", True)
