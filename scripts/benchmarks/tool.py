"""The memory tool of the Messages API, beside the SDK's own helper, which keeps the same in bare files.

Eight programs insert lines into one memory: what is kept of what was acknowledged. And what one edit takes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier

from anthropic.tools import BetaAbstractMemoryTool, BetaLocalFilesystemMemoryTool

from memstore.app import Memstore
from memstore.memory_tool import MemstoreMemoryTool
from scripts.benchmarks.measure import Row, interleaved, percentile, ratio, value, workplace, world_in

_PROCESSES = 8
_PATH = "/memories/list.md"
_TEXT = "".join(f"line {number} of a memory that says something in some words\n" for number in range(20))


@dataclass(frozen=True, slots=True)
class _Kept:
    kept: int
    acknowledged: int
    errors: int


def tools(quick: bool) -> list[Row]:
    """What is kept, ours and theirs, and the time that one edit takes."""
    each = 5 if quick else 40
    ours, theirs = _crowd(each, ours=True), _crowd(each, ours=False)
    name = f"{_PROCESSES} programs insert into one memory"
    return [
        Row("tool", f"{name}: kept", ours.kept, "", ours.acknowledged, "acknowledged", ratio(">=", 1.0)),
        Row("tool", f"{name}: errors", ours.errors, "", limit=value("<=", 0)),
        Row("tool", "the same with the SDK's own helper: kept", theirs.kept, "", theirs.acknowledged, "acknowledged"),
        _one_edit(20 if quick else 200),
    ]


def _one_edit(rounds: int) -> Row:
    with workplace() as directory:
        ours, theirs = _tool(directory, ours=True), _tool(directory, ours=False)
        for tool in (ours, theirs):
            tool.call({"command": "create", "path": _PATH, "file_text": f"count -4.\n{_TEXT}"})

        def edit(tool: BetaAbstractMemoryTool, number: int) -> None:
            old, new = f"count {number - 1}.", f"count {number}."
            tool.call({"command": "str_replace", "path": _PATH, "old_str": old, "new_str": new})

        taken = interleaved(rounds, lambda number: edit(ours, number), lambda number: edit(theirs, number))
        assert isinstance(ours, MemstoreMemoryTool)
        ours.close()
    times = [percentile(some, 0.5) for some in taken]
    return Row("tool", "one edit, versions, index and files, p50", times[0], "ms", times[1], "the SDK's own helper")


def _tool(directory: str, *, ours: bool) -> BetaAbstractMemoryTool:
    if ours:
        return MemstoreMemoryTool(opened=lambda: Memstore.open(world=world_in(directory), origin="agent"))
    return BetaLocalFilesystemMemoryTool(os.path.join(directory, "theirs"))


def _crowd(each: int, *, ours: bool) -> _Kept:
    with workplace() as directory:
        first = _tool(directory, ours=ours)
        first.call({"command": "create", "path": _PATH, "file_text": _TEXT})
        spawn = get_context("spawn")
        barrier, results = spawn.Barrier(_PROCESSES), spawn.SimpleQueue()
        workers = [
            spawn.Process(target=_insert, args=(directory, at, each, ours, barrier, results))
            for at in range(_PROCESSES)
        ]
        for worker in workers:
            worker.start()
        found = [results.get() for _ in workers]
        for worker in workers:
            worker.join()
        shown = str(first.call({"command": "view", "path": _PATH}))
        if isinstance(first, MemstoreMemoryTool):
            first.close()
    kept = sum(f"\tprogram {at} line {n}\n" in shown for at in range(_PROCESSES) for n in range(each))
    return _Kept(kept, sum(done for done, _ in found), sum(errors for _, errors in found))


def _insert(directory: str, at: int, each: int, ours: bool, barrier: Barrier, results: object) -> None:
    tool, done = _tool(directory, ours=ours), 0
    tool.call({"command": "view", "path": _PATH})
    barrier.wait()
    for number in range(each):
        try:
            line = f"program {at} line {number}"
            tool.call({"command": "insert", "path": _PATH, "insert_line": 0, "insert_text": line})
            done += 1
        except Exception:  # whatever it is, it counts as an error
            continue
    results.put((done, each - done))  # type: ignore[attr-defined] # a SimpleQueue of a context has no public type
    if isinstance(tool, MemstoreMemoryTool):
        tool.close()
