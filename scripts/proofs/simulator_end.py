"""The end of a run: everything comes to rest, and then nothing is lost, and files say what the store says."""

from __future__ import annotations

from collections import Counter
from functools import cache

from memstore.core.frontmatter import alike, split
from memstore.core.model import INDEX_NAME, SHELF
from memstore.core.names import is_debris
from memstore.files.report import SyncReport
from memstore.files.sync import Verdict
from memstore.files.temporary import is_ours
from memstore.store.search import check_index
from scripts.proofs.simulator_ledger import marks_in
from scripts.proofs.simulator_world import SECOND, Simulation

ROUNDS = 6
"""Within how many syncs everything has to be at rest once nobody acts any more."""

_WAIT = 70 * SECOND
_UNDECIDED = "nothing was decided"
Picture = tuple[object, ...]


def end(sim: Simulation) -> Counter[str]:
    """Checks everything; what fails is in `sim.failures`. Gives what only the limits have lost."""
    sim.finish_acting()
    _come_to_rest(sim)
    _check_files(sim)
    _check_versions(sim)
    return _check_lines(sim)


def _come_to_rest(sim: Simulation) -> None:
    verdict: Verdict = "ask"
    for _ in range(ROUNDS):
        before = _picture(sim)
        for process in sim.processes:
            sim.now += _WAIT
            report = process.sync.run(verdict)
            verdict = _answer(sim, report)
        if _picture(sim) == before and verdict == "ask":
            return
    sim.fail(f"no rest after {ROUNDS} rounds: {report}")


def _answer(sim: Simulation, report: SyncReport) -> Verdict:
    """A person's word where many files went at once."""
    if any(_UNDECIDED in notice for notice in report.notices):
        return sim.random.choice(("accept", "restore"))
    return "ask"


def _picture(sim: Simulation) -> Picture:
    """All files with their times, and how far the store is."""
    folder = sim.folder()
    files = [] if folder is None else [
        (name, inode.number, inode.mtime, inode.data) for name, inode in sim.disk.files(folder)
    ]  # fmt: skip
    versions = [(memory.id, memory.version) for memory in sim.tool.store.memories(retired=True)]
    return (*files, *versions, *sim.tool.store.index(), *sorted(sim.tool.store.counts().items()))


def _check_files(sim: Simulation) -> None:
    folder, store = sim.folder(), sim.tool.store
    if folder is None:
        if store.memories(SHELF):
            sim.fail("there is no folder")
        return
    files = {name: inode.data for name, inode in sim.disk.files(folder)}
    heads = {memory.path: memory.state.content for memory in store.memories(SHELF)}
    for name in sorted(files):
        if is_ours(name):
            sim.fail(f"a temporary file is left: {name.partition('~')[2]}")
        elif name.endswith(".md") and name not in heads and name != INDEX_NAME and not is_debris(name):
            sim.fail(f"{name} is nobody's file")
    for path, content in heads.items():
        if path not in files:
            sim.fail(f"{path} has no file")
        elif not alike(files[path], content):
            sim.fail(f"{path} does not say what the store says")
    rows = [row.text for row in store.index()]
    lines = files.get(INDEX_NAME, b"").decode().split("\n")
    if Counter(filter(None, rows)) != Counter(filter(None, lines)):
        sim.fail(f"MEMORY.md is not what the store says: {sorted(set(rows) ^ set(lines))}")


def _check_versions(sim: Simulation) -> None:
    store = sim.tool.store
    for memory in store.memories(retired=True):
        numbers = [version.number for version in store.versions(memory.id)]
        if numbers != list(range(1, memory.version + 1)):
            sim.fail(f"{memory.path} has the versions {numbers}")
    if sim.random.random() < 0.1:
        with store.view() as connection:
            if not check_index(connection):
                sim.fail("the search index is not what the store says")


def _check_lines(sim: Simulation) -> Counter[str]:
    store, living = sim.tool.store, sim.living()

    @cache
    def history() -> frozenset[str]:
        found = [version.state.content for memory in store.memories(retired=True)
                 for version in store.versions(memory.id)]  # fmt: skip
        return living.union(*map(marks_in, found))

    _note_parted(sim)
    lost, limits = sim.ledger.lost(living, history)
    for what in lost:
        sim.fail(what)
    return limits


def _note_parted(sim: Simulation) -> None:
    """Which files that a hand renamed were another memory to rule 28: half of the lines or more were new."""
    memories = sim.tool.store.memories(retired=True)
    firsts = [sim.tool.store.versions(memory.id)[0] for memory in memories]
    for old, new in sim.ledger.renamed:
        gone = [memory.state.content for memory in memories if memory.path == old and not memory.state.live]
        made = [version.state.content for version in firsts if version.state.path == new]
        if gone and made and not any(_half_alike(one, other) for one in gone for other in made):
            sim.ledger.part(old)


def _half_alike(one: bytes, other: bytes) -> bool:
    """Whether two texts have more than half of the longer one's lines in common."""
    first, second = (Counter(line for line in split(text)[1].split(b"\n") if line) for text in (one, other))
    return 2 * (first & second).total() > max(first.total(), second.total())
