"""What is wrong with an index: lines that point to nothing, and memories that no line points to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from memstore.core.changes import SetIndexLine, SetListing
from memstore.core.index_lines import parse
from memstore.core.index_values import Entry, Line, in_order
from memstore.core.names import RESERVED, collision_key

_ANY_ITEM = "- x"


class Dangling(NamedTuple):
    """A line that points to nothing. `target`: the file that it names; `by_hand`: it is not one of ours."""

    line: Line
    target: str
    by_hand: bool


class Faults(NamedTuple):
    """What an index has too much and too little. `orphans`: memories without a line, those that somebody took out of
    the index by choice aside."""

    dangling: tuple[Dangling, ...]
    orphans: tuple[Entry, ...]


def examine(rows: Sequence[Line], entries: Mapping[str, Entry], others: Collection[str] = ()) -> Faults:
    """The faults of an index. `others`: paths of what is there besides its memories; a line may point to that too.

    A line of prose that mentions a file is no pointer, nor is anything in code, nor a link to the web; but a memory
    that prose links to is not missing in the index.
    """
    ordered = in_order(rows)
    # A line of ours for a memory that is there is as it should be; what it says is not worth reading.
    texts = [_ANY_ITEM if row.kind == "auto" and row.memory in entries else row.text for row in ordered]
    pieces = parse("\n".join(texts)) if ordered else ()
    known = {collision_key(path) for path in (*(entry.path for entry in entries.values()), *others)}
    dangling = []
    named: set[str] = set()
    for line, piece in zip(ordered, pieces, strict=True):
        named.update(collision_key(path) for path in piece.mentions)
        if line.memory in entries:
            continue
        if line.kind == "auto":
            dangling.append(Dangling(line, piece.target or "", False))
        elif piece.target is not None and not _is_there(piece.target, known):
            dangling.append(Dangling(line, piece.target, True))
    listed = {line.memory for line in ordered}
    orphans = [
        entry
        for entry in entries.values()
        if entry.listing != "unlisted" and entry.id not in listed and collision_key(entry.path) not in named
    ]
    return Faults(tuple(dangling), tuple(sorted(orphans, key=lambda entry: entry.path)))


def taken_out(faults: Faults) -> tuple[SetIndexLine, ...]:
    """The steps that take the lines which point to nothing out of the index. Their text stays in its history."""
    return tuple(
        SetIndexLine(line.id, line.version, line.kind, line.text, line.memory, line.rank, line.hook_by, False)
        for line, _, _ in faults.dangling
    )


def made_due(faults: Faults) -> tuple[SetListing, ...]:
    """The steps by which each memory without a line is to get one, with a real write."""
    return tuple(SetListing(entry.id, "due") for entry in faults.orphans)


def _is_there(target: str, known: Collection[str]) -> bool:
    """Whether something is where a line points. What lies in the client's own directories is no memory of the index."""
    return collision_key(target) in known or target.split("/")[0] in RESERVED
