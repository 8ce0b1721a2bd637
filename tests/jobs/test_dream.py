"""A dream: what it comes to, what it may not, and what is there afterwards."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memstore.core.dream_steps import Planned
from memstore.errors import ModelBusy, ModelDeclined
from memstore.jobs.dream import CALLED_OFF, KIND, LAST_TURN, LEASE, NEWS, SHARE
from memstore.jobs.dream_material import Session, gather
from memstore.jobs.llm import ApiModel
from memstore.jobs.messages import Reply
from memstore.store import leases, runs, steps
from tests.jobs import desk
from tests.jobs.api import Scripted
from tests.jobs.night import Night, deletes, dropped, edits, reads, reworded, writes
from tests.messages_api import Say, Use
from tests.store.stores import at, writer_of

DECLINED = ModelDeclined("it does not take it")


def ports(night: Night, many: int = 10) -> None:
    """Memories of which two say the same."""
    night.keep("port", "staging listens on 7443")
    night.keep("staging", "staging listens on 7443", "its cache is on h1")
    for number in range(many - 2):
        night.keep(f"other-{number}", f"fact {number}")


MERGE = (
    reads("port", "staging"),
    (
        writes(
            "port",
            "staging listens on 7443",
            "its cache is on h1",
            sources=["staging.md"],
            reason="one file for staging",
        ),
    ),
    (deletes("staging", "said in port.md", into="port.md", lines=[reworded("about staging", "about port")]),),
    Say("Merged the two about staging."),
)


# What a dream does


def test_two_memories_become_one_in_one_operation_with_its_steps_and_lines_on_record(night: Night):
    ports(night)
    before = night.files()
    report = night.dream(*MERGE)
    assert (report.end.outcome, report.end.reason) == ("saved", "Merged the two about staging.")
    assert night.bodies()["port.md"] == "staging listens on 7443\nits cache is on h1"
    assert "staging.md" not in night.files()
    assert [step.path for step in report.done("merge")] == ["staging.md"]
    assert [step.path for step in report.done("revise")] == ["port.md"]
    (run,) = night.runs()
    assert (run.kind, run.outcome, run.operation, run.turns, run.cost) == (KIND, "saved", run.id, 4, 280)
    assert night.steps() == [("revise", "port.md", "done"), ("merge", "staging.md", "done")]
    with night.store.view() as connection:
        revised, merged = (each.step for each in steps.of_run(connection, run.id))
        assert steps.operations(connection, run.id) == [run.id]
    assert (merged.before, merged.content, merged.into_path, merged.reason) == (
        before["staging.md"], None, "port.md", "said in port.md",
    )  # fmt: skip
    assert [(each.line, each.fate, each.now) for each in merged.lines] == [("about staging", "reworded", "about port")]
    assert (revised.before, revised.content, revised.lines) == (before["port.md"], night.files()["port.md"], ())
    operation, made = night.store.operations()[0]
    assert (operation.id, operation.kind, len(made)) == (run.id, KIND, 2)
    assert operation.reason == "Merged the two about staging.; staging.md merged into port.md: said in port.md"
    retired = night.store.at(desk.SHELF, "staging.md")
    assert retired is not None and retired.state.superseded_by == at(night.store, "port").id
    assert not any("staging" in line for line in night.index())


def test_the_model_is_told_of_the_memories_and_of_what_else_it_may_look_into(night: Night, api: Scripted):
    night.keep("freeze", "it ended yesterday", pinned=True)
    night.session("the port is 7443 now", "please")
    night.look({"logs/2026/03/2026-03-01.md": "- 10:00 +01:00 moved to h2\n"}, "# Rules\n")
    api.steps = [Use("Glob", {"pattern": "*"}), Say("Nothing to do.")]
    night.model = ApiModel.of(api.environment, retries=0)
    assert night.dream().end.reason == "Nothing to do."
    body = api.bodies[0]
    assert "You have 30 turns" in body["system"][0]["text"] and "{" not in body["system"][0]["text"]
    assert [tool["name"] for tool in body["tools"]] == ["Read", "Grep", "Glob", "Edit", "Write", "Delete"]
    told = body["messages"][0]["content"][0]["text"]
    assert "- [project] freeze.md (2026-03-02, " in told
    assert "pinned: off limits, names a day without its date): about freeze" in told
    assert "- sessions/session-1.md: 2026-03-02 to 2026-03-02, 2 messages of the person" in told
    assert "- logs/2026/03/2026-03-01.md: 1 lines" in told and "- CLAUDE.md: 1 lines" in told
    assert "7443" not in told, "what was said is searched, not shown"


def test_undo_restores_the_exact_bytes_and_the_index(night: Night):
    night.keep("crlf", "a\r\nb  \t")
    desk.put(night.store, desk.create("odd", b"---\nname: odd\ndescription: 'about odd'\n---\n\xff\xfe no newline"))
    ports(night)
    files, index = night.files(), night.index()
    night.dream(*MERGE)
    assert night.files() != files
    undo(night)
    assert (night.files(), night.index()) == (files, index)
    assert all(memory.state.superseded_by is None for memory in night.store.memories())


def undo(night: Night) -> None:
    """Takes the last operation back."""
    operation, _ = night.store.operations()[0]
    writer_of(night.store).undo(operation)


def test_what_a_person_took_back_or_rejected_is_not_done_again(night: Night):
    ports(night)
    for number in range(20, 30):
        night.keep(f"other-{number}", f"fact {number}")
    reword = edits("other-1", "fact 1", "fact one", lines=[reworded("fact 1", "fact one")])
    plan = (reads("port", "staging", "other-1", "other-2"), *MERGE[1:3], (reword, deletes("other-2")), Say("Tidied."))
    night.dream(*plan)
    files = night.files()
    undo(night)
    night.dream(*plan)
    assert "- merge staging.md into port.md\n- revise other-1.md\n- delete other-2.md" in night.asked(-1)
    assert [text.split(": ", 1)[1][:40] for text in night.refusals()] == 4 * [
        "an earlier dream did just that, and a pe"
    ]
    assert night.runs()[-1].outcome == "nothing"
    undo(night)  # the undo: what was done is wanted after all
    assert night.files() == files
    desk.change(night.store, "other-3", "fact 3", "fact 3 now")
    night.review = lambda planned: [False for _ in planned]
    night.dream(reads("other-3"), (deletes("other-3"),), Say("Tidied."))
    assert night.steps() == [("delete", "other-3.md", "rejected")]
    night.review = None
    night.forget()
    night.dream(reads("other-3"), (deletes("other-3"),), Say("Tidied."))
    assert night.steps() == []
    desk.change(night.store, "other-3", "now", "by now")
    night.dream(reads("other-3"), (deletes("other-3"),), Say("Tidied."))
    assert night.steps() == [("delete", "other-3.md", "done")], "it is another text by now"


# What there is no news of


def test_five_dreams_in_a_row_with_no_news_ask_the_model_once(night: Night):
    ports(night)
    night.session("the port is 7443 now")
    ends = [night.dream(*MERGE).end] + [night.dream().end for _ in range(4)]
    assert [(end.outcome, end.gate) for end in ends] == [("saved", None)] + 4 * [("nothing", NEWS)]
    assert len(night.script.asked) == 4, "in one dream"


@pytest.mark.parametrize(
    "news", ["memory", "pin", "gone", "session", "longer", "log", "instructions", "no instructions", "undo"]
)
def test_whatever_is_new_is_dreamt_of(night: Night, news: str):
    ports(night)
    night.session("the port is 7443 now")
    night.dream(*MERGE)
    match news:
        case "memory":
            night.keep("new", "something")
        case "session":
            night.session("another one")
        case "longer":
            with open(night.directory / "session-1.jsonl", "ab") as file:
                file.write(b"{}\n")
            night.look()
        case "log":
            night.look({"logs/2026/03/2026-03-01.md": "a"})
        case "instructions":
            night.look(instructions="a")
        case "no instructions":
            night.look(instructions="a")
            assert night.dream(Say("Nothing.")).end.reason == "Nothing."
            night.look()
        case "pin":
            desk.pin(night.store, "other-1")
        case "gone":
            desk.retire(night.store, "other-1")
        case "undo":
            undo(night)
    assert night.dream(Say("Nothing.")).end.reason == "Nothing."
    assert night.dream().end.gate == NEWS


def test_what_somebody_wrote_while_the_model_thought_is_news(night: Night):
    ports(night)
    night.meanwhile({2: lambda: night.keep("new", "something")})
    assert night.dream(*MERGE).end.outcome == "saved"
    assert night.dream(Say("Nothing.")).end.reason == "Nothing."


def test_a_session_that_is_not_looked_into_any_more_is_no_news(night: Night):
    ports(night)
    night.session("one")
    night.dream(Say("Nothing."))
    night.material = type(night.material)()
    assert night.dream().end.gate == NEWS


def test_where_there_is_no_news_no_transcript_is_read(night: Night, monkeypatch: pytest.MonkeyPatch):
    ports(night)
    night.session("one")
    night.dream(Say("Nothing."))
    night.look()
    monkeypatch.setattr("memstore.claude.transcript.read", None)
    assert night.dream().end.gate == NEWS


def test_a_session_that_is_gone_is_left_out(night: Night):
    ports(night)
    night.session("one")
    (night.directory / "session-1.jsonl").unlink()
    night.session("two")
    night.material = gather([Session("gone", "/nowhere/gone.jsonl"), *night.material.sessions])
    night.dream(Say("Nothing."))
    assert "sessions/gone" not in night.asked() and "sessions/session-1.md" in night.asked()


def test_a_dream_that_failed_does_not_count_as_done(night: Night):
    ports(night)
    assert night.dream(DECLINED).end.outcome == "failed"
    assert night.dream(Say("Nothing.")).end.outcome == "nothing"


def test_where_there_is_no_memory_nobody_is_asked(night: Night):
    assert night.dream().end.reason == "there is no memory yet"


# How it ends without having done anything


@pytest.mark.parametrize(
    ("settings", "last", "gate", "reason"),
    [
        ({"dream.turns": "3"}, None, "turns", "its turns were used up (dream.turns); nothing was done"),
        ({"budget.run": "0.0001"}, None, "budget", "its budget was used up (budget.run); nothing was done"),
        ({}, DECLINED, None, "it does not take it"),
        ({}, Reply((), "refusal"), None, "the model declined"),
        ({"model.dream": "unheard-of", "budget.run": "1"}, None, None, "a budget is set"),
    ],
)
def test_what_does_not_come_to_its_end_does_nothing(
    night: Night, settings: dict[str, str], last: object, gate: str | None, reason: str
):
    ports(night)
    before = night.rows("memory", "version", "operation", "line", "run_step", "dream")
    night.settings |= settings
    end = night.dream(*MERGE[:3], *([last] if last else [reads("port")])).end
    assert (end.outcome, end.gate) == ("failed", gate) and reason in end.reason
    assert night.rows(*before) == before
    assert night.runs()[-1].state == "failed" and night.runs()[-1].reason == end.reason


def test_a_model_that_never_ends_is_stopped_and_nothing_is_done(night: Night):
    ports(night)
    before = night.files()
    night.settings["dream.turns"] = "6"
    end = night.dream(*MERGE[:3], *(reads("port") for _ in range(50))).end
    assert (end.gate, end.turns) == ("turns", 6)
    assert night.answers()[-1].endswith(LAST_TURN), "it was told"
    assert night.files() == before and night.steps() == []


@pytest.mark.parametrize("turn", [1, 2, 3, 4])
def test_a_model_that_dies_at_a_turn_has_done_nothing(night: Night, turn: int):
    ports(night)
    before = night.rows("memory", "version", "operation", "line", "run_step", "dream")
    answers = [*MERGE[: turn - 1], ModelBusy("later")]
    end = night.dream(*answers).end
    assert (end.outcome, end.turns) == ("failed", turn - 1)
    assert night.rows(*before) == before
    assert night.dream(*MERGE).end.outcome == "saved", "the next one does it"


@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_it_can_be_called_off_at_each_turn_and_before_the_commit(night: Night, after: int):
    ports(night)
    before = night.rows("memory", "version", "operation", "line", "run_step", "dream")
    night.cancelled = lambda: len(night.script.asked) >= after
    end = night.dream(*MERGE).end
    assert (end.outcome, end.gate, end.turns) == ("failed", CALLED_OFF, after)
    assert night.rows(*before) == before


def test_whoever_presses_the_keys_of_interruption_calls_it_off(night: Night):
    ports(night)

    def press() -> None:
        raise KeyboardInterrupt

    night.meanwhile({3: press})
    with pytest.raises(KeyboardInterrupt):
        night.dream(*MERGE)
    assert [(run.outcome, run.gate) for run in night.runs()] == [("failed", CALLED_OFF)]
    assert len(night.files()) == 10


@pytest.mark.parametrize("gate", [LEASE, CALLED_OFF])
def test_without_its_lease_nothing_is_committed(night: Night, gate: str):
    ports(night)
    before = night.rows("memory", "version", "operation", "line", "run_step", "dream")

    def lose() -> None:
        with night.store.change() as connection:
            if gate == CALLED_OFF:
                leases.call_off(connection, KIND)
            else:
                leases.take(connection, KIND, "another", leases.current(connection, KIND).process, 0, lambda _: False)  # type: ignore[union-attr]  # it is there

    night.meanwhile({4: lose})
    end = night.dream(*MERGE).end
    assert (end.outcome, end.gate) == ("failed", gate)
    assert night.rows(*before) == before


def test_a_dream_that_was_killed_is_closed_by_the_next_one(night: Night):
    ports(night)
    with night.store.change() as connection:
        runs.begin(connection, "killed", KIND, "", night.clock())
    night.take()
    assert night.dream(*MERGE).end.outcome == "saved"
    assert [(run.id == "killed", run.state) for run in night.runs()] == [(True, "failed"), (False, "done")]


# A preview


def test_a_dry_run_shows_what_would_be_done_and_leaves_everything(night: Night):
    ports(night)
    before = night.rows("memory", "version", "operation", "line", "run_step", "dream", "dream_seen")
    report = night.dream(*MERGE, dry=True)
    assert [(each.step.action, each.state) for each in report.outcomes] == [("revise", "held"), ("merge", "held")]
    assert night.rows(*before) == before
    assert [(run.kind, run.gate, run.cost) for run in night.runs()] == [("dream preview", "dry", 280)]
    assert night.dream(*MERGE).end.outcome == "saved"


def test_progress_is_told_and_on_record(night: Night):
    ports(night)
    night.dream(*MERGE)
    phases = list(dict.fromkeys(each.phase for each in night.told))
    assert phases == ["orient", "gather", "consolidate", "check", "done"]
    last = night.told[-1]
    assert (last.turns, last.calls, last.files, last.note) == (4, 4, 2, "Merged the two about staging.")
    run = night.runs()[0].id
    with night.store.view() as connection:
        assert steps.progress(connection, run) == last


# A person looks at each step


def test_what_is_rejected_in_a_review_is_not_done_nor_what_belongs_to_it(night: Night):
    ports(night)
    shown: list[str] = []

    def review(planned: Sequence[Planned]) -> list[bool]:
        shown.extend(step.path for step in planned)
        return [step.path != "staging.md" for step in planned]

    night.review = review
    report = night.dream(
        *MERGE[:3],
        (edits("other-1", "fact 1", "fact one", lines=[reworded("fact 1", "fact one")]),),
        Say("Two things."),
    )
    assert shown == ["port.md", "staging.md", "other-1.md"]
    assert night.steps() == [
        ("revise", "port.md", "rejected"), ("merge", "staging.md", "rejected"), ("revise", "other-1.md", "done"),
    ]  # fmt: skip
    assert night.bodies()["other-1.md"] == "fact one" and "staging.md" in night.files()
    assert report.end.outcome == "saved"


def test_a_person_may_accept_more_than_the_share(night: Night):
    ports(night, 3)
    night.review = lambda planned: [True for _ in planned]
    assert night.dream(*MERGE).end.outcome == "saved"


def test_where_all_is_rejected_nothing_is_done_and_nobody_is_asked_again(night: Night):
    ports(night)
    night.review = lambda planned: [False for _ in planned]
    assert night.dream(*MERGE).end.outcome == "nothing"
    assert night.store.operations()[0][0].kind == "test"
    assert night.dream().end.gate == NEWS


def test_too_much_at_once_waits_for_a_person(night: Night):
    ports(night, 3)
    before = night.rows("memory", "version", "operation", "line")
    report = night.dream(*MERGE)
    assert (report.end.outcome, report.end.gate) == ("skipped", SHARE)
    assert report.end.reason.startswith("it would take 1 of 3 memories away, more than dream.share allows (20 %)")
    assert night.rows(*before) == before
    assert night.steps() == [("revise", "port.md", "held"), ("merge", "staging.md", "held")]
    assert night.dream().end.gate == NEWS, "it does not ask twice"


@pytest.mark.parametrize(("many", "outcome"), [(9, "skipped"), (10, "saved")])
def test_the_share_is_what_the_setting_says(night: Night, many: int, outcome: str):
    for number in range(many):
        night.keep(f"other-{number}", f"fact {number}")
    gone = tuple(f"other-{number}" for number in range(2))
    assert night.dream(reads(*gone), tuple(map(deletes, gone)), Say("Two.")).end.outcome == outcome


def test_who_empties_memories_instead_of_deleting_them_is_counted_too(night: Night):
    for number in range(10):
        night.keep(f"other-{number}", f"fact {number}", "and more", "and still more")
    lines = [dropped("and more"), dropped("and still more")]
    names = [f"other-{number}" for number in range(3)]
    emptied = tuple(
        edits(name, f"fact {number}\nand more\nand still more", "nothing", lines=[*lines, dropped(f"fact {number}")])
        for number, name in enumerate(names)
    )
    assert night.dream(reads(*names), emptied, Say("Done.")).end.gate == SHARE


def test_what_a_tool_is_told_apart_from_what_it_may_not(night: Night):
    ports(night)
    night.dream((Use("Bash", {"command": "id"}), Use("Read", {"file_path": "/etc/passwd"})), Say("Nothing."))
    told = [text for _, text in night.events()]
    assert told[0].startswith("Bash 'id': there is no tool 'Bash' in this run")
    assert told[1].startswith("Read '/etc/passwd': that is outside of the memory directory")
    assert [kind for kind, _ in night.events()] == ["denied", "denied"]
