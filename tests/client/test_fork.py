"""The client's own fork of a session keeps what the session taught: hook, worker, fork, memory, next session."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memstore.app import Memstore
from memstore.claude import forks
from memstore.core.model import SHELF
from memstore.store import runs
from memstore.world import World
from tests.client.api import Answer, Api, Model, Request, Say, Use, saying
from tests.client.collision import memory
from tests.client.places import ask, memory_folder, memstore
from tests.client.running import Client, Session
from tests.messages_api import Blocks, Fail

SAID = "Please always use bun here, never npm."
MARK = "You are a fork that memstore made of this session"
OURS = "mcp__plugin_memstore_memstore__memory_write"
PER_ANSWER = 140
"""What each answer of the scripted model costs with the client's usual one, in millionths of a dollar."""

WRAPPER = """\
#!/bin/sh
echo "$@" >> '{log}'
exec '{program}' "$@"
"""


def listed(*changes: Mapping[str, object], reason: str = "Kept that bun is used.") -> Say:
    return Say(json.dumps({"changes": changes, "reason": reason}))


def write(name: str = "use-bun", quote: str = "always use bun here") -> dict[str, object]:
    text = memory(name, "which package manager", "Use bun, never npm.").replace("type: project", "type: feedback")
    return {"do": "write", "path": f"{name}.md", "content": text, "quote": quote}


def is_fork(request: Request) -> bool:
    return MARK in request.said("user")


@pytest.fixture
def client(bare: Client, repository: Path, tmp_path: Path) -> Client:
    """The client with the plugin as `install` puts it in, for its forks too; what starts it is counted."""
    starts = tmp_path / "starts"
    wrapper = tmp_path / "bin" / "claude"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(log=starts, program=bare.program), encoding="utf-8")
    wrapper.chmod(0o755)
    memstore(repository, "install", "claude", "--yes")
    allowed = {"permissions": {"allow": ["Bash", "Edit", "Write", "NotebookEdit", OURS]}}
    settings = bare.home / ".claude" / "settings.json"
    settings.write_text(json.dumps(allowed), encoding="utf-8")
    memstore(repository, "sync")
    bare.environment |= {"MEMSTORE_CLAUDE": str(wrapper), "MEMSTORE_EXTRACT_VIA": "client"}
    return bare


@pytest.fixture
def starts(tmp_path: Path) -> Callable[[], list[str]]:
    """How the client was started by memstore, but for the questions after its version."""

    def found() -> list[str]:
        log = tmp_path / "starts"
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        return [line for line in lines if line != "--version"]

    return found


def transcripts(client: Client) -> list[Path]:
    return sorted((client.home / ".claude" / "projects").glob("*/*.jsonl"))


def ran(checkout: Path, number: int = 1) -> list[dict[str, Any]]:
    """The runs, oldest first, once so many have ended that were not skipped and no job is left."""
    deadline = time.monotonic() + 120
    while True:
        found = [run for run in ask(checkout, "extract", "log")["runs"] if run["outcome"] not in ("skipped", None)]
        now = ask(checkout, "extract", "status")
        if len(found) >= number and not now["running"] and not [job for job in now["waiting"] if not job["due_at"]]:
            return found[::-1]
        assert time.monotonic() < deadline, f"{found}\n{now}"
        time.sleep(0.2)


