"""That no job writes a key, a token or a password down. Pure.

Memories lie in plain text, are read by every session and sent to models, and their history stays. What stands in a
memory already is its writer's affair: only what a change would add is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memstore.core.model import Memory
from memstore.core.secrets import Finding, find, masked
from memstore.errors import InputRefused
from memstore.jobs.vouching import Made
from memstore.store.runs import RunEnd

_TOLD = 3


def check(head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
    """A rule of a workspace."""
    check_text("" if head is None else _readable(head.state.content), "" if text is None else _readable(text))


def check_text(before: str, after: str) -> None:
    """Raises InputRefused where a text has a secret that it did not have before; it is not in the message."""
    found = find(after)
    if found:
        known = {finding.fingerprint for finding in find(before)}
        found = [finding for finding in found if finding.fingerprint not in known]
    if found:
        raise InputRefused(
            f"it looks like a secret: {named(found)}; leave the value out, and say at most where it is kept"
        )


def without_secrets(end: RunEnd) -> RunEnd:
    """The end of a run whose words hold none: a model that was refused one may tell of it in full."""
    events = tuple(replace(event, text=masked(event.text)) for event in end.events)
    return replace(end, reason=masked(end.reason), events=events)


def named(found: Sequence[Finding]) -> str:
    """The rules that fired, and in which lines of the text."""
    told = [f"{finding.rule} in line {finding.line}" for finding in found[:_TOLD]]
    return ", ".join(told) + (f" and {len(found) - _TOLD} more" if len(found) > _TOLD else "")


def _readable(content: bytes) -> str:
    return content.decode("utf-8", "replace")
