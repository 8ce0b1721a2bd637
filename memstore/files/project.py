"""From the store to files: what moved since the folder was last shown is put there by exchange.

Topic files come before the index that names them; what must go, goes after it. What comes out of an exchange and
is not what was expected is handed back, to be absorbed before it is let go (rule 35).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memstore.core.frontmatter import alike
from memstore.core.index_lines import parse, without_ours
from memstore.core.index_render import Rendering, chosen, whole
from memstore.core.index_values import Entry, Line, in_order
from memstore.core.model import INDEX_NAME, SHELF, Memory
from memstore.core.names import collision_key
from memstore.errors import NameRefused, NotProjected
from memstore.files.absorb_index import put_index
from memstore.files.folder import Folder
from memstore.files.report import Findings, Unshown
from memstore.store import inbox, lines, reader, shown
from memstore.store.connection import Reading
from memstore.store.kept import Keep
from memstore.store.shown import Before, Forget, ShownChange, ShownRow

Since = Mapping[str, tuple[bytes, ...]]


@dataclass(frozen=True, slots=True)
class Surprise:
    """Bytes that nobody expected under a name. `base`: what had been shown there, `since`: what had become known
    after that; `kept`: where the bytes lie now; `put`: what took their place, if anything did."""

    name: str
    content: bytes
    settled: bool
    base: ShownRow | None
    kept: str
    put: bytes | None = None
    since: tuple[bytes, ...] = ()

    def keep(self) -> Keep:
        """What has to be remembered of it until it is taken in."""
        base = self.base
        known = None if base is None else base.content
        news = self.content if self.put is not None and self.content != known else None
        if base is None:
            return Keep(self.kept, self.name, None, since=self.since, came_out=news)
        return Keep(self.kept, self.name, base.content, base.memory, base.lines, self.since, news)


@dataclass(slots=True)
class Outcome:
    """What a projection came to: what the folder shows now, and what came out of it unexpectedly."""

    shown: list[ShownChange] = field(default_factory=list)
    surprises: list[Surprise] = field(default_factory=list)
    failed: bool = False
    absent: set[str] = field(default_factory=set)
    """Names that should be there and could never be put."""

    def fail(self, found: Findings, name: str, reason: str) -> None:
        """A name that could not be brought up to date."""
        found.pending.append(Unshown(name, reason))
        self.failed = True


@dataclass(frozen=True, slots=True)
class Task:
    """One file to put: `row` is what will be shown there."""

    row: ShownRow
    expect: bytes | None
    base: ShownRow | None


@dataclass(slots=True)
class Work:
    """What is to be done in a folder, read at one moment of the store.

    `early`: names that some file system takes for the name that is put: they go first. `held`: names that should
    be put or taken and may not; `away`: those of them under which nothing is shown. `omitted` None: the index was
    not looked at.
    """

    puts: list[Task] = field(default_factory=list)
    index: Task | None = None
    early: list[tuple[str, ShownRow | None]] = field(default_factory=list)
    takes: list[tuple[str, ShownRow | None]] = field(default_factory=list)
    settled: list[ShownChange] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    away: set[str] = field(default_factory=set)
    since: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    """The texts that had become known under a name since what is shown there."""
    omitted: tuple[str, ...] | None = None


def plan_work(
    connection: Reading,
    folder: int,
    since: int,
    forced: Mapping[str, bytes | None],
    removals: Mapping[str, bytes],
    blocked: Mapping[str, str],
    *,
    index: bool = False,
) -> Work:
    """What must be put and taken. `since`: the operation up to which the folder is on its files already.

    `forced`: names to put although their memory did not move, with the bytes expected there; `removals`: names to
    take out of sight; `blocked`: names to leave alone; `index`: whether to look at the index although it did not move.
    """
    work = Work()
    ids = dict.fromkeys(shown.moved_since(connection, since))
    for name in forced:
        row = shown.shown_row(connection, folder, name)
        memory = row.memory if row is not None else None
        if memory is None and name != INDEX_NAME:
            found = reader.by_path(connection, SHELF, name)
            memory = None if found is None else found.id
        if memory is not None:
            ids[memory] = None
    for identity in ids:
        head = reader.by_id(connection, identity)
        if head is not None and head.state.shelf == SHELF:
            _plan_memory(connection, folder, head, forced, work)
    planned = {name for name, _ in work.takes}
    for name, content in removals.items():
        there = reader.by_path(connection, SHELF, name)
        lives = there is not None and there.state.live  # it came back meanwhile: then its file is put, or stays
        if name not in planned and not lives:
            row = shown.shown_row(connection, folder, name)
            work.takes.append((name, row if row is not None else ShownRow(name, None, 0, content)))
    if index or INDEX_NAME in forced or shown.index_moved_since(connection, since):
        plan_index(connection, folder, forced, work)
    _hold_back(work, blocked)
    for name in inbox.names_known_since(connection, folder):
        begun = inbox.begun(connection, folder, name)  # of processes that died: these are on no file
        work.since[name] = tuple(text for text in inbox.known_since(connection, folder, name) if text not in begun)
    return work


def _hold_back(work: Work, blocked: Mapping[str, str]) -> None:
    work.held = [task.row.name for task in work.puts if task.row.name in blocked]
    work.away = {task.row.name for task in work.puts if task.row.name in blocked and task.base is None}
    work.puts = [task for task in work.puts if task.row.name not in blocked]
    work.held += [name for name, _ in (*work.early, *work.takes) if name in blocked]
    work.early = [take for take in work.early if take[0] not in blocked]
    work.takes = [take for take in work.takes if take[0] not in blocked]
    if work.index is not None and INDEX_NAME in blocked:
        work.held.append(INDEX_NAME)
        work.index = None


def _plan_memory(
    connection: Reading, folder: int, head: Memory, forced: Mapping[str, bytes | None], work: Work
) -> None:
    for name in shown.shown_names_of(connection, folder, head.id):
        if name != head.path or not head.state.live:
            _plan_removal(connection, folder, name, head, work)
    if not head.state.live:
        return
    row = shown.shown_row(connection, folder, head.path)
    # A file that is known to be missing is not expected: the memory has changed since, so it is put back.
    expect = None if row is None or row.missing_since is not None else row.content
    if head.path in forced:
        expect = forced[head.path]
    elif row is not None and alike(row.content, head.state.content):
        if (row.memory, row.version) != (head.id, head.version):
            work.settled.append(replace(row, memory=head.id, version=head.version, put=False))
        return
    flagged = row.flagged if row is not None and row.memory == head.id else ()
    put = ShownRow(head.path, head.id, head.version, head.state.content, None, flagged=flagged, put=True)
    work.puts.append(Task(put, expect, row))


def _plan_removal(connection: Reading, folder: int, name: str, head: Memory, work: Work) -> None:
    """A name that the memory has left, unless another one stands there by now and takes it over."""
    there = reader.by_path(connection, SHELF, name)
    if there is not None and there.state.live and there.id != head.id and there.path == name:
        return
    one_file = head.state.live and collision_key(name) == collision_key(head.path)
    (work.early if one_file else work.takes).append((name, shown.shown_row(connection, folder, name)))


def plan_index(
    connection: Reading,
    folder: int,
    forced: Mapping[str, bytes | None],
    work: Work,
    without: Collection[str] = (),
) -> None:
    """What must become of MEMORY.md. `without`: paths that are on no file, so that no line of ours may name them."""
    rows = lines.rows(connection)
    if without:
        away = {entry.id for entry in lines.entries(connection).values() if entry.path in without}
        rows = [row for row in rows if row.kind != "auto" or row.memory not in away]
    work.index = None
    row = shown.shown_row(connection, folder, INDEX_NAME)
    if not rows and (row is None or forced.get(INDEX_NAME, b"") is None):
        work.settled += [] if row is None else [Forget(INDEX_NAME)]
        return
    rendering = whole(rows)
    if rendering is None:
        entries = lines.entries(connection)
        rendering = chosen(rows, entries)
        work.omitted = omitted_paths(rendering, entries, rows)
    else:
        work.omitted = ()
    put = put_index(rendering)
    if row is not None and INDEX_NAME not in forced:
        if row.content == put.content:
            return
        everything = "\n".join(line.text for line in in_order(rows)).encode("utf-8")
        # Reading the whole file is dear, and for nothing where a line is missing.
        if set(everything.split(b"\n")).issubset(row.content.split(b"\n")) and _theirs(row.content) == everything:
            # The file says all that the rows say: an index that somebody wrote past the limits is left as it is.
            work.omitted = ()
            return
    work.index = Task(put, forced.get(INDEX_NAME, None if row is None else row.content), row)


def omissions(connection: Reading) -> tuple[str, ...]:
    """The paths of the memories that the index, as it would be shown now, has no room for."""
    rows = lines.rows(connection)
    if whole(rows) is not None:
        return ()
    entries = lines.entries(connection)
    return omitted_paths(chosen(rows, entries), entries, rows)


def omitted_paths(rendering: Rendering, entries: Mapping[str, Entry], rows: list[Line]) -> tuple[str, ...]:
    """The paths of the memories whose line found no room in the index."""
    memory_of = {row.id: row.memory for row in rows}
    ids = (memory_of.get(row) for row in rendering.omitted)
    return tuple(dict.fromkeys(entries[memory].path for memory in ids if memory is not None and memory in entries))


def _theirs(content: bytes) -> bytes:
    """An index without the lines that are ours or the client's: what people and agents wrote."""
    pieces = parse(content.decode("utf-8", "replace"))
    return "\n".join(pieces[at].text for at in without_ours(pieces)).encode("utf-8", "surrogatepass")


