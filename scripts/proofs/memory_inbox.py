"""The inbox of one memory, by the rules of `core/inbox.py`: what their caller has to do, in its plainest form.

A fault, planted by its name, breaks that: the search has to find what is lost then.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from memstore.core.inbox import Row, Step, happened, next_row, take, unsigned
from scripts.proofs.memory_state import Intent, Memory


@lru_cache(maxsize=1 << 16)
def _take(row: Row, head: bytes, seen: bytes | None) -> Step:
    return take(row, head, seen)


@lru_cache(maxsize=1 << 16)
def _unsigned(text: bytes, head: bytes, known: frozenset[bytes], shown: bytes, older: bool) -> Step | None:
    return unsigned(text, head, known, shown, older=older)


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
    if content is None or content in memory.known:
        return memory
    step = _unsigned(content, memory.head, _lay_there(memory), memory.places[at].shown.content, older)
    return memory if step is None else _know(_step(memory, step), at, content)


def _lay_there(memory: Memory) -> frozenset[bytes]:
    """The texts that have been in a file; a head need not have been."""
    shown = [place.shown for place in memory.places]
    return frozenset(text for each in shown for text in (each.content, *each.since, *each.replaced, *each.earlier))


def merge_older(memory: Memory, content: bytes, base: bytes) -> Memory:
    """Takes in what a text has that its base has not; what it lacks may be younger than it is."""
    step = _unsigned(content, memory.head, frozenset((base,)), base, True)
    return memory if step is None else _step(memory, step)


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
    told = [text for post in posts for text in (post.seen, post.row.original)]
    texts = [text for text in (*told, *(kept.out for kept in place.kept)) if text is not None]
    others = place.shown.since | {intent.found}
    results = {post.row.result for post in posts}
    return happened(outcome, place.file, texts, place.shown.content, others, results)


def _step(memory: Memory, step: Step) -> Memory:
    if step.other is not None:
        return memory._replace(sides=memory.sides | {step.other}, known=memory.known | {step.other})
    return memory._replace(head=step.content, known=memory.known | {step.content})


def _know(memory: Memory, at: int, content: bytes) -> Memory:
    shown = memory.places[at].shown
    memory = memory.place(at, shown=shown._replace(since=shown.since | {content}))
    return memory._replace(known=memory.known | {content})
