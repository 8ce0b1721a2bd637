"""Cases H17 and H23: how files are written, and what an interruption leaves."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from memstore.core.changes import Change, Revise
from memstore.core.plan import Wanted
from memstore.errors import DiskFull
from memstore.files import exchange
from tests.files.desk import Desk, Silent, topic
from tests.files.outages import Unable, check_closure, command, litter, no_room, pending, small_disk
from tests.journeys.interrupted import STEPS, sync_until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


# H17


class Scanner:
    """Something that holds files: a rename is refused so often, then works."""

    def __init__(self, refusals: int) -> None:
        self.left, self.real = refusals, exchange._rename_with

    def __call__(self, directory: int, old: str, new: str, flag: int) -> None:
        if self.left:
            self.left -= 1
            raise PermissionError(13, os.strerror(13), new)
        self.real(directory, old, new, flag)


def _visible(desk: Desk) -> list[Path]:
    return [path for path in desk.folder.glob("*.md") if path.name[0] != "."]


def _modes(desk: Desk) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o7777 for path in _visible(desk)}


def test_h17_a_a_file_that_a_scanner_holds_for_milliseconds_is_written(desk: Desk):
    desk.put("m.md", topic("m"))
    desk.sync()
    with mock.patch.object(exchange, "_rename_with", Scanner(2)):
        saved = desk.write("m", "new\n")
    assert pending(saved.files) == {} and desk.read("m.md") == desk.text("m")
    with mock.patch.object(exchange, "_rename_with", Scanner(3)):
        assert pending(desk.write("n", "new\n").files) == {}
    assert litter(desk.folder) == [] and desk.sync().quiet


def test_h17_b_a_file_that_is_held_for_good_is_saved_told_and_written_later(desk: Desk):
    desk.put("m.md", topic("m"))
    desk.sync()
    before = desk.files()
    with mock.patch.object(exchange, "_rename_with", Scanner(10**6)):
        saved = desk.write("m", "new\n")
        assert pending(saved.files) == {"m.md": "Permission denied", "MEMORY.md": "Permission denied"}
        told = command(desk, "append", "m", "more")
        assert told.code == 0 and "not projected: m.md: Permission denied" in told.err
        assert command(desk, "sync").code == 5
        assert desk.files() == before
    assert desk.text("m").endswith("new\nmore\n")
    assert desk.sync().projected == ("m.md", "MEMORY.md")
    assert desk.read("m.md") == desk.text("m") and litter(desk.folder) == [] and desk.sync().quiet


_WRITER = """
import sys
from memstore.app import Memstore
from memstore.core.plan import Wanted
from memstore.errors import StaleVersion
place, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memstore.open(place) as memories:
    for n in range(rounds):
        body = f"{name} {n}\\n" * 3_000
        token = memories.show("m")[1].token
        try:
            memories.write("m", Wanted(body=body), expect=token, on_conflict="refuse")
        except StaleVersion:
            pass
        assert memories.sync().pending == ()
