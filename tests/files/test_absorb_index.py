"""The rules of `core/index.py` through a real MEMORY.md."""

from __future__ import annotations

import os

import pytest

from memstore.core.index import measure
from memstore.core.index_render import more_line
from tests.files.desk import Desk, Silent, noted, rules, topic

DASH = "\u2014"


def taken(desk: Desk, index: str, *names: str) -> None:
    """A folder with these memories and this index, taken over."""
    for name in names:
        desk.put(f"{name}.md", topic(name, f"about {name}", body=f"text of {name}\nmore of {name}\n"))
    desk.put("MEMORY.md", index)
    desk.sync()
    assert desk.sync().quiet


def edit(desk: Desk, index: str) -> None:
    """A person's edit that is taken in and left as it is."""
    desk.put("MEMORY.md", index)
    desk.sync()
    assert desk.read("MEMORY.md") == index
    assert desk.sync().quiet


def test_taking_an_index_over_changes_no_byte(desk: Desk):
    index = f"\ufeff# Mine\r\n\r\n- [A](a.md) {DASH} hook\r\n* loose note\r\n\r\n| a | b |\r\n|---|---|\r\n\r\nno end"
    taken(desk, index, "a", "orphan")
    assert desk.read("MEMORY.md") == index
    assert "\n".join(desk.index()) == index
    desk.write("b", "text\n")
    assert desk.read("MEMORY.md") == f"{index}\n- [orphan](orphan.md) {DASH} about orphan\r\n- [b](b.md)"


def test_index_rule_01_the_base_is_what_was_shown(desk: Desk):
    taken(desk, "- [A](a.md)\n- [B](b.md)\n", "a", "b")
    Silent(desk).write("c", "text\n")
    edited = "- [B](b.md)\n"
    desk.put("MEMORY.md", edited)
    desk.sync()
    assert desk.read("MEMORY.md") == "- [B](b.md)\n- [c](c.md)\n"
    assert desk.unlisted() == ["a.md"]
    assert desk.sync().quiet


def test_index_rule_02_what_was_left_out_for_want_of_room_cannot_be_removed(desk: Desk):
    taken(desk, "# Mine\n", "a")
    for number in range(170):
        Silent(desk).write(f"m{number:03}", "text\n")
    desk.sync()
    listed = [line for line in desk.read("MEMORY.md").split("\n") if "](m" in line]
    assert len(listed) < 160
    before = len(desk.index())
    without = [line for line in desk.read("MEMORY.md").split("\n") if line != listed[0]]
    desk.put("MEMORY.md", "\n".join(without))
    desk.sync()
    assert len(desk.index()) == before - 1
    assert len(desk.unlisted()) == 1
    assert desk.sync().quiet


@pytest.mark.parametrize("text", [None, "", "\n\n"])
def test_index_rule_03_an_absent_or_blank_index_is_restored(desk: Desk, text: str | None):
    index = f"# Mine\n\n- [A](a.md) {DASH} hook\n- a note\n"
    taken(desk, index, "a")
    if text is None:
        (desk.folder / "MEMORY.md").unlink()
    else:
        desk.put("MEMORY.md", text)
    assert noted(desk.sync(), "MEMORY.md").rule == 3
    assert desk.read("MEMORY.md") == index
    assert desk.sync().quiet


def test_index_rule_03_the_clients_backfill_is_restored_over_and_kept_aside(desk: Desk):
    index = f"# Mine\n\n- [A](a.md) {DASH} hook\n- a note\n"
    taken(desk, index, "a", "b")
    times = {"a": 1_700_000_000, "b": 1_600_000_000}
    for name, at in times.items():
        os.utime(desk.folder / f"{name}.md", (at, at))
    desk.sync()
    backfill = f"- [a](a.md) {DASH} about a\n- [b](b.md) {DASH} about b\n"
    desk.put("MEMORY.md", backfill)
    assert noted(desk.sync(), "MEMORY.md").rule == 3
    assert desk.read("MEMORY.md") == index
    assert ("MEMORY.md", backfill.encode()) in desk.set_aside()
    assert desk.sync().quiet


def test_index_rule_03_a_backfill_is_restored_over_when_the_first_try_failed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    from memstore.files import exchange

    index = f"# Mine\n\n- [A](a.md) {DASH} hook\n- a note\n"
    taken(desk, index, "a")
    backfill = f"- [a](a.md) {DASH} about a\n"
    desk.put("MEMORY.md", backfill)
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "exchange", _refused)
        assert [unshown.path for unshown in desk.sync().pending] == ["MEMORY.md"]
        desk.sync()
    desk.sync()
    assert desk.read("MEMORY.md") == index
    assert desk.set_aside() == [("MEMORY.md", backfill.encode())]


