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
from memstore.core.forgetting import PATH_MARK, Secret, clues
from memstore.core.model import INDEX_NAME, Memory
from memstore.core.names import alternative, collision_key
from memstore.errors import Conflict, MemstoreError, NotProjected, PlaceRefused, StoreBusy
from memstore.files.folder import Folder
from memstore.files.in_place import InPlace
from memstore.files.redact import redact as redact_file
from memstore.files.report import SyncReport
from memstore.files.sync import Sync
from memstore.store import purging, redacting, sweeping, tombstones
from memstore.store.purging import Connection, Reach
from memstore.store.purging_before import forget_before
from memstore.upkeep.searching import search_files
from memstore.working import folders_of, sync_in
from memstore.writing import Writer

_TRIES = 8
_WAIT = 1.0
_LOGS = "logs/"


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
    _absorb(memories)
    heads = _named(memories, wanted.names)
    reach = purging.rehearse(memories.store, _work(memories, wanted, heads, rehearsal=True))
    lines = 0
    paths = tuple(head.path for head in heads)
    files: tuple[str, ...] = ()
    if wanted.secret is not None:
        with memories.store.view() as connection:
            paths = tuple(path for _, path in redacting.current_texts(connection, wanted.secret))
            lines = len(redacting.current_lines(connection, wanted.secret))
        files, _ = search_files(wanted.secret.forms, [*_folders(memories), *_own_places(memories)])
    copies = sweeping.copies(memories.store, memories.place.home.path)
    return Plan(wanted, paths, lines, dict(reach.taken), files, tuple(copies))


def purge(memories: Memstore, planned: Plan, *, reason: str = "", with_copies: bool = False) -> Purged:
    """Takes it. `with_copies`: the copies of the database that memstore made are deleted.

    Raises PlaceRefused where a file could not follow, StoreBusy where sessions keep writing what is to go, and kin;
    nothing is taken out of the history then.
    """
    wanted = planned.wanted
    needles = wanted.secret.forms if wanted.secret is not None else _clues(memories, wanted)
    seq, taken, report = _forget(memories, wanted, reason)
    notices = [] if wanted.secret is None else _redact_logs(memories, wanted.secret)
    trouble = sweeping.sweep(memories.store, memories.world.pause).trouble
    removed = _remove(planned.copies) if with_copies else ()
    left: tuple[str, ...] = ()
    if wanted.secret is not None:
        with memories.store.view() as connection:
            left = tuple(redacting.left_in(connection, needles))
    else:
        needles, quoted = _without_quoted(memories, needles)
        notices += quoted
    found, unread = search_files(needles, [*_folders(memories), *_own_places(memories)])
    kept = tuple(path for path in planned.copies if path not in removed)
    return Purged(seq, taken, report, trouble, found, unread, left, kept, removed, tuple(notices))


def finish(memories: Memstore) -> tuple[list[tombstones.Tombstone], MemstoreError | None]:
    """Cleans the files of the store after purges that could not. Returns those, and what is in the way still."""
    with memories.store.view() as connection:
        waiting = tombstones.unswept(connection)
    return waiting, sweeping.sweep(memories.store, memories.world.pause).trouble


def _forget(memories: Memstore, wanted: Wanted, reason: str) -> tuple[int | None, dict[str, int], SyncReport | None]:
    """Changes what is current, waits for its files, and rewrites the history; anew where somebody was faster."""
    if wanted.secret is not None:
        reason = wanted.secret.out_of_text(reason)
    busy: MemstoreError | None = None
    for attempt in range(_TRIES):
        if attempt:
            memories.world.pause(_WAIT)
        try:
            _absorb(memories)
            heads = _named(memories, wanted.names)
            report = _change_current(memories, wanted, heads)
            _check_files(memories, wanted, heads)
            work = _work(memories, wanted, heads)
            if not purging.rehearse(memories.store, work).taken:
                return None, {}, report
            by = _writer(memories).provenance
            seq, reach = purging.commit(memories.store, wanted.what, memories.world.new_id(), by, reason, work)
            with suppress(MemstoreError):  # its files are up to date already; this says so
                memories.files.settle()
            return seq, reach.taken, report
        except (Conflict, StoreBusy) as error:
            busy = error
    assert busy is not None
    raise busy


def _work(
    memories: Memstore, wanted: Wanted, heads: Sequence[Memory], *, rehearsal: bool = False
) -> Callable[[Connection, Reach], None]:
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
    for sync in _others(memories):
        sync.settle()
    return report


