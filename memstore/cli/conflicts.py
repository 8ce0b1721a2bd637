"""`conflicts` and `resolve`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import terminal
from memstore.cli.state import State, json_option
from memstore.cli.telling import saved_shape, tell_files
from memstore.cli.terminal import printable, when
from memstore.errors import InputRefused, NotFound

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import ConflictRecord

_LEAST = 4  # characters of an id that name a conflict
_SHORTEST = 8  # characters of an id that are shown
_MANY = 10  # ids that a refusal names
_MARKS = (b"<<<<<<< current", b"=======", b">>>>>>> other")


@click.command()
@click.argument("reference", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="List the settled ones too.")
@json_option
@click.pass_obj
def conflicts(state: State, reference: str | None, everything: bool) -> None:
    """List texts that could not be merged; with ID show both sides of one.

    Both texts are kept: the current one stands in the memory, the other waits here for `memstore resolve`.
    """
    with state.open() as memories:
        found = list(memories.conflicts(everything=everything))
        short = _short([one.id for one in found])
        current = b""
        if reference is not None:
            found = [_pick(found, reference)]
            current = _current(memories, found[0])
    if state.json:
        from memstore.cli.shaping import conflict_shape

        state.emit("conflicts", {"conflicts": [conflict_shape(one) for one in found]})
        return
    if not found:
        state.note("there is no conflict")
        return
    rows = [(short[one.id], one.path, one.kind, when(one.at), one.resolution or "open", one.note) for one in found]
    state.say(terminal.table(("Conflict", "Memory", "Kind", "Since", "State", "Note"), rows, wide="Note"))
    if reference is not None:
        from memstore.core.compare import unified

        labels = (f"{found[0].path} (current)", f"{found[0].path} (other)")
        state.say(terminal.diff_text(unified(current, found[0].theirs, *labels)))
        if found[0].resolution is None:
            state.report(_how(found[0], short[found[0].id]))


@click.command()
@click.argument("reference", metavar="ID")
@click.option("--ours", is_flag=True, help="Keep the current text.")
@click.option("--theirs", is_flag=True, help="Take the other text.")
@click.option("--both", is_flag=True, help="Keep both, one below the other.")
@click.option("--edit", is_flag=True, help="Join them in your editor ($VISUAL, $EDITOR).")
@click.option("--tool", metavar="PROGRAM", help="Run PROGRAM OURS BASE THEIRS OUT, and take what it left in OUT.")
@json_option
@click.pass_obj
def resolve(state: State, /, reference: str, tool: str | None, **choices: bool) -> None:
    """Settle a conflict. ID is its id or the beginning of it."""
    takes = [choice for choice, given in choices.items() if given]
    if len(takes) + (tool is not None) != 1:
        raise click.UsageError("say how, in one way: --ours, --theirs, --both, --edit or --tool PROGRAM")
    take = takes[0] if takes else None
    with state.open() as memories:
        record = _open(memories, reference)
        text = None
        if take == "edit":
            text = _edited(memories, record)
        elif tool is not None:
            text = _merged_by(tool, memories, record)
        chosen = "text" if text is not None else str(take)
        saved = memories.resolve(record.id, chosen, text=text)
    if state.json:
        shape = None if saved is None else saved_shape("resolve", saved)
        state.emit("resolve", {"conflict": record.id, "resolution": chosen, "saved": shape})
    state.report(printable(f"settled the conflict in {record.path}: {take or 'merged by ' + str(tool)}"))
    if saved is not None:
        tell_files(state, saved.files)


def _how(record: ConflictRecord, short: str) -> str:
    """How an open conflict is settled. An index line cannot be both."""
    ways = {"ours": "keep the current text", "theirs": "take the other"}
    if record.kind != "line":
        ways["both"] = "keep both, one below the other"
    ways["edit"] = "join them in your editor"
    return "\n".join(["", *(f"memstore resolve {short} --{way:<7} to {what}" for way, what in ways.items())])


def _short(ids: Sequence[str]) -> dict[str, str]:
    """For each id the beginning that names it among these, and is not too short to be told from later ones."""
    ordered = sorted(ids)
    found: dict[str, str] = {}
    for before, one, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        beginnings = (one[:length] for length in range(_SHORTEST, len(one)))
        found[one] = next((it for it in beginnings if not before.startswith(it) and not after.startswith(it)), one)
    return found


def _open(memories: Memstore, reference: str) -> ConflictRecord:
    """The open conflict of a reference. Raises NotFound, which says so where it is settled already."""
    try:
        return _pick(list(memories.conflicts()), reference)
    except NotFound:
        settled = [one for one in memories.conflicts(everything=True) if one.id.startswith(reference)]
        if len(settled) != 1 or settled[0].resolution is None or len(reference) < _LEAST:
            raise
        told = f"the conflict in {settled[0].path} is settled already: {settled[0].resolution}"
        raise NotFound(told, hint="see `memstore conflicts --all`") from None


def _pick(records: list[ConflictRecord], reference: str) -> ConflictRecord:
    found = [record for record in records if record.id.startswith(reference)]
    if len(found) == 1 and len(reference) >= _LEAST:
        return found[0]
    few = "is too short" if len(reference) < _LEAST else "fits no conflict"
    reason = "fits several conflicts" if len(found) > 1 else few
    short = _short([record.id for record in records])
    fitting = [f"{short[record.id]} ({record.path})" for record in found[:_MANY]] if reference else []
    named = f": {', '.join(fitting)}" + (", …" if len(found) > _MANY else "") if fitting else ""
    raise NotFound(f"{reference[:80]!r} {reason}{named}", hint="see `memstore conflicts`")


def _current(memories: Memstore, record: ConflictRecord) -> bytes:
    if record.kind == "line":
        return _line(memories, record)
    memory = None if record.memory is None else memories.store.memory(record.memory)
    return b"" if memory is None else memory.state.content


def _line(memories: Memstore, record: ConflictRecord) -> bytes:
    """The index line of a conflict as it stands now; as it stood then where it is gone or nobody's."""
    then = (record.base or b"").decode("utf-8", "replace")
    now = [line.text for line in memories.store.index() if line.memory is not None and line.memory == record.memory]
    return (then if then in now or not now else now[0]).encode("utf-8", "surrogatepass")


