"""The client's stamps and several projectors come to rest: within two rounds no version is made and no byte written.

First the client edits, tools write and projectors sync, all at once. Then, round by round, the client saves every
file anew with fresh stamps, and the projectors sync at one moment.
"""

from __future__ import annotations

from pathlib import Path

from memstore.core.plan import Wanted
from scripts.proofs.hammer_crowd import crowd, workplace
from scripts.proofs.hammer_workers import Place, project, save_anew, sync_once, work, write

RESTS = "saves of the client that changed stamps alone, and moved nothing"

_FILES, _EDITS, _PROJECTORS = 6, 40, 3
_ROUNDS, _UNTIL_REST = 7, 2


def come_to_rest(seed: int, fault: str = "") -> tuple[int, list[str]]:
    """How many saves of the last rounds moved nothing, and what moved in them."""
    names = [f"note-{number}.md" for number in range(_FILES)]
    rested, moved = 0, []
    with workplace(fault) as place:
        with place.open() as memories:
            for name in names:
                memories.write(name, Wanted(body=f"Notes of {name}.\n\nMore of them.\n", description="Its: notes"))
        projectors = [(project, ())] * _PROJECTORS
        crowd([(work, (names, _EDITS)), (write, (names, "tool")), *projectors], place, seed, 1)
        for number in range(_ROUNDS):
            save_anew(place, names, number)
            before = _state(place, names)
            crowd([(sync_once, ())] * _PROJECTORS, place, seed, _PROJECTORS)
            after = _state(place, names)
            if number >= _UNTIL_REST:
                here = [f"seed {seed}: {name} in round {number + 1}: {before[name][0]} versions, then {after[name][0]}"
                        for name in names if before[name] != after[name]]  # fmt: skip
                moved += here
                rested += len(names) - len(here)
    return rested, moved


def _state(place: Place, names: list[str]) -> dict[str, tuple[int, bytes]]:
    """Of each file its memory's version, and its bytes."""
    with place.open() as memories:
        versions = {memory.path: memory.version for memory in memories.store.memories()}
    return {name: (versions.get(name, 0), (Path(place.folder) / name).read_bytes()) for name in names}
