"""What the doctor looks at in the database: whether it is sound, and whether its rows, terms and files agree."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from shlex import quote

from memstore.app import Memstore
from memstore.core.findings import Finding
from memstore.core.ids import fingerprint
from memstore.errors import MemstoreError, StoreDamaged, StoreNewer
from memstore.files.folder import Folder
from memstore.files.freshness import stamp_of
from memstore.files.report import counted
from memstore.files.walk import FileRead
from memstore.place import open_store
from memstore.store import examining, search, shown, writer
from memstore.store.ddl import migrations
from memstore.upkeep.doctor_place import made
from memstore.upkeep.doctor_scene import Scene
from memstore.upkeep.doctor_told import memories_told, some

_SECONDS = 0.25
"""As long as the comparison of terms may take, and that of files; `--thorough` takes as long as it needs."""

_MOST_CHECKED = 30_000
"""For as many the check of the index of words keeps writers waiting for about two seconds; they wait for five."""

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
            mend = _way_out(scene)
        elif isinstance(error, StoreNewer):  # restoring and rebuilding refuse it as well
            mend = f"{error.hint}: nothing else touches it"
        yield Finding("database", "error", str(error), why, mend)


def makeup(scene: Scene) -> Iterable[Finding] | str:
    """Whether the database has what its schema's number says, and whether that is the present one."""
    return scene.lacks.get("rows") or _makeup(scene)


def _makeup(scene: Scene) -> Iterator[Finding]:
    with scene.view() as connection:
        found, wrong = examining.schema(connection), examining.makeup(connection)
    if wrong:
        if any(not one.startswith(("index", "trigger")) for one in wrong):
            scene.lacks["rows"] = _UNSOUND
        what = f"{scene.path} is not made as its schema, number {found}, says: {'; '.join(wrong[:5])}"
        why = "commands fail on it, or write what is not kept together"
        yield Finding("schema", "error", what, why, _way_back(scene))
    elif found < len(migrations()):
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
        yield Finding("integrity", "error", what, why, _way_out(scene))


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
    assert scene.memories is not None
    if scene.index_is_sound is None:
        if not scene.memories.store.writable:
            return "the store can only be read, and this check needs the lock of writers"
        return "it would keep writers waiting for seconds: `memstore doctor --thorough` does it"
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


def memories(scene: Scene) -> Iterator[Finding]:
    """Opens the store as every command does, for the looks at its folder."""
    assert scene.place is not None
    scene.memories = Memstore(scene.world, scene.place, open_store(scene.place, scene.world))
    if scene.memories.store.writable:
        _begin_index_check(scene)
    else:
        what, why = f"{scene.path} can only be read", "memories are found and shown, but nothing is kept"
        yield Finding("database", "error", what, why, _to_write(scene))


def _size_of_file(path: str) -> int | None:
    """The size of a file; None where there is none, and 1 for what is no file at all."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else 1


def _to_write(scene: Scene) -> str:
    """What makes a database writable again: its modes, or else the file system."""
    assert scene.path is not None and scene.directory is not None
    modes = [
        f"chmod u+{bits} {quote(path)}"
        for path, bits in ((scene.directory, "wx"), (scene.path, "w"))
        if not os.stat(path).st_mode & 0o200
    ]
    return " && ".join(modes) or "make its file system writable, or set MEMSTORE_HOME to one that is"


def _way_back(scene: Scene) -> str:
    """What to do where a database cannot be used."""
    anew = "`memstore rebuild` makes it anew from the folder and from what can still be read"
    return f"`memstore restore-backup latest` puts the last backup back, {anew}" if made(scene) else anew


def _way_out(scene: Scene) -> str:
    """What to do where a database does not read as one. It may be its log alone that is at fault."""
    assert scene.path is not None
    if not examining.sound_without_log(scene.path):
        return _way_back(scene)
    log = quote(scene.path + "-wal")
    return (
        f"without the log beside it the database is sound: if that is another database's, end all sessions, then"
        f" `mv {log} {log}.foreign`; else {_way_back(scene)}"
    )


def _begin_index_check(scene: Scene) -> None:
    assert scene.memories is not None
    with scene.view() as connection:
        many = examining.count(connection) > _MOST_CHECKED
    if not scene.mending and (scene.thorough or not many):
        pool = ThreadPoolExecutor(1)
        scene.index_is_sound = pool.submit(examining.search_index, scene.memories.store.path)
        pool.shutdown(wait=False)


def _integrity(scene: Scene) -> list[str]:
    try:
        with scene.view() as connection:
            found = examining.integrity(connection)
            return found or examining.unreadable(connection, None if scene.thorough else _SECONDS)
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
        if now == one.stamp or one.stamp is None:
            same.append(one)
        else:
            edited.append(one.name)
    left, until = len(same), None if seconds is None else time.monotonic() + seconds
    for number, one in enumerate(examining.spread(same), 1):
        read = folder.read(one.name)
        left -= 1
        if isinstance(read, FileRead) and fingerprint(read.content) != one.digest:
            if one.stamp is None:
                edited.append(one.name)
            elif read.stamp == one.stamp:
                unseen.append(one.name)
        if until is not None and number >= examining.LEAST and time.monotonic() > until:
            break
    return sorted(unseen), sorted(edited), len(known) - left


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"
