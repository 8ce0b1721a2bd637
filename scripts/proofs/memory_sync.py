"""A sync of one memory, by the rules of `core/reconcile.py`: whose base is asked, in which order, what is remembered.

A fault, planted by its name, breaks that: the search has to find what is lost then.
"""

from __future__ import annotations

from functools import lru_cache

import memstore.core.decisions as d
from memstore.core.frontmatter import alike
from memstore.core.inbox import made_from
from memstore.core.reconcile import reconcile_name
from scripts.proofs.memory_inbox import merge_older, take_all
from scripts.proofs.memory_state import Kept, Memory, Shown, letters

ROUNDS = 6
"""Within how many rounds folders and store have to be at rest once nobody acts any more."""


def waits(memory: Memory, at: int) -> bool:
    """Rule 5: whether a session is at work under the name."""
    return any(intent.place == at and not intent.dead for intent in memory.intents)


@lru_cache(maxsize=1 << 17)
def _decide(content: bytes, shown: Shown, head: bytes) -> d.Decision:
    base = made_from(content, shown.content, shown.since)
    return reconcile_name(
        d.File("a.md", content),
        d.Shown(base, 1, None, tuple(sorted(shown.since)), lambda: shown.earlier, shown.flagged),
        d.Stored("m", "live", head, 1, lambda _: False),
        now=0,
    )


def absorb(memory: Memory, at: int, fault: str) -> Memory:
    """Inbox, what dead processes left, then the file."""
    if fault == "scan before the inbox":
        return take_all(_scan(_resume(memory, at), at), at, fault)
    return _share(_scan(_resume(take_all(memory, at, fault), at), at), at, fault)


def _share(memory: Memory, at: int, fault: str) -> Memory:
    if fault == "key by name alone":
        for other in range(len(memory.places)):
            memory = memory.place(other, shown=memory.places[at].shown)
    return memory


def _scan(memory: Memory, at: int) -> Memory:
    place = memory.places[at]
    decision = _decide(place.file, place.shown, memory.head)
    memory = _apply(memory, at, decision)
    shown = memory.places[at].shown
    if isinstance(decision, d.Accept | d.Revise | d.Conflict):
        shown = shown._replace(content=place.file, since=frozenset(), replaced=_before(shown))
    return memory.place(at, shown=shown)._replace(known=memory.known | {place.file})


def _apply(memory: Memory, at: int, decision: d.Decision) -> Memory:
    match decision:
        case d.Nothing() | d.Accept() | d.Project():
            return memory
        case d.Revise(content=content, flagged=flagged):
            shown = memory.places[at].shown
            memory = memory.place(at, shown=shown._replace(flagged=shown.flagged | set(flagged)))
            head = memory.head if alike(content, memory.head) else content
            return memory._replace(head=head, known=memory.known | {head})
        case d.Conflict(other=content) | d.SetAside(content=content):
            return memory._replace(sides=memory.sides | {content})
        case _:
            raise AssertionError(f"no file is missing here, and none is new: {decision}")


def _resume(memory: Memory, at: int) -> Memory:
    """Looks at what dead processes left; a projection that never took place is taken back."""
    for kept in memory.places[at].kept:
        if kept.owner:
            continue
        memory = memory.place(at, kept=tuple(other for other in memory.places[at].kept if other is not kept))
        if kept.out is None:
            shown = memory.places[at].shown
            since = kept.before.since | shown.since | {kept.put}
            memory = memory.place(at, shown=kept.before._replace(since=since))
        else:
            memory = _pass(memory, at, kept)
    return memory


def _before(shown: Shown) -> tuple[bytes, ...]:
    """The texts that no longer are B, newest first, once something else is."""
    return tuple(dict.fromkeys((shown.content, *sorted(shown.since), *shown.replaced)))


def journal(memory: Memory, at: int, owner: str, put: bytes) -> Memory:
    """Rule 4: B is what will be put, and what was shown before is not forgotten."""
    before = memory.places[at].shown
    earlier = tuple(dict.fromkeys((*_before(before), *before.earlier)))
    shown = Shown(put, earlier=earlier, flagged=before.flagged)
    kept = Kept(owner, before, put, None)
    return memory.place(at, shown=shown, kept=(*memory.places[at].kept, kept))


def exchange(memory: Memory, at: int, owner: str, put: bytes, expected: bytes, fault: str) -> Memory:
    """Puts the text, and keeps what comes out unless that was expected and nobody can still write to it."""
    memory = journal(memory, at, owner, put)
    place = memory.places[at]
    earlier = tuple(dict.fromkeys((place.file, *place.shown.earlier)))
    memory = memory.place(at, shown=place.shown._replace(earlier=earlier))
    *others, kept = place.kept
    news = (place.file != expected or place.written) and fault != "rename instead of exchange"
    still = [kept._replace(out=place.file, written=place.written)] if news else []
    projected = place.projected | (letters(put) - letters(place.file) - letters(kept.before.content))
    return _share(memory.place(at, file=put, written=False, kept=(*others, *still), projected=projected), at, fault)


def look(memory: Memory, at: int, owner: str, fault: str) -> Memory:
    """Rule 35: what came out passes the rules with the previous B."""
    memory = take_all(memory, at, fault)
    kept = next(kept for kept in memory.places[at].kept if kept.owner == owner)
    memory = memory.place(at, kept=tuple(other for other in memory.places[at].kept if other is not kept))
    return _pass(memory, at, kept)


def _pass(memory: Memory, at: int, kept: Kept) -> Memory:
    """By a base that is older than what is shown now.

    Where a text that became known since the exchange is nearer, that may be the younger one: nothing is taken out.
    """
    shown, before, out = memory.places[at].shown, kept.before, kept.out
    assert out is not None
    if out in shown.since:
        return memory
    base = made_from(out, before.content, before.since)
    nearer = made_from(out, base, shown.since)
    if nearer != base and out not in before.since:
        memory = merge_older(memory, out, nearer)
    else:
        before = before._replace(flagged=before.flagged | shown.flagged)
        memory = _apply(memory, at, _decide(out, before, memory.head))
    return memory._replace(known=memory.known | {out})


def put_of(memory: Memory, at: int) -> bytes | None:
    """What a projection has to put; None where the file says what the head says."""
    return None if alike(memory.places[at].file, memory.head) else memory.head


def settle(memory: Memory, fault: str) -> tuple[Memory, bool]:
    """Syncs every folder until nothing moves any more; whether that came to be."""
    for _ in range(ROUNDS):
        before = memory
        for at in range(len(memory.places)):
            memory = absorb(memory, at, fault)
            put = put_of(memory, at)
            if put is not None:
                memory = exchange(memory, at, "settle", put, memory.places[at].file, fault)
        if memory == before:
            return memory, True
    return memory, False