def carry_out(folder: Folder, work: Work, found: Findings, index_without: Callable[[Collection[str]], None]) -> Outcome:
    """Puts the topics, then the index, then takes away what is gone.

    `index_without` plans the index anew where topics could not be put: it never names a file that is not there.
    """
    outcome = Outcome(list(work.settled), absent=set(work.away))
    _take_all(folder, work.early, work.since, found, outcome)
    _put(folder, work.puts, work.since, found, outcome)
    if work.index is not None and outcome.absent:
        index_without(outcome.absent)
    stands = work.index is None and INDEX_NAME not in work.held
    if work.index is not None:
        _put(folder, [work.index], work.since, found, outcome)
        stands = any(isinstance(change, ShownRow) and change.name == INDEX_NAME for change in outcome.shown)
    if stands:
        _take_all(folder, work.takes, work.since, found, outcome)
    else:
        for name, _ in work.takes:
            outcome.fail(found, name, f"{INDEX_NAME} may still name it, and could not be written")
    return outcome


def _put(folder: Folder, tasks: list[Task], since: Since, found: Findings, outcome: Outcome) -> None:
    ready: list[Task] = []
    for task in tasks:
        try:
            folder.check(task.row.name)
        except NameRefused as error:
            outcome.fail(found, task.row.name, error.reason)
            outcome.absent.add(task.row.name)
        else:
            ready.append(task)
    results = folder.put_many([(task.row.name, task.row.content, task.expect) for task in ready])
    for task, result in zip(ready, results, strict=True):
        name = task.row.name
        if isinstance(result, NotProjected):
            outcome.fail(found, name, result.reason)
            if task.base is None:
                outcome.absent.add(name)
            continue
        outcome.shown.append(task.row)
        known = None if task.base is None else task.base.content
        # What is kept may be half a save: as an earlier text it would be the base of what it never gave to the store.
        if result.kept is None and result.came_out is not None and result.came_out != known:
            outcome.shown.append(Before(name, result.came_out))
        found.projected.append(name)
        if result.kept is not None and result.came_out is not None:
            outcome.surprises.append(
                Surprise(
                    name, result.came_out, result.settled, task.base, result.kept, task.row.content,
                    since.get(name, ()),
                )
            )  # fmt: skip


def _take_all(
    folder: Folder, takes: Sequence[tuple[str, ShownRow | None]], since: Since, found: Findings, outcome: Outcome
) -> None:
    for name, row in takes:
        try:
            taken = folder.take(name)
        except (NotProjected, NameRefused) as error:
            outcome.fail(found, name, error.reason)
            continue
        outcome.shown.append(Forget(name))
        if taken is None:
            continue
        found.removed.append(name)
        if row is not None and taken.content == row.content and folder.discard(taken.kept, taken.content):
            continue
        outcome.surprises.append(
            Surprise(name, taken.content, taken.settled, row, taken.kept, since=since.get(name, ()))
        )
