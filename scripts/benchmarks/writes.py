"""One acknowledged write through the store, against the very statements that it comes to, run bare.

Three stores hold the same rows. One is written by the program and timed. A second gets the same change sets and
tells, untimed, every statement with its values; the third gets those statements through apsw alone: the same rows,
the same search terms, the same digests, all of them worked out beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import count
from random import Random
from typing import Any

import apsw

from memstore.core.changes import Append, Change, ChangeSet, Create, Revise
from memstore.core.ids import token, uuid7
from memstore.core.model import SHELF, Provenance
from memstore.store.store import Store
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Row, interleaved, middle, ratio, workplace

Statement = tuple[str, Any]

_WHO = Provenance("agent", "bench", "session", "/checkout", "main", "0" * 40)
_LIMIT = 1.5


class Ids:
    """The same ids and times in the same order, for stores that are to stay alike."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self) -> str:
        """The next id."""
        number = next(self._numbers)
        return uuid7_of(number)


def clock() -> int:
    """One moment for all: no row differs by it."""
    return 1_700_000_000_000_000


def change_set(ids: Ids, *changes: Change) -> ChangeSet:
    """One operation of the bench."""
    return ChangeSet(ids.new(), "write", clock(), _WHO, changes)


def opened(directory: str, name: str) -> Store:
    """A new store below a directory."""
    return Store.open(os.path.join(directory, name), uuid7(0, bytes(10)), clock)


def filled(store: Store, corpus: Corpus, memories: int, ids: Ids) -> list[str]:
    """Writes that many memories and returns their ids."""
    made = [Create(ids.new(), SHELF, path, text) for path, text in corpus.memories(memories)]
    for at in range(0, memories, 500):
        store.apply(change_set(ids, *made[at : at + 500]))
    return [create.memory for create in made]


class Recorder:
    """A store that tells the statements of each write."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def statements(self, wanted: ChangeSet) -> list[Statement]:
        """Carries out a change set; what SQLite was told to do between BEGIN and COMMIT, both included."""
        told: list[Statement] = []

        def listen(_: apsw.Cursor, sql: str, values: Any) -> bool:
            told.append((sql, values))
            return True

        with self._store.view() as connection:
            pass
        connection.exec_trace = listen
        try:
            self._store.apply(wanted)
        finally:
            connection.exec_trace = None
        return told


def bare_connection(path: str) -> apsw.Connection:
    """A connection with the pragmas of the store's, and nothing around it."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA synchronous = FULL")
    return connection


def run_bare(connection: apsw.Connection, statements: Sequence[Statement]) -> None:
    """Runs the statements, and reads what those that read give."""
    for sql, values in statements:
        cursor = connection.execute(sql, values)
        if sql.startswith("SELECT"):
            cursor.fetchall()


def one_write(quick: bool) -> list[Row]:
    """Creating, revising and appending, each against the same statements bare."""
    rounds, memories = (60, 200) if quick else (400, 1_000)
    corpus = Corpus()
    rows = []
    with workplace() as directory:
        ids = [Ids(), Ids(), Ids()]
        stores = [opened(directory, name) for name in ("timed", "recorded", "bare")]
        known, *_ = [filled(store, corpus, memories, its) for store, its in zip(stores, ids, strict=True)]
        stores[2].close()
        bare = bare_connection(stores[2].path)
        recorder = Recorder(stores[1])
        sets = _Sets(corpus, known)
        kinds: list[tuple[str, Callable[[Ids, int], ChangeSet]]] = [
            ("revise a memory of 1.5 KB", sets.revise),
            ("append a line to one", sets.append),
            ("create one", sets.create),
        ]
        for what, make in kinds:
            wanted = [(make(ids[0], n), make(ids[1], n)) for n in range(rounds + 3)]
            recorded = [recorder.statements(second) for _, second in wanted]
            timed, baseline = interleaved(
                rounds,
                lambda n, wanted=wanted: stores[0].apply(wanted[n + 3][0]),  # type: ignore[misc] # bound now
                lambda n, recorded=recorded: run_bare(bare, recorded[n + 3]),  # type: ignore[misc] # bound now
            )
            against = f"its {len(recorded[-1])} statements bare"
            rows.append(Row("write", what, middle(timed), "ms", middle(baseline), against, ratio("<=", _LIMIT)))
        bare.close()
        stores[0].close()
        stores[1].close()
    return rows


class _Sets:
    """Change sets that fit one after the other, whoever's ids they get."""

    def __init__(self, corpus: Corpus, known: list[str]) -> None:
        self._corpus = corpus
        self._known = known
        self._tokens: dict[tuple[int, str], str] = {}
        self._made = count(10_000)

    def revise(self, ids: Ids, number: int) -> ChangeSet:
        """A line of a memory says something else."""
        memory = self._known[number % len(self._known)]
        lines = self._corpus.text(number % len(self._known)).split(b"\n")
        lines[-3] = f"Since round {number // len(self._known)} of {number} it is otherwise.".encode()
        operation = ids.new()
        expect = self._tokens.get((id(ids), memory)) or self._first_token(memory)
        self._tokens[id(ids), memory] = token(memory, operation)
        return ChangeSet(operation, "write", clock(), _WHO, (Revise(memory, expect, b"\n".join(lines)),))

    def append(self, ids: Ids, number: int) -> ChangeSet:
        """One line more."""
        memory = self._known[number % len(self._known)]
        return change_set(ids, Append(memory, f"- And {number} is one more of them.".encode()))

    def create(self, ids: Ids, number: int) -> ChangeSet:
        """A new memory."""
        text = self._corpus.text(100_000 + number)
        return change_set(ids, Create(ids.new(), SHELF, f"new_{number:06}.md", text))

    def _first_token(self, memory: str) -> str:
        """The token of what `filled` wrote: its operations follow the ids of all memories."""
        at = self._known.index(memory)
        operation = uuid7_of(len(self._known) + 1 + at // 500)
        return token(memory, operation)


def uuid7_of(number: int) -> str:
    """The id that `Ids` gives as its n-th."""
    return uuid7(1_700_000_000_000 + number, Random(number).randbytes(10))
