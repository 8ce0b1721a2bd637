"""The log of the day in a folder: entries are added at the end of its files, and nothing else is ever done to them.

One process at a time adds, in the folder's turn; other programs may add whenever they like. An entry is one write at
the end, so that no two mix. Before it, the store notes where the file ended: whoever finds that no end was noted looks
behind that place whether the entry stands there, and adds it where it does not, or its rest where the disk was full in
the middle of it. No byte of a log file is changed or taken out, and what is no plain file of its own is left alone.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from memstore import errors
from memstore.core import daylog as log
from memstore.core.model import LARGEST
from memstore.files import exchange, walk
from memstore.files.folder import Folder
from memstore.store import daylog as rows
from memstore.store.daylog import UNTRIED, Open
from memstore.store.store import Store

_BATCH = 1_000
_SESSIONS = 1_000
"""Files of sessions that are read for one day."""

_ADD = os.O_RDWR | os.O_APPEND
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TRIES, _STEP = 50, 0.02


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file that was read. `path`: within the folder."""

    path: str
    day: str
    text: str


def show(store: Store, folder: Folder, pause: Callable[[float], None]) -> dict[str, str]:
    """Adds to the folder's log files what they lack, in the order in which it arrived; to be called in its turn.

    Returns the paths of the files that could not be added to, and why. Raises the kinds of StoreUnavailable.
    """
    troubles: dict[str, str] = {}
    met: dict[str, bool] = {}
    after = 0
    while True:
        with store.view() as connection:
            batch = rows.open_entries(connection, folder.path, after, _BATCH)
            for one in batch:
                if one.entry.day not in met:
                    met[one.entry.day] = rows.is_met(connection, folder.path, one.entry.day)
        if not batch:
            return troubles
        after = batch[-1].entry.seq
        by_day: dict[str, list[Open]] = {}
        for one in batch:
            by_day.setdefault(one.entry.day, []).append(one)
        if len(by_day) > 1:  # all that comes before an entry has a row before that entry gets one
            with store.change(durable=False) as connection:
                rows.begin(connection, folder.path, ((one.entry.seq, one.at) for one in batch))
        for day, entries in by_day.items():
            path = log.path_of(day)
            try:
                with _opened(folder, path, pause) as handle:
                    _add(store, folder.path, handle, entries, met[day])
            except errors.NotProjected as refused:
                troubles[path] = refused.reason
            except OSError as error:
                troubles[path] = _reason(error)
            if path in troubles:
                with store.change(durable=False) as connection:
                    rows.begin(connection, folder.path, ((one.entry.seq, one.at) for one in entries))


def read(folder: Folder, days: Iterable[str]) -> tuple[list[LogFile], dict[str, str]]:
    """The log files of some days, in both layouts, and those that cannot be read, with the reason. Nothing is made."""
    found: list[LogFile] = []
    troubles: dict[str, str] = {}
    for day in days:
        for path in (log.path_of(day), *_sessions(folder, log.sessions_of(day))):
            try:
                with folder.parent(path) as (directory, name):
                    content = _content(directory, name)
            except FileNotFoundError:
                continue
            except errors.NotProjected as refused:
                troubles[path] = refused.reason
            except OSError as error:
                troubles[path] = walk.strange_of(error).reason
            else:
                found.append(LogFile(path, day, content.decode("utf-8", "replace")))
    return found, troubles


def _add(store: Store, folder: str, handle: int, entries: Sequence[Open], met: bool) -> None:
    """Adds the entries of one day that its file lacks. `met`: entries of this day were on their way to it before."""
    end = os.fstat(handle).st_size
    # A folder that was moved, or copied, has entries that nothing is known of.
    content = _read_all(handle) if end and (not met or any(one.at != UNTRIED for one in entries)) else b""
    places: list[tuple[int, int]] = []
    missing: list[tuple[bytes, bool]] = []
    cursor = 0
    for one in entries:
        block = log.block(one.entry.at, one.entry.zone, one.entry.text).encode()
        start = max(cursor, one.at)
        looked = bool(content) and (not met or one.at != UNTRIED)
        at = _place(content, block, start) if looked else None
        if at is not None:
            cursor = at + len(block)
            places.append((one.entry.seq, at))
            continue
        torn = _torn(content[start:], block) if looked and met and not missing else 0
        places.append((one.entry.seq, start if torn else end))
        missing.append((block[torn:], not torn))
        end += len(block) - torn
    with store.change() as connection:
        rows.begin(connection, folder, places)
    for text, whole in missing:
        _write(handle, text, whole=whole)
    if missing:
        exchange.sync(handle)
    with store.change(durable=False) as connection:
        rows.done(connection, folder, [one.entry.seq for one in entries])


