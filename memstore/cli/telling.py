"""How a write and what became of its files is told."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from memstore.cli.state import State
from memstore.cli.terminal import plural, printable
from memstore.core.model import INDEX_NAME
from memstore.errors import PlaceRefused

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.secrets import Finding
    from memstore.files.report import Noted, SyncReport
    from memstore.outcomes import Saved

_DONE = {
    "append": "appended to",
    "set": "changed",
    "rename": "renamed to",
    "delete": "retired",
    "pin": "pinned",
    "unpin": "unpinned",
    "supersede": "marked",
    "restore": "restored",
    "merged": "merged with a newer version of",
    "repeated": "done before, nothing new:",
    "unchanged": "unchanged",
}

_WRITES = ("write", "append", "edit", "set")


def tell_saved(state: State, command: str, saved: Saved, detail: str = "") -> None:
    """Says what a write saved, as which version and with which `detail`; then what its files came to."""
    if state.json:
        state.emit(command, saved_shape(command, saved))
    memory = saved.memory
    operation = "" if saved.seq is None else f", operation #{saved.seq}"
    done = _DONE.get(saved.what, saved.what)
    told = f"{done} {printable(memory.path)}: version {memory.version}, token {memory.token}{operation}"
    state.report(told + (f"; {printable(detail)}" if detail else ""))
    for one in secrets_in(command, saved):
        state.note(
            f"note: line {one.line} looks like a secret ({one.rule}): every session reads it, and history keeps it"
        )
    tell_files(state, saved.files)


def secrets_in(command: str, saved: Saved) -> list[Finding]:
    """What looks like a secret in a text that somebody has just written: it is theirs, so it is only said."""
    from memstore.core.secrets import find

    wrote = command in _WRITES and saved.what not in ("unchanged", "repeated")
    return find(saved.memory.state.content.decode("utf-8", "replace")) if wrote else []


def saved_shape(command: str, saved: Saved) -> dict[str, object]:
    """A write and what became of its files, as JSON has it."""
    from memstore.cli.shaping import files_shape, memory_shape

    return {
        "what": saved.what,
        "memory": memory_shape(saved.memory),
        "operation": saved.operation,
        "seq": saved.seq,
        "files": files_shape(saved.files),
        "secrets": [{"rule": one.rule, "line": one.line} for one in secrets_in(command, saved)],
    }


def tell_files(state: State, files: SyncReport) -> None:
    """Says what was shown, and on standard error what was not, and why."""
    for noted in files.absorbed:
        detail = f" ({noted.detail})" if noted.detail else ""
        state.report(printable(f"{': '.join(absorbed(noted))}{detail}"))
    tell_conflicts(state, files.absorbed)
    if files.projected:
        state.report(printable("projected: " + ", ".join(files.projected)))
    if files.removed:
        state.report(printable("file removed: " + ", ".join(files.removed)))
    tell_troubles(state, files)


def absorbed(noted: Noted) -> tuple[str, str]:
    """A word for what became of a file, and its name with the rest."""
    return ("put back", noted.path) if noted.what == "put back" else ("taken in", f"{noted.path}, {noted.what}")


def tell_conflicts(state: State, noted: Iterable[Noted], *, would: bool = False) -> None:
    """Says that there are texts to settle, and where they are seen. `would`: of a dry run."""
    if conflicts := sum(one.what == "conflict" for one in noted):
        told = plural(conflicts, "conflict")
        state.report(f"there would be {told}" if would else f"{told}: see `memstore conflicts`")


def missing(memories: Memstore) -> frozenset[str]:
    """The names of memories whose files somebody has just deleted; one more look believes it."""
    folder = memories.place.folder
    return frozenset() if folder is None else memories.store.missing(folder)


def tell_doubts(state: State, memories: Memstore, gone: Collection[str] = ()) -> list[str]:
    """What a person should know of memories that are handed out, on standard error. Returns it, for JSON.

    `gone`: those of them whose file is missing.
    """
    doubts = [*memories.undecided]
    doubts += [
        f"{name}: its file is gone; if the next look at the folder misses it too, it counts as deleted"
        for name in sorted(gone)
    ]
    for doubt in doubts:
        state.note(f"note: {doubt}")
    return doubts


def tell_troubles(state: State, files: SyncReport) -> None:
    """What a person should know, on standard error: also with --json, which says it in its own way too."""
    for notice in files.notices:
        state.note(f"not projected: {notice}" if files.folder is None else f"note: {notice}")
    for unshown in files.pending:
        state.note(f"not projected: {unshown.path}: {unshown.reason}; {unshown.step}")
    for path in files.waiting:
        state.note(f"waiting: {path} is decided by the next look")
    lines = lines_left_out(files) if files.omitted or INDEX_NAME in files.projected else 0
    if files.omitted or lines:
        found = "found by search, named by `memstore status`"
        where = f"see `memstore show {INDEX_NAME}`" if lines else found
        state.note(f"the index has no room for {without_room(len(files.omitted), lines)}: {where}")


def without_room(memories: int, lines: int) -> str:
    """What an index has no room for: `2 memories and 3 lines`."""
    parts = [plural(memories, "memory", "memories")] if memories else []
    return " and ".join([*parts, *([plural(lines, "line")] if lines else [])])


def lines_left_out(files: SyncReport) -> int:
    """How many lines of the index, those of memories aside, are in the store and not in the folder's file."""
    from memstore.core import index_lines
    from memstore.files.folder import Folder
    from memstore.files.walk import FileRead

    try:
        folder = None if files.folder is None else Folder.open(files.folder)
        if folder is None:
            return 0
        with folder:
            found = folder.read(INDEX_NAME)
    except PlaceRefused:
        return 0
    return index_lines.lines_left_out(found.content.decode("utf-8", "replace")) if isinstance(found, FileRead) else 0
