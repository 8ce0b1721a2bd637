"""What a dream wants to do, as values: steps, which of them belong together, and which still fit. Pure.

1. A step names the version that it was made against. Where another one stands there now, the step is stale.
2. A memory that is merged into another, that other, and a text that was made from either are one part: they are done
   together, or not at all, so that no memory goes whose words did not arrive.
3. A step is stale, too, where a version that it was made from is not the current one any more, where its new path
   is somebody else's by now, or where the index says something else of a memory that would go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memstore.core.accounting import Account
from memstore.core.changes import Change, Create, Retire, Revise
from memstore.core.ids import fingerprint
from memstore.core.model import Listing, Memory, Origin, Shelf
from memstore.core.names import collision_key

Action = Literal["create", "revise", "delete", "merge"]
StepState = Literal["done", "stale", "refused", "rejected", "held"]

_ROUNDING = 1e-6
_ORDER: Mapping[Action, int] = {"create": 0, "revise": 1, "merge": 2, "delete": 3}


@dataclass(frozen=True, slots=True)
class Planned:
    """A step. `part`: the number of the steps that it belongs to. `before`, `content`: the texts; None: there is none.

    `seen`: the token of the version that it was made against, None for a new memory. `into`, `into_path`: the memory
    that it is merged into. `needs`: memory and token of each other version that it was made from. `lines`: what became
    of the lines that are not in the new text as they were. `loss`: what share of the memory goes, 1 for all of it.
    """

    n: int
    part: int
    action: Action
    memory: str
    path: str
    seen: str | None
    before: bytes | None
    content: bytes | None
    origin: Origin
    reason: str
    into: str | None = None
    into_path: str | None = None
    needs: tuple[tuple[str, str], ...] = ()
    lines: tuple[Account, ...] = ()
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step, and what is to be told of it."""

    step: Planned
    state: StepState
    told: str = ""


def parts(memories: Sequence[str], together: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The number of the part of each memory, from 1, in the order of the memories."""
    leader = {memory: memory for memory in memories}

    def led(memory: str) -> str:
        while leader[memory] != memory:
            memory = leader[memory]
        return memory

    for one, other in together:
        if one in leader and other in leader:
            leader[led(other)] = led(one)
    numbers: dict[str, int] = {}
    return {memory: numbers.setdefault(led(memory), len(numbers) + 1) for memory in memories}


def stale(steps: Sequence[Planned], heads: Iterable[Memory], told_anew: Collection[str] = ()) -> dict[int, str]:
    """The numbers of the steps that do not fit the living memories of the shelf, and why.

    `told_anew`: memories of which the index says something else by now, which would go with them.
    """
    tokens: dict[str, str] = {}
    holders: dict[str, str] = {}
    for head in heads:
        tokens[head.id] = head.token
        holders[collision_key(head.path)] = head.id
    told = {step.n: reason for step in steps if (reason := _stale(step, tokens, holders))}
    for step in steps:
        if step.content is None and step.memory in told_anew:
            told.setdefault(step.n, "its line in the index was changed meanwhile")
    fallen = {step.part: step.path for step in reversed(steps) if step.n in told}
    for step in steps:
        if step.part in fallen and step.n not in told:
            told[step.n] = f"it belongs to the change of {fallen[step.part]}"
    return told


def _stale(step: Planned, tokens: Mapping[str, str], holders: Mapping[str, str]) -> str:
    if step.seen is None:
        if step.memory in tokens or collision_key(step.path) in holders:
            return "somebody else made a file of that name meanwhile"
    elif step.memory not in tokens:
        return "it was deleted meanwhile"
    elif tokens[step.memory] != step.seen:
        return "it was changed meanwhile"
    if any(tokens.get(memory) != token for memory, token in step.needs):
        return "a memory that it was made from was changed meanwhile"
    return ""


def losses(steps: Iterable[Planned]) -> int:
    """How many memories would go: those out of use, and what the others lose together, in memories."""
    return int(sum(step.loss for step in steps) + _ROUNDING)


def changes(steps: Sequence[Planned], shelf: Shelf) -> tuple[Change, ...]:
    """The steps as changes, in the order in which one may name what another has made."""
    return tuple(_change(step, shelf) for step in sorted(steps, key=lambda step: _ORDER[step.action]))


def derived(steps: Iterable[Planned]) -> tuple[tuple[str, Origin], ...]:
    """Whose words each step brings."""
    return tuple((step.memory, step.origin) for step in steps if step.content is not None)


def _change(step: Planned, shelf: Shelf) -> Change:
    if step.seen is None:
        assert step.content is not None
        listing: Listing = "unlisted" if step.origin == "tool" else "due"
        return Create(step.memory, shelf, step.path, step.content, listing=listing)
    if step.content is None:
        return Retire(step.memory, step.seen, step.into)
    return Revise(step.memory, step.seen, step.content, merged=True)


def numbered(steps: Iterable[Planned], together: Iterable[tuple[str, str]]) -> tuple[Planned, ...]:
    """The steps with their numbers and parts: those of a part stand together."""
    found = list(steps)
    part = parts([step.memory for step in found], together)
    found.sort(key=lambda step: (part[step.memory], _ORDER[step.action]))
    return tuple(replace(step, n=n, part=part[step.memory]) for n, step in enumerate(found, 1))


def digest_of(tokens: Mapping[str, str]) -> bytes:
    """A digest of memories, given by id and token."""
    return fingerprint("\n".join(f"{memory} {token}" for memory, token in sorted(tokens.items())).encode())
