"""Forgets on purpose: a memory, a secret, or what is older than a day; everywhere that memstore can reach.

What is current is changed first, by an operation like any other, so that the files of the folders follow by the rules
that lose nobody's edit. Only when they have followed is the history rewritten, in one transaction, and the files of the
store are cleaned. A crash in between leaves a step undone that a second call does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from memstore.app import Memstore
from memstore.core.changes import Change, Rename, Retire, Revise
from memstore.core.forgetting import MARK, Secret, clues
from memstore.core.model import INDEX_NAME, Memory
from memstore.core.names import alternative, collision_key
from memstore.core.spellings import Cuts
from memstore.errors import Conflict, DiskFull, MemstoreError, PlaceRefused, StoreBusy
from memstore.files.redact import remove_emptied
from memstore.files.report import Progress, SyncReport
from memstore.files.temporary import is_ours
from memstore.store import purging, redacting, sweeping, tombstones
from memstore.store.purging import Connection, Reach
from memstore.store.purging_before import forget_before
from memstore.upkeep.purging_files import (
    absorb,
    clear_beside,
    elsewhere,
    folders,
    others,
    own_places,
    redact_logs,
    remove,
)
from memstore.upkeep.searching import search_files
from memstore.writing import Writer

_TRIES = 8
_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten: one of the three. `before`: unix microseconds."""

    names: tuple[str, ...] = ()
    secret: Secret | None = None
    before: int | None = None

    @property
    def what(self) -> str:
        """memory, secret or before."""
        return "memory" if self.names else "secret" if self.secret is not None else "before"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a purge would take. `memories`: those that go, or, for a secret, the living ones that are changed."""

    wanted: Wanted
    memories: tuple[str, ...]
    lines: int
    taken: dict[str, int]
    files: tuple[str, ...]
    copies: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to take, in no file either."""
        return not (self.memories or self.lines or self.taken or self.files)


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge came to. `seq`: its operation; None where no row had to be changed. `trouble`: why freed pages and
    log could not be cleaned. `found`: files that still hold what was purged; `unread`: those that could not be looked
    into; `left`: columns that do, which are for the program's own use. `removed`: copies that were deleted; `notices`:
    what else a person should know."""

    seq: int | None
    taken: dict[str, int]
    files: SyncReport | None
    trouble: MemstoreError | None
    found: tuple[str, ...]
    unread: tuple[str, ...]
    left: tuple[str, ...]
    copies: tuple[str, ...]
    removed: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether it is in no file of the store any more, as far as could be seen."""
        return self.trouble is None and not (self.found or self.unread or self.left)


def plan(memories: Memstore, wanted: Wanted) -> Plan:
    """What would be taken. Edits of the folder are taken in first; else nothing is changed. Raises NotFound."""
    absorb(memories)
    if wanted.secret is not None:
        with memories.store.view() as connection:
            wanted = Wanted(secret=wanted.secret.also(redacting.file_stems(connection, wanted.secret)))
    heads = _named(memories, wanted.names)
    try:
        reach = purging.rehearse(memories.store, _work(wanted, heads, rehearsal=True))
    except DiskFull as error:
        error.hint = _room(memories)
        raise
    lines = 0
    paths = tuple(head.path for head in heads)
    files: tuple[str, ...] = ()
    if wanted.secret is not None:
        with memories.store.view() as connection:
            paths = tuple(path for _, path in redacting.current_texts(connection, wanted.secret))
            lines = len(redacting.current_lines(connection, wanted.secret))
        files, _ = search_files(wanted.secret.forms, [*folders(memories), *own_places(memories)])
    copies = sweeping.copies(memories.store, memories.place.home.path)
    return Plan(wanted, paths, lines, dict(reach.taken), files, tuple(copies))


