"""The rules of core/undo.py by number. (tests/store/test_undo.py has them on a real store.)"""

from __future__ import annotations

from dataclasses import replace

import pytest

from memstore.core.changes import Restore, Retire, SetIndexLine, SetListing
from memstore.core.model import SHELF, Memory, State, Version
from memstore.core.undo import LineStep, Step, inverse, inverse_lines
from memstore.errors import Conflict

ONE = State(SHELF, "a.md", b"1\n2\n3\n")
TWO = replace(ONE, content=b"1\n2\nthree\n")


def step(made: State, before: State | None, now: State | None = None, *, memory: str = "m", later: int = 0) -> Step:
    number = 1 if before is None else 2
    version = Version(memory, number, "made", None, "revise", made, "a", "", None, "agent", "op", 1, 0)
    head = now if now is not None else made
    return Step(
        version, before, Memory(memory, number + later, "head", head, "a", "", None, "agent", "listed", 0, 0, 7)
    )


def test_rule_1_what_nothing_has_touched_goes_back_byte_for_byte():
    for before in (ONE, replace(ONE, live=False), replace(ONE, path="b.md", pinned=True, superseded_by="x")):
        assert inverse([step(TWO, before)]) == (Restore("m", "head", before),)


def test_rule_1_what_was_made_is_retired():
    assert inverse([step(ONE, None)]) == (Retire("m", "head"),)


def test_rule_2_later_words_and_settings_are_kept():
    later = replace(TWO, content=b"one\n2\nthree\n", pinned=True)
    assert inverse([step(TWO, ONE, later, later=1)]) == (
        Restore("m", "head", replace(ONE, content=b"one\n2\n3\n", pinned=True)),
    )


def test_rule_2_each_setting_goes_back_only_if_it_is_as_it_was_made():
    made = State(SHELF, "b.md", b"x\n", False, True, "y")
    before = State(SHELF, "a.md", b"x\n", True, False, None)
    for now, then in (
        (made, before),
        (replace(made, path="c.md"), replace(before, path="c.md")),
        (replace(made, superseded_by="z"), replace(before, superseded_by="z")),
        (replace(made, content=b"x\ny\n"), replace(before, content=b"x\ny\n")),
    ):
        assert inverse([step(made, before, now, later=1)]) == (Restore("m", "head", then),)


def test_rule_2_what_is_back_already_needs_no_step():
    assert inverse([step(TWO, ONE, ONE, later=1)]) == ()


def test_rule_2_the_same_lines_refuse_and_the_later_operation_is_named():
    with pytest.raises(Conflict, match=r"a\.md cannot be taken back: the same lines.*operation #7") as refused:
        inverse([step(TWO, ONE, replace(TWO, content=b"1\n2\ndrei\n"), later=1), step(ONE, None, memory="n")])
    assert "memstore log a.md" in refused.value.hint


def test_rule_3_what_was_made_and_changed_since_is_not_retired():
    with pytest.raises(Conflict, match="made by this operation and changed since"):
        inverse([step(ONE, None, TWO, later=1)])
    assert inverse([step(ONE, None, replace(ONE, live=False), later=1)]) == ()


def test_steps_go_back_in_reverse_order():
    steps = [step(TWO, ONE, memory=name) for name in ("a", "b", "c")]
    assert [change.memory for change in inverse(steps)] == ["c", "b", "a"]


def line(
    version: int, text: str = "t", *, live: bool = True, memory: str | None = None, kind: str = "free"
) -> SetIndexLine:
    return SetIndexLine("l", version, kind, text, memory, "1", "hand", live)


def is_auto(row: SetIndexLine) -> bool:
    return row.kind == "auto"


def test_rule_4_a_line_goes_back_if_nothing_has_touched_it_since():
    back = inverse_lines([LineStep("l", 2, line(1, "old"), line(2, "new"))], is_auto)
    assert back == (line(2, "old"),)
    assert inverse_lines([LineStep("l", 2, line(1, "old"), line(3, "newer"))], is_auto) == ()


def test_rule_4_a_new_line_goes_and_a_memory_that_stays_is_due_again():
    new = LineStep("l", 1, None, line(1, memory="m", kind="auto"))
    gone = line(1, memory="m", kind="auto", live=False)
    assert inverse_lines([new], is_auto) == (gone, SetListing("m", "due"))
    by_hand = LineStep("l", 1, None, line(1, memory="m", kind="pointer"))
    assert inverse_lines([by_hand], is_auto) == (line(1, memory="m", kind="pointer", live=False),)
