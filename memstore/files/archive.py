"""Import and export of memory directories.

An imported directory is remembered like a folder that is shown: what was taken from each of its files is the base
of the next import. So ancestry decides, never a clock: an older copy is known as such, an edit merges, and what has
no common ancestor with the memory of its name becomes a conflict with both texts kept.
"""

from __future__ import annotations

import os

import memstore.core.decisions as d
from memstore.core.changes import AddIndexLine, ChangeSet, LineChange
from memstore.core.frontmatter import alike, calm
from memstore.core.index import take_in
from memstore.core.index_lines import Limits
from memstore.core.index_render import render
from memstore.core.index_values import Line
from memstore.core.model import INDEX_NAME, SHELF, Provenance
from memstore.core.names import check_path
from memstore.errors import (
    ImportRefused,
    NameRefused,
    NameTaken,
    NotProjected,
    PlaceRefused,
    StaleVersion,
    StoreBusy,
)
from memstore.files.absorb import Absorber, Plan, Seen, resolver
from memstore.files.absorb_index import translated
from memstore.files.folder import Folder
from memstore.files.report import ExportReport, ImportReport, Progress
from memstore.files.walk import Strange
from memstore.store import lines, reader, shown
from memstore.store.connection import Reading
from memstore.store.shown import FolderRow, ShownRow
from memstore.store.store import Store
from memstore.world import World

_ATTEMPTS = 20
_UNLIMITED = Limits(10**9, 10**12, 10**9, 10**12)


class _Source:
    """A directory as it was read: nothing in it is ever written."""

    def __init__(self, directory: str, world: World, progress: Progress | None) -> None:
        self.files: dict[str, bytes] = {}
        self.skipped: list[tuple[str, str]] = []
        try:
            folder = Folder.open(directory, reserved=(), now=lambda: world.clock() * 1_000)
        except PlaceRefused as error:
            raise ImportRefused(str(error), hint=error.hint) from error
        if folder is None:
            raise ImportRefused(
                f"there is no directory {directory}", hint="give the directory that holds the .md files"
            )
        with folder:
            self.path = folder.path
            found = folder.scan()
            if not found.complete:
                raise ImportRefused(f"{directory} cannot be read whole", hint="mend its permissions")
            for done, name in enumerate(sorted(found.files)):
                if progress is not None:
                    progress(done, len(found.files), name)
                self._read(folder, name)
            self.skipped += sorted(found.strange.items())
            self.skipped += [(name, "another program's temporary or conflict copy") for name in found.debris]
            self.skipped += [(name, "not a Markdown file of this directory") for name in found.foreign]

    def _read(self, folder: Folder, name: str) -> None:
        try:
            if name != INDEX_NAME:
                check_path(name)
        except NameRefused as error:
            self.skipped.append((name, error.reason))
            return
        read = folder.read(name)
        if read is None or isinstance(read, Strange):
            self.skipped.append((name, "it vanished" if read is None else read.reason))
        elif not read.content.strip():
            self.skipped.append((name, "it is empty"))
        else:
            self.files[name] = read.content


