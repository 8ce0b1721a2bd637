"""Store: one SQLite file, and the only way into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import apsw

from memstore.core.model import SHELF, Applied, ConflictRecord, Memory, Operation, Provenance, Shelf, Version
from memstore.core.terms import Query
from memstore.errors import Defect, MemstoreError, StoreUnavailable
from memstore.store import migrate, reader, search
from memstore.store.connection import Link, open_link
from memstore.store.opening import DATABASE as DATABASE
from memstore.store.opening import open_ready
from memstore.store.stamps import missing_names

if TYPE_CHECKING:
    # What only writing needs is imported where something is written: a search must not pay for it.
    from memstore.core.changes import ChangeSet
    from memstore.core.index_values import Line
    from memstore.core.undo import LineStep, Step
    from memstore.store import daylog, runs, shown, steps
    from memstore.store.inbox import Arrival

T = TypeVar("T")
Made = list[tuple[str, str, int, str]]
_NOBODY = Provenance("tool", "")
IN_PLACE = "in place"
"""The kind of operation that takes in what is only read (`files/in_place.py`)."""


class Store:
    """All reads and writes of one store. One object belongs to one thread of one process.

    Every method raises the kinds of `errors.StoreUnavailable` where the database cannot be used.
    """

    def __init__(self, directory: str, link: Link, clock: Callable[[], int]) -> None:
        self.directory = directory
        self.path = link.path
        self._link = link
        self._clock = clock
        self.refusal: MemstoreError | None = None
        """Why no operation but one of the kind `IN_PLACE` is to be done here, where that is so."""

    @classmethod
    def open(cls, directory: str, store: str, clock: Callable[[], int], *, writable: bool = True) -> Store:
        """Opens the store in `directory`, making it where there is none.

        `store`: the id a new store gets. `clock`: unix microseconds. Raises StoreNewer, StoreDamaged and kin.
        """
        return cls(directory, open_ready(directory, store, clock, writable=writable), clock)

    def close(self) -> None:
        """Closes the database."""
        self._link.close()

    @property
    def id(self) -> str:
        """The store's id, which its directory is named after."""
        return os.path.basename(self.directory)

    @property
    def _home(self) -> str:
        return os.path.dirname(os.path.dirname(self.directory))

    @property
    def writable(self) -> bool:
        """Whether this process may write the store."""
        return self._link.writable

    @property
    def engine(self) -> str:
        """The version of SQLite."""
        return apsw.sqlite_lib_version()

    def now(self) -> int:
        """Unix microseconds, by the clock the store was given."""
        return self._clock()

    # Writing

    def apply(
        self,
        change_set: ChangeSet,
        *,
        folder: int | None = None,
        shown_changes: Sequence[shown.ShownChange] = (),
    ) -> Applied:
        """Commits a change set, and with it what a folder shows. On return it survives a power cut.

        Raises StaleVersion, NameTaken, OperationReused (nothing was written then), StoreBusy, DiskFull and kin.
        A commit that fails may be found done after a crash, so its operation is looked up afresh.
        """
        from memstore.store import shown, writer

        if self.refusal is not None and change_set.kind != IN_PLACE:
            raise self.refusal
        texts = writer.prepare_all(change_set)
        request = writer.request_digest(change_set)

        def commit(connection: apsw.Connection) -> Applied:
            applied = writer.apply(connection, change_set, texts, request)
            if folder is not None and shown_changes:
                shown.write(connection, folder, tuple(shown_changes), change_set.at, applied.seq)
            return applied

        return self.surely(commit, lambda connection: writer.repeated(connection, change_set.operation, request))

    def finish_run(
        self,
        end: runs.RunEnd,
        change_set: ChangeSet | None = None,
        cursor: runs.Cursor | None = None,
        taken: Sequence[bytes] = (),
        sources: Sequence[runs.Source] = (),
        dreamt: steps.Dreamt | None = None,
    ) -> Applied | None:
        """Ends a run and its job, and commits with it what it saved and how far it read: all of it, or nothing.

        `taken`: the digests of the messages whose outcome is known now. Raises what `apply` does, of which StaleVersion
        and kin leave the run going on, and Conflict where another worker has closed the run. `dreamt`: what a dream has
        at its end besides.
        """
        from memstore.store import ending

        if self.refusal is not None and change_set is not None:
            raise self.refusal
        all_of_it = ending.prepare(end, change_set, cursor, taken, sources, dreamt)
        return self.surely(
            lambda connection: (ending.finish(connection, all_of_it),),
            lambda connection: ending.finished(connection, all_of_it),
        )[0]

    def note(self, entry: daylog.Entry) -> daylog.Entry:
        """Keeps an entry of the log of the day, once for its id. On return it survives a power cut.

        Raises OperationReused.
        """
        from memstore.store import daylog

        if self.refusal is not None:
            raise self.refusal
        try:
            with self._link.writing() as connection:
                return daylog.add(connection, entry)
        except StoreUnavailable:
            found = self._look_up(lambda connection: daylog.by_id(connection, entry.id))
            if found is None or found.text != entry.text:
                raise
            return found

    def done(self, operation: str, request: str, kind: str) -> Applied | None:
        """What an operation id did when it was used before; None where it is new. Raises OperationReused."""
        from memstore.core.changes import ChangeSet
        from memstore.store import writer

        wanted = writer.request_digest(ChangeSet(operation, kind, 0, _NOBODY, request=request))
        with self._link.reading() as connection:
            return writer.repeated(connection, operation, wanted)

    def surely(self, commit: Callable[[apsw.Connection], T], ask: Callable[[apsw.Connection], T | None]) -> T:
        """One write transaction. `ask` finds out, on a fresh connection, what it came to when its commit failed."""
        try:
            with self._link.writing() as connection:
                return commit(connection)
        except StoreUnavailable:
            found = self._look_up(ask)
            if found is None:
                raise
            return found

    def _look_up(self, ask: Callable[[apsw.Connection], T | None]) -> T | None:
        """The answer of a fresh connection, which alone knows what a commit that failed came to."""
        try:
            link = open_link(self.path, writable=False)
        except MemstoreError:
            return None
        try:
            with link.reading() as connection:
                return ask(connection)
        except MemstoreError:
            return None
        finally:
            link.close()

    def show(
        self,
        folder: int,
        changes: Sequence[shown.ShownChange],
        *,
        shows: int | None = None,
        stamp: str | None = None,
        durable: bool = True,
    ) -> None:
        """Records what a folder shows now. `shows`: every operation up to this one; `stamp`: the directory's own.

        Not `durable`: a power cut may undo it, but nothing that was committed before or after it.
        """
        from memstore.store import shown

        with self._link.writing(durable=durable) as connection:
            shown.write(connection, folder, tuple(changes), self._clock())
            if shows is not None:
                shown.set_shows(connection, folder, shows)
            shown.set_stamp(connection, folder, stamp)

    def receive(self, arrivals: Sequence[Arrival]) -> None:
        """Puts what hooks saw into the inbox. A call that arrives again counts once."""
        from memstore.store import inbox

        with self._link.writing() as connection:
            inbox.receive(connection, arrivals)

    @contextmanager
    def change(self, *, durable: bool = True) -> Iterator[apsw.Connection]:
        """One write transaction, for the functions of this room that write what is no operation.

        Not `durable`: a power cut may undo it, but nothing that was committed before or after it.
        """
        with self._link.writing(durable=durable) as connection:
            yield connection

    def has_spooled(self) -> bool:
        """Whether records of hooks wait that could not be written when they ran."""
        if not os.path.isdir(os.path.join(self._home, "spool")):
            return False
        from memstore.store import spool

        return bool(spool.waiting(self._home, self.id))

    def take_spooled(self) -> None:
        """Writes what hooks could not write when they ran. What cannot be written now either waits on."""
        if not self.writable or not self.has_spooled():
            return
        from memstore.store import sessions, spool

        for path in spool.waiting(self._home, self.id):
            records = spool.read(path)
            if records is None:
                continue
            try:
                with self._link.writing() as connection:
                    for what, values in records:
                        connection.execute(sessions.STATEMENTS[what], values)
            except StoreUnavailable:
                return
            except Defect:  # nothing that a hook wrote
                spool.put_away(path)
            spool.remove(path)

    def mark_gone(self, folder: int, since: int | None) -> None:
        """Records since when a folder is missing or empty (unix microseconds); None: it is there."""
        from memstore.store import shown

        with self._link.writing() as connection:
            shown.set_gone(connection, folder, since)

    def add_folder(self, path: str) -> shown.FolderRow:
        """The row of a folder, made where there is none."""
        from memstore.store import shown

        with self._link.reading() as connection:
            row = shown.folder_row(connection, path)
        if row is not None:
            return row
        with self._link.writing() as connection:
            return shown.add_folder(connection, path, self._clock())

    def forget_shown(self, folder: int) -> None:
        """Drops all that is known of a folder's files, so that it is shown afresh."""
        from memstore.store import shown

        with self._link.writing() as connection:
            shown.forget_all(connection, folder, self._clock())

    # Reading

    @contextmanager
    def view(self) -> Iterator[apsw.Connection]:
        """One moment of the store, for several reads by the functions of this room."""
        with self._link.reading() as connection:
            yield connection

    def at(self, shelf: Shelf, path: str) -> Memory | None:
        """The memory at an address, living or retired."""
        with self.view() as connection:
            return reader.by_path(connection, shelf, path)

    def memory(self, memory: str) -> Memory | None:
        """A memory by its id."""
        with self.view() as connection:
            return reader.by_id(connection, memory)

    def named(self, shelf: Shelf, name: str) -> list[Memory]:
        """The living memories with this `name`."""
        with self.view() as connection:
            return reader.by_name(connection, shelf, name)

    def formerly_at(self, shelf: Shelf, path: str) -> Memory | None:
        """The memory that stood at an address before it was renamed."""
        with self.view() as connection:
            return reader.by_old_path(connection, shelf, path)

    def memories(self, shelf: Shelf | None = None, *, retired: bool = False) -> list[Memory]:
        """All living memories, by path; with `retired` the others too."""
        with self.view() as connection:
            return reader.heads(connection, shelf, retired=retired)

    def versions(self, memory: str) -> list[Version]:
        """All versions of a memory, oldest first."""
        with self.view() as connection:
            return reader.versions(connection, memory)

    def version(self, memory: str, *, number: int = 0, token: str = "") -> Version | None:
        """One version of a memory."""
        with self.view() as connection:
            return reader.version_by(connection, memory, number=number, token=token)

    def operation(self, reference: str) -> Operation | None:
        """An operation by its number (`12`, `#12`) or the beginning of its id."""
        number = reference.removeprefix("#")
        with self.view() as connection:
            found = None
            if number.isascii() and number.isdigit() and len(number) < 19:
                found = reader.operation_by_seq(connection, int(number))
            return found or reader.operation_by_id(connection, reference)

    def operations(
        self, memory: str | None = None, *, since: int = 0, before: int | None = None, limit: int = -1
    ) -> list[tuple[Operation, Made]]:
        """Operations, newest first, with what each made; of those since a moment, and before a place in the order."""
        with self.view() as connection:
            return list(reader.operations(connection, memory=memory, since=since, before=before, limit=limit))

    def made_by(self, seq: int) -> tuple[list[Version], list[LineStep]]:
        """The versions and the index lines that an operation wrote."""
        from memstore.store import lines

        with self.view() as connection:
            return reader.versions_of(connection, seq), lines.steps_of(connection, seq)

    def steps(self, seq: int) -> tuple[list[Step], list[LineStep]]:
        """What an operation did to each memory and index line, and how they stand now: all of one moment."""
        from memstore.core.undo import Step
        from memstore.store import lines

        with self.view() as connection:
            steps = []
            for made in reader.versions_of(connection, seq):
                before = reader.version_by(connection, made.memory, number=made.number - 1)
                now = reader.by_id(connection, made.memory)
                assert now is not None
                steps.append(Step(made, None if before is None else before.state, now))
            return steps, lines.steps_of(connection, seq)

    def conflicts(self, *, everything: bool = False) -> list[ConflictRecord]:
        """Open conflicts, oldest first; with `everything` the settled ones too."""
        with self.view() as connection:
            return reader.conflicts(connection, everything=everything)

    def search(self, query: Query, filters: search.Filters, limit: int, offset: int = 0) -> list[search.Hit]:
        """Ranked hits; never raises for anything a person types."""
        with self.view() as connection:
            return search.search(connection, query, filters, limit, offset)

    def missing(self, folder: str, among: Sequence[str] | None = None) -> frozenset[str]:
        """The names whose files were not there when a folder was last looked at; of all, or of those among these."""
        with self.view() as connection:
            return missing_names(connection, os.path.realpath(folder), among)

    def index(self, shelf: Shelf = SHELF) -> list[Line]:
        """The lines of an index, in order."""
        from memstore.store import lines

        with self.view() as connection:
            return lines.rows(connection, shelf)

    def schema(self) -> int:
        """The schema's number."""
        with self.view() as connection:
            return migrate.schema_version(connection)

    def knows(self, content: bytes) -> bool:
        """Whether this very text was taken in or put aside: in whatever version, conflict or file."""
        with self.view() as connection:
            return reader.knows(connection, content)

    def counts(self) -> dict[str, int]:
        """How many there are of everything."""
        with self.view() as connection:
            return reader.counts(connection)