def _refused(*_: object) -> str:
    raise OSError(5, "Input/output error")


def test_index_rule_04_our_own_lines_and_the_clients_warning_are_not_absorbed(desk: Desk):
    index = f"# Mine\n- [A](a.md) {DASH} hook\n"
    taken(desk, index, "a")
    warning = "\n> WARNING: MEMORY.md is 233 lines (limit: 200). Only part of it was loaded.\n"
    desk.put("MEMORY.md", index + more_line(7, 0) + "\n" + warning)
    desk.sync()
    assert desk.index() == ["# Mine", f"- [A](a.md) {DASH} hook", ""]
    desk.write("b", "text\n")
    assert desk.read("MEMORY.md") == index + "- [b](b.md)\n"


def test_index_rule_05_a_pointer_is_its_target_however_it_is_written(desk: Desk):
    taken(desk, f"# Mine\n- [A](a.md) {DASH} hook\n", "a")
    edit(desk, f"# Mine\n* [Other title](./a.md) {DASH} hook\n")
    assert len(desk.index()) == 3
    assert desk.unlisted() == []


def test_index_rule_06_an_unchanged_text_with_a_new_stamp_changes_nothing(desk: Desk):
    index = f"- [A](a.md) {DASH} hook\n- [A](a.md) {DASH} hook\n\n\n- note\n- note\n"
    taken(desk, index, "a")
    os.utime(desk.folder / "MEMORY.md")
    report = desk.sync()
    assert report.quiet and report.seq is None


def test_index_rule_07_a_pointer_taken_out_is_unlisted_by_choice(desk: Desk):
    taken(desk, "- [A](a.md)\n- [B](b.md)\n", "a", "b")
    edit(desk, "- [B](b.md)\n")
    assert desk.unlisted() == ["a.md"]
    assert desk.living() == ["a.md", "b.md"]
    desk.write("b", "changed\n")
    assert desk.read("MEMORY.md") == "- [B](b.md)\n"


def test_index_rule_08_a_pointer_whose_row_changed_meanwhile_stays(desk: Desk):
    taken(desk, f"- [A](a.md) {DASH} hook\n- [B](b.md)\n", "a", "b")
    there = desk.second()
    there.sync()
    there.edit("MEMORY.md", "hook", "another hook")
    there.sync()
    desk.put("MEMORY.md", "- [B](b.md)\n")
    report = desk.sync()
    assert any("1 line stays" in notice for notice in report.notices)
    assert desk.read("MEMORY.md") == f"- [A](a.md) {DASH} another hook\n- [B](b.md)\n"
    assert desk.sync().quiet


def test_index_rule_09_a_pointer_gone_with_its_topic_goes_when_the_memory_does(desk: Desk):
    taken(desk, "- [A](a.md)\n- [B](b.md)\n", "a", "b")
    (desk.folder / "a.md").unlink()
    desk.put("MEMORY.md", "- [B](b.md)\n")
    report = desk.memories.files.absorb()
    assert report.waiting == ("a.md",)
    assert len(desk.index()) == 3
    desk.sync()
    assert desk.living() == ["b.md"]
    assert desk.index() == ["- [B](b.md)", ""]
    desk.memories.restore("a")
    assert desk.read("MEMORY.md") == "- [A](a.md)\n- [B](b.md)\n"


def test_index_rule_09_a_pointer_follows_a_file_that_was_moved(desk: Desk):
    taken(desk, f"- [A](a.md) {DASH} hook\n- [B](b.md)\n", "a", "b")
    os.rename(desk.folder / "a.md", desk.folder / "new.md")
    desk.put("MEMORY.md", f"- [A](new.md) {DASH} hook\n- [B](b.md)\n")
    desk.sync()
    assert desk.read("MEMORY.md") == f"- [A](new.md) {DASH} hook\n- [B](b.md)\n"
    assert len(desk.index()) == 3
    assert desk.unlisted() == []
    assert desk.sync().quiet


def test_index_rule_10_both_sides_of_a_line_are_merged_by_field(desk: Desk):
    taken(desk, f"# Mine\n- [A](a.md) {DASH} hook\n", "a")
    there = desk.second()
    there.sync()
    there.edit("MEMORY.md", "hook", "their hook")
    there.sync()
    desk.put("MEMORY.md", f"# Mine\n- [My title](a.md) {DASH} hook\n")
    desk.sync()
    assert desk.read("MEMORY.md") == f"# Mine\n- [My title](a.md) {DASH} their hook\n"
    assert desk.sync().quiet


