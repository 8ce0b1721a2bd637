"""What the doctor looks at around the database: the machine, the home of the stores, the disk, what waits there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from shlex import quote

from memstore.core.findings import Finding, Severity
from memstore.core.ids import is_uuid
from memstore.core.settings import KEYS, Settings
from memstore.errors import EngineTooOld, MemstoreError, Moved, SettingRefused
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.place import find_place, locate
from memstore.store import ground, spool
from memstore.store.connection import check_engine
from memstore.store.home import Home
from memstore.store.settings import stored, user_settings
from memstore.upkeep.backups import Backup, directory_of, listed
from memstore.upkeep.doctor_scene import Scene

_DAY = 86_400_000_000
_SPOOLED = 600
"""Seconds after which somebody should have taken in what a hook could not write."""

_LEAST_SPACE = 64 * 1024 * 1024
_BACKUP_DAYS = 7
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
_COPIES = ".before-schema-"
_ASIDE = ".damaged-"


def engine(_: Scene) -> Iterator[Finding]:
    """The SQLite library and the platform."""
    try:
        check_engine()
    except EngineTooOld as error:
        yield Finding("engine", "error", str(error), "no store is opened with it, as it could be broken", error.hint)


def place(scene: Scene) -> Iterator[Finding]:
    """Where the memories of this directory are. What is found is what the other looks go by."""
    why = "without it no command finds the memories"
    try:
        scene.home = Home.locate(scene.world.environment).path
        try:
            scene.place = find_place(scene.world)
        except Moved as moved:
            scene.place = locate(scene.world)
            scene.lacks["store"] = "the repository was moved, and its store awaits `memstore link`"
            yield Finding("place", "error", str(moved), why, moved.hint)
    except MemstoreError as error:
        scene.lacks["home"] = scene.lacks["place"] = scene.lacks["store"] = "it is not known where it lies"
        if scene.home is not None:
            del scene.lacks["home"]
        yield Finding("place", "error", str(error), why, error.hint or "`memstore where` tells each decision")
        return
    if scene.place.store is None and not scene.lacks:
        folder = scene.place.placement.directory
        what = f"there is no store for {scene.place.root.path} yet"
        if os.path.isdir(folder) and os.listdir(folder) and not _is_of_another(folder, scene.place.root.path):
            yield Finding(
                "place", "note", f"{what}, but there are files in {folder}", why, "`memstore sync` takes them in"
            )
        else:
            yield Finding("place", "note", what, "there is nothing to examine", "the first write makes one")
    if scene.directory is not None and not os.path.isdir(scene.directory):
        scene.lacks["store"] = "the store's directory is not there"
        what = f"{scene.place.root.path} has the store {scene.place.store}, but {scene.directory} is not there"
        saved = made(scene)
        mend = "put it back; else the next command begins with the files in the folder"
        if saved:
            mend = f"put it back, or `memstore restore-backup latest`: the last backup is {saved[0].path}"
        yield Finding("place", "error", what, "the memories and their history are not there", mend)
    if scene.place.refusal:
        yield Finding(
            "place", "warning", scene.place.refusal, "agents do not see the memories there", "`memstore trust`"
        )


def _is_of_another(directory: str, root: str) -> bool:
    """Whether a folder's claim is another project's, so that its files are not taken in here."""
    try:
        folder = Folder.open(directory)
        if folder is None:
            return False
        with folder:
            claim = read_claim(folder)
    except MemstoreError:
        return False  # the look at the folder tells
    return claim is not None and claim.root != root and os.path.isdir(claim.root)


def permissions(scene: Scene) -> Iterator[Finding]:
    """Who else may read or change what lies in the home. `--fix` takes it from them."""
    assert scene.home is not None
    for path, found in _of_home(scene):
        if found.st_uid != os.geteuid():
            yield Finding(
                "owner",
                "error",
                f"{path} belongs to user {found.st_uid}, memstore runs as {os.geteuid()}",
                "it cannot be written, or somebody else can change it",
                f"chown -R {os.geteuid()} {quote(path)}",
            )
        elif found.st_mode & 0o022:
            why = "others can change memories, and so what agents are told"
            yield _open(path, found, "error", _but_for(path, scene.home) or why)
        elif found.st_mode & 0o044 and path != scene.home:
            why = "others on this machine can read what agents remember"
            yield _open(path, found, "warning", _but_for(path, scene.home) or why)


def mend_permissions(scene: Scene) -> str:
    """Takes from all but the owner what they may do with the home's files."""
    done = []
    for path, found in _of_home(scene):
        if found.st_uid == os.geteuid() and found.st_mode & 0o077 and (path != scene.home or found.st_mode & 0o022):
            os.chmod(path, stat.S_IMODE(found.st_mode) & ~0o077)
            done.append(path)
    return f"for its owner alone: {', '.join(done)}" if done else ""


