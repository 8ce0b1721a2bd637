"""A dream from its gates to what the folders show: real processes, locks and folders; only the model is scripted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstore.claude.consolidate_lock import NAME
from memstore.dream_standing import By, dream_standing, root_of
from memstore.dreaming import Dreamed, Dreamer, consider
from memstore.errors import LeaseHeld, ModelError
from memstore.standing import allowed
from memstore.store import leases, runs
from memstore.store import settings as kept
from memstore.store.runs import Outcome
from memstore.world import World
from tests.files.desk import Desk, topic
from tests.hooks.calls import Session, at_rest, until
from tests.jobs.api import Scripted, scripted
from tests.messages_api import Answer, Asked, Fail, Say, Use
from tests.talks import Talk

DREAMER = """
import sys
from memstore.app import Memstore
from memstore.dreaming import Dreamer
from memstore.world import World
world = World.real(sys.argv[1])
with Memstore.open(world=world) as memories:
    try:
        dreamed = Dreamer(memories.store, world, memories.place.home.path).dream("hand")
        print(dreamed.report.end.outcome, *dreamed.said, sep="; ", flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""


class Place:
    """A repository with three memories, and a model."""

    def __init__(self, base: Path, api: Scripted) -> None:
        self.desk = Desk(base, ahead=0.0)
        for name in "abc":
            self.desk.put(f"{name}.md", topic(name, f"about {name}", f"All about {name}.\n"))
        self.desk.sync(0)
        self.api = api
        self.store = self.desk.memories.store
        self.home = self.desk.memories.place.home.path

    @property
    def world(self) -> World:
        world = self.desk.world()
        return replace(world, environment={**world.environment, **self.api.environment})

    def dreamer(self, **more: Any) -> Dreamer:
        return Dreamer(self.store, self.world, self.home, **more)

    def dream(self, **more: Any) -> Dreamed:
        return self.dreamer(**more).dream("hand")

    def lock(self, body: str, at: int) -> Path:
        path = self.desk.folder / NAME
        path.write_text(body)
        os.utime(path, ns=(at * 1_000, at * 1_000))
        return path

    def news(self, number: int) -> None:
        self.desk.put("a.md", topic("a", "about a", f"News {number}.\n"))

    def runs(self) -> list[Outcome | None]:
        with self.store.view() as connection:
            return [run.outcome for run in runs.log(connection) if run.kind == "dream"][::-1]

    @contextmanager
    def another(self) -> Iterator[subprocess.Popen[str]]:
        """Another process that is asked to dream."""
        command = [sys.executable, "-c", DREAMER, str(self.desk.base / self.desk.root)]
        environment = {**os.environ, **self.api.environment}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
            try:
                yield child
            finally:
                child.kill()


@pytest.fixture
def api() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, api: Scripted) -> Iterator[Place]:
    made = Place(tmp_path, api)
    yield made
    at_rest(made.desk)
    made.desk.close()


def outcome(dreamed: Dreamed) -> str:
    assert dreamed.report is not None
    return dreamed.report.end.outcome


