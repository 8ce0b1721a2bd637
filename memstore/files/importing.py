"""Import of memory directories, and of whatever was read as one.

What is imported is remembered like a folder that is shown: what was taken from each of its files is the base
of the next import. So ancestry decides, never a clock: an older copy is known as such, an edit merges, and what has
no common ancestor with the memory of its name becomes a conflict with both texts kept.
"""

from __future__ import annotations

from dataclasses import replace

import memstore.core.decisions as d
from memstore.core.changes import AddIndexLine, ChangeSet, LineChange, OpenConflict, Revise
from memstore.core.frontmatter import alike, calm, read
from memstore.core.index import take_in
from memstore.core.index_lines import parse
from memstore.core.index_values import Line
from memstore.core.model import INDEX_NAME, Memory, Origin, Provenance
from memstore.core.names import stem
from memstore.errors import (
    NameTaken,
    StaleVersion,
    StoreBusy,
)
from memstore.files.absorb import Absorber, Plan, Seen, resolver
from memstore.files.absorb_index import translated
from memstore.files.report import ImportReport, Noted, Progress
from memstore.files.source import Source, read_source
from memstore.store import lines, reader, shown, tombstones
from memstore.store.connection import Reading
from memstore.store.shown import FolderRow, ShownRow
from memstore.store.store import Store
from memstore.world import World

_ATTEMPTS = 20
_RULE_MERGED = 24


