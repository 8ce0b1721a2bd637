"""From the store to files: what moved since the folder was last shown is put there by exchange.

Topic files come before the index that names them; what must go, goes after it. What comes out of an exchange and
is not what was expected is handed back, to be absorbed before it is let go (rule 35).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memstore.core.frontmatter import alike
from memstore.core.index_render import Rendering, render
from memstore.core.index_values import Entry, Line, in_order
from memstore.core.model import INDEX_NAME, SHELF, Memory
from memstore.errors import NameRefused, NotProjected
from memstore.files.absorb_index import shown_index
from memstore.files.folder import Folder
from memstore.files.publishing import Put
from memstore.files.report import Findings, Unshown
from memstore.store import lines, reader, shown
from memstore.store.connection import Reading
from memstore.store.shown import Forget, ShownChange, ShownRow


@dataclass(frozen=True, slots=True)
class Surprise:
    """Bytes that nobody expected under a name. `base`: what had been shown there; `kept`: where they lie now."""

    name: str
    content: bytes
    settled: bool
    base: ShownRow | None
    kept: str


@dataclass(slots=True)
class Outcome:
    """What a projection came to: what the folder shows now, and what came out of it unexpectedly."""

    shown: list[ShownChange] = field(default_factory=list)
    surprises: list[Surprise] = field(default_factory=list)
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One file to put: `row` is what will be shown there."""

    row: ShownRow
    expect: bytes | None
    base: ShownRow | None


@dataclass(slots=True)
class Work:
    """What is to be done in a folder, read at one moment of the store."""

    puts: list[Task] = field(default_factory=list)
    index: Task | None = None
    takes: list[tuple[str, ShownRow | None]] = field(default_factory=list)
    settled: list[ShownChange] = field(default_factory=list)
    omitted: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        return not (self.puts or self.index or self.takes or self.settled)


def plan_work(
    connection: Reading,
    folder: int,
    since: int,
    forced: Mapping[str, bytes | None],
    removals: Mapping[str, bytes],
    blocked: Mapping[str, str],
) -> Work:
    """What must be put and taken. `since`: the operation up to which the folder is on its files already.

    `forced`: names to put although their memory did not move, with the bytes expected there; `removals`: names to
    take out of sight; `blocked`: names to leave alone.
    """
    work = Work()
    ids = shown.moved_since(connection, since)
    for name in forced:
        row = shown.shown_row(connection, folder, name)
        memory = row.memory if row is not None else None
        if memory is None and name != INDEX_NAME:
            found = reader.by_path(connection, SHELF, name)
            memory = None if found is None else found.id
        if memory is not None and memory not in ids:
            ids.append(memory)
    for identity in ids:
        head = reader.by_id(connection, identity)
        if head is not None and head.state.shelf == SHELF:
            _plan_memory(connection, folder, head, forced, work)
    for name, content in removals.items():
        if all(name != planned for planned, _ in work.takes):
            row = shown.shown_row(connection, folder, name)
            work.takes.append((name, row if row is not None else ShownRow(name, None, 0, content)))
    work.puts = [task for task in work.puts if task.row.name not in blocked]
    if INDEX_NAME not in blocked and (INDEX_NAME in forced or shown.index_moved_since(connection, since)):
        _plan_index(connection, folder, INDEX_NAME in forced, work)
    return work


def _plan_memory(
    connection: Reading, folder: int, head: Memory, forced: Mapping[str, bytes | None], work: Work
) -> None:
    for name in shown.shown_names_of(connection, folder, head.id):
        if name != head.path or not head.state.live:
            work.takes.append((name, shown.shown_row(connection, folder, name)))
    if not head.state.live:
        return
    row = shown.shown_row(connection, folder, head.path)
    if head.path in forced:
        expect = forced[head.path]
    else:
        expect = None if row is None else row.content
        if row is not None and row.memory == head.id and alike(row.content, head.state.content):
            if row.version != head.version:
                work.settled.append(
                    ShownRow(head.path, head.id, head.version, row.content, row.stamp, row.missing_since,
                             flagged=row.flagged)
                )  # fmt: skip
            return
    flagged = row.flagged if row is not None else ()
    put = ShownRow(head.path, head.id, head.version, head.state.content, None, flagged=flagged, put=True)
    work.puts.append(Task(put, expect, row))


