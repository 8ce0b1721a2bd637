"""How a conflict is settled: the steps that put the chosen text where it belongs."""

from __future__ import annotations

from collections.abc import Sequence

from memstore.core.changes import Change, LineChange, Revise, SetIndexLine
from memstore.core.frontmatter import split
from memstore.core.index_values import Line
from memstore.core.model import ConflictRecord, Memory
from memstore.core.plan import encoded
from memstore.errors import InputRefused, NotFound

CHOICES = ("ours", "theirs", "both", "text")


def resolution(
    record: ConflictRecord, head: Memory | None, take: str, text: str | None, rows: Sequence[Line]
) -> tuple[tuple[Change, ...], tuple[LineChange, ...]]:
    """The steps that settle a conflict. `take` is one of CHOICES; `text` is the whole text for `text`.

    Raises InputRefused for another choice, NotFound where what it was about is gone.
    """
    if take not in CHOICES or (take == "text") != (text is not None):
        raise InputRefused(f"a conflict is not settled by {take!r}", hint="take ours, theirs, both, or your own text")
    if take == "ours":
        return (), ()
    if record.kind == "line":
        return (), _line(record, take, text, rows)
    if head is None:
        raise NotFound(f"the memory of this conflict, {record.path}, is gone", hint="take ours to close it")
    content = _chosen(record, head, take, text)
    return (() if content == head.state.content and head.state.live else (Revise(head.id, head.token, content),)), ()


def _chosen(record: ConflictRecord, head: Memory, take: str, text: str | None) -> bytes:
    if text is not None:
        return encoded(text)
    if take == "theirs":
        return record.theirs
    return joined(head.state.content, record.theirs)


def joined(ours: bytes, theirs: bytes) -> bytes:
    """Our text, then the lines of the other body that ours lacks."""
    known = {line.rstrip(b"\r") for line in ours.split(b"\n")}
    _, body = split(theirs)
    lines = (line.rstrip(b"\r") for line in body.split(b"\n"))
    missing = [line for line in lines if line.strip() and line not in known]
    if not missing:
        return ours
    newline = b"\r\n" if b"\r\n" in ours else b"\n"
    joint = b"" if ours.endswith(b"\n") else newline
    return ours + joint + b"".join(line + newline for line in missing)


def _line(record: ConflictRecord, take: str, text: str | None, rows: Sequence[Line]) -> tuple[LineChange, ...]:
    current = (record.base or b"").decode("utf-8")
    row = next((row for row in rows if row.text == current and row.memory == record.memory), None)
    row = row or next((row for row in rows if row.memory == record.memory and row.memory is not None), None)
    if row is None:
        raise NotFound("the index line of this conflict is gone", hint="take ours to close it")
    if take == "both":
        raise InputRefused("an index line cannot be both", hint="take ours or theirs, or give a line of your own")
    chosen = record.theirs.decode("utf-8") if text is None else text.split("\n", 1)[0]
    # A line of ours would say what its memory says as soon as that changes: this one is by hand now.
    kind = "pointer" if row.kind == "auto" else row.kind
    return (SetIndexLine(row.id, row.version, kind, chosen, row.memory, row.rank, "hand", True),)
