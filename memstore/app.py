"""Memstore: the memories of one working directory. One short method for each thing that can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

from memstore.core.model import SHELF, ConflictRecord, Memory, Operation, Origin, Shelf, Version
from memstore.core.terms import Query, parse_query
from memstore.errors import InputRefused, NotFound
from memstore.files.freshness import has_news
from memstore.place import Place, find_place, open_store, registered
from memstore.store.search import Filters, Hit
from memstore.store.store import Made, Store
from memstore.world import World

if TYPE_CHECKING:
    # What a search does not need is imported where it is used: it would cost most of the time that a search takes.
    from memstore.checking import Checked
    from memstore.core.changes import Change
    from memstore.core.compare import BlamedLine
    from memstore.core.plan import OnConflict, Wanted
    from memstore.daily import LogDay, Noted
    from memstore.files.in_place import InPlace
    from memstore.files.report import ExportReport, ImportReport, Progress, SyncReport
    from memstore.files.source import Source
    from memstore.files.sync import Sync, Verdict
    from memstore.outcomes import Saved, Status, Undone
    from memstore.recall import Recalled
    from memstore.tidying import Choose, Tidied
    from memstore.writing import Done, Writer


class Memstore:
    """The memories of one working directory: open it, use it, close it (or use it in a `with` block).

    Raises the kinds of `memstore.errors.Mendable` for what a person can mend.
    """

    def __init__(self, world: World, place: Place, store: Store, shelf: Shelf = SHELF, origin: Origin | None = None):
        self.world = world
        self.place = place
        self.store = store
        self.shelf = shelf
        self._origin = origin
        self.undecided: tuple[str, ...] = ()
        """Why the last look of a reading method took in nothing of the folder: what it gave may be older than that."""

    @classmethod
    def open(
        cls,
        cwd: str | None = None,
        *,
        world: World | None = None,
        make: bool = True,
        origin: Origin | None = None,
        agent: str = "",
    ) -> Memstore:
        """The memories of `cwd` (by default the present directory), or an agent's own: `NAME` or `NAME:SCOPE`.
        With `make` a store is made where none is."""
        world = world or World.real(cwd, agent)
        place = registered(find_place(world), world, make=make)
        return cls(world, place, open_store(place, world), origin=origin)

    @cached_property
    def files(self) -> Sync | InPlace:
        """The store's one folder here."""
        from memstore.files.in_place import files_of

        return files_of(self.store, self.place.folder, self.place.root, self.world, self.place.refusal)

    @cached_property
    def _writer(self) -> Writer:
        from memstore.writing import Writer

        return Writer(self.store, self.world, self.world.provenance(self.place.root, self._origin), self.shelf)

    def close(self) -> None:
        """Closes the store."""
        self.store.close()

    def __enter__(self) -> Memstore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Writing

    def write(
        self,
        name: str,
        wanted: Wanted,
        *,
        expect: str | None = None,
        on_conflict: OnConflict = "merge",
        operation: str | None = None,
        reason: str = "",
    ) -> Saved:
        """Creates a memory, or replaces the one whose token is `expect`; a stale token is merged if that is clean."""
        self.files.absorb()
        return self._saved(
            self._writer.write(name, wanted, expect=expect, on_conflict=on_conflict, operation=operation, reason=reason)
        )

    def append(self, name: str, text: str, *, operation: str | None = None, reason: str = "") -> Saved:
        """Adds whole lines at the end of a memory, whatever it holds by now; makes it where there is none."""
        self.files.absorb()
        return self._saved(self._writer.append(name, text, operation=operation, reason=reason))

    def set_field(
        self, name: str, field: str, value: str, *, expect: str | None = None, operation: str | None = None
    ) -> Saved:
        """Sets `name`, `description` or `type`; every other byte of the memory stays."""
        from memstore.core.frontmatter import FIELDS
        from memstore.core.plan import plan_field

        if field not in FIELDS:
            raise InputRefused(f"there is no field {field!r}", hint=f"the fields are {', '.join(FIELDS)}")
        return self._change(
            name,
            lambda head: plan_field(head, field, value, expect),
            "set",
            operation=operation,
            asked=(field, value),
        )

    def rename(self, name: str, new_name: str, *, expect: str | None = None, operation: str | None = None) -> Saved:
        """Moves a memory to another name; its history and its index line go along."""
        from memstore.core.plan import plan_rename
        from memstore.writing import own_path

        path = own_path(new_name)
        return self._change(
            name, lambda head: plan_rename(head, path, expect), "rename", operation=operation, asked=new_name
        )

    def delete(self, name: str, *, expect: str | None = None, operation: str | None = None, reason: str = "") -> Saved:
        """Retires a memory: its file and its index line go, its versions stay and can be restored."""
        from memstore.core.plan import plan_retirement

        return self._change(
            name, lambda head: plan_retirement(head, expect), "delete", operation=operation, reason=reason
        )

    def pin(self, name: str, pinned: bool = True, *, operation: str | None = None) -> Saved:
        """Pins a memory: it keeps its place in a full index."""
        from memstore.core.changes import Pin

        return self._change(
            name,
            lambda head: None if head.state.pinned == pinned else Pin(head.id, pinned),
            "pin" if pinned else "unpin",
            operation=operation,
        )

    def supersede(self, name: str, by: str | None, *, operation: str | None = None) -> Saved:
        """Marks a memory as corrected by another; with None the mark goes."""
        from memstore.core.plan import plan_supersession

        self.files.absorb()
        correction = None if by is None else self._writer.find(by).id
        return self._change(
            name, lambda head: plan_supersession(head, correction), "supersede", operation=operation, asked=by
        )

    def note(self, text: str, *, operation: str | None = None, session: str | None = None) -> Noted:
        """Adds an entry to the log of the day. On return it is kept; its file has it now or soon (`unshown`)."""
        from memstore import daily

        return daily.note(self, text, self._origin, operation=operation, session=session)

    # Reading

    def day_log(self, day: str | None = None, *, days: int = 1) -> list[LogDay]:
        """The log of some days, oldest first; the last of them is `day` (YYYY-MM-DD), without it today."""
        from memstore import daily

        return daily.read(self, day, days)

    def memories(self, *, retired: bool = False) -> list[Memory]:
        """All memories, by path."""
        self.look()
        return self.store.memories(self.shelf, retired=retired)

    def show(self, name: str, *, version: int | None = None, token: str | None = None) -> tuple[Memory, Version]:
        """A memory and one of its versions, by default the present one. Retired ones are shown too."""
        head = self._current(name)
        found = self.store.version(head.id, number=version or (0 if token else head.version), token=token or "")
        if found is None:
            raise NotFound(f"{head.path} has no version {version or token}", hint=f"see `memstore log {head.path}`")
        return head, found

    def search(self, text: str, *, filters: Filters | None = None, limit: int = 20) -> tuple[Query, list[Hit]]:
        """Ranked hits for a person's words in any script, and the query they were read as."""
        self._freshen()
        query = parse_query(text)
        chosen = filters or Filters(scopes=(self.shelf.scope,))
        hits = self.store.search(query, chosen, limit)
        if hits and self._freshen([hit.path for hit in hits]):
            hits = self.store.search(query, chosen, limit)
        # What somebody has deleted is not handed out, although its deletion is believed only at a second look.
        folder = self.place.folder
        gone = self.store.missing(folder, [hit.path for hit in hits]) if hits and folder is not None else ()
        return query, [hit for hit in hits if hit.path not in gone] if gone else hits

    def recall(self, prompt: str, *, session: str | None = None, again: bool = False, most: int = 5) -> Recalled:
        """The memories that surely bear on a prompt, as data: `most`, and five in any case. What `session` knows is
        left out unless `again`."""
        from memstore.recall import Asked, recall

        return recall(self, Asked(prompt, session, again, most=max(0, min(most, 5)), scope=self.shelf.scope))

    def log(
        self, name: str | None = None, *, since: int = 0, before: int | None = None, limit: int = -1
    ) -> list[tuple[Operation, Made]]:
        """Operations, newest first: of one memory, or of the store; with `before` those that precede that number."""
        self._freshen()
        memory = None if name is None else self._current(name).id
        return self.store.operations(memory, since=since, before=before, limit=limit)

    def versions(self, name: str) -> list[Version]:
        """All versions of a memory, oldest first."""
        return self.store.versions(self._current(name).id)

    def blame(self, name: str) -> list[BlamedLine]:
        """Which version brought each line of a memory."""
        from memstore.core.compare import blame

        return blame(self.versions(name))

    def status(self) -> Status:
        """How things stand, after a whole scan of the folder."""
        from memstore.outcomes import status

        return status(self)

    def check(self, names: Sequence[str] = ()) -> list[Checked]:
        """Which of the files, functions and branches that memories name are not there; by default of all memories."""
        from memstore.checking import check

        return check(self, names)

    # Undo

    def undo(self, reference: str, *, operation: str | None = None) -> Undone:
        """Takes a whole operation back, by another one. Raises Conflict where later work stands in the way."""
        from memstore.outcomes import Undone

        self.files.absorb()
        found = self.operation(reference)
        applied = self._writer.undo(found, operation=operation)
        paths = tuple(version.state.path for version in applied.versions)
        return Undone(found, applied.operation, applied.seq, paths, self.files.settle())

    def restore(self, name: str, *, version: int | None = None, operation: str | None = None) -> Saved:
        """Puts an earlier version back as the newest one; a retired memory comes back as it was."""
        from memstore.core.changes import Restore
        from memstore.core.plan import last_living

        def step(head: Memory) -> Change | None:
            number = version if version is not None else last_living(self.store.versions(head.id))
            found = self.store.version(head.id, number=number)
            if found is None:
                raise NotFound(f"{head.path} has no version {number}", hint=f"see `memstore log {head.path}`")
            state = found.state
            return None if state == head.state else Restore(head.id, head.token, state)

        return self._change(name, step, "restore", retired=True, operation=operation, asked=version)

    def operation(self, reference: str) -> Operation:
        """An operation by its number in the log or the beginning of its id, or by that of its run. Raises NotFound."""
        from memstore.dream_answers import operation_of

        return operation_of(self.store, reference)

    # Files

    def tidy(
        self,
        choose: Choose | None = None,
        *,
        dry_run: bool = False,
        operation: str | None = None,
        progress: Progress | None = None,
    ) -> Tidied:
        """Does as one operation what `choose` takes of the proposals for tidying: by default what is safe."""
        from memstore.tidying import safe, tidy

        return tidy(
            self, choose or safe, self._writer.provenance, dry_run=dry_run, operation=operation, progress=progress
        )

    def sync(self, *, dry_run: bool = False, verdict: Verdict = "ask") -> SyncReport:
        """Takes in what was edited in the folder, then shows there what the store holds."""
        if dry_run:
            return self.files.preview()
        from memstore import daily

        return daily.after(self, self.files.run(verdict))

    def watch(self, stopped: Callable[[], bool], *, interval: float = 10.0) -> Generator[SyncReport, None, None]:
        """Syncs whenever something in the folder may have changed, and every `interval` seconds, until `stopped`.

        Yields the first report, then those with news. Ends early where the directory has another store or folder
        by now: open it again. Raises PlaceRefused where another process watches the store.
        """
        from memstore.files.watch import Watch

        return Watch(self.store, self.files, self.place.folder, self.world, self._is_here).reports(interval, stopped)

    def import_directory(
        self, source: str | Source, *, dry_run: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Takes in memories from a path, or what was read there. Nothing there changes; twice brings nothing new."""
        from memstore.files.importing import import_source

        self.files.absorb()
        report = import_source(self.store, source, self.world, self._writer.provenance, dry_run, progress)
        if not dry_run:
            self.files.settle()
        return report

    def export_directory(
        self, directory: str, *, dry_run: bool = False, progress: Progress | None = None
    ) -> ExportReport:
        """Writes all memories and the index into a directory. Files there that the store does not know stay."""
        from memstore.files.exporting import export_directory

        self.files.absorb()
        return export_directory(self.store, directory, self.world, dry_run=dry_run, progress=progress)

    # Conflicts

    def conflicts(self, *, everything: bool = False) -> Sequence[ConflictRecord]:
        """Texts that could not be merged, oldest first."""
        self._freshen()
        return self.store.conflicts(everything=everything)

    def resolve(self, reference: str, take: str, *, text: str | None = None) -> Saved | None:
        """Settles a conflict: `ours` keeps the current text, `theirs` takes the other, `both` joins them,
        `text` puts a text of your own. None where the conflict was about an index line and ours was kept."""
        from memstore.resolving import settle

        self.files.absorb()
        return settle(self, reference, take, text, self._writer.provenance)

    # Inside

    def _is_here(self) -> bool:
        """Whether a command that starts now would find this store and this folder."""
        known, found = self.place, find_place(self.world)
        return (found.store, found.folder, found.refusal) == (known.store, known.folder, known.refusal)

    def _current(self, name: str) -> Memory:
        """The memory of a name, living or retired, after a look at the very file that is about to be returned."""
        self._freshen()
        head = self._writer.find(name, retired=True)
        return self._writer.find(name, retired=True) if self._freshen([head.path]) else head

    def _freshen(self, names: Sequence[str] = ()) -> bool:
        """Takes in what was edited, if the folder or one of these files tells of an edit. True where it did."""
        news = has_news(self.store, self.place.folder, names)
        if news:
            self.look()
        return news

    def look(self) -> None:
        """Takes in what was edited, and notes in `undecided` why not. Reading methods call it where there is news."""
        report = self.files.absorb()
        doubtful = report.folder is None and self.place.folder is not None and self.store.writable
        self.undecided = report.notices if doubtful else ()

    def _change(
        self,
        name: str,
        step: Callable[[Memory], Change | None],
        what: str,
        *,
        retired: bool = False,
        operation: str | None = None,
        reason: str = "",
        asked: object = None,
    ) -> Saved:
        self.files.absorb()
        return self._saved(
            self._writer.change(name, step, what, retired=retired, operation=operation, reason=reason, asked=asked)
        )

    def _saved(self, done: Done) -> Saved:
        from memstore.outcomes import Saved

        operation, seq = (None, None) if done.applied is None else (done.applied.operation, done.applied.seq)
        return Saved(done.what, done.memory, operation, seq, self.files.settle())