def purge(
    memories: Memstore,
    planned: Plan,
    *,
    reason: str = "",
    with_copies: bool = False,
    progress: Progress | None = None,
) -> Purged:
    """Takes it. `with_copies`: the copies of the database that memstore made are deleted.

    Raises PlaceRefused where a file could not follow, StoreBusy where sessions keep writing what is to go, and kin;
    nothing is taken out of the history then.
    """
    wanted = planned.wanted
    tell = progress or _silent
    tell(0, 3, "rewriting the history")
    needles = wanted.secret.forms if wanted.secret is not None else _clues(memories, wanted)
    seq, taken, report = _forget(memories, wanted, reason)
    tell(1, 3, "cleaning the database")
    notices = clear_beside(memories, wanted.secret)
    if wanted.secret is not None:
        notices += redact_logs(memories, wanted.secret)
        for place in folders(memories):
            remove_emptied(place, wanted.secret)
        stores = elsewhere(memories, wanted.secret)
        if stores:
            notices.append(
                f"it seems to stand in other stores as well, which have to be purged of their own: {', '.join(stores)}"
            )
    trouble = sweeping.sweep(memories.store, memories.world.pause).trouble
    removed = remove(planned.copies) if with_copies else ()
    left: tuple[str, ...] = ()
    tell(2, 3, "looking through the files")
    if wanted.secret is not None:
        with memories.store.view() as connection:
            left = tuple(redacting.left_in(connection, needles))
    else:
        needles, quoted = _without_quoted(memories, needles)
        notices += quoted
        if not needles and wanted.names:
            notices.append("no line of it is long enough and its own to be looked for in the files")
    found, unread = search_files(needles, [*folders(memories), *own_places(memories)])
    kept = tuple(path for path in planned.copies if path not in removed)
    return Purged(seq, taken, report, trouble, found, unread, left, kept, removed, tuple(notices))


def _silent(*_: object) -> None:
    """Nobody wants to know how far it has come."""


def finish(memories: Memstore) -> tuple[list[tombstones.Tombstone], MemstoreError | None]:
    """Cleans the files of the store after purges that could not. Returns those, and what is in the way still."""
    with memories.store.view() as connection:
        waiting = tombstones.unswept(connection)
    return waiting, sweeping.sweep(memories.store, memories.world.pause).trouble


def found_copies(memories: Memstore) -> tuple[str, ...]:
    """The copies of the database that memstore made: backups, those of before a new schema, damaged ones."""
    return tuple(sweeping.copies(memories.store, memories.place.home.path))


def delete_copies(paths: Sequence[str]) -> tuple[str, ...]:
    """Deletes them. Returns those that are gone by that."""
    return remove(paths)


def _forget(memories: Memstore, wanted: Wanted, reason: str) -> tuple[int | None, dict[str, int], SyncReport | None]:
    """Changes what is current, waits for its files, and rewrites the history; anew where somebody was faster."""
    if wanted.secret is not None:
        reason = wanted.secret.out_of_text(reason)
    busy: MemstoreError | None = None
    for attempt in range(_TRIES):
        if attempt:
            memories.world.pause(_WAIT)
        try:
            absorb(memories)
            heads = _named(memories, wanted.names)
            report = _change_current(memories, wanted, heads)
            _check_files(memories, wanted, heads)
            by, work = _writer(memories).provenance, _work(wanted, heads)
            seq, reach = purging.commit(memories.store, wanted.what, memories.world.new_id(), by, reason, work)
            with suppress(MemstoreError):  # its files are up to date already; this says so
                memories.files.settle()
            return seq, reach.taken, report
        except DiskFull as error:
            error.hint = _room(memories)
            raise
        except (Conflict, StoreBusy) as error:
            busy = error
    assert busy is not None
    raise busy


def _room(memories: Memstore) -> str:
    """What helps on a full disk, where taking rows out needs room as well."""
    copies = sweeping.copies(memories.store, memories.place.home.path)
    where = f", for example of {copies[0]}" if copies else ""
    return f"taking rows out needs room as well: free some{where}, then repeat the command"


def _work(wanted: Wanted, heads: Sequence[Memory], *, rehearsal: bool = False) -> Callable[[Connection, Reach], None]:
    if wanted.secret is not None:
        return partial(_redact, wanted.secret, rehearsal)
    if wanted.before is not None:
        return partial(_forget_before, wanted.before)
    return partial(_forget_heads, tuple(head.id for head in heads), rehearsal)


def _redact(secret: Secret, rehearsal: bool, connection: Connection, reach: Reach) -> None:
    redacting.redact(connection, secret, reach, rehearsal=rehearsal)


def _forget_before(moment: int, connection: Connection, reach: Reach) -> None:
    forget_before(connection, moment, reach)


def _forget_heads(ids: tuple[str, ...], rehearsal: bool, connection: Connection, reach: Reach) -> None:
    purging.forget_memories(connection, ids, reach, rehearsal=rehearsal)


