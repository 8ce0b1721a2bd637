"""Eight sessions, each with a server of its own, on one memory: what was acknowledged is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.mcp.served import Told, environment, repository, run, serving, told

CLIENTS, ROUNDS = 8, 50
APART = "\n" + "still\n" * 3


class Session:
    """One client that counts in its own line, and adds lines, with what it knows of the document."""

    def __init__(self, client: Client, number: int) -> None:
        self.client = client
        self.number = number
        self.count = 0
        self.added: list[str] = []
        self.refusals = 0

    async def work(self) -> None:
        version, text = await self._read()
        for at in range(ROUNDS):
            while True:
                if at % 5:
                    done = await self._count(version, text)
                else:
                    done = await self._add(version, text, f"{self.number} wrote {at}.")
                if not done.failed:
                    break
                self.refusals += 1
                assert done.facts["error"] == "StaleVersion", done
                version, text = done.facts["current_version"], done.text
            if at % 5:
                self.count += 1
            else:
                self.added.append(f"{self.number} wrote {at}.")
            version, text = await self._read()

    async def _count(self, version: str, text: str) -> Told:
        old = f"client {self.number}: {self.count}."
        assert old in text
        return await self._call(
            "memory_edit", if_version=version, old_text=old, new_text=f"client {self.number}: {self.count + 1}."
        )

    async def _add(self, version: str, text: str, line: str) -> Told:
        return await self._call("memory_write", if_version=version, content=text + line + "\n")

    async def _read(self) -> tuple[str, str]:
        found = await self._call("memory_read")
        return found.facts["version"], found.text

    async def _call(self, tool: str, **given: Any) -> Told:
        return told(await self.client.call_tool(tool, {"path": "shared.md", **given}))


def test_eight_clients_with_eight_servers_lose_nothing_that_was_acknowledged(tmp_path: Path):
    place, home = repository(tmp_path / "repo"), tmp_path / "own"
    with serving(place, home) as served:
        body = APART.join(f"client {number}: 0." for number in range(CLIENTS)) + APART
        served.good("memory_write", path="shared.md", content=f"---\nname: shared\n---\n{body}", if_version="new")

    sessions: list[Session] = []

    async def session(number: int) -> None:
        variables = {"CLAUDE_CODE_SESSION_ID": f"session-{number}"}
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "memstore", "mcp"], cwd=str(place), env=environment(home, **variables)
        )
        async with Client(parameters) as client:
            sessions.append(Session(client, number))
            await sessions[-1].work()

    async def crowd() -> None:
        with anyio.fail_after(300):
            async with anyio.create_task_group() as tasks:
                for number in range(CLIENTS):
                    tasks.start_soon(session, number)

    anyio.run(crowd)
    text = json.loads(run(place, home, "show", "shared", "--json"))["content"]
    lines = text.split("\n")
    for one in sessions:
        assert (one.count, len(one.added)) == (ROUNDS - ROUNDS // 5, ROUNDS // 5)
        assert lines.count(f"client {one.number}: {one.count}.") == 1
        assert all(lines.count(line) == 1 for line in one.added)
    assert sum(one.refusals for one in sessions) > 0  # they did meet
    assert json.loads(run(place, home, "conflicts", "--json"))["conflicts"] == []
    operations = json.loads(run(place, home, "log", "--json"))["operations"]
    assert operations[0]["seq"] == 1 + CLIENTS * ROUNDS
    folder = Path(json.loads(run(place, home, "where", "--json"))["folder"])
    assert (folder / "shared.md").read_text() == text
