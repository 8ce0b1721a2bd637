"""One test for each rule of `core/reconcile.py`, named by its number, and one law over all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.decisions import (
    SECOND_SCAN,
    Accept,
    Conflict,
    Create,
    Decision,
    File,
    Forget,
    LookAgain,
    MoveAside,
    Nothing,
    Project,
    Report,
    Retire,
    Revise,
    Revive,
    SetAside,
    Shown,
    Stored,
    Trouble,
    WaitSecondScan,
)
from memstore.core.frontmatter import alike, calm
from memstore.core.reconcile import looks_broken, reconcile_name

NOW = 1_800_000_000_000_000

B = b"""---
name: Build Notes
description: how it is built
type: project
---

one
two
three
"""

STAMPED_B = b"""---
name: build-notes
description: how it is built
metadata:
  node_type: memory
  type: project
  modified: 2026-03-01T10:00:00.000Z
---

one
two
three
"""

OTHER = B.replace(b"one\ntwo\nthree\n", b"something else\nentirely\n")


def edit(text: bytes, old: bytes, new: bytes) -> bytes:
    assert old in text
    return text.replace(old, new)


EDITED = edit(B, b"two", b"TWO")
MOVED_ON = edit(B, b"how it", b"why it")


def file(content: bytes | None, trouble: Trouble | None = None, settled: bool = True) -> File:
    return File("build.md", content, trouble, settled)


def having(*versions: bytes) -> Callable[[bytes], bool]:
    known = {calm(version) for version in versions}
    return known.__contains__


def live(head: bytes, version: int = 1, earlier: tuple[bytes, ...] = ()) -> Stored:
    return Stored("m1", "live", head, version, having(*earlier))


def retired(head: bytes, version: int = 2, earlier: tuple[bytes, ...] = ()) -> Stored:
    return Stored("m1", "retired", head, version, having(*earlier))


def decide(content: bytes | None, shown: Shown | None, stored: Stored | None) -> Decision:
    return reconcile_name(file(content), shown, stored, now=NOW)


# --- gates


def test_rule_01_an_irregular_file_is_reported_and_nothing_is_decided() -> None:
    decision = reconcile_name(file(None, "irregular"), Shown(B, 1), live(B), now=NOW)
    assert isinstance(decision, Report)
    assert decision.rule == 1


def test_rule_02_an_unsettled_file_is_looked_at_again() -> None:
    assert reconcile_name(file(None, "unsettled"), Shown(B, 1), live(B), now=NOW) == LookAgain(rule=2)


BROKEN = [
    pytest.param(b"", "is empty", id="empty"),
    pytest.param(b"\n \n", "is empty", id="blank"),
    pytest.param(bytes(len(B)), "is filled with NUL bytes", id="zeros"),
    pytest.param(B[:40] + bytes(len(B) - 40), "is filled with NUL bytes", id="a tail of zeros"),
    pytest.param(B[:-4], "is cut off", id="cut off in mid-line"),
    pytest.param(B[:30], "is cut off", id="cut off in the header"),
    pytest.param(B[: B.index(b"type:")], "is cut off", id="cut off between two lines of the header"),
]


@pytest.mark.parametrize(("content", "reason"), BROKEN)
def test_rule_02_a_broken_file_is_looked_at_again_and_set_aside_once_it_settled(content: bytes, reason: str) -> None:
    fresh = reconcile_name(file(content, settled=False), Shown(B, 1), live(B), now=NOW)
    assert fresh == LookAgain(rule=2)
    assert decide(content, Shown(B, 1), live(B)) == SetAside(content, reason, project=True, rule=2)
    assert decide(content, None, live(B)) == SetAside(content, reason, project=True, rule=2)
    assert decide(content, Shown(B, 1), retired(B)) == SetAside(content, reason, project=False, rule=2)


def test_rule_02_an_empty_file_that_nobody_knows_is_left_alone() -> None:
    decision = decide(b"", None, None)
    assert isinstance(decision, Report)
    assert decision.rule == 2


def test_rule_02_whole_lines_deleted_at_the_end_are_an_edit() -> None:
    for shorter in (edit(B, b"three\n", b""), edit(B, b"two\nthree\n", b""), B[: -len(b"\nthree\n")]):
        assert looks_broken(shorter, B) is None
    unterminated = B + b"four and more"
    assert looks_broken(B + b"four", unterminated) is None


def test_rule_02_what_was_shown_and_what_the_store_holds_is_never_broken() -> None:
    assert decide(b"", Shown(b"", 1), live(b"")) == Nothing(rule=20)
    assert looks_broken(b"a\0" * 9 + b"b", None) is None
    assert looks_broken(EDITED + bytes(1), B + bytes(1)) is None
    assert decide(b"", None, live(b"")) == Accept(b"", rule=15)


# --- B absent


def test_rule_12_no_memory_and_no_file_is_nothing() -> None:
    assert decide(None, None, None) == Nothing(rule=12)
    assert decide(None, None, retired(B)) == Nothing(rule=12)


def test_rule_13_a_file_without_a_memory_is_created() -> None:
    assert decide(B, None, None) == Create(B, parent=None, rule=13)


def test_rule_14_a_live_memory_without_a_file_is_projected() -> None:
    assert decide(None, None, live(B)) == Project(None, rule=14)


def test_rule_15_a_file_alike_the_head_is_accepted() -> None:
    assert decide(STAMPED_B, None, live(B)) == Accept(STAMPED_B, rule=15)


def test_rule_16_a_copy_of_an_earlier_version_is_set_aside() -> None:
    decision = decide(STAMPED_B, None, live(EDITED, 2, earlier=(B,)))
    assert isinstance(decision, SetAside)
    assert (decision.content, decision.project, decision.rule) == (STAMPED_B, True, 16)


def test_rule_17_another_text_is_a_conflict_without_a_base() -> None:
    assert decide(OTHER, None, live(B)) == Conflict(OTHER, None, (), rule=17)


def test_rule_18_a_copy_of_any_version_of_a_retired_memory_is_set_aside() -> None:
    for content in (B, STAMPED_B, EDITED):
        decision = decide(content, None, retired(B, earlier=(EDITED,)))
        assert isinstance(decision, SetAside)
        assert (decision.content, decision.project, decision.rule) == (content, False, 18)


def test_rule_19_a_new_text_under_a_retired_name_revives_it() -> None:
    assert decide(OTHER, None, retired(B)) == Revive(OTHER, rule=19)


# --- B and F present


def test_rule_20_a_file_as_it_was_shown_is_nothing() -> None:
    assert decide(B, Shown(B, 1), live(B)) == Nothing(rule=20)


def test_rule_20_a_text_that_became_known_since_is_accepted() -> None:
    assert decide(EDITED, Shown(B, 1, since=(EDITED,)), live(EDITED, 2)) == Accept(EDITED, rule=20)
    merged = edit(EDITED, b"how it", b"why it")
    assert decide(EDITED, Shown(B, 1, since=(EDITED,)), live(merged, 3)) == Project(EDITED, rule=33)


def test_rule_21_stamps_alone_are_accepted_without_a_version() -> None:
    assert decide(STAMPED_B, Shown(B, 1), live(B)) == Accept(STAMPED_B, rule=21)
    crlf = b"\xef\xbb\xbf" + B.replace(b"\n", b"\r\n")
    assert decide(crlf, Shown(B, 1), live(B)) == Accept(crlf, rule=21)


def test_rule_22_file_changed_head_unchanged_is_taken_verbatim() -> None:
    assert decide(EDITED, Shown(B, 1), live(B)) == Revise(EDITED, rewrite=False, flagged=(), rule=22)
    stamped = edit(STAMPED_B, b"two", b"TWO")
    assert decide(stamped, Shown(B, 1), live(B)) == Revise(stamped, rewrite=False, flagged=(), rule=22)


def test_rule_22_a_head_that_came_back_to_what_was_shown_has_not_changed() -> None:
    assert decide(EDITED, Shown(B, 1), live(B, 3)) == Revise(EDITED, rewrite=False, flagged=(), rule=22)


def test_rule_22_bytes_that_are_no_utf8_are_taken_verbatim() -> None:
    latin = edit(B, b"two", b"caf\xe9")
    assert decide(latin, Shown(B, 1), live(B)) == Revise(latin, rewrite=False, flagged=(), rule=22)


def test_rule_23_both_changed_alike_is_accepted() -> None:
    stamped = edit(STAMPED_B, b"two", b"TWO")
    assert decide(stamped, Shown(B, 1), live(EDITED, 2)) == Accept(stamped, rule=23)


def test_rule_24_changes_of_both_are_merged_and_the_file_is_rewritten() -> None:
    merged = edit(EDITED, b"how it", b"why it")
    assert decide(EDITED, Shown(B, 1), live(MOVED_ON, 2)) == Revise(merged, rewrite=True, flagged=(), rule=24)


def test_rule_24_where_they_overlap_the_head_is_current_and_the_file_the_other_side() -> None:
    ours = edit(B, b"two", b"zwei")
    assert decide(EDITED, Shown(B, 1), live(ours, 2)) == Conflict(EDITED, B, ("body",), rule=24)


def test_rule_24_a_head_that_was_never_put_into_the_file_has_changed_whatever_its_number() -> None:
    merged = edit(EDITED, b"how it", b"why it")
    assert decide(EDITED, Shown(B, 2), live(MOVED_ON, 2)) == Revise(merged, rewrite=True, flagged=(), rule=24)


def test_rule_24_a_file_that_has_the_heads_change_too_is_left_as_it_is() -> None:
    both = edit(EDITED, b"how it", b"why it")
    assert decide(both, Shown(B, 1), live(MOVED_ON, 2)) == Revise(both, rewrite=False, flagged=(), rule=24)


PROJECTED = B + b"from a tool\n"


def old_buffer(flagged: frozenset[str] = frozenset()) -> Shown:
    return Shown(PROJECTED, 2, earlier=lambda: [B], flagged=flagged)


def test_rule_25_an_old_buffer_keeps_and_flags_what_was_projected_since() -> None:
    saved = edit(B, b"two\n", b"two\nfrom a person\n")
    kept = edit(PROJECTED, b"two\n", b"two\nfrom a person\n")
    assert decide(saved, old_buffer(), live(PROJECTED, 2)) == Revise(
        kept, rewrite=True, flagged=("from a tool",), rule=25
    )


def test_rule_25_an_undo_of_what_was_projected_is_kept_and_flagged_too() -> None:
    decision = decide(STAMPED_B, old_buffer(), live(PROJECTED, 2))
    assert isinstance(decision, Revise)
    assert alike(decision.content, PROJECTED)
    assert (decision.rewrite, decision.flagged, decision.rule) == (True, ("from a tool",), 25)


def test_rule_25_a_line_that_was_projected_beside_one_that_the_old_buffer_changed_stays_beside_it() -> None:
    shown = edit(B, b"three\n", b"three\nfrom a tool\n")
    saved = edit(B, b"three\n", b"three, from a person\n")
    kept = edit(B, b"three\n", b"three, from a person\nfrom a tool\n")
    decision = decide(saved, Shown(shown, 2, earlier=lambda: [B]), live(shown, 2))
    assert decision == Revise(kept, rewrite=True, flagged=("from a tool",), rule=25)


def test_rule_25_taking_flagged_lines_out_again_is_honoured() -> None:
    flagged = old_buffer(frozenset(["from a tool"]))
    assert decide(B, flagged, live(PROJECTED, 2)) == Revise(B, rewrite=False, flagged=(), rule=22)


def test_rule_25_holds_where_the_head_has_moved_on() -> None:
    saved = edit(B, b"two", b"TWO")
    head = edit(PROJECTED, b"how it", b"why it")
    decision = decide(saved, old_buffer(), live(head, 3))
    assert isinstance(decision, Revise)
    assert decision.content == edit(head, b"two", b"TWO")
    assert decision.flagged == ("from a tool",)  # nobody has had the other one in a file yet
    assert decision.rule == 25


def test_rule_25_a_line_that_no_file_had_yet_is_not_taken_out_by_who_takes_a_flagged_one_out() -> None:
    head = edit(PROJECTED, b"one\n", b"one\nfrom another tool\n")
    first = decide(B, old_buffer(), live(head, 3))
    assert isinstance(first, Revise) and first.flagged == ("from a tool",)
    again = decide(B, Shown(head, 3, earlier=lambda: [B], flagged=frozenset(first.flagged)), live(head, 3))
    assert isinstance(again, Revise) and b"from another tool" in again.content
    assert set(again.flagged) == {"from another tool", "from a tool"}


def test_rule_25_a_save_of_what_was_shown_is_no_old_buffer() -> None:
    saved = edit(PROJECTED, b"two", b"TWO")
    assert decide(saved, old_buffer(), live(PROJECTED, 2)) == Revise(saved, rewrite=False, flagged=(), rule=22)
    restored = edit(PROJECTED, b"three\n", b"three\nonce deleted\n")
    shown = Shown(PROJECTED, 2, earlier=lambda: [restored])
    assert decide(restored, shown, live(PROJECTED, 2)) == Revise(restored, False, (), rule=22)


def test_rule_26_a_changed_file_of_a_retired_memory_revives_it() -> None:
    assert decide(EDITED, Shown(B, 1), retired(B)) == Revive(EDITED, rule=26)


def test_rule_27_without_a_memory_the_file_is_created_with_what_was_shown_as_parent() -> None:
    for content in (B, EDITED):
        assert decide(content, Shown(B, 1), None) == Create(content, parent=B, rule=27)


# --- B present, F absent (rules 28 and 32: test_gates.py)


def test_rule_29_an_absence_waits_for_a_second_scan_and_then_retires() -> None:
    assert decide(None, Shown(B, 1), live(B)) == WaitSecondScan(NOW, rule=29)
    recent = NOW - SECOND_SCAN + 1
    assert decide(None, Shown(B, 1, recent), live(B)) == WaitSecondScan(recent, rule=29)
    assert decide(None, Shown(B, 1, NOW - SECOND_SCAN), live(B)) == Retire(rule=29)


def test_rule_29_a_clock_that_went_back_only_waits_longer() -> None:
    assert decide(None, Shown(B, 1, NOW + 5), live(B)) == WaitSecondScan(NOW, rule=29)


def test_rule_30_an_absent_file_whose_head_changed_is_projected_again() -> None:
    assert decide(None, Shown(B, 1, 0), live(EDITED, 2)) == Project(None, rule=30)


def test_rule_31_what_is_gone_on_both_sides_is_forgotten() -> None:
    assert decide(None, Shown(B, 1), retired(B)) == Forget(rule=31)
    assert decide(None, Shown(B, 1), None) == Forget(rule=31)


# --- projecting


def test_rule_33_a_head_that_changed_is_exchanged_for_the_file_as_it_was_seen() -> None:
    assert decide(B, Shown(B, 1), live(EDITED, 2)) == Project(B, rule=33)
    assert decide(STAMPED_B, Shown(B, 1), live(EDITED, 2)) == Project(STAMPED_B, rule=33)


def test_rule_34_the_file_of_a_retired_memory_is_moved_aside() -> None:
    assert decide(B, Shown(B, 1), retired(B)) == MoveAside(B, rule=34)
    assert decide(STAMPED_B, Shown(B, 1), retired(B)) == MoveAside(STAMPED_B, rule=34)


def test_rule_36_a_file_alike_the_head_is_not_written() -> None:
    assert decide(STAMPED_B, Shown(STAMPED_B, 1), live(B)) == Nothing(rule=20)
    assert decide(B, Shown(STAMPED_B, 1), live(B, 2)) == Accept(B, rule=21)


# --- the law

texts = st.lists(st.sampled_from("abcdef"), max_size=6).map(lambda lines: "".join(f"{x}\n" for x in lines))
contents = texts.map(lambda text: text.encode())


@st.composite
def situations(draw: st.DrawFn) -> tuple[File, Shown | None, Stored | None, frozenset[bytes]]:
    """A file, what was shown, what is stored; and every text that the store has anyway."""
    earlier = draw(st.lists(contents, max_size=2))
    head, base = draw(contents), draw(contents)
    version = draw(st.integers(1, 3))
    flagged = frozenset(draw(st.sets(st.sampled_from("abcdef"), max_size=2)))
    shown = Shown(base, draw(st.integers(1, 3)), None, (), lambda: earlier, flagged)
    state = draw(st.sampled_from(["live", "retired"]))
    stored = Stored("m1", "retired" if state == "retired" else "live", head, version, having(*earlier))
    has_shown, has_stored = draw(st.booleans()), draw(st.booleans())
    known = {*earlier, *([base] if has_shown else []), *([head] if has_stored else [])}
    found = File("x.md", draw(st.none() | contents))
    return found, shown if has_shown else None, stored if has_stored else None, frozenset(known)


def words(*contents: bytes | None) -> set[bytes]:
    return {line for content in contents if content for line in content.split(b"\n") if line}


@settings(max_examples=max(200, settings().max_examples), deadline=None)
@given(situations())
def test_law_no_line_that_a_person_typed_is_dropped(
    situation: tuple[File, Shown | None, Stored | None, frozenset[bytes]],
) -> None:
    found, shown, stored, known = situation
    decision = reconcile_name(found, shown, stored, now=NOW)
    if found.content is None:
        assert isinstance(decision, (Nothing, Project, WaitSecondScan, Retire, Forget))
        return
    typed = words(found.content) - words(*known)
    if isinstance(decision, (Project, MoveAside)):
        assert decision.over == found.content
        assert any(alike(found.content, text) for text in known)
    elif isinstance(decision, (Accept, Create, Revise, Revive, SetAside)):
        assert typed <= words(decision.content)
    elif isinstance(decision, Conflict):
        assert decision.other == found.content
    else:
        assert isinstance(decision, (Nothing, LookAgain, Report))
    if isinstance(decision, Revise) and not decision.rewrite:
        assert decision.content == found.content or alike(decision.content, found.content)
