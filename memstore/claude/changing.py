"""Files and links that belong to somebody else are changed whole, and only if they are still as they were shown.

Mode and owner stay. A file that its owner made read-only is not changed: renaming would get round the mode.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from memstore.errors import PlaceRefused
from memstore.store.plainfile import read_bounded, sync_directory

_LARGEST = 1024 * 1024


def put_file(path: str, before: bytes | None, after: bytes, *, mode: int | None = None, check: bool = True) -> None:
    """Puts `after` under `path`, whose content is `before` (None: nothing is there). Raises PlaceRefused.

    `mode` sets the mode; without it that of the file stays. Without `check` whatever is there is replaced.
    """
    try:
        os.makedirs(os.path.dirname(path), mode=0o777 if check else 0o700, exist_ok=True)
        standing = _still(path, before) if check else None
        temporary = _written_beside(path, after, standing, mode)
        try:
            if check:
                _still(path, before)
            os.rename(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        sync_directory(os.path.dirname(path))
    except OSError as error:
        raise refused(path, error) from error


def put_link(path: str, before: str | None, after: str | None) -> None:
    """Makes the link lead to `after` (None: takes it away) if it leads to `before`. Raises PlaceRefused."""
    try:
        if after is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        found = os.readlink(path) if os.path.lexists(path) else None
        if found != before:
            raise _changed(path)
        if after is None:
            os.unlink(path)
        elif found is None:
            os.symlink(after, path)
        else:
            temporary = f"{path}.{os.urandom(8).hex()}.tmp"
            os.symlink(after, temporary)
            try:
                os.rename(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        sync_directory(os.path.dirname(path))
    except OSError as error:
        raise refused(path, error) from error


def remove(path: str, before: bytes | None, *, check: bool = True) -> None:
    """Takes a file away if its content is `before`; without `check` whatever it is. Raises PlaceRefused."""
    try:
        if check:
            _still(path, before)
        os.unlink(path)
        sync_directory(os.path.dirname(path))
    except FileNotFoundError:
        return
    except OSError as error:
        raise refused(path, error) from error


def remove_empty(directories: Iterable[str]) -> None:
    """Takes directories away, each one if it is empty."""
    for directory in directories:
        with suppress(OSError):  # not empty, or gone: both are fine
            os.rmdir(directory)


def unchangeable(path: str) -> str:
    """Why a file cannot be replaced by `put_file`; empty where it can. A missing file asks its directory."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return unmakeable(path)
    except OSError as error:
        return error.strerror or str(error)
    if not found.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        return "it is read-only"
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        return "it belongs to another user"
    return "" if os.access(os.path.dirname(path), os.W_OK | os.X_OK) else "its directory cannot be written"


def unmakeable(path: str) -> str:
    """Why nothing can be made or taken away under a name; empty where it can. Directories on the way are made."""
    directory = os.path.dirname(path)
    while not os.path.lexists(directory) and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
    if not os.path.isdir(directory):
        return f"{directory} is no directory"
    return "" if os.access(directory, os.W_OK | os.X_OK) else f"{directory} cannot be written"


def refused(path: str, error: OSError) -> PlaceRefused:
    """What the operating system said, as a refusal that names the file."""
    return PlaceRefused(f"{path} cannot be used: {error.strerror or error}", hint="mend that and run the command again")


def _still(path: str, before: bytes | None) -> os.stat_result | None:
    """The file's status, if its content is `before`."""
    try:
        content = read_bounded(path, _LARGEST)
        found = os.stat(path)
    except FileNotFoundError:
        if before is None:
            return None
        raise _changed(path) from None
    if content != before:
        raise _changed(path)
    reason = unchangeable(path)
    if reason:
        raise OSError(errno.EACCES, reason, path)
    return found


def _changed(path: str) -> PlaceRefused:
    return PlaceRefused(f"{path} was changed meanwhile; it is left as it is", hint="run the command again")


def _written_beside(path: str, data: bytes, standing: os.stat_result | None, mode: int | None) -> str:
    """The data under a new name beside `path`, safe on the disk, with the mode and owner it shall have."""
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    private = standing is not None or mode is not None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        try:
            if standing is not None:
                if (standing.st_uid, standing.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(handle, standing.st_uid, standing.st_gid)
                os.fchmod(handle, stat.S_IMODE(standing.st_mode))
            elif mode is not None:
                os.fchmod(handle, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary
