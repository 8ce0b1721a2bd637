"""Rules 12 to 31 of `core/reconcile.py`, through a real folder and a real store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore.files.report import SyncReport
from memstore.store.shown import ShownRow
from tests.files.desk import Desk, Silent, noted, rules, topic

BODY = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def silent(desk: Desk) -> Silent:
    return Silent(desk)


def settled(desk: Desk, name: str = "a", body: str = BODY) -> None:
    """A memory that somebody wrote as a file, and that was taken in."""
    desk.put(f"{name}.md", topic(name, body=body))
    desk.sync()
    assert desk.sync().quiet


def quiet(desk: Desk) -> bool:
    return desk.sync().quiet


def test_rule_12_nothing_known_and_no_file_is_nothing(desk: Desk):
    assert desk.sync().quiet
    assert not desk.folder.exists()


def test_rule_12_a_retired_memory_without_a_file_stays_away(desk: Desk):
    desk.write("a", BODY)
    desk.memories.delete("a")
    assert desk.sync().quiet
    assert not (desk.folder / "a.md").exists()
    assert desk.living() == []


def test_rule_13_a_new_file_becomes_a_memory_with_its_very_bytes(desk: Desk):
    text = "\ufeff" + topic("a", body="last line without an end").replace("\n", "\r\n")
    desk.put("sub/a.md", text)
    assert rules(desk.sync()) == [("sub/a.md", "created", 13)]
    assert desk.text("sub/a.md") == text
    assert desk.read("sub/a.md") == text


def test_rule_14_a_memory_that_was_never_shown_gets_its_file(desk: Desk, silent: Silent):
    settled(desk, "other")
    silent.write("a", BODY)
    report = desk.sync()
    assert "a.md" in report.projected
    assert desk.read("a.md") == desk.text("a")
    assert quiet(desk)


def test_rule_15_a_file_alike_the_head_is_accepted_as_it_is(desk: Desk):
    desk.write("a", BODY)
    there = desk.second()
    text = desk.text("a").replace("metadata:\n", "metadata:\n  node_type: memory\n  modified: 2026-03-01\n")
    there.put("a.md", text.replace("\n", "\r\n"))
    there.sync()
    assert there.read("a.md") == text.replace("\n", "\r\n")
    assert there.number("a") == 1
    assert quiet(there)


def test_rule_16_an_older_copy_is_set_aside_and_the_head_shown(desk: Desk):
    desk.write("a", BODY)
    old = desk.text("a")
    desk.write("a", BODY + "six\n")
    there = desk.second()
    there.put("a.md", old)
    report = there.sync()
    assert noted(report, "a.md").rule == 16
    assert there.read("a.md") == desk.text("a")
    assert there.set_aside() == [("a.md", old.encode())]
    assert there.number("a") == 2
    assert quiet(there)


def test_rule_17_a_strangers_file_is_the_other_side_of_a_conflict(desk: Desk):
    desk.write("a", BODY)
    there = desk.second()
    there.put("a.md", topic("a", body="somebody else's\n"))
    report = there.sync()
    assert noted(report, "a.md").what == "conflict"
    assert noted(report, "a.md").rule == 17
    (conflict,) = desk.memories.store.conflicts()
    assert conflict.theirs.decode() == topic("a", body="somebody else's\n")
    assert conflict.base is None
    assert there.read("a.md") == desk.text("a")
    assert quiet(there)


def test_rule_17_a_file_that_appears_between_look_and_projection(desk: Desk):
    settled(desk, "other")
    desk.memories.files.absorb()
    Silent(desk).write("a", BODY)
    desk.put("a.md", topic("a", body="somebody else's\n"))
    report = desk.memories.files.settle()
    assert noted(report, "a.md").rule == 17
    assert "one" in desk.read("a.md")
    assert [conflict.theirs for conflict in desk.memories.store.conflicts()] == [
        topic("a", body="somebody else's\n").encode()
    ]
    assert quiet(desk)


def test_rule_18_a_copy_of_a_deleted_memory_does_not_bring_it_back(desk: Desk):
    desk.write("a", BODY)
    first = desk.text("a")
    desk.write("a", BODY + "six\n")
    last = desk.text("a")
    desk.memories.delete("a")
    for copy in (first, last, last.replace("\n", "\r\n")):
        desk.put("a.md", copy)
        assert noted(desk.sync(), "a.md").rule == 18
        assert desk.living() == []
        assert not (desk.folder / "a.md").exists()
        assert quiet(desk)
    assert {text for _, text in desk.set_aside()} == {
        first.encode(),
        last.encode(),
        last.replace("\n", "\r\n").encode(),
    }


def test_rule_19_new_text_under_a_retired_name_revives_it(desk: Desk):
    desk.write("a", BODY)
    desk.memories.delete("a")
    desk.put("a.md", topic("a", body="quite new\n"))
    assert rules(desk.sync()) == [("a.md", "revived", 19)]
    assert desk.number("a") == 3
    assert desk.text("a") == topic("a", body="quite new\n")
    assert quiet(desk)


def test_rule_20_a_touched_file_is_no_news(desk: Desk):
    settled(desk)
    os.utime(desk.folder / "a.md")
    before = desk.versions()
    assert desk.sync().quiet
    assert desk.versions() == before


def test_rule_20_a_file_that_lags_behind_the_head_is_brought_up_to_date(desk: Desk, silent: Silent):
    settled(desk)
    silent.write("a", BODY + "six\n")
    os.utime(desk.folder / "a.md")
    assert "a.md" in desk.sync().projected
    assert desk.read("a.md").endswith("six\n")


def test_rule_21_stamps_of_the_client_make_no_version(desk: Desk):
    settled(desk)
    stamped = (
        "---\nname: a\ndescription: d\nmetadata:\n  node_type: memory\n  type: project\n"
        f"  originSessionId: x\n  modified: 2026-03-01T10:00:00Z\n---\n\n{BODY}"
    )
    desk.put("a.md", stamped)
    desk.sync()
    assert desk.number("a") == 1
    assert desk.read("a.md") == stamped
    row = desk.shown("a.md")
    assert row is not None and row.content == stamped.encode()
    assert quiet(desk)


def test_rule_22_an_edit_becomes_a_version_and_the_file_is_left_alone(desk: Desk):
    settled(desk)
    desk.edit("a.md", "three\n", "three, edited\n")
    before = desk.stamps()
    assert rules(desk.sync()) == [("a.md", "revised", 22)]
    assert desk.text("a") == desk.read("a.md")
    assert desk.number("a") == 2
    assert desk.stamps() == before
    assert quiet(desk)


def test_rule_23_the_same_edit_on_both_sides_is_one(desk: Desk, silent: Silent):
    settled(desk)
    silent.write("a", BODY.replace("three", "three, edited"))
    desk.edit("a.md", "three\n", "three, edited\n")
    before = desk.stamps()["a.md"]
    desk.sync()
    assert desk.number("a") == 2
    assert desk.stamps()["a.md"] == before
    assert desk.memories.store.conflicts() == []
    assert quiet(desk)


def test_rule_24_edits_of_different_lines_are_merged(desk: Desk, silent: Silent):
    settled(desk)
    silent.write("a", BODY.replace("one", "one, by the tool"))
    desk.edit("a.md", "five\n", "five, by hand\n")
    report = desk.sync()
    assert noted(report, "a.md").rule == 24
    assert desk.text("a") == desk.read("a.md")
    assert "one, by the tool\n" in desk.text("a") and "five, by hand\n" in desk.text("a")
    assert quiet(desk)


def test_rule_24_edits_of_one_line_keep_both_texts(desk: Desk, silent: Silent):
    settled(desk)
    silent.write("a", BODY.replace("three", "three, by the tool"))
    desk.edit("a.md", "three\n", "three, by hand\n")
    by_hand = desk.read("a.md")
    report = desk.sync()
    assert (noted(report, "a.md").what, noted(report, "a.md").rule) == ("conflict", 24)
    assert "three, by the tool\n" in desk.read("a.md")
    (conflict,) = desk.memories.store.conflicts()
    assert conflict.theirs == by_hand.encode()
    assert conflict.base == topic("a", body=BODY).encode()
    assert quiet(desk)


def test_rule_24_a_conflict_is_shown_again_when_the_first_try_failed(
    desk: Desk, silent: Silent, monkeypatch: pytest.MonkeyPatch
):
    from memstore.files import exchange

    settled(desk)
    silent.write("a", BODY.replace("three", "three, by the tool"))
    desk.edit("a.md", "three\n", "three, by hand\n")
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "exchange", _refused)
        report = desk.sync()
    assert [unshown.path for unshown in report.pending] == ["a.md"]
    assert "by hand" in desk.read("a.md")
    assert desk.sync().projected == ("a.md",)
    assert "by the tool" in desk.read("a.md")
    assert len(desk.memories.store.conflicts()) == 1
    assert quiet(desk)


def _refused(*_: object) -> str:
    raise OSError(5, "Input/output error")


def old_buffer(desk: Desk, text: str) -> SyncReport:
    desk.put("a.md", text)
    return desk.sync()


def test_rule_25_an_old_buffer_loses_no_projected_line_and_may_take_it_out_later(desk: Desk):
    settled(desk)
    opened = desk.read("a.md")
    desk.write("a", BODY + "six, by the tool\n")
    desk.sync()
    report = old_buffer(desk, opened.replace("two", "two, by hand"))
    assert noted(report, "a.md").rule == 25
    assert "six, by the tool" in desk.read("a.md") and "two, by hand" in desk.read("a.md")
    row = desk.shown("a.md")
    assert row is not None and row.flagged == ("six, by the tool",)
    assert quiet(desk)
    without = desk.read("a.md").replace("six, by the tool\n", "")
    old_buffer(desk, without)
    assert desk.read("a.md") == without == desk.text("a")
    assert quiet(desk)


def test_rule_25_flags_add_up_and_survive_the_clients_stamps(desk: Desk):
    settled(desk)
    opened = desk.read("a.md")
    desk.write("a", BODY + "six\n")
    desk.sync()
    old_buffer(desk, opened.replace("two", "two, by hand"))
    stamped = desk.read("a.md").replace("type: project\n", "type: project\nmodified: 2026-03-01\n")
    assert old_buffer(desk, stamped).absorbed == ()
    opened = desk.read("a.md")
    desk.write("a", desk.text("a").split("---\n\n")[1] + "seven\n")
    desk.sync()
    old_buffer(desk, opened.replace("one", "one, by hand"))
    row = desk.shown("a.md")
    assert row is not None and row.flagged == ("six", "seven")


def test_rule_25_an_old_buffer_that_comes_out_of_a_projection_flags_what_it_lacked(desk: Desk):
    settled(desk)
    opened = desk.read("a.md")
    desk.write("a", BODY + "six\n")
    desk.sync()
    desk.memories.files.absorb()
    desk.put("a.md", opened.replace("two", "two, by hand"))
    Silent(desk).write("a", BODY + "six\nseven\n")
    desk.memories.files.settle()
    for word in ("six", "seven", "two, by hand"):
        assert word in desk.read("a.md")
    assert quiet(desk)


def test_rule_25_an_old_buffer_is_replaced_by_a_later_sync_when_the_first_try_failed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    from memstore.files import exchange

    settled(desk)
    opened = desk.read("a.md")
    desk.write("a", BODY + "six\n")
    desk.sync()
    desk.put("a.md", opened)
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "exchange", _refused)
        assert [unshown.path for unshown in desk.sync().pending] == ["a.md"]
    desk.sync()
    assert desk.read("a.md") == desk.text("a") and "six" in desk.text("a")
    assert quiet(desk)


def test_rule_26_an_edit_of_a_deleted_memory_brings_it_back(desk: Desk, silent: Silent):
    settled(desk)
    silent.retire("a")
    desk.edit("a.md", "three\n", "three, edited\n")
    report = desk.sync()
    assert noted(report, "a.md").what == "revived"
    assert noted(report, "a.md").rule == 26
    assert desk.living() == ["a.md"]
    assert desk.text("a") == desk.read("a.md")
    assert quiet(desk)


def test_rule_27_a_file_whose_memory_the_store_lost_is_created_anew(desk: Desk):
    settled(desk, "other")
    desk.put("a.md", topic("a", body="after\n"))
    with desk.memories.store.view() as connection:
        from memstore.store.shown import folder_row

        row = folder_row(connection, os.path.realpath(desk.folder))
    assert row is not None
    desk.memories.store.show(row.pk, [ShownRow("a.md", None, 3, topic("a", body="before\n").encode())])
    assert rules(desk.sync()) == [("a.md", "created", 27)]
    assert desk.text("a") == desk.read("a.md")
    assert quiet(desk)


def test_rule_28_a_moved_file_carries_its_history(desk: Desk):
    settled(desk)
    head = desk.head("a")
    assert head is not None
    (desk.folder / "sub").mkdir()
    os.rename(desk.folder / "a.md", desk.folder / "sub/b.md")
    assert rules(desk.sync()) == [("sub/b.md", "renamed", 28)]
    moved = desk.head("sub/b")
    assert moved is not None and moved.id == head.id and moved.version == 2
    assert desk.living() == ["sub/b.md"]
    assert not (desk.folder / "a.md").exists()
    assert quiet(desk)


def test_rule_28_a_file_moved_and_edited_is_known_by_its_name_field(desk: Desk, silent: Silent):
    settled(desk)
    settled(desk, "c", "quite different\n")
    silent.write("a", BODY.replace("five", "five, by the tool"))
    text = desk.read("a.md").replace("one\n", "one, by hand\n")
    (desk.folder / "a.md").unlink()
    desk.put("b.md", text)
    assert noted(desk.sync(), "b.md").rule == 28
    assert desk.text("b") == desk.read("b.md")
    assert "one, by hand" in desk.text("b") and "five, by the tool" in desk.text("b")
    assert desk.living() == ["b.md", "c.md"]
    assert quiet(desk)


def test_rule_28_a_moved_file_in_conflict_keeps_both_texts(desk: Desk, silent: Silent):
    settled(desk)
    silent.write("a", BODY.replace("one", "one, by the tool"))
    text = desk.read("a.md").replace("one\n", "one, by hand\n")
    (desk.folder / "a.md").unlink()
    desk.put("b.md", text)
    desk.sync()
    assert "one, by the tool" in desk.read("b.md")
    assert [conflict.theirs for conflict in desk.memories.store.conflicts()] == [text.encode()]
    assert desk.living() == ["b.md"]
    assert quiet(desk)


@pytest.mark.parametrize(("old", "new"), [("a", "A"), ("caf\u00e9", "cafe\u0301")])
def test_rule_28_a_name_spelled_anew_is_no_deletion(desk: Desk, old: str, new: str):
    settled(desk, old)
    os.rename(desk.folder / f"{old}.md", desk.folder / f"{new}.md")
    assert rules(desk.sync()) == [(f"{new}.md", "renamed", 28)]
    assert desk.living() == [f"{new}.md"]
    assert (desk.folder / f"{new}.md").exists()
    assert quiet(desk)


def test_rule_28_the_old_file_of_a_memory_that_a_tool_renamed_retires_nothing(desk: Desk, silent: Silent):
    settled(desk)
    silent.rename("a", "b.md")
    os.rename(desk.folder / "a.md", desk.folder / "b.md")
    desk.sync()
    assert desk.living() == ["b.md"]
    assert desk.read("b.md") == desk.text("b")
    assert quiet(desk)


def test_rule_28_nor_does_it_where_nothing_can_be_projected(
    desk: Desk, silent: Silent, monkeypatch: pytest.MonkeyPatch
):
    from memstore.files import projector
    from memstore.files.project import Outcome

    settled(desk)
    settled(desk, "b", "other\n")
    silent.rename("a", "c.md")
    (desk.folder / "a.md").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(projector, "carry_out", lambda *_: Outcome(failed=True))
        desk.sync()
    assert desk.living() == ["b.md", "c.md"]
    desk.sync()
    assert desk.read("c.md") == desk.text("c")
    assert quiet(desk)


def test_rule_29_a_deletion_is_believed_when_a_second_scan_agrees(desk: Desk):
    settled(desk)
    settled(desk, "b", "other\n")
    (desk.folder / "a.md").unlink()
    report = desk.memories.files.absorb()
    assert report.waiting == ("a.md",)
    assert desk.living() == ["a.md", "b.md"]
    desk.ahead += 0.9
    assert desk.memories.files.absorb().waiting == ("a.md",)
    assert desk.living() == ["a.md", "b.md"]
    desk.ahead += 0.2
    assert rules(desk.memories.files.absorb()) == [("a.md", "retired", 29)]
    assert desk.living() == ["b.md"]
    assert quiet(desk)
    desk.memories.restore("a")
    assert (desk.folder / "a.md").exists()


def test_rule_29_an_explicit_sync_waits_for_the_second_scan(desk: Desk):
    settled(desk)
    settled(desk, "b", "other\n")
    (desk.folder / "a.md").unlink()
    before = desk.ahead
    assert rules(desk.sync(0)) == [("a.md", "retired", 29)]
    assert 1 <= desk.ahead - before < 3


def test_rule_29_a_file_back_before_the_second_scan_was_never_gone(desk: Desk):
    settled(desk)
    text = desk.read("a.md")
    (desk.folder / "a.md").unlink()
    desk.during_pause = lambda: desk.put("a.md", text.replace("two", "two, saved"))
    assert rules(desk.sync()) == [("a.md", "revised", 22)]
    assert desk.number("a") == 2


@pytest.mark.parametrize("nested", [False, True])
def test_rule_29_a_file_that_was_back_meanwhile_is_waited_for_anew(desk: Desk, nested: bool):
    name = "sub/a" if nested else "a"
    settled(desk, name)
    settled(desk, "b", "other\n")
    away = desk.base / "away"
    place = desk.folder / "sub" if nested else desk.folder / "a.md"
    os.rename(place, away)
    assert desk.memories.files.absorb().waiting == (f"{name}.md",)
    os.rename(away, place)
    desk.memories.files.absorb()
    os.rename(place, away)
    desk.ahead += 5
    assert desk.memories.files.absorb().waiting == (f"{name}.md",)
    assert f"{name}.md" in desk.living()


def test_rule_29_a_clock_that_went_back_starts_the_wait_anew(desk: Desk):
    settled(desk)
    settled(desk, "b", "other\n")
    (desk.folder / "a.md").unlink()
    desk.memories.files.absorb()
    desk.ahead -= 3_600
    assert desk.memories.files.absorb().waiting == ("a.md",)
    assert desk.living() == ["a.md", "b.md"]


def test_rule_30_a_deleted_file_of_a_memory_that_changed_is_put_back(desk: Desk, silent: Silent):
    settled(desk)
    settled(desk, "b", "other\n")
    silent.write("a", BODY + "six\n")
    (desk.folder / "a.md").unlink()
    report = desk.sync()
    assert noted(report, "a.md").rule == 30
    assert desk.read("a.md") == desk.text("a")
    assert quiet(desk)


def test_rule_30_a_write_right_after_a_deletion_wins(desk: Desk):
    settled(desk)
    settled(desk, "b", "other\n")
    (desk.folder / "a.md").unlink()
    saved = desk.write("a", BODY + "six\n")
    assert saved.files.pending == ()
    assert desk.read("a.md") == desk.text("a")
    assert quiet(desk)
    assert desk.living() == ["a.md", "b.md"]


def test_rule_31_a_deleted_file_of_a_retired_memory_is_forgotten(desk: Desk, silent: Silent):
    settled(desk)
    settled(desk, "b", "other\n")
    silent.retire("a")
    (desk.folder / "a.md").unlink()
    report = desk.sync()
    assert report.waiting == () and report.pending == ()
    assert desk.shown("a.md") is None
    assert quiet(desk)


def test_a_file_below_a_directory_that_became_a_link_is_not_deleted(desk: Desk, tmp_path: Path):
    settled(desk, "sub/a")
    settled(desk, "b", "other\n")
    os.rename(desk.folder / "sub", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", desk.folder / "sub")
    for _ in range(2):
        report = desk.sync()
        assert any("sub" in notice for notice in report.notices)
    assert desk.living() == ["b.md", "sub/a.md"]
