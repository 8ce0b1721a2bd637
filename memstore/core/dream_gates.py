"""When a dream begins by itself. The gates, cheapest first; a later one is not looked at where an earlier one is shut:

| gate | open when |
|---|---|
| enabled | `dream.enabled` is on, nothing is paused or remote, a model may be asked; not where agents are assistants |
| hours | the last dream began at least `dream.hours` ago; one that failed is none |
| throttle | sessions were last counted at least `dream.scan_minutes` ago; after each failure twice as long |
| sessions | at least `dream.sessions` sessions were touched since the last dream, without the current one |
| lease | nobody dreams: no other process of memstore, and not the client |

Where agents run as assistants, a dream comes on a schedule. Who asks for one, or has it come on a schedule,
passes by the middle three. Times are unix microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["enabled", "hours", "throttle", "sessions", "lease"]

MINUTE = 60 * 1_000_000
HOUR = 60 * MINUTE


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate. `figure`: how things stand, for a person. `opens_at`: when a shut one opens by itself, if it does.

    `to_mend`: it stays shut until a person mends something.
    """

    name: Name
    open: bool
    figure: str
    opens_at: int | None = None
    to_mend: bool = False


def enabled(
    *, wanted: bool, remote: bool, assistant: bool, paused: bool, hold: str, by_turns: bool, to_mend: bool
) -> Gate:
    """`hold`: why no model is to be asked; empty: it may be. `by_turns`: because turns ended, not on a schedule."""
    if not wanted:
        return Gate("enabled", False, "dream.enabled is off")
    if remote:
        return Gate("enabled", False, "the session is remote (CLAUDE_CODE_REMOTE)")
    if paused:
        return Gate("enabled", False, "saving is paused")
    if assistant and by_turns:
        return Gate("enabled", False, "agents run as assistants (assistant.enabled): a dream comes on a schedule")
    if hold:
        return Gate("enabled", False, hold, to_mend=to_mend)
    return Gate("enabled", True, "on")


def hours(now: int, last: int | None, needed: int) -> Gate:
    """`last`: when the last dream began; None: never, or at a time that lies in the future."""
    if last is None:
        return Gate("hours", True, "there was no dream yet")
    opens = last + needed * HOUR
    return _until("hours", now, opens, f"the last dream was {span(now - last)} ago, {needed} h are needed")


def throttle(now: int, counted_at: int | None, minutes: int, failures: int, failed_at: int | None, most: int) -> Gate:
    """`failures`: dreams that failed since the last one that did not. `most`: hours, the longest wait after these."""
    if failures and failed_at is not None:
        wait = min(minutes * MINUTE << min(failures - 1, 20), max(most * HOUR, minutes * MINUTE))
        if now < failed_at + wait:
            times = "the last dream" if failures == 1 else f"the last {failures} dreams"
            return Gate("throttle", False, f"{times} failed, {span(now - failed_at)} ago", failed_at + wait)
    if counted_at is None or counted_at > now:
        return Gate("throttle", True, "sessions have not been counted yet")
    opens = counted_at + minutes * MINUTE
    return _until("throttle", now, opens, f"sessions were counted {span(now - counted_at)} ago")


def sessions(found: int, needed: int) -> Gate:
    """`found`: sessions touched since the last dream."""
    return Gate("sessions", found >= needed, f"{found} since the last dream, {needed} are needed")


def lease(holder: str, until: int | None = None) -> Gate:
    """`holder`: who dreams; empty: nobody."""
    return Gate("lease", not holder, holder or "nobody dreams", until if holder else None)


def span(microseconds: int) -> str:
    """A span of time in a few letters: `40 s`, `12 min`, `26 h`, `3 days`."""
    seconds = max(0, microseconds) // 1_000_000
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7_200:
        return f"{seconds // 60} min"
    return f"{seconds // 3_600} h" if seconds < 172_800 else f"{seconds // 86_400} days"


def _until(name: Name, now: int, opens: int, figure: str) -> Gate:
    return Gate(name, now >= opens, figure, None if now >= opens else opens)
