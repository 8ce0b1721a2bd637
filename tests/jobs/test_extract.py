"""One run of the extraction: what it comes to, what becomes of the cursor, and what is on record."""

from __future__ import annotations

import json

import pytest

from memstore.core.usage import Usage
from memstore.errors import Conflict
from memstore.jobs.conversation import LAST_TURN
from memstore.jobs.extract import PREVIEW
from memstore.store import ending, jobs, runs
from memstore.store.runs import RunEnd
from tests.jobs.api import KEY, Step
from tests.jobs.desk import text_of
from tests.jobs.scene import START, Scene, saves
from tests.messages_api import Blocks, Fail, Halting, Raw, Say, Use
from tests.store.stores import create, put

BUN = saves("bun.md", "use bun", "always use bun", type="feedback")
WRITES_PORT = Use("Write", saves("port.md", "the port is 7443", "the port is 7443").input)


def talk(scene: Scene, *texts: str) -> None:
    """A turn of the session `s`."""
    transcript = scene.transcript()
    transcript.person(*texts or ("please always use bun here",))
    transcript.agent("All right.")


# What a run comes to


def test_what_the_model_writes_is_saved_with_its_line_its_source_and_the_cursor(scene: Scene):
    talk(scene)
    end = scene.turn(BUN, Say("Kept that bun is used."))
    assert (end.outcome, end.reason, end.turns, end.messages) == ("saved", "Kept that bun is used.", 2, 2)
    assert scene.files() == {"bun.md": "use bun"}
    assert scene.index().strip() == "- [bun](bun.md) — about use bun"
    assert scene.sources("bun.md") == [("s", "s-1")]
    cursor = scene.cursor()
    assert cursor is not None and cursor.message == "s-2"
    assert scene.jobs() == [("Stop", "done", 0, None)]
    (run,) = scene.runs()
    assert (run.outcome, run.kind, run.via, run.model, run.job) == ("saved", "extract", "api", "claude-sonnet-5-5", 1)
    assert (run.usage, run.cost) == (Usage(20, 10), 140)
    operation, made = scene.store.operations()[0]
    assert operation.id == run.operation == run.id
    assert (operation.kind, operation.reason) == ("extract", "Kept that bun is used.")
    who = operation.provenance
    assert (who.session, who.worktree, who.branch, who.origin) == ("s", "/srv/shop", "main", "agent")
    assert len(made) == 1


def test_the_model_is_given_the_memories_the_conversation_and_its_task(scene: Scene):
    talk(scene)
    scene.turn(BUN, Say())
    scene.transcript().person("the port is 7443 now")
    scene.turn(Say("Nothing."))
    body = scene.api.bodies[-1]
    assert "- [feedback] bun.md (2026-03-02T10:00Z): about use bun" in scene.asked()
    assert scene.shown() == ["the port is 7443 now"]
    (system,) = body["system"]
    assert "You have 5 turns" in system["text"] and "{" not in system["text"]
    assert [tool["name"] for tool in body["tools"]] == ["Read", "Grep", "Glob", "Edit", "Write", "Delete"]
    assert [{**one, "messages": 0} for one in scene.api.bodies] == 3 * [{**body, "messages": 0}], "the cache serves it"
    assert KEY not in json.dumps(scene.api.bodies)


def test_nothing_worth_saving_is_an_outcome_with_the_reason_of_the_model(scene: Scene):
    talk(scene)
    end = scene.turn(Say("Only small talk.\n\nNothing to keep."))
    assert (end.outcome, end.reason) == ("nothing", "Only small talk. Nothing to keep.")
    assert scene.cursor() is not None and scene.store.operations() == []
    assert scene.turn().gate == "substance", "it is not looked at again"
    assert len(scene.api.asked) == 1


def test_a_model_that_saves_and_says_no_last_word_has_saved(scene: Scene):
    talk(scene)
    end = scene.turn(BUN, Blocks(()), Blocks(()))
    assert (end.outcome, end.reason) == ("saved", "saved without a word")
    assert scene.files() == {"bun.md": "use bun"}