def test_index_rule_10_a_hook_that_both_sides_changed_is_a_conflict(desk: Desk):
    taken(desk, f"# Mine\n- [A](a.md) {DASH} hook\n", "a")
    there = desk.second()
    there.sync()
    there.edit("MEMORY.md", "hook", "their hook")
    there.sync()
    desk.put("MEMORY.md", f"# Mine\n- [A](a.md) {DASH} my hook\n")
    report = desk.sync()
    assert noted(report, "MEMORY.md").what == "conflict"
    (conflict,) = desk.memories.store.conflicts()
    assert conflict.theirs.decode() == f"- [A](a.md) {DASH} my hook"
    assert desk.read("MEMORY.md") == f"# Mine\n- [A](a.md) {DASH} their hook\n"
    assert desk.sync().quiet
    desk.memories.resolve(conflict.id, "theirs")
    assert desk.read("MEMORY.md") == f"# Mine\n- [A](a.md) {DASH} my hook\n"


def test_index_rule_11_a_derived_hook_follows_its_memory_also_in_a_line_that_was_moved(desk: Desk):
    desk.write("a", "text\n", description="first words")
    desk.write("b", "text\n", description="of b")
    assert desk.read("MEMORY.md") == f"- [a](a.md) {DASH} first words\n- [b](b.md) {DASH} of b\n"
    edit(desk, f"- [b](b.md) {DASH} of b\n- [a](a.md) {DASH} first words\n")
    desk.memories.set_field("a", "description", "other words")
    assert desk.read("MEMORY.md") == f"- [b](b.md) {DASH} of b\n- [a](a.md) {DASH} other words\n"


def test_index_rule_12_a_new_pointer_takes_over_our_line(desk: Desk):
    taken(desk, "# Mine\n\n# Other\n", "a")
    desk.write("b", "text\n")
    assert desk.read("MEMORY.md").endswith(f"- [a](a.md) {DASH} about a\n- [b](b.md)\n")
    edit(desk, f"# Mine\n- [A](a.md) {DASH} my words\n\n# Other\n- [b](b.md)\n")
    assert len(desk.index()) == 6


def test_index_rule_12_a_pointer_to_an_unlisted_memory_lists_it_again(desk: Desk):
    taken(desk, "- [A](a.md)\n- [B](b.md)\n", "a", "b")
    edit(desk, "- [B](b.md)\n")
    edit(desk, f"- [B](b.md)\n- [A](a.md) {DASH} back\n")
    assert desk.unlisted() == []
    head = desk.head("a")
    assert head is not None and not head.state.pinned


def test_index_rule_13_a_pointer_to_no_memory_waits_until_the_topic_appears(desk: Desk):
    taken(desk, f"- [Later](later.md) {DASH} my hook\n- note\n", "a")
    desk.put("later.md", topic("later"))
    desk.sync()
    desk.write("a", "changed\n")
    assert desk.read("MEMORY.md") == f"- [Later](later.md) {DASH} my hook\n- note\n- [a](a.md) {DASH} about a\n"


def test_index_rule_13_topics_and_the_index_that_names_them_come_together(desk: Desk):
    taken(desk, "# Mine\n")
    desk.put("a.md", topic("a"))
    desk.put("sub/b.md", topic("b"))
    edit(desk, f"# Mine\n- [A](a.md) {DASH} hook\n- [B](sub/b.md)\n")
    kinds = {line.text: line.kind for line in desk.memories.store.index()}
    assert kinds["- [B](sub/b.md)"] == "pointer"
    desk.ahead += 120
    desk.sync()
    assert desk.read("MEMORY.md") == f"# Mine\n- [A](a.md) {DASH} hook\n- [B](sub/b.md)\n"


def test_index_rule_14_duplicates_by_hand_stay(desk: Desk):
    index = f"- [A](a.md) {DASH} one\n- [A](a.md) {DASH} two\n- note\n- note\n"
    taken(desk, index, "a")
    desk.write("a", "changed\n")
    assert desk.read("MEMORY.md") == index
    edit(desk, index.replace("- note\n- note\n", "- note\n"))


def test_index_rule_15_a_new_line_goes_behind_its_nearest_surviving_predecessor(desk: Desk):
    taken(desk, "one\ntwo\nthree\n")
    there = desk.second()
    there.sync()
    there.put("MEMORY.md", "one\nthree\n")
    there.sync()
    desk.put("MEMORY.md", "one\ntwo\nnew\nthree\n")
    desk.sync()
    assert desk.read("MEMORY.md") == "one\nnew\nthree\n"
    assert desk.sync().quiet


def test_index_rule_16_a_free_line_taken_out_is_gone_unless_it_changed(desk: Desk):
    taken(desk, "# Mine\n- note\n- other\n")
    edit(desk, "# Mine\n- other\n")
    assert desk.index() == ["# Mine", "- other", ""]