def _base(record: ConflictRecord) -> bytes:
    """What both sides were made from. Of a line's conflict it is not known: what is kept is the current line."""
    return b"" if record.kind == "line" or record.base is None else record.base


def _edited(memories: Memstore, record: ConflictRecord) -> str:
    from memstore.cli.editing import edited_text
    from memstore.cli.inputs import decoded

    start = _joined(_base(record), _current(memories, record), record.theirs)
    with edited_text(memories.world, start) as content:
        if any(line in _MARKS for line in content.split(b"\n")):
            raise InputRefused("conflict marks are left in the text; nothing was settled")
        return decoded(content, "the edited text")


def _joined(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Both texts in one, with marks where they differ from each other."""
    from merge3 import Merge3

    merge = Merge3(_lines(base), _lines(ours), _lines(theirs))
    return b"".join(merge.merge_lines(name_a=b"current", name_b=b"other"))


def _lines(text: bytes) -> list[bytes]:
    pieces = text.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1] + b"\n"] if pieces[-1] else [])


def _merged_by(tool: str, memories: Memstore, record: ConflictRecord) -> str:
    from memstore.cli.editor import desk, run, split_command
    from memstore.cli.inputs import file_text

    ours = _current(memories, record)
    with desk() as place:
        sides = (
            ("ours.md", ours),
            ("base.md", _base(record)),
            ("theirs.md", record.theirs),
            ("out.md", ours),
        )
        paths = [place.put(name, content) for name, content in sides]
        run([*split_command(tool, "--tool"), *paths], f"the merge tool {tool}")
        return file_text(paths[-1], "what the merge tool left")
