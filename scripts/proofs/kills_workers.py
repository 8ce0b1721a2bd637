"""What the processes of the kill proof do: make a scene, sync until they are killed, sync once more and tell.

A fault is planted here, by wrapping a function of the process that it is to break.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from memstore.app import Memstore
from memstore.files import exchange, projector, temporary
from memstore.files.folder import Folder, Leftover
from memstore.files.project import Outcome, Work, carry_out
from memstore.files.publishing import Put
from memstore.files.scan import Scan
from memstore.store import shown
from memstore.store.connection import Link
from memstore.world import World
from scripts.benchmarks.measure import world_in
from scripts.proofs.kills_scenes import SCENES

_PTRACER, _ANY = 0x59616D61, -1


@dataclass(frozen=True, slots=True)
class Told:
    """How things stand after the last sync: nothing in it depends on ids or times."""

    files: dict[str, bytes]
    heads: list[tuple[str, int, str, bytes]]
    index: list[tuple[str, str, str]]
    conflicts: list[tuple[str, bytes]]
    aside: list[tuple[str, bytes]]
    left: list[str]
    rests: bool


def serve(there: Pipe, work: Callable[..., Any], *arguments: Any) -> None:
    """Runs one worker, and answers what it returned or how it broke."""
    try:
        answer = work(there, *arguments)
    except BaseException:
        answer = traceback.format_exc()
    there.send(answer)
    os._exit(0)


def make(there: Pipe, directory: str, scene: str) -> str:
    """Makes a scene; the folder's path."""
    with _open(directory, 0) as memories:
        assert memories.place.folder is not None
        SCENES[scene](memories, Path(memories.place.folder))
        return memories.place.folder


def sync_until_killed(there: Pipe, directory: str, fault: str, step: int) -> tuple[int, list[tuple[str, bytes]]]:
    """A sync that begins when it is told to. `step`: the named step before which it kills itself; 0: none.

    How many such steps there were, and what was put.
    """
    _allow_tracing()
    memories = _open(directory)
    plant(fault)
    put = _watch_puts()
    steps = _Steps(step)
    memories.store.memories()
    there.send("ready")
    there.recv()
    steps.count_from_here()
    memories.sync()
    memories.close()
    return steps.number, put


def sync_and_tell(there: Pipe, directory: str, fault: str) -> Told:
    """One sync; and how things stand then."""
    plant(fault)
    with _open(directory) as memories:
        memories.sync()
        assert memories.place.folder is not None
        folder = Path(memories.place.folder)
        paths = {memory.id: memory.path for memory in memories.store.memories(retired=True)}
        with memories.store.view() as connection:
            aside = [(name, content) for _, name, _, _, content in shown.set_asides(connection, limit=-1)]
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return Told(
            {name: content for name, content in sorted(files.items()) if name != ".memstore"},
            sorted((memory.path, memory.version, "live" if memory.state.live else "retired", memory.state.content)
                   for memory in memories.store.memories(retired=True)),
            [(line.text, line.kind, paths.get(line.memory or "", "")) for line in memories.store.index()],
            sorted((record.path, record.theirs) for record in memories.store.conflicts(everything=True)),
            sorted(aside),
            sorted(name for name in files if temporary.is_ours(name.rpartition("/")[2])),
            memories.sync().quiet,
        )  # fmt: skip


def _open(directory: str, ahead: int = 100) -> Memstore:
    """With a clock of its own, which a pause moves: nobody has to wait."""
    moved = [float(ahead)]

    def pause(seconds: float) -> None:
        moved[0] += seconds

    def clock() -> int:
        return time.time_ns() // 1_000 + int(moved[0] * 1_000_000)

    world: World = replace(world_in(directory), clock=clock, pause=pause)
    return Memstore.open(world=world)


def _allow_tracing() -> None:
    """Some systems let only a process's own parent trace it, unless it says otherwise."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PTRACER, ctypes.c_ulong(_ANY), 0, 0, 0)


def _watch_puts() -> list[tuple[str, bytes]]:
    put: list[tuple[str, bytes]] = []
    put_many = Folder.put_many

    def watched(folder: Folder, files: Sequence[tuple[str, bytes, bytes | None]]) -> Any:
        put.extend((path, content) for path, content, _ in files)
        return put_many(folder, files)

    _swap(Folder, "put_many", watched)
    return put


class _Steps:
    """Named steps, for where system calls cannot be traced: each call of a function that changes something."""

    _NAMES = ("open", "write", "rename", "link", "unlink", "fsync", "fchmod", "chmod", "utime", "mkdir")

    def __init__(self, fatal: int) -> None:
        self.number = 0
        self._fatal = fatal
        self._counting = False
        for name in self._NAMES:
            self._wrap(os, name)
        self._wrap(exchange, "_rename_with")
        self._wrap(Link, "writing")

    def count_from_here(self) -> None:
        """What came before does not count."""
        self._counting = True

    def _wrap(self, owner: object, name: str) -> None:
        call = getattr(owner, name)

        def step(*arguments: Any, **named: Any) -> Any:
            if self._counting:
                self.number += 1
                if self.number == self._fatal:
                    os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **named)

        _swap(owner, name, step)


# --- faults


def plant(fault: str) -> None:
    """Breaks this process in one way; the empty name in none."""
    if fault:
        FAULTS[fault]()


def _swap(owner: object, name: str, other: object) -> None:
    assert hasattr(owner, name), f"there is no {name} to be broken"
    setattr(owner, name, other)


def _never_sweep() -> None:
    def leftovers(_: Folder, found: Scan) -> list[Leftover]:
        return []

    _swap(Folder, "leftovers", leftovers)


def _index_first() -> None:
    def out_of_order(folder: Folder, work: Work, *rest: Any) -> Outcome:
        early = carry_out(folder, replace(work, puts=[], early=[], settled=[]), *rest)
        late = carry_out(folder, replace(work, index=None, takes=[]), *rest)
        late.shown += early.shown
        late.surprises += early.surprises
        return late

    _swap(projector, "carry_out", out_of_order)


def _write_in_place() -> None:
    def put_many(folder: Folder, files: Sequence[tuple[str, bytes, bytes | None]]) -> list[Put]:
        done = []
        for name, content, _ in files:
            path = Path(folder.path) / name
            old = path.read_bytes() if path.exists() else None
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            half = len(content) // 2
            os.write(handle, content[:half])
            os.write(handle, content[half:])
            os.fsync(handle)
            os.close(handle)
            done.append(Put(old, "", True, None))
        return done

    _swap(Folder, "put_many", put_many)


SWEEP = "temporary files are not swept"
FAULTS: dict[str, Callable[[], None]] = {
    SWEEP: _never_sweep,
    "index before topics": _index_first,
    "written in place": _write_in_place,
}
