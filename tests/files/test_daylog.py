"""The log of the day in a folder: what is added, and that nothing else is ever done there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memstore.app import Memstore
from memstore.daily import LogDay
from memstore.errors import InputRefused, OperationReused
from memstore.files import daylog
from memstore.store import daylog as rows
from memstore.world import World
from tests.files.desk import Desk, topic
from tests.files.sessions import Session


def at(text: str) -> int:
    """Unix microseconds of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


@dataclass
class Diary:
    """The memories of a person whose clock and place only the test moves."""

    base: Path
    now: int = at("2026-03-01T20:30")
    place: str = "Asia/Tokyo"

    def __post_init__(self) -> None:
        (self.base / "repo" / ".git").mkdir(parents=True, exist_ok=True)
        (self.base / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.memories = Memstore.open(world=self.world())
        assert self.memories.place.folder is not None
        self.folder = Path(self.memories.place.folder)

    def world(self) -> World:
        return replace(
            World.real(str(self.base / "repo")), clock=lambda: self.now, zone=self.zone, pause=lambda _: None
        )

    def zone(self, moment: int) -> int:
        offset = datetime.fromtimestamp(moment / 1e6, ZoneInfo(self.place)).utcoffset()
        assert offset is not None
        return round(offset.total_seconds() / 60)

    def note(self, text: str, moment: str | None = None, **more: str) -> str:
        """Keeps an entry, and returns the path of its file, in which it is."""
        self.now = self.now if moment is None else at(moment)
        noted = self.memories.note(text, **more)
        assert noted.unshown == ""
        return noted.path

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def logs(self) -> dict[str, str]:
        """All files below logs."""
        return {
            str(path.relative_to(self.folder)): path.read_text(encoding="utf-8")
            for path in sorted((self.folder / "logs").rglob("*"))
            if path.is_file()
        }


TOKYO = "logs/2026/03/2026-03-02.md"


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path)


def texts(day: LogDay) -> list[str]:
    return [item.text for item in day.items]


def test_h37a_an_entry_lies_under_the_persons_own_day_with_the_offset_in_it(diary: Diary):
    assert diary.note("x", "2026-03-01T20:30") == TOKYO
    assert diary.read(TOKYO) == "- 05:30 +09:00 x\n"
    diary.place = "America/Los_Angeles"  # the same process: its person has travelled
    assert diary.note("y", "2026-03-01T02:00") == "logs/2026/02/2026-02-28.md"
    assert diary.read("logs/2026/02/2026-02-28.md") == "- 18:00 -08:00 y\n"
    assert diary.read(TOKYO) == "- 05:30 +09:00 x\n"


def test_h37b_a_process_that_is_alive_at_midnight_goes_on_in_the_next_file(diary: Diary):
    diary.place = "Europe/Berlin"
    assert diary.note("late", "2026-03-01T22:59:59") == "logs/2026/03/2026-03-01.md"
    assert diary.note("early", "2026-03-01T23:00:01") == TOKYO
    assert diary.logs() == {"logs/2026/03/2026-03-01.md": "- 23:59 +01:00 late\n", TOKYO: "- 00:00 +01:00 early\n"}


def test_h37c_in_the_night_of_the_clock_change_every_time_says_which_it_is(diary: Diary):
    diary.place = "Europe/Berlin"
    path = diary.note("before", "2026-03-29T00:59")
    assert diary.note("after", "2026-03-29T01:00") == path
    assert diary.read(path) == "- 01:59 +01:00 before\n- 03:00 +02:00 after\n"
    path = diary.note("first", "2026-10-25T00:30")
    diary.note("second", "2026-10-25T01:30")
    assert diary.read(path) == "- 02:30 +02:00 first\n- 02:30 +01:00 second\n"


def test_h37e_a_clock_that_is_set_back_changes_no_order_and_overwrites_nothing(diary: Diary):
    diary.note("one", "2026-03-01T20:30")
    diary.note("two", "2026-03-01T18:30")
    diary.note("three", "2026-03-01T18:31")
    assert diary.read(TOKYO) == "- 05:30 +09:00 one\n- 03:30 +09:00 two\n- 03:31 +09:00 three\n"
    assert texts(diary.memories.day_log()[0]) == ["one", "two", "three"]
    diary.note("yesterday again", "2026-03-01T14:59")
    assert diary.read("logs/2026/03/2026-03-01.md") == "- 23:59 +09:00 yesterday again\n"