def import_source(
    store: Store,
    source: Source | str,
    world: World,
    provenance: Provenance,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Takes in every memory of a source in one operation; with `dry_run` says exactly what it would do.

    `source`: also as the path where it lies. An empty store takes a memory directory over as it is; otherwise memories
    that its index does not name get a line. Raises ImportRefused for a path that cannot be read, StoreBusy where
    writers never rest.
    """
    if isinstance(source, str):
        source = read_source(source, world, progress)
    row = None if dry_run else store.add_folder(source.key)
    for _ in range(_ATTEMPTS):
        with store.view() as connection:
            known = row or shown.folder_row(connection, source.key) or FolderRow(0, "", None, 0, None)
            taken = _importer(source)(connection, known, source, world, progress)
            taken.plan_all()
            empty = not (reader.heads(connection, None, retired=True) or lines.rows(connection))
        plan = taken.plan
        if dry_run or not (plan.writes or plan.shown):
            return taken.report(None)
        if not plan.writes:
            store.show(known.pk, plan.shown)
            return taken.report(None)
        change_set = ChangeSet(
            world.new_id(), "import", world.clock(), taken.provenance(provenance), tuple(plan.changes),
            tuple(plan.lines), tuple(plan.conflicts), reason=f"import of {source.path}",
            real=source.foreign or not empty, derived=taken.derived(),
        )  # fmt: skip
        try:
            applied = store.apply(change_set, folder=known.pk, shown_changes=plan.shown)
        except (StaleVersion, NameTaken):
            continue
        return taken.report(applied.seq)
    raise StoreBusy("the memories changed faster than those of the source could be taken in", hint="try again")


def _importer(source: Source) -> type[Import]:
    if source.exchange is None:
        return Import
    from memstore.files.reimporting import Reimport

    return Reimport


class Import:
    """The plan for one source at one moment of the store."""

    def __init__(
        self, connection: Reading, row: FolderRow, source: Source, world: World, progress: Progress | None
    ) -> None:
        self._connection = connection
        self._row = row
        self._source = source
        self._world = world
        self._progress = progress
        self._absorber = Absorber(connection, row.pk, self._new_id, world.clock(), first=False, listing_wait=None)
        self.plan: Plan = self._absorber.plan
        self._unchanged: list[str] = []
        self._duplicates: list[tuple[str, str]] = []
        self._older: list[str] = []
        self._skipped: list[tuple[str, str]] = []
        self._texts: dict[bytes, str] = {}
        self._lines = 0
        self._named: set[str | None] = set()
        self._written: dict[str, bytes] = {}
        """What the plan makes of a memory, by its id: an operation writes each only once."""

    def provenance(self, given: Provenance) -> Provenance:
        """Who speaks in the operation."""
        return replace(given, origin="import")

    def derived(self) -> tuple[tuple[str, Origin], ...]:
        """Memory id and origin of the words that are not simply the speaker's."""
        return ()

    def _new_id(self) -> str:
        return self._world.new_id()

    def plan_all(self) -> None:
        """Plans all of it."""
        index = self._source.files.get(INDEX_NAME, b"").decode("utf-8", "replace")
        self._named = {piece.target for piece in parse(index)}
        files = {name: content for name, content in self._source.files.items() if name != INDEX_NAME}
        own = {name: self._in_its_own_right(name, content) for name, content in files.items()}
        for done, name in enumerate(sorted(files, key=lambda name: self._order(name, own[name]))):
            if self._progress is not None:
                self._progress(done, len(files), name)
            self._plan_file(name, files[name], own[name])
        self.plan.noted[:] = [self._with_purge(noted) for noted in self.plan.noted]
        if INDEX_NAME in self._source.files:
            self._plan_index(self._source.files[INDEX_NAME])

    def _with_purge(self, noted: Noted) -> Noted:
        """Who brings back what was forgotten on purpose hears of it."""
        stone = tombstones.of_path(self._connection, noted.path) if noted.what == "created" else None
        told = "" if stone is None else f"operation #{stone.seq} purged a memory of this name"
        return replace(noted, detail="; ".join(filter(None, (noted.detail, told))))

    def _order(self, name: str, own: bool) -> tuple[bool, bool, int, str]:
        """The file that has its memory's path goes before one that lies there from before a renaming."""
        _, head = self._absorber.known(name)
        return head is not None and head.path != name, not own, name.count("/"), name

    def _in_its_own_right(self, name: str, content: bytes) -> bool:
        """Whether a file is a memory even if another has the same text: the index names it, or it names itself.

        A copy says of itself that it is another one: its `name` is that of the file it was copied from.
        """
        return name in self._named or (read(content).name or stem(name)) == stem(name)

    def _plan_file(self, name: str, content: bytes, own: bool) -> None:
        row, head = self._absorber.known(name)
        if row is None and head is None:
            if not own and self._is_copy(name, content):
                return
            self._texts.setdefault(content, name)
        before, told = len(self.plan.noted), len(self.plan.notices)
        seen = Seen(d.File(name, content), None)
        if head is not None and head.state.live and alike(content, head.state.content):
            self._unchanged.append(name)
            if row is None or row.content != content:
                self.plan.shown.append(ShownRow(name, head.id, head.version, content))
            return
        if head is not None and (
            self._absorber.stored_value(head).had(calm(content))
            or (row is not None and row.content == content)
            or reader.in_conflict(self._connection, head.id, content)
        ):
            self._older.append(name)
            return
        if head is not None and head.id in self._written:
            self._plan_second(name, content, row, head)
            return
        changes = len(self.plan.changes)
        self._absorber.decide(name, seen)
        for change in self.plan.changes[changes:]:
            if isinstance(change, Revise):
                self._written[change.memory] = change.content
        self._skipped += [(name, reason) for reason in self.plan.notices[told:]]
        for noted in self.plan.noted[before:]:
            if noted.what == "set aside":
                self._older.append(name)
        self.plan.noted[before:] = [noted for noted in self.plan.noted[before:] if noted.what != "set aside"]

    def _plan_second(self, name: str, content: bytes, row: ShownRow | None, head: Memory) -> None:
        """Another file of a memory that the plan writes already: it says the same, or both texts are kept."""
        if alike(content, self._written[head.id]):
            self._unchanged.append(name)
            self.plan.shown.append(ShownRow(name, head.id, head.version + 1, content))
            return
        base = None if row is None else row.content
        note = f"it is another file of {head.path}, which changed as well"
        self.plan.conflicts.append(OpenConflict(self._new_id(), head.id, name, "text", base, content, note))
        self.plan.shown.append(ShownRow(name, head.id, 0, content))
        self.plan.noted.append(Noted(name, "conflict", _RULE_MERGED, note))

    def _is_copy(self, name: str, content: bytes) -> bool:
        """Whether a text is that of another memory, or was: it does not become one of its own as that one moves on."""
        twin = self._texts.get(content) or self._twin(content)
        if twin is not None:
            self._duplicates.append((name, twin))
        elif reader.had_anywhere(self._connection, content):
            self._older.append(name)
        else:
            return False
        return True

    def _twin(self, content: bytes) -> str | None:
        found = [
            memory for memory in reader.with_text(self._connection, calm(content)) if memory.state.content == content
        ]
        return found[0].path if found else None

    def _plan_index(self, content: bytes) -> None:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            self._skipped.append((INDEX_NAME, "it is not UTF-8"))
            return
        before = shown.shown_row(self._connection, self._row.pk, INDEX_NAME)
        if before is not None and before.content == content:
            return
        rows = lines.rows(self._connection)
        added = take_in(text, resolver(self._connection, self.plan.made))
        steps = translated(added, [], self._world.new_id)
        if rows:
            known = "" if before is None else before.content.decode("utf-8")
            steps = self._news(steps, rows, known)
        self._lines = len(steps)
        self.plan.lines += steps
        self.plan.shown.append(ShownRow(INDEX_NAME, None, 0, content))

    def _news(self, steps: list[LineChange], rows: list[Line], before: str) -> list[LineChange]:
        """Of a foreign index the lines that ours does not have: pointers to memories without a line, and notes.

        Not those that it had `before`: who took them out of ours meant it. Other words for a memory that has its
        line are named, and stay in the directory.
        """
        listed = {row.memory for row in rows if row.memory is not None}
        texts = {text.rstrip("\r") for text in (*(row.text for row in rows), *before.split("\n"))}
        news: list[LineChange] = []
        for step in steps:
            assert isinstance(step, AddIndexLine)
            if not step.text.strip() or step.text.rstrip("\r") in texts or self._points_to_older(step):
                continue
            if step.memory is not None and step.memory in listed:
                reason = f"a line of it is not taken, for its memory has one already: {step.text.strip()[:80]}"
                self._skipped.append((INDEX_NAME, reason))
            else:
                news.append(replace(step, rank=None))
        return news

    def _points_to_older(self, step: AddIndexLine) -> bool:
        """Whether a line names a file that was not taken, as its memory was retired since: it would lead nowhere."""
        return step.memory is None and any(piece.target in self._older for piece in parse(step.text))

    def report(self, seq: int | None) -> ImportReport:
        """What was planned, or done as operation `seq`."""
        return ImportReport(
            self._source.path,
            tuple(noted for noted in self.plan.noted if noted.path != INDEX_NAME),
            tuple(self._unchanged),
            tuple(self._duplicates),
            tuple(self._older),
            tuple(sorted([*self._source.skipped, *self._skipped])),
            self._lines,
            seq,
            self._source.format,
        )
