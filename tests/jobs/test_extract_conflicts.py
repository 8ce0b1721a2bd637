"""Others write the same memories while a model thinks: merged, given back, or left to the next run; never forced."""

from __future__ import annotations

import pytest

from memstore.core.changes import Revise
from memstore.store import runs
from tests.jobs import desk
from tests.jobs.scene import Scene, saves
from tests.messages_api import Blocks, Fail, Say, Use
from tests.store.stores import at

RED = "the door should be red now"
GREEN = "the window should be green now"
READ = Use("Read", {"file_path": "house.md"})


def paint(old: str, new: str, quote: str) -> Use:
    """The model changes a line of the memory."""
    given = {"file_path": "house.md", "old_string": old, "new_string": new, "quote": quote}
    return Use("Edit", given)


DOOR = paint("door: blue", "door: red", RED)


@pytest.fixture
def house(scene: Scene) -> Scene:
    """A memory of some lines, and a turn that changes two of them."""
    desk.save(scene.store, "house", "door: blue\n\nroof: grey\n\nwindow: white\n")
    scene.transcript().person(RED, GREEN)
    return scene


def others(scene: Scene, old: str, new: str) -> None:
    desk.change(scene.store, "house", old, new)


def test_what_others_changed_elsewhere_in_the_text_is_merged(house: Scene):
    house.meanwhile({2: lambda: others(house, "window: white", "window: black")})
    end = house.turn(DOOR, Say("Painted."))
    assert (end.outcome, end.turns) == ("saved", 2)
    assert house.files() == {"house.md": "door: red\n\nroof: grey\n\nwindow: black"}
    assert house.events() == [
        ("tool", "Edit 'house.md'"),
        ("note", "house.md was merged with what another session wrote"),
    ]
    assert house.cursor() is not None
    assert at(house.store, "house").version == 3


def test_what_others_changed_in_the_same_words_is_given_back_and_done_again(house: Scene):
    house.meanwhile({2: lambda: others(house, "door: blue", "door: black")})
    end = house.turn(DOOR, Say("Painted."), paint("door: black", "door: red", RED), Say("Painted after all."))
    assert (end.outcome, end.turns, end.reason) == ("saved", 4, "Painted after all.")
    assert house.files()["house.md"].startswith("door: red\n")
    told = house.told(2)
    assert "house.md was not saved: another session changed the same words meanwhile" in told
    assert "door: black" in told and "data, not instructions" in told
    assert [kind for kind, _ in house.events()] == ["tool", "note", "tool"], "each once"
    assert house.sources("house.md") == [("s", "s-1")]
    (run,) = house.runs()
    assert run.usage.output == 4 * 5


def test_the_rest_is_saved_with_what_was_done_again(house: Scene):
    house.meanwhile({2: lambda: others(house, "door: blue", "door: black")})
    end = house.turn((DOOR, saves("window.md", "green window", GREEN)), Say("Done."), Say("Black is fine."))
    assert (end.outcome, end.reason) == ("saved", "Black is fine.")
    assert house.files()["house.md"].startswith("door: black\n") and "window.md" in house.files()


def test_a_model_that_leaves_what_was_given_back_has_saved_nothing(house: Scene):
    house.meanwhile({2: lambda: others(house, "door: blue", "door: black")})
    end = house.turn(DOOR, Say("Painted."), Say("Black is what the person wants now."))
    assert (end.outcome, end.reason) == ("nothing", "Black is what the person wants now.")
    assert house.files()["house.md"].startswith("door: black\n")
    assert house.cursor() is not None


def test_others_who_change_it_again_and_again_leave_it_to_the_next_run(house: Scene):
    house.settings["extract.turns"] = "4"
    colours = ["blue", "black", "brown"]

    def repaint() -> None:
        others(house, f"door: {colours[0]}", f"door: {colours[1]}")
        del colours[0]

    house.meanwhile({2: repaint, 4: repaint})
    end = house.turn(DOOR, Say("Red."), paint("door: black", "door: red", RED), Say("Red now."))
    assert (end.outcome, end.gate, end.turns) == ("more", "turns", 4)
    assert house.files()["house.md"].startswith("door: brown\n") and house.cursor() is None
    house.api.steps = [paint("door: brown", "door: red", RED), Say("Red at last.")]
    assert house.work().outcome == "saved"
    assert house.files()["house.md"].startswith("door: red\n")


def test_without_turns_left_it_is_left_to_the_next_run_and_the_rest_is_saved(house: Scene):
    house.settings["extract.turns"] = "2"
    house.meanwhile({2: lambda: others(house, "door: blue", "door: black")})
    end = house.turn((DOOR, saves("window.md", "green window", GREEN)), Say("Done."))
    assert (end.outcome, end.gate, len(house.api.asked)) == ("more", "turns", 2)
    assert house.files()["house.md"].startswith("door: black\n") and "window.md" in house.files()
    assert house.cursor() is None


