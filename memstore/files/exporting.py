"""Export of the memories: into a directory, or as one file (`packing`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from memstore.core.model import INDEX_NAME, Version
from memstore.errors import InputRefused, NameRefused, NotProjected, PlaceRefused
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.packing import export_file
from memstore.files.report import ExportReport, Progress
from memstore.files.selecting import ALL, TEAM, Selection, Wish, select
from memstore.files.source import ancestry
from memstore.files.team import team_memories
from memstore.files.walk import Strange
from memstore.store.shown import ShownRow
from memstore.store.store import Store
from memstore.world import World

_AT_ONCE = 256
_TEAM_SHOWN = f"{TEAM}/"


def selected(store: Store, folder: str | None, wish: Wish) -> Selection:
    """What an export takes. `folder`: the memory folder, in which the client keeps what a team shares."""
    with_team = folder is not None and wish.scope in (TEAM, ALL)
    return select(store, wish, team_memories(folder) if with_team and folder is not None else ())


def export(
    store: Store,
    folder: str | None,
    target: str,
    world: World,
    wish: Wish,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ExportReport:
    """Writes the memories that are wished for to a directory or a file.

    Raises PlaceRefused where that cannot be made or written, or some store projects there.
    """
    _check_target(store, target)
    selection = selected(store, folder, wish)
    if wish.format == "dir":
        return _export_directory(store, target, selection, world, dry_run, progress)
    report = export_file(target, selection, wish, world, dry_run=dry_run, progress=progress)
    if wish.format == "zip" and not dry_run:
        _remember(store, report.target, selection, selection.files)
    return report


def export_directory(
    store: Store, directory: str, world: World, *, dry_run: bool = False, progress: Progress | None = None
) -> ExportReport:
    """Writes every memory and the whole index. A file that holds words the store does not know is left alone.

    What was written is remembered as what the directory and the store have in common. What holds a secret stays away.
    """
    return export(store, None, directory, world, Wish(), dry_run=dry_run, progress=progress)


def _export_directory(
    store: Store, directory: str, selection: Selection, world: World, dry_run: bool, progress: Progress | None
) -> ExportReport:
    report = _fill(store, directory, selection.files, world, dry_run, progress)
    if not dry_run:
        _remember(store, report.target, selection, (*report.written, *report.unchanged))
    if selection.team:
        shared = _fill_team(store, os.path.join(report.target, TEAM), selection.team, world, dry_run, progress)
        report = replace(
            report,
            written=(*report.written, *(_TEAM_SHOWN + path for path in shared.written)),
            unchanged=(*report.unchanged, *(_TEAM_SHOWN + path for path in shared.unchanged)),
            kept=(*report.kept, *((_TEAM_SHOWN + path, reason) for path, reason in shared.kept)),
            failed=(*report.failed, *((_TEAM_SHOWN + path, reason) for path, reason in shared.failed)),
        )
    return replace(report, withheld=selection.withheld)


def _fill_team(
    store: Store, directory: str, team: Mapping[str, bytes], world: World, dry_run: bool, progress: Progress | None
) -> ExportReport:
    """What a team shares stands in a directory of its own; where that cannot be, only these files stay away."""
    names = {path.removeprefix(_TEAM_SHOWN): content for path, content in team.items()}
    try:
        if os.path.islink(directory):
            raise PlaceRefused(f"{directory} is a link", hint="move it away")
        return _fill(store, directory, names, world, dry_run, progress)
    except PlaceRefused as error:
        return ExportReport(directory, (), (), tuple((name, str(error)) for name in sorted(names)), ())


def _remember(store: Store, target: str, selection: Selection, names: Iterable[str]) -> None:
    """What the store and an export have in common from now on."""
    rows = [_in_common(name, selection.files[name], selection.heads.get(name)) for name in names]
    if rows and store.writable:
        store.show(store.add_folder(ancestry(target)).pk, rows)


def _fill(
    store: Store, directory: str, wanted: Mapping[str, bytes], world: World, dry_run: bool, progress: Progress | None
) -> ExportReport:
    """Puts these files into a directory, which is made where there is none."""
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
        return _Export(store, folder, wanted, progress).run(dry_run)


def _check_target(store: Store, directory: str) -> None:
    """An export has a place of its own: never among databases, nor in what git keeps for itself."""
    if not directory.strip():
        raise InputRefused("an export needs a directory or a file", hint="name one: memstore export DIR")
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


def _in_common(name: str, content: bytes, head: Version | None) -> ShownRow:
    return ShownRow(name, None if head is None else head.memory, 0 if head is None else head.number, content)


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
        written = [name for name, _ in puts] if dry_run else list(self._put_all(puts))
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

    def _put_all(self, puts: Sequence[tuple[str, bytes | None]]) -> Iterator[str]:
        """The names that were written: many at a time, for the disk takes its time over each; the index at the end."""
        topics, index = ([put for put in puts if (put[0] == INDEX_NAME) is last] for last in (False, True))
        for part in (*(topics[at : at + _AT_ONCE] for at in range(0, len(topics), _AT_ONCE)), index):
            if part and self._progress is not None:
                self._progress(puts.index(part[0]), len(puts), part[0][0])
            results = self._folder.put_many([(name, self._wanted[name], expect) for name, expect in part])
            for (name, _), result in zip(part, results, strict=True):
                if isinstance(result, NotProjected):
                    self._failed.append((name, result.reason))
                elif result.kept is None:
                    yield name
                else:
                    self._take_back(name, result.kept)

    def _take_back(self, name: str, kept: str) -> None:
        """Somebody wrote the file just now: theirs lies there again, or is kept."""
        try:
            back = self._folder.put_back_over(name, kept, self._wanted[name])
        except NotProjected as error:
            self._failed.append((name, error.reason))
            return
        where = "" if back else f"; what lay there is kept as {kept}"
        self._kept.append((name, f"it changed just now{where}"))
