"""Export of a memory directory: every memory, and the whole index."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from memstore.core.index_lines import Limits
from memstore.core.index_render import render
from memstore.core.model import INDEX_NAME, SHELF, Memory
from memstore.errors import InputRefused, NameRefused, NotProjected, PlaceRefused
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.report import ExportReport, Progress
from memstore.files.source import ancestry
from memstore.files.walk import Strange
from memstore.store import lines, reader
from memstore.store.shown import ShownRow
from memstore.store.store import Store
from memstore.world import World

_UNLIMITED = Limits(10**9, 10**12, 10**9, 10**12)


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
        row = store.add_folder(ancestry(report.target))
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
