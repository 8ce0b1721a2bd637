"""Processes that write and show at once, into one memory folder or into two. Each opens the store itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

from memstore.app import Memstore
from memstore.core.plan import Wanted
from memstore.files.report import SyncReport
from memstore.outcomes import Saved
from memstore.world import World
from scripts.proofs.client import resaved

Told = tuple[int, int, list[str]]
"""How many writes were shown when they returned, how many were said to be pending, and which of them were neither."""


def opened(place: Path, variables: Mapping[str, str]) -> Memstore:
    """The memories of a repository, in a world of which only these variables are known."""
    world = replace(World.real(str(place)), environment=dict(variables), home=variables["HOME"], terminal=False)
    return Memstore.open(world=world)


def write_and_look(
    barrier: Barrier, number: int, place: Path, variables: Mapping[str, str], rounds: int, shared: bool
) -> Told:
    """Writes a memory of its own, or lines of one that all write, and looks at its file whenever a write returns."""
    with opened(place, variables) as memories:
        assert memories.place.folder is not None
        folder = Path(memories.place.folder)
        barrier.wait(60)
        shown, late, missing, token = 0, 0, list[str](), ""
        for n in range(rounds):
            line = f"line {number}-{n}"
            if shared:
                saved = memories.append("list", line)
            else:
                saved = _write_own(memories, f"own-{number}", token, line)
                token = saved.memory.token
            if _is_shown(folder, saved, line):
                shown += 1
            elif said_so(saved.files):
                late += 1
            else:
                missing.append(f"{line}: {saved.files}")
        return shown, late, missing


def _write_own(memories: Memstore, name: str, token: str, line: str) -> Saved:
    return memories.write(name, Wanted(body=f"{line}\n"), expect=token or None)


def _is_shown(folder: Path, saved: Saved, line: str) -> bool:
    try:
        text = (folder / saved.memory.path).read_text()
        index = (folder / "MEMORY.md").read_text()
    except FileNotFoundError:
        return False
    return f"{line}\n" in text and f"({saved.memory.path})" in index


def said_so(files: SyncReport) -> bool:
    """Whether a report admits that files are not up to date."""
    return bool(files.pending) or any("not up to date" in notice for notice in files.notices)


def create_and_look(barrier: Barrier, number: int, place: Path, variables: Mapping[str, str], rounds: int) -> Told:
    """New memories all the time: the index changes with each."""
    with opened(place, variables) as memories:
        assert memories.place.folder is not None
        folder = Path(memories.place.folder)
        barrier.wait(60)
        shown, late, missing = 0, 0, list[str]()
        for n in range(rounds):
            line = f"line {number}-{n}"
            saved = memories.write(f"note-{number}-{n}", Wanted(body=f"{line}\n"))
            if _is_shown(folder, saved, line):
                shown += 1
            elif said_so(saved.files):
                late += 1
            else:
                missing.append(f"{line}: {saved.files}")
        return shown, late, missing


def edit_by_hand(barrier: Barrier, number: int, place: Path, variables: Mapping[str, str], rounds: int) -> Told:
    """A person who adds lines to a file with an editor that saves by renaming, and syncs now and then."""
    with opened(place, variables) as memories:
        assert memories.place.folder is not None
        path = Path(memories.place.folder) / f"hand-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        barrier.wait(60)
        for n in range(rounds):
            text = path.read_text() if path.exists() else f"---\nname: hand-{number}\n---\n\n"
            draft = path.with_name(f"hand-{number}.md.tmp.{os.getpid()}.ff")
            draft.write_text(f"{text}line {number}-{n}\n")
            os.replace(draft, path)
            if n % 5 == 4:
                memories.sync()
        memories.sync()
        return rounds, 0, []


def project_and_stamp(
    barrier: Barrier, number: int, place: Path, variables: Mapping[str, str], names: list[str], rounds: int
) -> tuple[int, int, int]:
    """A projector with a client beside it, which so often saves every file anew that it sees changed, never twice
    alike.

    Returns how often the client saved, in how many syncs a file was written, and in how many of them something was
    taken in that made a version.
    """
    with opened(place, variables) as memories:
        assert memories.place.folder is not None
        folder = Path(memories.place.folder)
        barrier.wait(60)
        seen: dict[str, int] = {}
        saves = wrote = took = 0
        for _ in range(rounds):
            report = memories.sync()
            wrote += bool(report.projected)
            took += report.seq is not None
            for name in names:
                path = folder / name
                if not path.exists() or seen.get(name) == path.stat().st_mtime_ns:
                    continue
                before = path.read_bytes()
                after = resaved(before, f"session-{number}", f"2026-03-01T10:00:{saves % 60:02}.{number:03}Z")
                if after != before:
                    draft = folder / f"{name}.tmp.{os.getpid()}.ff"
                    draft.write_bytes(after)
                    os.replace(draft, path)
                    saves += 1
                seen[name] = path.stat().st_mtime_ns
        return saves, wrote, took
