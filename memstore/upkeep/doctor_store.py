"""What the doctor looks at in the database: whether it is sound, and whether its rows, terms and files agree."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from memstore.app import Memstore
from memstore.core.findings import Finding, Severity
from memstore.core.ids import fingerprint
from memstore.errors import MemstoreError, StoreDamaged, StoreNewer
from memstore.files.folder import Folder
from memstore.files.freshness import stamp_of
from memstore.files.report import counted
from memstore.files.walk import FileRead
from memstore.place import open_store
from memstore.store import examining, holders, jobs, leases, search, shown, writer
from memstore.store.connection import open_link
from memstore.store.ddl import migrations
from memstore.store.process import is_alive
from memstore.store.worker_turn import is_working
from memstore.upkeep.doctor_place import made, told_size
from memstore.upkeep.doctor_scene import Scene
from memstore.upkeep.doctor_told import memories_told, some

_SECONDS = 0.25
"""As long as the comparison of terms may take, and that of files; `--thorough` takes as long as it needs."""

_WAL_BYTES = 16 * 1024 * 1024
"""SQLite begins the log anew long before, where nobody keeps it from that."""

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_CLOCK = 300 * _SECOND
_LINGERING = 600 * _SECOND

_UNSOUND = "the database is not sound"


def database(scene: Scene) -> Iterable[Finding] | str:
    """Whether the database opens. It is opened for reading alone, and what is refused is left byte for byte."""
    return scene.lacks.get("database") or _database(scene)


def _database(scene: Scene) -> Iterator[Finding]:
    assert scene.path is not None
    why = "no command can read or write the memories; the files in the folder are as they were"
    size = _size_of_file(scene.path)
    if size is None or (size == 0 and scene.was_used):
        if scene.was_used:
            how = "is missing" if size is None else "is empty"
            what = f"{scene.path} {how}, yet this store has been used"
            scene.lacks["database"] = f"the database {how}"
            yield Finding("database", "error", what, why, _way_back(scene))
        else:
            scene.lacks["database"] = "the database is not made yet"
        return
    try:
        scene.link = examining.open_for_look(scene.path)
    except MemstoreError as error:
        scene.lacks["database"] = "the database cannot be opened"
        mend = error.hint
        if isinstance(error, StoreDamaged):
            mend = _way_back(scene)
        elif isinstance(error, StoreNewer):
            mend = f"{error.hint}; or, if that is not to be had: {_way_back(scene)}"
        yield Finding("database", "error", str(error), why, mend)
        return
    with scene.view() as connection:
        found = examining.schema(connection)
    if found < len(migrations()):
        scene.lacks["rows"] = "the schema is an older one"
        what = f"the database has schema {found}, this memstore works with {len(migrations())}"
        yield Finding(
            "database", "note", what, "the next command brings it up to date, after a copy", "`memstore status`"
        )


def integrity(scene: Scene) -> Iterator[Finding]:
    """SQLite's own check of all pages and indexes, on a fresh connection. What it finds has to be found twice: a disk
    that fails to answer once looks like damage."""
    found = _integrity(scene)
    if found:
        assert scene.path is not None and scene.link is not None
        scene.link.leave()
        scene.link = examining.open_for_look(scene.path)
        found = _integrity(scene)
    if found:
        scene.lacks["rows"] = _UNSOUND
        what = f"{scene.path} is damaged: {'; '.join(found[:5])}"
        why = "what it answers may be wrong, and writing to it makes it worse"
        yield Finding("integrity", "error", what, why, _way_back(scene))


def references(scene: Scene) -> Iterator[Finding]:
    """Rows that name rows."""
    with scene.view() as connection:
        found = examining.references(connection)
    if found:
        why = "what belongs together is no longer together"
        yield Finding("references", "error", f"rows are missing: {'; '.join(found[:5])}", why, _way_back(scene))


def heads(scene: Scene) -> Iterator[Finding]:
    """The memories as they stand against their newest versions."""
    with scene.view() as connection:
        found = examining.heads(connection)
    if found:
        what = f"{memories_told(len(found))} {_are(found)} not what the newest version says: {some(found)}"
        yield Finding("heads", "error", what, "commands show something that nobody wrote", _way_back(scene))


def digests(scene: Scene) -> Iterator[Finding]:
    """The digest of each text."""
    with scene.view() as connection:
        found = examining.digests(connection)
    if found:
        count = "1 text differs" if len(found) == 1 else f"{len(found)} texts differ"
        what = f"{count} from what was written: {some(found)}"
        why = "their bytes changed on the disk, or something else wrote into the database"
        yield Finding("digests", "error", what, why, f"write them again, or go back: {_way_back(scene)}")


def terms(scene: Scene) -> Iterator[Finding]:
    """The search terms of each memory against its text."""
    with scene.view() as connection:
        found = examining.terms(connection, None if scene.thorough else _SECONDS)
    if found.wrong:
        whose = f"{memories_told(len(found.wrong))} {_have(found.wrong)}"
        what = f"{whose} other search terms than the text: {some(found.wrong)}"
        why = "search and recall do not find what is there"
        yield Finding("terms", "warning", what, why, "`memstore doctor --fix` makes the terms anew", fix=True)
    if found.compared < found.of:
        scene.compared.append(f"the search terms of {memories_told(found.compared)}")


def mend_terms(scene: Scene) -> str:
    """Makes the terms anew that are not those of their text."""
    assert scene.memories is not None
    with scene.view() as connection:
        wrong = examining.terms(connection, None)
    with scene.memories.store.change() as connection:
        count = writer.reindex(connection, wrong.keys)
    return f"the search terms of {memories_told(count)} are made anew"


def search_index(scene: Scene) -> Iterable[Finding] | str:
    """FTS5's own check, at rank 1: nothing else compares its index with the terms. `memories` has begun it."""
    if scene.index_is_sound is None:
        return "the store can only be read, and this check needs the lock of writers"
    if scene.index_is_sound.result():
        return []
    what, why = "the index of words does not hold the terms", "search and recall do not find what is there"
    return [Finding("search-index", "error", what, why, "`memstore doctor --fix` makes it anew", fix=True)]


