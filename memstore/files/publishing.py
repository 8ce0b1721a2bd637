"""Files take their places: all are written and safe on disk first, then exchanged with what lies there."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memstore import errors
from memstore.files import exchange, temporary, walk

_LATER = 2_000_000
"""Nanoseconds by which a new file is younger than the one it replaces: the client compares milliseconds."""

_ROUNDS = 8
_MANY = 32
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Put:
    """What `Folder.put` did.

    `came_out`: the bytes that lay there, None if nothing did. `kept`: the path where they still lie, because
    they are not what was expected, or not `settled`: store them, then discard that path. `stamp` is the new
    file's; empty when somebody changed it at once.
    """

    came_out: bytes | None
    stamp: str
    settled: bool
    kept: str | None


@dataclass(slots=True)
class _Job:
    path: str
    content: bytes
    expect: bytes | None
    temporary: str = ""
    inode: int = 0
    came_out: str = ""
    stamp: str = ""
    failure: errors.NotProjected | None = None


def publish_all(
    root: int,
    files: Sequence[tuple[str, bytes, bytes | None]],
    now: Callable[[], int],
    pause: Callable[[float], None],
) -> list[Put | errors.NotProjected]:
    """Each (path, content, expect); the results in the same order."""
    jobs = [_Job(*file) for file in files]
    try:
        _prepare_all(root, jobs, pause)
        for job in jobs:
            if not job.failure:
                with _told(job), walk.parent(root, job.path) as (directory, name):
                    _place(job, directory, name, pause)
        _sync(root, jobs)
    finally:
        for job in jobs:
            if job.temporary:
                _clear(root, job)
    return [_look(root, job, now) for job in jobs]


def put_back(directory: int, name: str, target: str, path: str) -> bool:
    """Publishes `name` as `target`; False when something is there. Raises NotProjected."""
    try:
        exchange.publish(directory, name, target)
        exchange.sync_names(directory)
    except FileExistsError:
        return False
    except OSError as error:
        raise errors.NotProjected(path, os.strerror(error.errno or 0)) from error
    return True


def put_back_over(directory: int, name: str, path: str, ours: bytes, now: int) -> bool:
    """Exchanges `name` with the file at `path`, if that holds `ours`, which goes. Raises NotProjected."""
    target = walk.parts_of(path)[-1]
    try:
        out = exchange.exchange(directory, name, target, temporary.new_name(target))
        if let_go(directory, out, ours, now):
            exchange.sync_names(directory)
            return True
        # A younger save came out: it belongs on top.
        exchange.exchange(directory, out, target, temporary.new_name(target))
    except FileNotFoundError:
        return put_back(directory, name, target, path)
    except OSError as error:
        raise errors.NotProjected(path, os.strerror(error.errno or 0)) from error
    return False


def set_aside(directory: int, name: str, path: str, pause: Callable[[float], None]) -> str:
    """Renames a regular file to a temporary name, and returns that. Raises OSError, NotProjected."""
    reason = walk.why_strange(os.stat(name, dir_fd=directory, follow_symlinks=False))
    if reason:
        raise errors.NotProjected(path, reason)
    kept = temporary.new_name(name)
    temporary.patiently(lambda: os.rename(name, kept, src_dir_fd=directory, dst_dir_fd=directory), pause)
    exchange.sync_names(directory)
    return kept


def let_go(directory: int, name: str, known: bytes, now: int) -> bool:
    """Removes a kept file if it holds exactly `known` and nobody writes it."""
    try:
        found = walk.read(directory, name, now, moved=True)
    except FileNotFoundError:
        return True
    if isinstance(found, walk.Strange) or found.content != known or not found.settled:
        return False
    return remove(directory, name)


def remove(directory: int, name: str) -> bool:
    """Removes a temporary file; False when it cannot be."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def is_same_file(directory: int, one: str, other: str) -> bool:
    """Whether two names are one file: a link that was made for a moment, and left."""
    try:
        return os.path.samestat(
            os.stat(one, dir_fd=directory, follow_symlinks=False),
            os.stat(other, dir_fd=directory, follow_symlinks=False),
        )
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _told(job: _Job) -> Iterator[None]:
    try:
        yield
    except errors.NotProjected as error:
        job.failure = error
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            reason = walk.strange_of(error).reason
        job.failure = errors.NotProjected(job.path, reason)


def _clear(root: int, job: _Job) -> None:
    """Removes what was not published. After an interruption, another's text may have that name already."""
    with contextlib.suppress(OSError), walk.parent(root, job.path) as (directory, _):
        if os.stat(job.temporary, dir_fd=directory, follow_symlinks=False).st_ino == job.inode:
            os.unlink(job.temporary, dir_fd=directory)


def _prepare_all(root: int, jobs: list[_Job], pause: Callable[[float], None]) -> None:
    """Writes them all. Many at once: a file system syncs a thousand files almost as fast as a dozen if it is asked
    for some of them at the same time."""

    def prepare(job: _Job) -> None:
        with _told(job), walk.parent(root, job.path, make=True) as (directory, name):
            _prepare(job, directory, name, pause)

    if len(jobs) < _MANY:
        for job in jobs:
            prepare(job)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(prepare, jobs):
            pass


