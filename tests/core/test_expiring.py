"""A memory that says itself until when it holds is understood, and nothing else is taken for such words."""

from __future__ import annotations

from datetime import date

import pytest

from memstore.core.expiring import expiry
from memstore.core.frontmatter import read

DAY = date(2026, 3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "The code freeze holds until 2026-03-01.",
        "expires on March 1st, 2026",
        "Expiry date: 1 March 2026",
        "valid until **2026-03-01**",
        "Gilt bis 01.03.2026.",
        "gilt bis zum 1. März 2026",
        "2026年3月1日到期",
        "截止日期：2026-03-01",
        "有效期至2026年3月1日",
        "2026-03-01まで",
        "until 2024-05-05, then again until 2026-03-01",
        "---\nname: a\nexpires: 2026-03-01\n---\nx\n",
        "---\nname: a\ndescription: until 2026-03-01\n---\nx\n",
    ],
)
def test_the_last_day_is_understood(text: str):
    found = expiry(read(text.encode()))
    assert found is not None
    assert found.day == DAY


def test_of_a_month_its_last_day_counts():
    assert [expiry(read(text.encode())) for text in ("until 2024-02", "until February 2024")] == [
        (date(2024, 2, 29), "until 2024-02"),
        (date(2024, 2, 29), "until February 2024"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "decided on 2026-03-01",
        "since 2026-03-01",
        "until 2026-13-41",
        "until 0000-01-01",
        "until 2026-03-011",
        "until the port 2026 is free",
        "```\nuntil 2026-03-01\n```\n",
        "untilted 2026-03-01",
    ],
)
def test_other_dates_say_nothing(text: str):
    assert expiry(read(text.encode())) is None
