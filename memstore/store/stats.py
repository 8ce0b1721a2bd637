"""Figures of a store: how many memories there are of what, how they grew, who works with them.

Notes of sessions are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstore.core.model import NOTES, NOTES_KIND
from memstore.store.connection import Reading, many, one

DAY = 86_400_000_000
"""Microseconds."""

_WORKTREES = 10
_RECALLED = 5


@dataclass(frozen=True, slots=True)
class OfType:
    """Living memories of a type; None: they have none. `size`: the bytes of their texts."""

    type: str | None
    memories: int
    size: int


@dataclass(frozen=True, slots=True)
class Day:
    """A day on which memories came or went. `number`: days since 1970; `memories`: how many there were at its end."""

    number: int
    came: int
    went: int
    memories: int


@dataclass(frozen=True, slots=True)
class Worktree:
    """What was done from a worktree. `last`: when, in unix microseconds."""

    path: str
    operations: int
    versions: int
    last: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted. `kinds` and `origins`: operations by these; `sessions`: those that began; `told`: memories that
    recall told sessions; `recalled`: the memories that the most sessions were told."""

    retired: int
    pinned: int
    types: tuple[OfType, ...]
    scopes: tuple[tuple[str, int], ...]
    days: tuple[Day, ...]
    worktrees: tuple[Worktree, ...]
    kinds: tuple[tuple[str, int], ...]
    origins: tuple[tuple[str, int], ...]
    sessions: int
    told: int
    recalled: tuple[tuple[str, int], ...]

    @property
    def memories(self) -> int:
        """How many memories live."""
        return sum(one.memories for one in self.types)


def figures(connection: Reading, since: int, zone: int) -> Figures:
    """The figures of a moment. What happens in time counts from `since` on (unix microseconds); days begin at midnight
    `zone` minutes east of UTC."""
    retired, pinned = one(
        connection,
        "SELECT count(*) FILTER (WHERE state = 'retired'), count(*) FILTER (WHERE state = 'live' AND pinned)"
        " FROM memory WHERE scope <> ?",
        (NOTES.scope,),
    ) or (0, 0)
    types = many(
        connection,
        "SELECT m.type, count(*), coalesce(sum(length(CAST(t.content AS BLOB))), 0)"
        " FROM memory m JOIN text t ON t.id = m.text WHERE m.state = 'live' AND m.scope <> ?"
        " GROUP BY m.type ORDER BY count(*) DESC, m.type",
        (NOTES.scope,),
    )
    scopes = many(
        connection,
        "SELECT scope, count(*) FROM memory WHERE state = 'live' AND scope <> ? GROUP BY scope ORDER BY 2 DESC, 1",
        (NOTES.scope,),
    )
    sessions, told = one(
        connection,
        "SELECT (SELECT count(*) FROM session WHERE started_at >= ?1 AND instr(id, '/') = 0),"
        " (SELECT count(*) FROM recalled WHERE at >= ?1)",
        (since,),
    ) or (0, 0)
    recalled = many(
        connection,
        "SELECT m.path, count(DISTINCT r.session) FROM recalled r JOIN memory m ON m.pk = r.memory WHERE r.at >= ?"
        " GROUP BY m.pk ORDER BY 2 DESC, 1 LIMIT ?",
        (since, _RECALLED),
    )
    return Figures(
        retired,
        pinned,
        tuple(OfType(*row) for row in types),
        tuple((scope, number) for scope, number in scopes),
        tuple(day for day in _days(connection, zone) if day.number >= (since + zone * 60_000_000) // DAY),
        tuple(Worktree(*row) for row in _worktrees(connection, since)),
        _by(connection, "kind", since),
        _by(connection, "origin", since),
        sessions,
        told,
        tuple((path, number) for path, number in recalled),
    )


def _days(connection: Reading, zone: int) -> list[Day]:
    rows = many(
        connection,
        "WITH step AS (SELECT v.memory, (o.at + ?1 * 60000000) / ?2 AS day, v.state = 'live' AS lives,"
        " coalesce(lag(v.state) OVER (PARTITION BY v.memory ORDER BY v.number) = 'live', 0) AS lived"
        " FROM version v JOIN operation o ON o.seq = v.operation WHERE v.scope <> ?3)"
        " SELECT day, count(*) FILTER (WHERE lives > lived), count(*) FILTER (WHERE lives < lived)"
        " FROM step WHERE lives <> lived GROUP BY day ORDER BY day",
        (zone, DAY, NOTES.scope),
    )
    found: list[Day] = []
    memories = 0
    for number, came, went in rows:
        memories += came - went
        found.append(Day(number, came, went, memories))
    return found


def _worktrees(connection: Reading, since: int) -> list[tuple[str, int, int, int]]:
    rows = many(
        connection,
        "SELECT o.worktree, count(*) AS operations,"
        " sum((SELECT count(*) FROM version v WHERE v.operation = o.seq)), max(o.at)"
        " FROM operation o WHERE o.worktree IS NOT NULL AND o.at >= ? AND o.kind <> ?"
        " GROUP BY o.worktree ORDER BY operations DESC, max(o.at) DESC LIMIT ?",
        (since, NOTES_KIND, _WORKTREES),
    )
    return [(path, operations, versions, last) for path, operations, versions, last in rows]


def _by(connection: Reading, column: str, since: int) -> tuple[tuple[str, int], ...]:
    rows = many(
        connection,
        f"SELECT {column}, count(*) FROM operation WHERE at >= ? AND kind <> ? GROUP BY 1 ORDER BY 2 DESC, 1",
        (since, NOTES_KIND),
    )
    return tuple((name, number) for name, number in rows)
