"""Rules 1 to 4 and 32: what must be true of a folder and its files before any name in it is decided."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memstore.files.walk import FileRead
from tests.files.desk import Desk, Silent, noted, rules, topic


def filled(desk: Desk, count: int) -> None:
    """A folder with that many memories of somebody's, taken over."""
    for number in range(count):
        desk.put(f"m{number}.md", topic(f"m{number}", body=f"text {number}\nmore of {number}\n"))
    desk.put("MEMORY.md", "# Mine\n" + "".join(f"- [M{n}](m{n}.md) — hook {n}\n" for n in range(count)))
    desk.sync()
    assert desk.sync().quiet


# Rule 1


def test_rule_1_another_stores_folder_is_never_touched(desk: Desk, tmp_path: Path):
    filled(desk, 2)
    other = desk.other("other", CLAUDE_COWORK_MEMORY_PATH_OVERRIDE=str(desk.folder))
    before = desk.files()
    report = other.sync()
    assert report.folder is None
    assert str(tmp_path / "repo") in report.notices[0] and str(tmp_path / "other") in report.notices[0]
    saved = other.write("mine", "text\n")
    assert saved.files.folder is None
    assert desk.files() == before
    assert other.living() == ["mine.md"]


def test_rule_1_a_folder_that_lost_its_claim_but_not_its_files_is_asked_about(desk: Desk):
    filled(desk, 3)
    (desk.folder / ".memstore").unlink()
    desk.edit("m0.md", "text 0", "edited 0")
    for _ in range(2):
        report = desk.sync()
        assert report.folder is None
        assert "--accept" in report.notices[0] and "--restore" in report.notices[0]
    assert "edited" not in desk.text("m0")
    assert rules(desk.memories.sync(verdict="accept")) == [("m0.md", "revised", 22)]
    assert (desk.folder / ".memstore").exists()
    assert desk.sync().quiet


def test_rule_1_the_claim_is_made_again_in_a_folder_nothing_is_known_of(desk: Desk):
    desk.write("a", "text\n")
    desk.memories.delete("a")
    os.remove(desk.folder / "MEMORY.md")
    desk.sync()
    shutil.rmtree(desk.folder)
    desk.write("b", "text\n")
    desk.sync()
    assert (desk.folder / ".memstore").exists()
    assert desk.read("b.md") == desk.text("b")


@pytest.mark.parametrize("kind", ["link", "hard link", "directory"])
def test_rule_1_what_is_no_plain_file_is_left_alone_and_said(desk: Desk, tmp_path: Path, kind: str):
    filled(desk, 2)
    target = tmp_path / "target"
    target.write_text("elsewhere\n")
    place = desk.folder / "m0.md"
    place.unlink()
    if kind == "link":
        place.symlink_to(target)
    elif kind == "hard link":
        os.link(target, place)
    else:
        place.mkdir()
    for _ in range(2):
        report = desk.sync()
        assert kind == "directory" or any("m0.md" in notice for notice in report.notices)
    desk.write("m1", "new\n")
    assert desk.read("m1.md") == desk.text("m1")
    assert target.read_text() == "elsewhere\n"
    assert place.exists()


def test_rule_1_a_link_in_place_of_a_file_is_not_written_through(desk: Desk, tmp_path: Path):
    filled(desk, 2)
    target = tmp_path / "target"
    target.write_text("elsewhere\n")
    (desk.folder / "m0.md").unlink()
    (desk.folder / "m0.md").symlink_to(target)
    saved = desk.write("m0", "by the tool\n")
    assert [unshown.path for unshown in saved.files.pending] == ["m0.md"]
    assert target.read_text() == "elsewhere\n"
    (desk.folder / "m0.md").unlink()
    desk.sync()
    assert desk.read("m0.md") == desk.text("m0")
    assert desk.sync().quiet


def test_rule_1_debris_is_no_memory_and_a_conflict_copy_is_named(desk: Desk):
    filled(desk, 1)
    copy = "m0.sync-conflict-20260301-101500-ABCDEF7.md"
    for name in ("m0.md~", ".m0.md.swp", copy):
        desk.put(name, topic("m0", body="foreign\n"))
    report = desk.sync()
    assert any(copy in notice and "m0.md" in notice for notice in report.notices)
    assert desk.living() == ["m0.md"]
    assert (desk.folder / copy).exists()


# Rule 2


@pytest.mark.parametrize("broken", [b"", b"\n \n", b"\0" * 64, b"---\nname: m0\ndescr"])
def test_rule_2_a_failed_write_is_set_aside_and_the_head_put_back(desk: Desk, broken: bytes):
    filled(desk, 2)
    desk.put("m0.md", broken)
    assert noted(desk.sync(), "m0.md").rule == 2
    assert desk.read("m0.md") == topic("m0", body="text 0\nmore of 0\n")
    assert desk.set_aside() == [("m0.md", broken)]
    assert desk.number("m0") == 1
    assert desk.sync().quiet