def test_a_model_that_does_nothing_and_says_nothing_has_failed_and_is_asked_again(scene: Scene):
    talk(scene)
    end = scene.turn(Blocks(()), Blocks(()))
    assert (end.outcome, end.reason) == ("failed", "the model ended without a word")
    assert scene.cursor() is None
    ((_, state, tries, due),) = scene.jobs()
    assert (state, tries, due) == ("waiting", 1, end.at + jobs.BACK_OFF[0])
    scene.api.steps = [BUN, Say()]
    assert scene.work(due).outcome == "saved"


def test_a_memory_is_changed_after_it_was_read_and_deleted_with_a_reason(scene: Scene):
    talk(scene, "please always use bun here", "the freeze ends on 2026-03-05")
    scene.turn(BUN, saves("freeze.md", "ends 2026-03-05", "the freeze ends on 2026-03-05"), Say())
    scene.transcript().person("use pnpm instead of bun", "the freeze is over, forget it")
    end = scene.turn(
        (Use("Read", {"file_path": "bun.md"}), Use("Read", {"file_path": "freeze.md"})),
        (
            Use(
                "Edit",
                {
                    "file_path": "bun.md",
                    "old_string": "use bun\n",
                    "new_string": "use pnpm\n",
                    "quote": "use pnpm instead of bun",
                    "replace_all": True,
                },
            ),
            Use("Delete", {"file_path": "freeze.md", "reason": "it is over", "quote": "the freeze is over"}),
        ),
        Say("Changed."),
    )
    assert end.outcome == "saved"
    assert scene.files() == {"bun.md": "use pnpm"}
    assert scene.sources("bun.md") == [("s", "s-1"), ("s", "s-4")]
    assert scene.store.operations()[0][0].reason == "Changed.; freeze.md deleted: it is over"


# The gates: each with what it does to the cursor, in two runs after each other


def test_switched_off_everything_is_passed_over_for_good(scene: Scene):
    talk(scene)
    scene.settings["extract.enabled"] = "false"
    end = scene.turn()
    assert (end.outcome, end.gate) == ("skipped", "off")
    scene.settings.clear()
    scene.transcript().person("the port is 7443 now")
    scene.turn(Say("Nothing."))
    assert scene.shown() == ["the port is 7443 now"]


def test_a_turn_in_which_the_agent_saved_itself_is_passed_over(scene: Scene):
    transcript = scene.transcript()
    transcript.person("please always use bun here")
    transcript.saves("bun.md")
    end = scene.turn()
    assert (end.outcome, end.gate) == ("skipped", "saved")
    assert "bun.md" in end.reason
    transcript.person("the port is 7443 now")
    scene.turn(Say("Nothing."))
    assert scene.shown() == ["the port is 7443 now"]


def test_what_the_agent_could_not_save_is_looked_at(scene: Scene):
    transcript = scene.transcript()
    transcript.person("please always use bun here")
    transcript.agent("Saving.", ("Write", {"file_path": "/srv/me/.claude/projects/-srv-shop/memory/bun.md"}))
    result = {"type": "tool_result", "tool_use_id": "toolu_1_0", "content": "not permitted", "is_error": True}
    transcript.write(transcript.row("user", message={"role": "user", "content": [result]}))
    assert scene.turn(BUN, Say("Kept.")).outcome == "saved"


def test_with_look_it_is_looked_at_all_the_same(scene: Scene):
    scene.settings["extract.after_own_save"] = "look"
    transcript = scene.transcript()
    transcript.person("please always use bun here")
    transcript.saves("bun.md")
    assert scene.turn(Say("It is there.")).outcome == "nothing"


def test_what_says_nothing_is_passed_over(scene: Scene):
    transcript = scene.transcript()
    transcript.person("ok", "go on")
    end = scene.turn()
    assert (end.outcome, end.gate) == ("skipped", "substance")
    transcript.person("以后用bun")
    scene.turn(Say("Nothing."))
    assert scene.shown() == ["以后用bun"]


