"""What of a reading is not shown: known, gone behind, or said in a pause."""

from __future__ import annotations

from hashlib import blake2b

import pytest

from memstore.claude.entries import Entry
from memstore.jobs.passing_over import PassedOver, passed_over

TEN = 1_772_445_600_000_000
"""10:00 UTC of that day, in unix microseconds."""


def entry(name: str, at: str = "2026-03-02T10:00:00.000Z", parent: str | None = None) -> Entry:
    digest = blake2b(name.encode(), digest_size=8).digest()
    return Entry(name, parent, "person", f"words of {name}", at, "s", "main", "/", "", 1, 100, digest)


def paused(*entries: Entry, since: int, until: int | None) -> list[str]:
    """The names of those that were said in a pause."""
    found = passed_over(entries, (), [(since, until)]).paused
    return [entry.id for entry in entries if entry.digest in found]


def test_nothing_is_passed_over_without_a_reason():
    assert passed_over([entry("a"), entry("b")], (), ()) == PassedOver(frozenset(), frozenset(), frozenset())


@pytest.mark.parametrize(
    ("since", "until", "inside"),
    [
        (TEN, TEN + 1, True),
        (TEN - 1, TEN, False),
        (TEN + 1, None, False),
        (TEN, None, True),
        (TEN - 10, TEN + 10, True),
    ],
)
def test_a_pause_begins_with_its_first_moment_and_ends_before_its_last(since: int, until: int | None, inside: bool):
    assert paused(entry("a"), since=since, until=until) == (["a"] if inside else [])


@pytest.mark.parametrize("at", ["2026-03-02T10:00:00", "2026-03-02T11:00:00+01:00", "20260302T100000Z"])
def test_a_moment_is_read_however_it_is_written_and_without_a_zone_as_utc(at: str):
    assert paused(entry("a", at), since=TEN, until=TEN + 1) == ["a"]


def test_what_does_not_say_when_was_said_with_the_one_before_it():
    later = entry("d", "2026-03-02T10:00:05Z")
    said = [entry("a", ""), entry("b"), entry("c", "yesterday"), entry("c2", ""), later, entry("e", "")]
    assert paused(*said, since=TEN, until=TEN + 1) == ["b", "c", "c2"]
    assert paused(entry("x", "0001-01-01T00:00:00"), entry("y", "9999-12-31T23:59:59Z"), since=TEN, until=None) == ["y"]


def test_each_is_passed_over_for_one_reason():
    first = entry("first", parent="")
    left, kept = entry("left", parent="first"), entry("kept", parent="first")
    over = passed_over([first, left, kept], {first.digest}, [(TEN, None)])
    assert over == PassedOver(frozenset({first.digest}), frozenset({left.digest}), frozenset({kept.digest}))
    assert over.all == {first.digest, left.digest, kept.digest}


def test_what_is_known_stays_known_also_where_it_was_left():
    first = entry("first", parent="")
    left = entry("left", parent="first")
    over = passed_over([first, left, entry("kept", parent="first")], {left.digest}, ())
    assert (over.known, over.gone) == ({left.digest}, frozenset())
