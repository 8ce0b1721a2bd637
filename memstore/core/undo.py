"""The inverse of an operation, given what stands now. Undo is an operation like any other.

1. A memory that nothing has touched since goes back to the state it had before, byte for byte.
2. A memory that was touched since keeps what came later: only what the operation itself changed is taken back,
   by a three-way merge; where that fails, the whole undo is refused and the later operation named.
3. A memory that the operation made, and that was changed since, is not retired unasked: refused.
4. An index line goes back if nothing has touched it since; else it stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from memstore.core.changes import Change, LineChange, Restore, Retire, SetIndexLine, SetListing
from memstore.core.merge import merge_texts
from memstore.core.model import Memory, State, Version
from memstore.errors import Conflict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """What an operation did to one memory: the version it made, the state before it, and the memory now."""

    made: Version
    before: State | None
    now: Memory


@dataclass(frozen=True, slots=True)
class LineStep:
    """What an operation did to one index line: its version then, and the state before (None: it was new)."""

    id: str
    version: int
    before: SetIndexLine | None
    now: SetIndexLine


def inverse(steps: list[Step]) -> tuple[Change, ...]:
    """The steps back, in reverse order. Raises Conflict where later work stands in the way."""
    changes = (_step_back(step) for step in reversed(steps))
    return tuple(change for change in changes if change is not None)


def _step_back(step: Step) -> Change | None:
    made, before, now = step.made, step.before, step.now
    if now.version == made.number:
        if before is None:
            return Retire(now.id, now.token) if now.state.live else None
        return Restore(now.id, now.token, before)
    if before is None:
        if not now.state.live:
            return None
        raise _in_the_way(step, "it was made by this operation and changed since")
    merged = merge_texts(made.state.content, now.state.content, before.content)
    if merged.conflict:
        raise _in_the_way(step, "the same lines were changed since")
    state = replace(
        now.state,
        content=merged.content,
        path=_back(made.state.path, now.state.path, before.path),
        live=_back(made.state.live, now.state.live, before.live),
        pinned=_back(made.state.pinned, now.state.pinned, before.pinned),
        superseded_by=_back(made.state.superseded_by, now.state.superseded_by, before.superseded_by),
    )
    return None if state == now.state else Restore(now.id, now.token, state)


def _back(made: T, now: T, before: T) -> T:
    return before if now == made else now


def _in_the_way(step: Step, reason: str) -> Conflict:
    return Conflict(
        f"{step.now.path} cannot be taken back: {reason}, last by operation #{step.now.seq}",
        hint=f"undo the later operations first (memstore log {step.now.path}), or use `memstore restore`",
    )


def inverse_lines(steps: list[LineStep], is_auto: Callable[[SetIndexLine], bool]) -> tuple[LineChange, ...]:
    """The index lines back, where nothing has touched them since. A memory that loses our line awaits another."""
    changes: list[LineChange] = []
    for step in reversed(steps):
        if step.now.expect != step.version:
            continue
        if step.before is None:
            changes.append(replace(step.now, live=False))
            if is_auto(step.now) and step.now.memory is not None:
                changes.append(SetListing(step.now.memory, "due"))
        else:
            changes.append(replace(step.before, expect=step.now.expect))
    return tuple(changes)
