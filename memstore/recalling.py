"""Recall: the memories that answer a prompt best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memstore.core.ranking import MOST_COMPARED, MOST_READ, Reason, Scored, explain, favour_own, rank, weigh
from memstore.core.sought import read_prompt
from memstore.store.candidates import Found, behind_corrections, bodies, candidates, found, written
from memstore.store.search import Filters

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.store.connection import Reading

DEFAULT_LIMIT = 10

Likeness = Callable[[str, Sequence[str]], Sequence[float]]
"""How alike a prompt and each of some texts are in meaning, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One memory of the short-list, and why it stands there. `passage`: what its best passage adds to the score.
    `own`: the prompt's writer speaks of himself, and so does the passage. A memory that is here only as the correction
    of the next one has no reasons."""

    memory: Found
    score: float
    reasons: tuple[Reason, ...]
    passage: float
    own: bool


def ranked(
    memories: Memstore, text: str, limit: int = DEFAULT_LIMIT, *, filters: Filters | None = None
) -> list[Ranked]:
    """The short-list for a prompt, best first, before anything is cut by certainty or budget. Takes any text; one
    that says nothing, or nothing that occurs here, gets an empty list."""
    from memstore.files.freshness import has_news  # a hook ranks without it

    chosen = filters or Filters(scopes=(memories.shelf.scope,))
    folder, likeness = memories.place.folder, likeness_for(memories)

    def now() -> list[Ranked]:
        with memories.store.view() as connection:
            return ranked_in(connection, text, limit, chosen, likeness)

    if has_news(memories.store, folder):
        memories.look()
    result = now()
    if result and has_news(memories.store, folder, [one.memory.path for one in result]):
        memories.look()
        result = now()
    # What somebody has deleted is not handed out, although its deletion is believed only at a second look.
    gone = memories.store.missing(folder, [one.memory.path for one in result]) if result and folder is not None else ()
    return [one for one in result if one.memory.path not in gone] if gone else result


def likeness_for(memories: Memstore) -> Likeness | None:
    """What compares by meaning, where the setting `recall.semantic` asks for it. Raises ExtraMissing where it cannot be
    had. A hook does not ask: it would have to load it each time."""
    from memstore.store.settings import load

    with memories.store.view() as connection:
        settings = load(memories.place.home.path, memories.world.environment, connection)
    if not settings.flag("recall.semantic"):
        return None
    from memstore.semantic import installed

    return installed().likeness


def ranked_in(
    connection: Reading, text: str, limit: int, filters: Filters, likeness: Likeness | None = None
) -> list[Ranked]:
    """The same from a view of the store alone: what the folder may tell by now is not asked."""
    prompt = read_prompt(text)
    if not prompt.sought or limit < 1:
        return []
    pool = candidates(connection, prompt.sought, filters)
    scored = rank(pool, max(limit, MOST_READ if likeness is None else MOST_COMPARED))
    if prompt.own:
        first = scored[:MOST_READ]
        texts = bodies(connection, [one.candidate.key for one in first if one.passage is not None])
        scored = favour_own(first, texts) + scored[MOST_READ:]
    if likeness is not None and scored:
        compared = [one.candidate.key for one in scored[:MOST_COMPARED]]
        known = written(connection, compared)
        scored = weigh(scored, likeness(text, [known[key] for key in compared]))
    keys = behind_corrections(connection, [one.candidate.key for one in scored], filters)[:limit]
    rows = found(connection, keys)
    shown = [one for one in scored if one.candidate.key in rows]
    reasons = {one.candidate.key: (one, why) for one, why in zip(shown, explain(shown, pool), strict=True)}
    return [_told(rows[key], *reasons.get(key, (None, ()))) for key in keys]


def _told(memory: Found, one: Scored | None, reasons: tuple[Reason, ...]) -> Ranked:
    if one is None:
        return Ranked(memory, 0.0, (), 0.0, False)
    return Ranked(memory, one.score, reasons, one.passage_weight, one.own)