def test_what_others_write_stays_and_an_entry_begins_a_line_of_its_own(diary: Diary):
    diary.note("one")
    file = diary.folder / TOKYO
    for addition in (b"> asked by the user\n", b"no newline", b"\xff\xfe not UTF-8", b"# heading"):
        before = file.read_bytes() + addition
        file.write_bytes(before)
        diary.note("next")
        lead = b"" if addition.endswith(b"\n") else b"\n"
        assert file.read_bytes() == before + lead + b"- 05:30 +09:00 next\n"
    (found,) = diary.memories.day_log()
    assert [item.text for item in found.items if item.session is None and item.origin is None] == [
        "asked by the user", "no newline", "\ufffd\ufffd not UTF-8", "# heading",
    ]  # fmt: skip


def test_an_operation_id_makes_a_repeated_note_harmless(diary: Diary):
    diary.note("once", operation="job-1")
    again = diary.memories.note("once", operation="job-1")
    assert again.repeated and diary.read(TOKYO) == "- 05:30 +09:00 once\n"
    diary.now += 3_600_000_000
    assert diary.memories.note("once", operation="job-1").repeated
    with pytest.raises(OperationReused):
        diary.memories.note("another", operation="job-1")
    assert not diary.memories.note("once").repeated


def test_an_entry_whose_process_died_before_the_file_is_shown_by_whoever_comes_next(diary: Diary):
    diary.note("one")
    lonely(diary, "two")
    assert diary.read(TOKYO) == "- 05:30 +09:00 one\n"
    diary.note("three")
    assert diary.read(TOKYO) == "- 05:30 +09:00 one\n- 05:30 +09:00 two\n- 05:30 +09:00 three\n"
    lonely(diary, "four")
    assert diary.memories.sync().notices == ()
    lonely(diary, "five")
    assert texts(diary.memories.day_log()[0]) == ["one", "two", "three", "four", "five"]
    assert diary.read(TOKYO).endswith("four\n- 05:30 +09:00 five\n")


def lonely(diary: Diary, text: str) -> int:
    """Keeps an entry and dies."""
    store, zone = diary.memories.store, diary.zone(diary.now)
    entry = rows.Entry(0, diary.memories.world.new_id(), diary.now, zone, "2026-03-02", text, "agent", "tester")
    return store.note(entry).seq


BLOCK = "- 05:30 +09:00 the same\n"


@pytest.mark.parametrize(
    ("done", "after"),
    [
        ("", f"{BLOCK}{BLOCK}"),  # nothing was written
        (BLOCK, f"{BLOCK}{BLOCK}"),  # all was
        (BLOCK[:9], f"{BLOCK}{BLOCK}"),  # the disk was full
        (BLOCK[:-1], f"{BLOCK}{BLOCK}"),
        (f"> somebody else\n{BLOCK}", f"{BLOCK}> somebody else\n{BLOCK}"),
        (f"{BLOCK}> somebody else", f"{BLOCK}{BLOCK}> somebody else"),
        (f"{BLOCK[:9]}\n> somebody else\n", f"{BLOCK}{BLOCK[:9]}\n> somebody else\n{BLOCK}"),
    ],
)
def test_an_entry_that_was_on_its_way_is_added_once_whatever_of_it_arrived(diary: Diary, done: str, after: str):
    """The entry before it says the very same, and does not count for it."""
    diary.note("the same")
    seq = lonely(diary, "the same")
    with diary.memories.store.change() as connection:
        rows.begin(connection, os.path.realpath(diary.folder), [(seq, len(BLOCK))])
    with open(diary.folder / TOKYO, "a", encoding="utf-8") as file:
        file.write(done)
    diary.memories.day_log()
    assert diary.read(TOKYO) == after
    diary.memories.day_log()
    assert diary.read(TOKYO) == after


