"""Runs of jobs: what a model was asked, what that came to and cost, how far transcripts were read.

`ending` commits the end of a run. Times are unix microseconds, money is millionths of a US dollar. Call the functions
that write inside a write transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import apsw

from memstore.core.model import NOTES_KIND
from memstore.core.usage import Usage
from memstore.errors import Conflict
from memstore.store.connection import Row, many, one

RunState = Literal["running", "done", "failed"]
Outcome = Literal["saved", "nothing", "skipped", "more", "failed"]
EventKind = Literal["denied", "refused", "note", "tool"]

_RUN_COLUMNS = (
    "SELECT r.seq, r.id, r.kind, r.session, r.job, r.model, r.via, r.state, r.outcome, r.reason, r.started_at,"
    " r.ended_at, r.turns, r.messages, r.unread, (SELECT o.id FROM operation o WHERE o.seq = r.operation),"
    " r.cost_microusd, r.told, r.gate, r.input_tokens, r.output_tokens, r.cache_read, r.cache_written FROM run r"
)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a run: a tool that was denied, a write that was refused, a tool that was used, a remark."""

    kind: EventKind
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    `gate`: the one that was shut. `operation`: the id of what it saved. `cost` None: not known. `told`: a session said
    what was saved.
    """

    seq: int
    id: str
    kind: str
    session: str
    job: int | None
    model: str | None
    via: str | None
    state: RunState
    outcome: Outcome | None
    reason: str
    started_at: int
    ended_at: int | None
    turns: int
    messages: int
    unread: int
    operation: str | None
    cost: int | None
    told: bool
    gate: str | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ends. Its job follows from the outcome.

    `more`: the rest waits as a new job. `failed`: the job waits for its next try; where `due_at` is given it waits
    until then, which does not count as a try; with `park` it waits for a person, and with `rest` what comes after it
    waits as a new job. `held`: why all jobs wait, as it is no fault of this one, and what to do about it; it waits as
    they do. Else the job is done.
    """

    run: str
    outcome: Outcome
    at: int
    reason: str = ""
    gate: str | None = None
    turns: int = 0
    messages: int = 0
    unread: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: int | None = None
    events: tuple[Event, ...] = ()
    due_at: int | None = None
    park: bool = False
    held: tuple[str, str] | None = None
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a session's transcript was read: the id of the last message, the bytes up to its end, their SHA-256."""

    kind: str
    session: str
    transcript: str
    message: str
    offset: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Source:
    """A message that a memory's new version was made from. `session`: where it was said; None: in the run's own."""

    memory: str
    message: str
    session: str | None = None


def begin(
    connection: apsw.Connection,
    identity: str,
    kind: str,
    session: str,
    at: int,
    *,
    job: int | None = None,
    model: str | None = None,
    via: str | None = None,
) -> None:
    """Notes that a run has begun. Raises Conflict where one of the session is running."""
    running = "SELECT 1 FROM run WHERE kind = ? AND session = ? AND state = 'running'"
    if one(connection, running, (kind, session)) is not None:
        raise Conflict(f"another run of the session {session} is going on", hint="try again when it is done")
    connection.execute(
        "INSERT INTO run (id, kind, session, job, model, via, state, started_at) VALUES (?,?,?,?,?,?,'running',?)",
        (identity, kind, session, job, model, via, at),
    )


def record_usage(
    connection: apsw.Connection, identity: str, usage: Usage, cost: int | None, model: str | None = None
) -> None:
    """What a running run has used so far: if its worker is killed, the day's budget has it all the same.

    `model`: who answered, for a run of which that was not known when it began.
    """
    connection.execute(
        "UPDATE run SET input_tokens = ?, output_tokens = ?, cache_read = ?, cache_written = ?, cost_microusd = ?,"
        " model = coalesce(model, ?) WHERE id = ? AND state = 'running'",
        (usage.input, usage.output, usage.cache_read, usage.cache_written, cost, model, identity),
    )


