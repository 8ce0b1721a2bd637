"""The gates of the extraction: which is shut, in which order, and what becomes of the cursor."""

from __future__ import annotations

from typing import Any

import pytest

from memstore.jobs.gates import Shut, Turn, check

SAID = ("please use bun here",)


def gate(
    said: tuple[str, ...] = SAID, *, paused: int = 0, saved: tuple[str, ...] = (), let_pass: int = 0, **settings: Any
) -> Shut | None:
    chosen = {"enabled": True, "look_after_save": False, "every": 1} | settings
    return check(Turn(said, paused, saved, let_pass), **chosen)


def test_a_turn_with_three_words_of_a_person_passes():
    assert gate() is None


@pytest.mark.parametrize("text", ["以后用bun", "用bun代替npm", "네 그렇게 해", "no, not like that"])
def test_words_are_parted_as_the_search_parts_them(text: str):
    assert gate((text,)) is None


@pytest.mark.parametrize("text", ["", "ok", "go on!", "好的", "👍👍👍", "/clear", "src/auth/session.py"])
def test_what_says_nothing_is_passed_over_and_the_cursor_goes_on(text: str):
    shut = gate((text, "yes"))
    assert shut is not None and (shut.gate, shut.advance) == ("substance", True)


def test_it_takes_one_message_of_substance_among_many():
    assert gate(("ok", "yes", "never push to main", "ok")) is None


def test_three_messages_of_one_word_are_no_message_of_three():
    shut = gate(("one", "two", "three"))
    assert shut is not None and shut.gate == "substance"


def test_a_turn_in_which_the_agent_saved_is_passed_over_and_the_reason_names_what_it_saved():
    shut = gate(saved=("a.md", "b.md", "a.md", "c.md", "d.md"))
    assert shut == Shut("saved", "the agent saved a.md, b.md, c.md and 1 more itself (extract.after_own_save)", True)


def test_with_look_a_turn_in_which_the_agent_saved_is_looked_at_all_the_same():
    assert gate(saved=("a.md",), look_after_save=True) is None


def test_a_turn_that_was_said_while_saving_was_paused_is_never_looked_at_later():
    shut = gate((), paused=2)
    assert shut is not None and (shut.gate, shut.advance) == ("off", True)
    assert gate(SAID, paused=2) is None


def test_every_third_turn_is_looked_at_and_the_others_wait_for_it():
    shut = [gate(every=3, let_pass=held) for held in (0, 1, 2)]
    assert [one and (one.gate, one.advance, one.reason) for one in shut] == [
        ("every", False, "turn 1 of 3 (extract.every)"),
        ("every", False, "turn 2 of 3 (extract.every)"),
        None,
    ]


def test_the_first_gate_that_is_shut_decides():
    order = [
        gate(("ok",), saved=("a.md",), every=9, enabled=False),
        gate(("ok",), saved=("a.md",), every=9),
        gate(("ok",), every=9),
        gate(every=9),
    ]
    assert [one and one.gate for one in order] == ["off", "saved", "substance", "every"]
