"""`memstore dream`: doing it, looking at it, answering it, calling it off; against a scripted Messages API."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from memstore.cli.run_shapes import RUNS
from memstore.cli.shapes import ERROR
from tests.cli.conftest import Ran, Run
from tests.cli.test_shapes import has_shape
from tests.jobs.api import Scripted, scripted
from tests.messages_api import Answer, Asked, Say, Use

NAMES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def api(monkeypatch: pytest.MonkeyPatch, run: Run) -> Iterator[Scripted]:
    """The API that this process's environment leads to; and a store with three memories."""
    with scripted() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        for name in NAMES:
            assert run("write", name, f"All about {name}.\n", "-d", f"about {name}").code == 0
        yield server


def revise(name: str = "b") -> list[Use]:
    """A model reads a memory, then rewords its line."""
    lines = [{"line": f"All about {name}.", "fate": "reworded", "now": "Nothing but it.", "reason": "shorter"}]
    edit = {
        "file_path": f"{name}.md", "old_string": f"All about {name}.", "new_string": "Nothing but it.",
        "reason": "it was long", "lines": lines,
    }  # fmt: skip
    return [Use("Read", {"file_path": f"{name}.md"}), Use("Edit", edit)]


def delete(name: str) -> list[Use]:
    """A model reads a memory, then deletes it: more than may go of so few."""
    fates = [
        {"line": line, "fate": "dropped", "reason": "not needed"} for line in (f"All about {name}.", f"about {name}")
    ]
    call = {"file_path": f"{name}.md", "reason": "nobody needs it", "lines": fates}
    return [Use("Read", {"file_path": f"{name}.md"}), Use("Delete", call)]


def shaped(ran: Ran, command: str) -> Ran:
    """The JSON of a command, which must have its shape."""
    assert has_shape(ran.json, {"memstore": "number", "command": "text", **RUNS[command]}), ran.json
    assert ran.json["command"] == command
    return ran


def body(run: Run, name: str) -> str:
    return str(run("show", name, "--json").json["content"])


def held(run: Run, api: Scripted) -> str:
    """A dream that wants to delete two of three memories, and waits; its id."""
    api.steps = [*delete("a"), *delete("c"), Say("Deleted a and c.")]
    assert run("dream").code == 0
    return str(run("dream", "log", "--json").json["dreams"][0]["id"])


# How it stands


def test_it_shows_each_gate_its_figure_and_what_waits(run: Run, api: Scripted):
    told = run("dream", "status").out.splitlines()
    assert [line.split(":")[0] for line in told] == ["enabled", "hours", "throttle", "sessions", "lease", "last"]
    assert "sessions: shut  0 since the last dream, 5 are needed" in told
    identity = held(run, api)
    told = run("dream", "status").out.splitlines()
    assert f"waits:    2 steps of {identity[:13]} for an answer: `memstore dream show {identity[:13]}`" in told
    told = f"2 steps of a dream wait for an answer: see `memstore dream show {identity[:13]}`"
    assert f"asked:      {told}" in run("status").out
    found = shaped(run("dream", "status", "--json"), "dream status").json
    assert found["newest"] == identity and found["now"] is None
    hours = next(gate for gate in found["gates"] if gate["name"] == "hours")
    assert (hours["open"], hours["opens_at"] is not None) == (False, True)


# Doing it


def test_it_says_what_it_did_and_the_run_takes_it_back(run: Run, api: Scripted):
    api.steps = [*revise(), Say("Reworded b.")]
    done = run("dream")
    assert done.code == 0
    assert "saved: Reworded b." in done.out and "updated 1" in done.out
    assert "step 1: update b.md: done\n    why: it was long\n" in done.out
    assert "reworded: All about b. -> Nothing but it. (shorter)" in done.out
    assert "Nothing but it." in body(run, "b")
    identity = run("dream", "log", "--json").json["dreams"][0]["id"]
    assert run("undo", identity[:13]).code == 0
    assert "All about b." in body(run, "b")
    assert "taken back by #" in run("dream", "log").out


def test_its_json_has_its_shape(run: Run, api: Scripted):
    api.steps = [*revise(), Say("Reworded b.")]
    done = shaped(run("dream", "--json"), "dream").json
    assert (done["dream"]["counts"]["updated"], done["steps"][0]["state"], done["gate"]) == (1, "done", None)
    shaped(run("dream", "log", "--json"), "dream log")
    shown = shaped(run("dream", "show", "--json"), "dream show").json
    assert "-All about b." in shown["steps"][0]["diff"]


