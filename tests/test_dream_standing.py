"""When a dream comes by itself, and what there is to see of that: gates over real folders, locks and transcripts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.claude.consolidate_lock import NAME
from memstore.claude.slug import sanitise
from memstore.core.dream_gates import HOUR, MINUTE
from memstore.dream_hold import DreamHold
from memstore.dream_standing import By, Gates, dream_standing, root_of
from memstore.store import dreams, runs, sessions, steps
from memstore.store import settings as kept
from memstore.store.runs import Outcome, RunEnd
from memstore.store.steps import Progress
from memstore.world import World
from tests.claude.test_consolidate_lock import client as client
from tests.files.desk import Desk, topic
from tests.hooks.test_sessions import worktree

KEY = {"ANTHROPIC_API_KEY": "key"}


class Place:
    """A repository with a memory, and what its gates say."""

    def __init__(self, base: Path) -> None:
        self.desk = Desk(base, ahead=0.0)
        self.desk.put("a.md", topic("a"))
        self.desk.sync(0)
        self.store = self.desk.memories.store
        self.variables = dict(KEY)

    @property
    def world(self) -> World:
        world = self.desk.world()
        return replace(world, environment={**world.environment, **self.variables})

    @property
    def now(self) -> int:
        return self.world.clock()

    def gates(self) -> Gates:
        folders = [str(self.desk.folder)]
        home = self.desk.memories.place.home.path
        return Gates(self.store, home, self.world, folders, root_of(self.store, folders))

    def walk(self, by: By = "turns", *, every: bool = False) -> list[tuple[str, bool]]:
        return [(gate.name, gate.open) for gate in self.gates().walk(by, every=every)]

    def said(self, name: str) -> str:
        return next(gate.figure for gate in self.gates().walk("turns", every=True) if gate.name == name)

    def session(self, number: int, cwd: Path | None = None) -> str:
        """A session that is touched now."""
        name = f"00000000-0000-4000-8000-{number:012}"
        slug = sanitise(str(cwd or self.desk.base / "repo"))
        path = Path(os.environ["HOME"]) / ".claude" / "projects" / slug / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"type":"user"}\n')
        return name

    def dreamt(self, outcome: Outcome, at: int) -> None:
        with self.store.change() as connection:
            runs.begin(connection, f"run {at}", "dream", "", at)
        self.store.finish_run(RunEnd(f"run {at}", outcome, at + 1))

    def set(self, key: str, value: str) -> None:
        with self.store.change() as connection:
            kept.put(connection, key, value, 1)

    def lock(self, body: str, at: int) -> None:
        path = self.desk.folder / NAME
        path.write_text(body)
        os.utime(path, ns=(at * 1_000, at * 1_000))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.desk.close()


ALL = ["enabled", "hours", "throttle", "sessions", "lease"]


def test_five_sessions_over_all_worktrees_open_all_gates(place: Place):
    for number in range(4):
        place.session(number, worktree(place.desk, "topic") if number == 3 else None)
    assert place.walk() == [*((name, True) for name in ALL[:3]), ("sessions", False)]
    own = place.session(4)
    place.variables["CLAUDE_CODE_SESSION_ID"] = own
    place.set("dream.scan_minutes", "0")
    assert place.walk()[-1] == ("sessions", False)
    del place.variables["CLAUDE_CODE_SESSION_ID"]
    assert place.walk() == [(name, True) for name in ALL]


def test_a_gate_that_is_shut_hides_the_later_ones_but_for_who_looks(place: Place):
    place.set("dream.enabled", "off")
    assert place.walk() == [("enabled", False)]
    assert [name for name, _ in place.walk(every=True)] == ALL
    with place.store.view() as connection:
        assert dreams.count(connection) is None, "only who wants to dream counts"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"CLAUDE_CODE_REMOTE": "true"}, "the session is remote (CLAUDE_CODE_REMOTE)"),
        ({"MEMSTORE_DREAM_ENABLED": "off"}, "dream.enabled is off"),
        ({"MEMSTORE_DREAM_ENABLED": "perhaps"}, "dream.enabled cannot be 'perhaps'"),
        ({"MEMSTORE_ASSISTANT_ENABLED": "on"}, "agents run as assistants"),
        ({"ANTHROPIC_API_KEY": ""}, "no"),
    ],
)
def test_what_keeps_it_from_coming_by_itself_is_said(place: Place, variables: dict[str, str], said: str):
    place.variables.update(variables)
    gates = list(place.gates().walk("turns"))
    assert (gates[-1].name, gates[-1].open) == ("enabled", False) and said in gates[-1].figure


def test_a_setting_that_cannot_be_used_shuts_the_gate_that_it_is_for(place: Place):
    place.variables["MEMSTORE_DREAM_HOURS"] = "-1"
    gate = list(place.gates().walk("turns"))[-1]
    assert (gate.name, gate.open, gate.to_mend) == ("hours", False, True)
    assert "dream.hours cannot be '-1'" in gate.figure
    assert [name for name, _ in place.walk(every=True)] == ALL


def test_of_a_dream_that_was_killed_no_progress_is_told(place: Place):
    with place.store.change() as connection:
        runs.begin(connection, "killed", "dream", "", place.now)
        steps.note_progress(connection, "killed", Progress("gather"))
    found = dream_standing(place.store, place.desk.memories.place.home.path, place.world, [], None)
    assert found.run is not None and (found.run.state, found.lease, found.progress) == ("running", None, None)


def test_a_schedule_passes_by_the_middle_ones_and_somebody_who_asks_by_all_but_the_lease(place: Place):
    place.set("assistant.enabled", "on")
    assert place.walk("schedule") == [("enabled", True), ("lease", True)]
    place.set("dream.enabled", "off")
    assert place.walk("schedule") == [("enabled", False)] and place.walk("hand") == [("lease", True)]


def test_where_saving_is_paused_it_does_not_come_by_itself(place: Place):
    with place.store.change() as connection:
        sessions.write(connection, "pause", ("store", "", 1))
    assert place.said("enabled") == "saving is paused"


def test_when_the_days_money_is_spent_it_waits(place: Place):
    place.set("budget.day", "0.01")
    with place.store.change() as connection:
        runs.begin(connection, "run", "extract", "s", place.now)
        connection.execute("UPDATE run SET cost_microusd = 10000")
    assert place.said("enabled").startswith("the runs of today cost $0.01")


def test_the_last_dream_is_ours_or_the_clients_whichever_is_later(place: Place):
    now = place.now
    assert place.gates().last is None
    place.dreamt("nothing", now - 30 * HOUR)
    assert place.gates().last == now - 30 * HOUR and place.walk()[1] == ("hours", True)
    place.lock("", now - 2 * HOUR)
    assert place.gates().last == now - 2 * HOUR and place.walk()[-1] == ("hours", False)
    gate = list(place.gates().walk("turns"))[-1]
    assert gate.opens_at == now + 22 * HOUR and gate.figure == "the last dream was 2 h ago, 24 h are needed"


@pytest.mark.parametrize("body", ["999999", "", "garbage", "1"])
def test_h31a_no_lock_that_was_left_behind_keeps_it_away_for_long(place: Place, body: str):
    now = place.now
    for at, opens in ((now + 365 * 24 * HOUR, True), (now - 48 * HOUR, True), (now - HOUR, False)):
        place.lock(body, at)
        assert dict(place.walk(every=True))["hours"] is opens
        assert dict(place.walk(every=True))["lease"]


def test_a_failed_dream_is_none_but_the_next_one_waits_a_little(place: Place):
    for number in range(5):
        place.session(number)
    now = place.now
    place.dreamt("failed", now - 5 * MINUTE)
    assert place.gates().last is None
    assert place.walk()[-1] == ("throttle", False)
    assert place.said("throttle").startswith("the last dream failed, ")
    place.desk.ahead = 6 * 60.0
    assert place.walk() == [(name, True) for name in ALL]


def test_sessions_are_counted_once_in_ten_minutes(place: Place):
    assert place.walk()[-1] == ("sessions", False)
    for number in range(5):
        place.session(number)
    assert place.walk()[-1] == ("throttle", False)
    assert place.said("sessions") == "5 since the last dream, 5 are needed"
    place.desk.ahead = 10 * 60.0
    assert place.walk()[-1] == ("lease", True)


def test_what_a_killed_dream_left_in_the_clients_lock_tells_of_no_dream(place: Place):
    place.lock("", place.now - 30 * HOUR)
    prior = place.gates().last
    hold = DreamHold(place.store, [str(place.desk.folder)], "a", place.world.clock)
    with hold:
        assert place.gates().last == prior
        assert place.said("lease").startswith(f"process {os.getpid()} has dreamt for")
    assert place.gates().last == prior


def test_while_the_client_dreams_the_last_gate_is_shut(place: Place, client: int):
    at = place.now
    place.lock(str(client), at)
    gate = list(place.gates().walk("turns", every=True))[-1]
    assert not gate.open and gate.figure.startswith(f"the client dreams (process {client}")
    assert gate.opens_at == at + HOUR


def test_there_is_to_see_how_things_stand(place: Place):
    folders, home = [str(place.desk.folder)], place.desk.memories.place.home.path
    root = root_of(place.store, folders)
    found = dream_standing(place.store, home, place.world, folders, root)
    assert [gate.name for gate in found.gates] == ALL
    assert (found.last, found.run, found.lease, found.progress, found.waiting, found.odd) == (
        None,
        None,
        None,
        None,
        (),
        (),
    )
    (place.desk.folder / NAME).mkdir()
    at = place.now
    place.dreamt("nothing", at)
    with DreamHold(place.store, [], "a", place.world.clock):
        found = dream_standing(place.store, home, place.world, folders, root)
    assert found.run is not None and found.run.outcome == "nothing" and found.last == at
    assert found.lease is not None and found.odd == (f"{NAME} in {folders[0]} is left alone: it is a directory",)
