"""Every history of a small system: all states that can be reached, each once, and how many ways lead to an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

State = TypeVar("State")
"""Hashable; equal states have the same future."""


@dataclass(slots=True)
class Found(Generic[State]):
    """`states` in the order in which they were met. `ends`: those in which nobody can do anything more."""

    states: list[State]
    ends: list[int]
    histories: int
    _parents: list[tuple[int, str]] = field(default_factory=list)

    def way_to(self, at: int) -> list[str]:
        """A shortest history that ends in a state."""
        labels: list[str] = []
        while at:
            at, label = self._parents[at]
            labels.append(label)
        return labels[::-1]


def search(first: State, moves: Callable[[State], Iterable[tuple[str, State]]]) -> Found[State]:
    """Breadth first, so that what is met is met by a shortest way. No state may come back to itself."""
    states, parents, numbers = [first], [(0, "")], {first: 0}
    children: list[list[int]] = []
    ends: list[int] = []
    at = 0
    while at < len(states):
        follow = []
        for label, state in moves(states[at]):
            number = numbers.setdefault(state, len(states))
            if number == len(states):
                states.append(state)
                parents.append((at, label))
            follow.append(number)
        children.append(follow)
        if not follow:
            ends.append(at)
        at += 1
    ways = _ways(children)
    return Found(states, ends, sum(ways[end] for end in ends), parents)


def _ways(children: list[list[int]]) -> list[int]:
    """How many ways lead to each state."""
    before = [0] * len(children)
    for follow in children:
        for child in follow:
            before[child] += 1
    ways = [0] * len(children)
    ways[0] = 1
    ready = [0]
    while ready:
        at = ready.pop()
        for child in children[at]:
            ways[child] += ways[at]
            before[child] -= 1
            if not before[child]:
                ready.append(child)
    return ways
