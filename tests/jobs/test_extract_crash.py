"""A worker that is killed anywhere leaves all of a run or nothing, and the next one comes to the same end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memstore.store import ending, jobs, runs
from memstore.store.connection import many
from tests.jobs import desk, dying
from tests.jobs.api import Scripted
from tests.jobs.dying import Death, Workers
from tests.jobs.scene import Scene, saves
from tests.messages_api import Answer, Asked, Say, Use
from tests.store.killed import TABLES
from tests.store.stores import check_witness

RED = "the door should be red now"
KILLED = "its worker ended in the middle of it"


class Script(list[Any]):
    """A model that does the same whenever it sees the same."""

    def pop(self, _: object = 0) -> Any:
        return self.answer

    def answer(self, asked: Asked) -> Answer:
        if "- [feedback] bun.md" in asked.body["messages"][0]["content"][0]["text"]:
            return Say("All of it is there.")
        if len(asked.body["messages"]) > 1:
            return Say("Kept two things.")
        paint = {"file_path": "house.md", "old_string": "door: blue", "new_string": "door: red", "quote": RED}
        return (
            saves("bun.md", "use bun", "always use bun", type="feedback"),
            Use("Edit", paint),
            Use("Bash", {"command": "id"}),
            saves("logs.md", "logs go there", "what a tool said"),
        )


@pytest.fixture
def killed(api: Scripted) -> Iterator[Workers]:
    api.steps = Script([None])
    with dying.workers(api.environment) as workers:
        yield workers


def begun(directory: Path, api: Scripted, settings: dict[str, str]) -> Scene:
    """A store with a memory, and a turn of session `s` that waits."""
    scene = Scene(directory, api)
    scene.settings |= settings
    desk.save(scene.store, "house", "door: blue\n")
    transcript = scene.transcript()
    transcript.person("please always use bun here", RED)
    transcript.write("{broken")
    transcript.agent("All right.")
    scene.queue()
    return scene


def drain(scene: Scene) -> None:
    """The next worker, and all that there is to do."""
    with scene.store.change() as connection:
        ending.close_interrupted(connection, "extract", scene.clock())
    for _ in range(9):
        with scene.store.change() as connection:
            job = jobs.claim(connection, "extract", 10**18)
        if job is None:
            return
        scene.extraction(job).run()
    raise AssertionError("it does not end")


def state(scene: Scene) -> dict[str, Any]:
    """All that a run leaves, but for ids and moments."""
    with scene.store.view() as connection:
        taken = {row[0] for row in many(connection, "SELECT message FROM taken")}
    cursor = scene.cursor()
    memories = [(memory.path, memory.state.content, memory.version, memory.origin) for memory in scene.store.memories()]
    done = [run for run in scene.runs() if run.state != "running" and run.reason != KILLED]
    return {
        "memories": memories,
        "index": scene.index(),
        "cursor": cursor and (cursor.message, cursor.offset, cursor.digest),
        "taken": taken,
        "sources": {path: scene.sources(path) for path, *_ in memories},
        "runs": [(run.outcome, run.gate, run.reason, run.turns, run.messages, run.unread, run.cost) for run in done],
        "events": [event for number, run in enumerate(scene.runs()) if run in done for event in scene.events(number)],
        "jobs": [job for _, job, _, _ in scene.jobs()],
    }


@pytest.mark.parametrize(
    ("settings", "first"), [({}, "saved"), ({"extract.turns": "1"}, "more")], ids=["saved", "more"]
)
def test_a_worker_that_is_killed_anywhere_and_the_next_one_come_to_the_end_of_an_undisturbed_run(
    tmp_path: Path, api: Scripted, killed: Workers, settings: dict[str, str], first: str
):
    scene = begun(tmp_path / "begun", api, settings)
    before = state(scene)
    scene.store.close()
    scene = resumed(tmp_path / "begun", tmp_path / "undisturbed", api, settings)
    scene.work()
    after = state(scene)
    assert after["runs"][0][0] == first and after != before
    drain(scene)
    end = state(scene)
    assert set(end["jobs"]) == {"done"} and end["cursor"] is not None
    assert [path for path, *_ in end["memories"]] == ["bun.md", "house.md", "logs.md"]
    scene.store.close()

    left: list[object] = []
    for death in deaths(1 if first == "more" else 2):
        place = tmp_path / f"{death.at}-{death.nth}"
        shutil.copytree(tmp_path / "begun", place)
        told = killed.work(place, death, settings)
        assert told == "killed" or (told, death.at) == (dying.DONE, "statement")
        scene = Scene(place, api)
        scene.settings |= settings
        found, whole_store = state(scene), contents(scene)
        whole = after if found["runs"] else before
        assert found | {"jobs": []} == whole | {"jobs": []}, f"{death}: memories, cursor and run do not agree"
        assert found["jobs"] == whole["jobs"] or (found["jobs"] == ["running"] and not found["runs"]), death
        if whole_store not in left:  # from the same store the next worker comes to the same end
            left.append(whole_store)
            drain(scene)
            assert state(scene) == end, death
            costs_are_known(scene)
        scene.store.close()
        if told == dying.DONE:
            break
    assert death.nth > 60 and len(left) == (5 if first == "more" else 6)
    check_witness(place / "store", tmp_path / "witness")


def deaths(answers: int) -> Iterator[Death]:
    for nth in range(1, answers + 1):
        yield Death("before", nth)
        yield Death("after", nth)
    yield from (Death("statement", nth) for nth in count(1))


def contents(scene: Scene) -> object:
    """All that stands in the tables that a run writes."""
    with scene.store.view() as connection:
        return {table: many(connection, f'SELECT * FROM "{table}"') for table in TABLES}


def resumed(source: Path, place: Path, api: Scripted, settings: dict[str, str]) -> Scene:
    shutil.copytree(source, place)
    scene = Scene(place, api)
    scene.settings |= settings
    return scene


def costs_are_known(scene: Scene) -> None:
    """What a killed run was told to have used counts for the day."""
    with scene.store.view() as connection:
        spent, unknown = runs.cost_since(connection, 0)
    assert unknown == 0 and spent == sum(run.cost or 0 for run in scene.runs())