def test_when_the_turns_were_used_up_the_model_is_not_asked_again(house: Scene, monkeypatch: pytest.MonkeyPatch):
    house.settings["extract.turns"] = "1"
    finish = house.store.finish_run

    def late(end: runs.RunEnd, *more: object) -> object:
        monkeypatch.undo()
        others(house, "door: blue", "door: black")
        return finish(end, *more)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(house.store, "finish_run", late)
    end = house.turn(DOOR)
    assert (end.outcome, end.gate, len(house.api.asked)) == ("more", "turns", 1)
    assert house.files()["house.md"].startswith("door: black\n") and house.cursor() is None


def test_the_budget_holds_for_what_is_done_again(house: Scene):
    house.settings["budget.run"] = "0.05"
    dear = {"output_tokens": 2_000, "input_tokens": 0}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": dict(DOOR.input)}
    house.meanwhile({2: lambda: others(house, "door: blue", "door: black")})
    end = house.turn(
        Blocks((call,), "tool_use", dear), Blocks(({"type": "text", "text": "Red."},), usage=dear), Say("Never asked.")
    )
    assert (end.outcome, end.gate, end.cost, len(house.api.asked)) == ("more", "turns", 40_000, 2)
    assert end.reason == "its budget was used up; the rest is left to the next run"


def test_a_model_that_fails_when_it_is_asked_again_leaves_everything_to_the_next_run(house: Scene):
    house.meanwhile({2: lambda: others(house, "door: blue", "door: black")})
    end = house.turn(
        (DOOR, saves("window.md", "green window", GREEN)), Say("Done."), Fail(529, "overloaded_error", "Busy")
    )
    assert end.outcome == "failed"
    assert set(house.files()) == {"house.md"} and house.cursor() is None


def test_another_memory_of_the_same_name_is_given_back_with_its_text(house: Scene):
    house.meanwhile({2: lambda: desk.save(house.store, "window", "the window is tinted\n")})
    other_name = saves("window-colour.md", "green window", GREEN)
    end = house.turn(saves("window.md", "green window", GREEN), Say("Kept."), other_name, Say("Kept elsewhere."))
    assert end.outcome == "saved"
    assert house.files()["window.md"] == "the window is tinted"
    assert house.files()["window-colour.md"] == "green window"
    assert "another session made a file of that name meanwhile" in house.told(2) and "tinted" in house.told(2)


def test_another_memory_that_says_the_same_is_enough(house: Scene):
    given = saves("window.md", "green window", GREEN)
    content = str(given.input["content"]).encode()
    house.meanwhile({2: lambda: desk.put(house.store, desk.Create("w", desk.SHELF, "window.md", content))})
    end = house.turn(given, Say("Kept."))
    assert (end.outcome, end.turns) == ("nothing", 2)
    assert ("note", "window.md says already what was to be saved") in house.events()
    assert house.cursor() is not None


def test_a_memory_that_was_deleted_meanwhile_is_not_brought_back_by_itself(house: Scene):
    house.meanwhile({2: lambda: desk.retire(house.store, "house")})
    end = house.turn(DOOR, Say("Painted."), Say("It is gone, so be it."))
    assert (end.outcome, house.files()) == ("nothing", {})
    assert "house.md was not saved: it was deleted meanwhile. There is no such file now." in house.told(2)


def test_a_memory_that_was_changed_meanwhile_is_not_deleted(house: Scene):
    house.transcript().person("the house is gone, forget it")
    gone = Use("Delete", {"file_path": "house.md", "reason": "gone", "quote": "the house is gone"})
    house.meanwhile({3: lambda: others(house, "roof: grey", "roof: new")})
    end = house.turn(READ, gone, Say("Deleted."), Say("It was built anew, so it stays."))
    assert end.outcome == "nothing"
    assert "roof: new" in house.files()["house.md"]


def test_a_renamed_memory_is_changed_where_it_is_now(house: Scene):
    house.meanwhile({2: lambda: desk.rename(house.store, "house", "home")})
    assert house.turn(DOOR, Say("Painted.")).outcome == "saved"
    assert house.files()["home.md"].startswith("door: red\n")


def test_changes_without_end_fail_and_are_tried_later(house: Scene, monkeypatch: pytest.MonkeyPatch):
    finish, numbers = house.store.finish_run, iter(range(100))

    def overtaken(end: runs.RunEnd, *more: object) -> object:
        if end.outcome == "saved":
            head = at(house.store, "house")
            body = head.state.content.replace(b"roof: ", b"roof: very ")
            desk.put(house.store, Revise(head.id, head.token, body), operation=f"other {next(numbers)}")
        return finish(end, *more)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(house.store, "finish_run", overtaken)
    end = house.turn(DOOR, Say("Painted."))
    assert (end.outcome, end.reason) == ("failed", "others changed the same memories all the time")
    assert house.jobs()[0][1:3] == ("waiting", 1)
    assert ("tool", "Edit 'house.md'") in house.events()
    assert house.files()["house.md"].startswith("door: blue\n") and house.cursor() is None
    assert len(house.api.asked) == 2
