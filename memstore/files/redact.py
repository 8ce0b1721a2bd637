"""Takes a secret out of what no memory is: files of the daily log, which nothing else ever changes, and directories.

The file is exchanged, so that nothing is lost that another program adds meanwhile: what came out is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from memstore.core.forgetting import Secret
from memstore.errors import NotProjected
from memstore.files import exchange, temporary, walk
from memstore.files.folder import Folder
from memstore.files.walk import FileRead


def redact(folder: Folder, path: str, secret: Secret, now: Callable[[], int], pause: Callable[[float], None]) -> None:
    """Takes it out of one file; to be called in the folder's turn. `now`: unix nanoseconds. Raises NotProjected."""
    try:
        with folder.parent(path) as (directory, name):
            _redact(directory, name, path, secret, now, pause)
    except OSError as error:
        raise NotProjected(path, walk.strange_of(error).reason) from error


def remove_emptied(directory: str, secret: Secret) -> None:
    """Removes the directories below a memory folder that are called after it and that nothing lies in any more."""
    for above, names, _ in os.walk(directory, topdown=False):
        for name in names:
            if secret.within(os.fsencode(name)):
                with suppress(OSError):  # what still holds a file is found afterwards
                    os.rmdir(os.path.join(above, name))


def _redact(
    directory: int, name: str, path: str, secret: Secret, now: Callable[[], int], pause: Callable[[float], None]
) -> None:
    found = walk.read(directory, name, now())
    if not isinstance(found, FileRead):
        raise NotProjected(path, found.reason)
    if not found.settled:
        raise NotProjected(path, "somebody is writing it")
    if not secret.within(found.content):
        return
    mode = temporary.permissions(os.stat(name, dir_fd=directory, follow_symlinks=False))
    made, _ = temporary.write(directory, name, secret.out_of(found.content), mode, pause)
    try:
        out = exchange.exchange(directory, made, name, temporary.new_name(name))
    except OSError:
        os.unlink(made, dir_fd=directory)
        raise
    came = walk.read(directory, out, now(), moved=True)
    if not isinstance(came, FileRead) or not came.content.startswith(found.content):
        exchange.exchange(directory, out, name, temporary.new_name(name))
        os.unlink(out, dir_fd=directory)
        raise NotProjected(path, "somebody changed it just now")
    added = came.content[len(found.content) :]
    if added:
        handle = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.write(handle, secret.out_of(added))
        finally:
            os.close(handle)
    os.unlink(out, dir_fd=directory)
    exchange.sync_names(directory)
