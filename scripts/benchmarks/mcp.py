"""What the MCP server costs its client: a real server process, asked line by line by a client that does little else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from memstore.app import Memstore
from memstore.world import World
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.folders import SETTLED, Bare, body_of, put_files
from scripts.benchmarks.measure import Row, interleaved, middle, percentile, ratio, value, workplace, world_in
from scripts.benchmarks.searching import queries
from scripts.benchmarks.starting import environment_of

_WRITE, _SEARCH_MS, _READY_MS, _MB = 3.0, 3.0, 1_500, 120
_FILES = 200
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    """A server process, and the line of its client."""

    def __init__(self, world: World) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memstore", "mcp"], cwd=world.cwd, env=environment_of(world.environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._number = 0
        self.ask("initialize", _HELLO)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request and its answer."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == self._number and "result" in answer, answer
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    def call(self, tool: str, **given: object) -> dict[str, Any]:
        """What a tool answers; no error."""
        result = self.ask("tools/call", {"name": tool, "arguments": given})
        assert not result["isError"], result
        facts = json.loads(result["content"][0]["text"])
        assert isinstance(facts, dict)
        return facts

    def peak(self) -> float:
        """The most memory that it had, in MB."""
        with open(f"/proc/{self._process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024

    def close(self) -> None:
        """The client leaves."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@contextmanager
def _served(world: World) -> Iterator[Server]:
    server = Server(world)
    try:
        yield server
    finally:
        server.close()


def servers(quick: bool) -> list[Row]:
    """All rows about the server."""
    corpus = Corpus()
    return [
        *_ready(5 if quick else 20),
        *_written(corpus, 30 if quick else 150),
        *_searched(corpus, 1_000 if quick else 10_000, 20 if quick else 100),
    ]


def _ready(rounds: int) -> list[Row]:
    with workplace() as directory:
        world = world_in(directory)

        def start(_: int) -> None:
            Server(world).close()

        def ready() -> float:
            begin = time.perf_counter_ns()
            server = Server(world)
            taken = (time.perf_counter_ns() - begin) / 1e6
            server.close()
            return taken

        start(0)
        taken = [ready() for _ in range(rounds)]
    what = f"`memstore mcp` until it answers, p50 (slowest of {rounds}: {max(taken):,.0f} ms)"
    return [Row("mcp", what, middle(taken), "ms", limit=value("<", _READY_MS))]


def _written(corpus: Corpus, rounds: int) -> list[Row]:
    with workplace() as directory:
        world = world_in(directory)
        with Memstore.open(world=world) as app:
            source = os.path.join(directory, "memories")
            put_files(source, corpus, _FILES - 1)
            app.import_directory(source)
            app.append("the last one", "With the first real write all get their lines.")
            world.pause(SETTLED)
            app.sync()
            known = [memory.path for memory in app.memories()[:4]]
            tokens = {memory.path: memory.token for memory in app.memories()}
            index = os.path.getsize(os.path.join(app.place.placement.directory, "MEMORY.md"))
        bodies = cycle([body_of(corpus, at) for at in range(rounds + 10)])
        bare = Bare(directory, corpus, _FILES, index)
        with _served(world) as server:

            def write(number: int) -> None:
                path = known[number % len(known)]
                done = server.call(
                    "memory_write", path=path, content=next(bodies), if_version=tokens[path],
                    description=f"what holds since round {number}",
                )  # fmt: skip
                tokens[path] = done["version"]

            ours, baseline = interleaved(rounds, write, lambda number: bare.write(number, 2))
        bare.close()
    return [
        Row(
            "mcp", f"memory_write, {_FILES} files, topic and index", middle(ours), "ms", middle(baseline),
            "a FULL commit + 2 fsynced replaces", ratio("<=", _WRITE),
        )
    ]  # fmt: skip


def _searched(corpus: Corpus, memories: int, each: int) -> list[Row]:
    with workplace() as directory:
        world = world_in(directory)
        source = os.path.join(directory, "memories")
        put_files(source, corpus, memories)
        with Memstore.open(world=world) as app:
            app.import_directory(source)
            world.pause(SETTLED)
            app.sync()
        with _served(world) as server, Memstore.open(world=world) as app:
            asked = [text for texts in zip(*queries(corpus, each).values(), strict=True) for text in texts]
            taken, within, empty = interleaved(
                len(asked),
                lambda number: server.call("memory_search", query=asked[number]),
                lambda number: app.search(asked[number], limit=11),
                lambda _: server.ask("ping", {}),
            )
            peak = server.peak()
    what = f"memory_search, {memories:,} memories, p50 (p99 {percentile(taken, 0.99):.1f}; a ping {middle(empty):.2f})"
    return [
        Row("mcp", what, middle(taken), "ms", middle(within), "in process", value("<=", _SEARCH_MS)),
        Row("mcp", f"memory of the server then, at its peak, {memories:,} memories", peak, "MB", limit=value("<", _MB)),
    ]