def test_a_folder_that_was_moved_gets_nothing_twice_and_a_new_one_gets_all(
    diary: Diary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for text in ("same", "same", "other"):
        diary.note(text)
    before = diary.read(TOKYO)
    moved = tmp_path / "moved" / "projects"
    moved.parent.mkdir()
    diary.folder.parent.parent.rename(moved)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved.parent))
    there = Diary(tmp_path)
    there.note("new")
    assert there.read(TOKYO) == before + "- 05:30 +09:00 new\n"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "fresh"))
    fresh = Diary(tmp_path)
    fresh.note("yesterday", "2026-02-28T20:30")
    assert fresh.logs() == {"logs/2026/03/2026-03-01.md": "- 05:30 +09:00 yesterday\n", TOKYO: there.read(TOKYO)}


def test_a_file_that_somebody_took_away_is_begun_anew_and_its_entries_are_still_told(diary: Diary):
    diary.note("one")
    (diary.folder / TOKYO).unlink()
    diary.note("two")
    assert diary.read(TOKYO) == "- 05:30 +09:00 two\n"
    assert [(item.text, item.path) for item in diary.memories.day_log()[0].items] == [("two", TOKYO), ("one", None)]


def linked(diary: Diary, file: Path) -> None:
    (diary.base / "elsewhere.md").write_text("mine\n")
    file.symlink_to(diary.base / "elsewhere.md")


def hard_linked(diary: Diary, file: Path) -> None:
    (diary.base / "elsewhere.md").write_text("mine\n")
    os.link(diary.base / "elsewhere.md", file)


def fifo(_: Diary, file: Path) -> None:
    os.mkfifo(file)


def directory(_: Diary, file: Path) -> None:
    file.mkdir()


def month_linked(diary: Diary, file: Path) -> None:
    file.parent.rmdir()
    (diary.base / "month").mkdir()
    file.parent.symlink_to(diary.base / "month")


@pytest.mark.parametrize("lay", [linked, hard_linked, fifo, directory, month_linked])
def test_what_is_no_plain_file_is_left_alone_and_the_entry_waits(diary: Diary, lay: Callable[[Diary, Path], None]):
    diary.note("another day", "2026-02-01T12:00")
    file = diary.folder / TOKYO
    file.parent.mkdir(parents=True)
    lay(diary, file)
    diary.now = at("2026-03-01T20:30")
    noted = diary.memories.note("kept")
    assert noted.unshown.startswith("it is a")
    assert diary.memories.sync().notices[-1:] == (f"{TOKYO}: {noted.unshown}",)
    assert "kept" in texts(diary.memories.day_log()[0])
    assert [path.read_text() for path in diary.base.glob("elsewhere.md")] in ([], ["mine\n"])
    assert not (diary.base / "month").exists() or not any((diary.base / "month").iterdir())
    diary.note("the day before", "2026-02-01T12:01")  # a file that cannot be used holds up no other
    if file.parent.is_symlink():
        file.parent.unlink()
    elif file.is_dir():
        file.rmdir()
    else:
        file.unlink()
    diary.note("more", "2026-03-01T20:31")
    assert diary.read(TOKYO) == "- 05:30 +09:00 kept\n- 05:31 +09:00 more\n"


def test_without_a_place_to_show_it_an_entry_is_kept_all_the_same(diary: Diary, tmp_path: Path):
    diary.folder.parent.mkdir(parents=True)
    diary.folder.write_text("a file lies here\n")
    noted = diary.memories.note("kept")
    assert "is not a directory" in noted.unshown and noted.entry.seq == 1
    assert texts(diary.memories.day_log()[0]) == ["kept"]


def test_another_stores_folder_is_never_written_or_read(diary: Diary, monkeypatch: pytest.MonkeyPatch):
    diary.note("theirs")
    monkeypatch.setenv("MEMSTORE_HOME", str(diary.base / "other-home"))
    other = Diary(diary.base)
    assert "belongs to" in other.memories.note("ours").unshown
    assert diary.read(TOKYO) == "- 05:30 +09:00 theirs\n"
    assert texts(other.memories.day_log()[0]) == ["ours"]


