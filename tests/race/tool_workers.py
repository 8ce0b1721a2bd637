"""What the processes of a race do with the memory tool."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier

from anthropic.tools import BetaAbstractMemoryTool, ToolError

import memstore.app
import memstore.files.sync
import memstore.tool_files
from memstore.memory_tool import MemstoreMemoryTool

PRELOADED = (memstore.app, memstore.files.sync, memstore.tool_files)
"""What a first command loads, so that the fork server has it."""

PATH = "/memories/list.md"
INDEX = "/memories/MEMORY.md"


@dataclass(frozen=True)
class Place:
    """Where a race takes place: a fork server knows the environment of the first test only."""

    repository: str
    environment: Mapping[str, str]

    def tool(self, number: int) -> MemstoreMemoryTool:
        os.environ.update(self.environment)
        return MemstoreMemoryTool(self.repository, session=f"s{number}")


def call(tool: BetaAbstractMemoryTool, command: str, **fields: object) -> str:
    return str(tool.call({"command": command, **fields}))


def insert(barrier: Barrier, number: int, place: Place, path: str, rounds: int) -> list[str]:
    """Lines at the top of one file; the answer says which of them were acknowledged."""
    with place.tool(number) as tool:
        call(tool, "view", path="/memories")
        barrier.wait(60)
        lines = [f"line {number}-{n}" for n in range(rounds)]
        for line in lines:
            call(tool, "insert", path=path, insert_line=0, insert_text=line)
        return lines


def replace(barrier: Barrier, number: int, place: Place, rounds: int) -> None:
    """Counts on, in a line of its own of a file that all write."""
    with place.tool(number) as tool:
        call(tool, "view", path="/memories")
        barrier.wait(60)
        for n in range(rounds):
            call(tool, "str_replace", path=PATH, old_str=f"slot {number}: {n}.", new_str=f"slot {number}: {n + 1}.")


def count(barrier: Barrier, number: int, place: Place, rounds: int) -> int:
    """Counts on, in the one line that all write; the answer says how often somebody else was faster."""
    refused = 0
    with place.tool(number) as tool:
        call(tool, "view", path="/memories")
        barrier.wait(60)
        for _ in range(rounds):
            while True:
                found = re.search(r"count: (\d+)\.", call(tool, "view", path=PATH))
                assert found is not None
                value = int(found[1])
                try:
                    call(tool, "str_replace", path=PATH, old_str=f"count: {value}.", new_str=f"count: {value + 1}.")
                    break
                except ToolError as error:
                    assert "did not appear verbatim" in str(error.content)
                    refused += 1
    return refused


def create(barrier: Barrier, number: int, place: Place, files: int) -> list[int]:
    """Files that everybody wants to create; the answer says which of them were this one's."""
    made = []
    with place.tool(number) as tool:
        call(tool, "view", path="/memories")
        barrier.wait(60)
        for n in range(files):
            try:
                call(tool, "create", path=f"/memories/n/{n}.md", file_text=f"by {number}")
                made.append(n)
            except ToolError as error:
                assert str(error.content) == f"File /memories/n/{n}.md already exists"
    return made


def shuffle(barrier: Barrier, number: int, place: Place, rounds: int) -> int:
    """A few files that all move, delete and make anew: commands may be refused, but in the documented words."""
    done = 0
    with place.tool(number) as tool:
        call(tool, "view", path="/memories")
        barrier.wait(60)
        for n in range(rounds):
            old, new = f"/memories/{n % 3}.md", f"/memories/{(n + number) % 3}.md"
            for command, fields in (
                ("create", {"path": old, "file_text": f"{number}-{n}"}),
                ("rename", {"old_path": old, "new_path": new}),
                ("insert", {"path": new, "insert_line": 0, "insert_text": "x"}),
                ("delete", {"path": new}),
            ):
                try:
                    call(tool, command, **fields)
                    done += 1
                except ToolError as error:
                    assert re.search("does not exist|already exists", str(error.content)), error.content
    return done
