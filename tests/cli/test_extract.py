"""`memstore extract`: what waits and why, what runs came to, doing it now; against a scripted Messages API."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from memstore.app import Memstore
from memstore.cli.shapes import ERROR, SHAPES
from memstore.store import jobs, sessions
from memstore.store.worker_turn import worker_turn
from tests.cli.conftest import Ran, Run
from tests.cli.test_shapes import has_shape
from tests.jobs.api import KEY, Scripted, scripted
from tests.messages_api import Asked, Blocks, Fail, Halting, Say, Use
from tests.talks import Talk, write

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """The API that this process's environment leads to."""
    with scripted() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture(autouse=True)
def store(run: Run) -> None:
    """A store with one memory."""
    assert run("write", "note", "words").code == 0


def turn(repo: Path, session: str = ONE, said: str = "please always use bun here, never npm") -> Talk:
    """A turn ends in which a person said something."""
    talk = Talk(session)
    talk.person(said)
    queue(repo, talk)
    return talk


def queue(repo: Path, talk: Talk, event: str = "Stop") -> None:
    with Memstore.open(str(repo)) as memories, memories.store.change() as connection:
        at = memories.store.now()
        sessions.write(connection, "job", (f"{event} {at}", talk.session, str(talk.path), str(repo), event, at))


def shaped(ran: Ran, command: str) -> Ran:
    """The JSON of a command, which must have its shape."""
    assert has_shape(ran.json, {"memstore": "number", "command": "text", **SHAPES[command]}), ran.json
    assert ran.json["command"] == command
    return ran


UNAUTHORIZED = Fail(401, "authentication_error", "bad")
UNKNOWN = Fail(404, "not_found_error", "model: claude-sonnet-5-5")
BUSY = Fail(529, "overloaded_error", "Overloaded", {"x-should-retry": "false"})


# What waits


def test_without_a_model_it_says_what_waits_why_and_what_to_do(run: Run, repo: Path):
    turn(repo, ONE)
    turn(repo, TWO)
    turn(repo, TWO)
    told = run("extract", "status").out.splitlines()
    why = (
        "no model can be asked: neither ANTHROPIC_API_KEY nor ANTHROPIC_AUTH_TOKEN is set"
        " (set ANTHROPIC_API_KEY in the environment in which sessions start, or install the client, whose own"
        " fork thinks where extract.via is auto or client)"
    )
    assert told[:4] == [
        f"state:    on hold: {why}",
        "model:    claude-sonnet-5-5, no key is set (extract.via auto)",
        "today:    $0, without a limit (budget.day)",
        "waiting:  2 sessions wait with 3 turns",
    ]
    assert [line.split("\t")[::2] for line in told[4:]] == [[ONE, "waits with 1 turn"], [TWO, "waits with 2 turns"]]
    assert f"turns:      2 sessions wait with 3 turns: {why}\n" in run("status").out
    brief = run("status", "--json").json["extraction"]
    assert (brief["waiting"], brief["turns"], brief["parked"]) == (2, 3, 0) and "no model" in brief["held"]["reason"]
    assert run("extract").out == run("extract", "status").out


