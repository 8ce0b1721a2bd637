"""When notes are updated, and what of the transcript they do not know yet."""

from __future__ import annotations

import json

import pytest

from memstore.core.settings import Settings
from memstore.errors import SettingRefused
from memstore.jobs.notes_since import Pace, cursor_after, since
from memstore.store.runs import Cursor
from tests.jobs.noting import Notes, answers, compacted, edit
from tests.jobs.scene import Scene
from tests.messages_api import Say


@pytest.fixture
def notes(scene: Scene) -> Notes:
    return Notes(scene)


def noted(notes: Notes) -> None:
    """An update that went well."""
    steps = [edit("Current", "under way"), Say()] if notes.memory is None else [Say()]
    assert notes.update(*steps).outcome in ("saved", "nothing")


def new(notes: Notes) -> list[str]:
    """What the notes do not know, in words."""
    return [entry.text for entry in since(notes.job(), notes.cursor).entries if entry.text]


def test_the_first_update_comes_with_the_size_of_the_context(notes: Notes):
    assert not notes.is_due()
    notes.talk.person("please port the cache")
    answers(notes.talk, 9_999)
    assert not notes.is_due()
    answers(notes.talk, 10_000)
    assert notes.is_due() and not notes.is_due(start=10_001)


def test_the_next_one_comes_when_the_context_has_grown_enough(notes: Notes):
    answers(notes.talk, 12_000)
    noted(notes)
    assert not notes.is_due()
    notes.talk.person("go on")
    answers(notes.talk, 16_999)
    assert not notes.is_due()
    answers(notes.talk, 17_000)
    assert notes.is_due()
    noted(notes)
    answers(notes.talk, 21_999)
    assert not notes.is_due()


def test_in_the_midst_of_work_it_waits_for_tools_that_were_called_or_a_pause(notes: Notes):
    answers(notes.talk, 12_000, "Read")
    noted(notes)
    answers(notes.talk, 20_000, "Read", "Edit", text="")
    assert not notes.is_due() and notes.is_due(calls=2)
    notes.talk.tool("ok")
    answers(notes.talk, 21_000, "Bash")
    assert notes.is_due()


def test_an_answer_without_a_tool_is_a_pause(notes: Notes):
    answers(notes.talk, 12_000)
    noted(notes)
    answers(notes.talk, 20_000, "Read")
    assert not notes.is_due()
    answers(notes.talk, 20_100)
    assert notes.is_due()


def test_the_tools_of_subagents_and_what_they_read_do_not_count(notes: Notes):
    answers(notes.talk, 12_000)
    noted(notes)
    answers(notes.talk, 13_000, "Task")
    usage = {"input_tokens": 90_000}
    content = [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]
    for _ in range(5):
        row = notes.talk.row(
            "assistant", isSidechain=True, message={"role": "assistant", "content": content, "usage": usage}
        )
        notes.talk.write(row)
    assert not notes.is_due()


def test_a_compaction_is_no_growth_and_takes_none_away(notes: Notes):
    answers(notes.talk, 150_000)
    noted(notes)
    answers(notes.talk, 153_000)
    compacted(notes.talk)
    answers(notes.talk, 22_000)
    assert not notes.is_due()
    answers(notes.talk, 23_999)
    assert not notes.is_due()
    answers(notes.talk, 24_000)
    assert notes.is_due()


def test_a_context_that_was_compacted_before_the_first_update_counts_in_full(notes: Notes):
    answers(notes.talk, 9_000)
    compacted(notes.talk)
    answers(notes.talk, 3_000)
    assert not notes.is_due()
    answers(notes.talk, 4_000)
    assert notes.is_due()


def test_a_smaller_context_that_grows_back_is_no_growth(notes: Notes):
    answers(notes.talk, 30_000)
    noted(notes)
    for tokens in (24_000, 30_000, 24_000, 31_000):
        answers(notes.talk, tokens)
    assert not notes.is_due()


def test_what_the_notes_know_is_not_new(notes: Notes):
    notes.talk.person("please port the cache")
    answers(notes.talk, 12_000, text="I began.")
    noted(notes)
    assert new(notes) == []
    notes.talk.person("and then the tests")
    answers(notes.talk, 13_000, text="They pass.")
    assert new(notes) == ["and then the tests", "They pass."]


def test_an_update_that_found_nothing_to_note_counts_all_the_same(notes: Notes):
    answers(notes.talk, 12_000, text="Hello.")
    assert notes.update(Say("Nothing is new.")).outcome == "nothing"
    answers(notes.talk, 16_000, text="And on.")
    assert new(notes) == ["And on."] and not notes.is_due()


def test_after_an_update_that_failed_all_is_new_again(notes: Notes):
    answers(notes.talk, 12_000, text="Hello.")
    assert notes.update(Say(""), Say("")).outcome == "failed"
    assert notes.cursor is None and new(notes) == ["Hello."] and notes.is_due()


def test_a_transcript_that_was_written_anew_is_known_up_to_the_last_answer(notes: Notes):
    notes.talk.person("one")
    answers(notes.talk, 12_000, text="two")
    noted(notes)
    notes.talk.person("three")
    answers(notes.talk, 20_000, text="four")
    lines = [json.loads(line) | {"version": "2"} for line in notes.talk.path.read_text().splitlines()]
    notes.talk.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = since(notes.job(), notes.cursor)
    assert not said.reading.fits and [entry.text for entry in said.entries] == ["three", "four"]
    assert notes.is_due()


def test_a_transcript_elsewhere_is_known_up_to_the_last_answer_too(notes: Notes, scene: Scene):
    notes.talk.person("one")
    answers(notes.talk, 12_000, text="two")
    noted(notes)
    moved = scene.directory / "elsewhere.jsonl"
    notes.talk.path.rename(moved)
    notes.talk.path = moved
    notes.talk.person("three")
    assert new(notes) == ["three"]


def test_a_transcript_without_what_the_notes_knew_is_new_as_a_whole(notes: Notes):
    answers(notes.talk, 12_000, text="one")
    noted(notes)
    notes.talk.path.write_text("")
    answers(notes.talk, 8_000, text="two")
    assert new(notes) == ["two"] and not notes.is_due()
    answers(notes.talk, 13_000, text="three")
    assert notes.is_due()


def test_the_cursor_stands_before_the_last_answer_and_names_it(notes: Notes):
    notes.talk.person("one")
    before = notes.talk.path.stat().st_size
    answers(notes.talk, 12_000, text="two")
    noted(notes)
    cursor = notes.cursor
    assert cursor is not None and (cursor.message, cursor.offset) == ("s-2", before)
    notes.talk.person("three")
    noted(notes)
    assert notes.cursor == cursor


def test_without_an_answer_the_cursor_stands_at_the_end(notes: Notes):
    notes.talk.person("one")
    said = since(notes.job(), None)
    cursor = cursor_after(said, notes.job(), None, None)
    assert (cursor.message, cursor.offset) == ("s-1", notes.talk.path.stat().st_size)


def test_a_cursor_without_a_message_knows_nothing(notes: Notes):
    notes.talk.write(json.dumps({"type": "user", "message": {"role": "user", "content": "no id"}}))
    job = notes.job()
    assert since(job, Cursor("notes", "s", "/elsewhere.jsonl", "", 0, b"")).known is None


def test_the_pace_is_set():
    assert Pace.of(Settings()) == Pace(10_000, 5_000, 3)
    assert Pace.of(Settings({}, {"notes.every": "700", "notes.calls": "0"})) == Pace(10_000, 700, 0)
    with pytest.raises(SettingRefused):
        Pace.of(Settings({}, {"notes.start": "many"}))
