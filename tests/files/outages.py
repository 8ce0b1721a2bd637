"""Outages of the disk that a memory folder lies on, and what holds during and after each of them."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from click.testing import CliRunner

from memstore.cli.main import program
from memstore.core.index import parse
from memstore.files import exchange, publishing, temporary
from memstore.files.report import SyncReport, Unshown
from tests.files.desk import Desk, topic

INDEX = "# Mine\n\n- [A](a.md) \u2014 by hand\n\nA note that no file has.\n"
DENIED, REFUSED = os.strerror(errno.EACCES), os.strerror(errno.EPERM)
FULL, READ_ONLY, TOO_LARGE = os.strerror(errno.ENOSPC), os.strerror(errno.EROFS), os.strerror(errno.EFBIG)

Cut = Callable[[Path], AbstractContextManager[object]]
"""For a `with`: inside it the folder has its trouble."""


class Unable(Exception):
    """This machine cannot have such an outage, and why."""


@dataclass(frozen=True)
class Ran:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def command(desk: Desk, *args: str) -> Ran:
    """`memstore`, started in the desk's repository."""
    result = CliRunner().invoke(program, ["-C", str(desk.base / desk.root), *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def pending(files: SyncReport) -> dict[str, str]:
    """The names that could not be written, and why."""
    return {unshown.path: unshown.reason for unshown in files.pending}


def litter(folder: Path) -> list[str]:
    """memstore's own unfinished files."""
    found = []
    for above, _, names in os.walk(folder):
        found += [os.path.join(above, name) for name in names if temporary.is_ours(name)]
    return found


def check_closure(desk: Desk) -> None:
    """No line of the index leads to a file that is not there."""
    for piece in parse(desk.read("MEMORY.md")):
        assert not piece.target or (desk.folder / piece.target).is_file(), piece


def check_stands(desk: Desk, cut: Cut, reason: str, hit: Collection[str]) -> None:
    """Two memories are written during an outage that hits the files in `hit`; afterwards one sync mends it.

    `a.md` is there already, `b.md` and its line in the index are new.
    """
    desk.put("a.md", topic("a", body="old\n"))
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    before = desk.files()
    late = set(hit) - ({"MEMORY.md"} if "b.md" in hit else set())  # a line for a file that is not there is not due
    with cut(desk.folder):
        first = desk.write("a", "new\n")
        assert pending(first.files) == dict.fromkeys(late & {"a.md"}, reason)
        second = desk.write("b", "first\n")
        assert pending(second.files) == dict.fromkeys(late, reason)
        assert desk.text("a").endswith("new\n") and desk.text("b").endswith("first\n")
        _check_folder(desk, before, hit)
        _check_commands(desk, reason, late)
        _check_folder(desk, before, hit)
        assert desk.text("b").endswith("second\n")
        versions = desk.versions()
    mended = command(desk, "sync")
    assert mended.code == 0, mended
    for name in hit:
        assert f"projected  {name}\n" in mended.out
    assert "not projected" not in mended.err
    assert desk.versions() == versions
    for name in ("a", "b"):
        assert desk.read(f"{name}.md") == desk.text(name)
    assert desk.read("MEMORY.md") == f"{INDEX}- [b](b.md)\n"
    assert desk.sync().quiet and litter(desk.folder) == []


def _check_folder(desk: Desk, before: dict[str, bytes], hit: Collection[str]) -> None:
    """Old files are whole, new ones too, and nothing else lies about."""
    now = desk.files()
    assert litter(desk.folder) == []
    assert {name: now[name] for name in hit if name in before} == {name: before[name] for name in hit if name in before}
    if "a.md" not in hit:
        assert now["a.md"].decode() == desk.text("a")
    if "b.md" not in hit:
        assert now["b.md"].decode() == desk.text("b")
    assert ("b.md" in now) == ("b.md" not in hit) or (desk.folder / "b.md").is_dir()
    check_closure(desk)


def _check_commands(desk: Desk, reason: str, late: Collection[str]) -> None:
    step = Unshown("", reason).step
    told = [f"not projected: {name}: {reason}; {step}" for name in sorted(late)]
    shown = command(desk, "show", "b", "--json").json
    written = command(desk, "write", "b", "second\n", "--expect", shown["memory"]["token"])
    assert written.code == 0 and _told(written) == told, written
    assert "b.md: version 2" in written.out
    listed = [{"path": name, "reason": reason, "step": step} for name in sorted(late)]
    wrote = command(desk, "append", "b", "second", "--json")
    assert wrote.code == 0 and _listed(wrote) == listed, wrote
    synced = command(desk, "sync")
    assert synced.code == 5 and _told(synced) == told, synced
    synced = command(desk, "sync", "--json")
    assert synced.code == 5 and _listed(synced) == listed, synced
    assert command(desk, "show", "a", "--json").json["content"].endswith("new\n")
    assert "b.md" in command(desk, "search", "second").out


def _told(ran: Ran) -> list[str]:
    return sorted(line for line in ran.err.splitlines() if not line.startswith("note: "))


def _listed(ran: Ran) -> list[dict[str, str]]:
    files = ran.json["files"]
    assert isinstance(files, dict)
    return sorted(files["pending"], key=lambda unshown: str(unshown["path"]))


def check_hidden(desk: Desk, cut: Cut) -> None:
    """A folder that cannot be looked into is no empty folder: nothing is decided, writes are kept and said."""
    desk.put("a.md", topic("a", body="old\n"))
    desk.put("MEMORY.md", INDEX)
    desk.sync()
    before = desk.files()
    with cut(desk.folder):
        saved = desk.write("a", "new\n")
        assert saved.memory.version == 2
        assert saved.files.folder is None and saved.files.notices, saved.files
        for _ in range(2):
            synced = command(desk, "sync")
            assert synced.code == 5 and "not projected: " in synced.err and "permission" in synced.err, synced
        assert command(desk, "sync", "--json").json["files"]["folder"] is None
        assert command(desk, "show", "a").code == 0
        assert desk.living() == ["a.md"]
    assert desk.files() == before
    report = desk.sync()
    assert report.absorbed == () and report.projected == ("a.md",), report
    assert desk.read("a.md") == desk.text("a") and desk.sync().quiet


def check_no_folder(desk: Desk, reason: str) -> None:
    """The folder cannot be made: what is written is kept, and said not to be shown."""
    saved = desk.write("a", "text\n")
    assert saved.memory.version == 1 and saved.files.folder is None
    assert any(reason in notice and str(desk.folder) in notice for notice in saved.files.notices), saved.files
    mend = "writable" if reason == READ_ONLY else "permissions"
    assert any(mend in notice for notice in saved.files.notices), saved.files
    wrote = command(desk, "write", "b", "text\n")
    assert wrote.code == 0 and "not projected: " in wrote.err and reason in wrote.err, wrote
    assert reason in str(command(desk, "append", "b", "more", "--json").json["files"]["notices"])
    synced = command(desk, "sync")
    assert synced.code == 5 and reason in synced.err, synced
    assert command(desk, "sync", "--json").json["files"]["folder"] is None
    assert desk.living() == ["a.md", "b.md"]
    assert not desk.folder.exists()


def check_folder_made(desk: Desk) -> None:
    """Afterwards the folder is made with all files."""
    mended = command(desk, "sync")
    assert mended.code == 0, mended
    for name in ("a.md", "b.md", "MEMORY.md"):
        assert f"projected  {name}\n" in mended.out
    assert {name for name in desk.files() if name.endswith(".md")} == {"a.md", "b.md", "MEMORY.md"}
    assert desk.sync().quiet and litter(desk.folder) == []


# Real outages that need root


@contextmanager
def small_disk(place: Path, *options: str) -> Iterator[Path]:
    """A file system of its own, of half a megabyte, mounted at `place`."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        raise Unable("only root can mount a small file system")
    place.mkdir(parents=True, exist_ok=True)
    given = ",".join(("mode=700", *(options or ("size=512k",))))
    _system("mount", "-t", "tmpfs", "-o", given, "tmpfs", str(place))
    try:
        yield place
    finally:
        _system("umount", "--lazy", str(place))


@contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """A disk without a free block."""
    ballast = _disk_of(folder) / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            for _ in range(1 << 14):
                file.write(b"x" * 4096)
        except OSError as error:
            assert error.errno == errno.ENOSPC
        else:
            raise AssertionError("that disk is not small")
    yield
    ballast.unlink()


@contextmanager
def no_inodes(folder: Path) -> Iterator[None]:
    """A disk on which no file can be made, though it has room."""
    disk, made = _disk_of(folder), 0
    try:
        while made < 1 << 12:
            (disk / f"ballast{made}").touch(exist_ok=False)
            made += 1
    except OSError as error:
        assert error.errno == errno.ENOSPC
    yield
    for number in range(made):
        (disk / f"ballast{number}").unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder is a read-only mount."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        raise Unable("only root can mount a folder read-only")
    _system("mount", "--bind", str(folder), str(folder))
    try:
        _system("mount", "-o", "remount,bind,ro", str(folder))
        yield
    finally:
        _system("umount", "--lazy", str(folder))


def attribute(flag: str, name: str = "") -> Cut:
    """chattr's `i` (nothing about it may change) or `a` (it may only grow) for one file or the folder."""

    @contextmanager
    def cut(folder: Path) -> Iterator[None]:
        if os.geteuid() != 0 or shutil.which("chattr") is None:
            raise Unable("only root can make a file immutable, with chattr")
        _system("chattr", f"+{flag}", str(folder / name))
        try:
            yield
        finally:
            _system("chattr", f"-{flag}", str(folder / name))

    return cut


def _disk_of(folder: Path) -> Path:
    place = folder
    while not place.is_mount():
        place = place.parent
    return place


def _system(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise Unable(f"{' '.join(command[:2])} does not work here: {error.stderr.strip()}") from error


# Outages that every machine can have


@contextmanager
def size_limit(_: Path) -> Iterator[None]:
    """Writes are cut short and then refused by the kernel while files are projected, as on a full disk."""
    publish = publishing.publish_all

    def limited(*given: Any) -> Any:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
        try:
            return publish(*given)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    with mock.patch.object(publishing, "publish_all", limited):
        yield


@contextmanager
def directory_there(folder: Path) -> Iterator[None]:
    """A directory stands where a memory's file belongs."""
    (folder / "b.md" / "below").mkdir(parents=True)
    (folder / "b.md" / "below" / "c.txt").write_text("somebody's\n")
    yield
    assert (folder / "b.md" / "below" / "c.txt").read_text() == "somebody's\n"
    shutil.rmtree(folder / "b.md")


def failing(number: int, name: str = "", call: str = "") -> Cut:
    """The system's answer is this error: to each new file, to `call`, or to what takes the place of `name`."""

    def fail(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    def fail_for_name(directory: int, new: str, target: str, *more: str) -> Any:
        return fail() if target == name else exchange_real(directory, new, target, *more)

    exchange_real = exchange.exchange

    @contextmanager
    def cut(_: Path) -> Iterator[None]:
        with ExitStack() as stack:
            if name:
                stack.enter_context(mock.patch.object(exchange, "exchange", fail_for_name))
            else:
                stack.enter_context(mock.patch.object(exchange, call or "sync", fail))
            yield

    return cut


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    """The path has these permissions."""
    before = path.stat().st_mode & 0o7777
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)