def test_in_a_pause_it_says_what_rests_and_how_to_end_that(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    turn(repo, TWO)
    run("pause", "--store")
    why = "saving is paused for this repository (`memstore resume` ends that)"
    assert f"state:    on hold: {why}\n" in run("extract", "status").out
    ran = run("extract", "run")
    assert (ran.code, ran.err) == (7, f"2 sessions wait with 2 turns: {why}\n")
    run("resume")
    run("pause", "--worktree")
    why = "saving is paused (`memstore resume` ends that)"
    told = run("extract", "status").out.splitlines()
    assert [line.split("\t")[::2] for line in told[4:]] == [[one, f"waits with 1 turn: {why}"] for one in (ONE, TWO)]
    assert f"turns:      2 sessions wait with 2 turns: {why}\n" in run("status").out
    assert shaped(run("extract", "status", "--json"), "extract status").json["paused"] == [ONE, TWO]
    ran = run("extract", "run")
    assert (ran.code, ran.err, api.asked) == (7, f"2 sessions wait with 2 turns: {why}\n", [])


def test_with_a_model_it_names_the_variable_and_no_secret(run: Run, repo: Path, api: Scripted):
    told = run("extract", "status").out
    assert "state:    on\n" in told
    assert "model:    claude-sonnet-5-5, asked with ANTHROPIC_API_KEY (extract.via auto)\n" in told
    assert "waiting:  nothing\n" in told
    assert KEY not in told + run("extract", "status", "--json").out
    assert "turns:" not in run("status").out and "parked:" not in run("status").out


def test_switched_off_says_so_and_turns_are_passed_over(run: Run, repo: Path):
    run("config", "set", "extract.enabled", "false")
    assert "state:    off (extract.enabled): turns are passed over\n" in run("extract", "status").out
    turn(repo)
    ran = run("extract", "run")
    assert ran.code == 0
    assert ran.out == f"{ONE}  skipped (off): the extraction is switched off (extract.enabled)\n"


def test_a_setting_that_cannot_be_used_is_named(run: Run, repo: Path, api: Scripted, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMSTORE_EXTRACT_TURNS", "many")
    turn(repo)
    assert "on hold: extract.turns cannot be 'many' ($MEMSTORE_EXTRACT_TURNS) (it is" in run("extract", "status").out
    assert "extract.turns cannot be 'many'" in run("status").out
    ran = run("extract", "run")
    assert ran.code == 7 and "1 session waits with 1 turn: extract.turns cannot be" in ran.err
    (Path(os.environ["MEMSTORE_HOME"]) / "settings.json").write_text("{")
    for call in (("extract", "status"), ("extract", "run"), ("status",)):
        told = run(*call)
        assert "settings.json cannot be used" in told.out + told.err, told
    shaped(run("extract", "status", "--json"), "extract status")


def test_the_budget_of_the_day_is_shown_with_what_was_spent(run: Run, repo: Path, api: Scripted):
    run("config", "set", "budget.day", "0.0001")
    turn(repo, ONE)
    api.steps = [write(), Say("Kept one.")]
    run("extract", "run")
    assert "today:    $0.00014, of $0.0001 (budget.day)\n" in run("extract", "status").out
    turn(repo, TWO)
    why = "the runs of today cost $0.00014, and budget.day is $0.0001 (it goes on tomorrow)"
    assert f"turns:      1 session waits with 1 turn: {why}\n" in run("status").out
    ran = run("extract", "run")
    assert (ran.code, ran.err) == (7, f"1 session waits with 1 turn: {why}\n")
    assert len(api.asked) == 2


def test_the_last_decision_on_each_session_is_shown_with_its_gate(run: Run, repo: Path, api: Scripted):
    talk = turn(repo, ONE)
    turn(repo, TWO, "ok")
    api.steps = [write(), Say("Kept that bun is used.")]
    assert run("extract", "run").code == 0
    queue(repo, talk, "SessionEnd")  # nothing was said since
    assert run("extract", "run").code == 0
    rows = [line.split("\t")[::2] for line in run("extract", "status").out.splitlines()[4:]]
    assert rows == [
        [TWO, "skipped (substance): no message of a person has 3 words"],
        [ONE, "saved: Kept that bun is used."],
    ]


# Doing it


def test_a_run_in_the_foreground_says_what_it_saved_and_how_to_take_it_back(run: Run, repo: Path, api: Scripted):
    turn(repo)
    api.steps = [(write(), Use("Bash", {"command": "ls"})), Say("Kept one.")]
    ran = run("extract", "run")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"{ONE}  saved: Kept one.",
        "    create feedback_bun.md (`memstore undo 2` takes that back)",
        "    2 turns over 1 message, 20 tokens in (0% from the cache), 10 out, $0.00014, claude-sonnet-5-5",
        "    denied: Bash 'ls': there is no tool 'Bash' in this run; there are Read, Grep, Glob, Edit, Write, Delete",
    ]
    assert "Use bun." in run("show", "feedback_bun").out
    assert run("undo", "2").code == 0
    assert run("show", "feedback_bun").out.count("retired") == 1
    assert "create feedback_bun.md (taken back by #3)" in run("extract", "log").out
    assert run("extract", "run").out == "no turn is due\n"


def test_what_fails_ends_with_7_and_says_when_it_is_tried_again(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    turn(repo, TWO)
    api.steps = [BUSY, UNKNOWN]
    ran = run("extract", "run")
    assert ran.code == 7
    assert ran.out.startswith(f"{ONE}  failed: ") and f"\n{TWO}  failed: " in ran.out
    waits, parked = ran.err.splitlines()
    assert waits.startswith("1 session waits with 1 turn for the next try at ")
    assert parked == "1 job parked: see `memstore extract status`"
    told = run("extract", "status").out
    assert f"{ONE}\t" in told and "waits with 1 turn until " in told and ", tried 1 time: " in told
    assert f"{TWO}\t" in told and "parked, tried 1 time: " in told and "404" in told
    assert told.count("failed:") == 0  # the reasons stand there already
    assert "parked:     1 job: see `memstore extract status`\n" in run("status").out
    assert "the next try is at " in run("status").out
    shaped(run("extract", "status", "--json"), "extract status")


def test_a_key_that_is_refused_holds_all_turns_and_says_what_to_do(
    run: Run, repo: Path, api: Scripted, monkeypatch: pytest.MonkeyPatch
):
    turn(repo, ONE)
    turn(repo, TWO)
    api.steps = [UNAUTHORIZED]
    ran = run("extract", "run")
    assert (ran.code, len(api.asked)) == (7, 1)
    why = (
        "refused the API key in ANTHROPIC_API_KEY (401: bad) (set ANTHROPIC_API_KEY to one that is valid for 127.0.0.1:"
    )
    again = "it is asked again when that has changed, in 5 min, or by `memstore extract retry`)"
    assert ran.err.startswith("2 sessions wait with 2 turns: 127.0.0.1:") and why in ran.err and again in ran.err
    told = run("extract", "status").out
    assert "state:    on hold: 127.0.0.1:" in told and why in told and again in told and "parked" not in told
    assert why in run("status").out and KEY not in told + ran.err + ran.out
    held = shaped(run("extract", "status", "--json"), "extract status").json["held"]
    assert "(401: bad)" in held["reason"] and again[:-1] in held["step"]
    assert (run("extract", "run").code, len(api.asked)) == (7, 1)
    assert run("extract", "retry").out.startswith("2 jobs are due again")
    api.steps = [UNAUTHORIZED]
    assert (run("extract", "run").code, len(api.asked)) == (7, 2)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    api.steps = [Say("Nothing."), Say("Nothing.")]
    assert (run("extract", "run").code, len(api.asked)) == (0, 4)
    assert "state:    on\n" in run("extract", "status").out


def test_retry_lets_what_is_parked_be_due_at_once(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    turn(repo, TWO)
    api.steps = [UNKNOWN, BUSY]
    run("extract", "run")
    assert run("extract", "retry", ONE[:4]).out.startswith("1 job is due again")
    api.steps = [Say("Nothing.")]
    assert run("extract", "run").out.startswith(f"{ONE}  nothing: Nothing.")
    assert shaped(run("extract", "retry", "--json"), "extract retry").json["due"] == 1
    api.steps = [Say("Nothing.")]
    assert run("extract", "run").out.startswith(f"{TWO}  nothing: Nothing.")
    assert run("extract", "retry").out == "nothing is parked or waits for its next try\n"
    assert "parked:" not in run("status").out


def test_another_worker_that_is_at_it_is_left_to_it(
    run: Run, repo: Path, api: Scripted, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("memstore.extracting._WAIT", 0.05)
    turn(repo)
    with Memstore.open(str(repo)) as memories:
        store = memories.store
        held = worker_turn(store.directory, "extract", 1)
        assert held is not None
        try:
            with store.change() as connection:
                assert jobs.claim(connection, "extract", store.now()) is not None
            ran = run("extract", "run")
            assert ran.code == 0 and ran.err.startswith("another worker is at it already")
            status = run("extract", "status").out
            assert "state:    on, a worker is at it\n" in status and status.endswith("\tbeing looked at\n")
            turn(repo)
            assert "turns:      1 session waits with 1 turn: a worker is at it\n" in run("status").out
        finally:
            os.close(held)
    assert api.asked == []


def test_the_json_of_a_run_tells_all_of_it(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    turn(repo, TWO)
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90}
    api.steps = [write(), Blocks(({"type": "text", "text": "Kept one."},), usage=usage), Say("Nothing.")]
    ran = shaped(run("extract", "run", "--json"), "extract run")
    one, two = ran.json["runs"]
    assert (one["outcome"], one["saved"]["seq"], one["saved"]["undone_by"]) == ("saved", 2, None)
    assert [made["path"] for made in one["saved"]["made"]] == ["feedback_bun.md"]
    assert (one["input_tokens"], one["cache_hit"], one["via"]) == (110, 82, "api")
    assert (two["outcome"], two["saved"], ran.json["waiting"], ran.json["held"]) == ("nothing", None, 0, None)
    assert len(shaped(run("extract", "log", "--json"), "extract log").json["runs"]) == 2
    last = shaped(run("extract", "status", "--json"), "extract status").json["last"]
    assert [one["session"] for one in last] == [TWO, ONE]


def test_an_interruption_ends_after_the_answer_and_keeps_what_was_written(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    turn(repo, TWO)
    process: list[subprocess.Popen[str]] = []

    def interrupt(_: Asked) -> Use:
        process[0].send_signal(signal.SIGINT)
        return write()

    api.steps = [interrupt]
    words = [sys.executable, "-m", "memstore", "-C", str(repo), "extract", "run"]
    process.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    out, err = process[0].communicate(timeout=60)
    assert (process[0].returncode, err) == (130, "")
    assert out.startswith(f"{ONE}  more: it was called off; the rest is left to the next run\n    create feedback_bun")
    assert "waiting:  2 sessions wait with 2 turns\n" in run("extract", "status").out


def test_a_second_interruption_ends_at_once_and_the_next_worker_takes_it_up(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    process: list[subprocess.Popen[str]] = []

    def slowly(_: Asked) -> Halting:
        Thread(target=impatient, daemon=True).start()
        return Halting(Say("Nothing."), pause=60)

    def impatient() -> None:
        for _ in range(100):  # one that comes before the other was seen is none
            if process[0].poll() is None:
                process[0].send_signal(signal.SIGINT)
            Event().wait(0.3)

    api.steps = [slowly]
    words = [sys.executable, "-m", "memstore", "-C", str(repo), "extract", "run"]
    process.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    process[0].communicate(timeout=60)
    assert process[0].returncode in (130, -signal.SIGINT)
    assert "being looked at, by a worker that is gone" in run("extract", "status").out
    run("extract", "run")
    assert run("extract", "retry").code == 0
    api.steps = [Say("Nothing.")]
    assert run("extract", "run").out.startswith(f"{ONE}  nothing: Nothing.")


# Trying it


def test_a_dry_run_shows_the_difference_and_changes_nothing_but_the_cost(run: Run, repo: Path, api: Scripted):
    run("write", "old", "The tests run with npm.", "--type", "project")
    turn(repo)
    before = run("log").out, run("list").out, run("extract", "status").out.splitlines()[3:]
    edit = Use(
        "Edit", {"file_path": "old.md", "old_string": "npm", "new_string": "bun", "quote": "always use bun here"}
    )
    api.steps = [(write(), edit), Say("Kept two.")]
    ran = run("extract", "run", "--dry-run")
    assert ran.code == 0 and ran.err == f"{ONE}  would be saved: Kept two.\n"
    assert "--- nothing (now)\n+++ feedback_bun.md (after the run)\n" in ran.out
    assert "-The tests run with npm.\n+The tests run with bun.\n" in ran.out
    assert (run("log").out, run("list").out, run("extract", "status").out.splitlines()[3:]) == before
    assert "today:    $0.00014, " in run("extract", "status").out
    assert "  preview  " in run("extract", "log").out


def test_a_dry_run_of_one_session_also_looks_at_what_is_parked(run: Run, repo: Path, api: Scripted):
    turn(repo, ONE)
    turn(repo, TWO)
    api.steps = [UNKNOWN, UNKNOWN]
    run("extract", "run")
    assert run("extract", "run", "--dry-run").out == "no turn is due\n"
    api.steps = [write(), Say("Kept one.")]
    ran = shaped(run("extract", "run", "--dry-run", "1111", "--json"), "extract run")
    assert [one["path"] for one in ran.json["diffs"]] == ["feedback_bun.md"]
    assert [(one["kind"], one["session"]) for one in ran.json["runs"]] == [("preview", ONE)]
    with Memstore.open(str(repo)) as memories, memories.store.view() as connection:
        assert len(jobs.parked(connection)) == 2


def test_a_dry_run_without_a_model_or_money_is_refused_with_the_next_step(run: Run, repo: Path):
    turn(repo)
    ran = run("extract", "run", "--dry-run")
    assert ran.code == 7 and "set ANTHROPIC_API_KEY in the environment" in ran.err
    error = run("extract", "run", "--dry-run", "--json").json["error"]
    assert has_shape({key: error[key] for key in ERROR}, ERROR)


@pytest.mark.parametrize(
    ("call", "code", "told"),
    [
        (("run", ONE), 2, "SESSION goes with --dry-run"),
        (("run", "--dry-run", "3"), 3, "there is no run or job of a session '3'"),
        (("run", "--dry-run", TWO), 3, f"nothing waits for the session {TWO}"),
        (("log", "--session", "nobody"), 3, "there is no run or job of a session 'nobody'"),
        (("retry", "nobody"), 3, "there is no run or job of a session 'nobody'"),
        (("log", "--limit", "0"), 2, "limit"),
        (("status", "extra"), 2, "extra"),
    ],
)
def test_what_cannot_be_done_is_refused(
    run: Run, repo: Path, api: Scripted, call: tuple[str, ...], code: int, told: str
):
    turn(repo, TWO)
    api.steps = [Say("Nothing.")]
    run("extract", "run")
    ran = run("extract", *call)
    assert ran.code == code and told in ran.err


def test_a_beginning_that_several_sessions_share_is_refused(run: Run, repo: Path):
    turn(repo, ONE)
    turn(repo, "1111-other")
    ran = run("extract", "log", "--session", "1111")
    assert ran.code == 2 and "2 sessions begin with '1111'" in ran.err
    assert run("extract", "log", "--session", "1111-").err == "there was no run yet\n"


# The log


def test_the_log_is_newest_first_limited_and_of_one_session(run: Run, repo: Path, api: Scripted):
    for session in (ONE, TWO, ONE):
        turn(repo, session)
        api.steps = [Say("Nothing.")]
        run("extract", "run")
    lines = run("extract", "log").out.splitlines()
    assert [line.split("  ")[2] for line in lines if line[0] != " "] == [ONE, TWO, ONE]
    assert run("extract", "log", "--limit", "1").out.count(ONE) == 1
    assert ONE not in run("extract", "log", "--session", TWO).out


def test_what_a_run_says_cannot_steer_a_terminal(run: Run, repo: Path, api: Scripted):
    turn(repo)
    api.steps = [Use("Bash\x1b[2J", {"command": "\x1b]0;x\x07"}), Say("done \x1b[31m\u202e")]
    told = run("extract", "run").out + run("extract", "log").out + run("extract", "status").out
    assert "\x1b" not in told and "\u202e" not in told and "\\x1b" in told


def test_without_a_store_nothing_is_made(run: Run, tmp_path: Path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for call in (("status",), ("log",), ("run",), ("retry",)):
        assert run("extract", *call, at=other).code == 3
