"""The doctor's look at MEMORY.md: memories without a line, lines without a memory, and what found no room.

Both kinds of faults are mended as one operation each: `memstore undo` brings every byte of a line back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from memstore.core.changes import ChangeSet, LineChange
from memstore.core.findings import Finding
from memstore.core.index_check import Faults, examine, made_due, taken_out
from memstore.core.index_render import chosen, whole
from memstore.core.model import INDEX_NAME, NOTES
from memstore.core.unseen import one_line
from memstore.errors import StaleVersion, StoreBusy
from memstore.files.project import omitted_paths
from memstore.files.report import counted
from memstore.store import reader
from memstore.upkeep.doctor_look import Look
from memstore.upkeep.doctor_told import memories_told, some

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Memory

DANGLING = "index-dangling"
ORPHANS = "index-orphans"
FULL = "index-full"

_KIND = "doctor"
_ATTEMPTS = 20
_OWN_LINE = 60_000_000
"""Microseconds in which an agent that has just made a memory may still write the line itself."""
_LONGEST = 80


def faults(look: Look) -> Iterator[Finding]:
    """Lines that point to nothing, and memories that no line points to."""
    found = _examined(look)
    if found.dangling:
        number = len(found.dangling)
        told = some([one_line(one.target or one.line.text, _LONGEST) for one in found.dangling])
        by_hand = sum(one.by_hand for one in found.dangling)
        points = "points" if number == 1 else "point"
        yield Finding(
            DANGLING, "warning",
            f"{INDEX_NAME} has {counted(number, 'line')} that {points} to nothing: {told}",
            "sessions are told of memories that are not there" + (f"; {by_hand} written by hand" if by_hand else ""),
            "write what is missing (`memstore write NAME`), or `memstore doctor --fix` takes the lines out: their words"
            " stay in the history, and `memstore undo` brings them back",
            fix=look.mendable and (look.listed or not by_hand),
        )  # fmt: skip
    if found.orphans:
        yield Finding(
            ORPHANS, "warning",
            f"{memories_told(len(found.orphans))} without a line in {INDEX_NAME}:"
            f" {some([entry.path for entry in found.orphans])}",
            "sessions do not learn of them from the index; search and recall find them",
            "`memstore doctor --fix` gives each its line, as the next write does"
            if look.mendable else "add the lines to the file by hand",
            fix=look.mendable,
        )  # fmt: skip


def room(look: Look) -> Iterator[Finding]:
    """What the index had to leave out."""
    rows, entries = look.index
    if look.memories.store.refusal is not None or whole(rows) is not None:
        return
    rendering = chosen(rows, entries)
    left = omitted_paths(rendering, entries, rows)
    omitted = set(rendering.omitted)
    pinned = {entry.path for entry in entries.values() if entry.pinned}
    by_hand = [row.text for row in rows if row.id in omitted and row.kind != "auto" and row.text.strip()]
    if left:
        fixed = sorted(pinned.intersection(left))
        which = f"; pinned: {some(fixed)}" if fixed else ""
        hand = f"; {counted(len(by_hand), 'line')} by hand too" if by_hand else ""
        yield Finding(
            FULL, "warning" if fixed or by_hand else "note",
            f"{INDEX_NAME} has no room for {memories_told(len(left))}: {some(left)}{which}{hand}",
            "a session loads 200 lines and 25,000 characters of it; search and recall find the rest",
            "`memstore tidy` and `memstore dream` make fewer of many; `memstore pin NAME` keeps a place, and"
            " `memstore status` names all that are left out",
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
        look = Look(memories)
        found = _examined(look)
        if not look.listed:  # a line by hand may point to what cannot be seen now
            found = found._replace(dangling=tuple(one for one in found.dangling if not one.by_hand))
        changes, told = steps(found)
        if not changes:
            return "nothing is left to mend"
        try:
            applied = memories.store.apply(
                ChangeSet(world.new_id(), _KIND, world.clock(), provenance, lines=changes, reason=told, real=real)
            )
        except StaleVersion:
            continue  # somebody wrote the index meanwhile
        files = memories.files.settle()
        behind = files.pending or files.stopped or files.folder is None
        late = "; its file is not up to date yet: run `memstore sync`" if behind else ""
        return f"{told}, as operation #{applied.seq}: `memstore undo {applied.seq}` takes that back{late}"
    raise StoreBusy(f"{INDEX_NAME} changed {_ATTEMPTS} times meanwhile", hint="try again")


def _examined(look: Look) -> Faults:
    store, (rows, entries) = look.memories.store, look.index
    found = examine(rows, entries)
    if any(one.by_hand for one in found.dangling):  # what else is there is asked only where a line may mean it
        found = examine(rows, entries, _others(look))
    now = look.memories.world.clock()
    young = {entry.id for entry in found.orphans if _is_young(store.memory(entry.id), now)}
    return found._replace(orphans=tuple(entry for entry in found.orphans if entry.id not in young))


def _is_young(memory: Memory | None, now: int) -> bool:
    return memory is not None and memory.origin == "agent" and now - _OWN_LINE < memory.created_at <= now


def _others(look: Look) -> set[str]:
    """What is there besides the memories of the index: on other shelves, or in the folder."""
    shelves = (look.memories.shelf, NOTES)
    with look.memories.store.view() as connection:
        paths = [head.path for head in reader.heads(connection, None) if head.state.shelf not in shelves]
    scan = look.scan
    # A file that is not taken in yet, or may not be now, is there all the same.
    return {*paths, *(() if scan is None else (*scan.files, *scan.strange, *scan.foreign, *scan.debris))}