def by_hand(client: Client, checkout: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`memstore extract` in the environment of the sessions."""
    environment = client.surroundings() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")} | variables
    command = [sys.executable, "-m", "memstore", "extract", *words]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)


def queued(client: Client, checkout: Path, model: Model) -> tuple[Session, str]:
    """A session whose turn waits, as no client is found; and its key."""
    there = dict(client.environment)
    client.environment["MEMSTORE_CLAUDE"] = str(client.home / "none")
    session = client.start(checkout, SAID, model)
    session.end()
    client.environment = there
    (key,) = (key for key, script in client.api.scripts.items() if script is session.script)
    return session, key


def plain(value: object) -> object:
    """Without the marks for the cache, and texts of one block as that block."""
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    found = {name: plain(inner) for name, inner in value.items() if name != "cache_control"}
    if isinstance(value.get("content"), str):
        found["content"] = [{"type": "text", "text": value["content"]}]
    return found


def test_what_a_turn_taught_is_kept_by_a_fork_and_the_next_session_sees_it(
    client: Client, repository: Path, starts: Callable[[], list[str]]
):
    folder = memory_folder(client, repository)
    new = str(folder / "by-the-fork.md")

    def model(request: Request) -> Generator[Answer, Request, None]:
        asked = yield Say("I will use bun.")
        assert is_fork(asked)
        yield (
            Use("Write", {"file_path": new, "content": memory("by-the-fork", "x", "It wrote.")}),
            Use("Bash", {"command": f"touch {repository}/by-the-fork", "description": "touch"}),
            Use(
                OURS, {"path": "by-the-fork.md", "content": memory("by-the-fork", "x", "It wrote."), "expecting": "new"}
            ),
            Use("Edit", {"file_path": str(folder / "MEMORY.md"), "old_string": "", "new_string": "- by the fork\n"}),
        )
        yield listed(write())

    session = client.start(repository, SAID, model)
    session.end()
    (run,) = ran(repository)
    assert (run["outcome"], run["via"], run["reason"]) == ("saved", "client", "Kept that bun is used.")
    assert (run["model"], run["turns"]) == (session.script.requests[0].body["model"], 1)

    parent, first, second = session.script.requests
    assert first.body["tools"] == parent.body["tools"]
    assert plain(first.body["system"]) == plain(parent.body["system"])
    said = [plain(message) for message in parent.body["messages"]]
    assert [plain(message) for message in first.body["messages"][: len(said)]] == said
    assert first.body["model"] == parent.body["model"]
    assert first.session != parent.session

    assert len(second.results) == 4
    assert all(forks.REASON in result for result in second.results), second.results
    assert not os.path.exists(new) and not (repository / "by-the-fork").exists()
    assert {path.name for path in folder.glob("*.md")} == {"MEMORY.md", "use-bun.md"}

    assert [path.stem for path in transcripts(client)] == [session.id]
    assert len(starts()) == 1 and f"--resume {session.id} --fork-session" in starts()[0]
    log = ask(repository, "log")["operations"]
    assert {one["session"] for one in log} <= {session.id, None}
    with Memstore.open(world=World.real(str(repository))) as memories:
        kept = memories.store.at(SHELF, "use-bun.md")
        assert kept is not None and kept.origin == "agent"
        with memories.store.view() as connection:
            ((_, of, message),) = runs.sources(connection, kept.id)
            assert of == session.id
            assert connection.execute("SELECT count(DISTINCT session) FROM job").get == 1
            assert connection.execute("SELECT count(*) FROM session").get == 1
    line = next(line for line in transcripts(client)[0].read_text("utf-8").splitlines() if message in line)
    assert SAID in line

    client.environment |= {"MEMSTORE_EXTRACT_ENABLED": "false"}
    after = client.run(repository, "Hello.", saying(Say("Hello."))).script.requests[0]
    assert "use-bun.md" in (after.index or "")
    assert "use-bun" in after.said("system")  # told what was saved


def test_only_the_fork_s_own_tokens_are_its_cost(client: Client, repository: Path):
    look = Use("Bash", {"command": "true", "description": "look"})
    answers = (look, look, look, Say("I will use bun."), Use("Read", {"file_path": "/none"}), listed(write()))
    session, key = queued(client, repository, saying(*answers))
    done = by_hand(client, repository, "run", ANTHROPIC_API_KEY=key)
    assert done.returncode == 0, done
    assert session.script.spent()
    (run,) = ran(repository)
    assert (run["input_tokens"], run["output_tokens"]) == (20, 10)
    assert run["cost"] == 2 * PER_ANSWER / 1_000_000


def test_half_an_answer_is_refused_and_the_next_fork_is_told(client: Client, repository: Path):
    whole = listed(write()).text
    half = Blocks(({"type": "text", "text": whole[:60]},), "max_tokens")

    def model(request: Request) -> Generator[Answer, Request, None]:
        yield Say("I will use bun.")
        yield half  # type: ignore[misc]  # of the API's answers, as the server takes them
        asked = yield Say(whole[60:])  # the client asks for the rest, and hands out the last piece alone
        assert "You answered already" in asked.said("user")
        yield listed(write(), reason="Kept at last.")

    session, key = queued(client, repository, model)
    done = by_hand(client, repository, "run", ANTHROPIC_API_KEY=key)
    assert done.returncode == 0, (done, session.script.failures)
    (run,) = ran(repository)
    assert (run["outcome"], run["reason"], run["turns"]) == ("saved", "Kept at last.", 2)
    assert len(transcripts(client)) == 1


def test_a_client_that_is_not_logged_in_holds_the_turns_with_the_next_step(client: Client, repository: Path):
    session, key = queued(client, repository, saying(Say("I will use bun."), listed(write())))
    done = by_hand(client, repository, "run")
    assert done.returncode != 0
    assert "Not logged in" in done.stdout + done.stderr
    (run,) = ask(repository, "extract", "log")["runs"]
    assert run["outcome"] == "failed" and "/login" in run["reason"]
    stands = json.loads(by_hand(client, repository, "status", "--json").stdout)
    assert [job["session"] for job in stands["waiting"]] == [session.id] and stands["parked"] == []
    assert "Not logged in" in stands["held"]["reason"] and "/login" in stands["held"]["step"]
    memstore(repository, "extract", "retry")
    assert by_hand(client, repository, "run", ANTHROPIC_API_KEY=key).returncode == 0
    assert ran(repository, 2)[-1]["outcome"] == "saved"


def test_a_session_that_the_client_does_not_know_is_told(client: Client, repository: Path, tmp_path: Path):
    """Its transcript lies in another configuration of the client than the one that is in use."""
    _, key = queued(client, repository, saying(Say("I will use bun.")))
    elsewhere = {"ANTHROPIC_API_KEY": key, "CLAUDE_CONFIG_DIR": str(tmp_path / "other")}
    assert by_hand(client, repository, "run", **elsewhere).returncode != 0
    (run,) = ran(repository)
    assert run["outcome"] == "failed" and "does not know this session" in run["reason"]
    assert len(ask(repository, "extract", "status")["parked"]) == 1


def test_a_limit_of_the_api_is_waited_for(client: Client, repository: Path, api: Api):
    _, key = queued(client, repository, saying(Say("I will use bun.")))
    api.answer = lambda asked: Fail(429, "rate_limit_error", "slow down")
    by_hand(client, repository, "run", ANTHROPIC_API_KEY=key, CLAUDE_CODE_MAX_RETRIES="1")
    (run,) = ran(repository)
    assert run["outcome"] == "failed" and "slow down" in run["reason"]
    (job,) = ask(repository, "extract", "status")["waiting"]
    assert job["tries"] == 1 and job["due_at"]


def test_no_file_that_a_text_names_is_read_in(client: Client, repository: Path):
    """The client reads in what stands behind an @ in a prompt; memories and messages may hold one."""
    (repository / "secret.txt").write_text("TOPSECRET\n", encoding="utf-8")
    folder = memory_folder(client, repository)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "named.md").write_text(memory("named", "see @secret.txt and @./secret.txt", "It is."), encoding="utf-8")
    memstore(repository, "sync")
    seen: list[str] = []

    def model(request: Request) -> Generator[Answer, Request, None]:
        asked = yield Say("I will use bun.")
        seen.append(json.dumps(asked.body))
        yield listed(reason="Nothing.")

    _, key = queued(client, repository, model)
    assert by_hand(client, repository, "run", ANTHROPIC_API_KEY=key).returncode == 0
    assert re.search(r"see \\\\u0040secret.txt", seen[0]) and "TOPSECRET" not in seen[0]