def _place(content: bytes, block: bytes, start: int) -> int | None:
    """Where the block stands in whole lines, from a place on."""
    at = content.find(block, start)
    while at > 0 and content[at - 1 : at] != b"\n":
        at = content.find(block, at + 1)
    return None if at < 0 else at


def _torn(tail: bytes, block: bytes) -> int:
    """How many bytes of a block stand at the end of a file, where the disk was full in the middle of it."""
    begun = tail.removeprefix(b"\n")
    return len(begun) if block.startswith(begun) else 0


def _write(handle: int, text: bytes, *, whole: bool) -> None:
    """Adds lines in one write. `whole`: they begin a line of their own, whatever somebody left before them."""
    size = os.fstat(handle).st_size
    if whole and size and os.pread(handle, 1, size - 1) != b"\n":
        text = b"\n" + text
    while text:  # once, but where the disk fills up
        text = text[os.write(handle, text) :]


@contextmanager
def _opened(folder: Folder, path: str, pause: Callable[[float], None]) -> Iterator[int]:
    """The file, to add to; made where there is none. Raises OSError, NotProjected."""
    with folder.parent(path, make=True) as (directory, name):
        handle, made = _open(directory, name, pause)
        try:
            _check(path, os.fstat(handle))
            yield handle
        finally:
            exchange.close(handle)
        if made:
            exchange.sync_names(directory)


def _open(directory: int, name: str, pause: Callable[[float], None]) -> tuple[int, bool]:
    for _ in range(_TRIES):
        try:
            return os.open(name, _ADD | _SAFE, dir_fd=directory), False
        except FileNotFoundError:
            try:
                return os.open(name, _ADD | _SAFE | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory), True
            except FileExistsError:
                continue  # somebody else made it meanwhile
        except BlockingIOError:
            pause(_STEP)  # somebody reads it under a lease
    return os.open(name, _ADD | _SAFE, dir_fd=directory), False


def _check(path: str, status: os.stat_result) -> None:
    """Raises NotProjected for what is no plain file of its own."""
    reason = walk.why_strange(status)
    if reason:
        raise errors.NotProjected(path, reason)


def _reason(error: OSError) -> str:
    """Why a file cannot be added to."""
    if error.errno == errno.EISDIR:
        return "it is a directory"
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
        return walk.strange_of(error).reason
    return f"it cannot be written: {os.strerror(error.errno or 0)}"


def _sessions(folder: Folder, directory: str) -> list[str]:
    """The paths of the files that clients keep for the sessions of a day."""
    try:
        with folder.parent(f"{directory}/x") as (handle, _):
            listing = walk.open_directory(handle, ".")  # a listing has a position, which descriptors share
            try:
                found = sorted(name for name in os.listdir(listing) if name.endswith(".md") and name[0] != ".")
            finally:
                exchange.close(listing)
    except OSError:
        return []
    plain = [name for name in found if not any("\ud800" <= character <= "\udfff" for character in name)]
    return [f"{directory}/{name}" for name in plain[:_SESSIONS]]


def _content(directory: int, name: str) -> bytes:
    """Without a lease: whoever adds to it meanwhile is not kept waiting. Raises OSError, NotProjected."""
    handle = os.open(name, os.O_RDONLY | _SAFE, dir_fd=directory)
    try:
        _check(name, os.fstat(handle))
        return _read_all(handle)
    finally:
        exchange.close(handle)


def _read_all(handle: int) -> bytes:
    pieces: list[bytes] = []
    at = 0
    while at <= LARGEST and (piece := os.pread(handle, 1 << 20, at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)
