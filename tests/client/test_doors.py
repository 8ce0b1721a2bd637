"""The plugin as the real client loads it, and sessions beside a store that cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from tests.client.api import Answer, Request, Say, Use, saying
from tests.client.collision import memory
from tests.client.places import makers, memory_folder, memstore, settle, with_plugin
from tests.client.running import Client

WRITE = "mcp__plugin_memstore_memstore__memory_write"
TEXT = memory("staging", "where staging listens", "Staging listens on 7443.")

LOCK = """\
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def client(bare: Client, repository: Path, tmp_path: Path) -> Client:
    return with_plugin(bare, tmp_path / "plugin", repository)


@pytest.fixture
def folder(client: Client, repository: Path) -> Path:
    """A memory folder that a store knows already."""
    folder = memory_folder(client, repository)
    folder.mkdir(parents=True)
    (folder / "first.md").write_text(memory("first", "was there before", "The first."), encoding="utf-8")
    memstore(repository, "sync")
    return folder


def database(client: Client) -> Path:
    (found,) = (client.home / "memstore" / "stores").glob("*/store.db")
    return found


def written(client: Client) -> dict[str, bytes]:
    """The files of the store in which something would stand if it had been written to."""
    return {
        path.name: path.read_bytes() for path in database(client).parent.glob("store.db*") if path.suffix != ".db-shm"
    }


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process holds the store's write lock."""
    words = [sys.executable, "-c", LOCK, os.fspath(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin and holder.stdout
        assert holder.stdout.readline() == b"locked\n"
        yield
        holder.stdin.close()


def test_the_client_loads_hooks_skills_and_server(client: Client, repository: Path, folder: Path):
    session = client.run(repository, "Hello.", saying(Say("Hello.")))
    assert session.hooked >= {"SessionStart:startup", "UserPromptSubmit", "Stop"}
    assert [server["status"] for server in session.opening["mcp_servers"]] == ["connected"]
    skills = {f"memstore:{path.name}" for path in (client.plugin or Path()).glob("skills/*")}
    assert skills and skills <= set(session.opening["skills"])
    offered = {tool["name"] for tool in session.script.requests[0].body["tools"]}
    assert WRITE in offered, "the client hides the server's tools"


def test_what_the_model_writes_through_the_server_is_in_the_files_and_in_the_next_session(
    client: Client, repository: Path, folder: Path
):
    new = {"path": "staging.md", "content": TEXT, "if_version": "new"}
    session = client.run(repository, "Note it.", saying(Use(WRITE, new), Say("Noted.")))
    assert "7443" in (folder / "staging.md").read_text(encoding="utf-8")
    assert makers(repository)["staging.md"]["session"] == session.id
    after = client.run(repository, "What is there?", saying(Say("I see.")))
    assert "(staging.md)" in (after.script.requests[0].index or "")


def test_work_on_code_starts_no_process(client: Client, repository: Path, folder: Path):
    (repository / "code.py").write_text("one = 1\n", encoding="utf-8")
    code = {"file_path": str(repository / "code.py")}
    edits = saying(
        Use("Read", code),
        Use("Edit", code | {"old_string": "1", "new_string": "2"}),
        Use("Write", {"file_path": str(repository / "notes.md"), "content": "x\n"}),
        Say("Done."),
    )
    session = client.run(repository, "Change it.", edits)
    assert (repository / "code.py").read_text(encoding="utf-8") == "one = 2\n"
    assert not {name for name in session.hooked if "ToolUse" in name}


SPOIL = """\
import json, os, sys
path = json.load(sys.stdin)["tool_input"]["file_path"]
if os.path.isfile(path):
    os.unlink(path)
os.mkdir(path)
"""
"""A hook of somebody else's: when the client has looked at its target, that becomes a directory."""


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_a_call_that_fails_is_given_up_at_once(
    client: Client, repository: Path, folder: Path, tmp_path: Path, tool: str
):
    (tmp_path / "spoil.py").write_text(SPOIL, encoding="utf-8")
    spoils = {"type": "command", "command": sys.executable, "args": [str(tmp_path / "spoil.py")]}
    hooks = {"PreToolUse": [{"matcher": "Write|Edit", "hooks": [spoils]}]}
    (client.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    (repository / "code.py").write_text("The first.\n", encoding="utf-8")

    def fails(path: Path) -> Generator[Answer, Request, None]:
        given = {"file_path": str(path)}
        yield Use("Read", given)
        change = {"old_string": "The first.", "new_string": "The 1st."} if tool == "Edit" else {"content": TEXT}
        request = yield Use(tool, given | change)
        assert "EISDIR" in request.results[0], request.results

    def model(request: Request) -> Generator[Answer, Request, None]:
        yield from fails(folder / "first.md")
        yield Say("It cannot be done.")

    def coding(request: Request) -> Generator[Answer, Request, None]:
        yield from fails(repository / "code.py")
        yield Say("It cannot be done.")

    session = client.run(repository, "Change it.", model)
    assert {f"PreToolUse:{tool}", f"PostToolUseFailure:{tool}"} <= session.hooked
    with closing(apsw.Connection(str(database(client)), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        rows = list(connection.execute("SELECT state, session FROM inbox WHERE kind = ?", (tool.lower(),)))
    assert rows == [("dead", session.id)]
    session = client.run(repository, "Change the code.", coding)
    assert f"PreToolUse:{tool}" in session.hooked, "the other's hook was not there"
    assert f"PostToolUseFailure:{tool}" not in session.hooked


def test_where_memory_is_switched_off_the_plugin_keeps_still(client: Client, repository: Path, folder: Path):
    (folder / "second.md").write_text(TEXT, encoding="utf-8")
    before = written(client)
    client.environment["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"
    session = client.run(repository, "Hello.", saying(Say("Hello.")))
    assert not [hook for hook in session.hooks if hook["stdout"]]
    assert written(client) == before


def test_an_installed_plugin_works_without_options_and_is_gone_after_uninstall(
    bare: Client, repository: Path, folder: Path
):
    bare.plugin = None
    memstore(repository, "install", "claude", "--yes")
    note = Use("Write", {"file_path": str(folder / "staging.md"), "content": TEXT})
    session = bare.run(repository, "Note it.", saying(note, Say("Noted.")))
    assert {"SessionStart:startup", "PreToolUse:Write", "PostToolUse:Write"} <= session.hooked
    settle(repository)
    assert makers(repository)["staging.md"]["session"] == session.id
    memstore(repository, "uninstall", "claude", "--yes")
    session = bare.run(repository, "Hello.", saying(Say("Hello.")))
    assert session.hooked == set()
    assert session.opening["mcp_servers"] == []


def test_a_store_that_another_keeps_locked_stops_no_session_and_learns_all_later(
    client: Client, repository: Path, folder: Path
):
    path = str(folder / "staging.md")

    def model(request: Request) -> Generator[Answer, Request, None]:
        index = f"{request.index or ''}- [Staging](staging.md) — where\n"
        yield Use("Write", {"file_path": path, "content": TEXT})
        yield Use("Edit", {"file_path": path, "old_string": "7443", "new_string": "7444"})
        yield Use("Write", {"file_path": str(folder / "MEMORY.md"), "content": index})
        yield Say("Noted.")

    with locked(database(client)):
        session = client.run(repository, "Note it.", model)
        assert one_line_each(session.hooks)
    settle(repository)
    assert "7444" in memstore(repository, "show", "staging")
    made = makers(repository)["staging.md"]
    assert (made["session"], made["worktree"]) == (session.id, str(repository))
    lines = (folder / "MEMORY.md").read_text(encoding="utf-8").split("\n")
    assert [name for name in ("staging.md", "first.md") if sum(f"]({name})" in line for line in lines) != 1] == []


@pytest.mark.parametrize("harm", ["cut", "garbage", "gone"])
def test_a_store_that_cannot_be_read_stops_no_session(client: Client, repository: Path, folder: Path, harm: str):
    path = database(client)
    whole = path.read_bytes()
    for name in ("-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(whole[: len(whole) // 3] if harm == "cut" else b"no database " * 1000)

    def model(request: Request) -> Generator[Answer, Request, None]:
        request = yield Use("Write", {"file_path": str(folder / "staging.md"), "content": TEXT})
        assert "created successfully" in request.results[0]
        request = yield Use("Read", {"file_path": str(folder / "staging.md")})
        assert "7443" in request.results[0]
        yield Say("Noted.")

    session = client.run(repository, "Note it.", model)
    assert one_line_each(session.hooks)
    assert "7443" in (folder / "staging.md").read_text(encoding="utf-8")


def one_line_each(hooks: list[dict[str, object]]) -> bool:
    """Whether the person got at most one line from each event."""
    told = [json.loads(str(hook["stdout"])).get("systemMessage", "") for hook in hooks if hook["stdout"]]
    return all("\n" not in message for message in told)
