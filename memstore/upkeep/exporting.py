"""`export`: points in time become operations, and the format follows from the target where none is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memstore.errors import InputRefused, NotFound
from memstore.files.selecting import FORMATS, Format, Selection, Wish

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.files.report import ExportReport, Progress


@dataclass(frozen=True, slots=True)
class Point:
    """A point in the history: an `operation`, by its number or the beginning of its id, or a `moment` (unix
    microseconds)."""

    operation: str = ""
    moment: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks of an export. `format` None: by the name of the target."""

    format: Format | None = None
    scope: str = "private"
    since: Point | None = None
    as_of: Point | None = None
    secrets: bool = False
    force: bool = False


def format_of(target: str) -> Format:
    """The format that a target's name asks for: a file ending in .zip or .json, else a directory."""
    ending = target.rpartition(".")[2].lower() if "." in target.rpartition("/")[2] else ""
    return next((name for name in FORMATS if name == ending and name != "dir"), "dir")


def export(
    memories: Memstore, target: str, asked: Asked, *, dry_run: bool = False, progress: Progress | None = None
) -> ExportReport:
    """Writes the memories that are asked for, after a look at the folder."""
    from memstore.files.exporting import export as write

    memories.files.absorb()
    wish = _wish(memories, target, asked)
    return write(
        memories.store, memories.place.folder, target, memories.world, wish, dry_run=dry_run, progress=progress
    )


def as_json(memories: Memstore, asked: Asked) -> tuple[bytes, Selection]:
    """The memories that are asked for as the bytes of a JSON document, for standard output."""
    from memstore.files.exporting import selected
    from memstore.files.packing import packed

    memories.files.absorb()
    selection = selected(memories.store, memories.place.folder, _wish(memories, ".json", asked))
    return packed(selection, "json"), selection


def _wish(memories: Memstore, target: str, asked: Asked) -> Wish:
    as_of = None if asked.as_of is None else _seq(memories, asked.as_of, inclusive=True)
    since = 0 if asked.since is None else _seq(memories, asked.since, inclusive=False)
    if as_of is not None and since > as_of:
        raise InputRefused("--since is later than --as-of: nothing can be both", hint="exchange the two")
    return Wish(asked.format or format_of(target), asked.scope, since, as_of, asked.secrets, asked.force)


def _seq(memories: Memstore, point: Point, *, inclusive: bool) -> int:
    """The operation at a point: of a moment the last one before it, or with `inclusive` at it."""
    if point.moment is not None:
        from memstore.store import moments

        with memories.store.view() as connection:
            return moments.last_before(connection, point.moment, inclusive=inclusive)
    found = memories.store.operation(point.operation)
    if found is None:
        raise NotFound(
            f"there is no operation {point.operation}",
            hint="see `memstore log`; a date is written 2026-03-01, or 3d ago",
        )
    return found.seq
