"""One memory in small histories: what store, folder and sessions hold, and what a sync does with it.

The rules themselves are the real ones (`core/inbox.py`, `core/reconcile.py`). What is written here is their
caller's part, in the plainest form there is: whose base is asked, in which order, and what is remembered.

A fault, planted by its name, breaks one of these: the search has to find what is lost then.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import memstore.core.decisions as d
from memstore.core.frontmatter import alike
from memstore.core.inbox import Row, Step, made_from, next_row, take, unsigned
from memstore.core.reconcile import reconcile_name

HEADER = b"---\nname: a\ndescription: d\n---\n\n"
LINES = ("alpha", "beta", "gamma", "delta", "epsilon")
ROUNDS = 6
"""Within how many rounds folders and store have to be at rest once nobody acts any more."""


class Shown(NamedTuple):
    """What a folder shows: B, the texts known since, those that projections replaced, the lines of rule 25."""

    content: bytes
    since: frozenset[bytes] = frozenset()
    earlier: tuple[bytes, ...] = ()
    flagged: frozenset[str] = frozenset()


class Kept(NamedTuple):
    """A projection that was begun. `out`: what came out, None before the exchange. `written`: somebody has the
    file that came out open for writing. `owner`: who looks at it; empty once that process is dead."""

    owner: str
    before: Shown
    put: bytes
    out: bytes | None
    written: bool = False


class Place(NamedTuple):
    """One folder: F, B, projections under way. `written`: somebody has F open for writing. `projected`: whose lines
    a projection brought into the file, rather than a save."""

    file: bytes
    shown: Shown
    kept: tuple[Kept, ...] = ()
    written: bool = False
    projected: frozenset[str] = frozenset()


class Post(NamedTuple):
    """An inbox row, where it was posted, and what its session had seen there."""

    place: int
    row: Row
    seen: bytes | None


class Intent(NamedTuple):
    """What a session is about to do. `found`: the file when it said so. `dead`: it will never be heard of again."""

    session: str
    place: int
    found: bytes
    outcome: bytes | None
    post: Post
    dead: bool = False


class Memory(NamedTuple):
    """One moment. `at`: how far each actor is; `typed`: whose lines were saved.

    `swallowed`: those of them that were overwritten where nobody outside an editor or client can see it, and in whose
    window; `outdated`: those that an old buffer lacked when it was saved, and that only other saves had brought.
    """

    head: bytes
    places: tuple[Place, ...]
    known: frozenset[bytes]
    sides: frozenset[bytes] = frozenset()
    posts: tuple[Post, ...] = ()
    intents: tuple[Intent, ...] = ()
    typed: frozenset[str] = frozenset()
    swallowed: frozenset[tuple[str, str]] = frozenset()
    outdated: frozenset[str] = frozenset()
    at: tuple[tuple[str, object], ...] = ()

    def place(self, at: int, **changes: Any) -> Memory:
        """With one folder changed."""
        places = list(self.places)
        places[at] = places[at]._replace(**changes)
        return self._replace(places=tuple(places))


def text(*lines: str) -> bytes:
    """A memory of these lines."""
    return HEADER + "".join(f"{line}\n" for line in lines).encode()


def lines_of(content: bytes) -> list[str]:
    """The lines of a memory's body."""
    return content.removeprefix(HEADER).decode().removesuffix("\n").split("\n")


@lru_cache(maxsize=1 << 16)
def letters(content: bytes) -> frozenset[str]:
    """The actors whose line stands in a text."""
    return frozenset(found[-1] for found in lines_of(content) if found.startswith("line of "))


def start(actors: str, places: int) -> Memory:
    """Everybody has the same text, and nobody has done anything."""
    content = text(*LINES)
    return Memory(
        content, (Place(content, Shown(content)),) * places, frozenset((content,)), at=tuple((x, 0) for x in actors)
    )


# --- the inbox


@lru_cache(maxsize=1 << 16)
def _take(row: Row, head: bytes, seen: bytes | None) -> Step:
    return take(row, head, seen)


@lru_cache(maxsize=1 << 16)
def _unsigned(text: bytes, head: bytes, known: frozenset[bytes], older: bool) -> Step | None:
    return unsigned(text, head, known, older=older)


