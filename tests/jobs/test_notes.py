"""One update of a session's notes: one file, its sections, its budgets, its history, and how it can end."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from memstore.core.changes import Revise
from memstore.core.model import NOTES, SHELF
from memstore.core.notes_text import TEMPLATE, sections
from memstore.errors import Conflict, SettingRefused
from memstore.jobs.notes import TURNS, Custom, NotesRun
from memstore.jobs.notes_prompt import rules, task
from memstore.store import ending, runs
from tests.jobs.noting import Notes, answers, edit
from tests.jobs.scene import Scene
from tests.messages_api import Blocks, Fail, Say, Use
from tests.store.stores import put

SAVED = (edit("Current", "porting the cache"), Say("The port began."))


@pytest.fixture
def notes(scene: Scene) -> Notes:
    made = Notes(scene)
    made.talk.person("please port the cache to h2")
    answers(made.talk, 12_000, text="I began with cache.py.")
    return made


def asked(scene: Scene, number: int = 0) -> list[str]:
    """The two texts of what the model was asked first."""
    return [str(block["text"]) for block in scene.api.bodies[number]["messages"][0]["content"]]


def test_what_a_model_declined_is_in_no_later_update_s_way(notes: Notes, scene: Scene):
    end = notes.update(edit("Current", "porting the cache"), Blocks((), "refusal"))
    assert (end.outcome, end.park, notes.memory) == ("failed", True, None)
    notes.talk.person("now port the index to h3")
    answers(notes.talk, 18_000)
    assert notes.update(edit("Current", "porting the index"), Say("The index.")).outcome == "saved"
    assert scene.shown()[0] == "now port the index to h3"


def test_the_first_update_fills_the_template(notes: Notes, scene: Scene):
    end = notes.update(*SAVED)
    assert (end.outcome, end.reason, end.turns, end.messages) == ("saved", "The port began.", 2, 2)
    assert notes.says("Current") == "porting the cache" and notes.says("Learnings") == ""
    assert [one.heading for one in sections(notes.text)] == [one.heading for one in sections(TEMPLATE)]
    shown = scene.shown(0)
    assert shown == ["please port the cache to h2", "I began with cache.py."]
    assert "please port the cache" in asked(scene)[0] and "# Worklog" in asked(scene)[1]
    assert scene.api.bodies[0]["model"] == "claude-sonnet-5-5"


def test_notes_stand_on_their_own_shelf_with_where_they_come_from(notes: Notes, scene: Scene):
    end = notes.update(*SAVED)
    memory = notes.memory
    assert memory is not None and (memory.path, memory.state.shelf, memory.origin, memory.listing) == (
        "s.md", NOTES, "tool", "unlisted",
    )  # fmt: skip
    operation = scene.store.operations(memory.id)[0][0]
    assert (operation.id, operation.kind, operation.reason) == (end.run, "notes", "The port began.")
    assert (operation.provenance.session, operation.provenance.worktree) == ("s", "/srv/shop")
    with scene.store.view() as connection:
        assert [message for _, _, message in runs.sources(connection, memory.id)] == ["s-2"]
    assert scene.files() == {} and scene.index() == ""


def test_the_next_update_sees_the_notes_and_only_what_is_new(notes: Notes, scene: Scene):
    notes.update(*SAVED)
    notes.talk.person("now the tests")
    answers(notes.talk, 20_000, text="They pass.")
    change = Use("Edit", {"file_path": "s.md", "old_string": "porting the cache", "new_string": "testing the port"})
    assert notes.update(change, Say("On to the tests.")).outcome == "saved"
    assert notes.says("Current") == "testing the port"
    assert scene.shown(2) == ["now the tests", "They pass."] and "porting the cache" in asked(scene, 2)[1]
    memory = notes.memory
    assert memory is not None and memory.version == 2
    assert "porting the cache" in scene.store.versions(memory.id)[0].state.content.decode()


def test_edits_of_one_answer_are_all_made(notes: Notes):
    both = (edit("Current", "porting"), edit("Worklog", "- began"))
    assert notes.update(both, Say("Done.")).outcome == "saved"
    assert (notes.says("Current"), notes.says("Worklog")) == ("porting", "- began")


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (Use("Edit", {"file_path": "other.md", "old_string": "a", "new_string": "b"}), "edits s.md and no other file"),
        (Use("Edit", {"file_path": "/etc/passwd", "old_string": "a", "new_string": "b"}), "outside of the memory"),
        (Use("Edit", {"file_path": "../s.md", "old_string": "a", "new_string": "b"}), "outside of the memory"),
        (Use("Write", {"file_path": "s.md", "content": "x"}), "there is no tool 'Write'"),
        (Use("Read", {"file_path": "s.md"}), "there is no tool 'Read'"),
        (Use("Bash", {"command": "ls"}), "there is no tool 'Bash'"),
        (Use("Delete", {"file_path": "s.md", "reason": "x"}), "there is no tool 'Delete'"),
    ],
)
def test_nothing_but_edit_of_the_one_file_is_allowed(notes: Notes, scene: Scene, use: Use, told: str):
    assert notes.update(use, Say("Nothing to note.")).outcome == "nothing"
    assert told in scene.told() and "Denied: " in scene.told()
    assert [event.kind for event in notes.events()] == ["denied"]
    assert notes.memory is None
    assert [tool["name"] for tool in scene.api.bodies[0]["tools"]] == ["Edit"]


def test_notes_of_another_session_are_out_of_reach(scene: Scene, notes: Notes):
    other = Notes(scene, "t")
    answers(other.talk, 12_000)
    other.update(edit("Current", "secret plans", path="t.md"), Say("Noted."))
    use = Use("Edit", {"file_path": "t.md", "old_string": "secret plans", "new_string": "x"})
    assert notes.update(use, Say("Nothing.")).outcome == "nothing"
    assert "secret plans" not in "".join(asked(scene, 2)) and other.says("Current") == "secret plans"


def test_an_edit_that_makes_a_section_too_long_is_refused_with_the_figure(notes: Notes, scene: Scene):
    end = notes.update(edit("Worklog", "- step\n" * 1_300), edit("Worklog", "- steps"), Say("Shorter."))
    assert end.outcome == "saved" and notes.says("Worklog") == "- steps"
    refused = scene.api.bodies[1]["messages"][-1]["content"][0]
    assert refused["is_error"] and "'# Worklog' would have about 22" in refused["content"]
    assert "a section has 2000 at most" in refused["content"]
    assert [event.kind for event in notes.events()] == ["refused", "tool"]


@pytest.mark.parametrize(
    ("old", "new"), [("# Worklog", "# Diary"), ("# Worklog", "# More\n# Worklog"), ("_Step", "_A step")]
)
def test_headings_and_lines_in_italics_are_not_changed(notes: Notes, scene: Scene, old: str, new: str):
    use = Use("Edit", {"file_path": "s.md", "old_string": old, "new_string": new})
    assert notes.update(use, *SAVED).outcome == "saved"
    assert "Nothing was done" in scene.api.bodies[1]["messages"][-1]["content"][0]["content"]
    assert [one.heading for one in sections(notes.text)] == [one.heading for one in sections(TEMPLATE)]


def test_an_edit_says_how_much_room_is_left(notes: Notes, scene: Scene):
    notes.update(edit("Worklog", "word " * 400), Say("Noted."))
    assert "'# Worklog', the longest section, about 5" in scene.told() and "of 2000." in scene.told()


def test_what_is_near_its_limit_is_to_be_shortened(notes: Notes, scene: Scene):
    notes.update(edit("Worklog", "word " * 1_500), Say("Noted."))
    notes.talk.person("go on")
    notes.update(Say("Nothing."))
    assert "'# Worklog' has about 1" in asked(scene, 2)[1] and "shorten it" in asked(scene, 2)[1]


def test_nothing_to_note_leaves_no_notes_and_is_not_looked_at_again(notes: Notes, scene: Scene):
    end = notes.update(Say("It was only a greeting."))
    assert (end.outcome, end.reason) == ("nothing", "It was only a greeting.")
    assert notes.memory is None and notes.cursor is not None
    assert notes.update().outcome == "nothing" and len(scene.api.bodies) == 1


def test_what_is_changed_back_is_no_change(notes: Notes):
    there = edit("Current", "porting")
    back = Use(
        "Edit", {**there.input, "old_string": there.input["new_string"], "new_string": there.input["old_string"]}
    )
    assert notes.update(there, back, Say("On second thought, nothing.")).outcome == "nothing"
    assert notes.memory is None


def test_what_was_edited_before_the_turns_were_used_up_is_kept(notes: Notes):
    end = notes.update(edit("Current", "a"), *([Use("Read", {"file_path": "s.md"})] * (TURNS - 1)))
    assert (end.outcome, end.reason, end.turns) == ("saved", "its turns were used up", TURNS)
    assert notes.says("Current") == "a" and notes.cursor is not None


def test_turns_that_are_used_up_without_an_edit_are_a_failure(notes: Notes, scene: Scene):
    end = notes.update(*([Use("Read", {"file_path": "s.md"})] * TURNS))
    assert end.outcome == "failed" and "before anything was noted" in end.reason
    assert notes.cursor is None and [job[1] for job in scene.jobs()] == ["waiting"]


def test_a_model_that_breaks_off_leaves_all_as_it_was(notes: Notes, scene: Scene):
    end = notes.update(edit("Current", "porting"), Fail(529, "overloaded_error", "Overloaded"))
    assert end.outcome == "failed" and "Overloaded" in end.reason
    assert notes.memory is None and notes.cursor is None
    assert [job[1:3] for job in scene.jobs()] == [("waiting", 1)]


def test_a_key_that_is_refused_is_no_fault_of_the_notes(notes: Notes, scene: Scene):
    end = notes.update(Fail(401, "authentication_error", "invalid x-api-key"))
    assert end.held is not None and "ANTHROPIC_API_KEY" in end.held[0]
    assert [job[1:] for job in scene.jobs()] == [("waiting", 0, None)]


def test_a_run_that_is_called_off_is_left_to_the_next(notes: Notes, scene: Scene):
    scene.cancelled = lambda: True
    assert notes.update().outcome == "more"
    assert notes.cursor is None and [job[:2] for job in scene.jobs()] == [("Stop", "done"), ("more", "waiting")]


def test_what_it_costs_is_on_record_and_held_by_the_budget_of_a_run(notes: Notes, scene: Scene):
    use = edit("Current", "porting")
    block = {"type": "tool_use", "id": "t", "name": "Edit", "input": use.input}
    end = notes.update(Blocks((block,), "tool_use", {"input_tokens": 1_000, "output_tokens": 100}), Say("Done."))
    assert end.cost is not None and end.cost > 3_000
    with scene.store.view() as connection:
        assert runs.cost_since(connection, 0)[0] == end.cost
    scene.settings["budget.run"] = "0.003"
    notes.talk.person("go on")
    again = Use("Edit", {"file_path": "s.md", "old_string": "porting", "new_string": "testing"})
    block = {"type": "tool_use", "id": "t", "name": "Edit", "input": again.input}
    end = notes.update(Blocks((block,), "tool_use", {"input_tokens": 1_000, "output_tokens": 100}))
    assert (end.outcome, end.reason) == ("saved", "its budget was used up") and notes.says("Current") == "testing"


def test_a_long_conversation_is_noted_part_by_part(notes: Notes, scene: Scene):
    for number in range(12):
        notes.talk.person(f"{number} " + "word " * 2_300)
    answers(notes.talk, 60_000, text="I read all that.")
    end = notes.update(*SAVED)
    assert end.outcome == "more" and end.reason.startswith("The port began. (more")
    assert [job[:2] for job in scene.jobs()] == [("Stop", "done"), ("more", "waiting")]
    assert notes.update(Say("Nothing more.")).outcome == "nothing"
    assert scene.shown(2)[-1] == "I read all that." and not set(scene.shown(0)) & set(scene.shown(2))
    assert not notes.is_due()


def test_of_what_is_too_large_for_a_model_it_is_given_half(notes: Notes, scene: Scene):
    end = notes.update(Fail(400, "invalid_request_error", "prompt is too long"), *SAVED)
    assert end.outcome == "saved" and len(scene.api.asked) == 3


def test_what_was_said_while_saving_was_paused_is_not_shown(notes: Notes, scene: Scene):
    since = scene.clock() + 1_000_000
    notes.talk.said += 5
    notes.talk.person("not for the notes")
    with scene.store.change() as connection:
        connection.execute(
            "INSERT INTO rested (scope, key, since, until) VALUES ('store', '', ?, ?)", (since, since + 9**9)
        )
    notes.update(*SAVED)
    assert "not for the notes" not in asked(scene)[0]


def test_what_the_person_went_back_behind_is_not_shown(notes: Notes, scene: Scene):
    before = notes.talk.last
    notes.talk.person("use redis")
    notes.talk.last = before
    notes.talk.person("use memcached")
    notes.update(*SAVED)
    assert "use memcached" in asked(scene)[0] and "use redis" not in asked(scene)[0]


def test_switched_off_nobody_is_asked(notes: Notes, scene: Scene):
    scene.settings["notes.enabled"] = "false"
    end = notes.update()
    assert (end.outcome, end.gate) == ("skipped", "off") and scene.api.bodies == [] and notes.cursor is None


def test_a_setting_that_cannot_be_used_waits_for_a_person(notes: Notes, scene: Scene):
    scene.settings["notes.enabled"] = "perhaps"
    assert "notes.enabled cannot be 'perhaps'" in notes.update().reason
    assert [job[1] for job in scene.jobs()] == ["failed"]


def test_a_transcript_that_is_gone_is_told(notes: Notes):
    notes.talk.path.unlink()
    assert (notes.update().outcome, notes.cursor) == ("nothing", None)


def test_notes_that_somebody_changed_meanwhile_are_tried_again(notes: Notes, scene: Scene):
    notes.update(*SAVED)
    notes.talk.person("go on")
    job = notes.queued()
    run = NotesRun(scene.around(), job)

    def change(_: object) -> Say:
        head = notes.memory
        assert head is not None
        put(scene.store, Revise(head.id, head.token, head.state.content + b"by hand\n"))
        return Say("Noted.")

    scene.api.steps = [Use("Edit", {"file_path": "s.md", "old_string": "porting", "new_string": "testing"}), change]
    end = run.run()
    assert end.outcome == "failed" and "has changed" in end.reason
    assert "by hand" in notes.text and [job[1] for job in scene.jobs()] == ["done", "waiting"]
    scene.api.steps = [
        Use("Edit", {"file_path": "s.md", "old_string": "porting", "new_string": "testing"}),
        Say("Noted."),
    ]
    assert NotesRun(scene.around(), notes.claimed(10**18)).run().outcome == "saved"
    assert "by hand" in notes.text and "testing the cache" in notes.text


def test_a_worker_that_dies_in_the_middle_leaves_all_as_it_was(notes: Notes, scene: Scene):
    scene.cancelled = lambda: bool(scene.api.bodies) and sys.exit("killed")
    with pytest.raises(SystemExit):
        notes.update(edit("Current", "porting"))
    assert notes.memory is None and notes.cursor is None
    with scene.store.change() as connection:
        ending.close_interrupted(connection, "notes", scene.clock())
    scene.cancelled = lambda: False
    scene.api.steps = list(SAVED)
    assert NotesRun(scene.around(), notes.claimed(10**18)).run().outcome == "saved"
    assert notes.memory is not None and notes.memory.version == 1 and notes.says("Current") == "porting the cache"
    assert [run.outcome for run in scene.runs()] == ["failed", "saved"] and scene.runs()[0].usage.prompt > 0


def test_two_updates_of_a_session_do_not_overlap(notes: Notes, scene: Scene):
    with scene.store.change() as connection:
        runs.begin(connection, "other", "notes", "s", scene.clock())
    with pytest.raises(Conflict, match="is going on"):
        notes.update()


def test_a_session_with_a_strange_id_has_notes_too(scene: Scene):
    notes = Notes(scene)
    notes.session = "../Strange id"
    answers(notes.talk, 12_000)
    end = notes.update(Use("Edit", {"file_path": "x.md", "old_string": "a", "new_string": "b"}), Say("Nothing."))
    assert end.outcome == "nothing" and "this run edits session-" in scene.told()


# What a person words otherwise


def test_own_sections_and_an_own_task(notes: Notes, scene: Scene):
    own = Custom("# Plan\n*What we want.*\n\n# Open\n", "Update {{notesPath}}, tersely:\n{{currentNotes}}\n(end)")
    use = Use("Edit", {"file_path": "s.md", "old_string": "# Open\n", "new_string": "# Open\n- the port\n"})
    assert notes.update(use, Say("Noted."), custom=lambda: own).outcome == "saved"
    assert asked(scene)[1] == "Update s.md, tersely:\n# Plan\n*What we want.*\n\n# Open\n\n(end)"
    assert notes.says("Open") == "- the port" and scene.api.bodies[0]["system"][0]["text"] == rules(TURNS)


def test_a_template_counts_for_new_notes_only(notes: Notes):
    notes.update(*SAVED)
    notes.talk.person("go on")
    notes.update(Say("Nothing."), custom=lambda: Custom("# Other\n"))
    assert [one.heading for one in sections(notes.text)] == [one.heading for one in sections(TEMPLATE)]


def test_a_template_that_cannot_be_used_waits_for_a_person(notes: Notes, scene: Scene):
    def refused() -> Custom:
        raise SettingRefused("the template /t.md cannot be used: it has no section", hint="mend it")

    end = notes.update(custom=refused)
    assert (end.outcome, end.reason) == ("failed", "the template /t.md cannot be used: it has no section (mend it)")
    assert [job[1] for job in scene.jobs()] == ["failed"] and scene.api.bodies == []


def test_signs_in_the_notes_are_not_filled_in():
    told = task("s.md", "# A\n{{notesPath}} {{currentNotes}}\n", "In {{notesPath}}:\n{{currentNotes}}")
    assert told == "In s.md:\n# A\n{{notesPath}} {{currentNotes}}"


def test_a_task_that_does_not_show_the_notes_shows_them_all_the_same():
    told = task("s.md", "# A\nwords\n", "Be terse in {{notesPath}}.")
    assert told.startswith("Be terse in s.md.\n\nThe notes as they stand now:\n\ns.md. Between the marks")
    assert "\n# A\nwords\n" in told


def test_the_rules_name_the_budgets_and_no_sign_is_left():
    told = rules(4)
    assert "2,000 tokens" in told and "12,000" in told and "{" not in told
    assert "{{" not in task("s.md", TEMPLATE)


def test_the_template_of_a_run_is_not_kept_without_an_edit(notes: Notes, scene: Scene):
    assert notes.update(Say("Nothing."), custom=lambda: replace(Custom(), prompt="")).outcome == "nothing"
    assert scene.store.memories(NOTES) == [] and scene.store.memories(SHELF) == []