def mend_index(scene: Scene) -> str:
    """Makes the index of words anew from the terms."""
    assert scene.memories is not None
    with scene.memories.store.change() as connection:
        search.rebuild_index(connection)
    return "the index of words is made anew"


def drift(scene: Scene) -> Iterable[Finding] | str:
    """The bytes in the folder against what the store knows to lie there."""
    assert scene.memories is not None
    place = scene.memories.place
    folder = None if place.folder is None else Folder.open(place.folder)
    if folder is None:
        return "there is no folder" if place.folder is not None else "nothing is projected here"
    with folder, scene.view() as connection:
        known = examining.shown(connection, folder.path)
        unseen, edited, compared = _drifted(folder, known, None if scene.thorough else _SECONDS)
    found = []
    if compared < len(known):
        scene.compared.append(f"the bytes of {counted(compared, 'file')}")
    if unseen:
        what = f"bytes in {folder.path} changed, with times as if nothing had: {some(unseen)}"
        why = "the edit is taken for what was there before, until the file is saved again"
        found.append(Finding("drift", "warning", what, why, "`memstore doctor --fix` looks at them afresh", fix=True))
    if edited:
        what = f"{'1 file was' if len(edited) == 1 else f'{len(edited)} files were'} touched since the last look"
        why = "until the next look the store has the text of before"
        found.append(Finding("drift", "note", f"{what}: {some(edited)}", why, "`memstore sync` takes in what is new"))
    return found


def mend_drift(scene: Scene) -> str:
    """Forgets the stamps of the files whose bytes are others, and takes these in."""
    assert scene.memories is not None
    memories, place = scene.memories, scene.memories.place
    folder = None if place.folder is None else Folder.open(place.folder)
    if folder is None:
        return ""
    with folder, scene.view() as connection:
        row = shown.folder_row(connection, folder.path)
        unseen, _, _ = _drifted(folder, examining.shown(connection, folder.path), None)
    if row is None:
        return ""
    memories.store.show(row.pk, [shown.Stamp(name, None) for name in unseen])
    memories.sync()
    return f"taken in as edits of the files: {some(unseen)}"


def log(scene: Scene) -> Iterator[Finding]:
    """How long the log beside the database is, and who keeps it from being begun anew."""
    assert scene.path is not None
    try:
        size = os.stat(scene.path + "-wal").st_size
    except OSError:
        return
    if size <= _WAL_BYTES:
        return
    held = _held_on(scene)
    who = ", ".join(f"{one.program or 'a process'} ({one.pid})" for one in held)
    why = "every read has to look through it, and it takes room on the disk"
    what = f"the log beside the database has {told_size(size)}"
    mend = f"end {who}, which reads the store without end" if held else "`memstore doctor --fix` empties it"
    yield Finding("log", "warning", f"{what}, held by {who}" if held else what, why, mend, fix=not held)


def mend_log(scene: Scene) -> str:
    """Moves the log into the database."""
    assert scene.path is not None
    link = open_link(scene.path)
    try:
        done = examining.checkpoint(link)
    finally:
        link.close()
    return "the log is in the database" if done else ""


def clock(scene: Scene) -> Iterator[Finding]:
    """This machine's clock against the newest operation."""
    with scene.view() as connection:
        newest = examining.newest(connection)
    ahead = 0 if newest is None else newest - scene.world.clock()
    if ahead > _CLOCK:
        hours = ahead / 3_600 / _SECOND
        what = f"the newest operation was done {hours:.1f} hours after what this machine's clock says now"
        why = "ages, gates and the order of what sessions did go by the clock"
        severity: Severity = "warning" if ahead > _DAY else "note"
        yield Finding("clock", severity, what, why, "set the clock; what is kept stays in its order all the same")


