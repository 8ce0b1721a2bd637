"""What of a reading is not shown to a model, and why. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from memstore.claude.entries import Entry
from memstore.claude.transcript import abandoned

Rests = Sequence[tuple[int, int | None]]
"""From when until when saving was paused, in unix microseconds; None: it still is."""


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Digests of entries that are not shown.

    `known`: their outcome is recorded. `gone`: the person went back behind them to say something else; a fork may have
    them in its conversation, so passing over them is no outcome. `paused`: said while saving was paused.
    """

    known: frozenset[bytes]
    gone: frozenset[bytes]
    paused: frozenset[bytes]

    @property
    def all(self) -> frozenset[bytes]:
        """Of all kinds."""
        return self.known | self.gone | self.paused


def passed_over(entries: Sequence[Entry], taken: Collection[bytes], rests: Rests) -> PassedOver:
    """Of these entries. `taken`: those digests, of them or of what they are copies of, whose outcome is recorded."""
    outcomes = frozenset(taken)
    known = frozenset(entry.digest for entry in entries if not outcomes.isdisjoint(digests([entry])))
    left = abandoned(entries)
    gone = frozenset(entry.digest for entry in entries if entry.id in left) - known
    paused = frozenset(
        entry.digest
        for entry, at in _moments(entries)
        if at is not None and any(since <= at and (until is None or at < until) for since, until in rests)
    )
    return PassedOver(known, gone, paused - known - gone)


def digests(entries: Iterable[Entry]) -> list[bytes]:
    """All by which entries may be known: their own, and those of what they are copies of."""
    found = (one for entry in entries for one in (entry.digest, entry.original) if one is not None)
    return list(dict.fromkeys(found))


def _moments(entries: Iterable[Entry]) -> Iterator[tuple[Entry, int | None]]:
    """When each was said, in unix microseconds; one that does not say so was said when the one before it was."""
    at: int | None = None
    for entry in entries:
        try:
            said = datetime.fromisoformat(entry.at)
        except ValueError:
            yield entry, at
            continue
        at = int((said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp() * 1_000_000)
        yield entry, at