def grounds(scene: Scene) -> Iterable[Finding] | str:
    """The file system of the store."""
    where = scene.directory or scene.home
    assert where is not None
    mount = ground.mount_of(where)
    if mount is None:
        return "this system does not tell which file system a path lies on"
    told = f"{where} lies on {mount.kind} ({mount.source}, mounted at {mount.point})"
    if mount.safe is False:
        scene.lacks["database"] = f"no database is opened on {mount.kind}"
        why = "SQLite's log works on a file system of one machine only; on this one a database breaks within minutes"
        mend = (
            "end all sessions, move the home of the stores to a local disk (`mv`), set MEMSTORE_HOME to its new place"
        )
        return [Finding("ground", "error", told, why, mend)]
    if mount.read_only:
        why = "nothing can be written: hooks lose what they see"
        return [Finding("ground", "error", f"{told}, read-only", why, "mount it writable, or set MEMSTORE_HOME")]
    if mount.safe is None:
        why = "whether a database is safe there is not known to memstore"
        return [Finding("ground", "note", told, why, "if a network serves it, set MEMSTORE_HOME to a local disk")]
    if mount.kind in _IN_MEMORY:
        why = "what is in memory is gone when the machine starts anew"
        return [
            Finding("ground", "note", told, why, "to keep it, set MEMSTORE_HOME to a disk, or make backups elsewhere")
        ]
    return []


def space(scene: Scene) -> Iterator[Finding]:
    """The room that is left where the store lies."""
    where = scene.directory or scene.home
    assert where is not None
    found = os.statvfs(ground.existing(where))  # of a home that nobody has used yet
    free = found.f_bavail * found.f_frsize
    why = "without room nothing is written, not even that something is deleted"
    if found.f_bavail == 0 or (found.f_files and found.f_favail == 0):
        what = "room" if found.f_bavail == 0 else "file"
        yield Finding("space", "error", f"there is no {what} left on the disk of {where}", why, "free some space there")
    elif free < max(_LEAST_SPACE, 2 * _size(scene.path)):
        yield Finding(
            "space", "warning", f"{told_size(free)} are left on the disk of {where}", why, "free some space there"
        )


def spooled(scene: Scene) -> Iterator[Finding]:
    """What hooks could not write into a store. `--fix` takes in what waits for this one."""
    assert scene.home is not None
    directory = spool.directory_of(scene.home)
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return
    now, mine = scene.world.clock() // 1_000_000, scene.place.store if scene.place else None
    why = "it is what sessions did, and is in no memory before"
    waiting = [name for name in names if name.endswith(".row")]
    old = [name for name in waiting if mine and name.startswith(mine) and now - _begun(name) > _SPOOLED]
    if old:
        count = "1 record of a hook waits" if len(old) == 1 else f"{len(old)} records of hooks wait"
        yield Finding("spool", "warning", f"{count} in {directory}", why, "`memstore sync` takes them in", fix=True)
    for store in sorted({name.partition(".")[0] for name in waiting}):
        if not os.path.isdir(os.path.join(scene.home, "stores", store)):
            what = f"records of hooks wait in {directory} for a store that is not there: {store}"
            yield Finding("spool", "warning", what, why, "put that store back, or delete them")
    for name in names:
        if name.endswith(".unreadable"):
            what = f"{os.path.join(directory, name)} could not be read as a record of a hook"
            yield Finding("spool", "warning", what, why, "look at it, then delete it")


def mend_spool(scene: Scene) -> str:
    """Takes in what waits."""
    assert scene.memories is not None
    scene.memories.store.take_spooled()
    return "what hooks had put aside is in the store"


def settings(scene: Scene) -> Iterator[Finding]:
    """Settings that cannot be used, whoever set them."""
    assert scene.home is not None
    why = "what it would decide is not done, or as if nothing were set"
    of_store: dict[str, str] = {}
    if not scene.reason("rows"):
        with scene.view() as connection:
            of_store = stored(connection)
    try:
        of_user = user_settings(scene.home)
    except SettingRefused as error:
        yield Finding("settings", "error", str(error), why, error.hint)
        of_user = {}
    places = (("environment", scene.world.environment), ("store", of_store), ("user", of_user))
    for source, texts in places:
        for name, key in KEYS.items():
            try:
                Settings(**{source: texts}).get(name)
            except SettingRefused as error:
                user = "--user " if source == "user" else ""
                hint = f"unset {key.variable}" if source == "environment" else f"`memstore config unset {user}{name}`"
                yield Finding("settings", "warning", str(error), why, f"{error.hint}; or {hint}")
        unknown = [] if source == "environment" else sorted(set(texts) - set(KEYS))
        for name in unknown:
            what = f"there is no setting {name!r}, which the {source}'s settings name"
            yield Finding("settings", "note", what, "it decides nothing", "see `memstore config list`")