def test_a_folder_that_was_swept_away_comes_back_with_its_memories_first(diary: Diary):
    from memstore.core.plan import Wanted

    diary.memories.write("topic", Wanted(body="text"))
    diary.note("one")
    for path in sorted(diary.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    diary.folder.rmdir()
    assert "memstore sync" in diary.memories.note("two").unshown
    assert not diary.folder.exists()
    diary.now += 5_000_000
    diary.memories.sync()
    assert (diary.folder / "topic.md").exists()
    assert diary.read(TOKYO) == "- 05:30 +09:00 two\n"
    assert texts(diary.memories.day_log()[0]) == ["two", "one"]


def test_logs_are_no_memories_for_sync_search_and_export(diary: Diary, tmp_path: Path):
    diary.note("the cache lives on host h1")
    before = diary.logs()
    report = diary.memories.sync()
    assert (report.absorbed, report.projected, report.notices) == ((), (), ())
    assert diary.memories.memories() == []
    assert diary.memories.search("cache")[1] == []
    exported = diary.memories.export_directory(str(tmp_path / "out"))
    assert not [name for name in exported.written if "log" in name]
    assert diary.logs() == before


@pytest.mark.parametrize("path", [TOKYO, "logs/2026/03/02/6ba7b810-port.md"])
def test_a_session_that_writes_a_log_with_its_own_tools_is_let_alone(desk: Desk, path: str):
    desk.put("a.md", topic("a"))
    desk.sync()
    Session(desk, "s1").write(path, "- 05:30 +09:00 x\n")
    assert desk.sync().quiet
    assert (desk.living(), desk.read(path)) == (["a.md"], "- 05:30 +09:00 x\n")


def test_an_entry_that_a_session_saved_an_old_copy_over_is_still_told(diary: Diary):
    old = (diary.note("one"), diary.read(TOKYO))[1]
    diary.note("two")
    (diary.folder / TOKYO).write_text(old + "- 05:30 three\n")
    assert [(item.text, item.path) for item in diary.memories.day_log()[0].items] == [
        ("one", TOKYO), ("three", TOKYO), ("two", None),
    ]  # fmt: skip


def test_both_layouts_are_read_and_the_days_come_in_order(diary: Diary):
    diary.note("first day", "2026-02-28T20:30")
    diary.note("second day", "2026-03-01T20:30")
    sessions = diary.folder / "logs/2026/03/02"
    sessions.mkdir()
    (sessions / "6ba7b810-port.md").write_text("> which port\n< 7443\n")
    (sessions / ".hidden.md").write_text("no\n")
    (sessions / "note.txt").write_text("no\n")
    os.symlink("/etc/hostname", sessions / "link.md")
    first, second = diary.memories.day_log("2026-03-02", days=2)
    assert (first.day, texts(first)) == ("2026-03-01", ["first day"])
    assert [(item.who, item.text) for item in second.items] == [
        ("note", "second day"), ("user", "which port"), ("assistant", "7443"),
    ]  # fmt: skip
    assert second.items[1].path == "logs/2026/03/02/6ba7b810-port.md"
    assert list(second.unread) == ["logs/2026/03/02/link.md"]
    for wrong in (("2026-02-30", 1), ("2026-03-02", 0), ("2026-03-02", 400)):
        with pytest.raises(InputRefused):
            diary.memories.day_log(wrong[0], days=wrong[1])


def test_more_entries_than_fit_a_batch_come_in_order(diary: Diary, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(daylog, "_BATCH", 2)
    diary.note("0")
    for number in range(1, 8):
        lonely(diary, str(number))
    diary.note("8")
    assert diary.read(TOKYO) == "".join(f"- 05:30 +09:00 {number}\n" for number in range(9))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_log_is_told_and_the_entry_waits(diary: Diary):
    diary.note("one")
    (diary.folder / TOKYO).chmod(0o444)
    assert "Permission denied" in diary.memories.note("two").unshown
    (diary.folder / TOKYO).chmod(0o644)
    diary.note("three")
    assert texts(diary.memories.day_log()[0]) == ["one", "two", "three"]
