"""The doctor's look at folder, index, texts, neighbours and client, and what can be mended of it safely.

Every check is by itself: one that cannot be made is a finding, and the others go on. Looking changes nothing; what
`fix` does is an operation that `memstore undo` takes back, or a sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from memstore.core.findings import Finding
from memstore.errors import Defect, MemstoreError
from memstore.upkeep import doctor_around, doctor_client, doctor_folder, doctor_index, doctor_purge, doctor_texts
from memstore.upkeep.doctor_look import Look

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.place import Place
    from memstore.world import World

PlaceCheck = Callable[["Place", "World"], Iterable[Finding]]
StoreCheck = Callable[["Memstore"], Iterable[Finding]]


def _folder(memories: Memstore) -> Iterator[Finding]:
    look = Look(memories)
    yield from doctor_folder.contents(look)
    yield from doctor_folder.pending(look)


def _index(memories: Memstore) -> Iterator[Finding]:
    look = Look(memories)
    yield from doctor_index.faults(look)
    yield from doctor_index.room(look)


def _leftovers(memories: Memstore) -> Iterator[Finding]:
    return doctor_around.leftovers(memories.place, memories.world, memories.store.knows)


PLACE_CHECKS: Mapping[str, PlaceCheck] = {
    doctor_folder.FOLDER: doctor_folder.usable,
    doctor_around.TWIN: doctor_around.twins,
    doctor_client.MEMORY: doctor_client.memory,
    doctor_client.PLUGIN: doctor_client.plugin,
}
"""What can be looked at without the store."""

STORE_CHECKS: Mapping[str, StoreCheck] = {
    "folder-contents": _folder,
    doctor_folder.ASIDE: doctor_folder.set_aside,
    "index": _index,
    "texts": doctor_texts.texts,
    doctor_around.LEFTOVER: _leftovers,
    doctor_purge.PURGE: doctor_purge.unfinished,
}
"""What needs the store."""

_FIXES: Mapping[str, Callable[[Memstore], str]] = {
    doctor_index.DANGLING: doctor_index.mend_dangling,
    doctor_index.ORPHANS: doctor_index.mend_orphans,
    doctor_folder.LEFT: doctor_folder.mend_left,
    doctor_purge.PURGE: doctor_purge.mend,
}


def findings(memories: Memstore, told: Callable[[str], None] = lambda _: None) -> list[Finding]:
    """All that these checks find. `told` hears the name of each check before it is made."""
    found = place_findings(memories.place, memories.world, told, store=True)
    for name, check in STORE_CHECKS.items():
        told(name)
        found += _made(name, partial(check, memories))
    return found


def place_findings(
    place: Place, world: World, told: Callable[[str], None] = lambda _: None, *, store: bool = False
) -> list[Finding]:
    """Those that need no store: for one that cannot be opened. With `store` what the store's checks say better is
    left to them."""
    checks = dict(PLACE_CHECKS) if store else {**PLACE_CHECKS, doctor_around.LEFTOVER: doctor_around.leftovers}
    found: list[Finding] = []
    for name, check in checks.items():
        told(name)
        found += _made(name, partial(check, place, world))
    return found


def fix(memories: Memstore, finding: Finding) -> str:
    """Mends one finding that says it can be (`finding.fix`), and tells what was done."""
    mend = _FIXES.get(finding.check)
    if mend is None or not finding.fix:
        raise Defect(f"nothing mends {finding.check} by itself")
    return mend(memories)


def _made(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a check finds; that it could not be made, or not to its end, is a finding too."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except (MemstoreError, OSError) as error:
        hint = error.hint if isinstance(error, MemstoreError) else ""
        found.append(
            Finding(
                name, "warning", f"the check {name} could not be made: {error}", "what it looks at is not known",
                hint or "mend that, then run `memstore doctor` again",
            )
        )  # fmt: skip
    return found