def one_run(connection: apsw.Connection, identity: str) -> Run | None:
    """A run by its id."""
    found = _runs(connection, "WHERE r.id = ?", (identity,))
    return found[0] if found else None


def last(connection: apsw.Connection, kind: str, session: str | None = None) -> Run | None:
    """The newest run of a session; None as session: of the store."""
    found = _runs(connection, "WHERE r.kind = ?1 AND (?2 IS NULL OR r.session = ?2)", (kind, session), limit=1)
    return found[0] if found else None


def held_back(connection: apsw.Connection, kind: str, session: str, gate: str) -> int:
    """How many turns in a row one gate has held back since a session's turns were last looked at."""
    row = one(
        connection,
        "SELECT coalesce(sum(max(coalesce(j.turns, 1), 1)), 0) FROM run r LEFT JOIN job j ON j.seq = r.job"
        " WHERE r.kind = ?1 AND r.session = ?2 AND r.gate = ?3"
        " AND r.seq > coalesce((SELECT max(seq) FROM run WHERE kind = ?1 AND session = ?2"
        " AND outcome IN ('saved', 'nothing', 'more')), 0)",
        (kind, session, gate),
    )
    return 0 if row is None else int(row[0])


def in_a_row(connection: apsw.Connection, kind: str, session: str, gate: str) -> int:
    """How many of a session's newest runs, one after the other, ended at this gate."""
    row = one(
        connection,
        "SELECT count(*) FROM run WHERE kind = ?1 AND session = ?2 AND gate = ?3 AND seq > coalesce((SELECT max(seq)"
        " FROM run WHERE kind = ?1 AND session = ?2 AND gate IS NOT ?3 AND state <> 'running'), 0)",
        (kind, session, gate),
    )
    return 0 if row is None else int(row[0])


def has_left(connection: apsw.Connection, kind: str, session: str) -> bool:
    """Whether the newest of a session's runs that read on left the rest to the next one."""
    row = one(
        connection,
        "SELECT outcome FROM run WHERE kind = ? AND session = ? AND outcome <> 'failed' AND gate IS NOT 'every'"
        " ORDER BY seq DESC LIMIT 1",
        (kind, session),
    )
    return row is not None and row[0] == "more"


def log(connection: apsw.Connection, limit: int = -1, *, session: str | None = None) -> list[Run]:
    """Runs of all kinds, newest first; but none that picked memories: there is one for each prompt."""
    return _runs(connection, "WHERE (?1 IS NULL OR r.session = ?1) AND r.kind <> 'recall'", (session,), limit=limit)


def newest(connection: apsw.Connection, kind: str, limit: int) -> list[Run]:
    """The newest run of each of the sessions that came last, newest first.

    A run that found nobody had said anything hides none that looked: each session ends with such a one.
    """
    found = "SELECT coalesce(max(seq) FILTER (WHERE gate IS NOT 'substance'), max(seq)) FROM run WHERE kind = ?"
    return _runs(connection, f"WHERE r.seq IN ({found} GROUP BY session)", (kind,), limit=limit)


def sessions(connection: apsw.Connection, beginning: str) -> list[str]:
    """The sessions that have a job or a run and whose id begins so."""
    rows = many(
        connection,
        "SELECT session FROM (SELECT session FROM job UNION SELECT session FROM run)"
        " WHERE substr(session, 1, length(?1)) = ?1 ORDER BY session",
        (beginning,),
    )
    return [str(row[0]) for row in rows]


def events(connection: apsw.Connection, run: int) -> list[Event]:
    """What happened in a run, by its number, in order."""
    rows = many(connection, "SELECT kind, text, at FROM run_event WHERE run = ? ORDER BY n", (run,))
    return [Event(*row) for row in rows]


