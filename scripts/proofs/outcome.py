"""What a proof is, and what it comes to.

A module of this package that has a NAME is a proof: `scripts/prove` finds it by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

Size = Literal["floor", "full"]
"""`floor` is what every change has to pass; `full` is run now and then."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`counts`: what was tried and seen; `failures`: each a text that somebody can act on; `notes`: what else is
    worth a line."""

    counts: dict[str, int]
    failures: list[str]
    notes: list[str] = field(default_factory=list)


class Proof(Protocol):
    """FLOOR and FULL: the least that each count has to come to, by its name; counts without one are only told."""

    NAME: str
    FLOOR: Mapping[str, int]
    FULL: Mapping[str, int]

    def run(self, size: Size, seed: int) -> Outcome:
        """Proves it. The same seed gives the same run."""