def take_one(memory: Memory, at: int, fault: str) -> Memory:
    """Works the next row of a folder in: rules 6 to 11."""
    memory = _hear_the_dead(memory, at)
    posts = [post for post in memory.posts if post.place == at]
    shown = memory.places[at].shown
    row = next_row([post.row for post in posts], shown.content, memory.known)
    post = next(post for post in posts if post.row is row)
    memory = memory._replace(posts=tuple(other for other in memory.posts if other is not post))
    if fault == "shown as the only base":
        memory = _step(memory, _take(replace(row, kind="write"), memory.head, shown.content))
        return memory._replace(known=memory.known | {row.result})
    memory = _absorb_text(memory, at, row.original, older=False)
    memory = _absorb_text(memory, at, post.seen, older=True)
    return _know(_step(memory, _take(row, memory.head, post.seen)), at, row.result)


def take_all(memory: Memory, at: int, fault: str) -> Memory:
    """Works all rows of a folder in, then what dead sessions had found."""
    memory = _hear_the_dead(memory, at)
    while any(post.place == at for post in memory.posts):
        memory = take_one(memory, at, fault)
    for intent in memory.intents:
        if intent.dead and intent.place == at:
            memory = memory._replace(intents=tuple(other for other in memory.intents if other is not intent))
            if intent.found != memory.places[at].file:
                memory = _absorb_text(memory, at, intent.found, older=True)
    return memory


def _absorb_text(memory: Memory, at: int, content: bytes | None, *, older: bool) -> Memory:
    step = None if content is None else _unsigned(content, memory.head, memory.known, older)
    return memory if step is None or content is None else _know(_step(memory, step), at, content)


def _hear_the_dead(memory: Memory, at: int) -> Memory:
    """Rule 5: of a session that is heard of no more, the write that a row or the file was made from."""
    for intent in memory.intents:
        if intent.dead and intent.place == at and _was_there(memory, intent):
            left = tuple(other for other in memory.intents if other is not intent)
            memory = memory._replace(intents=left, posts=(*memory.posts, intent.post))
    return memory


def _was_there(memory: Memory, intent: Intent) -> bool:
    place, outcome = memory.places[intent.place], intent.outcome
    if outcome is None:
        return False
    posts = [post for post in memory.posts if post.place == intent.place]
    found = place.shown.since | {intent.found}
    if _is_of(place.file, outcome, place, found | {post.row.result for post in posts}):
        return True
    texts = [text for post in posts for text in (post.seen, post.row.original) if text is not None]
    return any(_is_of(text, outcome, place, found) for text in texts)


def _is_of(text: bytes, outcome: bytes, place: Place, others: frozenset[bytes]) -> bool:
    """Whether a text is an outcome, or was made from it rather than from any other."""
    if alike(text, outcome):
        return True
    likeliest = made_from(text, place.shown.content, others)
    return text not in others and made_from(text, likeliest, {outcome}) == outcome


def _step(memory: Memory, step: Step) -> Memory:
    if step.other is not None:
        return memory._replace(sides=memory.sides | {step.other}, known=memory.known | {step.other})
    return memory._replace(head=step.content, known=memory.known | {step.content})


def _know(memory: Memory, at: int, content: bytes) -> Memory:
    shown = memory.places[at].shown
    memory = memory.place(at, shown=shown._replace(since=shown.since | {content}))
    return memory._replace(known=memory.known | {content})


# --- a sync


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
        shown = shown._replace(content=place.file, since=frozenset())
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


def journal(memory: Memory, at: int, owner: str, put: bytes) -> Memory:
    """Rule 4: B is what will be put, and what was shown before is not forgotten."""
    before = memory.places[at].shown
    earlier = tuple(dict.fromkeys((before.content, *before.earlier)))
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
    assert kept.out is not None
    shown = memory.places[at].shown
    before = kept.before._replace(since=kept.before.since | shown.since, flagged=kept.before.flagged | shown.flagged)
    memory = _apply(memory, at, _decide(kept.out, before, memory.head))
    return memory._replace(known=memory.known | {kept.out})


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
