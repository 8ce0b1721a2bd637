"""A run in which the client's own fork thinks: what it is told, what becomes of its answer, and of its failures."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from memstore.core.usage import Usage
from memstore.store.runs import RunEnd
from tests.jobs import desk
from tests.jobs.api import Scripted
from tests.jobs.scene import FOLDER
from tests.jobs.standin import MODEL, SESSION, Forked, StandIn, result
from tests.messages_api import Say

SAID = "please always use bun here, never npm"


@pytest.fixture
def client(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


@pytest.fixture
def house(tmp_path: Path, api: Scripted, client: StandIn) -> Forked:
    scene = Forked(tmp_path, api, client)
    scene.transcript(SESSION).person(SAID)
    scene.transcript(SESSION).agent("All right, bun it is.")
    return scene


def text(name: str = "bun", body: str = "Use bun.", *, type: str = "feedback") -> str:
    return desk.text_of(name, body + "\n", type=type).decode()


def write(path: str = "bun.md", content: str = "", **more: object) -> dict[str, object]:
    return {"do": "write", "path": path, "content": content or text(), "quote": "always use bun here", **more}


def run(house: Forked, event: str = "Stop") -> RunEnd:
    return house.turn(session=SESSION, event=event)


# What it comes to


def test_the_list_of_a_fork_is_saved_like_any_other_run(house: Forked, client: StandIn):
    client.change(write(), reason="Kept that bun is used.")
    end = run(house)
    assert (end.outcome, end.reason, end.turns) == ("saved", "Kept that bun is used.", 1)
    assert house.files() == {"bun.md": "Use bun."}
    assert house.sources("bun.md") == [(SESSION, f"{SESSION}-1")]
    assert house.index().strip() == "- [bun](bun.md) — d"
    assert house.jobs() == [("Stop", "done", 0, None)]
    cursor = house.cursor(SESSION)
    assert cursor is not None and cursor.message == f"{SESSION}-2"
    (ran,) = house.runs()
    assert (ran.via, ran.model, ran.outcome) == ("client", MODEL, "saved")
    assert (ran.usage, ran.cost) == (Usage(10, 90, 900, 0), 10_000)
    assert house.events() == [("tool", "Write 'bun.md'")]
    assert house.api.asked == []


def test_nothing_to_keep_is_an_outcome(house: Forked, client: StandIn):
    client.change(reason="Only small talk.")
    end = run(house)
    assert (end.outcome, end.reason, house.files()) == ("nothing", "Only small talk.", {})
    assert house.cursor(SESSION) is not None


def test_a_gate_that_is_shut_starts_no_fork(house: Forked, client: StandIn):
    house.settings["extract.enabled"] = "false"
    assert run(house).gate == "off"
    assert client.calls == []


def test_a_dry_run_shows_what_would_be_saved_and_saves_nothing(house: Forked, client: StandIn):
    client.change(write())
    house.queue(SESSION)
    extraction = house.extraction(house.claim(), dry=True)
    end = extraction.run()
    assert end.outcome == "saved" and extraction.workspace is not None
    assert [step.path for step in extraction.workspace.steps] == ["bun.md"]
    assert house.files() == {}
    assert house.runs()[-1].cost == 10_000


# Whose words, which files: the rules of every run


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (write(quote="always use npm here"), "needs `quote`"),
        (write(quote="All right, bun it is"), "The quote is the assistant's"),
        (write("MEMORY.md"), "is not written"),
        (write("team/bun.md"), "team"),
        (write("bun.txt"), ".md"),
        (write("/etc/bun.md"), "outside of the memory directory"),
        (write("../bun.md"), "outside of the memory directory"),
        (write(content="no header"), "header"),
        ({"do": "delete", "path": "kept.md", "reason": "no use"}, "Read all of kept.md first"),
        ({"do": "edit", "path": "none.md", "old": "a", "new": "b"}, "no memory none.md"),
    ],
)  # fmt: skip
def test_what_no_run_may_do_a_fork_may_not_either(house: Forked, client: StandIn, change: dict[str, Any], why: str):
    desk.save(house.store, "kept", "stays\n")
    client.change(change)
    client.change(reason="Then not.")
    end = run(house)
    assert end.outcome == "nothing" and end.reason == "Then not."
    assert house.files() == {"kept.md": "stays"}
    (came,) = client.calls[1].told[-1]
    assert came["done"] is False and why in came["because"]
    assert {name: came["change"][name] for name in change} == change


def test_a_whole_file_is_replaced_and_deleted_after_it_was_read(house: Forked, client: StandIn):
    desk.save(house.store, "old", "one\n", type="project")
    desk.save(house.store, "wrong", "two\n", type="project")
    client.change(
        {"do": "read", "path": "old.md"}, write("old.md", text("old", "All of it anew.", type="project")),
        {"do": "read", "path": f"{FOLDER}/wrong.md"},
        {"do": "delete", "path": f"{FOLDER}/wrong.md", "reason": "it is wrong", "quote": "never npm"},
    )  # fmt: skip
    assert run(house).outcome == "saved"
    assert house.files() == {"old.md": "All of it anew."}
    assert len(client.calls) == 1


def test_what_a_fork_only_read_it_is_shown(house: Forked, client: StandIn):
    desk.save(house.store, "old", "@one two\n", type="project")
    client.change({"do": "read", "path": "old.md"})
    client.change({"do": "edit", "path": "old.md", "old": "@one", "new": "three", "quote": "always use bun"})
    assert run(house).outcome == "saved"
    assert house.files() == {"old.md": "three two"}
    (came,) = client.calls[1].told[-1]
    assert came["done"] is True and "@one two" in came["text"]


def test_what_was_refused_is_told_and_what_was_done_stays(house: Forked, client: StandIn):
    client.change(write(), write("npm.md", text("npm", "Never npm."), quote="nobody said this ever"))
    client.change(write("npm.md", text("npm", "Never npm."), quote="never npm"), reason="Kept both.")
    client.change(reason="never asked")
    end = run(house)
    assert (end.outcome, end.reason, end.turns) == ("saved", "Kept both.", 2)
    assert set(house.files()) == {"bun.md", "npm.md"}
    done, refused = client.calls[1].told[-1]
    assert done == {"done": True, "change": {"do": "write", "path": "bun.md"}}
    assert refused["change"]["content"] == text("npm", "Never npm.")
    assert house.runs()[-1].cost == 20_000


@pytest.mark.parametrize("change", [write(quote="nobody said this ever"), {"do": "read", "path": "old.md"}])
def test_what_a_fork_has_not_come_to_is_left_to_the_next_run_and_at_last_to_a_person(
    house: Forked, client: StandIn, change: dict[str, object]
):
    desk.save(house.store, "old", "one\n", type="project")
    for _ in range(9):
        client.change(change, reason="It must be kept.")
    for number in (1, 2):
        end = run(house) if number == 1 else house.work()
        assert (end.outcome, len(client.calls), house.cursor(SESSION)) == ("more", 3 * number, None)
    end = house.work()
    assert (end.outcome, end.park, len(client.calls)) == ("failed", True, 9)


def test_what_others_wrote_meanwhile_is_given_back_and_answered(house: Forked, client: StandIn):
    desk.save(house.store, "house", "door: blue\n", type="project")
    edit = {"do": "edit", "path": "house.md", "old": "door: blue", "new": "door: red", "quote": "always use bun"}
    client.change(edit)
    client.change({**edit, "old": "door: black"}, reason="Red all the same.")
    house.others = [lambda: desk.change(house.store, "house", "door: blue", "door: black")]
    end = run(house)
    assert (end.outcome, end.reason) == ("saved", "Red all the same.")
    assert house.files() == {"house.md": "door: red"}
    assert "changed the same words meanwhile" in client.calls[1].told[-1][0]


# How it is asked


def test_it_is_started_as_a_fork_that_leaves_nothing_and_may_only_read(house: Forked, client: StandIn):
    client.change()
    house.settings["extract.turns"] = "7"
    run(house)
    (call,) = client.calls
    assert call.argv[1:11] == [
        "-p", "--resume", SESSION, "--fork-session", "--no-session-persistence", "--permission-mode", "dontAsk",
        "--max-turns", "7", "--output-format",
    ]  # fmt: skip
    assert call.option("--output-format") == "json"
    assert "--max-budget-usd" not in call.argv
    (entry,) = json.loads(call.option("--settings"))["hooks"]["PreToolUse"]
    assert "matcher" not in entry  # before every tool
    assert entry["hooks"] == [
        {"type": "command", "command": "/usr/bin/python3", "args": ["hook.py", "PreToolUse"], "timeout": 20}
    ]
    assert call.cwd == str(house.directory)  # the worktree is gone, and so is what was above it
    assert SAID not in " ".join(call.argv)


def test_its_environment_is_the_client_s_and_nothing_of_the_session_around_it(house: Forked, client: StandIn):
    passed = {
        "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://x", "CLAUDE_CONFIG_DIR": "/c", "HTTPS_PROXY": "http://p",
        "CLAUDE_CODE_OAUTH_TOKEN": "t", "CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "LC_ALL": "C.UTF-8",
        "DISABLE_TELEMETRY": "1", "MEMSTORE_HOME": "/m", "CLAUDE_CODE_MAX_RETRIES": "9",
    }  # fmt: skip
    left = {
        "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_PROJECT_DIR": "/p",
        "CLAUDE_PID": "7", "CLAUDE_CODE_MESSAGING_SOCKET": "/s", "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_ENV_FILE": "/e", "CLAUDE_PLUGIN_ROOT": "/r", "CLAUDE_EFFORT": "high", "CLAUDE_CODE_SSE_PORT": "1",
        "GITHUB_TOKEN": "secret", "PYTHONPATH": "/x", "LD_PRELOAD": "/x", "NODE_OPTIONS": "--x", "GIT_DIR": "/x",
        "MEMSTORE_SESSION": "s", "MEMSTORE_EXTRACT_VIA": "client", "MEMSTORE_CLAUDE": "x",
    }  # fmt: skip
    house.environment |= passed | left
    client.change()
    run(house)
    (call,) = client.calls
    assert {name: call.env.get(name) for name in passed} == passed
    assert not set(left) & set(call.env)
    assert call.env["MEMSTORE_FORK"] == "1"


def test_it_tries_again_only_shortly_unless_somebody_says_otherwise(house: Forked, client: StandIn):
    client.change()
    run(house)
    assert client.calls[0].env["CLAUDE_CODE_MAX_RETRIES"] == "2"


def test_it_is_told_what_is_new_and_which_memories_there_are(house: Forked, client: StandIn):
    client.change()
    run(house)
    house.transcript(SESSION).person("and the port is 7443 now, tell @alice", "long words " * 100)
    desk.save(house.store, "known", "something\n")
    client.change()
    run(house)
    first, second = (call.told[0] for call in client.calls)
    assert first["memories"] == ["(none yet)"]
    assert [one["begins"] for one in first["new"]["messages of the person"]] == [SAID]
    assert second["memories"][0].startswith("- [project] known.md (")
    assert [(one["message"], one["begins"]) for one in second["new"]["messages of the person"]] == [
        (1, "and the port is 7443 now, tell @alice"), (2, ("long words " * 100)[:400] + "…"),
    ]  # fmt: skip
    assert client.calls[1].stdin.count("@") == 0  # the client would read in a file of that name


def test_what_a_compaction_took_out_of_the_conversation_is_given_as_text(house: Forked, client: StandIn):
    transcript = house.transcript(SESSION)
    transcript.write(transcript.row("system", subtype="compact_boundary", content="Conversation compacted"))
    transcript.person("the port is 7443 now")
    client.change()
    run(house, "PreCompact")
    told = client.calls[0].told[0]
    (lost,) = [value for name, value in told.items() if "compaction" in name]
    assert any(SAID in line for line in lost) and not any("7443" in line for line in lost)
    assert len(told["new"]["messages of the person"]) == 2


def test_a_long_part_names_its_first_and_last_messages(house: Forked, client: StandIn):
    house.transcript(SESSION).person(*(f"message number {number} of many" for number in range(60)))
    client.change()
    run(house)
    new = client.calls[0].told[0]["new"]["messages of the person"]
    assert len(new) == 41 and new[20] == "(21 messages in between are new, too)"


# What it costs


def test_what_the_session_had_cost_before_is_not_the_fork_s(house: Forked, client: StandIn):
    transcript = house.transcript(SESSION)
    for dollars in (0.1, 0.3, 0.5):
        models = {MODEL: {"inputTokens": round(dollars * 10_000), "outputTokens": 0}}
        transcript.write(json.dumps({"type": "cost-state", "totalCostUSD": dollars, "modelUsage": models}))
    client.change(before=0.3)
    run(house)
    assert house.runs()[-1].cost == 10_000


def test_the_budget_is_handed_on_and_what_is_left_of_it(house: Forked, client: StandIn):
    house.settings["budget.run"] = "0.025"
    for _ in range(3):
        client.change(write(quote="nobody said this ever"))
    end = run(house)
    assert [call.option("--max-budget-usd") for call in client.calls] == ["0.025000", "0.015000", "0.005000"]
    assert end.cost == 30_000


def test_a_budget_that_is_used_up_leaves_the_rest_to_the_next_run(house: Forked, client: StandIn):
    house.settings["budget.run"] = "0.01"
    client.change(write(), write("npm.md", quote="nobody said this ever"))
    end = run(house)
    assert (end.outcome, end.gate, len(client.calls)) == ("more", "turns", 1)
    assert "its budget was used up" in end.reason
    assert set(house.files()) == {"bun.md"} and house.cursor(SESSION) is None
    client.say(None, subtype="error_max_budget_usd", is_error=True)
    end = run(house)
    assert (end.outcome, end.gate, end.cost) == ("more", "turns", 10_000)


def test_a_fork_that_reads_until_its_turns_are_used_up_is_no_failure(house: Forked, client: StandIn):
    client.say(None, subtype="error_max_turns", is_error=True, stop_reason="tool_use")
    end = run(house)
    assert (end.outcome, end.gate, end.cost) == ("more", "turns", 10_000)
    assert "its turns were used up" in end.reason


def test_somebody_who_calls_it_off_starts_no_fork(house: Forked, client: StandIn):
    house.cancelled = lambda: True
    assert run(house).reason.startswith("it was called off")
    assert client.calls == []


# What goes wrong


def test_an_answer_that_is_no_list_is_sent_back_and_then_a_failure(house: Forked, client: StandIn):
    half = json.dumps({"changes": [write()], "reason": "x"})[:-20]
    client.say("I kept it in mind.")
    client.say("")
    client.change(write(), reason="Now.")
    assert run(house).outcome == "saved"
    (came,) = client.calls[1].told[-1]
    assert came["done"] is False and came["your answer"] == "I kept it in mind."
    assert "no JSON object" in came["because"] and len(client.calls[2].told) == 3
    house.transcript(SESSION).person("the port is 7443 now")
    for _ in range(3):
        client.say(half)
    end = run(house)
    assert (end.outcome, end.park, end.cost) == ("failed", False, 30_000)
    assert "answered with no list of changes" in end.reason
    assert house.jobs()[-1][1:3] == ("waiting", 1)


@pytest.mark.parametrize(
    ("step", "told", "parked"),
    [
        ({"err": f"No conversation found with session ID: {SESSION}", "code": 1}, "does not know this session", True),
        ({"err": "error: unknown option '--fork-session'", "code": 1}, "unknown option", True),
        ({"err": "Segmentation fault", "code": 139}, "ended with code 139: Segmentation fault", True),
        ({"code": 1}, "code 1 and no word of why", True),
        ({"code": -signal.SIGKILL}, "ended by SIGKILL", False),
        ({"out": "hello"}, "no result of the client", True),
        ({"out": "[]"}, "no result of the client", True),
        ({"out": json.dumps(result("x"))[:-2]}, "no result of the client", True),
        ({"out": "x" * 5_000_000}, "more than can be looked at", True),
        ({"out": '{"type": "result"', "sleep": 60}, "no answer in time", False),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_a_program_that_fails_is_told_with_the_next_step(
    house: Forked, client: StandIn, step: dict[str, Any], told: str, parked: bool
):
    house.seconds = 2 if step.get("sleep") else 60
    client.step(**step)
    end = run(house)
    assert (end.outcome, end.park) == ("failed", parked), end
    assert told in end.reason
    assert house.jobs()[-1][1] == ("failed" if parked else "waiting")
    assert house.cursor(SESSION) is None and house.files() == {}


def test_what_a_failure_cost_is_on_record(house: Forked, client: StandIn):
    client.say("API Error: 529 overloaded", is_error=True, api_error_status=529)
    end = run(house)
    assert (end.outcome, end.park, end.cost) == ("failed", False, 10_000)
    assert house.runs()[-1].cost == 10_000


def test_no_secret_is_in_what_is_told(house: Forked, client: StandIn):
    house.environment |= {"ANTHROPIC_API_KEY": "sk-ant-api03-KEYSECRET", "CLAUDE_CODE_OAUTH_TOKEN": "OAUTHSECRET"}
    client.say("API Error: 401 sk-ant-api03-KEYSECRET OAUTHSECRET", is_error=True, api_error_status=401)
    client.step(err="cannot use OAUTHSECRET", code=1)
    for _ in range(2):
        assert "SECRET" not in run(house).reason


def test_a_session_of_an_old_client_is_not_forked(house: Forked, client: StandIn):
    transcript = house.transcript(SESSION)
    transcript.person("the port is 7443 now", version="2.0.14")
    end = run(house)
    assert (end.outcome, end.park) == ("failed", True)
    assert "the client of this session is of version 2.0.14" in end.reason
    assert client.calls == []


def test_a_name_that_is_no_session_of_the_client_never_becomes_an_argument(house: Forked, client: StandIn):
    house.transcript("--help").person(SAID)
    end = house.turn(session="--help")
    assert (end.outcome, end.park, client.calls) == ("failed", True, [])


def test_a_program_that_is_gone_is_told(house: Forked, client: StandIn):
    client.path.unlink()
    end = run(house)
    assert (end.outcome, end.park) == ("failed", True) and "cannot be started" in end.reason


def test_the_api_is_not_asked_where_a_fork_thinks(house: Forked, client: StandIn, api: Scripted):
    api.steps = [Say("Nothing.")]
    client.step(code=1)
    run(house)
    assert api.asked == []