def inbox(scene: Scene) -> Iterator[Finding]:
    """What hooks told that nobody has taken in."""
    with scene.view() as connection:
        found = examining.waiting(connection)
    why = "it is what sessions did, and is in no memory before"
    if (found.open or found.done) and scene.world.clock() - found.oldest > _LINGERING:
        count = found.open + found.done
        calls = "1 call" if count == 1 else f"{count} calls"
        what = f"{calls} of sessions wait in the inbox, the first for longer than 10 minutes"
        yield Finding("inbox", "warning", what, why, "`memstore sync` takes them in")


def left_leases(scene: Scene) -> Iterator[Finding]:
    """Leases of processes that are gone."""
    now = scene.world.clock()
    with scene.view() as connection:
        held = examining.held(connection)
    for lease in held:
        if not leases.is_held(lease, now, is_alive):
            what = f"a {lease.kind} of process {lease.process.pid} left its lease behind"
            why = "it was killed or the machine stopped; whoever is next takes it over"
            yield Finding("leases", "note", what, why, f"nothing: the next `memstore {lease.kind}` does")


def left_jobs(scene: Scene) -> Iterator[Finding]:
    """Jobs that failed, and those of workers that are gone."""
    assert scene.directory is not None
    with scene.view() as connection:
        parked, running = jobs.parked(connection), jobs.orphaned(connection)
    if parked:
        last = next((job.note for job in reversed(parked) if job.note), "")
        what = f"{'1 job was' if len(parked) == 1 else f'{len(parked)} jobs were'} given up" + (
            f": {last}" if last else ""
        )
        mend = "`memstore extract status` says why, `memstore extract retry` tries again"
        yield Finding("jobs", "warning", what, "what these turns taught is not kept", mend)
    kinds = {kind for kind in jobs.KINDS if not is_working(scene.directory, jobs.KINDS[0])}
    gone = [job for job in running if job.kind in kinds]
    if gone:
        what = f"{'1 job' if len(gone) == 1 else f'{len(gone)} jobs'} of a worker that is gone"
        yield Finding("jobs", "note", what, "the next worker takes it over", "`memstore extract run` does it now")


def memories(scene: Scene) -> Iterator[Finding]:
    """Opens the store as every command does, for the looks at its folder."""
    assert scene.place is not None
    scene.memories = Memstore(scene.world, scene.place, open_store(scene.place, scene.world))
    if scene.memories.store.writable:
        pool = ThreadPoolExecutor(1)
        scene.index_is_sound = pool.submit(examining.search_index, scene.memories.store.path)
        pool.shutdown(wait=False)
    else:
        what, why = f"{scene.path} can only be read", "memories are found and shown, but nothing is kept"
        yield Finding("database", "error", what, why, "mend its permissions, or make its file system writable")


def _size_of_file(path: str) -> int | None:
    """The size of a file; None where there is none, and 1 for what is no file at all."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else 1


def _way_back(scene: Scene) -> str:
    """What to do where a database cannot be used."""
    anew = "`memstore rebuild` makes it anew from the folder and from what can still be read"
    return f"`memstore restore-backup latest` puts the last backup back, {anew}" if made(scene) else anew


def _integrity(scene: Scene) -> list[str]:
    try:
        with scene.view() as connection:
            return examining.integrity(connection)
    except StoreDamaged as error:
        return [str(error)]


def _drifted(folder: Folder, known: list[examining.Shown], seconds: float | None) -> tuple[list[str], list[str], int]:
    """The files with other bytes under the same stamp, those with another stamp, and how many were compared at all:
    as many as could be read in these seconds, evenly spread."""
    unseen, edited, same = [], [], []
    for one in known:
        try:
            now = stamp_of(os.stat(os.path.join(folder.path, one.name), follow_symlinks=False))
        except OSError:
            continue  # what is gone is another look's
        if now == one.stamp:
            same.append(one)
        elif one.stamp is not None:
            edited.append(one.name)
    left, until = len(same), None if seconds is None else time.monotonic() + seconds
    for number, one in enumerate(examining.spread(same), 1):
        read = folder.read(one.name)
        left -= 1
        if isinstance(read, FileRead) and fingerprint(read.content) != one.digest and read.stamp == one.stamp:
            unseen.append(one.name)
        if until is not None and number >= examining.LEAST and time.monotonic() > until:
            break
    return sorted(unseen), edited, len(known) - left


def _held_on(scene: Scene) -> list[holders.Holder]:
    """Who reads now and still does a moment later."""
    assert scene.path is not None
    first = holders.readers(scene.path)
    if not first:
        return []
    scene.world.pause(0.3)
    return [one for one in holders.readers(scene.path) if one in first]


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"