def _prepare(job: _Job, directory: int, name: str, pause: Callable[[float], None]) -> None:
    present = _present(job, directory, name)
    mode = None if present is None else temporary.permissions(present)
    job.temporary, job.inode = temporary.write(directory, name, job.content, mode, pause)


def _present(job: _Job, directory: int, name: str) -> os.stat_result | None:
    """What lies there, if a file may take its place. Raises NotProjected if not."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        if _exists(directory, f".{name}.icloud"):
            raise errors.NotProjected(job.path, "iCloud has moved it off this machine") from None
        return None
    reason = walk.why_strange(status)
    if reason:
        raise errors.NotProjected(job.path, reason)
    return status


def _place(job: _Job, directory: int, name: str, pause: Callable[[float], None]) -> None:
    """Publishes the temporary file. Whatever came out then lies under `job.came_out`."""
    waits = iter(temporary.PATIENCE)
    for _ in range(_ROUNDS):
        present = _present(job, directory, name)
        if present is None and job.expect is not None:
            raise errors.NotProjected(job.path, "the file has vanished")
        mine = _fit(directory, job.temporary, present)
        try:
            if present is None:
                exchange.publish(directory, job.temporary, name)
            else:
                job.came_out = exchange.exchange(directory, job.temporary, name, temporary.new_name(name))
        except (FileExistsError, FileNotFoundError):
            continue  # it appeared or went between the look and the step
        except PermissionError:
            wait = next(waits, None)
            if wait is None:
                raise
            pause(wait)
            continue
        job.temporary = ""
        if job.came_out:
            _check_out(job, directory, name)
        job.stamp = _stamp(directory, name, mine, len(job.content))
        return
    raise errors.NotProjected(job.path, "the file comes and goes too fast")


def _fit(directory: int, name: str, old: os.stat_result | None) -> os.stat_result:
    """Gives a file of ours the mode of `old`, and an age below its. Returns its status."""
    mine = os.stat(name, dir_fd=directory, follow_symlinks=False)
    if old is None:
        return mine
    mode, time = temporary.permissions(old), old.st_mtime_ns + _LATER
    if temporary.permissions(mine) != mode:
        os.chmod(name, mode, dir_fd=directory)
    if mine.st_mtime_ns < time:
        os.utime(name, ns=(mine.st_atime_ns, time), dir_fd=directory, follow_symlinks=False)
    return os.stat(name, dir_fd=directory, follow_symlinks=False)


def _check_out(job: _Job, directory: int, name: str) -> None:
    """What came out may have got there after the look: a link, a directory, a younger save."""
    out = os.stat(job.came_out, dir_fd=directory, follow_symlinks=False)
    reason = walk.why_strange(out)
    if not reason:
        return
    back = exchange.exchange(directory, job.came_out, name, temporary.new_name(name))
    job.came_out = ""
    # Ours comes out again, unless somebody was faster once more: that text stays for `Folder.leftovers`.
    if os.stat(back, dir_fd=directory, follow_symlinks=False).st_ino == job.inode:
        os.unlink(back, dir_fd=directory)
    raise errors.NotProjected(job.path, reason)


def _stamp(directory: int, name: str, mine: os.stat_result, size: int) -> str:
    """The published file's stamp, or nothing if it is not as it was made."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return ""
    made = (mine.st_ino, mine.st_mtime_ns, size)
    return walk.stamp_of(status) if (status.st_ino, status.st_mtime_ns, status.st_size) == made else ""


def _sync(root: int, jobs: list[_Job]) -> None:
    """Makes all new names safe, each directory once."""
    last = {job.path.rpartition("/")[0]: job for job in jobs if not job.failure}
    for above, job in last.items():
        peers = [peer for peer in jobs if not peer.failure and peer.path.rpartition("/")[0] == above]
        with _told(job), walk.parent(root, job.path) as (directory, _):
            exchange.sync_names(directory)
        if job.failure:
            for peer in peers:
                peer.failure = errors.NotProjected(peer.path, job.failure.reason)


def _look(root: int, job: _Job, now: Callable[[], int]) -> Put | errors.NotProjected:
    """Reads what came out, and lets it go if it is what was expected."""
    if not job.came_out:
        return job.failure or Put(None, job.stamp, True, None)
    kept = f"{job.path[: len(job.path) - len(job.path.rpartition('/')[2])]}{job.came_out}"
    try:
        with walk.parent(root, job.path) as (directory, _):
            found = walk.read(directory, job.came_out, now(), moved=True)
            if isinstance(found, walk.Strange):
                reason = f"the earlier file, kept as {kept}: {found.reason}"
                return job.failure or errors.NotProjected(job.path, reason)
            known = found.settled and found.content == job.expect
            gone = known and remove(directory, job.came_out)
    except OSError as error:
        reason = f"the earlier file, kept as {kept}, {walk.strange_of(error).reason}"
        return job.failure or errors.NotProjected(job.path, reason)
    return job.failure or Put(found.content, job.stamp, found.settled, None if gone else kept)


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True