def _plan_index(connection: Reading, folder: int, forced: bool, work: Work) -> None:
    rows = lines.rows(connection)
    row = shown.shown_row(connection, folder, INDEX_NAME)
    entries = lines.entries(connection)
    rendering = render(rows, entries)
    work.omitted = omitted_paths(rendering, entries, rows)
    content = rendering.text.encode("utf-8")
    if row is None and not rows:
        return
    if not forced and row is not None and _same_lines(row.content, content):
        return
    whole = "\n".join(line.text for line in in_order(rows)).encode("utf-8")
    if not forced and row is not None and _same_lines(row.content, whole):
        # The file says all that the rows say: an index that somebody wrote past the limits is left as it is.
        work.omitted = ()
        return
    put = shown_index(rows, content, None, put=True)
    work.index = Task(put, None if row is None else row.content, row)


def omitted_paths(rendering: Rendering, entries: Mapping[str, Entry], rows: list[Line]) -> tuple[str, ...]:
    """The paths of the memories whose line found no room in the index."""
    memory_of = {row.id: row.memory for row in rows}
    ids = (memory_of.get(row) for row in rendering.omitted)
    return tuple(dict.fromkeys(entries[memory].path for memory in ids if memory is not None and memory in entries))


def _same_lines(one: bytes, other: bytes) -> bool:
    """Whether two texts differ in line ends, a byte order mark or a last newline at most."""
    return _plain(one) == _plain(other)


def _plain(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf").rstrip(b"\n")


def carry_out(folder: Folder, work: Work, found: Findings) -> Outcome:
    """Puts the topics, then the index, then takes away what is gone."""
    outcome = Outcome(list(work.settled))
    _put(folder, work.puts, found, outcome)
    if work.index is not None:
        _put(folder, [work.index], found, outcome)
    found.omitted = work.omitted
    for name, row in work.takes:
        _take(folder, name, row, found, outcome)
    return outcome


def _put(folder: Folder, tasks: list[Task], found: Findings, outcome: Outcome) -> None:
    ready: list[Task] = []
    for task in tasks:
        try:
            folder.check(task.row.name)
        except NameRefused as error:
            found.pending.append(Unshown(task.row.name, str(error)))
            outcome.failed = True
        else:
            ready.append(task)
    results = folder.put_many([(task.row.name, task.row.content, task.expect) for task in ready])
    for task, result in zip(ready, results, strict=True):
        if isinstance(result, NotProjected):
            found.pending.append(Unshown(task.row.name, result.reason))
            outcome.failed = True
            continue
        outcome.shown.append(task.row)
        found.projected.append(task.row.name)
        _look(task.row.name, result, task.base, outcome)


def _look(name: str, put: Put, base: ShownRow | None, outcome: Outcome) -> None:
    if put.kept is not None and put.came_out is not None:
        outcome.surprises.append(Surprise(name, put.came_out, put.settled, base, put.kept))


def _take(folder: Folder, name: str, row: ShownRow | None, found: Findings, outcome: Outcome) -> None:
    try:
        taken = folder.take(name)
    except NotProjected as error:
        found.pending.append(Unshown(name, error.reason))
        outcome.failed = True
        return
    outcome.shown.append(Forget(name))
    if taken is None:
        return
    found.removed.append(name)
    if row is not None and taken.content == row.content and folder.discard(taken.kept, taken.content):
        return
    outcome.surprises.append(Surprise(name, taken.content, taken.settled, row, taken.kept))