def registry(scene: Scene) -> Iterator[Finding]:
    """The files that say which repository has which store."""
    assert scene.home is not None
    try:
        Home(scene.home).entries()
    except MemstoreError as error:
        yield Finding("registry", "error", str(error), "a repository would not find its memories", error.hint)


def backups(scene: Scene) -> Iterator[Finding]:
    """How old the last backup is."""
    ages = [scene.world.clock() - one.at for one in made(scene)]
    days = min(ages, default=0) / _DAY
    if "database" in scene.lacks or "rows" in scene.lacks:
        return  # there is nothing to make one of
    if not ages or days > _BACKUP_DAYS:
        what = f"the last backup is {days:.0f} days old" if ages else "there is no backup of this store yet"
        why = "a disk that breaks takes everything since the last backup"
        yield Finding("backup", "note", what, why, "`memstore backup`")


def made(scene: Scene) -> list[Backup]:
    """The backups of the store, newest first, without what a restore kept of the state before it."""
    assert scene.home is not None and scene.directory is not None
    return [one for one in listed(scene.home, os.path.basename(scene.directory)) if not one.before_restore]


def leftovers(scene: Scene) -> Iterator[Finding]:
    """What earlier work left beside the database."""
    assert scene.directory is not None
    copies = sorted(name for name in os.listdir(scene.directory) if _COPIES in name and not name.endswith(".part"))
    if copies:
        taken = told_size(sum(_size(os.path.join(scene.directory, name)) for name in copies))
        what = f"copies from before a change of the schema take {taken}: {', '.join(copies)} in {scene.directory}"
        why = "they are only for going back to an older memstore, and hold what was purged since"
        yield Finding("leftovers", "note", what, why, "delete them when you are content")
    aside = sorted(name for name in os.listdir(scene.directory) if _ASIDE in name)
    if aside:
        taken = told_size(sum(_size(os.path.join(scene.directory, name)) for name in aside))
        what = f"a damaged database that was put aside takes {taken}: {', '.join(aside)} in {scene.directory}"
        why = "it may hold texts that were purged since, and nothing reads it any more"
        yield Finding("leftovers", "note", what, why, "delete it when you miss nothing")
    stray = sorted(
        name
        for name in os.listdir(os.path.join(scene.directory, ".."))
        if not is_uuid(name) and not name.startswith(".")
    )
    if stray:
        what = f"there are things in {os.path.dirname(scene.directory)} that are no stores: {', '.join(stray[:5])}"
        yield Finding("leftovers", "note", what, "memstore did not put them there", "see whether you need them")


def told_size(size: int) -> str:
    """Bytes as people read them."""
    value, units = float(size), ["bytes", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "bytes" else f"{value:.1f} {units[0]}"


def _of_home(scene: Scene) -> Iterator[tuple[str, os.stat_result]]:
    """The home's own directories and files, as far as they are there."""
    assert scene.home is not None
    paths = [scene.home, *(os.path.join(scene.home, name) for name in ("roots", "trust", "spool", "stores", "backups"))]
    paths.append(os.path.join(scene.home, "settings.json"))
    here = scene.directory
    for directory in () if here is None else (here, directory_of(scene.home, os.path.basename(here))):
        if os.path.isdir(directory):
            paths += [directory, *(os.path.join(directory, name) for name in sorted(os.listdir(directory)))]
    for path in paths:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
            yield path, found


def _but_for(path: str, home: str) -> str:
    """What else keeps others out: a directory above it that lets its owner through alone; empty where none does."""
    while path != home and os.path.dirname(path) != path:
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & 0o011:
            return f"nothing but the mode of {path} keeps others out"
    return ""


def _open(path: str, found: os.stat_result, severity: Severity, why: str) -> Finding:
    what = f"{path} has mode {stat.S_IMODE(found.st_mode):04o}"
    return Finding("permissions", severity, what, why, f"chmod go= {quote(path)}", fix=True)


def _begun(name: str) -> int:
    middle = name.split(".")[1]
    return int(middle) // 1_000_000 if middle.isdecimal() else 0


def _size(path: str | None) -> int:
    try:
        return 0 if path is None else os.stat(path).st_size
    except OSError:
        return 0
