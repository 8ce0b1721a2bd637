"""A race of real processes over one memory folder: editors save in every way that programs have, tools write the same
memories through the library, and projectors sync without a pause.

Each file has one editor, whose every save adds a line. A careful editor keeps the lines of its earlier saves in all
later ones: each of them has to be there in the end, in the memory, in a conflict's other side, set aside, or still in
a file. The others save what they saw and one line more; a buffer that was opened before a projection takes out what
that had brought (which is their limit, and counted for the lines of tools), so their lines may also be in a version.
Memories that only one tool writes hold all its lines, have a version for each, and were never taken for edited.
"""

from __future__ import annotations

from collections import Counter

from memstore.core.model import INDEX_NAME
from scripts.proofs.hammer_crowd import Work, crowd, workplace
from scripts.proofs.hammer_end import OLD, SAVES, SEEN, WRITTEN, End, look
from scripts.proofs.hammer_rest import RESTS, come_to_rest
from scripts.proofs.hammer_saves import STYLES, re_expressed
from scripts.proofs.hammer_workers import FAULTS, STAMPS, Told, edit, project, write
from scripts.proofs.outcome import Outcome, Size

NAME = "hammer"
RUNS, SYNCS, CAUGHT, STYLED = "runs", "syncs", "planted faults caught", "ways to save"
FLOOR = {SAVES: 2_000, RESTS: 50, SYNCS: 50, WRITTEN: 30, STYLED: len(STYLES), CAUGHT: len(FAULTS)}
FULL = {SAVES: 50_000, RESTS: 1_000, SYNCS: 1_000, WRITTEN: 700, STYLED: len(STYLES), CAUGHT: len(FAULTS)}

_SAVES = 2_100
"""Of one run: texts that keep all their lines grow, and a longer run would be about long texts."""
_EDITORS, _FILES, _TOOLS, _PROJECTORS = 4, 3, 2, 3
_FAULT_RUNS, _FAULT_SAVES = 10, 400


def run(size: Size, seed: int) -> Outcome:
    """Runs until enough was saved, then the faults."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    styles: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    while counts[SAVES] < (FLOOR if size == "floor" else FULL)[SAVES] and not failures:
        number = seed * 1_000 + counts[RUNS]
        end, workers = race(number, _SAVES)
        failures += [f"seed {number}: {lost}" for lost in end.lost]
        counts += end.counts
        counts[RUNS] += 1
        counts[SYNCS] += sum(worker.styles.pop("syncs", 0) for worker in workers)
        for worker in workers:
            styles += worker.styles
            failed += worker.failed
    while counts[RESTS] < (FLOOR if size == "floor" else FULL)[RESTS] and not failures:
        rested, moved = come_to_rest(seed * 1_000 + counts[RESTS])
        counts[RESTS] += rested
        failures += moved
    notes = [", ".join(f"{style} {styles[style]:,}" for style in STYLES)]
    notes += [f"not done: {', '.join(f'{what} {count:,}' for what, count in sorted(failed.items()))}"] if failed else []
    notes += [f"not installed, so by the same system calls: {', '.join(re_expressed())}"] if re_expressed() else []
    counts[STYLED] = len(styles)
    for fault in FAULTS:
        noticed = _noticed(fault, seed)
        counts[CAUGHT] += bool(noticed)
        notes.append(f"{fault}: {noticed or 'not noticed'}")
    order = (RUNS, SAVES, SEEN, WRITTEN, OLD, SYNCS, RESTS, STYLED, CAUGHT)
    return Outcome({name: counts[name] for name in order}, failures, notes)


def _noticed(fault: str, seed: int) -> str:
    """What the fault came to, in the first run that noticed it."""
    for number in range(_FAULT_RUNS):
        if fault == STAMPS:
            _, moved = come_to_rest(seed * 1_000 + number, fault)
            if moved:
                return f"{len(moved)} moved, first {moved[0]}"
            continue
        end, _ = race(seed * 1_000 + number, _FAULT_SAVES, fault)
        if end.lost:
            return f"{len(end.lost)} losses, first {end.lost[0]}"
    return ""


def race(seed: int, saves: int, fault: str = "") -> tuple[End, list[Told]]:
    """One run in a folder of its own."""
    files = [[f"notes-{editor}-{at}.md" for at in range(_FILES)] for editor in range(_EDITORS)]
    topics = [name for some in files for name in some]
    files[0] = [*files[0][1:], INDEX_NAME]
    untouched = [f"tool-{number}" for number in range(_TOOLS)]
    with workplace(fault) as place:
        work: list[Work] = [
            *((edit, (some, saves // _EDITORS, at % 2 == 0)) for at, some in enumerate(files)),
            *((write, (topics, own)) for own in untouched),
            *((project, ()) for _ in range(_PROJECTORS)),
        ]
        workers = crowd(work, place, seed, _EDITORS)
        with place.open() as memories:
            end = look(memories, workers[:_EDITORS], workers[_EDITORS : _EDITORS + _TOOLS], untouched)
    return end, workers
