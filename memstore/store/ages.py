"""When the texts of memories were written: a pin makes no text younger."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from memstore.store.connection import many, one

_EARLIEST = 946_684_800_000_000
"""The year 2000. An earlier time of a file is none: what archives and builds put there."""


def written(connection: apsw.Connection, memories: Iterable[str]) -> dict[str, int]:
    """The moment, in unix microseconds, by which the present text of each memory had been written.

    It is that of the first version that has the text, or of the file that was taken in or shown with it, if that is
    older: memories are as old when the store first meets them as they were in their folder.
    """
    found: dict[str, int] = {}
    for memory in memories:
        row = one(
            connection,
            "SELECT m.pk, m.text, m.path, (SELECT min(o.at) FROM version v JOIN operation o ON o.seq = v.operation"
            " WHERE v.memory = m.pk AND v.text = m.text) FROM memory m WHERE m.id = ?",
            (memory,),
        )
        if row is None:
            continue
        shown = many(
            connection,
            "SELECT s.stamp FROM folder f JOIN shown s ON s.folder = f.pk AND s.name = ?3"
            " WHERE s.memory = ?1 AND s.text = ?2",
            row[:3],
        )
        times = [int(stamp.split(" ")[1]) // 1_000 for (stamp,) in shown if stamp is not None]
        found[memory] = min([row[3], *(time for time in times if time >= _EARLIEST)])
    return found
