"""Wrong merges, each of which the laws have to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memstore.core.index import BaseIndex, IndexEdit, Line, Resolve, RetireLine
from memstore.core.index import merge as merge_index
from memstore.core.merge import Merged, MergedText, merge_bodies, merge_texts


def _one_side_wins(base: str, ours: str, theirs: str) -> Merged:
    return merge_bodies(base, ours, theirs) if ours == base or theirs == base else Merged(ours, False)


def _drops_twins(base: str, ours: str, theirs: str) -> Merged:
    found = merge_bodies(base, ours, theirs)
    if found.conflict or base in (ours, theirs) or ours == theirs:
        return found
    lines = found.text.split("\n")
    once = [line for at, line in enumerate(lines) if at == len(lines) - 1 or not line or line not in lines[:at]]
    return replace(found, text="\n".join(once))


def _hushes(base: str, ours: str, theirs: str) -> Merged:
    return replace(merge_bodies(base, ours, theirs), conflict=False)


def _one_file_wins(base: bytes, ours: bytes, theirs: bytes) -> MergedText:
    return merge_texts(base, ours, theirs) if ours == base or theirs == base else MergedText(ours, False)


def _stamps_count(base: bytes, ours: bytes, theirs: bytes) -> MergedText:
    """As if a header were lines like all others."""
    found = merge_bodies(base.decode(), ours.decode(), theirs.decode())
    return MergedText(found.text.encode(), found.conflict, ("text",) if found.conflict else ())


def _hushes_files(base: bytes, ours: bytes, theirs: bytes) -> MergedText:
    return replace(merge_texts(base, ours, theirs), conflict=False, fields=())


def _merge_index(base: BaseIndex, rows: Sequence[Line], text: str, resolve: Resolve) -> IndexEdit:
    return merge_index(base, rows, text, resolve)


def _store_wins(base: BaseIndex, rows: Sequence[Line], text: str, resolve: Resolve) -> IndexEdit:
    changed = "\n".join(row.text for row in rows) != "\n".join(line.text for line in base)
    return IndexEdit() if changed else merge_index(base, rows, text, resolve)


def _drops_twin_lines(base: BaseIndex, rows: Sequence[Line], text: str, resolve: Resolve) -> IndexEdit:
    found = merge_index(base, rows, text, resolve)
    if "\n".join(row.text for row in rows) == "\n".join(line.text for line in base):
        return found
    touched = {getattr(change, "id", None) for change in found.changes}
    seen: set[str] = set()
    twins = [row for row in rows if row.text and (row.text in seen or seen.add(row.text))]  # type: ignore[func-returns-value] # add gives nothing
    return replace(found, changes=(*found.changes, *(RetireLine(row.id) for row in twins if row.id not in touched)))


def _hushes_lines(base: BaseIndex, rows: Sequence[Line], text: str, resolve: Resolve) -> IndexEdit:
    return replace(merge_index(base, rows, text, resolve), conflicts=())


_ONE, _TWINS, _HUSH = "one side wins", "twins are dropped", "a conflict is hushed up"

WRONG_BODIES = {_ONE: _one_side_wins, _TWINS: _drops_twins, _HUSH: _hushes}
WRONG_FILES = {_ONE: _one_file_wins, "stamps count": _stamps_count, _HUSH: _hushes_files}
WRONG_INDEXES = {_ONE: _store_wins, _TWINS: _drops_twin_lines, _HUSH: _hushes_lines}
