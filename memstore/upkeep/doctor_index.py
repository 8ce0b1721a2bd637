"""The doctor's look at MEMORY.md: memories without a line, lines without a memory, and what found no room.

Both kinds of faults are mended as one operation each: `memstore undo` brings every byte of a line back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from memstore.core.changes import ChangeSet, LineChange
from memstore.core.findings import Finding
from memstore.core.index_check import Faults, examine, made_due, taken_out
from memstore.core.model import INDEX_NAME, NOTES
from memstore.core.unseen import one_line
from memstore.errors import PlaceRefused, StaleVersion, StoreBusy
from memstore.files.folder import Folder
from memstore.files.report import counted
from memstore.store import lines, reader
from memstore.upkeep.doctor_told import memories_told, some

if TYPE_CHECKING:
    from memstore.app import Memstore

DANGLING = "index-dangling"
ORPHANS = "index-orphans"
FULL = "index-full"

_KIND = "doctor"
_ATTEMPTS = 20
_OWN_LINE = 60_000_000
"""Microseconds in which an agent that has just made a memory may still write the line itself."""
_LONGEST = 80


def faults(memories: Memstore) -> Iterator[Finding]:
    """Lines that point to nothing, and memories that no line points to."""
    found = _examined(memories)
    mendable = memories.store.writable and memories.store.refusal is None
    if found.dangling:
        number = len(found.dangling)
        told = some([one_line(one.target or one.line.text, _LONGEST) for one in found.dangling])
        by_hand = sum(one.by_hand for one in found.dangling)
        points = "points" if number == 1 else "point"
        yield Finding(
            DANGLING, "warning",
            f"{INDEX_NAME} has {counted(number, 'line')} that {points} to nothing: {told}",
            "sessions are told of memories that are not there"
            + (f"; {by_hand} of the lines {'was' if by_hand == 1 else 'were'} written by hand" if by_hand else ""),
            "write what is missing (`memstore write NAME`), or `memstore doctor --fix` takes the lines out: their words"
            " stay in the history, and `memstore undo` brings them back",
            fix=mendable,
        )  # fmt: skip
    if found.orphans:
        yield Finding(
            ORPHANS, "warning",
            f"{memories_told(len(found.orphans))} without a line in {INDEX_NAME}:"
            f" {some([entry.path for entry in found.orphans])}",
            "sessions do not learn of them from the index; search and recall find them",
            "`memstore doctor --fix` gives each its line, as the next write does"
            if mendable else "add the lines to the file by hand",
            fix=mendable,
        )  # fmt: skip


def room(memories: Memstore) -> Iterator[Finding]:
    """What the index had to leave out."""
    left = memories.files.omissions()
    with memories.store.view() as connection:
        rows = lines.rows(connection, memories.shelf)
        rendering = lines.rendering(connection, memories.shelf)
        pinned = {entry.path for entry in lines.entries(connection, memories.shelf).values() if entry.pinned}
    omitted = set(() if rendering is None or not left else rendering.omitted)
    by_hand = [row.text for row in rows if row.id in omitted and row.kind != "auto" and row.text.strip()]
    if left:
        fixed = sorted(pinned.intersection(left))
        which = f"; pinned: {some(fixed)}" if fixed else ""
        hand = f"; {counted(len(by_hand), 'line')} by hand too" if by_hand else ""
        yield Finding(
            FULL, "warning" if fixed or by_hand else "note",
            f"{INDEX_NAME} has no room for {memories_told(len(left))}: {some(left)}{which}{hand}",
            "a session loads 200 lines and 25,000 characters of it; search and recall find the rest",
            "`memstore tidy` and `memstore dream` make fewer memories of many; `memstore pin NAME` keeps a place",
        )  # fmt: skip


def mend_dangling(memories: Memstore) -> str:
    """Takes the lines that point to nothing out of the index."""

    def steps(found: Faults) -> tuple[tuple[LineChange, ...], str]:
        targets = some([one_line(one.target or one.line.text, _LONGEST) for one in found.dangling])
        number = counted(len(found.dangling), "line")
        return taken_out(found), f"took {number} that pointed to nothing out of {INDEX_NAME}: {targets}"

    return _mend(memories, steps, real=False)


def mend_orphans(memories: Memstore) -> str:
    """Gives each memory that no line points to its line."""

    def steps(found: Faults) -> tuple[tuple[LineChange, ...], str]:
        paths = some([entry.path for entry in found.orphans])
        return made_due(found), f"gave {memories_told(len(found.orphans))} a line in {INDEX_NAME}: {paths}"

    return _mend(memories, steps, real=True)


def _mend(memories: Memstore, steps: Callable[[Faults], tuple[tuple[LineChange, ...], str]], *, real: bool) -> str:
    """Plans by what stands there by now, and does it as one operation. `real`: what is due gets its line with it."""
    memories.files.absorb()
    world = memories.world
    provenance = world.provenance(memories.place.root)
    for _ in range(_ATTEMPTS):
        changes, told = steps(_examined(memories))
        if not changes:
            return "nothing is left to mend"
        try:
            applied = memories.store.apply(
                ChangeSet(world.new_id(), _KIND, world.clock(), provenance, lines=changes, reason=told, real=real)
            )
        except StaleVersion:
            continue  # somebody wrote the index meanwhile
        files = memories.files.settle()
        late = "; its file is not up to date yet: run `memstore sync`" if files.pending or files.stopped else ""
        return f"{told}, as operation #{applied.seq}: `memstore undo {applied.seq}` takes that back{late}"
    raise StoreBusy(f"{INDEX_NAME} changed {_ATTEMPTS} times meanwhile", hint="try again")


def _examined(memories: Memstore) -> Faults:
    store, shelf = memories.store, memories.shelf
    with store.view() as connection:
        rows, entries = lines.rows(connection, shelf), lines.entries(connection, shelf)
        others = [head.path for head in reader.heads(connection, None) if head.state.shelf not in (shelf, NOTES)]
    found = examine(rows, entries, {*others, *_other_files(memories.place.folder)})
    now = memories.world.clock()
    young = {entry.id for entry in found.orphans if _is_young(memories, entry.id, now)} if found.orphans else set()
    return found._replace(orphans=tuple(entry for entry in found.orphans if entry.id not in young))


def _is_young(memories: Memstore, identity: str, now: int) -> bool:
    memory = memories.store.memory(identity)
    return memory is not None and memory.origin == "agent" and now - _OWN_LINE < memory.created_at <= now


def _other_files(path: str | None) -> set[str]:
    """What lies in the folder and is no memory: a line may point there."""
    try:
        folder = None if path is None else Folder.open(path)
    except PlaceRefused:
        return set()
    if folder is None:
        return set()
    with folder:
        found = folder.scan()
    return {*found.strange, *found.foreign, *found.debris}
