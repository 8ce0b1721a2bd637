"""Rules that look at a whole folder: 1, 3, 28 and 32 of `core/reconcile.py`."""

from __future__ import annotations

from dataclasses import replace

from memstore.core.decisions import SECOND_SCAN, File, Shown, Stored, WaitSecondScan
from memstore.core.frontmatter import calm
from memstore.core.gates import FolderFacts, Go, PutAllBack, Stop, find_renames, gate_folder, went_back

NOW = 1_800_000_000_000_000

FULL = FolderFacts("present", "own", memory_files=20, bases=20, absent=0, went_back=0)


def memory(name: str, *lines: str) -> bytes:
    return "\n".join(["---", f"name: {name}", "type: project", "---", "", *lines, ""]).encode()


def stop_rule(facts: FolderFacts) -> int | None:
    decision = gate_folder(facts, now=NOW)
    return decision.rule if isinstance(decision, Stop) else None


def test_rule_01_another_stores_folder_is_left_alone() -> None:
    assert stop_rule(replace(FULL, claim="other")) == 1


def test_rule_01_memory_files_without_our_claim_though_we_have_bases_stop() -> None:
    assert stop_rule(replace(FULL, claim="none")) == 1


def test_rule_01_a_folder_that_is_nobodys_is_claimed() -> None:
    unclaimed = replace(FULL, claim="none", bases=0)
    assert gate_folder(unclaimed, now=NOW) == Go(claim=True)
    assert gate_folder(replace(unclaimed, state="missing", memory_files=0), now=NOW) == Go(claim=True)
    assert gate_folder(FULL, now=NOW) == Go(claim=False)


def test_rule_03_more_than_three_and_a_fifth_absent_or_gone_back_stop() -> None:
    assert stop_rule(replace(FULL, absent=5)) == 3
    assert stop_rule(replace(FULL, went_back=5)) == 3
    assert stop_rule(replace(FULL, absent=2, went_back=3)) == 3
    assert stop_rule(replace(FULL, bases=4, memory_files=0, absent=4)) == 3


def test_rule_03_three_files_or_a_fifth_are_single_deletions() -> None:
    assert gate_folder(replace(FULL, absent=4), now=NOW) == Go()
    assert gate_folder(replace(FULL, bases=3, memory_files=0, absent=3), now=NOW) == Go()


def test_rule_03_a_file_that_went_back_is_alike_an_earlier_version_only() -> None:
    old, shown, head = memory("a", "one"), memory("a", "two"), memory("a", "three")
    stored = Stored("m1", "live", head, 3, {calm(old), calm(shown)}.__contains__)
    base = Shown(shown, 2)
    assert went_back(File("a.md", old.removesuffix(b"\n")), base, stored)
    for content in (shown, shown + b"\n", head, memory("a", "four"), None):
        assert not went_back(File("a.md", content), base, stored)
    assert not went_back(File("a.md", old), base, None)


def test_rule_32_a_folder_swept_away_is_put_back_after_a_second_scan() -> None:
    for state in ("missing", "present"):
        gone = FolderFacts("missing" if state == "missing" else "present", "none", 0, 20, 20, 0)
        assert gate_folder(gone, now=NOW) == WaitSecondScan(NOW, rule=32)
        recent = NOW - SECOND_SCAN + 1
        assert gate_folder(replace(gone, missing_since=recent), now=NOW) == WaitSecondScan(recent, rule=32)
        assert gate_folder(replace(gone, missing_since=NOW - SECOND_SCAN), now=NOW) == PutAllBack(rule=32)
        assert gate_folder(replace(gone, missing_since=NOW + 1), now=NOW) == WaitSecondScan(NOW, rule=32)


def test_rule_32_an_unreadable_folder_decides_nothing() -> None:
    assert stop_rule(replace(FULL, state="unreadable", claim="none", memory_files=0, absent=20)) == 32


def test_rule_32_an_emptied_folder_that_kept_its_claim_is_rule_3s() -> None:
    assert stop_rule(replace(FULL, memory_files=0, absent=20)) == 3


# --- renames


def shown(content: bytes) -> Shown:
    return Shown(content, 1)


def new(**contents: bytes) -> dict[str, File]:
    return {name: File(name, content) for name, content in contents.items()}


LINES = ("one", "two", "three", "four")


def test_rule_28_h13_the_only_new_file_with_the_same_text_is_a_rename() -> None:
    text = memory("a", *LINES)
    assert find_renames({"old": shown(text)}, new(moved=text, other=memory("b", "x"))) == {"old": "moved"}
    stamped = text.replace(b"type: project", b"metadata:\n  type: project\n  modified: 2026-03-01")
    assert find_renames({"old": shown(text)}, new(moved=stamped)) == {"old": "moved"}


def test_rule_28_a_text_known_since_tells_as_well_as_b_does() -> None:
    text, since = memory("a", *LINES), memory("a", "x", "y", "z")
    had = {"old": replace(shown(text), since=(since,))}
    assert find_renames(had, new(moved=since)) == {"old": "moved"}
    assert find_renames(had, new(moved=memory("a", "x", "y", "more"))) == {"old": "moved"}
    assert find_renames(had, new(one=text, two=since)) == {}


def test_rule_28_a_name_field_that_changed_along_with_the_file_name_is_a_rename() -> None:
    assert find_renames({"old": shown(memory("a", *LINES))}, new(b=memory("b", *LINES))) == {"old": "b"}


def test_rule_28_two_new_files_with_the_same_text_are_no_rename() -> None:
    text = memory("a", *LINES)
    assert find_renames({"old": shown(text)}, new(one=text, two=text)) == {}
    assert find_renames({"old": shown(text), "older": shown(text)}, new(one=text)) == {}


def test_rule_28_the_same_name_and_most_of_the_lines_are_a_rename() -> None:
    before, after = memory("a", *LINES), memory("a", *LINES[:3], "FOUR")
    assert find_renames({"old": shown(before)}, new(moved=after)) == {"old": "moved"}


def test_rule_28_the_same_name_over_another_text_is_no_rename() -> None:
    assert find_renames({"old": shown(memory("a", *LINES))}, new(moved=memory("a", "x", "y", "z"))) == {}


def test_rule_28_a_name_that_is_empty_or_not_unique_is_no_evidence() -> None:
    for name in ("", '""'):
        before, after = memory(name, *LINES), memory(name, *LINES[:3], "FOUR")
        assert find_renames({"old": shown(before)}, new(moved=after)) == {}
    before, after = memory("a", *LINES), memory("a", *LINES[:3], "FOUR")
    assert find_renames({"old": shown(before)}, new(one=after, two=memory("a", *LINES[:3], "4"))) == {}


def test_rule_28_swapped_texts_are_paired_by_text_before_name() -> None:
    one, two = memory("a", *LINES), memory("b", "x", "y", "z")
    found = find_renames({"one": shown(one), "two": shown(two)}, new(three=two, four=one))
    assert found == {"one": "four", "two": "three"}


def test_rule_28_a_file_that_is_empty_or_in_trouble_is_no_renames_target() -> None:
    text = memory("a", *LINES)
    assert find_renames({"old": shown(text)}, {"moved": File("moved", text, "irregular")}) == {}
    assert find_renames({"old": shown(b"")}, new(moved=b"\n")) == {}
