"""What a session that starts is told of dreams: what they did, once; what they ask, until somebody answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.dream_answers import accept, find
from memstore.dreaming import Dreamer
from tests.files.desk import Desk, topic
from tests.hooks.calls import Session, at_rest
from tests.jobs.api import Scripted, scripted
from tests.messages_api import Say, Use


@pytest.fixture
def api() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A repository with three memories."""
    made = Desk(tmp_path, ahead=0.0)
    for name in "abc":
        made.put(f"{name}.md", topic(name, f"about {name}", f"All about {name}.\n"))
    made.sync(0)
    yield made
    at_rest(made)
    made.close()


def dream(desk: Desk, api: Scripted, *names: str) -> None:
    """A dream that rewords the first memory, and deletes the others."""
    steps: list[Use] = []
    for number, name in enumerate(names):
        path = f"{name}.md"
        line = {"line": f"All about {name}.", "reason": "plain"}
        steps.append(Use("Read", {"file_path": path}))
        if number:
            lines = [{**line, "fate": "dropped"}, {**line, "line": f"about {name}", "fate": "dropped"}]
            steps.append(Use("Delete", {"file_path": path, "reason": "gone", "lines": lines}))
        else:
            edit = {"file_path": path, "old_string": f"All about {name}.", "new_string": "It."}
            lines = [{**line, "fate": "reworded", "now": "It."}]
            steps.append(Use("Edit", {**edit, "reason": "short", "lines": lines}))
    api.steps = [*steps, Say("Done.")]
    world = desk.world()
    world = replace(world, environment={**world.environment, **api.environment})
    Dreamer(desk.memories.store, world, desk.memories.place.home.path).dream("hand")


def test_what_a_dream_did_is_told_once_with_the_way_back(desk: Desk, api: Scripted):
    dream(desk, api, "b")
    run = find(desk.memories.store)
    head = desk.head("b")
    assert head is not None
    told = f"the dream updated 1 (`memstore dream show {run.id[:13]}`; `memstore undo {head.seq}` takes that back)"
    assert f"memstore: {told}" in Session(desk, "one").starts().context
    assert "the dream" not in Session(desk, "two").starts().context


def test_what_was_taken_back_meanwhile_is_told_to_nobody(desk: Desk, api: Scripted):
    dream(desk, api, "b")
    desk.memories.undo(find(desk.memories.store).id)
    assert "the dream" not in Session(desk, "one").starts().context


def test_what_a_dream_asks_is_told_until_somebody_answers(desk: Desk, api: Scripted):
    dream(desk, api, "a", "b", "c")
    run = find(desk.memories.store)
    told = f"memstore: 3 steps wait for the person's answer to a dream: `memstore dream show {run.id[:13]}`"
    for session in ("one", "two"):
        assert told in Session(desk, session).starts().context
    accept(desk.memories, run)
    assert "the person's answer" not in Session(desk, "three").starts().context
