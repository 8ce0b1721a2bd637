"""Import and export of memory directories.

An imported directory is remembered like a folder that is shown: what was taken from each of its files is the base
of the next import. So ancestry decides, never a clock: an older copy is known as such, an edit merges, and what has
no common ancestor with the memory of its name becomes a conflict with both texts kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

import memstore.core.decisions as d
from memstore.core.changes import AddIndexLine, ChangeSet, LineChange
from memstore.core.frontmatter import alike, calm, read
from memstore.core.index import take_in
from memstore.core.index_lines import Limits, parse
from memstore.core.index_render import render
from memstore.core.index_values import Line
from memstore.core.model import INDEX_NAME, SHELF, Memory, Provenance
from memstore.core.names import stem
from memstore.errors import (
    InputRefused,
    NameRefused,
    NameTaken,
    NotProjected,
    PlaceRefused,
    StaleVersion,
    StoreBusy,
)
from memstore.files.absorb import Absorber, Plan, Seen, resolver
from memstore.files.absorb_index import translated
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.report import ExportReport, ImportReport, Progress
from memstore.files.source import Source
from memstore.files.walk import Strange
from memstore.store import lines, reader, shown
from memstore.store.connection import Reading
from memstore.store.shown import FolderRow, ShownRow
from memstore.store.store import Store
from memstore.world import World

_ATTEMPTS = 20
_UNLIMITED = Limits(10**9, 10**12, 10**9, 10**12)


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

    An empty store takes the directory over as it is; otherwise memories that its index does not name get a line.
    Raises ImportRefused for a directory that cannot be read, StoreBusy where writers never rest.
    """
    source = Source(directory, world, progress)
    row = None if dry_run else store.add_folder(_ancestry(source.path))
    for _ in range(_ATTEMPTS):
        with store.view() as connection:
            known = row or shown.folder_row(connection, _ancestry(source.path)) or FolderRow(0, "", None, 0, None)
            taken = _Import(connection, known, source, world)
            taken.plan_all()
            empty = not (reader.heads(connection, None, retired=True) or lines.rows(connection))
        plan = taken.plan
        if dry_run or not (plan.writes or plan.shown):
            return taken.report(None)
        if not plan.writes:
            store.show(known.pk, plan.shown)
            return taken.report(None)
        change_set = ChangeSet(
            world.new_id(), "import", world.clock(), replace(provenance, origin="import"), tuple(plan.changes),
            tuple(plan.lines), tuple(plan.conflicts), reason=f"import of {source.path}", real=not empty,
        )  # fmt: skip
        try:
            applied = store.apply(change_set, folder=known.pk, shown_changes=plan.shown)
        except (StaleVersion, NameTaken):
            continue
        return taken.report(applied.seq)
    raise StoreBusy("the memories changed faster than the directory could be taken in", hint="try again")


def _ancestry(path: str) -> str:
    """The name under which the store remembers what it has in common with a directory that it is not shown in."""
    return f"import:{path}"


class _Import:
    def __init__(self, connection: Reading, row: FolderRow, source: Source, world: World) -> None:
        self._connection = connection
        self._row = row
        self._source = source
        self._world = world
        self._absorber = Absorber(connection, row.pk, world.new_id, world.clock(), first=False, listing_wait=None)
        self.plan: Plan = self._absorber.plan
        self._unchanged: list[str] = []
        self._duplicates: list[tuple[str, str]] = []
        self._older: list[str] = []
        self._skipped: list[tuple[str, str]] = []
        self._texts: dict[bytes, str] = {}
        self._lines = 0
        self._named: set[str | None] = set()

    def plan_all(self) -> None:
        index = self._source.files.get(INDEX_NAME, b"").decode("utf-8", "replace")
        self._named = {piece.target for piece in parse(index)}
        files = {name: content for name, content in self._source.files.items() if name != INDEX_NAME}
        own = {name: self._in_its_own_right(name, content) for name, content in files.items()}
        for name in sorted(files, key=lambda name: (not own[name], name.count("/"), name)):
            self._plan_file(name, files[name], own[name])
        if INDEX_NAME in self._source.files:
            self._plan_index(self._source.files[INDEX_NAME])

    def _in_its_own_right(self, name: str, content: bytes) -> bool:
        """Whether a file is a memory even if another has the same text: the index names it, or it names itself.

        A copy says of itself that it is another one: its `name` is that of the file it was copied from.
        """
        return name in self._named or (read(content).name or stem(name)) == stem(name)

    def _plan_file(self, name: str, content: bytes, own: bool) -> None:
        row, head = self._absorber.known(name)
        if row is None and head is None:
            twin = self._texts.get(content) or self._twin(content)
            if twin is not None and not own:
                self._duplicates.append((name, twin))
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
            self._absorber.stored_value(head).had(calm(content)) or (row is not None and row.content == content)
        ):
            self._older.append(name)
            return
        self._absorber.decide(name, seen)
        self._skipped += [(name, reason) for reason in self.plan.notices[told:]]
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
            if not step.text.strip() or step.text.rstrip("\r") in texts:
                continue
            if step.memory is not None and step.memory in listed:
                reason = f"a line of it is not taken, for its memory has one already: {step.text.strip()[:80]}"
                self._skipped.append((INDEX_NAME, reason))
            else:
                news.append(replace(step, rank=None))
        return news

    def report(self, seq: int | None) -> ImportReport:
        return ImportReport(
            self._source.path,
            tuple(noted for noted in self.plan.noted if noted.path != INDEX_NAME),
            tuple(self._unchanged),
            tuple(self._duplicates),
            tuple(self._older),
            tuple(sorted([*self._source.skipped, *self._skipped])),
            self._lines,
            seq,
        )


