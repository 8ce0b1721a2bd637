"""What a dream did step by step, how far it has come, and what it had before it.

Times are unix microseconds. Call the functions that write inside a write transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from memstore.core.accounting import Account
from memstore.core.changes import ChangeSet
from memstore.core.dream_steps import Outcome, Planned, StepState
from memstore.core.model import Applied
from memstore.errors import Conflict
from memstore.store import writer
from memstore.store.connection import Row, many, one
from memstore.store.jobs import storable
from memstore.store.reader import text_content

_KEPT = 90 * 24 * 3600 * 1_000_000
"""Microseconds after which what a dream had before it is not remembered any more."""

_UNWANTED = 500

_STEP = (
    "SELECT s.n, s.part, s.action, s.memory, s.path, s.seen, s.content, s.into_path, s.into_memory, s.needs, s.origin,"
    " s.reason, s.state, s.told, (SELECT t.content FROM version v JOIN text t ON t.id = v.text"
    " JOIN memory m ON m.pk = v.memory WHERE m.id = s.memory AND v.token = s.seen) FROM run_step s"
)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come. `turns`: answers of the model; `calls`: of tools; `files`: that it has touched."""

    phase: str
    turns: int = 0
    calls: int = 0
    files: int = 0
    note: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class Dreamt:
    """What is committed with the end of a dream, beside what every run has.

    `lease`: its owner's token, without which nothing is committed. `memories`: a digest of the memories as the dream
    leaves them, None where it has to look again; `seen`: what else it had before it.
    """

    lease: str
    outcomes: Sequence[Outcome] = ()
    memories: bytes | None = None
    seen: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def note_progress(connection: apsw.Connection, run: str, progress: Progress) -> None:
    """Puts on record how far a run has come."""
    connection.execute(
        "INSERT INTO run_progress (run, at, phase, turns, calls, files, note)"
        " SELECT seq, ?2, ?3, ?4, ?5, ?6, ?7 FROM run WHERE id = ?1 ON CONFLICT (run) DO UPDATE SET"
        " at = excluded.at, phase = excluded.phase, turns = excluded.turns, calls = excluded.calls,"
        " files = excluded.files, note = excluded.note",
        (run, progress.at, progress.phase, progress.turns, progress.calls, progress.files, storable(progress.note)),
    )


def progress(connection: apsw.Connection, run: str) -> Progress | None:
    """How far a run has come; None where it has said nothing."""
    row = one(
        connection,
        "SELECT p.phase, p.turns, p.calls, p.files, p.note, p.at FROM run_progress p JOIN run r ON r.seq = p.run"
        " WHERE r.id = ?",
        (run,),
    )
    return None if row is None else Progress(*row)


def write(connection: apsw.Connection, run: int, outcomes: Iterable[Outcome], operation: int | None) -> None:
    """Puts the steps of a run on record, by its number, with what became of each."""
    for outcome in outcomes:
        step = outcome.step
        connection.execute(
            "INSERT INTO run_step (run, n, part, action, memory, path, seen, content, into_path, into_memory, needs,"
            " origin, reason, state, told, operation) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                run, step.n, step.part, step.action, step.memory, step.path, step.seen, step.content, step.into_path,
                step.into, json.dumps(step.needs), step.origin, storable(step.reason), outcome.state,
                storable(outcome.told), operation if outcome.state == "done" else None,
            ),
        )  # fmt: skip
        connection.executemany(
            "INSERT INTO run_line (run, n, m, fate, line, now, reason) VALUES (?,?,?,?,?,?,?)",
            [
                (run, step.n, m, each.fate, storable(each.line), storable(each.now), storable(each.reason))
                for m, each in enumerate(step.lines, 1)
            ],
        )


def of_run(connection: apsw.Connection, run: str) -> list[Outcome]:
    """The steps of a run, by its id, with what became of each."""
    rows = many(connection, f"{_STEP} JOIN run r ON r.seq = s.run WHERE r.id = ? ORDER BY s.n", (run,))
    lines: dict[int, list[Account]] = {}
    for n, line, fate, reason, now in many(
        connection,
        "SELECT l.n, l.line, l.fate, l.reason, l.now FROM run_line l JOIN run r ON r.seq = l.run WHERE r.id = ?"
        " ORDER BY l.n, l.m",
        (run,),
    ):
        lines.setdefault(n, []).append(Account(line, fate, reason, now))
    return [_outcome(row, tuple(lines.get(row[0], ()))) for row in rows]


