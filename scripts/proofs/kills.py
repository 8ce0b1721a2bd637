"""`kill -9` at every system call by which a sync changes something; one sync afterwards gives the same end state.

Right after each kill, every memory file is whole, and the index names no topic of ours that is not there. Where
processes cannot be traced, they kill themselves at named steps instead, which are fewer.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from memstore.core.index import parse
from memstore.core.model import INDEX_NAME
from scripts.proofs.kills_scenes import SCENES
from scripts.proofs.kills_trace import Point, Traced, strace
from scripts.proofs.kills_workers import FAULTS, SWEEP, Told, make, serve, sync_and_tell, sync_until_killed
from scripts.proofs.outcome import Outcome, Size

NAME = "kills"
KILLS, SCENED, CAUGHT = "kills", "scenes", "planted faults caught"
FLOOR = {KILLS: 40, SCENED: 1, CAUGHT: len(FAULTS)}
FULL = {KILLS: 200, SCENED: len(SCENES), CAUGHT: len(FAULTS)}

_FLOOR_SCENE = "everyday"
_SECONDS = 120
_MOST = 8
_CONTEXT = get_context("forkserver")


def run(size: Size, seed: int) -> Outcome:
    """Nothing is left to chance: each call of each scene."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    notes: list[str] = []
    for scene in SCENES if size == "full" else (_FLOOR_SCENE,):
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(kill_all, [scene] * 2, [""] * 2, range(2), [2] * 2))
        counts[KILLS] += sum(each.kills for each in found)
        counts[SCENED] += 1
        failures += [f"{scene}: {failure}" for each in found for failure in each.failures[:_MOST]]
        calls = sum((each.calls for each in found), Counter[str]())
        notes.append(f"{scene}: {', '.join(f'{call} {count}' for call, count in sorted(calls.items()))}")
        notes += dict.fromkeys(each.untraced for each in found if each.untraced)
    with ThreadPoolExecutor(2) as pool:
        for fault, each in zip(FAULTS, pool.map(kill_all, [_FLOOR_SCENE] * len(FAULTS), FAULTS), strict=True):
            counts[CAUGHT] += bool(each.failures)
            notes.append(f"{fault}: {each.failures[0] if each.failures else 'not noticed'}")
    return Outcome({name: counts[name] for name in (SCENED, KILLS, CAUGHT)}, failures, notes)


@dataclass(slots=True)
class Found:
    """What came of the kills in one scene. `untraced`: why named steps were taken instead of system calls."""

    kills: int = 0
    failures: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    untraced: str = ""


def kill_all(scene: str, fault: str = "", part: int = 0, parts: int = 1, *, trace: bool = True) -> Found:
    """Kills at every call whose place is `part` of `parts`; a fault until it is noticed."""
    found = Found()
    directory = os.path.realpath(tempfile.mkdtemp(prefix="memstore-kills-"))
    try:
        trial = _Trial(directory, scene, fault, trace=trace)
        points = trial.whole_run()
        if fault:  # what is broken then is how files are put; the database's pages have no part in it
            points = [point for point in points if point.call != "pwrite64"]
        found.untraced = trial.untraced
        for point in points[part::parts]:
            failures = trial.kill(point)
            found.kills += 1
            found.calls[point.call] += 1
            found.failures += [f"killed before {point.shown}: {failure}" for failure in failures]
            if fault and failures:
                break
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return found


