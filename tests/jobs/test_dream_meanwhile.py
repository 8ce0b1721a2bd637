"""Others write while the model thinks: what they wrote is current afterwards, and the rest of a dream goes through."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.core.changes import Revise
from memstore.core.model import SHELF
from memstore.errors import NotFound
from memstore.jobs.dream import KIND
from memstore.jobs.dream_held import accept, reject
from memstore.store import steps
from memstore.store.store import Store
from tests.jobs import desk
from tests.jobs.night import Night, deletes, dropped, edits, reads, reworded, writes
from tests.messages_api import Say
from tests.store.stores import STORE, put, ticking, writer_of

CHANGES = (
    writes("port", "a 1", "b 2", sources=["staging.md"]),
    deletes("staging", into="port.md", lines=[dropped("about staging")]),
    edits("cache", "c 1", "c one", lines=[reworded("c 1", "c one")]), deletes("old"),
    writes("new", "b 2", sources=["staging.md"]),
)  # fmt: skip
PLAN = (reads("port", "staging", "cache", "old"), CHANGES, Say("Tidied up."))


def begun(night: Night) -> None:
    night.keep("port", "a 1")
    night.keep("staging", "b 2")
    night.keep("cache", "c 1")
    night.keep("old", "o 1")
    for number in range(10):
        night.keep(f"other-{number}", f"fact {number}")


def theirs(night: Night, name: str) -> Callable[[], None]:
    return lambda: desk.change(night.store, name, "\n---\n", "\n---\ntheirs\n", origin="person")


@pytest.mark.parametrize(
    ("meanwhile", "late", "path"),
    [
        ("port", ["port.md", "staging.md", "new.md"], "port.md"),
        ("staging", ["port.md", "staging.md", "new.md"], "staging.md"),
        ("cache", ["cache.md"], "cache.md"),
        ("old", ["old.md"], "old.md"),
        ("pin", ["old.md"], "old.md"),
        ("retire", ["cache.md"], None),
        ("rename", ["old.md"], "aged.md"),
        ("taken", ["port.md", "staging.md", "new.md"], "New.md"),
        ("other", [], "other-1.md"),
    ],
)
def test_what_others_changed_stays_theirs_and_the_rest_goes_through(
    night: Night, meanwhile: str, late: list[str], path: str | None
):
    begun(night)
    before = night.files()
    acts: dict[str, Callable[[], object]] = {
        "pin": lambda: desk.pin(night.store, "old"),
        "retire": lambda: desk.retire(night.store, "cache"),
        "rename": lambda: desk.rename(night.store, "old", "aged"),
        "taken": lambda: desk.put(night.store, desk.create("New", b"---\nname: x\ndescription: d\n---\ntheirs\n")),
        "other": theirs(night, "other-1"),
    }
    seen: dict[str, bytes] = {}

    def act() -> None:
        acts.get(meanwhile, theirs(night, meanwhile))()
        seen.update(night.files())

    night.meanwhile({3: act})
    assert night.dream(*PLAN).end.outcome == "saved"
    states = {name: state for _, name, state in night.steps()}
    assert sorted(name for name, state in states.items() if state == "stale") == sorted(late)
    after = night.files()
    for name, text in seen.items():
        touched = states.get(name) == "done"
        assert touched or after[name] == text, name
    if path is not None:
        assert after[path] == seen[path]
    assert ("cache.md" in late) or night.bodies()["cache.md"] == "c one"
    assert all(night.store.knows(text) for text in before.values())


def test_each_stale_step_says_why(night: Night):
    begun(night)
    night.meanwhile({3: theirs(night, "staging")})
    report = night.dream(*PLAN)
    told = {each.step.path: each.told for each in report.outcomes if each.state == "stale"}
    assert told == {
        "staging.md": "it was changed meanwhile",
        "port.md": "a memory that it was made from was changed meanwhile",
        "new.md": "a memory that it was made from was changed meanwhile",
    }
    with night.store.view() as connection:
        assert {each.step.path: each.told for each in steps.of_run(connection, report.end.run) if each.told} == told


def test_where_nothing_is_left_to_do_nothing_is_done(night: Night):
    begun(night)

    def act() -> None:
        for name in ("port", "cache", "old"):
            theirs(night, name)()

    night.meanwhile({3: act})
    report = night.dream(*PLAN)
    assert report.end.outcome == "nothing" and report.operation is None
    assert report.end.reason.startswith("nothing was left to do: others had changed the same memories")
    assert {state for _, _, state in night.steps()} == {"stale"}


def test_writers_that_are_faster_than_the_commit_win_each_time(night: Night, monkeypatch: pytest.MonkeyPatch):
    begun(night)
    finish, left = night.store.finish_run, ["cache", "old"]

    def faster(*given: object, **more: object) -> object:
        if left:
            theirs(night, left.pop())()
        return finish(*given, **more)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(night.store, "finish_run", faster)
    assert night.dream(*PLAN).end.outcome == "saved"
    states = {name: state for _, name, state in night.steps()}
    assert states == {"port.md": "done", "staging.md": "done", "new.md": "done", "cache.md": "stale", "old.md": "stale"}
    assert {name for name, text in night.bodies().items() if text.startswith("theirs")} == {"cache.md", "old.md"}


def test_writers_at_work_all_the_time_lose_nothing(night: Night, tmp_path: Path):
    begun(night)
    stop, kept = threading.Event(), list[bytes]()

    def work() -> None:
        store = Store.open(str(tmp_path / "store"), STORE, ticking(2_000_000_000_000_000))
        store._link.connection.execute("PRAGMA synchronous = OFF")
        number = 0
        while not stop.is_set():
            number += 1
            head = desk.at(store, ("port", "cache", "other-3")[number % 3])
            text = head.state.content + f"line {number}\n".encode()
            put(store, Revise(head.id, head.token, text))
            kept.append(text)
        store.close()

    writer = threading.Thread(target=work)
    night.meanwhile({1: writer.start})
    try:
        night.dream(*PLAN)
    finally:
        stop.set()
        writer.join(30)
    states = {name: state for _, name, state in night.steps()}
    assert states["old.md"] == "done" and kept
    assert all(night.store.knows(text) for text in kept)
    for name in ("port", "cache", "other-3"):
        last = [text for text in kept if f"name: {name}\n".encode() in text][-1:]
        assert not last or night.files()[f"{name}.md"] == last[0]


# A person's answer, later


def held(night: Night) -> str:
    begun(night)
    night.settings["dream.share"] = "5"
    assert night.dream(*PLAN).end.gate == "share"
    return night.runs()[-1].id


def test_an_answer_is_given_for_a_part_or_for_all_that_waits(night: Night):
    run = held(night)
    numbers = {path: n for n, (_, path, _) in enumerate(night.steps(), 1)}
    answered = accept(night.store, SHELF, run, desk.who("person"), "accepted-1", [numbers["staging.md"]])
    assert {each.step.path for each in answered.outcomes} == {"port.md", "new.md", "staging.md"}, "a whole part"
    rejected = reject(night.store, run, [numbers["old.md"]])
    assert [(each.step.path, each.state) for each in rejected.outcomes] == [("old.md", "rejected")]
    accept(night.store, SHELF, run, desk.who("person"), "accepted-2")
    states = {path: state for _, path, state in night.steps()}
    assert states == {
        "port.md": "done", "staging.md": "done", "new.md": "done", "old.md": "rejected", "cache.md": "done",
    }  # fmt: skip
    with night.store.view() as connection:
        assert steps.operations(connection, run) == ["accepted-2", "accepted-1"]
        assert steps.waiting(connection) == []
    for answer in (lambda: reject(night.store, run), lambda: accept(night.store, SHELF, run, desk.who(), "third")):
        with pytest.raises(NotFound, match="waits for an answer"):
            answer()
    with pytest.raises(NotFound, match="waits for an answer"):
        reject(night.store, "absent")
    for operation in ("accepted-2", "accepted-1"):
        found = night.store.operation(operation)
        assert found is not None and found.kind == KIND
        writer_of(night.store).undo(found)
    assert night.bodies()["staging.md"] == "b 2" and night.bodies()["cache.md"] == "c 1"


def test_a_step_that_does_not_wait_is_not_answered(night: Night):
    run = held(night)
    with pytest.raises(NotFound, match="step 99 of the run"):
        accept(night.store, SHELF, run, desk.who("person"), "x", [1, 99])


def test_what_was_changed_since_the_dream_is_not_accepted(night: Night):
    run = held(night)
    theirs(night, "cache")()
    theirs(night, "staging")()
    answered = accept(night.store, SHELF, run, desk.who("person"), "accepted-1")
    assert {each.step.path for each in answered.outcomes if each.state == "done"} == {"old.md"}
    assert "theirs" in night.bodies()["cache.md"] and "theirs" in night.bodies()["staging.md"]
    assert night.bodies()["port.md"] == "a 1"


def test_a_person_who_accepts_does_not_vouch_for_the_words(night: Night):
    begun(night)
    night.keep("page", "p 1", origin="tool")
    night.settings["dream.share"] = "0"
    plan = (writes("env", "o 1", "p 1", sources=["page.md", "old.md"]),)
    gone = (deletes("page", into="env.md", lines=[dropped("about page")]),)
    assert night.dream(reads("page", "old"), plan, gone, Say("Done.")).end.gate == "share"
    accept(night.store, SHELF, night.runs()[-1].id, desk.who("person"), "accepted-1")
    assert desk.at(night.store, "env").origin == "tool"