def test_rule_2_a_file_that_somebody_is_writing_is_looked_at_again(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    filled(desk, 2)
    still_writing(desk, monkeypatch, "m0.md")
    desk.put("m0.md", topic("m0", body="text 0\nhalf a li"))
    report = desk.memories.files.absorb()
    assert report.waiting == ("m0.md",)
    assert desk.number("m0") == 1
    monkeypatch.undo()
    desk.put("m0.md", topic("m0", body="text 0\na whole line\n"))
    assert rules(desk.sync()) == [("m0.md", "revised", 22)]
    assert desk.number("m0") == 2


def still_writing(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Makes every read of that file an unsettled one."""
    from memstore.files.folder import Folder

    read = Folder.read

    def unsettled(self: Folder, path: str):
        found = read(self, path)
        if path == name and isinstance(found, FileRead):
            return FileRead(found.content, found.stamp, False, found.mode)
        return found

    monkeypatch.setattr(Folder, "read", unsettled)


def test_rule_2_an_empty_file_that_nobody_knows_is_left_alone(desk: Desk):
    filled(desk, 1)
    desk.put("empty.md", "")
    report = desk.sync()
    assert any("empty.md" in notice for notice in report.notices)
    assert desk.living() == ["m0.md"]
    assert desk.read("empty.md") == ""


@pytest.mark.parametrize("broken", [b"# Mine\n- [M0](m0.md) \xe2\x80\x94 ho", b"\0" * 64])
def test_rule_2_an_index_that_broke_off_takes_no_line_out(desk: Desk, broken: bytes):
    filled(desk, 3)
    whole = desk.read("MEMORY.md")
    desk.put("MEMORY.md", broken)
    assert noted(desk.sync(), "MEMORY.md").rule == 2
    assert desk.read("MEMORY.md") == whole
    assert desk.set_aside() == [("MEMORY.md", broken)]
    assert desk.sync().quiet


# Rule 3


def test_rule_3_many_files_gone_at_once_stop_everything(desk: Desk):
    filled(desk, 10)
    for number in range(4):
        (desk.folder / f"m{number}.md").unlink()
    desk.edit("m9.md", "text 9", "edited 9")
    before = desk.files()
    for _ in range(2):
        report = desk.sync()
        assert report.folder is None
        assert "4 are gone" in report.notices[0]
    assert desk.files() == before
    assert len(desk.living()) == 10 and desk.number("m9") == 1


def test_rule_3_a_persons_word_lets_them_go(desk: Desk):
    filled(desk, 10)
    for number in range(4):
        (desk.folder / f"m{number}.md").unlink()
    desk.ahead += 3
    report = desk.memories.sync(verdict="accept")
    assert {what for _, what, _ in rules(report)} == {"retired"}
    assert len(desk.living()) == 6
    assert "m0.md" not in desk.read("MEMORY.md")
    assert desk.sync().quiet


def test_rule_3_a_persons_word_puts_them_back_and_touches_no_other(desk: Desk):
    filled(desk, 10)
    for number in range(4):
        (desk.folder / f"m{number}.md").unlink()
    before = {name: stamp for name, stamp in desk.stamps().items() if name.startswith("m")}
    texts = desk.files()
    desk.ahead += 3
    desk.memories.sync(verdict="restore")
    after = desk.stamps()
    assert {name: after[name] for name in before} == before
    assert len(list(desk.folder.glob("m*.md"))) == 10
    assert desk.files().items() >= texts.items()
    assert set(desk.versions().values()) == {1}
    assert desk.sync().quiet


def test_rule_3_a_rollback_of_many_files_is_asked_about(desk: Desk):
    filled(desk, 10)
    old = desk.files()
    for number in range(5):
        desk.edit(f"m{number}.md", "text", "newer text")
    desk.sync()
    for number in range(5):
        desk.put(f"m{number}.md", old[f"m{number}.md"])
    report = desk.sync()
    assert report.folder is None and "5 went back" in report.notices[0]
    assert "newer" in desk.text("m0")
    desk.ahead += 3
    desk.memories.sync(verdict="restore")
    assert "newer" in desk.read("m0.md")
    assert {name for name, _ in desk.set_aside()} == {f"m{number}.md" for number in range(5)}
    assert desk.sync().quiet


def test_rule_3_three_files_are_no_reason_to_ask(desk: Desk):
    filled(desk, 4)
    for number in range(3):
        (desk.folder / f"m{number}.md").unlink()
    assert len(rules(desk.sync())) == 3
    assert desk.living() == ["m3.md"]


def test_rule_3_renames_do_not_count(desk: Desk):
    filled(desk, 8)
    for number in range(8):
        os.rename(desk.folder / f"m{number}.md", desk.folder / f"n{number}.md")
    report = desk.sync()
    assert {what for path, what, _ in rules(report) if path != "MEMORY.md"} == {"renamed"}
    assert desk.living() == [f"n{number}.md" for number in range(8)]
    assert "n0.md" in desk.read("MEMORY.md") and "m0.md" not in desk.read("MEMORY.md")
    assert desk.sync().quiet


# Rule 4


def test_rule_4_a_folder_whose_turn_another_process_has_is_left_for_later(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    import fcntl
    import time

    from memstore.core.ids import digest

    filled(desk, 1)
    directory = desk.memories.store.directory
    name = f"turn-{digest(os.fsencode(os.path.realpath(desk.folder)), length=16)}"
    holder = os.open(os.path.join(directory, name), os.O_RDWR | os.O_CREAT, 0o600)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + desk.ahead)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        saved = desk.write("a", "text\n")
        assert desk.text("a").endswith("text\n")
        assert saved.files.notices and not (desk.folder / "a.md").exists()
    finally:
        os.close(holder)
    desk.sync()
    assert desk.read("a.md") == desk.text("a")


# Rule 32


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_rule_32_a_folder_that_was_swept_away_is_put_back_after_a_second_scan(desk: Desk, how: str):
    filled(desk, 6)
    before = {name: text for name, text in desk.files().items() if name != ".memstore"}
    shutil.rmtree(desk.folder)
    if how == "emptied":
        desk.folder.mkdir()
    report = desk.memories.files.absorb()
    assert report.waiting and report.projected == ()
    assert len(desk.living()) == 6
    desk.ahead += 1.1
    report = desk.memories.files.absorb()
    assert any(what == "put back" and rule == 32 for _, what, rule in rules(report))
    after = desk.files()
    assert {name: text for name, text in after.items() if name != ".memstore"} == before
    assert ".memstore" in after
    assert desk.sync().quiet
    assert set(desk.versions().values()) == {1}


def test_rule_32_a_folder_that_was_back_meanwhile_is_waited_for_anew(desk: Desk, tmp_path: Path):
    filled(desk, 6)
    away = tmp_path / "away"
    os.rename(desk.folder, away)
    assert desk.memories.files.absorb().waiting
    os.rename(away, desk.folder)
    desk.sync()
    os.rename(desk.folder, away)
    desk.ahead += 60
    report = desk.memories.files.absorb()
    assert report.waiting and not desk.folder.exists()
    os.rename(away, desk.folder)
    assert len(desk.living()) == 6


def test_rule_32_an_explicit_sync_puts_it_back_at_once(desk: Desk):
    filled(desk, 6)
    shutil.rmtree(desk.folder)
    desk.sync()
    assert len(list(desk.folder.glob("m*.md"))) == 6


def test_rule_32_a_folder_that_cannot_be_read_whole_decides_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    from memstore.files import walk

    filled(desk, 2)
    desk.put("sub/x.md", topic("x"))
    desk.sync()
    opened = walk.open_directory

    def refused(handle: int | None, name: str) -> int:
        if name == "sub":
            raise PermissionError(13, "Permission denied")
        return opened(handle, name)

    with monkeypatch.context() as patch:
        patch.setattr(walk, "open_directory", refused)
        (desk.folder / "m0.md").unlink()
        for verdict in ("ask", "accept", "restore"):
            desk.ahead += 3
            report = desk.memories.sync(verdict=verdict)
            assert report.folder is None and "cannot be read" in report.notices[0]
    assert desk.living() == ["m0.md", "m1.md", "sub/x.md"]
    assert not (desk.folder / "m0.md").exists()


def test_rule_32_at_a_first_meeting_too(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    from memstore.files import walk

    desk.put("a.md", topic("a"))
    desk.put("sub/x.md", topic("x"))
    opened = walk.open_directory

    def refused(handle: int | None, name: str) -> int:
        if name == "sub":
            raise PermissionError(13, "Permission denied")
        return opened(handle, name)

    with monkeypatch.context() as patch:
        patch.setattr(walk, "open_directory", refused)
        assert desk.sync().folder is None
    assert desk.living() == []
    assert not (desk.folder / ".memstore").exists()
    desk.sync()
    assert desk.living() == ["a.md", "sub/x.md"]


def test_a_silent_writer_is_not_mistaken_for_a_swept_folder(desk: Desk):
    Silent(desk).write("a", "text\n")
    desk.sync()
    assert desk.read("a.md") == desk.text("a")
    assert desk.sync().quiet