def test_every_third_turn_is_looked_at_with_those_before_it(scene: Scene):
    scene.settings["extract.every"] = "3"
    transcript = scene.transcript()
    gates = []
    for number in range(4):
        transcript.person(f"this is fact {number}")
        end = scene.turn(Say("Nothing."))
        gates.append(end.gate)
        assert (scene.cursor() is None) == (number < 2)
    assert gates == ["every", "every", None, "every"]
    assert scene.shown() == ["this is fact 0", "this is fact 1", "this is fact 2"]
    assert len(scene.api.asked) == 1


def test_turns_that_waited_together_count_each(scene: Scene):
    scene.settings["extract.every"] = "4"
    talk(scene)
    for _ in range(2):
        scene.queue()
    assert scene.work().reason == "turn 2 of 4 (extract.every)"
    scene.queue()
    assert scene.turn(Say("Nothing.")).outcome == "nothing", "the fourth, in the second run"


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
def test_the_last_turns_of_a_session_do_not_wait_for_others(scene: Scene, event: str):
    scene.settings["extract.every"] = "9"
    talk(scene)
    assert scene.turn().gate == "every"
    assert scene.turn(Say("Nothing."), event=event).outcome == "nothing"
    assert scene.shown() == ["please always use bun here", "All right."]


def test_a_message_that_is_too_long_to_be_shown_in_full_is_told(scene: Scene):
    talk(scene, "please always use bun here " + "and so on " * 7_000)
    scene.turn(BUN, Say("Kept."))
    assert scene.events()[0] == ("note", "1 long message of the person could not be shown in full")


@pytest.mark.parametrize(
    ("key", "value"),
    [("extract.enabled", "perhaps"), ("extract.every", "0"), ("extract.turns", "x"), ("model.extract", "two words")],
)
def test_a_setting_that_cannot_be_used_parks_the_job_and_nothing_is_passed_over(scene: Scene, key: str, value: str):
    talk(scene)
    scene.settings[key] = value
    end = scene.turn(Say())
    assert (end.outcome, end.park) == ("failed", True)
    assert key in end.reason and key in scene.job_note()
    assert scene.cursor() is None and scene.api.asked == []
    assert scene.jobs() == [("Stop", "failed", 1, None)]
    scene.settings.clear()
    assert scene.turn(BUN, Say()).outcome == "saved"
    assert {state for _, state, _, _ in scene.jobs()} == {"done"}


# Turns and budget that are used up


def test_what_was_saved_before_the_turns_were_used_up_stays_and_the_rest_is_read_again(scene: Scene):
    scene.settings["extract.turns"] = "2"
    talk(scene, "please always use bun here", "the port is 7443")
    end = scene.turn(Use("Glob", {"pattern": "*"}), BUN)
    assert (end.outcome, end.gate, end.turns) == ("more", "turns", 2)
    assert end.reason == "its turns were used up; the rest is left to the next run"
    assert LAST_TURN in scene.told()
    assert scene.files() == {"bun.md": "use bun"} and scene.cursor() is None
    assert [job[:2] for job in scene.jobs()] == [("Stop", "done"), ("more", "waiting")]
    scene.api.steps = [WRITES_PORT, Say("All kept.")]
    assert scene.work().outcome == "saved"
    assert "bun.md" in scene.asked() and "the port is 7443" in scene.shown()
    assert set(scene.files()) == {"bun.md", "port.md"}
    assert scene.cursor() is not None and scene.turn().gate == "substance"


def test_three_runs_in_a_row_that_did_not_end_are_enough_and_what_they_saved_stays(scene: Scene):
    scene.settings["extract.turns"] = "1"
    talk(scene)
    outcomes = []
    for number in range(3):
        step = saves(f"fact-{number}.md", f"fact {number}", "always use bun")
        end = scene.turn(step) if number == 0 else scene_again(scene, [step])
        outcomes.append(end.outcome)
    assert outcomes == ["more", "more", "failed"]
    assert end.reason == (
        "3 runs in a row had more to do when they ended (raise extract.turns, extract.files or budget.run,"
        " then `memstore extract retry`)"
    )
    assert len(scene.files()) == 3 and scene.cursor() is None
    assert scene.jobs()[-1] == ("more", "failed", 1, None)
    assert scene.job_note() == end.reason
    scene.settings.clear()
    with scene.store.change() as connection:
        assert jobs.retry(connection) == 1
    assert scene_again(scene, [Say("All is there.")]).outcome == "nothing"
    assert {state for _, state, _, _ in scene.jobs()} == {"done"}


