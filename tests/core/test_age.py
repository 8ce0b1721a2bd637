"""A memory's age, in whole days."""

from __future__ import annotations

import pytest

from memstore.core.age import DAY, age_note, days_old

NOW = 1_800_000_000_000_000


@pytest.mark.parametrize(
    ("then", "days"),
    [(NOW, 0), (NOW - DAY + 1, 0), (NOW - DAY, 1), (NOW - 12 * DAY - 5, 12), (NOW + 5 * DAY, 0), (0, 20_833)],
)
def test_days_are_whole_and_never_negative(then: int, days: int):
    assert days_old(then, NOW) == days


def test_over_a_day_old_it_is_told_as_a_note_of_that_moment_to_be_verified():
    assert age_note(NOW - DAY + 1, NOW) == ""
    assert age_note(NOW - DAY, NOW).startswith("1 day old: a note of that moment; verify ")
    assert "12 days old" in age_note(NOW - 12 * DAY, NOW)
    assert "file:line" in age_note(NOW - 12 * DAY, NOW)
