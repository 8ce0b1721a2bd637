"""The server as a process: its streams, its end, its place, its database."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.mcp.served import SECONDS, Served, environment, repository, run, serving, until

INITIALIZE = {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip
PRINTING = """
import os, sys, warnings
from memstore.mcp import tools
whole = tools.call
def call(*given):
    print("a banner")
    warnings.warn("a warning")
    os.write(1, b"past Python")
    sys.stdout.write("half a line")
    return whole(*given)
tools.call = call
sys.argv = ["memstore", "mcp"]
from memstore.cli.main import main
main()
"""


class Raw:
    """A server whose lines are read and written as they are."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next line, which must be a message of the protocol."""
        assert self.process.stdout is not None
        message = json.loads(self.process.stdout.readline().decode("utf-8"))
        assert isinstance(message, dict) and message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}).encode())
        while True:
            found = self.receive()
            if found.get("id") == self._number:
                return found

    def begin(self) -> None:
        assert "result" in self.ask("initialize", INITIALIZE)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        found = self.ask("tools/call", {"name": tool, "arguments": given})["result"]
        assert isinstance(found, dict)
        return found


@contextmanager
def raw(place: Path, home: Path, *command: str) -> Iterator[Raw]:
    home.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, *(command or ("-m", "memstore", "mcp"))], cwd=place, env=environment(home),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            yield Raw(process)
        finally:
            process.kill()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The home of the servers of a test."""
    return tmp_path / "own"


def database(home: Path) -> Path:
    (found,) = (home / "memstore" / "stores").glob("*/store.db")
    return found


def note(served: Served, path: str, words: str) -> str:
    return str(served.good("memory_write", path=path, content=words, if_version="new").facts["version"])


def test_h36_nothing_but_the_protocol_is_on_standard_output(place: Path, own: Path):
    (own / ".claude").mkdir(parents=True)
    (own / ".claude" / "settings.json").write_text("{ no json")
    with raw(place, own, "-c", PRINTING) as server:
        server.begin()
        for number in range(3):
            assert server.call("memory_write", path=f"n{number}.md", content="x", if_version="new")["isError"] is False
        folder = Path(json.loads(run(place, own, "where", "--json"))["folder"])
        (folder / "bad.md").write_bytes(b"\xff\xfe---\nname: [\n---\n\x00")
        assert server.call("memory_list", store="project")["isError"] is False
        assert server.process.stdin is not None and server.process.stdout is not None
        server.process.stdin.close()
        assert server.process.stdout.read() == b""
        assert server.process.wait(SECONDS) == 0
        assert server.process.stderr is not None
        beside = server.process.stderr.read().decode()
    for stray in ("a banner", "a warning", "past Python", "half a line"):
        assert stray in beside


def test_a_line_with_half_a_character_is_answered(place: Path, own: Path):
    with raw(place, own) as server:
        server.begin()
        for number, text in enumerate((rb"\ud800", rb"x\uDFFFy", b"\xff", rb"\ud83d\ude00\ud83d"), 50):
            server.send(
                b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_write","arguments":'
                b'{"path":"half.md","if_version":"new","content":"%s"}}}' % (number, text)
            )
            found = server.receive()
            assert (found["id"], found["result"]["isError"]) == (number, True)
            assert "not valid text" in found["result"]["content"][0]["text"]
        server.send(
            b'{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{"name":"memory_write","arguments":'
            rb'{"path":"whole.md","if_version":"new","content":"\ud83d\ude00 \\ud800 \u00e9"}}}'
        )
        assert server.receive()["result"]["isError"] is False
        assert server.call("memory_read", path="whole.md")["content"][1]["text"].endswith("\n😀 \\ud800 é\n")
        for garbage in (b"garbage", b"[]", b"{}", b"null", b'{"jsonrpc":"2.0","id":5}', b""):
            server.send(garbage)
        assert server.ask("ping", {})["result"] == {}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_after_the_call_that_has_begun(place: Path, own: Path, number: signal.Signals):
    with raw(place, own) as server:
        server.begin()
        server.call("memory_write", path="a.md", content="x", if_version="new")
        server.process.send_signal(number)
        assert server.process.wait(SECONDS) == 0
        assert server.process.stderr is not None and server.process.stderr.read() == b""


def test_calls_that_are_cancelled_are_done_wholly_or_not_at_all(place: Path, own: Path):
    with raw(place, own) as server:
        server.begin()
        server.call("memory_write", path="base.md", content="x", if_version="new")
        for number in range(100, 140):
            call = {"name": "memory_write", "arguments": {"path": f"c{number}.md", "content": "c", "if_version": "new"}}
            server.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}).encode())
            cancel = {"requestId": number, "reason": "changed my mind"}
            if number % 2:
                message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}
                server.send(json.dumps(message).encode())
        kept = {server.receive()["id"] for _ in range(20)}
        assert kept == set(range(100, 140, 2))
        listed = server.call("memory_list", store="project")["content"][1]["text"]
        paths = {json.loads(line)["path"] for line in listed.split("\n")}
        assert {f"c{number}.md" for number in kept} <= paths
    folder = Path(json.loads(run(place, own, "where", "--json"))["folder"])
    run(place, own, "sync")
    assert {path.name for path in folder.glob("*.md")} == paths | {"MEMORY.md"}


def test_a_call_that_waits_for_other_processes_holds_nothing_else_up(place: Path, own: Path):
    with raw(place, own) as server:
        server.begin()
        server.call("memory_write", path="a.md", content="x", if_version="new")
        other = apsw.Connection(str(database(own)))
        other.execute("BEGIN IMMEDIATE")
        call = {"name": "memory_write", "arguments": {"path": "b.md", "content": "x", "if_version": "new"}}
        server.send(json.dumps({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": call}).encode())
        server.send(b'{"jsonrpc":"2.0","id":71,"method":"ping"}')
        assert server.receive()["id"] == 71
        late = server.receive()
        assert late["id"] == 70 and json.loads(late["result"]["content"][0]["text"])["error"] == "StoreBusy"
        other.execute("ROLLBACK")
        other.close()
        assert server.call("memory_write", **call["arguments"])["isError"] is False  # type: ignore[arg-type] # a dict


def test_h20_an_idle_server_pins_nothing_of_the_log(place: Path, own: Path):
    with serving(place, own) as served:
        note(served, "first.md", "zebra")
        for _ in range(3):
            served.good("memory_search", query="zebra")
            served.good("memory_history")
            served.portal.call(served.client.list_resources)
        for number in range(5):
            run(place, own, "write", f"note-{number}", "words " * 400)
        path = str(database(own))
        other = apsw.Connection(path)
        try:
            assert os.path.getsize(path + "-wal") > 0
            busy, left, _ = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 1, 1)
            assert (busy, left, os.path.getsize(path + "-wal")) == (0, 0, 0)
            # An open view does pin it: the look above can tell.
            with apsw.Connection(path) as pinning:
                pinning.execute("SELECT count(*) FROM memory").fetchall()
                run(place, own, "write", "one-more", "words")
                other.set_busy_timeout(0)
                assert (other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (0,))[0] == 1
        finally:
            other.close()
        assert served.good("memory_read", path="one-more").text.endswith("words\n")


def test_h20_a_database_that_was_replaced_is_opened_anew(place: Path, own: Path, tmp_path: Path):
    with serving(place, own) as served:
        note(served, "kept.md", "in both")
        path, spare = database(own), tmp_path / "spare.db"
        source = apsw.Connection(str(path))
        source.execute("VACUUM INTO ?", (str(spare),))
        source.close()
        version = note(served, "later.md", "only in the first")
        for name in ("store.db-wal", "store.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        path.unlink()
        shutil.move(spare, path)
        assert served.good("memory_read", path="kept.md").text.endswith("in both\n")
        # The file of the later one is still shown: it is taken in again, as any file is.
        found = served.good("memory_read", path="later.md")
        assert found.text.endswith("only in the first\n") and found.facts["version"] != version
        note(served, "new.md", "after it")
    assert "after it" in run(place, own, "show", "new")


def test_a_server_goes_on_with_a_database_that_was_restored_or_rebuilt(place: Path, own: Path):
    with serving(place, own) as served:
        note(served, "kept.md", "in the backup")
        run(place, own, "backup")
        note(served, "later.md", "after it")
        run(place, own, "restore-backup", "latest", "--yes")
        assert served.good("memory_read", path="kept.md").text.endswith("in the backup\n")
        path = database(own)
        for name in ("store.db-wal", "store.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        path.unlink()
        path.write_bytes(b"not a database " * 300)
        served.refused("memory_read", path="kept.md")
        run(place, own, "rebuild", "--yes")
        assert served.good("memory_read", path="later.md").text.endswith("after it\n")
        note(served, "new.md", "after the rebuild")
    assert "after the rebuild" in run(place, own, "show", "new")


def test_a_damaged_or_missing_database_is_told_without_its_place_and_left_alone(place: Path, own: Path):
    with serving(place, own) as served:
        note(served, "one.md", "x")
        path = database(own)
        whole = path.read_bytes()
        for name in ("store.db-wal", "store.db-shm"):
            (path.parent / name).unlink(missing_ok=True)
        path.unlink()
        path.write_bytes(b"not a database " * 300)
        for tool, given in (("memory_search", {"query": "x"}), ("memory_read", {"path": "one.md"})):
            found = served.refused(tool, given)
            assert found.facts["error"] == "StoreDamaged" and "store.db" not in json.dumps(found.facts)
        assert path.read_bytes() == b"not a database " * 300
        path.unlink()
        served.refused("memory_search", query="x")
        path.write_bytes(whole)


def test_memory_that_is_switched_off_is_off_here_too(place: Path, own: Path):
    settings = own / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    with serving(place, own) as served:
        note(served, "one.md", "x")
        settings.write_text('{"autoMemoryEnabled": false}')
        until(lambda: served.call("memory_read", path="one.md").failed)
        found = served.refused("memory_write", path="two.md", content="x", if_version="new")
        assert found.facts["error"] == "PlaceRefused" and "switched off" in found.facts["message"]
        with pytest.raises(Exception, match="switched off"):
            served.portal.call(served.client.list_resources)
        settings.unlink()
        until(lambda: not served.call("memory_read", path="one.md").failed)
    for variable in ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_DISABLE_ORG_MEMORY"):
        with serving(place, own, variables={variable: "1"}) as served:
            for tool, given in (("memory_list", {}), ("memory_search", {"query": "x"})):
                assert variable in served.refused(tool, given).facts["message"]


def test_reading_makes_no_store(place: Path, own: Path):
    with serving(place, own) as served:
        assert served.good("memory_list").facts["stores"][0]["id"] == "project"
        assert served.good("memory_list", store="project").facts["documents"] == 0
        assert served.good("memory_search", query="x").facts["found"] == 0
        assert served.refused("memory_read", path="x.md").facts["error"] == "NotFound"
        served.portal.call(served.client.list_resources)
        assert not (own / "memstore").exists()


def test_h01_worktrees_share_their_memory_and_the_client_names_the_directory(tmp_path: Path, own: Path):
    place, worktree, other = repository(tmp_path / "repo"), tmp_path / "wt", repository(tmp_path / "other")
    (place / ".git" / "worktrees" / "wt").mkdir(parents=True)
    for name, text in (("commondir", "../.."), ("gitdir", f"{worktree}/.git"), ("HEAD", "ref: refs/heads/side")):
        (place / ".git" / "worktrees" / "wt" / name).write_text(text + "\n")
    (worktree / "sub").mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {place}/.git/worktrees/wt\n")
    with serving(worktree / "sub", own) as served:
        note(served, "pagination.md", "API pages are 1-based")
        (done,) = served.good("memory_history").lines
        assert (done["worktree"], done["branch"]) == ("wt", "side")
        (place / ".git" / "worktrees" / "wt" / "HEAD").write_text("ref: refs/heads/next\n")
        numbers = iter(range(1_000))

        def branch() -> Any:
            note(served, f"more-{next(numbers)}.md", "x")
            return served.good("memory_history", limit=1).lines[0]["branch"]

        until(lambda: branch() == "next")
    with serving(other, own, variables={"CLAUDE_PROJECT_DIR": str(place)}) as served:
        assert served.good("memory_search", query="1-based").lines[0]["path"] == "pagination.md"
    with serving(other, own, arguments=("-C", str(other)), variables={"CLAUDE_PROJECT_DIR": str(place)}) as served:
        assert served.good("memory_search", query="1-based").lines == []


def test_it_is_small(place: Path, own: Path):
    with raw(place, own) as server:
        server.begin()
        server.call("memory_write", path="a.md", content="x", if_version="new")
        server.call("memory_search", query="x")
        status = Path(f"/proc/{server.process.pid}/status")
        if status.exists():
            (peak,) = [line for line in status.read_text().split("\n") if line.startswith("VmHWM:")]
            assert int(peak.split()[1]) < 120 * 1024
