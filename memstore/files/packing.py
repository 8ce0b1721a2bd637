"""An export as one file: a zip of the memory directory, or JSON with all versions.

The same memories give the same bytes. Such a file ends with a digest of all that stands before it, by which it is
known later for an export that nobody has touched: only that is replaced unasked.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import time
import zipfile
from collections.abc import Iterable

from memstore.core.exchange import BEGINNING, Exchange, closed, sealed, written
from memstore.core.model import INDEX_NAME
from memstore.errors import PlaceRefused
from memstore.files import exchange as places
from memstore.files import temporary
from memstore.files.claim import NAME as CLAIM
from memstore.files.report import ExportReport, Progress
from memstore.files.selecting import Format, Selection, Wish
from memstore.store.plainfile import read_bounded
from memstore.world import World

_LARGEST = 2**31
"""Bytes of the largest file that is looked at to see whether it may be replaced."""
_DIGEST = 64
_EACH = 100
_JSON_END = re.compile(rb'"digest": "([0-9a-f]{64})"\}\n\Z')
_ZIP_END = re.compile(rb"memstore export (\S{1,100}) ([0-9a-f]{64})\Z")
_JSON_STORE = re.compile(rb'"store": "([^"]{1,100})"')
_EARLIEST, _LATEST = 315_532_800, 4_354_819_198  # 1980 and 2107: a zip knows no other years


def packed(selection: Selection, format: Format, progress: Progress | None = None) -> bytes:
    """The file's bytes."""
    return _zipped(selection, progress) if format == "zip" else _document(selection.exchange, progress)


def names_in(selection: Selection, format: Format) -> tuple[str, ...]:
    """What an answer names: the files of a zip; of JSON the memories that have their text in it."""
    if format == "zip":
        return tuple(_ordered(selection))
    known = [one for one in selection.exchange.memories if one.head.token not in one.withheld]
    return tuple(sorted(one.head.state.path for one in known)) + tuple(selection.team)


def export_file(
    target: str,
    selection: Selection,
    wish: Wish,
    world: World,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ExportReport:
    """Writes the file whole, or leaves what is there. Raises PlaceRefused with the reason."""
    path = os.path.join(os.path.realpath(os.path.dirname(target) or "."), os.path.basename(target))
    directory, name = os.path.split(path)
    if os.path.lexists(os.path.join(directory, CLAIM)):
        raise PlaceRefused(
            f"{directory} is a memory folder that a store projects into", hint="choose another directory"
        )
    before = _found(path)
    old = None if before is None else _read(path)
    content = packed(selection, wish.format, progress)
    names = names_in(selection, wish.format)
    if old == content:
        return ExportReport(path, (), names, (), (), wish.format, selection.withheld)
    if before is not None and not wish.force and (old is None or store_of(old) != selection.exchange.store):
        raise PlaceRefused(
            f"{target} is no export of these memories, or was changed since",
            hint="choose another name, or replace it with --force",
        )
    if not dry_run:
        _put(directory, name, content, before, world)
    return ExportReport(path, names, (), (), (), wish.format, selection.withheld)


def store_of(content: bytes) -> str | None:
    """The store that wrote an export which nobody has touched since; None for anything else."""
    if content.startswith(BEGINNING):
        found, store = _JSON_END.search(content[-200:]), _JSON_STORE.search(content[:300])
        if found is None or store is None:
            return None
        body, name = content[: len(content) - len(found[0])], store[1]
        seal = found[1]
    else:
        found = _ZIP_END.search(content[-200:])
        if found is None:
            return None
        body, name, seal = content[: len(content) - len(found[0])], found[1], found[2]
    return name.decode("ascii", "replace") if sealed(body).encode() == seal else None


def _document(exchange: Exchange, progress: Progress | None) -> bytes:
    total = len(exchange.operations) + len(exchange.memories) + len(exchange.index) + len(exchange.team)
    pieces = []
    for done, piece in enumerate(written(exchange)):
        if progress is not None and done % _EACH == 0:
            progress(min(done, total), total, "")
        pieces.append(piece)
    return closed(b"".join(pieces))


def _zipped(selection: Selection, progress: Progress | None) -> bytes:
    files = {**selection.files, **selection.team}
    newest = max((head.at for head in selection.heads.values()), default=0)
    buffer = io.BytesIO()
    comment = f"memstore export {selection.exchange.store} ".encode()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment + b"0" * _DIGEST
        for done, path in enumerate(_ordered(selection)):
            if progress is not None:
                progress(done, len(files), path)
            head = selection.heads.get(path)
            entry = zipfile.ZipInfo(path, _zip_time(newest if head is None else head.at))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[path])
    body = buffer.getvalue()[: -len(comment) - _DIGEST]
    return body + comment + sealed(body).encode()


def _ordered(selection: Selection) -> list[str]:
    """Topics before the index that names them, team memory at the end."""
    return [*sorted(selection.files, key=lambda path: (path == INDEX_NAME, path)), *sorted(selection.team)]


def _zip_time(microseconds: int) -> tuple[int, int, int, int, int, int]:
    """In UTC: a zip knows no zones."""
    year, month, day, hour, minute, second = time.gmtime(min(max(microseconds // 1_000_000, _EARLIEST), _LATEST))[:6]
    return year, month, day, hour, minute, second


def _found(path: str) -> os.stat_result | None:
    """What lies under the path and may be replaced; None: nothing."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _refused(path, error) from None
    if not stat.S_ISREG(status.st_mode):
        kind = (
            "a directory" if stat.S_ISDIR(status.st_mode) else "a link" if stat.S_ISLNK(status.st_mode) else "no file"
        )
        raise PlaceRefused(f"{path} is {kind}", hint="choose another name for the file")
    return status


def _read(path: str) -> bytes | None:
    try:
        return read_bounded(path, _LARGEST)
    except OSError:
        return None


def _put(directory: str, name: str, content: bytes, before: os.stat_result | None, world: World) -> None:
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(directory, error) from None
    try:
        mode = 0o600 if before is None else temporary.permissions(before)
        new, _ = temporary.write(handle, name, content, mode, world.pause)
        left = [new]
        try:
            if before is None:
                places.publish(handle, new, name)
            else:
                left.append(_replace(handle, new, name, before))
        finally:
            _remove(handle, left)
        places.sync_names(handle)
    except FileExistsError:
        raise _moved_on(name) from None
    except OSError as error:
        raise _refused(os.path.join(directory, name), error) from None
    finally:
        places.close(handle)


def _replace(handle: int, new: str, name: str, before: os.stat_result) -> str:
    """Puts the new file in the place of the one that was looked at, and gives the name of what came out."""
    came_out = places.exchange(handle, new, name, temporary.new_name(name))
    now = os.stat(came_out, dir_fd=handle, follow_symlinks=False)
    if (now.st_ino, now.st_size, now.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns):
        return came_out
    os.rename(came_out, name, src_dir_fd=handle, dst_dir_fd=handle)
    raise _moved_on(name)


def _remove(handle: int, names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=handle)


def _moved_on(name: str) -> PlaceRefused:
    return PlaceRefused(f"{name} was written by somebody else just now", hint="look at it, then try again")


def _refused(path: str, error: OSError | ValueError) -> PlaceRefused:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return PlaceRefused(f"the export cannot be written to {path}: {reason}", hint="mend that, or choose another place")
