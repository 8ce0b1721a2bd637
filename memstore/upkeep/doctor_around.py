"""The doctor's look around: other folders that were this project's, and other projects that have its folder."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from shlex import quote

from memstore.claude.earlier import Earlier, earlier_directories
from memstore.claude.paths import transcript_directory
from memstore.claude.root import find_root
from memstore.claude.slug import sanitise
from memstore.core.findings import Finding
from memstore.core.model import INDEX_NAME
from memstore.errors import Mendable
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.report import counted
from memstore.files.walk import FileRead
from memstore.place import Place
from memstore.store.entry import USER_ROOT
from memstore.upkeep.doctor_told import capped
from memstore.world import World

LEFTOVER = "leftover-folder"
TWIN = "slug-twin"

_READ = 500
"""Files of one leftover folder that are compared with the store."""
_SIBLINGS = 10_000
_SESSIONS = 20
_HEAD = 64 * 1024
_CWD = re.compile(rb'"cwd"[ ]?:[ ]?("(?:[^"\\]|\\.){1,4096}")')


def leftovers(place: Place, world: World, knows: Callable[[bytes], bool] | None = None) -> Iterator[Finding]:
    """Folders under the names of worktrees and other spellings. `knows`: whether the store has a text."""
    if place.agent is not None:
        return
    typed = world.environment.get("PWD", "")
    cwd = typed if os.path.isabs(typed) and os.path.realpath(typed) == os.path.realpath(world.cwd) else world.cwd
    found = earlier_directories(place.root, world.environment, world.home, current=place.placement.directory, cwd=cwd)
    yield from capped(finding for one in found if one.files and (finding := _leftover(one, place, knows)) is not None)


def twins(place: Place, world: World) -> Iterator[Finding]:
    """Other projects for which the client has the same folder name, where the folder is called by it."""
    root, slug = place.root.path, sanitise(place.root.path)
    if place.agent is not None or os.path.basename(os.path.dirname(place.placement.directory)) != slug:
        return
    registered = {
        entry.root
        for entry in place.home.entries()
        if entry.root != USER_ROOT and entry.store != place.store and sanitise(entry.root) == slug
    }
    told = _told(transcript_directory(root, world.environment, world.home), slug)
    others = sorted(path for path in {*registered, *_siblings(root), *told} if _is_another(path, root))
    yield from capped(
        Finding(
            TWIN, "warning", f"{path} has the same folder name for the client as {root}: {slug}",
            "sessions there read and write the memories of this project",
            'give one of them a folder of its own: "autoMemoryDirectory" in its .claude/settings.local.json, then'
            " `memstore trust autoMemoryDirectory` there",
        )
        for path in others
    )  # fmt: skip


def _leftover(one: Earlier, place: Place, knows: Callable[[bytes], bool] | None) -> Finding | None:
    """None where it is somebody's folder and no leftover."""
    what = f"{one.directory} has {counted(one.files, 'file')}; it is named after {one.rule}"
    try:
        folder = Folder.open(one.directory)
        if folder is None:
            return None
        with folder:
            claim = read_claim(folder)
            if claim is not None and _lives(place, claim.store):
                return None
            news = None if knows is None else _news(folder, knows)
    except Mendable as error:
        return Finding(LEFTOVER, "note", f"{what}; it cannot be looked at: {error}", _WHY, error.hint)
    if news == 0:
        return Finding(
            LEFTOVER, "note", f"{what}; the store has every one of its texts",
            "a session that is started without the main checkout's folder would use it again",
            "delete it when no session works there",
        )  # fmt: skip
    number = "" if news is None else f"; {news} of them the store does not have"
    return Finding(LEFTOVER, "warning", what + number, _WHY, f"`memstore import {quote(one.directory)}` takes them in")


_WHY = "what was kept there is known to no session of this project"


def _lives(place: Place, store: str) -> bool:
    """Whether the claim of a folder is this store's, or that of another project: then it is a folder of theirs."""
    if store == place.store:
        return True
    return any(entry.store == store and os.path.isdir(entry.root) for entry in place.home.entries())


def _news(folder: Folder, knows: Callable[[bytes], bool]) -> int:
    """How many of its memories the store does not have; of very many the first ones."""
    names = sorted(name for name in folder.scan().files if name != INDEX_NAME)[:_READ]
    texts = (folder.read(name) for name in names)
    return sum(isinstance(text, FileRead) and bool(text.content.strip()) and not knows(text.content) for text in texts)


def _siblings(root: str) -> Iterator[str]:
    """Repositories beside this one whose names the client cannot tell from its name."""
    above, name = os.path.split(root)
    wanted = sanitise(name)
    with suppress(OSError), os.scandir(above) as entries:
        for entry, _ in zip(entries, range(_SIBLINGS), strict=False):
            if entry.name != name and sanitise(entry.name) == wanted and os.path.lexists(f"{entry.path}/.git"):
                yield entry.path


def _told(directory: str, slug: str) -> Iterator[str]:
    """Where the newest sessions whose transcripts lie in the project's directory were started, by their own word."""
    try:
        with os.scandir(directory) as entries:
            files = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith(".jsonl")]
    except OSError:
        return
    for _, path in sorted(files, reverse=True)[:_SESSIONS]:
        with suppress(OSError, ValueError, Mendable):
            found = _CWD.search(_head(path))
            cwd = json.loads(found[1]) if found else ""
            if os.path.isabs(cwd) and os.path.isdir(cwd) and sanitise(find_root(cwd).path) == slug:
                yield find_root(cwd).path


def _head(path: str) -> bytes:
    """The beginning of a transcript; nothing of what is no plain file."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        return os.read(handle, _HEAD) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    finally:
        os.close(handle)


def _is_another(path: str, root: str) -> bool:
    try:
        return os.path.isdir(path) and path != root and not os.path.samefile(path, root)
    except OSError:
        return False
