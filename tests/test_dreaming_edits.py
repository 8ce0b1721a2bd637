"""Hand edits of the files while the model thinks, and at the very moment of the commit: they are current afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memstore.store.store import Store
from tests.files.desk import topic
from tests.messages_api import Answer, Asked, Say, Use
from tests.test_dreaming import Place, api, outcome, place, revise

__all__ = ("api", "place")


def plan(place: Place, meanwhile: Callable[[], object]) -> list[Any]:
    """Rewords b, and deletes c after a while."""

    def think(asked: Asked) -> Answer:
        meanwhile()
        return Say("Tidied up.")

    delete = Use("Delete", {"file_path": "c.md", "reason": "nobody needs it"})
    return [(revise()[0], Use("Read", {"file_path": "c.md"})), (revise()[1], delete), think]


@pytest.fixture
def wide(place: Place) -> Place:
    """With enough memories that one may be deleted."""
    for number in range(5):
        place.desk.put(f"more-{number}.md", topic(f"more-{number}", f"about {number}", f"Fact {number}.\n"))
    place.desk.put("MEMORY.md", "- [b](b.md) — about b\n- [c](c.md) — about c\n")
    place.desk.sync(0)
    return place


def edit(place: Place) -> None:
    place.desk.put("b.md", topic("b", "about b", "By hand.\n"))
    place.desk.put("c.md", topic("c", "about c", "All about c.\nAnd by hand.\n"))
    place.desk.put("new.md", topic("new", "about new", "By hand.\n"))


def test_what_was_edited_by_hand_while_the_model_thought_is_current_afterwards(wide: Place):
    wide.api.steps = plan(wide, lambda: edit(wide))
    dreamed = wide.dream()
    assert outcome(dreamed) == "nothing" and dreamed.report is not None
    assert {each.step.path: each.state for each in dreamed.report.outcomes} == {"b.md": "stale", "c.md": "stale"}
    wide.desk.sync(0)
    by_hand_is_current(wide)


def test_the_rest_of_the_dream_goes_through(wide: Place):
    wide.api.steps = plan(wide, lambda: wide.desk.put("c.md", topic("c", "about c", "By hand.\n")))
    assert outcome(wide.dream()) == "saved"
    assert "Nothing but b." in wide.desk.read("b.md") and "By hand." in wide.desk.read("c.md")
    wide.desk.sync(0)
    assert "By hand." in wide.desk.memories.show("c")[1].state.content.decode()


def test_what_was_edited_by_hand_at_the_moment_of_the_commit_is_not_lost(wide: Place, monkeypatch: pytest.MonkeyPatch):
    wide.api.steps = plan(wide, lambda: None)
    finish = Store.finish_run

    def at_that_moment(*given: Any, **more: Any) -> Any:
        edit(wide)
        return finish(*given, **more)

    monkeypatch.setattr(Store, "finish_run", at_that_moment)
    assert outcome(wide.dream()) == "saved"
    monkeypatch.undo()
    wide.desk.sync(0)
    (conflict,) = wide.store.conflicts()
    assert (conflict.path, conflict.theirs) == ("b.md", topic("b", "about b", "By hand.\n").encode())
    assert "And by hand." in wide.desk.read("c.md"), "an edit outlives a deletion"
    assert "By hand." in wide.desk.read("new.md")


def by_hand_is_current(place: Place) -> None:
    for name in ("b", "c", "new"):
        text = place.desk.read(f"{name}.md")
        assert "y hand." in text and "Nothing but b." not in text
        assert place.desk.memories.show(name)[1].state.content.decode() == text


def test_a_line_of_the_index_that_was_written_by_hand_stays(wide: Place):
    def write() -> None:
        index = wide.desk.read("MEMORY.md")
        wide.desk.put("MEMORY.md", f"# Mine\n{index}")

    wide.api.steps = plan(wide, write)
    assert outcome(wide.dream()) == "saved"
    index = wide.desk.read("MEMORY.md")
    assert index.startswith("# Mine\n") and "(b.md)" in index and "(c.md)" not in index
