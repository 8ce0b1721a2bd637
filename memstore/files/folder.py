"""One memory folder, held by its descriptor: the only way in which memstore touches it.

Nothing below it is reached through a link. Nothing that lay under a name is lost: files change places with
what replaces them, and what comes out is kept under a temporary name until the caller has stored its text.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Self

from memstore import errors
from memstore.core import names
from memstore.core.model import INDEX_NAME
from memstore.files import exchange, publishing, scan, temporary, turn, walk
from memstore.files.publishing import Put
from memstore.files.scan import Scan
from memstore.files.walk import FileRead, Strange

_TRIES = 3
_MENDS = {
    errno.ENOSPC: "make room on its disk",
    errno.EDQUOT: "make room on its disk",
    errno.EROFS: "make its file system writable",
    errno.ENAMETOOLONG: "choose a shorter path with autoMemoryDirectory",
    errno.EIO: "look after its disk",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that `Folder.take` took out of sight: its bytes, and the name it is kept under."""

    content: bytes
    settled: bool
    kept: str


@dataclass(frozen=True, slots=True)
class Leftover:
    """What a process that died left behind: the text belongs to `target`, or was about to."""

    kept: str
    target: str
    content: bytes
    settled: bool


class Folder:
    """Made by `Folder.open`. Paths are relative, with "/" between names; `kept` names are paths, too."""

    def __init__(
        self,
        handle: int,
        path: str,
        reserved: Collection[str],
        now: Callable[[], int],
        pause: Callable[[float], None],
    ) -> None:
        self._handle = handle
        self.path = path
        """Without links."""
        self._reserved = reserved
        self._now = now
        self._pause = pause

    @classmethod
    def open(
        cls,
        path: str,
        *,
        create: bool = False,
        reserved: Collection[str] = names.RESERVED,
        now: Callable[[], int] = time.time_ns,
        pause: Callable[[float], None] = time.sleep,
    ) -> Self | None:
        """The folder, or None when there is none. `create`: make it, with the directories above it.

        `now` gives unix nanoseconds, `pause` waits for seconds. Raises PlaceRefused when it is no directory,
        cannot be read, belongs to another user, or can be written by everybody.
        """
        try:
            # The folder itself may be a link, and is resolved this once; what it then leads to is held.
            real = os.path.realpath(path)
            handle = _made(real) if create else walk.open_directory(None, real)
            try:
                reason = _unsafe(os.fstat(handle), real)
            except OSError:
                exchange.close(handle)
                raise
        except FileNotFoundError:
            if create:
                raise errors.PlaceRefused(f"{path} comes and goes too fast", hint="run `memstore sync`") from None
            return None
        except ValueError:
            raise errors.PlaceRefused(f"{path!r} cannot be a directory's path") from None
        except (NotADirectoryError, FileExistsError):
            raise errors.PlaceRefused(f"{path} is not a directory", hint="move that file away") from None
        except OSError as error:
            raise errors.PlaceRefused(
                f"the memory folder {path} cannot be opened: {os.strerror(error.errno or 0)}",
                hint=_MENDS.get(error.errno or 0, "mend its permissions"),
            ) from None
        if reason:
            exchange.close(handle)
            raise reason
        return cls(handle, real, reserved, now, pause)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the directory."""
        if self._handle >= 0:
            exchange.close(self._handle)
            self._handle = -1

    def is_in_place(self) -> bool:
        """Whether the path still leads to this folder: it may have been moved or deleted since."""
        try:
            there = os.stat(self.path, follow_symlinks=False)
            return os.path.samestat(there, os.fstat(self._handle))
        except OSError:
            return False

    def stamp(self) -> str:
        """Changes when a name at the top of the folder appears, goes or changes places."""
        return walk.stamp_of(os.fstat(self._handle))

    def scan(self) -> Scan:
        """One pass over the names and stamps of all files; opens none."""
        return scan.scan(self._handle, self.path, self._reserved)

    def read(self, path: str) -> FileRead | Strange | None:
        """A file's bytes, why there are none, or None: no such file. Raises NameRefused."""
        return self._read(path)

    def parent(self, path: str, *, make: bool = False) -> AbstractContextManager[tuple[int, str]]:
        """The open directory that a path lies in, and its last name: for the log of the day, which is no memory."""
        return walk.parent(self._handle, path, make=make)

    def check(self, path: str) -> None:
        """Raises NameRefused for a path that `put` and `take` do not touch."""
        if path != INDEX_NAME:
            names.check_path(path)
        reason = scan.out_of_reach(path, self._reserved)
        if reason:
            raise errors.NameRefused(path, reason)
        if names.is_debris(path.rpartition("/")[2]):
            raise errors.NameRefused(path, "an editor or a sync program calls its temporary files so")

    def put(self, path: str, content: bytes, *, expect: bytes | None) -> Put:
        """Puts `content` under `path`, where `expect` is believed to lie; None: nothing.

        Bytes that come out and are not `expect`, or that somebody still writes, are kept: see `Put`.
        Raises NotProjected, leaving no temporary file, and NameRefused.
        """
        result = self.put_many([(path, content, expect)])[0]
        if isinstance(result, errors.NotProjected):
            raise result
        return result

    def put_many(self, files: Sequence[tuple[str, bytes, bytes | None]]) -> list[Put | errors.NotProjected]:
        """As `put` for each (path, content, expect), published in this order after all have been written.

        One that fails does not stop those after it: what names another file goes in a later call. Raises
        NameRefused before anything is written.
        """
        for path, _, _ in files:
            self.check(path)
        return publishing.publish_all(self._handle, files, self._now, self._pause)

    def take(self, path: str) -> Taken | None:
        """Takes a file out of sight; None: no such file. Store its text, then `discard` or `restore` it.

        Raises NotProjected and NameRefused.
        """
        self.check(path)
        return self._take(path)

    def restore(self, kept: str, path: str) -> bool:
        """Puts a kept file back; False when something lies under `path` by now. Raises NotProjected."""
        with walk.parent(self._handle, _kept(kept)) as (directory, name):
            target = walk.parts_of(path)[-1]
            return publishing.put_back(directory, name, target, path)

    def put_back_over(self, path: str, kept: str, ours: bytes) -> bool:
        """Takes a `put` back: what came out lies under `path` again, and `ours`, the text put there, is gone.

        False when the file under `path` is not `ours` any more: then both stay where they are. Raises
        NotProjected.
        """
        with walk.parent(self._handle, _kept(kept)) as (directory, name):
            return publishing.put_back_over(directory, name, path, ours, self._now())

    def discard(self, kept: str, content: bytes) -> bool:
        """Lets go of a kept file whose bytes, `content`, are stored now.

        False: they have changed since, or somebody still has the file open for writing; it stays.
        """
        with walk.parent(self._handle, _kept(kept)) as (directory, name):
            return publishing.let_go(directory, name, content, self._now())

    def read_kept(self, kept: str) -> FileRead | Strange | None:
        """The bytes of a kept file as they are now."""
        return self._read(_kept(kept), moved=True)

    def clear_links(self, found: Scan) -> Scan:
        """The scan, made anew where a file had a second name, which an interrupted projection left: that goes.

        To be called while the folder's turn is held.
        """
        cleared = False
        for path in found.temporary:
            above, _, name = path.rpartition("/")
            target = f"{above}/{temporary.target_of(name)}" if above else temporary.target_of(name)
            if target in found.strange:
                self._leftover(path)
                cleared = True
        return self.scan() if cleared else found

    def leftovers(self, found: Scan) -> list[Leftover]:
        """Of the temporary files in `found`: those whose makers are gone, to be stored and discarded.

        What was never whole is removed. To be called while the folder's turn is held.
        """
        left = []
        for path in found.temporary:
            content = self._leftover(path)
            if content is not None:
                above = path.rpartition("/")[0]
                target = temporary.target_of(path.rpartition("/")[2])
                target = f"{above}/{target}" if above else target
                left.append(Leftover(path, target, content.content, content.settled))
        return left

    def turn(self, directory: str, *, wait: float = 5.0) -> turn.FolderTurn:
        """The right to project into this folder, for a `with`: one holder at a time, among all processes.

        `directory` is the store's own. Entering it raises StoreBusy after `wait` seconds.
        """
        return turn.FolderTurn(self.path, directory, wait, self._pause)

    def make_exclusively(self, name: str, content: bytes) -> bool:
        """Makes a file of memstore's own at the top of the folder; False when there is one of that name.

        Raises PlaceRefused when it cannot.
        """
        try:
            made, _ = temporary.write(self._handle, name, content, None, self._pause)
            try:
                exchange.publish(self._handle, made, name)
            except FileExistsError:
                return False
            finally:
                publishing.remove(self._handle, made)
            exchange.sync_names(self._handle)
        except OSError as error:
            raise errors.PlaceRefused(
                f"the memory folder {self.path} cannot be written: {os.strerror(error.errno or 0)}",
                hint="mend that, then run `memstore sync`",
            ) from error
        return True

    def remove_own(self, name: str, content: bytes) -> bool:
        """Removes a file of memstore's own at the top of the folder; False where it holds anything else."""
        found = self._read(name)
        if not isinstance(found, FileRead) or found.content != content:
            return False
        removed = publishing.remove(self._handle, name)
        exchange.sync_names(self._handle)
        return removed

    def _read(self, path: str, *, moved: bool = False) -> FileRead | Strange | None:
        try:
            with walk.parent(self._handle, path) as (directory, name):
                return walk.read(directory, name, self._now(), moved=moved)
        except FileNotFoundError:
            return None
        except OSError as error:
            return walk.strange_of(error)

    def _take(self, path: str) -> Taken | None:
        try:
            with walk.parent(self._handle, path) as (directory, name):
                kept = publishing.set_aside(directory, name, path, self._pause)
                found = walk.read(directory, kept, self._now(), moved=True)
                if isinstance(found, Strange):
                    publishing.put_back(directory, kept, name, path)
                    raise errors.NotProjected(path, found.reason)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise errors.NotProjected(path, walk.strange_of(error).reason) from error
        return Taken(found.content, found.settled, f"{path[: len(path) - len(name)]}{kept}")

    def _leftover(self, path: str) -> FileRead | None:
        """Its content, if it is abandoned and worth a look."""
        try:
            with walk.parent(self._handle, path) as (directory, name):
                status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if not temporary.is_abandoned(name, status, self._now()):
                    return None
                target = temporary.target_of(name)
                # Files of our own, such as the claim, and what was linked for a moment, have nothing to tell.
                if not target or target[0] == "." or publishing.is_same_file(directory, name, target):
                    os.unlink(name, dir_fd=directory)
                    return None
                found = walk.read(directory, name, self._now(), moved=True)
        except OSError:  # gone meanwhile, or out of reach: the next scan sees it again
            return None
        return found if isinstance(found, FileRead) else None


def _made(path: str) -> int:
    """The directory, opened; made where there is none, and once more where somebody has removed it at once."""
    for _ in range(_TRIES):
        os.makedirs(path, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            return walk.open_directory(None, path)
    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _kept(path: str) -> str:
    if not temporary.is_ours(path.rpartition("/")[2]):
        raise errors.NameRefused(path, "it is no temporary file of memstore")
    return path


def _unsafe(status: os.stat_result, path: str) -> errors.PlaceRefused | None:
    if status.st_uid != os.geteuid():
        return errors.PlaceRefused(
            f"the memory folder {path} belongs to another user (uid {status.st_uid})",
            hint="run memstore as that user, or choose another folder with autoMemoryDirectory",
        )
    if status.st_mode & stat.S_IWOTH:
        return errors.PlaceRefused(
            f"the memory folder {path} can be written by every user of this machine",
            hint=f"run `chmod o-w {path}`",
        )
    return None
