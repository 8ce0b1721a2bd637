"""How the doctor counts and names what it found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memstore.core.findings import Finding
from memstore.files.report import counted

_NAMED = 5
_MOST = 20


def some(names: Sequence[str]) -> str:
    """The first few of them, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def memories_told(number: int) -> str:
    """`1 memory`, `2 memories`."""
    return "1 memory" if number == 1 else f"{number} memories"


def capped(found: Iterable[Finding]) -> Iterator[Finding]:
    """The first twenty of a kind, and then how many more there are: nobody reads the thousandth."""
    every = list(found)
    yield from every[:_MOST]
    if len(every) > _MOST:
        first, more = every[0], len(every) - _MOST
        worst = max((one.severity for one in every[_MOST:]), key=("note", "warning", "error").index)
        yield Finding(
            first.check, worst, f"and {counted(more, 'more finding')} of this kind", first.why,
            "mend those that are named, then look again",
        )  # fmt: skip
