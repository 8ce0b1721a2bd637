"""A real server process behind the SDK's real client, to be used from plain test functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).parents[2]
SECONDS = 60


@dataclass(frozen=True)
class Told:
    """What a tool answered."""

    failed: bool
    facts: dict[str, Any]
    texts: list[str]

    @property
    def text(self) -> str:
        """The text after the facts."""
        (text,) = self.texts
        return text

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The objects of a list."""
        return [json.loads(line) for line in self.text.split("\n") if line]


def told(result: types.CallToolResult) -> Told:
    """As plain values."""
    blocks = [block.text for block in result.content if isinstance(block, types.TextContent)]
    assert len(blocks) == len(result.content)
    return Told(bool(result.is_error), json.loads(blocks[0]), blocks[1:])


class Served:
    """The client of one server."""

    def __init__(self, portal: BlockingPortal, client: Client, place: Path, home: Path) -> None:
        self.portal = portal
        self.client = client
        self.place = place
        self.home = home

    def call(self, tool: str, arguments: dict[str, Any] | None = None, /, **given: Any) -> Told:
        """What a tool answers."""
        return told(self.portal.call(self.client.call_tool, tool, {**(arguments or {}), **given}))

    def good(self, tool: str, **given: Any) -> Told:
        """What it answers where it must be no error."""
        found = self.call(tool, **given)
        assert not found.failed, found
        return found

    def refused(self, tool: str, arguments: dict[str, Any] | None = None, /, **given: Any) -> Told:
        """What it answers where it must be an error. No error names a place of this machine."""
        found = self.call(tool, arguments, **given)
        assert found.failed, found
        assert str(self.home.parent) not in json.dumps(found.facts), found
        return found

    def version(self, path: str) -> str:
        """The present version of a document."""
        return str(self.good("memory_read", path=path).facts["version"])

    @property
    def folder(self) -> Path:
        """The memory folder."""
        found = run(self.place, self.home, "where", "--json")
        return Path(json.loads(found)["folder"])


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a client hands to its server."""
    return {
        "HOME": str(home),
        "MEMSTORE_HOME": str(home / "memstore"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        **more,
    }


def run(place: Path, home: Path, *arguments: str, stdin: str = "") -> str:
    """The output of a command that another process runs."""
    done = subprocess.run(
        [sys.executable, "-m", "memstore", *arguments], cwd=place, env=environment(home), input=stdin,
        capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    return done.stdout


def repository(place: Path) -> Path:
    """A directory that looks like a repository."""
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return place


@contextmanager
def serving(
    place: Path,
    home: Path,
    *,
    mode: str = "auto",
    arguments: tuple[str, ...] = (),
    variables: dict[str, str] | None = None,
    heard: Callable[[Any], None] | None = None,
) -> Iterator[Served]:
    """A server for `place`, and its client. What the server says beside the protocol must be nothing."""
    home.mkdir(exist_ok=True)
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memstore", *arguments, "mcp"],
        cwd=str(place),
        env=environment(home, **(variables or {})),
    )

    async def hear(message: Any) -> None:
        if heard is not None:
            heard(message)

    beside = home / f"stderr-{os.urandom(4).hex()}"
    with open(beside, "w+") as log, start_blocking_portal() as portal:
        client = Client(
            stdio_client(parameters, errlog=log), mode=mode, message_handler=hear, read_timeout_seconds=SECONDS
        )
        with portal.wrap_async_context_manager(client):
            yield Served(portal, client, place, home)
    assert beside.read_text() == ""


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    """Waits until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