def import_directory(
    store: Store,
    directory: str,
    world: World,
    provenance: Provenance,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Takes in every memory of a directory in one operation; with `dry_run` says exactly what it would do.

    Raises ImportRefused for a directory that cannot be read, StoreBusy where writers never rest.
    """
    source = _Source(directory, world, progress)
    row = None if dry_run else store.add_folder(source.path)
    for _ in range(_ATTEMPTS):
        with store.view() as connection:
            known = row or shown.folder_row(connection, source.path) or FolderRow(0, source.path, None, 0, None)
            taken = _Import(connection, known, source, world)
            taken.plan_all()
        plan = taken.plan
        if dry_run or not (plan.writes or plan.shown):
            return taken.report(None)
        who = Provenance(
            "import",
            provenance.author,
            provenance.session,
            provenance.worktree,
            provenance.branch,
            provenance.commit,
        )
        change_set = ChangeSet(
            world.new_id(), "import", world.clock(), who, tuple(plan.changes), tuple(plan.lines),
            tuple(plan.conflicts), reason=f"import of {source.path}",
        )  # fmt: skip
        if not plan.writes:
            store.show(known.pk, plan.shown)
            return taken.report(None)
        try:
            applied = store.apply(change_set, folder=known.pk, shown_changes=plan.shown)
        except (StaleVersion, NameTaken):
            continue
        return taken.report(applied.seq)
    raise StoreBusy("the memories changed faster than the directory could be taken in", hint="try again")


class _Import:
    def __init__(self, connection: Reading, row: FolderRow, source: _Source, world: World) -> None:
        self._connection = connection
        self._row = row
        self._source = source
        self._world = world
        self._absorber = Absorber(connection, row.pk, world.new_id, world.clock(), first=False, listing_wait=None)
        self.plan: Plan = self._absorber.plan
        self._unchanged: list[str] = []
        self._duplicates: list[tuple[str, str]] = []
        self._older: list[str] = []
        self._texts: dict[bytes, str] = {}
        self._lines = 0

    def plan_all(self) -> None:
        for name, content in sorted(self._source.files.items(), key=lambda item: (item[0].count("/"), item[0])):
            if name != INDEX_NAME:
                self._plan_file(name, content)
        if INDEX_NAME in self._source.files:
            self._plan_index(self._source.files[INDEX_NAME])

    def _plan_file(self, name: str, content: bytes) -> None:
        row, head = self._absorber.known(name)
        if row is None and head is None:
            twin = self._texts.get(content) or self._twin(content)
            if twin is not None:
                self._duplicates.append((name, twin))
                return
            self._texts[content] = name
        before = len(self.plan.noted)
        seen = Seen(d.File(name, content), None)
        if head is not None and head.state.live and alike(content, head.state.content):
            self._unchanged.append(name)
            if row is None or row.content != content:
                self.plan.shown.append(ShownRow(name, head.id, head.version, content))
            return
        if head is not None and (
            self._absorber.stored_value(head).had(calm(content)) or (row is not None and row.content == content)
        ):
            self._older.append(name)
            return
        self._absorber.decide(name, seen)
        for noted in self.plan.noted[before:]:
            if noted.what == "set aside":
                self._older.append(name)
        self.plan.noted[before:] = [noted for noted in self.plan.noted[before:] if noted.what != "set aside"]

    def _twin(self, content: bytes) -> str | None:
        found = [
            memory for memory in reader.with_text(self._connection, calm(content)) if memory.state.content == content
        ]
        return found[0].path if found else None

    def _plan_index(self, content: bytes) -> None:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            self._source.skipped.append((INDEX_NAME, "it is not UTF-8"))
            return
        rows = lines.rows(self._connection)
        added = take_in(text, resolver(self._connection, self.plan.made))
        steps = translated(added, [], self._world.new_id)
        if rows:
            steps = self._news(steps, rows)
        self._lines = len(steps)
        self.plan.lines += steps

    def _news(self, steps: list[LineChange], rows: list[Line]) -> list[LineChange]:
        """Of a foreign index the lines that ours does not have: pointers to memories without a line, and notes."""
        listed = {row.memory for row in rows if row.memory is not None}
        texts = {row.text.rstrip("\r") for row in rows}
        news: list[LineChange] = []
        for step in steps:
            assert isinstance(step, AddIndexLine)
            known = step.memory in listed if step.memory is not None else step.text.rstrip("\r") in texts
            if not known and step.text.strip():
                news.append(AddIndexLine(step.id, step.kind, step.text, step.memory, None, step.hook_by))
        return news

    def report(self, seq: int | None) -> ImportReport:
        return ImportReport(
            self._source.path,
            tuple(noted for noted in self.plan.noted if noted.path != INDEX_NAME),
            tuple(self._unchanged),
            tuple(self._duplicates),
            tuple(self._older),
            tuple(sorted(self._source.skipped)),
            self._lines,
            seq,
        )


def export_directory(
    store: Store, directory: str, world: World, *, dry_run: bool = False, progress: Progress | None = None
) -> ExportReport:
    """Writes every memory and the whole index. A file that holds words the store does not know is left alone.

    Raises PlaceRefused where the directory cannot be made or written.
    """
    with store.view() as connection:
        wanted = {memory.path: memory.state.content for memory in reader.heads(connection, SHELF)}
        rows = lines.rows(connection)
        if rows:
            wanted[INDEX_NAME] = render(rows, lines.entries(connection), _UNLIMITED).text.encode("utf-8")
        folder = Folder.open(directory, create=not dry_run, reserved=(), now=lambda: world.clock() * 1_000)
        target = os.path.realpath(directory)
        if folder is None:
            return ExportReport(target, tuple(sorted(wanted)), (), ())
    with folder:
        return _export(store, folder, wanted, dry_run, progress)


def _export(
    store: Store, folder: Folder, wanted: dict[str, bytes], dry_run: bool, progress: Progress | None
) -> ExportReport:
    written: list[str] = []
    unchanged: list[str] = []
    kept: list[tuple[str, str]] = []
    puts: list[tuple[str, bytes, bytes | None]] = []
    for name in sorted(wanted, key=lambda name: (name == INDEX_NAME, name)):
        found = folder.read(name)
        if found is None:
            puts.append((name, wanted[name], None))
        elif isinstance(found, Strange):
            kept.append((name, found.reason))
        elif found.content == wanted[name]:
            unchanged.append(name)
        elif store.knows(found.content):
            puts.append((name, wanted[name], found.content))
        else:
            kept.append((name, "it holds text that the store does not know; import it first, or move it away"))
    for done, put in enumerate(puts):
        if progress is not None:
            progress(done, len(puts), put[0])
        if not dry_run:
            try:
                result = folder.put(put[0], put[1], expect=put[2])
            except NotProjected as error:
                kept.append((put[0], error.reason))
                continue
            if result.kept is not None:
                folder.put_back_over(put[0], result.kept, put[1])
                kept.append((put[0], "it changed just now"))
                continue
        written.append(put[0])
    return ExportReport(folder.path, tuple(written), tuple(unchanged), tuple(kept))