def test_index_rule_17_the_edits_order_counts_where_it_departs(desk: Desk):
    taken(desk, "one\ntwo\nthree\n- [A](a.md)\n", "a")
    edit(desk, "three\none\ntwo\n- [A](a.md)\n")
    assert desk.index() == ["three", "one", "two", "- [A](a.md)", ""]


def test_index_rule_18_our_line_waits_for_whoever_made_the_topic(desk: Desk):
    taken(desk, "# Mine\n")
    desk.put("a.md", topic("a", "about a"))
    desk.sync()
    assert desk.read("MEMORY.md") == "# Mine\n"
    desk.sync(30)
    assert desk.read("MEMORY.md") == "# Mine\n"
    desk.sync(40)
    assert desk.read("MEMORY.md") == f"# Mine\n- [a](a.md) {DASH} about a\n"
    assert desk.sync().quiet


def test_index_rule_19_what_finds_no_room_is_counted_and_told(desk: Desk):
    taken(desk, "# Mine\n", "a")
    silent = Silent(desk)
    for number in range(210):
        silent.write(f"m{number:03}", "text\n")
    saved = desk.write("newest", "text\n", description="just written")
    lines, units = measure(desk.read("MEMORY.md"))
    assert lines <= 200 and units <= 25_000
    assert f"- [newest](newest.md) {DASH} just written" in desk.read("MEMORY.md")
    left = len(saved.files.omitted)
    assert more_line(left, 0) in desk.read("MEMORY.md")
    assert len(desk.living()) == left + sum("](" in line for line in desk.read("MEMORY.md").split("\n"))
    again = desk.write("newest", "text\n", description="again")
    assert again.files.omitted == saved.files.omitted
    assert desk.memories.pin("newest").files.omitted == saved.files.omitted


def test_index_rule_20_within_the_limits_derived_order_rewrites_nothing(desk: Desk):
    desk.write("a", "text\n")
    desk.write("b", "text\n")
    before = desk.stamps()["MEMORY.md"]
    desk.write("a", "changed\n")
    assert desk.stamps()["MEMORY.md"] == before
    assert desk.sync().quiet


def test_an_index_that_is_not_utf_8_is_left_alone_and_said(desk: Desk):
    taken(desk, "# Mine\n", "a")
    desk.put("MEMORY.md", b"# Mine\n- caf\xe9\n")
    for _ in range(2):
        report = desk.sync()
        assert any("line 2 is not UTF-8" in notice for notice in report.notices)
    before = desk.stamps()["MEMORY.md"]
    saved = desk.write("b", "text\n")
    assert [unshown.path for unshown in saved.files.pending] == ["MEMORY.md"]
    assert saved.files.projected == ("b.md",) and desk.stamps()["MEMORY.md"] == before
    assert (desk.folder / "MEMORY.md").read_bytes() == b"# Mine\n- caf\xe9\n"
    assert desk.read("b.md") == desk.text("b")


def test_an_index_that_is_not_utf_8_is_left_alone_at_a_first_meeting(desk: Desk):
    desk.put("a.md", topic("a"))
    desk.put("MEMORY.md", b"# caf\xe9\n")
    report = desk.sync()
    assert any("UTF-8" in notice for notice in report.notices)
    desk.write("b", "text\n")
    assert (desk.folder / "MEMORY.md").read_bytes() == b"# caf\xe9\n"


def test_an_index_that_is_a_link_is_left_alone_and_said(desk: Desk):
    target = desk.base / "dotfiles.md"
    target.write_text("# kept in git\n")
    desk.put("a.md", topic("a"))
    (desk.folder / "MEMORY.md").symlink_to(target)
    report = desk.sync()
    assert any("MEMORY.md" in notice and "link" in notice for notice in report.notices)
    saved = desk.write("b", "text\n")
    assert [unshown.path for unshown in saved.files.pending] == ["MEMORY.md"]
    assert (desk.folder / "MEMORY.md").is_symlink()
    assert target.read_text() == "# kept in git\n"


def test_an_index_whose_lines_are_all_gone_is_forgotten(desk: Desk):
    desk.write("a", "text\n")
    desk.memories.delete("a")
    (desk.folder / "MEMORY.md").unlink()
    desk.sync()
    assert desk.sync().quiet
    assert rules(desk.sync()) == []


def test_a_client_with_other_line_ends_changes_nothing_but_its_own_line(desk: Desk):
    taken(desk, f"# Mine\n- [A](a.md) {DASH} hook\n", "a")
    desk.put("MEMORY.md", f"# Mine\r\n- [A](a.md) {DASH} hook\r\n- note\r\n")
    desk.sync()
    assert len(desk.index()) == 4
    assert desk.sync().quiet
