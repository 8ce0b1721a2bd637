"""Whether what came after the cursor is worth a model's look. Pure.

The gates, in order; the first that is shut decides:

| gate | shut when | the cursor |
|---|---|---|
| off | the extraction is switched off, or everything was said while saving was paused | advances |
| saved | the main agent saved memories itself since the cursor, unless a setting says to look anyway | advances |
| substance | no message of a person has three words, as the search parts words | advances |
| every | of the turns that pass all others it is not the N-th | stays |

Where a run left something to the next one, `saved` and `every` stand open: they are about turns, and that is left of
an earlier one.

What a shut gate advances over has a known outcome: it was skipped, and the reason is recorded. Nobody looks at it
again. The order and the effects are the client's own (facts of 2.1.156), the way of counting words is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memstore.core.terms import count_words

Gate = Literal["off", "saved", "substance", "every"]
ENOUGH = 3
"""Words of a message that says something."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What was said since the cursor, as far as the gates ask.

    `said`: what a person wrote, a text for each message, without what was said while saving was paused. `paused`: how
    many messages of a person that were. `saved`: the memories that the main agent wrote itself, each once.
    `let_pass`: how many turns in a row the last gate has held back.
    """

    said: Sequence[str]
    paused: int
    saved: Sequence[str]
    let_pass: int


@dataclass(frozen=True, slots=True)
class Shut:
    """The gate that is shut. `advance`: whether the cursor moves over what was said."""

    gate: Gate
    reason: str
    advance: bool


def check(turn: Turn, *, enabled: bool, look_after_save: bool, every: int) -> Shut | None:
    """The first gate that is shut; None: a model is to look."""
    if not enabled:
        return Shut("off", "the extraction is switched off (extract.enabled)", True)
    if turn.paused and not turn.said:
        return Shut("off", "saving was paused while this was said", True)
    if turn.saved and not look_after_save:
        return Shut("saved", f"the agent saved {_listed(turn.saved)} itself (extract.after_own_save)", True)
    if not any(count_words(text, ENOUGH) >= ENOUGH for text in turn.said):
        return Shut("substance", f"no message of a person has {ENOUGH} words", True)
    if turn.let_pass + 1 < every:
        return Shut("every", f"turn {turn.let_pass + 1} of {every} (extract.every)", False)
    return None


def _listed(paths: Iterable[str]) -> str:
    found = list(dict.fromkeys(paths))
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