def answer(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def revise(name: str = "b.md", new: str = "Nothing but b.\n") -> tuple[Use, ...]:
    """A model reads a memory, then rewords its line."""
    lines = [{"line": f"All about {name[0]}.", "fate": "reworded", "now": new.strip(), "reason": "shorter"}]
    edit = {"file_path": name, "old_string": f"All about {name[0]}.\n", "new_string": new}
    return Use("Read", {"file_path": name}), Use("Edit", {**edit, "reason": "shorter", "lines": lines})


class Waiting:
    """A model that thinks until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, asked: Asked) -> Answer:
        self.begun.set()
        self.go.wait(60)
        return Say("Nothing to do.")


def test_what_a_dream_makes_is_one_operation_and_the_folder_shows_it(place: Place):
    place.api.steps = [revise()[0], revise()[1], Say("Reworded b.")]
    dreamed = place.dream()
    assert outcome(dreamed) == "saved" and dreamed.unshown == ()
    assert "Nothing but b." in place.desk.read("b.md")
    head = place.desk.head("b")
    assert head is not None
    with place.store.view() as connection:
        assert leases.current(connection, "dream") is None
    assert (place.desk.folder / NAME).read_text() == ""
    place.desk.memories.undo(str(head.seq))
    assert "All about b." in place.desk.read("b.md")


def test_h31a_no_lock_that_was_left_behind_stops_a_dream_and_it_is_said(place: Place):
    now, year = place.world.clock(), 365 * 86_400_000_000
    number = 0
    for body in ("999999", "", "garbage", str(os.getpid()), "1"):
        for at in (now, now - 2 * 86_400_000_000, now + year):
            path = place.lock(body, at)
            number += 1
            place.news(number)
            place.api.steps = [Say("Nothing to do.")]
            before = place.world.clock()
            dreamed = place.dream()
            assert (outcome(dreamed), place.api.steps) == ("nothing", [])
            assert bool(dreamed.said) == (body != "" or at > now), (body, at)
            assert path.read_text() == "" and before <= path.stat().st_mtime_ns // 1_000 <= place.world.clock()


def test_h31b_of_two_dreams_in_one_process_and_in_two_exactly_one_runs(place: Place):
    refused: list[str] = []

    def asked_meanwhile(asked: Asked) -> Answer:
        own = place.desk.open()  # another connection: a store belongs to one thread
        try:
            Dreamer(own.store, place.world, place.home).dream("hand")
        except LeaseHeld as error:
            refused.append(str(error))
        with place.another() as child:
            refused.append(answer(child))
        return Say("Nothing to do.")

    place.api.steps = [asked_meanwhile]
    assert outcome(place.dream()) == "nothing"
    assert refused[0].startswith(f"a dream is going on already (process {os.getpid()}") and refused[1] == "LeaseHeld"
    assert len(place.api.asked) == 1 and place.runs() == ["nothing"]


def test_h31c_after_a_kill_the_next_dream_runs_and_the_killed_one_is_no_dream(place: Place):
    thinking = Waiting()
    place.api.steps = [thinking, Say("Nothing to do.")]
    with place.another() as child:
        assert thinking.begun.wait(60)
        assert (place.desk.folder / NAME).read_text() == str(child.pid)
        child.kill()
        child.wait()
        thinking.go.set()
        folders = [str(place.desk.folder)]
        standing = dream_standing(place.store, place.home, place.world, folders, root_of(place.store, folders))
        assert (standing.last, standing.lease) == (None, None)
        dreamed = place.dream()
    assert outcome(dreamed) == "nothing"
    assert dreamed.said == (f"the lease of process {child.pid} was taken over: it is gone",)
    assert place.runs() == ["failed", "nothing"]


def test_h31d_five_dreams_without_news_ask_the_model_once(place: Place):
    place.api.steps = [revise()[0], revise()[1], Say("Reworded b.")]
    assert outcome(place.dream()) == "saved"
    asked = len(place.api.asked)
    for _ in range(5):
        place.desk.sync(0)
        place.desk.memories.show("b")
        place.desk.memories.search("about")
        assert outcome(place.dream()) == "nothing"
    assert len(place.api.asked) == asked


def test_h31_a_failed_dream_does_not_count_as_done(place: Place):
    path = place.lock("", place.world.clock() - 1_000_000)
    before = path.stat().st_mtime_ns
    assert outcome(place.dream()) == "failed"  # the script has ended
    assert path.stat().st_mtime_ns == before and path.read_text() == ""
    place.api.steps = [Say("Nothing to do.")]
    assert outcome(place.dream()) == "nothing" and not place.api.steps


def test_who_calls_it_off_ends_it_and_nothing_is_done(place: Place):
    def called_off(asked: Asked) -> Answer:
        own = place.desk.open()
        with own.store.change() as connection:
            assert leases.call_off(connection, "dream")
        return revise()[0]

    place.api.steps = [called_off, revise()[1], Say("Done.")]
    dreamed = place.dream()
    assert outcome(dreamed) == "failed" and dreamed.report is not None and "called off" in dreamed.report.end.reason
    assert "All about b." in place.desk.read("b.md") and not (place.desk.folder / NAME).exists()


def test_a_dry_run_leaves_everything_as_it_is(place: Place):
    place.api.steps = [revise()[0], revise()[1], Say("Reworded b.")]
    dreamed = place.dreamer().dream("hand", dry=True)
    assert dreamed.report is not None and len(dreamed.report.outcomes) == 1
    assert "All about b." in place.desk.read("b.md") and not (place.desk.folder / NAME).exists()
    assert place.runs() == []


def test_it_looks_into_the_log_the_instructions_and_the_sessions(place: Place):
    day = time.strftime("%Y-%m-%d")
    log = place.desk.folder / "logs" / day[:4] / day[5:7] / f"{day}.md"
    log.parent.mkdir(parents=True)
    log.write_text("- 10:00 +00:00 the port moved to 7443\n")
    root = place.desk.base / "repo"
    (root / "CLAUDE.md").write_text("Use bun.\n")
    place.api.steps = [Use("Read", {"file_path": f"logs/{day[:4]}/{day[5:7]}/{day}.md"}), Say("Nothing to do.")]
    assert outcome(place.dream()) == "nothing"
    told = json.dumps(place.api.bodies[0])
    assert f"logs/{day[:4]}/{day[5:7]}/{day}.md" in told and "CLAUDE.md: 1 lines" in told
    assert "the port moved to 7443" in json.dumps(place.api.bodies[1])


def test_it_looks_into_what_the_log_keeps_and_no_file_has_yet(place: Place):
    memories = place.desk.memories
    day = memories.note("shown at once").entry.day
    path = place.desk.folder / "logs" / day[:4] / day[5:7] / f"{day}.md"
    text = path.read_text()
    path.unlink()
    path.mkdir()
    assert memories.note("the port moved to 7443").unshown
    path.rmdir()
    path.write_text(text)
    place.api.steps = [Use("Read", {"file_path": f"logs/{day[:4]}/{day[5:7]}/{day}.md"}), Say("Nothing to do.")]
    assert outcome(place.dream()) == "nothing"
    told = json.dumps(place.api.bodies[1])
    assert told.count("shown at once") == 1 and "the port moved to 7443" in told


def test_of_many_that_say_nearly_the_same_it_is_told_a_few(place: Place):
    for number in range(20):
        fact = f"The nightly build of branch {number} failed as its runner had no space left on the disk at all.\n"
        place.desk.put(f"n{number}.md", topic(f"n{number}", "", fact))
    place.desk.sync(0)
    place.api.steps = [Say("Nothing to do.")]
    assert outcome(place.dream()) == "nothing"
    told = json.dumps(place.api.bodies[0])
    assert "and 12 more: nearly the same words" in told


def test_instructions_that_lead_out_of_the_project_are_not_read(place: Place):
    (place.desk.base / "secret").write_text("a secret\n")
    (place.desk.base / "repo" / "CLAUDE.md").symlink_to(place.desk.base / "secret")
    place.api.steps = [Say("Nothing to do.")]
    assert outcome(place.dream()) == "nothing"
    assert "CLAUDE.md: " not in json.dumps(place.api.bodies[0])


def test_in_a_folder_that_is_another_stores_by_now_no_lock_is_taken(place: Place):
    second = place.desk.second()
    second.sync(0)
    claim = second.folder / ".memstore"
    claim.write_text(claim.read_text().replace(place.store.id, "01890000-0000-7000-8000-00000000000f"))
    (second.folder / NAME).mkdir()
    place.api.steps = [Say("Nothing to do.")]
    dreamed = place.dream()
    assert (outcome(dreamed), dreamed.said) == ("nothing", ())
    assert (place.desk.folder / NAME).exists()


def test_without_a_model_nothing_is_begun_and_no_dream_has_failed(place: Place):
    with pytest.raises(ModelError, match="neither ANTHROPIC_API_KEY nor") as told:
        Dreamer(place.store, place.desk.world(), place.home).dream("hand")
    assert "fork" in told.value.hint and place.runs() == []
    assert not (place.desk.folder / NAME).exists()


def test_a_credential_that_is_refused_holds_dreams_and_turns_until_it_is_another_one(place: Place):
    place.api.steps = [Fail(401, "authentication_error", "invalid x-api-key")]
    assert outcome(place.dream()) == "failed"
    with pytest.raises(ModelError, match="refused"):
        place.dream()
    assert allowed(place.store, place.home, place.world)[1] is not None
    assert len(place.api.asked) == 1


def test_a_shut_gate_begins_nothing(place: Place):
    dreamed = place.dreamer().dream("turns")
    assert dreamed.gate is not None and dreamed.gate.name == "sessions" and dreamed.report is None
    assert (place.runs(), place.api.asked) == ([], [])


@pytest.mark.parametrize(("by", "agent"), [("turns", ""), ("hand", "CLAUDECODE")])
def test_variables_of_a_repository_or_an_agent_do_not_raise_what_may_be_taken_away(place: Place, by: By, agent: str):
    delete = Use("Delete", {"file_path": "c.md", "reason": "not needed", "lines": [
        {"line": "All about c.", "fate": "dropped", "reason": "not needed"}]})  # fmt: skip
    with place.store.change() as connection:
        kept.put(connection, "dream.sessions", "0", 1)
    place.api.steps = [Use("Read", {"file_path": "c.md"}), delete, Say("Deleted c.")]
    world = replace(place.world, environment={**place.world.environment, "MEMSTORE_DREAM_SHARE": "100", agent: "1"})
    dreamed = Dreamer(place.store, world, place.home).dream(by)
    assert outcome(dreamed) == "skipped"
    assert "All about c." in place.desk.read("c.md")


def test_the_worker_of_a_turn_dreams_when_it_is_time(place: Place):
    with place.store.change() as connection:
        kept.put(connection, "dream.sessions", "0", 1)
        kept.put(connection, "extract.enabled", "off", 1)
        kept.put(connection, "notes.enabled", "off", 1)
    place.api.steps = [revise()[0], revise()[1], Say("Reworded b.")]
    session = Session(place.desk, "one", None, variables=place.api.environment)
    session.starts()
    Talk("one").person("please always use bun here, never npm")
    session.stops()
    until(lambda: place.runs() == ["saved"])
    at_rest(place.desk)
    assert "Nothing but b." in place.desk.read("b.md")


def test_the_worker_says_nothing_where_it_cannot_dream(place: Place):
    with place.store.change() as connection:
        kept.put(connection, "dream.sessions", "0", 1)
    consider(place.home, place.store.id, place.world)  # the script has ended
    assert place.runs() == ["failed"]
    consider(place.home, place.store.id, place.world)
    assert place.runs() == ["failed"], "it waits a little after a failure"