def scene_again(scene: Scene, steps: list[Step]) -> RunEnd:
    scene.api.steps = steps
    return scene.work()


def test_an_end_in_between_begins_the_count_anew(scene: Scene):
    scene.settings["extract.turns"] = "1"
    talk(scene)
    look = Use("Glob", {"pattern": "*"})
    assert [scene.turn(look).outcome, scene_again(scene, [look]).outcome] == ["more", "more"]
    assert scene_again(scene, [Say("Nothing.")]).outcome == "nothing"
    scene.transcript().person("the port is 7443 now")
    assert scene.turn(look).outcome == "more"


def test_of_a_flood_a_run_saves_as_many_as_one_may_and_the_next_run_goes_on(scene: Scene):
    scene.settings["extract.files"] = "2"
    talk(scene)
    facts = [saves(f"fact-{number}.md", f"fact {number}", "always use bun") for number in range(3)]
    again = Use(
        "Edit", {"file_path": "fact-0.md", "old_string": "fact 0", "new_string": "fact zero", "replace_all": True}
    )
    end = scene.turn(tuple(facts), again, Say("Kept two."))
    assert (end.outcome, end.gate) == ("more", "turns")
    assert end.reason == "it changed as many memories as one run may; the rest is left to the next run"
    assert [kind for kind, _ in scene.events()] == ["tool", "tool", "refused", "tool"]
    told = "one run changes at most 2 memories (extract.files); what is left comes in the next run"
    assert ("refused", f"Write 'fact-2.md': {told}") in scene.events()
    assert set(scene.files()) == {"fact-0.md", "fact-1.md"} and scene.cursor() is None
    assert scene_again(scene, [facts[2], Say("Kept the third.")]).outcome == "saved"
    assert len(scene.files()) == 3 and scene.cursor() is not None


@pytest.mark.parametrize(("there", "deleted"), [(4, 3), (25, 5)])
def test_a_run_deletes_a_fifth_of_the_memories_at_most_and_three_in_any_case(scene: Scene, there: int, deleted: int):
    talk(scene)
    names = [f"m{number}" for number in range(there)]
    put(scene.store, *(create(name, text_of(name)) for name in names))
    reads = tuple(Use("Read", {"file_path": f"{name}.md"}) for name in names)
    reason = {"reason": "not true", "quote": "always use bun"}
    deletes = tuple(Use("Delete", {"file_path": f"{name}.md", **reason}) for name in names)
    end = scene.turn(reads, deletes, Say("Tidied."))
    assert (end.outcome, len(scene.files())) == ("more", there - deleted)
    refused = [text for kind, text in scene.events() if kind == "refused"]
    assert len(refused) == there - deleted
    assert refused[0].endswith(
        f"one run deletes at most {deleted} of these memories; what is left comes in the next run"
    )


def test_a_budget_that_is_used_up_keeps_what_was_saved_and_leaves_the_rest(scene: Scene):
    scene.settings["budget.run"] = "0.03"
    dear = {"output_tokens": 2_000, "input_tokens": 0}
    write = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": dict(BUN.input)}
    talk(scene)
    end = scene.turn(Blocks((write,), "tool_use", dear), Say("Done."))
    assert (end.outcome, end.gate, end.cost, len(scene.api.asked)) == ("more", "turns", 20_000, 1)
    assert end.reason == "its budget was used up; the rest is left to the next run"
    assert scene.files() == {"bun.md": "use bun"}


def test_a_budget_without_a_known_price_parks_and_asks_nobody(scene: Scene):
    scene.settings |= {"budget.run": "0.03", "model.extract": "local-model"}
    talk(scene)
    end = scene.turn(Say())
    assert (end.outcome, end.park) == ("failed", True)
    assert "what local-model costs is not known" in scene.job_note() and "unset the budget" in scene.job_note()
    assert scene.api.asked == []