def settle(
    connection: apsw.Connection, run: str, states: Mapping[int, tuple[StepState, str]], operation: str | None
) -> None:
    """Notes what became of steps that waited for a person: state and words by number. Raises Conflict for others.

    `operation`: the id of the one that did those that are done now.
    """
    for n, (state, told) in states.items():
        connection.execute(
            "UPDATE run_step SET state = ?3, told = ?4, operation = iif(?3 = 'done', (SELECT seq FROM operation"
            " WHERE id = ?5), NULL) WHERE run = (SELECT seq FROM run WHERE id = ?1) AND n = ?2 AND state = 'held'",
            (run, n, state, storable(told), operation),
        )
        if connection.changes() == 0:
            raise Conflict(f"step {n} of the run {run} does not wait for an answer any more")
    if operation is not None:
        connection.execute(
            "UPDATE run SET operation = coalesce(operation, (SELECT seq FROM operation WHERE id = ?2)), told = 1"
            " WHERE id = ?1",
            (run, operation),
        )


def accept(
    connection: apsw.Connection,
    run: str,
    states: Mapping[int, tuple[StepState, str]],
    change_set: ChangeSet,
    texts: Mapping[bytes, writer.Text],
    request: bytes,
) -> Applied:
    """Does what was accepted of the steps that waited, and notes what became of each."""
    applied = writer.apply(connection, change_set, dict(texts), request)
    if not applied.repeated:
        settle(connection, run, states, change_set.operation)
    return applied


def operations(connection: apsw.Connection, run: str) -> list[str]:
    """The ids of the operations that did the steps of a run, newest first."""
    rows = many(
        connection,
        "SELECT DISTINCT o.seq, o.id FROM run_step s JOIN run r ON r.seq = s.run"
        " JOIN operation o ON o.seq = s.operation WHERE r.id = ? ORDER BY o.seq DESC",
        (run,),
    )
    return [str(row[1]) for row in rows]


def waiting(connection: apsw.Connection) -> list[tuple[str, int]]:
    """The runs with steps that wait for a person, newest first, and how many these are."""
    rows = many(
        connection,
        "SELECT r.id, count(*) FROM run_step s JOIN run r ON r.seq = s.run WHERE s.state = 'held'"
        " GROUP BY r.seq ORDER BY r.seq DESC",
    )
    return [(str(row[0]), int(row[1])) for row in rows]


def unwanted(connection: apsw.Connection) -> list[Planned]:
    """The last steps that a person rejected or that were taken back, newest first."""
    rows = many(
        connection,
        f"{_STEP} WHERE s.state = 'rejected' OR EXISTS (SELECT 1 FROM operation o JOIN operation u ON u.undoes = o.id"
        " WHERE o.seq = s.operation AND NOT EXISTS (SELECT 1 FROM operation a WHERE a.undoes = u.id))"
        f" ORDER BY s.run DESC, s.n LIMIT {_UNWANTED}",
    )
    return [_outcome(row, ()).step for row in rows]


def seen(connection: apsw.Connection) -> tuple[bytes | None, dict[str, bytes]]:
    """The digest of the memories as the last dream left them, and what else it had before it."""
    row = one(connection, "SELECT input FROM dream WHERE id = 1")
    rows = many(connection, "SELECT name, digest FROM dream_seen")
    return None if row is None else row[0], {str(name): bytes(digest) for name, digest in rows}


def note_seen(connection: apsw.Connection, memories: bytes, there: Mapping[str, bytes], at: int) -> None:
    """Remembers what a dream had before it, and the memories as it left them."""
    connection.execute(
        "INSERT INTO dream (id, input) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET input = excluded.input", (memories,)
    )
    connection.executemany(
        "INSERT INTO dream_seen (name, digest, at) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
        " digest = excluded.digest, at = excluded.at",
        [(storable(name), digest, at) for name, digest in there.items()],
    )
    connection.execute("DELETE FROM dream_seen WHERE at < ?", (at - _KEPT,))


def _outcome(row: Row, lines: tuple[Account, ...]) -> Outcome:
    n, part, action, memory, path, token, content, into_path, into, needs, origin, reason, state, told, before = row
    step = Planned(
        n, part, action, memory, path, token, None if before is None else text_content(before),
        None if content is None else bytes(content), origin, reason, into, into_path,
        tuple((str(each[0]), str(each[1])) for each in json.loads(needs)), lines,
        loss=float(action in ("delete", "merge")),
    )  # fmt: skip
    return Outcome(step, state, told)
