"""The doctor's look at purges after which the files of the database were not cleaned yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memstore.core.findings import Finding
from memstore.store import tombstones

if TYPE_CHECKING:
    from memstore.app import Memstore

PURGE = "purge"


def unfinished(memories: Memstore) -> Iterator[Finding]:
    """Whether freed pages and the log may still hold what was purged."""
    with memories.store.view() as connection:
        waiting = tombstones.unswept(connection)
    if waiting:
        told = ", ".join(f"#{tombstone.seq}" for tombstone in waiting)
        yield Finding(
            PURGE,
            "warning",
            f"the files of the database were not cleaned after the purge {told}",
            "its freed pages and its log may still hold what was to be forgotten",
            "memstore purge --finish",
            fix=True,
        )


def mend(memories: Memstore) -> str:
    """Cleans them. Raises what is in the way."""
    from memstore.upkeep.purging import finish

    waiting, trouble = finish(memories)
    if trouble is not None:
        raise trouble
    return f"the files of the database are clean after {len(waiting)} of them" if waiting else ""
