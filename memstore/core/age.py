"""How old a memory is, and what is said of it: in whole days, and nothing on its first day."""

from __future__ import annotations

from typing import Final

DAY: Final = 86_400_000_000
"""Microseconds."""

VERIFY: Final = "a note of that moment; verify what it says of code, and each file:line, before you rely on it"


def days_old(then: int, now: int) -> int:
    """Whole days from one unix time in microseconds to another; 0 where a clock was set back."""
    return max(0, (now - then) // DAY)


def days_text(days: int) -> str:
    """A memory's age: `12 days old`; empty on its first day."""
    return f"{days} day{'' if days == 1 else 's'} old" if days > 0 else ""


def age_note(then: int, now: int) -> str:
    """What to say beside a memory whose text is of `then`; nothing where it is not yet a day old."""
    told = days_text(days_old(then, now))
    return f"{told}: {VERIFY}" if told else ""