def test_a_run_that_is_called_off_keeps_what_was_saved_and_is_gone_on_with(scene: Scene):
    talk(scene)
    scene.cancelled = lambda: bool(scene.api.asked)
    end = scene.turn(BUN, Say())
    assert (end.outcome, end.gate) == ("more", None)
    assert end.reason == "it was called off; the rest is left to the next run"
    assert scene.files() == {"bun.md": "use bun"} and scene.cursor() is None


# Failures

PASSING: list[Step] = [
    Fail(529, "overloaded_error", "Overloaded"),
    Fail(429, "rate_limit_error", "Slow down"),
    Fail(500, "api_error", "Oh"),
    Halting(Say("I found that"), events=4),
    Raw(b"<html>Sign in</html>", "text/html"),
]
LASTING: list[tuple[Step, str]] = [
    (Fail(404, "not_found_error", "model: claude-sonnet-5-5"), "claude-sonnet-5-5"),
    (Fail(400, "invalid_request_error", "no"), "does not take the request"),
    (Raw(b'{"choices": []}'), "choices"),
]


@pytest.mark.parametrize("step", PASSING)
def test_what_passes_by_itself_is_tried_again_later_and_later_and_then_parked(scene: Scene, step: Step):
    talk(scene)
    waits = []
    end = scene.turn(BUN, step)
    for number in range(1, len(jobs.BACK_OFF) + 1):
        assert (end.outcome, end.park, scene.cursor(), scene.files()) == ("failed", False, None, {})
        ((_, state, tries, due),) = scene.jobs()
        assert (state, tries) == ("waiting", number) and due is not None
        waits.append(due - end.at)
        scene.api.steps = [step]
        end = scene.work(due)
    assert tuple(waits) == jobs.BACK_OFF
    assert scene.jobs() == [("Stop", "failed", 5, None)]
    assert scene.job_note() == end.reason != ""
    assert [run.state for run in scene.runs()] == ["failed"] * 5
    assert scene.runs()[0].usage == Usage(10, 5), "what the first answer cost is known"


def test_the_time_that_the_api_asks_for_is_waited_and_is_no_failure(scene: Scene):
    talk(scene)
    end = scene.turn(Fail(429, "rate_limit_error", "Slow down", {"Retry-After": "1234"}))
    assert scene.jobs() == [("Stop", "waiting", 0, end.due_at)]
    assert end.due_at is not None and 0 <= end.at + 1_234_000_000 - end.due_at < 1_000
    scene.api.steps = [BUN, Say()]
    with pytest.raises(AssertionError):
        scene.claim()
    assert scene.work(end.due_at).outcome == "saved"


@pytest.mark.parametrize("seconds", ["0", "1", "60"])
def test_a_server_that_always_asks_for_a_moment_is_not_asked_for_ever(scene: Scene, seconds: str):
    talk(scene)
    end = scene.turn(Fail(429, "rate_limit_error", "Slow down", {"Retry-After": seconds}))
    assert scene.jobs() == [("Stop", "waiting", 1, end.at + jobs.BACK_OFF[0])]


