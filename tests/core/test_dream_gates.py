"""Each gate: when it is shut, what it says, and when it opens."""

from __future__ import annotations

import pytest

from memstore.core.dream_gates import HOUR, MINUTE, Gate, enabled, hours, lease, sessions, span, throttle

NOW = 1_800_000_000_000_000


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ({"wanted": False}, "dream.enabled is off"),
        ({"remote": True}, "the session is remote (CLAUDE_CODE_REMOTE)"),
        ({"paused": True}, "saving is paused"),
        ({"assistant": True}, "agents run as assistants (assistant.enabled): a dream comes on a schedule"),
        ({"hold": "no key is set"}, "no key is set"),
        ({"assistant": True, "by_turns": False}, "on"),
        ({}, "on"),
    ],
)
def test_what_switches_it_off_is_named(switch: dict[str, bool], said: str):
    usual = {
        "wanted": True, "remote": False, "assistant": False, "paused": False, "hold": "", "by_turns": True,
        "to_mend": False,
    }  # fmt: skip
    assert enabled(**{**usual, **switch}) == Gate("enabled", said == "on", said)  # type: ignore[arg-type]  # one dict


def test_the_hours_are_counted_from_the_last_dream():
    assert hours(NOW, None, 24).open
    assert hours(NOW, NOW - 24 * HOUR, 24) == Gate("hours", True, "the last dream was 24 h ago, 24 h are needed")
    shut = hours(NOW, NOW - 24 * HOUR + 1, 24)
    assert (shut.open, shut.opens_at) == (False, NOW + 1)


def test_sessions_are_not_counted_all_the_time():
    assert throttle(NOW, None, 10, 0, None, 24).open and throttle(NOW, NOW + HOUR, 10, 0, None, 24).open
    assert throttle(NOW, NOW - 10 * MINUTE, 10, 0, None, 24).open
    shut = throttle(NOW, NOW - 9 * MINUTE, 10, 0, None, 24)
    assert shut == Gate("throttle", False, "sessions were counted 9 min ago", NOW + MINUTE)


def test_after_each_failure_the_wait_is_twice_as_long_up_to_a_day():
    waits = []
    for failures in (1, 2, 3, 8, 9, 1_000):
        gate = throttle(NOW, None, 10, failures, NOW, 24)
        assert not gate.open and gate.opens_at is not None
        waits.append((gate.opens_at - NOW) // MINUTE)
        assert throttle(gate.opens_at, None, 10, failures, NOW, 24).open
    assert waits == [10, 20, 40, 1_280, 1_440, 1_440]
    assert throttle(NOW + MINUTE, None, 10, 2, NOW, 24).figure == "the last 2 dreams failed, 60 s ago"


def test_sessions_and_lease_say_how_things_stand():
    assert sessions(5, 5).open and not sessions(4, 5).open
    assert sessions(4, 5).figure == "4 since the last dream, 5 are needed"
    assert lease("").open
    assert lease("process 12 dreams", NOW) == Gate("lease", False, "process 12 dreams", NOW)


def test_a_span_is_told_in_its_own_unit():
    assert [span(each * 1_000_000) for each in (-5, 119, 120, 7_199, 7_200, 172_800)] == [
        "0 s", "119 s", "2 min", "119 min", "2 h", "2 days",
    ]  # fmt: skip