def test_a_dry_run_shows_the_texts_and_changes_nothing(run: Run, api: Scripted):
    api.steps = [*revise(), Say("Reworded b.")]
    done = run("dream", "--dry-run")
    assert "-All about b." in done.out and "+Nothing but it." in done.out
    assert "All about b." in body(run, "b")
    assert run("dream", "log").err == "there was no dream yet\n"


def test_a_second_dream_without_news_says_so_and_one_on_a_schedule_says_nothing(run: Run, api: Scripted):
    api.steps = [Say("Nothing to do.")]
    assert run("dream").code == 0
    assert "nothing: nothing has changed since the last dream" in run("dream").out
    quiet = run("dream", "--scheduled")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert len(api.asked) == 1


def test_a_failure_ends_with_the_code_for_models_and_says_so_to_cron(run: Run):
    done = run("dream")  # the script has ended
    assert done.code == 7
    assert "failed: " in done.out and "nothing was changed" in done.err
    done = run("-q", "dream", "--scheduled")
    assert (done.code, done.out, "the dream failed: " in done.err) == (7, "", True)


def test_a_schedule_that_could_never_dream_says_so(run: Run, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    api.steps = [Say("Nothing to do.")]
    for name in api.environment:
        monkeypatch.delenv(name)
    for words in (("dream",), ("-q", "dream", "--scheduled")):
        done = run(*words)
        assert (done.code, done.out, "ANTHROPIC_API_KEY" in done.err) == (7, "", True)
    run("config", "set", "dream.enabled", "false")
    assert run("dream", "--scheduled").err == "", "that is what somebody wants"


def test_a_setting_that_cannot_be_used_shuts_its_own_gate_and_no_model_is_paid_for(
    run: Run, api: Scripted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMSTORE_DREAM_HOURS", "soon")
    gates = run("dream", "status", "--json").json["gates"]
    assert [gate["name"] for gate in gates] == ["enabled", "hours", "throttle", "sessions", "lease"]
    assert "dream.hours cannot be 'soon'" in gates[1]["figure"] and gates[0]["open"]
    monkeypatch.setenv("MEMSTORE_DREAM_SHARE", "some")
    assert "dream.share cannot be 'some'" in run("dream").out
    assert not api.asked


def test_options_that_do_not_go_together_are_refused(run: Run, monkeypatch: pytest.MonkeyPatch):
    for words in (("--dry-run", "--review"), ("--review", "--json"), ("--follow", "log"), ("--scheduled", "log")):
        assert run("dream", *words).code == 2
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = run("dream", "--review")
    assert (refused.code, "an agent runs this" in refused.err) == (5, True)


# Reviewing it


def test_a_person_says_of_each_step_whether_it_is_done(run: Run, api: Scripted):
    api.steps = [*revise("b"), *delete("c"), Say("Done.")]
    done = run("dream", "--review", stdin="y\nn\n")
    assert done.code == 0, done
    assert "step 2: retire c.md: waiting for an answer" in done.out
    assert "Nothing but it." in body(run, "b") and "All about c." in body(run, "c")
    states = [step["state"] for step in run("dream", "show", "--json").json["steps"]]
    assert sorted(states) == ["done", "rejected"]


def test_who_goes_away_in_the_middle_of_a_review_has_done_nothing(run: Run, api: Scripted):
    api.steps = [*revise("b"), *delete("c"), Say("Done.")]
    assert run("dream", "--review", stdin="y\n").code == 130
    assert "All about b." in body(run, "b")
    assert "called off" in run("dream", "log").out


# Answering it


def test_what_would_take_away_too_much_waits_and_is_done_when_a_person_says_so(run: Run, api: Scripted):
    identity = held(run, api)
    assert "All about a." in body(run, "a")
    log = run("dream", "log").out
    assert "skipped (share)" in log and "2 waiting for an answer" in log
    name = identity[:13]
    assert f"`memstore dream accept {name}` does what waits, `memstore dream reject {name}` puts it away" in log
    done = shaped(run("dream", "accept", identity, "--json"), "dream accept").json
    assert [(step["path"], step["state"]) for step in done["steps"]] == [("a.md", "done"), ("c.md", "done")]
    assert [one["path"] for one in run("list", "--json").json["memories"]] == ["b.md"]
    assert run("dream", "accept", identity).code == 3
    api.steps = []
    assert "nothing has changed" in run("dream").out, "what was accepted is no news"
    assert run("undo", identity).code == 0
    assert "All about a." in body(run, "a")


def test_one_step_is_accepted_and_the_other_put_away(run: Run, api: Scripted):
    identity = held(run, api)
    assert run("dream", "accept", identity, "9").code == 3
    assert "retired 1, operation #" in run("dream", "accept", identity, "1").out
    shaped(run("dream", "reject", identity, "--json"), "dream reject")
    assert [one["path"] for one in run("list", "--json").json["memories"]] == ["b.md", "c.md"]


def test_a_run_with_several_operations_is_taken_back_one_by_one(run: Run, api: Scripted):
    identity = held(run, api)
    numbers = [run("dream", "accept", identity, step, "--json").json["seq"] for step in "12"]
    refused = run("undo", identity)
    assert (refused.code, f"#{numbers[1]}, #{numbers[0]}" in refused.err) == (2, True)
    assert run("undo", str(numbers[1])).code == 0
    log = run("dream", "log").out
    assert f"operation #{numbers[0]}: `memstore undo {numbers[0]}`" in log
    assert f"operation #{numbers[1]}: taken back by #" in log
    again = run("undo", str(numbers[1]))
    assert (again.code, f"#{numbers[1]} was taken back already, by #" in again.err) == (4, True)
    assert run("undo", identity).code == 0, "the other one is the only one left"
    assert len(run("list", "--json").json["memories"]) == 3


def test_what_somebody_changed_since_is_left(run: Run, api: Scripted):
    identity = held(run, api)
    run("append", "a", "More of it.")
    done = run("dream", "accept", identity)
    assert "left: retire a.md: it was changed meanwhile" in done.err
    assert [one["path"] for one in run("list", "--json").json["memories"]] == ["a.md", "b.md"]


def test_an_agent_cannot_answer_for_a_person(run: Run, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    identity = held(run, api)
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = run("dream", "accept", identity, "--json")
    assert refused.code == 5
    assert has_shape(refused.json["error"], ERROR)
    assert len(run("list", "--json").json["memories"]) == 3


def test_a_dream_that_is_not_there_is_not_found(run: Run, api: Scripted):
    assert run("dream", "show").code == 3
    held(run, api)
    assert run("dream", "show", "abcdef").code == 3
    assert run("undo", run("dream", "log", "--json").json["dreams"][0]["id"]).code == 3  # it changed nothing


# Following it and calling it off


def test_it_is_followed_and_called_off_from_elsewhere(run: Run, api: Scripted, repo: Path):
    begun, go = Event(), Event()

    def thinks(asked: Asked) -> Answer:
        begun.set()
        go.wait(60)
        return revise()[1]

    api.steps = [revise()[0], thinks, Say("Done.")]
    program = [sys.executable, "-m", "memstore", "-C", str(repo), "dream"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as dreams:
        assert begun.wait(60)
        with subprocess.Popen(
            [*program, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as other:
            assert other.stderr is not None
            assert other.stderr.readline().startswith("1 turn, gather: 1 tool call, 0 files")
            assert run("dream").code == 4
            assert shaped(run("dream", "status", "--json"), "dream status").json["now"]["pid"] == dreams.pid
            assert "orient: 1 turn" in run("dream", "status").out or "gather: 1 turn" in run("dream", "status").out
            assert shaped(run("dream", "cancel", "--json"), "dream cancel").json["pid"] == dreams.pid
            go.set()
            assert "it was called off; nothing was done" in other.communicate(timeout=60)[0]
            assert other.returncode == 0
        assert dreams.wait(60) == 130
    assert "All about b." in body(run, "b")
    assert run("dream", "cancel").code == 3
    assert run("dream", "--follow").code == 3


def test_ctrl_c_ends_it_and_nothing_was_done(run: Run, api: Scripted, repo: Path):
    process: list[subprocess.Popen[str]] = []

    def interrupts(asked: Asked) -> Answer:
        os.kill(process[0].pid, signal.SIGINT)
        return revise()[1]

    begun = Event()

    def waits(asked: Asked) -> Answer:
        begun.wait(60)
        return revise()[0]

    api.steps = [waits, interrupts, Say("Done.")]
    program = [sys.executable, "-m", "memstore", "-C", str(repo), "dream"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        process.append(child)
        begun.set()
        out, _ = child.communicate(timeout=60)
    assert child.returncode == 130 and "called off" in out
    assert "All about b." in body(run, "b")