def cost_since(connection: apsw.Connection, at: int, until: int = 2**63 - 1) -> tuple[int, int]:
    """What the runs that began at or after `at`, and before `until`, have cost, and how many have a cost that is not
    known."""
    row = one(
        connection,
        "SELECT coalesce(sum(cost_microusd), 0), count(*) FILTER (WHERE cost_microusd IS NULL"
        " AND input_tokens + output_tokens + cache_read + cache_written > 0) FROM run WHERE started_at >= ?"
        " AND started_at < ?",
        (at, until),
    )
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def untold(connection: apsw.Connection, until: int = 2**63 - 1) -> list[Run]:
    """The runs that saved something, up to an operation, of which no session has been told yet, oldest first."""
    return _runs(connection, "WHERE r.told = 0 AND r.operation <= ?", (until,))[::-1]


def saved_untold(connection: apsw.Connection) -> list[tuple[int, list[str]]]:
    """What the runs of which no session was told saved: the number of each operation, and the memories' paths.

    Notes of sessions are not told of, nor what was taken back already. A path is empty where the words are a tool's:
    a name that is made of them may be an order, and nobody asked for it.
    """
    found: dict[int, list[str]] = {}
    for seq, path in many(
        connection,
        "SELECT r.operation, iif(v.origin = 'tool', '', coalesce((SELECT path FROM memory m WHERE m.pk = v.memory),"
        " v.path) || iif(v.state = 'retired', ' (deleted)', ''))"
        " FROM run r JOIN version v ON v.operation = r.operation WHERE r.told = 0 AND r.kind <> ?"
        " AND NOT EXISTS (SELECT 1 FROM operation o JOIN operation u ON u.undoes = o.id WHERE o.seq = r.operation)"
        " ORDER BY r.operation, v.pk",
        (NOTES_KIND,),
    ):
        found.setdefault(int(seq), []).append(str(path))
    return list(found.items())


def taken_back(connection: apsw.Connection, operation: str) -> int | None:
    """The number of the operation that took another one back."""
    row = one(connection, "SELECT max(seq) FROM operation WHERE undoes = ?", (operation,))
    return None if row is None else row[0]


def tell(connection: apsw.Connection, identities: Sequence[str]) -> None:
    """Notes that a session was told what these runs saved."""
    connection.executemany("UPDATE run SET told = 1 WHERE id = ?", [(identity,) for identity in identities])


def cursor(connection: apsw.Connection, kind: str, session: str) -> Cursor | None:
    """How far a session's transcript was read."""
    row = one(
        connection,
        "SELECT kind, session, transcript, message, offset, digest FROM cursor WHERE kind = ? AND session = ?",
        (kind, session),
    )
    return None if row is None else Cursor(*row)


def taken(connection: apsw.Connection, messages: Sequence[bytes]) -> frozenset[bytes]:
    """Those of these messages whose outcome is recorded, in whatever session."""
    known: set[bytes] = set()
    for start in range(0, len(messages), 500):
        part = messages[start : start + 500]
        marks = ",".join("?" * len(part))
        known.update(row[0] for row in many(connection, f"SELECT message FROM taken WHERE message IN ({marks})", part))
    return frozenset(known)


def sources(connection: apsw.Connection, memory: str) -> list[tuple[int, str, str]]:
    """The messages that a memory's versions were made from: (number of the operation, session, message)."""
    rows = many(
        connection,
        "SELECT s.operation, s.session, s.message FROM source s JOIN memory m ON m.pk = s.memory WHERE m.id = ?"
        " ORDER BY s.operation, s.session, s.message",
        (memory,),
    )
    return [(int(row[0]), str(row[1]), str(row[2])) for row in rows]


def _runs(connection: apsw.Connection, where: str, values: tuple[object, ...], limit: int = -1) -> list[Run]:
    rows = many(connection, f"{_RUN_COLUMNS} {where} ORDER BY r.seq DESC LIMIT {int(limit)}", values)
    return [_run(row) for row in rows]


def _run(row: Row) -> Run:
    values: Row = (*row[:17], bool(row[17]), row[18], Usage(*row[19:]))
    return Run(*values)