def _revisions(memories: Memstore, secret: Secret) -> tuple[Change, ...]:
    with memories.store.view() as connection:
        found = redacting.current_texts(connection, secret)
    taken = {collision_key(head.path) for head in memories.store.memories()}
    changes: list[Change] = []
    for identity, path in found:
        head = memories.store.memory(identity)
        assert head is not None
        content = secret.out_of(head.state.content)
        new = _free(secret.out_of_text(path, PATH_MARK), taken) if secret.within(path.encode()) else path
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
    for path in _folders(memories):
        if wanted.secret is not None:
            held, _ = search_files(wanted.secret.forms, [path])
            names = [os.path.relpath(file, path) for file in held]
            blocked = [name for name in names if name == INDEX_NAME or name in standing]
        else:
            blocked = [head.path for head in heads if head.path not in standing and _lies_there(path, head.path)]
        if blocked:
            raise PlaceRefused(
                f"{os.path.join(path, blocked[0])} still holds it and could not be changed; the history is as it was",
                hint="see `memstore sync` for the reason, mend it, then repeat the command",
            )


def _lies_there(folder: str, path: str) -> bool:
    return os.path.lexists(os.path.join(folder, path))


def _absorb(memories: Memstore) -> None:
    memories.files.absorb()
    for sync in _others(memories):
        sync.absorb()


def _folders(memories: Memstore) -> list[str]:
    """The memory folders that show this store, each once."""
    known = [memories.place.folder, *folders_of(memories.store)]
    return list(dict.fromkeys(os.path.realpath(path) for path in known if path is not None and os.path.isdir(path)))


def _others(memories: Memstore) -> list[Sync | InPlace]:
    """What looks after the folders of this store beside that of the working directory."""
    here = memories.place.folder
    found = []
    for path in _folders(memories):
        if here is None or path != os.path.realpath(here):
            with suppress(MemstoreError):
                sync = sync_in(memories.store, path, memories.world)
                if sync is not None:
                    found.append(sync)
    return found


def _redact_logs(memories: Memstore, secret: Secret) -> list[str]:
    """Takes it out of the files of the daily log. Returns what could not be changed, and why."""
    troubles = []
    world = memories.world
    for path in _folders(memories):
        held, _ = search_files(secret.forms, [os.path.join(path, _LOGS)])
        folder = Folder.open(path) if held else None
        if folder is None:
            continue
        with folder, folder.turn(memories.store.directory):
            for file in held:
                try:
                    redact_file(folder, os.path.relpath(file, path), secret, lambda: world.clock() * 1_000, world.pause)
                except (NotProjected, OSError) as error:
                    troubles.append(f"{file} could not be changed: {error}")
    return troubles


# Files of the program's own


def _own_places(memories: Memstore) -> list[str]:
    """Where memstore keeps anything of this store, or of no store: all of its home but what is another store's."""
    home, own = memories.place.home.path, memories.store.id
    places = [os.path.realpath(memories.store.directory), os.path.join(home, "backups", own)]
    shared = os.path.join(home, "spool")
    with suppress(OSError):
        places += [os.path.join(shared, name) for name in os.listdir(shared) if name.startswith(own)]
    with suppress(OSError):
        places += [os.path.join(home, name) for name in os.listdir(home) if name not in ("stores", "backups", "spool")]
    return places


def _remove(paths: Sequence[str]) -> tuple[str, ...]:
    removed = []
    for path in paths:
        with suppress(OSError):
            os.unlink(path)
            removed.append(path)
    return tuple(removed)


# How a memory that is gone would be known


def _clues(memories: Memstore, wanted: Wanted) -> tuple[bytes, ...]:
    contents = [
        version.state.content for head in _named(memories, wanted.names) for version in memories.store.versions(head.id)
    ]
    return clues(contents)


def _without_quoted(memories: Memstore, needles: Sequence[bytes]) -> tuple[tuple[bytes, ...], list[str]]:
    """The lines that stand in no row any more; and where others do, for they are somebody else's words as well."""
    alone, places = [], set[str]()
    with memories.store.view() as connection:
        for needle in needles:
            held = redacting.left_in(connection, [needle])
            places.update(held)
            if not held:
                alone.append(needle)
    told = (
        f"some of its lines stand elsewhere too ({', '.join(sorted(places))}): `memstore purge --secret` takes a line"
    )
    return tuple(alone), [told] if places else []