def _named(memories: Memstore, names: Sequence[str]) -> list[Memory]:
    """The memories of these names, and the retired ones that stood at the same place. Raises NotFound."""
    writer = _writer(memories)
    found: dict[str, Memory] = {}
    for name in names:
        head = writer.find(name, retired=True)
        key = collision_key(head.path)
        for other in memories.store.memories(memories.shelf, retired=True):
            if other.id == head.id or (not other.state.live and collision_key(other.path) == key):
                found[other.id] = other
    return sorted(found.values(), key=lambda head: head.path)


def _writer(memories: Memstore) -> Writer:
    provenance = memories.world.provenance(memories.place.root)
    return Writer(memories.store, memories.world, provenance, memories.shelf)


# What is current, and its files


def _change_current(memories: Memstore, wanted: Wanted, heads: Sequence[Memory]) -> SyncReport | None:
    """One operation that takes it out of what stands now, and the files after it."""
    writer = _writer(memories)
    changes: tuple[Change, ...] = tuple(Retire(head.id, head.token) for head in heads if head.state.live)
    if wanted.secret is not None:
        changes = _revisions(memories, wanted.secret)
    if changes:
        writer.apply(changes, "delete" if wanted.names else "redact", reason="purge")
    if wanted.secret is not None:
        with memories.store.view() as connection:
            lines = redacting.current_lines(connection, wanted.secret)
        if lines:
            writer.apply((), "redact", lines=lines, reason="purge")
    elif not changes:
        return None
    report = memories.files.settle()
    for sync in others(memories):
        sync.settle()
    return report


def _revisions(memories: Memstore, secret: Secret) -> tuple[Change, ...]:
    with memories.store.view() as connection:
        found = redacting.current_texts(connection, secret)
    taken = {collision_key(head.path) for head in memories.store.memories()}
    cuts = Cuts(secret.forms)
    changes: list[Change] = []
    for identity, path in found:
        head = memories.store.memory(identity)
        assert head is not None
        content = cuts.out_of(secret.out_of(head.state.content), MARK.encode())  # a header may have its beginning
        new = _free(secret.out_of_path(path), taken) if secret.within(path.encode()) else path
        taken.add(collision_key(new))
        if new == path:
            changes.append(Revise(head.id, head.token, content))
        else:
            changes.append(Rename(head.id, head.token, new, content))
    return tuple(changes)


def _free(path: str, taken: set[str]) -> str:
    """The path, or the next one like it that no memory has."""
    above, slash, name = path.rpartition("/")
    candidate, number = path, 1
    while collision_key(candidate) in taken:
        number += 1
        candidate = above + slash + alternative(name, number)
    return candidate


def _check_files(memories: Memstore, wanted: Wanted, heads: Sequence[Memory]) -> None:
    """Raises PlaceRefused where a file could not follow: its text would be taken in again as somebody's edit."""
    standing = {head.path for head in memories.store.memories()}
    for path in folders(memories):
        if wanted.secret is not None:
            held, _ = search_files(wanted.secret.forms, [path])
            names = [os.path.relpath(file, path) for file in held]
            blocked = [name for name in names if name == INDEX_NAME or name in standing]
            if any(is_ours(os.path.basename(name)) for name in names):  # it came out of an exchange, and is still news
                raise StoreBusy(f"somebody is writing a file in {path} just now", hint="repeat the command in a moment")
        else:
            blocked = [head.path for head in heads if head.path not in standing and _lies_there(path, head.path)]
        if blocked:
            raise PlaceRefused(
                f"{os.path.join(path, blocked[0])} still holds it and could not be changed; the history is as it was",
                hint="see `memstore sync` for the reason, mend it, then repeat the command",
            )


def _lies_there(folder: str, path: str) -> bool:
    return os.path.lexists(os.path.join(folder, path))


# How a memory that is gone would be known


def _clues(memories: Memstore, wanted: Wanted) -> tuple[bytes, ...]:
    contents = [
        version.state.content for head in _named(memories, wanted.names) for version in memories.store.versions(head.id)
    ]
    return clues(contents)


def _without_quoted(memories: Memstore, needles: Sequence[bytes]) -> tuple[tuple[bytes, ...], list[str]]:
    """The lines that stand in no row any more; and where others do, for they are somebody else's words as well."""
    alone: list[bytes] = []
    with memories.store.view() as connection:
        places = redacting.left_in(connection, needles) if needles else []
        for needle in needles:
            if not places or not redacting.left_in(connection, [needle]):
                alone.append(needle)
    told = f"some of its lines stand elsewhere too ({', '.join(places)}): `memstore purge --secret` takes a line"
    return tuple(alone), [told] if places else []