@pytest.mark.parametrize(("step", "said"), LASTING)
def test_what_does_not_pass_by_itself_waits_for_a_person_who_is_told_why(scene: Scene, step: Step, said: str):
    talk(scene)
    end = scene.turn(step)
    assert (end.outcome, end.park, scene.cursor()) == ("failed", True, None)
    assert scene.jobs() == [("Stop", "failed", 1, None)]
    assert said.lower() in scene.job_note().lower() and KEY not in scene.job_note()
    with scene.store.change() as connection:
        jobs.retry(connection)
    assert scene_again(scene, [BUN, Say()]).outcome == "saved"
    assert scene.files() == {"bun.md": "use bun"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_no_fault_of_the_job_which_waits_like_all_others(scene: Scene, status: int):
    talk(scene)
    end = scene.turn(BUN, Fail(status, "authentication_error", "invalid x-api-key"))
    assert (end.outcome, end.park, scene.cursor(), scene.files()) == ("failed", False, None, {})
    assert end.held is not None and "ANTHROPIC_API_KEY" in end.held[0] and KEY not in str(end)
    assert scene.jobs() == [("Stop", "waiting", 0, None)]
    assert scene_again(scene, [BUN, Say()]).outcome == "saved"


def test_a_model_that_declines_saves_nothing_and_waits_for_a_person(scene: Scene):
    talk(scene)
    refusal = Blocks(({"type": "text", "text": "I will not."},), "refusal")
    end = scene.turn(BUN, refusal)
    assert (end.outcome, end.reason, end.park) == ("failed", "the model declined: I will not.", True)
    assert scene.files() == {} and scene.jobs() == [("Stop", "failed", 1, None)]


def test_what_a_model_declined_is_in_no_later_turn_s_way_and_stays_parked_until_somebody_wants_it(scene: Scene):
    talk(scene)
    assert scene.turn(Blocks((), "refusal")).reason == "the model declined"
    scene.transcript().person("the port is 7443 from now on")
    assert scene.turn(WRITES_PORT, Say("Kept the port.")).outcome == "saved"
    assert scene.shown() == ["the port is 7443 from now on"]
    assert [job[1] for job in scene.jobs()] == ["failed", "done"]
    with scene.store.change() as connection:
        assert jobs.retry(connection) == 1
    assert scene_again(scene, [BUN, Say("Kept it after all.")]).outcome == "saved"
    assert scene.shown() == ["please always use bun here", "All right."]
    assert set(scene.files()) == {"bun.md", "port.md"} and {job[1] for job in scene.jobs()} == {"done"}
    asked = len(scene.api.asked)
    assert scene.turn().gate == "substance" and len(scene.api.asked) == asked


def test_what_is_declined_again_is_parked_again_and_two_that_were_are_both_shown_again(scene: Scene):
    talk(scene)
    scene.turn(Blocks((), "refusal"))
    scene.transcript().person("the port is 7443 from now on")
    scene.turn(Blocks((), "refusal"))
    assert scene.shown() == ["the port is 7443 from now on"]
    assert [job[1] for job in scene.jobs()] == ["done", "failed"]
    with scene.store.change() as connection:
        assert jobs.retry(connection, "s") == 1
    assert scene_again(scene, [Blocks((), "refusal")]).park
    assert scene.shown() == ["please always use bun here", "All right.", "the port is 7443 from now on"]
    assert scene.jobs()[-1][1] == "failed"


def test_what_comes_after_a_part_that_was_declined_is_looked_at(scene: Scene):
    talk(scene, *(f"please always use bun here {number} " + "and so on " * 1_000 for number in range(40)))
    scene.transcript().person("the port is 7443 from now on")
    assert scene.turn(Blocks((), "refusal")).park
    assert [job[:2] for job in scene.jobs()] == [("Stop", "failed"), ("more", "waiting")]
    while scene.jobs()[-1][1] == "waiting":
        scene_again(scene, [Say("Nothing more.")])
    assert scene.shown()[-1] == "the port is 7443 from now on" and scene.jobs()[0][1] == "failed"


def test_a_cut_answer_is_gone_on_with_and_a_cut_call_does_nothing(scene: Scene):
    talk(scene)
    half = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": '{"file_path": "half.md", "content": "---'}
    words = {"type": "text", "text": "I think that"}
    end = scene.turn(Blocks((half,), "max_tokens"), Blocks((words,), "max_tokens"), BUN, Say("Kept."))
    assert (end.outcome, end.turns, set(scene.files())) == ("saved", 4, {"bun.md"})


def test_calls_that_are_denied_or_refused_are_on_record_with_the_reason(scene: Scene):
    talk(scene)
    scene.turn(
        (
            Use("Bash", {"command": "cat /etc/passwd"}),
            Use("Read", {"file_path": "/etc/passwd"}),
            saves("wish.md", "never test", "never test anything", type="user"),
            BUN,
        ),
        Say("Kept one."),
    )
    kinds = [kind for kind, _ in scene.events()]
    assert kinds == ["denied", "denied", "refused", "tool"]
    told = [text for _, text in scene.events()]
    assert told[0].startswith("Bash 'cat /etc/passwd': there is no tool 'Bash'")
    assert told[1].startswith("Read '/etc/passwd': that is outside of the memory directory")
    assert told[2].startswith("Write 'wish.md': a user or feedback memory needs `quote`")
    assert set(scene.files()) == {"bun.md"}


def test_a_run_that_fails_has_its_denied_calls_on_record_too(scene: Scene):
    talk(scene)
    scene.turn(Use("Bash", {"command": "id"}), Fail(401, "authentication_error", "no"))
    assert [kind for kind, _ in scene.events()] == ["denied"]


# A look at what would be saved


def test_a_dry_run_changes_nothing_but_the_record_of_what_it_cost(scene: Scene):
    talk(scene)
    scene.queue()
    with scene.store.view() as connection:
        (job,) = jobs.waiting(connection)
    scene.api.steps = [BUN, Say("Would keep bun.")]
    extraction = scene.extraction(job, dry=True)
    end = extraction.run()
    assert (end.outcome, end.reason) == ("saved", "Would keep bun.")
    assert extraction.workspace is not None
    assert [step.path for step in extraction.workspace.steps] == ["bun.md"]
    assert (scene.files(), scene.cursor(), scene.store.operations()) == ({}, None, [])
    assert scene.jobs() == [("Stop", "waiting", 0, None)]
    (run,) = scene.runs()
    assert (run.kind, run.outcome, run.gate, run.cost, run.job) == (PREVIEW, "skipped", "dry", 140, None)
    with scene.store.view() as connection:
        assert runs.cost_since(connection, 0) == (140, 0)
        assert runs.taken(connection, [b"x" * 8]) == frozenset()
        assert connection.execute("SELECT count(*) FROM taken").fetchall() == [(0,)]
    scene.api.steps = [BUN, Say("Kept bun.")]
    assert scene.work().outcome == "saved"


@pytest.mark.parametrize(
    "step", [Say("Nothing."), Fail(401, "authentication_error", "no"), Use("Glob", {"pattern": "*"})]
)
def test_a_dry_run_tells_every_end_and_leaves_the_job_as_it_is(scene: Scene, step: Step):
    scene.settings["extract.turns"] = "1"
    talk(scene)
    scene.queue()
    with scene.store.view() as connection:
        (job,) = jobs.waiting(connection)
    scene.api.steps = [step]
    end = scene.extraction(job, dry=True).run()
    assert end.outcome in ("nothing", "failed", "more") and end.reason
    assert scene.jobs() == [("Stop", "waiting", 0, None)] and scene.cursor() is None


def test_a_dry_run_is_not_in_the_way_of_a_run_nor_counted_as_one(scene: Scene):
    scene.settings["extract.turns"] = "1"
    talk(scene)
    scene.queue()
    job = scene.claim()
    look = Use("Glob", {"pattern": "*"})

    def others() -> None:
        assert scene.extraction(job).run().outcome == "more", "the first in a row"
        with scene.store.change() as connection:
            ending.close_interrupted(connection, "extract", scene.clock())

    scene.meanwhile({1: others})
    scene.api.steps = [look, look]
    assert scene.extraction(job, dry=True).run().outcome == "more"
    assert [(run.kind, run.state) for run in scene.runs()] == [(PREVIEW, "done"), ("extract", "done")]
    assert [scene_again(scene, [look]).outcome for _ in range(2)] == ["more", "failed"], "the third"


def test_two_runs_of_a_session_exclude_each_other(scene: Scene):
    talk(scene)
    scene.queue()
    job = scene.claim()
    with scene.store.change() as connection:
        runs.begin(connection, "other", "extract", "s", START)
    with pytest.raises(Conflict, match="another run of the session"):
        scene.extraction(job).run()


def test_a_run_that_was_closed_by_another_worker_writes_nothing_any_more(scene: Scene):
    talk(scene)

    def closed() -> None:
        with scene.store.change() as connection:
            ending.close_interrupted(connection, "extract", scene.clock())

    scene.meanwhile({2: closed})
    with pytest.raises(Conflict, match="not going on any more"):
        scene.turn(BUN, Say("Kept."))
    assert (scene.files(), scene.cursor()) == ({}, None)