class _Trial:
    """One scene, which is put back as it was before each run."""

    def __init__(self, directory: str, scene: str, fault: str, *, trace: bool) -> None:
        _CONTEXT.set_forkserver_preload(["scripts.proofs.kills_workers"])
        self._place, self._kept = Path(directory, "place"), Path(directory, "kept")
        self._notes = Path(directory, "notes")
        self._fault, self._later = ("", fault) if fault == SWEEP else (fault, "")
        self.untraced = "" if strace() and trace else "strace is not installed: named steps"
        (self._place / "project" / ".git").mkdir(parents=True)
        self._folder = Path(_Child(make, str(self._place), scene).answer(str))
        os.rename(self._place, self._kept)
        self._whole: dict[str, set[bytes]] = {}
        self._dangling: set[str] = set()
        self._end: Told | None = None

    def whole_run(self) -> list[Point]:
        """Runs without a kill, and learns what has to come of it; where to kill."""
        self._reset()
        self._dangling = self._named() - self._there()
        self._whole = {path: {content} for path, content in self._files().items()}
        child = _Child(sync_until_killed, str(self._place), self._fault, 0).is_ready()
        traced = self._traced(child, None)
        steps, put = child.go(tuple)
        points = [Point("step", number + 1, f"step {number + 1}") for number in range(steps)]
        if traced is not None:
            points = traced.points()
        for path, content in put:
            self._whole.setdefault(path, set()).add(content)
        self._end = _Child(sync_and_tell, str(self._place), "").answer(Told)
        return points

    def _traced(self, child: _Child, point: Point | None) -> Traced | None:
        if self.untraced:
            return None
        traced = Traced(child.pid, self._notes, point)
        if traced.failure:
            self.untraced = f"strace cannot be used ({traced.failure}): named steps"
            traced.end()
            return None
        return traced

    def kill(self, point: Point) -> list[str]:
        """What is wrong after a kill and one sync."""
        self._reset()
        step = point.number if point.call == "step" else 0
        child = _Child(sync_until_killed, str(self._place), self._fault, step).is_ready()
        traced = None if step else self._traced(child, point)
        killed = child.go_and_die()
        if traced is not None:
            traced.end()
        wrong = [] if killed else ["it lived"]
        wrong += [f"half a file: {path}" for path, content in self._files().items()
                  if content not in self._whole.get(path, ())]  # fmt: skip
        missing = self._named() - self._there() - self._dangling
        wrong += [f"the index names what is not there: {', '.join(sorted(missing))}"] if missing else []
        told = _Child(sync_and_tell, str(self._place), self._later).answer(Told)
        return wrong + list(_differences(self._end, told))

    def _reset(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.copytree(self._kept, self._place, symlinks=True)

    def _files(self) -> dict[str, bytes]:
        found = {str(path.relative_to(self._folder)): path for path in self._folder.rglob("*.md") if path.is_file()}
        return {name: path.read_bytes() for name, path in found.items() if not path.name.startswith(".")}

    def _there(self) -> set[str]:
        return set(self._files())

    def _named(self) -> set[str]:
        text = self._files().get(INDEX_NAME, b"").decode("utf-8", "replace")
        return {target for piece in parse(text) for target in piece.mentions}


def _differences(wanted: Told | None, found: Told) -> Iterable[str]:
    assert wanted is not None
    if found.left:
        yield f"left in the folder: {', '.join(found.left)}"
    for each in fields(Told):
        one, other = _items(getattr(wanted, each.name)), _items(getattr(found, each.name))
        extra = [item for item in other if item not in one]
        missing = [item for item in one if item not in other]
        if one != other and each.name != "left":
            yield f"other {each.name}: {extra[:1]!r:.300} instead of {missing[:1]!r:.300}"


def _items(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*sorted(value.items())]
    return list(value) if isinstance(value, list) else [value]


class _Child:
    """A fresh process, from a server that has opened no store."""

    def __init__(self, work: Callable[..., Any], *arguments: Any) -> None:
        self._here, there = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=serve, args=(there, work, *arguments), daemon=True)
        self._process.start()
        there.close()

    def is_ready(self) -> _Child:
        """Once it waits for the word to begin."""
        if (said := _received(self._here)) != "ready":
            raise RuntimeError(f"a process broke: {said}")
        return self

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def answer(self, kind: type[Any]) -> Any:
        """What it answers, and its end."""
        answer = _received(self._here)
        if not isinstance(answer, kind) or (kind is str and answer.startswith("Traceback")):
            raise RuntimeError(f"a process broke: {answer}")
        self._process.join(_SECONDS)
        return answer

    def go(self, kind: type[Any]) -> Any:
        """Lets it begin, and waits for its answer."""
        self._here.send("go")
        return self.answer(kind)

    def go_and_die(self) -> bool:
        """Lets it begin; whether it was killed before it could answer."""
        self._here.send("go")
        try:
            answer = _received(self._here)
        except EOFError:
            answer = None
        self._process.join(_SECONDS)
        return answer is None


def _received(pipe: Pipe) -> Any:
    if not pipe.poll(_SECONDS):
        raise RuntimeError("a process did not answer in time")
    return pipe.recv()