"""


def test_h17_c_two_processes_that_write_and_sync_show_whole_texts_only(desk: Desk):
    desk.write("m", "start 0\n" * 3_000)
    place = str(desk.base / desk.root)
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, place, name, "25"], cwd=ROOT, stderr=subprocess.PIPE)
        for name in ("red", "green")
    ]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        lines = desk.read("m.md").split("---\n", 2)[2].strip("\n").split("\n")
        assert len(lines) == 3_000 and len(set(lines)) == 1, set(lines)
        seen.add(lines[0])
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(seen) > 3
    assert litter(desk.folder) == [] and desk.read("m.md") == desk.text("m") and desk.sync().absorbed == ()
    assert desk.memories.store.conflicts() == [] and desk.set_aside() == []


@pytest.mark.parametrize("umask", [0o077, 0o022, 0o027])
def test_h17_d_files_keep_their_modes_and_new_ones_follow_the_umask(desk: Desk, umask: int):
    modes = {"m.md": 0o640, "private.md": 0o600, "shared.md": 0o664, "MEMORY.md": 0o604}
    for name, bits in modes.items():
        desk.put(name, "# Mine\n" if name == "MEMORY.md" else topic(name[:-3])).chmod(bits)
    before = os.umask(umask)
    try:
        desk.sync()
        for name in ("m", "private", "shared", "new"):
            desk.write(name, "changed\n")
        desk.memories.rename("private", "secret")
    finally:
        os.umask(before)
    modes["new.md"] = 0o666 & ~umask
    found = _modes(desk)
    secret = found.pop("secret.md")
    del modes["private.md"]
    assert found == modes
    assert secret & ~0o666 == 0


@pytest.mark.parametrize("name", ["MEMORY.md", "m.md"])
@pytest.mark.parametrize("where", ["outside", "inside", "nowhere"])
def test_h17_e_a_link_stays_a_link_and_nothing_is_written_through_it(desk: Desk, name: str, where: str):
    desk.put("other.md", topic("other"))
    desk.sync()
    real = (desk.base / "dotfiles" if where != "inside" else desk.folder / "kept") / "real.md"
    real.parent.mkdir()
    if where != "nowhere":
        real.write_text(topic("real", body="kept in git\n"))
    (desk.folder / name).unlink(missing_ok=True)
    (desk.folder / name).symlink_to(real)
    wrote = command(desk, "write", "m", "by a tool\n")
    assert wrote.code == 0 and f"not projected: {name}: it is a link" in wrote.err, wrote
    told = command(desk, "sync")
    assert told.code == 5 and f"not projected: {name}: it is a link" in told.err, told
    assert desk.text("m").endswith("by a tool\n")
    assert (desk.folder / name).is_symlink() and real.exists() == (where != "nowhere")
    assert where == "nowhere" or real.read_text() == topic("real", body="kept in git\n")
    assert (where == "inside") == ("kept/real.md" in desk.living())
    (desk.folder / name).unlink()
    desk.sync()
    desk.sync()
    assert desk.read("m.md") == desk.text("m") and "m.md" in desk.read("MEMORY.md")
    assert litter(desk.folder) == [] and desk.sync().quiet


def test_h17_e_a_whole_folder_that_is_a_link_is_written_where_it_leads(desk: Desk):
    real = desk.base / "dotfiles"
    real.mkdir()
    desk.folder.parent.mkdir(parents=True, exist_ok=True)
    desk.folder.symlink_to(real)
    desk.write("m", "text\n")
    assert desk.folder.is_symlink() and (real / "m.md").read_text() == desk.text("m")
    assert desk.sync().quiet


# H23


def test_h23_a_a_full_disk_refuses_with_its_reason_and_leaves_whole_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    try:
        with small_disk(tmp_path / "small", "size=1m") as small:
            monkeypatch.setenv("MEMSTORE_HOME", str(small / "home"))
            monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(small / "config"))
            desk = Desk(tmp_path)
            try:
                _fill(desk)
            finally:
                desk.close()
    except Unable as reason:
        pytest.skip(str(reason))


def _fill(desk: Desk) -> None:
    desk.put("keep.md", topic("keep", body="here before\n"))
    desk.sync()
    written: dict[str, str] = {}
    late: dict[str, str] = {}
    with no_room_but(desk, 200_000):
        for number in range(40):
            body = f"{number} " + "words " * 1_500 + "\n"
            try:
                saved = desk.memories.write(f"n{number}", Wanted(body=body))
            except DiskFull as error:
                assert "disk is full" in str(error) and error.hint
                break
            written[f"n{number}.md"] = body
            late |= pending(saved.files)
        else:
            pytest.fail("that disk never filled")
        assert written and set(late.values()) <= {"No space left on device"}
        assert litter(desk.folder) == []
        for path in _visible(desk):
            text = path.read_text()
            assert text, path
            if path.name in written:
                assert text == desk.text(path.name)
        assert desk.read("keep.md") == topic("keep", body="here before\n")
        check_closure(desk)
    desk.sync()
    assert desk.living() == sorted(["keep.md", *written])
    for name in desk.living():
        assert desk.read(name) == desk.text(name)
    assert sorted(path.name for path in _visible(desk)) == sorted(["MEMORY.md", *desk.living()])
    assert set(desk.versions().values()) == {1} and desk.sync().quiet


class no_room_but:
    """All of a disk but so many bytes is taken."""

    def __init__(self, desk: Desk, room: int) -> None:
        self._folder, self._room = desk.folder, room

    def __enter__(self) -> None:
        self._cut = no_room(self._folder)
        self._cut.__enter__()
        disk = self._folder
        while not disk.is_mount():
            disk = disk.parent
        os.truncate(disk / "ballast", (disk / "ballast").stat().st_size - self._room)

    def __exit__(self, *_: object) -> None:
        self._cut.__exit__(None, None, None)


TOPICS = 5


def _changed_silently(desk: Desk, name: str = "changed") -> None:
    """What others committed and nobody has shown yet: known topics changed, one is new, one is gone."""
    silent = Silent(desk)
    for number in range(TOPICS):
        silent.write(f"n{number}", f"{name} {number}\n")
    silent.create("new.md", f"{name}\n")
    silent.retire("gone")


@pytest.mark.parametrize(
    ("step", "system"),
    [
        (step, system)
        for step in STEPS
        for system in ("exchange", "without")
        if (step, system) != ("half in place", "exchange")
    ],
)
def test_h23_c_d_a_process_killed_between_commit_and_file_leaves_whole_files_and_nothing_to_decide(
    desk: Desk, step: str, system: str, monkeypatch: pytest.MonkeyPatch
):
    for number in range(TOPICS):
        desk.put(f"n{number}.md", topic(f"n{number}", body=f"old {number}\n"))
    desk.put("gone.md", topic("gone"))
    desk.put("MEMORY.md", "# Mine\n- [0](n0.md)\n- [gone](gone.md)\n")
    desk.sync()
    before = desk.files()
    _changed_silently(desk)
    versions = desk.versions()
    if system == "without":
        monkeypatch.setenv("MEMSTORE_TEST_WITHOUT_EXCHANGE", "1")
    sync_until(desk.base / desk.root, step, TOPICS + 1)
    _check_whole(desk, before)
    report = desk.sync()
    assert report.absorbed == () and report.notices == (), (step, report)
    assert desk.versions() == versions and desk.set_aside() == [] and desk.memories.store.conflicts() == []
    _check_shown(desk)


def _check_whole(desk: Desk, before: dict[str, bytes]) -> None:
    """Each file is whole, the old or the new one, and the index leads to files."""
    for path in _visible(desk):
        text = path.read_bytes()
        head = desk.head(path.name)
        assert text and (path.name == "MEMORY.md" or text in (before.get(path.name), head and head.state.content))
    check_closure(desk)


def _check_shown(desk: Desk) -> None:
    for path in desk.living():
        assert desk.read(path) == desk.text(path)
    assert sorted(path.name for path in _visible(desk)) == sorted(["MEMORY.md", *desk.living()])
    assert litter(desk.folder) == [] and desk.sync().quiet
    check_closure(desk)


def test_h23_b_syncs_of_200_topics_killed_at_random_moments_take_nothing_of_their_own_for_an_edit(desk: Desk):
    chance = random.Random(23)
    for number in range(200):
        desk.put(f"n{number:03}.md", topic(f"n{number:03}", body="round -1\n"))
    desk.put("MEMORY.md", "# Mine\n- [0](n000.md)\n")
    desk.sync()
    started = [sys.executable, "-m", "memstore", "-C", str(desk.base / desk.root), "sync"]
    killed = 0
    for number in range(12):
        before = desk.files()
        _revise_all(desk, number)
        versions = desk.versions()
        process = subprocess.Popen(started, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _await_shown(desk, before, process, chance.randrange(-20, 190))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        _check_whole(desk, before)
        report = desk.sync()
        assert report.absorbed == () and report.notices == () and report.pending == (), report
        assert desk.versions() == versions and litter(desk.folder) == []
        assert all(f"round {number}\n" in text.decode() for name, text in desk.files().items() if name[0] == "n")
    assert killed > 2
    assert desk.set_aside() == [] and desk.memories.store.conflicts() == [] and desk.sync().quiet


def _await_shown(desk: Desk, before: dict[str, bytes], process: subprocess.Popen[bytes], topics: int) -> None:
    """Until so many topics have their new text: a share of its work, so that a fast machine is killed inside it too."""
    waiting = [name for name in before if name[0] == "n"]
    while process.poll() is None and 200 - len(waiting) < topics:
        waiting = [name for name in waiting if (desk.folder / name).read_bytes() == before[name]]


def _revise_all(desk: Desk, number: int) -> None:
    changes: list[Change] = []
    for head in desk.memories.store.memories():
        text = head.state.content.replace(f"round {number - 1}\n".encode(), f"round {number}\n".encode())
        changes.append(Revise(head.id, head.token, text))
    desk.memories._writer.apply(tuple(changes), "write")