def export_directory(
    store: Store, directory: str, world: World, *, dry_run: bool = False, progress: Progress | None = None
) -> ExportReport:
    """Writes every memory and the whole index. A file that holds words the store does not know is left alone.

    What was written is remembered as what the directory and the store have in common. Raises PlaceRefused where
    the directory cannot be made or written, or some store projects into it.
    """
    with store.view() as connection:
        heads = {memory.path: memory for memory in reader.heads(connection, SHELF)}
        rows = lines.rows(connection)
        wanted = {path: memory.state.content for path, memory in heads.items()}
        if rows:
            wanted[INDEX_NAME] = render(rows, lines.entries(connection), _UNLIMITED).text.encode("utf-8")
    _check_target(store, directory)
    folder = Folder.open(directory, create=not dry_run, now=lambda: world.clock() * 1_000, pause=world.pause)
    if folder is None and not dry_run:
        raise PlaceRefused(f"the directory {directory} cannot be made", hint="choose another one")
    if folder is None:
        return ExportReport(os.path.realpath(directory), tuple(_in_order(wanted)), (), (), ())
    with folder:
        if read_claim(folder) is not None:
            raise PlaceRefused(
                f"{directory} is a memory folder that a store projects into", hint="export into another directory"
            )
        if not dry_run:
            _sweep(store, folder)
        report = _Export(store, folder, wanted, progress).run(dry_run)
    done = (*report.written, *report.unchanged)
    if not dry_run and store.writable and done:
        row = store.add_folder(_ancestry(report.target))
        store.show(row.pk, [_in_common(name, wanted[name], heads.get(name)) for name in done])
    return report


def _check_target(store: Store, directory: str) -> None:
    """An export goes into a directory of its own: never among databases, nor into what git keeps for itself."""
    if not directory.strip():
        raise InputRefused("an export needs a directory", hint="name one: memstore export DIR")
    target = os.path.realpath(directory)
    home = os.path.dirname(os.path.dirname(store.directory))
    if os.path.commonpath([home, target]) == home or ".git" in target.split(os.sep):
        raise PlaceRefused(f"{directory} is kept for other things", hint="export into a directory of its own")


def _sweep(store: Store, folder: Folder) -> None:
    """What an export that was killed left behind goes, where the store has its text."""
    for left in folder.leftovers(folder.scan()):
        if store.knows(left.content):
            folder.discard(left.kept, left.content)


def _in_order(names: Iterable[str]) -> list[str]:
    """Topics before the index that names them."""
    return sorted(names, key=lambda name: (name == INDEX_NAME, name))


def _in_common(name: str, content: bytes, head: Memory | None) -> ShownRow:
    return ShownRow(name, None if head is None else head.id, 0 if head is None else head.version, content)


class _Export:
    def __init__(self, store: Store, folder: Folder, wanted: Mapping[str, bytes], progress: Progress | None) -> None:
        self._store = store
        self._folder = folder
        self._wanted = wanted
        self._progress = progress
        self._unchanged: list[str] = []
        self._kept: list[tuple[str, str]] = []
        self._failed: list[tuple[str, str]] = []

    def run(self, dry_run: bool) -> ExportReport:
        puts = [put for name in _in_order(self._wanted) if (put := self._look(name)) is not None]
        written = []
        for done, (name, expect) in enumerate(puts):
            if self._progress is not None:
                self._progress(done, len(puts), name)
            if dry_run or self._put(name, expect):
                written.append(name)
        return ExportReport(
            self._folder.path, tuple(written), tuple(self._unchanged), tuple(self._kept), tuple(self._failed)
        )

    def _look(self, name: str) -> tuple[str, bytes | None] | None:
        """The name with what lies there and may be replaced, if it is to be written."""
        try:
            self._folder.check(name)
        except NameRefused as error:
            self._kept.append((name, error.reason))
            return None
        found = self._folder.read(name)
        if found is None:
            return name, None
        if isinstance(found, Strange):
            self._kept.append((name, found.reason))
        elif found.content == self._wanted[name]:
            self._unchanged.append(name)
        elif self._store.knows(found.content):
            return name, found.content
        else:
            self._kept.append((name, "it holds text that the store does not know; import it first, or move it away"))
        return None

    def _put(self, name: str, expect: bytes | None) -> bool:
        content = self._wanted[name]
        try:
            result = self._folder.put(name, content, expect=expect)
            if result.kept is None:
                return True
            back = self._folder.put_back_over(name, result.kept, content)
        except NotProjected as error:
            self._failed.append((name, error.reason))
            return False
        where = "" if back else f"; what lay there is kept as {result.kept}"
        self._kept.append((name, f"it changed just now{where}"))
        return False
