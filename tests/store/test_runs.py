"""The end of a run is one transaction, once; what runs came to, cost and read is found again."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from memstore.core.changes import ChangeSet, Retire, Revise
from memstore.core.usage import Usage
from memstore.errors import Conflict, Defect, StaleVersion, StoreUnavailable
from memstore.store import ending, jobs, runs, sessions
from memstore.store.runs import Cursor, Event, Outcome, RunEnd, Source
from memstore.store.store import Store
from tests.race.crowd import CONTEXT
from tests.store import killed
from tests.store.queues import claim, claimed, queue, states
from tests.store.stores import at, check_witness, create, index_of, open_store, put, who


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Store]:
    """A store in which a run of session `s` is going on."""
    killed.begun(tmp_path / "store")
    store = open_store(tmp_path / "store")
    yield store
    store.close()


def begin(store: Store, session: str, identity: str = "run", *, at: int = 20) -> None:
    queue(store, session, at=at)
    job = claimed(store, at)
    with store.change() as connection:
        runs.begin(connection, identity, "extract", session, at, job=job.seq)


def test_the_end_of_a_run_writes_all_that_belongs_to_it(running: Store):
    applied = killed.end(running)
    assert applied is not None and applied.operation == "saves" and not applied.repeated
    assert (at(running, "note").state.content, at(running, "new").origin) == (b"---\nname: note\n---\ntwo\n", "tool")
    assert "- [new](new.md)" in [line[0] for line in index_of(running)]
    with running.view() as connection:
        run = runs.last(connection, "extract", "s")
        assert run is not None and runs.log(connection) == [run] == [runs.one_run(connection, "run")]
        assert (run.state, run.outcome, run.reason, run.operation) == (
            "done", "saved", "two things were worth it", "saves",
        )  # fmt: skip
        assert (run.model, run.via, run.job, run.started_at, run.ended_at) == ("a-model", "api", 1, 20, 30)
        assert (run.turns, run.messages, run.unread, run.usage, run.cost) == (3, 5, 1, Usage(1, 2, 3, 4), 7)
        assert runs.events(connection, run.seq) == [
            Event("denied", "Bash: not in the table", 21),
            Event("note", "done", 22),
        ]
        cursor = runs.cursor(connection, "extract", "s")
        assert cursor == Cursor("extract", "s", "/transcripts/s.jsonl", "m5", 500, b"\x01" * 32)
        assert runs.taken(connection, [b"\x04" * 8, b"\x05" * 8]) == {b"\x04" * 8}
        assert runs.sources(connection, "note") == [(applied.seq, "s", "m1")]
        assert runs.sources(connection, "new") == [(applied.seq, "s", "m4")]
    assert states(running) == [("s", "done", 0, None)]


OUTCOMES: tuple[Outcome, ...] = ("saved", "more", "failed")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_worker_that_is_killed_before_any_statement_leaves_all_of_a_run_or_nothing(tmp_path: Path, outcome: Outcome):
    killed.begun(tmp_path / "begun")
    before = killed.dump(tmp_path / "begun")
    shutil.copytree(tmp_path / "begun", tmp_path / "ended")
    store = open_store(tmp_path / "ended")
    killed.end(store, outcome)
    store.close()
    after = killed.dump(tmp_path / "ended")
    assert {table for table in killed.TABLES if before[table] != after[table]} >= {"run", "run_event", "job"}

    nth, told = 0, "killed"
    while told == "killed":
        nth += 1
        place = tmp_path / str(nth)
        shutil.copytree(tmp_path / "begun", place)
        here, there = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=killed.worker, args=(there, place, nth, outcome))
        process.start()
        there.close()
        told = here.recv()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        found = killed.dump(place)
        assert found == (before if told == "killed" else after), f"{told} at statement {nth}"
        _check_goes_on(place, outcome, after, done=told != "killed")
    assert nth > (10 if outcome == "failed" else 30)
    check_witness(place, tmp_path / "copy")


def _check_goes_on(place: Path, outcome: Outcome, after: dict[str, list[tuple[object, ...]]], *, done: bool) -> None:
    """The next worker finds the job again where its run was cut off, and comes to the same memories, once."""
    store = open_store(place)
    with store.change() as connection:
        left = ending.close_interrupted(connection, "extract", 40)
        assert [job.session for job in left] == ([] if done else ["s"])
    if not done:
        assert states(store) == [("s", "waiting", 1, 40 + jobs.BACK_OFF[0])]
        with pytest.raises(Conflict, match="not going on any more"):
            killed.end(store, outcome)
        job = claimed(store, 10**12)
        with store.change() as connection:
            connection.execute("UPDATE run SET id = 'cut off'")
            runs.begin(connection, "run", "extract", "s", 50, job=job.seq)
        killed.end(store, outcome)
    with store.view() as connection:
        for table in ("operation", "memory", "version", "line", "cursor"):
            assert connection.execute(f"SELECT * FROM {table}").fetchall() == after[table]
    store.close()


def test_a_run_that_is_ended_again_after_its_commit_is_not_done_twice(running: Store):
    first = killed.end(running)
    revised = at(running, "note")
    end = RunEnd("run", "saved", 30, "two things were worth it")
    changes = (Revise("note", revised.token, b"---\nname: note\n---\ntwo\n"), create("new", "words\n"))
    assert first is not None
    with pytest.raises(Conflict):  # another change under the same operation id
        running.finish_run(end, ChangeSet("saves", "extract", 30, who(), changes))
    with running.view() as connection:
        assert len(runs.sources(connection, "note")) == 1


def test_a_commit_that_failed_is_looked_up_on_a_fresh_connection(running: Store, monkeypatch: pytest.MonkeyPatch):
    end = RunEnd("run", "nothing", 30, "nothing was worth it")
    cursor = Cursor("extract", "s", "/t.jsonl", "m", 1, b"d")
    finish = ending.finish
    calls: list[object] = []

    def committed_then_told_otherwise(connection: object, all_of_it: ending.Ending) -> object:
        calls.append(finish(running._link.connection, all_of_it))
        running._link.connection.execute("COMMIT; BEGIN IMMEDIATE")
        raise StoreUnavailable("the disk says no")

    monkeypatch.setattr(ending, "finish", committed_then_told_otherwise)
    assert running.finish_run(end, None, cursor) is None
    monkeypatch.undo()
    assert running.finish_run(end, None, cursor) is None
    with pytest.raises(Conflict, match="not going on any more"):
        running.finish_run(RunEnd("run", "failed", 31, "no"), None, cursor)
    with running.view() as connection:
        assert runs.cursor(connection, "extract", "s") == cursor


def test_a_commit_that_failed_and_is_not_there_is_told(running: Store, monkeypatch: pytest.MonkeyPatch):
    def refuse(connection: object, all_of_it: object) -> object:
        raise StoreUnavailable("the disk says no")

    monkeypatch.setattr(ending, "finish", refuse)
    with pytest.raises(StoreUnavailable, match="the disk says no"):
        killed.end(running)


def test_a_stale_version_leaves_nothing_written_and_the_run_going_on(running: Store, tmp_path: Path):
    held = at(running, "note").token
    put(running, Revise("note", held, b"somebody was faster\n"))
    before = {table: running._link.connection.execute(f"SELECT * FROM {table}").fetchall() for table in killed.TABLES}
    change_set = ChangeSet("stale", "extract", 30, who(), (create("new"), Revise("note", held, b"mine\n")))
    cursor = Cursor("extract", "s", "/t.jsonl", "m", 1, b"d")
    with pytest.raises(StaleVersion):
        running.finish_run(RunEnd("run", "saved", 30), change_set, cursor, [b"8 bytes."], (Source("new", "m"),))
    after = {table: running._link.connection.execute(f"SELECT * FROM {table}").fetchall() for table in killed.TABLES}
    assert after == before
    assert killed.end(running) is not None


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (RunEnd("run", "saved", 30), ("done", 0, None)),
        (RunEnd("run", "nothing", 30), ("done", 0, None)),
        (RunEnd("run", "skipped", 30), ("done", 0, None)),
        (RunEnd("run", "failed", 30), ("waiting", 1, 30 + jobs.BACK_OFF[0])),
        (RunEnd("run", "failed", 30, due_at=99), ("waiting", 0, 99)),
        (RunEnd("run", "failed", 30, park=True), ("failed", 1, None)),
    ],
)
def test_what_becomes_of_the_job_follows_from_the_outcome(
    running: Store, end: RunEnd, state: tuple[str, int, int | None]
):
    running.finish_run(end)
    assert states(running) == [("s", *state)]


def test_a_run_that_reached_its_limit_keeps_what_it_saved_and_leaves_the_rest_to_the_next(running: Store):
    killed.end(running, "more")
    job = claimed(running, 40)
    assert (job.id, job.session, job.event) == ("more run", "s", "more")
    assert at(running, "new").version == 1


def test_what_was_parked_is_settled_by_a_run_that_moved_the_cursor_and_by_no_other(store: Store):
    begin(store, "s", "parks")
    store.finish_run(RunEnd("parks", "failed", 30, "the key is refused", park=True))
    begin(store, "s", "skips", at=40)
    store.finish_run(RunEnd("skips", "skipped", 41, "not every turn"))
    assert store.counts()["failed_jobs"] == 1
    begin(store, "s", "reads", at=50)
    store.finish_run(RunEnd("reads", "nothing", 51), None, Cursor("extract", "s", "/t.jsonl", "m", 1, b"d"))
    assert store.counts()["failed_jobs"] == 0


def test_a_run_may_have_no_job(store: Store):
    with store.change() as connection:
        runs.begin(connection, "by hand", "notes", "s", 5)
    store.finish_run(RunEnd("by hand", "saved", 6), ChangeSet("op", "notes", 6, who(), (create("note"),)))
    with store.view() as connection:
        assert [run.operation for run in runs.log(connection)] == ["op"]


def test_two_runs_of_a_session_do_not_go_on_at_once(running: Store):
    with running.change() as connection:
        with pytest.raises(Conflict, match="another run of the session s is going on"):
            runs.begin(connection, "second", "extract", "s", 21)
        runs.begin(connection, "of another session", "extract", "t", 21)
        runs.begin(connection, "of another kind", "notes", "s", 21)


@pytest.mark.parametrize(
    ("cursor", "taken", "sources", "said"),
    [
        (Cursor("extract", "other", "/t.jsonl", "m", 1, b"d"), (), (), "its own session"),
        (Cursor("notes", "s", "/t.jsonl", "m", 1, b"d"), (), (), "its own session"),
        (None, [b"short"], (), "CHECK"),
        (None, (), (Source("note", "m"),), "has no sources"),
    ],
)
def test_what_does_not_belong_to_the_run_is_our_own_fault_and_nothing_is_written(
    running: Store, cursor: Cursor | None, taken: list[bytes], sources: tuple[Source, ...], said: str
):
    with pytest.raises(Defect, match=said):
        running.finish_run(RunEnd("run", "nothing", 30), None, cursor, taken, sources)
    assert claim(running, 50) is None  # it is still going on


def test_the_source_of_a_version_is_history(running: Store):
    killed.end(running)
    for sql in ("UPDATE source SET message = 'x'", "DELETE FROM source"):
        with pytest.raises(Defect, match="append-only"), running.change() as connection:
            connection.execute(sql)


def test_a_message_is_taken_once_by_whichever_run_came_first(store: Store):
    digests = [number.to_bytes(8, "big") for number in range(1_200)]
    for number, session in enumerate(("parent", "fork")):
        begin(store, session, session, at=20 + number)
        store.finish_run(RunEnd(session, "nothing", 30 + number), None, None, digests[: 1_100 + number])
    with store.view() as connection:
        assert runs.taken(connection, digests) == set(digests[:1_101])
        assert runs.taken(connection, []) == frozenset()
        by_fork = connection.execute("SELECT message FROM taken WHERE run = 2").fetchall()
    assert by_fork == [(digests[1_100],)]


def test_the_cursor_moves_also_back_when_the_transcript_was_written_anew(store: Store):
    for number, offset in enumerate((900, 50)):
        begin(store, "s", f"run {number}", at=20 + number)
        cursor = Cursor("extract", "s", "/t.jsonl", f"m{number}", offset, bytes([number]))
        store.finish_run(RunEnd(f"run {number}", "nothing", 30 + number), None, cursor)
    with store.view() as connection:
        assert runs.cursor(connection, "extract", "s") == cursor
        assert runs.cursor(connection, "notes", "s") is None


def test_a_session_is_told_what_was_deleted_and_not_what_was_taken_back(store: Store):
    put(store, create("old"), create("good"))
    for number, changes in enumerate([(create("new"), Retire("old", at(store, "old").token)), (create("bad"),)]):
        begin(store, f"s{number}", f"run {number}", at=20 + number)
        change_set = ChangeSet(f"saves {number}", "extract", 30, who(), changes)
        store.finish_run(RunEnd(f"run {number}", "saved", 30), change_set)
    with store.view() as connection:
        (first, one), (second, other) = runs.saved_untold(connection)
        assert (one, other) == (["new.md", "old.md (deleted)"], ["bad.md"])
        assert runs.taken_back(connection, "saves 1") is None
    store.apply(ChangeSet("back", "undo", 40, who(), (Retire("bad", at(store, "bad").token),), undoes="saves 1"))
    with store.view() as connection:
        assert runs.saved_untold(connection) == [(first, one)]
        assert runs.taken_back(connection, "saves 1") == second + 1


def test_the_runs_and_jobs_of_another_kind_of_worker_are_left_to_it(store: Store):
    begin(store, "s", "extraction", at=1)
    with store.change() as connection:
        runs.begin(connection, "notes", "notes", "s", 2)
        ending.close_interrupted(connection, "extract", 3)
        states = [(run.kind, run.state) for run in runs.log(connection)]
    assert states == [("notes", "running"), ("extract", "failed")]


def test_the_newest_run_of_each_session_is_found_newest_first(store: Store):
    for number, session in enumerate(("s", "t", "s", "u")):
        begin(store, session, f"run {number}", at=number)
        store.finish_run(RunEnd(f"run {number}", "nothing", number))
    with store.view() as connection:
        assert [run.id for run in runs.newest(connection, "extract", 2)] == ["run 3", "run 2"]
        assert [run.id for run in runs.newest(connection, "extract", 9)] == ["run 3", "run 2", "run 1"]
        assert runs.newest(connection, "notes", 9) == []


def test_costs_are_summed_with_those_of_killed_runs_and_the_unknown_ones_counted(store: Store):
    costs: list[tuple[str, int, Usage, int | None]] = [
        ("yesterday", 10, Usage(1), 1_000),
        ("known", 20, Usage(1), 200),
        ("unknown", 21, Usage(1), None),
        ("asked nobody", 22, Usage(), None),
    ]
    for identity, moment, usage, cost in costs:
        begin(store, identity, identity, at=moment)
        store.finish_run(RunEnd(identity, "nothing", moment, usage=usage, cost=cost))
    begin(store, "killed", "killed", at=23)
    with store.change() as connection:
        runs.record_usage(connection, "killed", Usage(10, 20, 30, 40), 30)
        ending.close_interrupted(connection, "extract", 24)
    with store.view() as connection:
        assert runs.cost_since(connection, 20) == (230, 1)
        assert runs.cost_since(connection, 99) == (0, 0)
        run = runs.last(connection, "extract")
        assert run is not None and (run.outcome, run.usage, run.reason) == (
            "failed", Usage(10, 20, 30, 40), "its worker ended in the middle of it",
        )  # fmt: skip


def test_an_end_that_knows_nothing_of_tokens_keeps_those_that_were_noted(running: Store):
    with running.change() as connection:
        runs.record_usage(connection, "run", Usage(10, 20, 30, 40), 50)
    running.finish_run(RunEnd("run", "failed", 30, "the connection broke"))
    with running.view() as connection:
        (run,) = runs.log(connection)
    assert (run.usage, run.cost) == (Usage(10, 20, 30, 40), 50)
    assert run.usage + Usage(1, 1, 1, 1) == Usage(11, 21, 31, 41)


def test_what_was_saved_is_told_once(store: Store):
    for number, session in enumerate("abc"):
        begin(store, session, session, at=20 + number)
        change_set = ChangeSet(f"op {session}", "extract", 30, who(), (create(session),)) if session != "b" else None
        store.finish_run(RunEnd(session, "nothing" if change_set is None else "saved", 30 + number), change_set)
    with store.change() as connection:
        assert [run.id for run in runs.untold(connection)] == ["a", "c"]
        assert [run.id for run in runs.untold(connection, 1)] == ["a"]
        runs.tell(connection, ["a"])
        assert [(run.id, run.told) for run in runs.untold(connection)] == [("c", False)]
        runs.tell(connection, ["c"])
        assert runs.untold(connection) == []
        assert [run.id for run in runs.log(connection, 2)] == ["c", "b"]
        assert [run.id for run in runs.log(connection, session="a")] == ["a"]


def test_what_a_model_says_is_kept_whatever_it_is_made_of(running: Store):
    said = "\ud800 \0 \u2028 " + "x" * 10_000
    running.finish_run(RunEnd("run", "failed", 30, said, events=(Event("refused", said, 1),)))
    with running.view() as connection:
        (run,) = runs.log(connection)
        (event,) = runs.events(connection, run.seq)
        (job,) = jobs.waiting(connection)
    for text in (run.reason, event.text, job.note or ""):
        assert text.startswith("? \0 \u2028 xxx") and text.endswith("x…") and len(text) == 4_000


def test_turns_that_a_gate_held_back_are_counted_until_somebody_looks(store: Store):
    numbers = count(1)

    def end(outcome: Outcome, gate: str | None = None, session: str = "s") -> int:
        number = next(numbers)
        begin(store, session, f"run-{number}", at=20 * number)
        store.finish_run(RunEnd(f"run-{number}", outcome, 20 * number + 1, gate=gate))
        with store.view() as connection:
            return runs.held_back(connection, "extract", "s", "every")

    assert [end("skipped", "every"), end("skipped", "every"), end("nothing"), end("skipped", "every")] == [1, 2, 0, 1]
    assert end("skipped", "substance") == 1, "what says nothing is no turn that was looked at"
    assert end("skipped", "every", "other") == 1
    assert [end("skipped", "every"), end("saved")] == [2, 0]
    with store.view() as connection:
        latest = runs.last(connection, "extract", "other")
    assert latest is not None and latest.gate == "every"


def test_pauses_that_are_over_are_remembered_for_what_was_said_in_them(store: Store):
    def rests(session: str, worktree: str = "/w") -> list[tuple[int, int | None]]:
        with store.view() as connection:
            return sessions.rests(connection, session, worktree)

    with store.change() as connection:
        for key, start, end in (("s", 10, 20), ("s", 30, None), ("other", 1, 2)):
            sessions.write(connection, "pause", ("session", key, start))
            if end is not None:
                assert sessions.write(connection, "rested", ("session", key, end))
                sessions.write(connection, "resume", ("session", key))
        sessions.write(connection, "pause", ("worktree", "/w", 5))
        assert not sessions.write(connection, "rested", ("store", "", 50)), "nothing was paused there"
    assert rests("s") == [(5, None), (10, 20), (30, None)]
    assert rests("s", "/elsewhere") == [(10, 20), (30, None)]
    assert rests("third", "/elsewhere") == []
