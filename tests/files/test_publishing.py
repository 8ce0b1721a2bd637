from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memstore import errors
from memstore.files import exchange, temporary
from memstore.files.folder import Folder
from memstore.files.publishing import Put

ROOT = Path(__file__).parents[2]
MILLISECOND = 1_000_000
ABSENT = "No such file or directory"


def opened(place: Path, pause: Callable[[float], None] = lambda _: None) -> Folder:
    folder = Folder.open(str(place), pause=pause)
    assert folder
    return folder


@pytest.fixture(params=["exchange", "without", "without links"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The promises hold where two names can change places in one step, and where they cannot; also where a file
    can have one name only."""
    if request.param != "exchange":
        monkeypatch.setattr(exchange, "_system_call", lambda: None)
    if request.param == "without links":

        def no_links(*_: object, **__: object) -> None:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", no_links)
    return str(request.param)


def test_an_expected_file_is_replaced_and_nothing_stays_behind(tmp_path: Path, system: str):
    (tmp_path / "a.md").write_bytes(b"old")
    with opened(tmp_path) as folder:
        put = folder.put("a.md", b"new", expect=b"old")
        assert put == Put(came_out=b"old", stamp=folder.scan().files["a.md"], settled=True, kept=None)
    assert os.listdir(tmp_path) == ["a.md"]
    assert (tmp_path / "a.md").read_bytes() == b"new"


def test_a_new_file_is_made_with_the_directories_above_it(tmp_path: Path, system: str):
    with opened(tmp_path) as folder:
        put = folder.put("sub/deep/a.md", b"new", expect=None)
        assert put.came_out is None and put.kept is None
        assert put.stamp == folder.scan().files["sub/deep/a.md"]
    assert os.listdir(tmp_path / "sub" / "deep") == ["a.md"]


def test_bytes_that_were_not_expected_are_kept_until_their_text_is_stored(tmp_path: Path, system: str):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_bytes(b"a person's save")
    with opened(tmp_path) as folder:
        put = folder.put("sub/a.md", b"new", expect=b"old")
        assert put.came_out == b"a person's save" and put.settled
        assert put.kept and put.kept.startswith("sub/.memstore-")
        assert (tmp_path / put.kept).read_bytes() == b"a person's save"
        assert not folder.discard(put.kept, b"other text")
        assert folder.discard(put.kept, b"a person's save")
        assert folder.discard(put.kept, b"a person's save")
    assert os.listdir(tmp_path / "sub") == ["a.md"]


def test_a_file_that_appeared_meanwhile_comes_out(tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch):
    publish = exchange.publish

    def late(directory: int, new: str, target: str) -> None:
        (tmp_path / "a.md").write_bytes(b"faster")
        monkeypatch.setattr(exchange, "publish", publish)
        publish(directory, new, target)

    monkeypatch.setattr(exchange, "publish", late)
    with opened(tmp_path) as folder:
        put = folder.put("a.md", b"new", expect=None)
        assert put.came_out == b"faster" and put.kept
        assert folder.discard(put.kept, b"faster")
    assert (tmp_path / "a.md").read_bytes() == b"new"


def test_a_file_that_vanished_is_not_brought_back(tmp_path: Path, system: str):
    with opened(tmp_path) as folder, pytest.raises(errors.NotProjected, match="the file has vanished"):
        folder.put("a.md", b"new", expect=b"old")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without the exchange of names, on which a file has one name only."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(exchange, "_system_call", lambda: None)
    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells that a file is open for writing")
def test_without_links_a_file_that_somebody_is_writing_waits(tmp_path: Path, no_links: None):
    (tmp_path / "a.md").write_bytes(b"old")
    with opened(tmp_path) as folder:
        with open(tmp_path / "a.md", "ab"), pytest.raises(errors.NotProjected, match="Text file busy"):
            folder.put("a.md", b"new", expect=b"old")
        assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"old"
        folder.put("a.md", b"new", expect=b"old")
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"new"


def test_without_links_and_leases_a_save_in_place_just_before_the_rename_is_kept(
    tmp_path: Path, no_links: None, monkeypatch: pytest.MonkeyPatch
):
    write, sync = temporary.write, exchange.sync

    def then_save(handle: int) -> None:
        monkeypatch.setattr(exchange, "sync", sync)
        (tmp_path / "a.md").write_bytes(b"a younger text")
        sync(handle)

    def written(*given: Any) -> tuple[str, int]:
        made = write(*given)
        monkeypatch.setattr(exchange, "sync", then_save)  # the next is that of the copy
        return made

    monkeypatch.setattr(exchange, "take_read_lease", lambda _: None)
    monkeypatch.setattr(temporary, "write", written)
    (tmp_path / "a.md").write_bytes(b"old")
    with opened(tmp_path) as folder:
        put = folder.put("a.md", b"new", expect=b"old")
        assert put.came_out == b"a younger text" and put.kept
        assert (tmp_path / put.kept).read_bytes() == b"a younger text"
    assert (tmp_path / "a.md").read_bytes() == b"new"


def test_what_somebody_still_has_open_for_writing_is_kept_and_read_again(tmp_path: Path):
    (tmp_path / "a.md").write_bytes(b"old")
    with opened(tmp_path) as folder:
        with open(tmp_path / "a.md", "ab") as editor:
            put = folder.put("a.md", b"new", expect=b"old")
            assert put.kept and put.came_out == b"old"
            assert put.settled is False
            editor.write(b" and typed")
            editor.flush()
            assert not folder.discard(put.kept, b"old")
        assert not folder.discard(put.kept, b"old")
        again = folder.read_kept(put.kept)
        assert again and not hasattr(again, "reason") and again.content == b"old and typed"
        assert folder.discard(put.kept, b"old and typed")
    assert (tmp_path / "a.md").read_bytes() == b"new"


def test_h17_a_rename_refused_twice_succeeds_at_the_third_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.md").write_bytes(b"old")
    pauses: list[float] = []
    real, refusals = exchange.exchange, [1, 2]

    def scanned(directory: int, new: str, target: str, aside: str) -> str:
        if refusals:
            refusals.pop()
            raise PermissionError(errno.EACCES, "locked")
        return real(directory, new, target, aside)

    monkeypatch.setattr(exchange, "exchange", scanned)
    with opened(tmp_path, pauses.append) as folder:
        assert folder.put("a.md", b"new", expect=b"old").kept is None
    assert len(pauses) == 2 and sum(pauses) < 0.2
    assert os.listdir(tmp_path) == ["a.md"]


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As many renames as there are numbers in it are refused."""
    real, refusals = os.rename, list[int]()

    def refused(*names: str, **directories: int) -> None:
        if refusals:
            refusals.pop()
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        real(*names, **directories)

    monkeypatch.setattr("memstore.files.temporary.os.rename", refused)
    return refusals


def test_h17_a_new_text_whose_own_rename_is_refused_twice_is_put_at_the_third_try(tmp_path: Path, scanned: list[int]):
    (tmp_path / "a.md").write_bytes(b"old")
    scanned += [1, 2]
    pauses: list[float] = []
    with opened(tmp_path, pauses.append) as folder:
        assert folder.put("a.md", b"new", expect=b"old").kept is None
    assert scanned == [] and len(pauses) == 2 and sum(pauses) < 0.2
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"new"


def test_h17_a_new_text_whose_own_rename_is_always_refused_leaves_the_file_and_no_litter(
    tmp_path: Path, scanned: list[int]
):
    (tmp_path / "a.md").write_bytes(b"old")
    scanned += range(100)
    pauses: list[float] = []
    with opened(tmp_path, pauses.append) as folder, pytest.raises(errors.NotProjected, match="Permission denied"):
        folder.put("a.md", b"new", expect=b"old")
    assert 0 < sum(pauses) < 0.2
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"old"


def test_h17_a_file_whose_rename_is_refused_twice_is_taken_at_the_third_try(tmp_path: Path, scanned: list[int]):
    (tmp_path / "a.md").write_bytes(b"old")
    scanned += [1, 2]
    with opened(tmp_path) as folder:
        taken = folder.take("a.md")
    assert taken and taken.content == b"old" and scanned == []
    assert not (tmp_path / "a.md").exists()


def test_h17_a_rename_always_refused_leaves_the_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> str:
        raise PermissionError(errno.EPERM, "locked")

    (tmp_path / "a.md").write_bytes(b"old")
    with opened(tmp_path) as folder:
        with monkeypatch.context() as patch:
            patch.setattr(exchange, "exchange", refuse)
            with pytest.raises(errors.NotProjected) as failure:
                folder.put("a.md", b"new", expect=b"old")
        assert failure.value.path == "a.md" and failure.value.reason == "Operation not permitted"
        assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"old"
        folder.put("a.md", b"new", expect=b"old")
    assert (tmp_path / "a.md").read_bytes() == b"new"


def test_h17_modes_are_kept_and_new_files_follow_the_umask(tmp_path: Path, system: str):
    for mode in (0o640, 0o600, 0o664):
        (tmp_path / "a.md").write_bytes(b"old")
        (tmp_path / "a.md").chmod(mode)
        with opened(tmp_path) as folder:
            folder.put("a.md", b"new", expect=b"old")
        assert (tmp_path / "a.md").stat().st_mode & 0o7777 == mode
    for umask, wanted in ((0o077, 0o600), (0o022, 0o644)):
        old = os.umask(umask)
        try:
            with opened(tmp_path) as folder:
                folder.put(f"{umask}.md", b"new", expect=None)
        finally:
            os.umask(old)
        assert (tmp_path / f"{umask}.md").stat().st_mode & 0o7777 == wanted


def test_a_mode_set_after_the_new_text_was_written_is_kept(
    tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch
):
    write = temporary.write

    def late(*given: Any) -> tuple[str, int]:
        made = write(*given)
        (tmp_path / "a.md").write_bytes(b"private")
        (tmp_path / "a.md").chmod(0o600)
        return made

    monkeypatch.setattr(temporary, "write", late)
    with opened(tmp_path) as folder:
        assert folder.put("a.md", b"new", expect=b"private").kept is None
    assert (tmp_path / "a.md").stat().st_mode & 0o777 == 0o600


def test_h17_a_linked_index_stays_a_link_and_is_reported(tmp_path: Path, system: str):
    target = tmp_path / "dotfiles.md"
    target.write_bytes(b"kept in git")
    place = tmp_path / "memory"
    place.mkdir()
    (place / "MEMORY.md").symlink_to(target)
    with opened(place) as folder, pytest.raises(errors.NotProjected, match="it is a link"):
        folder.put("MEMORY.md", b"new", expect=b"kept in git")
    assert (place / "MEMORY.md").is_symlink() and target.read_bytes() == b"kept in git"
    assert os.listdir(place) == ["MEMORY.md"]


@pytest.mark.parametrize("kind", ["link", "directory", "fifo", "hard link"])
def test_what_takes_the_files_place_after_the_look_is_put_back(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "memory"
    place.mkdir()
    (tmp_path / "else").write_bytes(b"else")
    file = place / "a.md"
    file.write_bytes(b"old")
    real = exchange.exchange

    def late(directory: int, new: str, target: str, aside: str) -> str:
        monkeypatch.setattr(exchange, "exchange", real)
        file.unlink()
        if kind == "link":
            file.symlink_to(tmp_path / "else")
        elif kind == "directory":
            file.mkdir()
        elif kind == "fifo":
            os.mkfifo(file)
        else:
            os.link(tmp_path / "else", file)
        return real(directory, new, target, aside)

    monkeypatch.setattr(exchange, "exchange", late)
    with opened(place) as folder, pytest.raises(errors.NotProjected, match=f"(?i)it is a {kind}"):
        folder.put("a.md", b"new", expect=b"old")
    assert os.listdir(place) == ["a.md"]
    assert not file.is_file() or file.samefile(tmp_path / "else")
    assert (tmp_path / "else").read_bytes() == b"else"


def test_a_new_text_is_at_least_two_milliseconds_younger(tmp_path: Path, system: str):
    (tmp_path / "a.md").write_bytes(b"old")
    future = 4_000_000_000_123_456_789
    os.utime(tmp_path / "a.md", ns=(future, future))
    with opened(tmp_path) as folder:
        put = folder.put("a.md", b"new", expect=b"old")
        assert put.stamp == folder.scan().files["a.md"]
    assert (tmp_path / "a.md").stat().st_mtime_ns == future + 2 * MILLISECOND


def test_a_batch_is_published_in_order_and_one_failure_stops_no_other(tmp_path: Path):
    for name in ("a.md", "MEMORY.md"):
        (tmp_path / name).write_bytes(b"old")
    (tmp_path / "link.md").symlink_to("a.md")
    with opened(tmp_path) as folder:
        results = folder.put_many(
            [
                ("a.md", b"1", b"old"),
                ("link.md", b"2", b"old"),
                ("sub/b.md", b"3", None),
                ("gone.md", b"4", b"old"),
                ("MEMORY.md", b"5", b"old"),
            ]
        )
        kinds = [type(result).__name__ for result in results]
        assert kinds == ["Put", "NotProjected", "Put", "NotProjected", "Put"]
        assert folder.scan().temporary == ()
    assert sorted(os.listdir(tmp_path)) == ["MEMORY.md", "a.md", "link.md", "sub"]
    assert (tmp_path / "MEMORY.md").read_bytes() == b"5"


def test_the_same_name_twice_in_a_batch_ends_with_the_last(tmp_path: Path, system: str):
    with opened(tmp_path) as folder:
        results = folder.put_many([("a.md", b"1", None), ("a.md", b"2", b"1")])
        assert [isinstance(result, Put) and result.kept for result in results] == [None, None]
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"2"


FAULTS = ["open", "write", "fchmod", "fstat", "fsync", "rename", "stat", "utime"]


@pytest.mark.parametrize("call", FAULTS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EPERM, errno.EIO])
def test_h23_every_failure_leaves_a_whole_file_and_no_litter(
    tmp_path: Path, call: str, number: int, monkeypatch: pytest.MonkeyPatch
):
    """The n-th use of a call fails, for n = 1, 2 … until a put needs it no more."""
    real = getattr(os, call)
    for nth in range(1, 50):
        (tmp_path / "a.md").write_bytes(b"old")
        os.utime(tmp_path / "a.md", ns=(1 << 61, 1 << 61))
        uses = 0

        def failing(*args: object, _nth: int = nth, **words: object) -> object:
            nonlocal uses
            uses += 1
            if uses == _nth:
                raise OSError(number, os.strerror(number))
            return real(*args, **words)

        with opened(tmp_path) as folder:
            result: Put | errors.NotProjected
            with monkeypatch.context() as patch:
                patch.setattr(os, call, failing)
                try:
                    result = folder.put("a.md", b"new", expect=b"old")
                except errors.NotProjected as error:
                    result = error
            text = (tmp_path / "a.md").read_bytes()
            assert text in (b"old", b"new")
            kept = result.kept if isinstance(result, Put) else None
            left = folder.scan().temporary
            if text == b"old":
                assert left == (), f"{call} number {nth}"
            else:
                # What came out may stay where it could not be looked at; nothing but the old text is there.
                assert all((tmp_path / path).read_bytes() == b"old" for path in left)
                assert not left or isinstance(result, errors.NotProjected) or left == (kept,)
                for path in left:
                    assert folder.discard(path, b"old")
            if uses < nth:
                assert nth > 1 and isinstance(result, Put)
                return
    pytest.fail("put never needed the call no more")


LIMITED = """
import os, resource, signal, sys
from memstore import errors
from memstore.files.folder import Folder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
with Folder.open(sys.argv[1]) as folder:
    try:
        folder.put("a.md", b"q" * 150_000, expect=b"old")
    except errors.NotProjected as error:
        print(error)
"""


def test_h23_a_short_write_is_not_published(tmp_path: Path):
    (tmp_path / "a.md").write_bytes(b"old")
    ran = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert ran.stdout == "a.md is saved, but not projected: File too large\n"
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"old"


def test_names_that_hide_or_look_like_debris_are_not_written(tmp_path: Path):
    with opened(tmp_path) as folder:
        for name in (".memstore", ".a.md", "a.txt", "x (conflicted copy 2026-03-01).md", "memory.md"):
            with pytest.raises(errors.NameRefused):
                folder.put(name, b"x", expect=None)
        with pytest.raises(errors.NotProjected, match="File name too long"):
            folder.put("x" * 240 + ".md", b"x", expect=None)
    assert os.listdir(tmp_path) == []


def test_h14_a_file_that_icloud_moved_away_is_not_replaced(tmp_path: Path):
    (tmp_path / ".y.md.icloud").write_bytes(b"")
    with opened(tmp_path) as folder, pytest.raises(errors.NotProjected, match="iCloud"):
        folder.put("y.md", b"x", expect=None)
    assert os.listdir(tmp_path) == [".y.md.icloud"]


def test_a_file_is_taken_out_of_sight_and_can_be_put_back(tmp_path: Path, system: str):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_bytes(b"text")
    with opened(tmp_path) as folder:
        taken = folder.take("sub/a.md")
        assert taken and taken.content == b"text" and taken.settled
        assert folder.scan().files == {} and folder.scan().temporary == (taken.kept,)
        assert folder.restore(taken.kept, "sub/a.md")
        assert folder.scan().files.keys() == {"sub/a.md"}
        again = folder.take("sub/a.md")
        assert again
        (tmp_path / "sub" / "a.md").write_bytes(b"younger")
        assert not folder.restore(again.kept, "sub/a.md")
        assert folder.discard(again.kept, b"text")
        assert folder.take("sub/none.md") is None
    assert os.listdir(tmp_path / "sub") == ["a.md"]


def test_a_put_is_taken_back_unless_somebody_saved_over_it(tmp_path: Path, system: str):
    (tmp_path / "a.md").write_bytes(b"a person's")
    with opened(tmp_path) as folder:
        put = folder.put("a.md", b"new", expect=b"old")
        assert put.kept and folder.put_back_over("a.md", put.kept, b"new")
        assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"a person's"
        again = folder.put("a.md", b"new", expect=b"old")
        (tmp_path / "a.md").write_bytes(b"younger")
        assert again.kept and not folder.put_back_over("a.md", again.kept, b"new")
        assert (tmp_path / "a.md").read_bytes() == b"younger"
        (left,) = folder.scan().temporary
        assert (tmp_path / left).read_bytes() == b"a person's"
        (tmp_path / "a.md").unlink()
        assert folder.put_back_over("a.md", left, b"new")
    assert os.listdir(tmp_path) == ["a.md"] and (tmp_path / "a.md").read_bytes() == b"a person's"


def test_a_link_is_not_taken(tmp_path: Path):
    (tmp_path / "a.md").symlink_to("b.md")
    with opened(tmp_path) as folder, pytest.raises(errors.NotProjected, match="it is a link"):
        folder.take("a.md")
    assert (tmp_path / "a.md").is_symlink()


DEAD = "999999999"  # above every pid_max


def test_what_a_killed_process_left_is_found_and_half_written_files_are_swept(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    kept = tmp_path / "sub" / f".memstore-{DEAD}-0123456789abcdef~a.md"
    kept.write_bytes(b"came out")
    (tmp_path / f".memstore-{DEAD}-0123456789abcdef~").write_bytes(b"hal")
    (tmp_path / f".memstore-{DEAD}-0123456789abcdef~.memstore").write_bytes(b"{}")
    linked = tmp_path / f".memstore-{DEAD}-0123456789abcdef~l.md"
    (tmp_path / "l.md").write_bytes(b"linked")
    os.link(tmp_path / "l.md", linked)
    alive = tmp_path / temporary.new_name("b.md")
    alive.write_bytes(b"at work")
    with opened(tmp_path) as folder:
        (left,) = folder.leftovers(folder.scan())
        assert (left.target, left.content) == ("sub/a.md", b"came out")
        assert folder.discard(left.kept, left.content)
        assert folder.leftovers(folder.scan()) == []
    assert sorted(os.listdir(tmp_path)) == sorted([alive.name, "l.md", "sub"])
    later = Folder.open(str(tmp_path), now=lambda: alive.stat().st_ctime_ns + 61_000_000_000)
    assert later
    with later as folder:
        assert [found.target for found in folder.leftovers(folder.scan())] == ["b.md"]


PERSON = """
import os, sys
from memstore.files.exchange import exchange
here = os.open(sys.argv[1], os.O_RDONLY)
seen = []
os.write(1, b".")
for number in range(500):
    name = f".edit{number}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=here)
    os.write(handle, b"person %d" % number)
    os.close(handle)
    exchange(here, name, "a.md", "aside")
    handle = os.open(name, os.O_RDONLY, dir_fd=here)
    seen.append(os.read(handle, 100).decode())
    os.close(handle)
    os.unlink(name, dir_fd=here)
print("\\n".join(seen))
"""


def test_no_save_of_another_process_is_lost_while_files_are_exchanged(tmp_path: Path):
    """The person's program exchanges as well, so that it knows which of its own saves it replaced itself."""
    (tmp_path / "a.md").write_bytes(b"first")
    texts = set()
    expect, number = b"first", 0
    with (
        subprocess.Popen(
            [sys.executable, "-B", "-c", PERSON, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
        ) as person,
        opened(tmp_path) as folder,
    ):
        assert person.stdout and person.stdout.read(1) == b"."
        output: list[bytes] = []
        listener = threading.Thread(target=lambda: output.append(person.stdout.read()))  # type: ignore[union-attr]  # checked above
        listener.start()
        while person.poll() is None:
            number += 1
            ours = b"projected %d" % number
            put = folder.put("a.md", ours, expect=expect)
            assert put.came_out is not None
            texts.add(put.came_out.decode())
            if put.kept:
                assert folder.discard(put.kept, put.came_out)
            expect = ours
        listener.join()
        assert person.returncode == 0
    texts.update(output[0].decode().strip().split("\n"))
    texts.add((tmp_path / "a.md").read_text(encoding="utf-8"))
    assert {f"person {n}" for n in range(500)} <= texts
    assert {f"projected {n}" for n in range(1, number + 1)} <= texts
    assert os.listdir(tmp_path) == ["a.md"]


TWIN = """
import sys
from memstore.files.folder import Folder
mine = sys.argv[3].encode() * 3000
with Folder.open(sys.argv[1]) as folder:
    for _ in range(100):
        with folder.turn(sys.argv[2], wait=60):
            old = folder.read("a.md").content
            put = folder.put("a.md", mine, expect=old)
            assert put.kept is None, put
            assert folder.read("a.md").content == mine
"""


def test_h17_two_processes_take_turns_and_every_file_is_one_writers_whole_text(tmp_path: Path):
    place, store = tmp_path / "memory", tmp_path / "store"
    place.mkdir()
    store.mkdir()
    (place / "a.md").write_bytes(b"x")
    twins = [
        subprocess.Popen([sys.executable, "-B", "-c", TWIN, str(place), str(store), letter], cwd=ROOT)
        for letter in "ab"
    ]
    for twin in twins:
        with twin:
            assert twin.wait() == 0
    assert (place / "a.md").read_bytes() in (b"a" * 3000, b"b" * 3000)
    assert os.listdir(place) == ["a.md"]
