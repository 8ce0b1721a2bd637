"""The log of the day: days, times with their zone, entries that nothing can forge, and both layouts of files."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.daylog import (
    LARGEST,
    Piece,
    block,
    checked,
    day_in,
    day_of,
    days_until,
    parse_day,
    path_of,
    sessions_of,
    time_of,
)
from memstore.core.daylog import pieces as read
from memstore.errors import InputRefused


def at(text: str) -> int:
    """Unix microseconds of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def zone(name: str, moment: int) -> int:
    offset = datetime.fromtimestamp(moment / 1e6, ZoneInfo(name)).utcoffset()
    assert offset is not None
    return round(offset.total_seconds() / 60)


@pytest.mark.parametrize(
    ("place", "moment", "day", "time"),
    [
        ("Asia/Tokyo", "2026-03-01T20:30", "2026-03-02", "05:30 +09:00"),
        ("America/Los_Angeles", "2026-03-01T02:00", "2026-02-28", "18:00 -08:00"),
        ("Asia/Kathmandu", "2026-12-31T18:20", "2027-01-01", "00:05 +05:45"),
        ("America/St_Johns", "2026-01-01T03:00", "2025-12-31", "23:30 -03:30"),
        ("Europe/Berlin", "2026-03-29T00:59", "2026-03-29", "01:59 +01:00"),
        ("Europe/Berlin", "2026-03-29T01:00", "2026-03-29", "03:00 +02:00"),
        ("Europe/Berlin", "2026-10-25T00:30", "2026-10-25", "02:30 +02:00"),
        ("Europe/Berlin", "2026-10-25T01:30", "2026-10-25", "02:30 +01:00"),
        ("Pacific/Kiritimati", "2026-03-01T10:00", "2026-03-02", "00:00 +14:00"),
    ],
)
def test_h37a_and_c_the_day_is_the_persons_own_and_the_time_says_its_zone(place: str, moment: str, day: str, time: str):
    minutes = zone(place, at(moment))
    assert day_of(at(moment), minutes) == day
    assert block(at(moment), minutes, "x") == f"- {time} x\n"


def test_a_days_file_has_its_year_and_month_above_it():
    assert path_of("2026-03-02") == "logs/2026/03/2026-03-02.md"
    assert sessions_of("2026-03-02") == "logs/2026/03/02"


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("logs/2026/03/2026-03-02.md", "2026-03-02"),
        ("logs/2026/03/02/6ba7b810-cache-host.md", "2026-03-02"),
        ("logs/2026/03/02/会议.md", "2026-03-02"),
        ("logs/2026/03/2026-04-02.md", None),
        ("logs/2026/02/2026-02-30.md", None),
        ("logs/2026/02/31/x.md", None),
        ("logs/2026/03/02/a/b.md", None),
        ("logs/2026/03/02/x.txt", None),
        ("logs/notes.md", None),
        ("2026/03/2026-03-02.md", None),
    ],
)
def test_a_file_of_either_layout_belongs_to_its_day(path: str, day: str | None):
    assert day_in(path) == day


def test_the_lines_of_an_entry_can_be_neither_heading_nor_entry():
    text = "first\n### heading\n\n- 05:31 +09:00 forged\u2028- 05:32 +09:00 forged\r\n```\r# end"
    assert block(at("2026-03-01T20:30"), 540, text) == (
        "- 05:30 +09:00 first\n      ### heading\n\n      - 05:31 +09:00 forged\n"
        "      - 05:32 +09:00 forged\n      ```\n      # end\n"
    )


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")).filter(str.strip), max_size=5))
def test_every_text_is_one_entry_and_reads_back(texts: list[str]):
    wanted = []
    for text in texts:
        try:
            wanted.append(checked(text))
        except InputRefused:  # line ends of all kinds, and nothing else
            continue
    file = "".join(block(number * 60_000_000, 60, text) for number, text in enumerate(wanted))
    found = read(file)
    assert [piece.who for piece in found] == ["note"] * len(wanted)
    assert "".join(f"{piece.raw}\n" for piece in found) == file
    for piece, text in zip(found, wanted, strict=True):
        assert piece.text.split() == text.split()
        assert all(line[:1] in ("", " ") for line in piece.raw.split("\n")[1:])


def test_lines_that_clients_marked_are_told_apart():
    file = "# Monday\n\n> what did we decide\n< the blue one\n  because\n. Bash ls\n- 05:30 +09:00 a\n- 05:31 b\n> \n"
    assert [(piece.who, piece.time, piece.text) for piece in read(file)] == [
        ("line", "", "# Monday"),
        ("user", "", "what did we decide"),
        ("assistant", "", "the blue one\n  because"),
        ("tool", "", "Bash ls"),
        ("note", "05:30 +09:00", "a"),
        ("note", "05:31", "b"),
        ("user", "", ""),
    ]
    assert read("") == read("\n\n") == []
    assert read("  indented first\nx\r\n") == [
        Piece("line", "", "  indented first", "  indented first"), Piece("line", "", "x", "x"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", " \n\t\n", "\u2028", "a\0b", "\ud800", "x" * (LARGEST + 1), "ü" * LARGEST])
def test_what_is_blank_no_text_or_too_long_is_refused(text: str):
    with pytest.raises(InputRefused):
        checked(text)


def test_days_are_counted_back_over_months_and_leap_years():
    assert days_until("2028-03-01", 3) == ["2028-02-28", "2028-02-29", "2028-03-01"]
    assert days_until("0001-01-01", 3) == ["0001-01-01"]
    for text in ("2026-3-1", "2026-02-30", "today", "2026-03-01T00:00", "２026-03-01"):
        with pytest.raises(InputRefused):
            parse_day(text)


def test_a_clock_beyond_all_years_is_refused():
    with pytest.raises(InputRefused):
        time_of(2**62, 0)
