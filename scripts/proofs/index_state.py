"""MEMORY.md in small histories: rows, the file, sessions that rewrite it whole, and what a sync does with it.

The rules are the real ones (`core/index.py`, the order of rows by `core/inbox.py`); what is written here is their
caller's part. A fault, planted by its name, breaks that.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from memstore.core.inbox import Row, made_from, next_row
from memstore.core.index import (
    AddLine,
    BaseIndex,
    Change,
    ChangeLine,
    Entry,
    IndexEdit,
    Line,
    List,
    MoveLine,
    Resolve,
    RetireLine,
    Unlist,
    base_of,
    due_lines,
    in_order,
    last_rank,
    loaded_view,
    merge,
    rank_between,
    render,
    take_in,
)

TOPICS = ("alpha", "beta", "delta")
START = "# Notes\n\n" + "".join(f"- [{name}]({name}.md) — about {name}\n" for name in TOPICS) + "\nepsilon\n"
VIEW = loaded_view(START)
NEW = "tool"
"""The topic that a tool makes."""

ROUNDS = 6


class Shown(NamedTuple):
    """B: a text, the row of each of its lines, and the texts known since."""

    text: str
    ids: tuple[str, ...]
    since: frozenset[str] = frozenset()


class Kept(NamedTuple):
    """What came out of an exchange; `owner` looks at it, nobody in particular once that process is dead."""

    owner: str
    before: Shown
    out: str


class Post(NamedTuple):
    """An inbox row, and what its session had seen; None for an edit."""

    row: Row
    seen: str | None


class Index(NamedTuple):
    """One moment. `live`: the topics in the store; `files`: those in the folder; `busy`: sessions with an open intent.

    `typed`, `swallowed`, `outdated`: as in `memory_state`.
    """

    rows: tuple[Line, ...]
    live: frozenset[str]
    files: frozenset[str]
    file: str
    shown: Shown
    known: frozenset[str]
    unlisted: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    posts: tuple[Post, ...] = ()
    busy: frozenset[str] = frozenset()
    kept: tuple[Kept, ...] = ()
    typed: frozenset[str] = frozenset()
    swallowed: frozenset[str] = frozenset()
    outdated: frozenset[str] = frozenset()
    at: tuple[tuple[str, object], ...] = ()


def start(actors: str) -> Index:
    """Everybody has the same index, and nobody has done anything."""
    live = frozenset(TOPICS)
    rows = _applied((), take_in(START, _resolver(live)))
    text, ids = rendered(rows)
    return Index(rows, live, live, text, Shown(text, ids), frozenset((text,)), at=tuple((x, 0) for x in actors))


def rendered(rows: tuple[Line, ...]) -> tuple[str, tuple[str, ...]]:
    """The file, and the row of each of its lines. (So few lines that all have room.)"""
    rendering = render(rows, {})
    return rendering.text, tuple(row for row, _ in rendering.lines)


def entry(name: str) -> Entry:
    """A topic as the index knows it."""
    return Entry(f"m-{name}", f"{name}.md", name, f"line of {name}", "project", False, False, False, 1, "due")


def make_topic(index: Index) -> Index:
    """A tool writes a memory, and it is listed."""
    rows = _applied(index.rows, due_lines(index.rows, {f"m-{NEW}": entry(NEW)}))
    return index._replace(rows=rows, live=index.live | {NEW})


def add_row(index: Index, text: str) -> Index:
    """A tool adds a line of its own at the end."""
    rank = rank_between(last_rank(index.rows), None)
    return index._replace(rows=_applied(index.rows, [AddLine(text, "free", None, rank, "hand")]))


# --- edits


@lru_cache
def _resolver(live: frozenset[str]) -> Resolve:
    """From a topic file's path to its memory."""
    return {f"{name}.md": f"m-{name}" for name in live}.get


@lru_cache(maxsize=1 << 17)
def _merge(base: BaseIndex, rows: tuple[Line, ...], text: str, live: frozenset[str]) -> IndexEdit:
    return merge(base, rows, text, _resolver(live))


def edit(index: Index, base: str, text: str) -> Index:
    """The rows after somebody made `text` of `base`."""
    found = _merge(_base(base, index.shown.text, index.shown.ids), index.rows, text, index.live)
    unlisted = index.unlisted
    for change in found.changes:
        if isinstance(change, Unlist):
            unlisted |= {change.memory}
        elif isinstance(change, List):
            unlisted -= {change.memory}
    sides = index.sides | {conflict.line for conflict in found.conflicts}
    return index._replace(rows=_applied(index.rows, found.changes), unlisted=unlisted, sides=sides)


@lru_cache(maxsize=1 << 16)
def _base(text: str, shown: str, ids: tuple[str, ...]) -> BaseIndex:
    return base_of(text, shown, ids)


def _applied(rows: tuple[Line, ...], changes: Iterable[Change]) -> tuple[Line, ...]:
    """The rows after the changes: what the store does with them in SQL. Versions are nobody's business here."""
    kept = {row.id: row for row in rows}
    for change in changes:
        match change:
            case AddLine(text, kind, memory, rank, hook_by):
                identity = f"{rank} {text}"
                assert identity not in kept
                kept[identity] = Line(identity, text, kind, memory, rank, hook_by, 1, 1)
            case ChangeLine(identity, text, kind, memory, hook_by):
                kept[identity] = kept[identity]._replace(text=text, kind=kind, memory=memory, hook_by=hook_by)
            case RetireLine(identity):
                del kept[identity]
            case MoveLine(identity, rank):
                kept[identity] = kept[identity]._replace(rank=rank)
    return tuple(in_order(kept.values()))


# --- the inbox and a sync


def take_one(index: Index, fault: str) -> Index:
    """Works the next row in: the base is what its session had."""
    known = frozenset(text.encode() for text in index.known)
    row = next_row([post.row for post in index.posts], index.shown.text.encode(), known)
    post = next(post for post in index.posts if post.row is row)
    index = index._replace(posts=tuple(other for other in index.posts if other is not post))
    original, result = (row.original or b"").decode(), row.result.decode()
    if fault == "shown as the only base":
        return edit(index, index.shown.text, result)._replace(known=index.known | {result})
    if original not in index.known:
        index = _know(edit(index, _made_from(original, index.shown.text, index.known), original), original)
    base = original if post.seen is None else post.seen
    if base not in (*index.known, VIEW):
        shared = _shared(_made_from(base, index.shown.text, index.known), base)
        index = _know(edit(index, shared, base), base)
    return _know(edit(index, base, result), result)


def _made_from(text: str, shown: str, others: frozenset[str]) -> str:
    return made_from(text.encode(), shown.encode(), frozenset(other.encode() for other in others)).decode()


def _shared(base: str, text: str) -> str:
    """Of a base the lines that a text still has: it takes nothing out then."""
    left = text.split("\n")
    return "\n".join(line for line in base.split("\n") if line in left)


def _know(index: Index, text: str) -> Index:
    shown = index.shown._replace(since=index.shown.since | {text})
    return index._replace(shown=shown, known=index.known | {text})


def take_all(index: Index, fault: str) -> Index:
    """Works all rows in."""
    while index.posts:
        index = take_one(index, fault)
    return index


def absorb(index: Index, fault: str) -> Index:
    """Inbox, what dead processes left, then the file."""
    if fault == "scan before the inbox":
        return take_all(_scan(_resume(index)), fault)
    return _scan(_resume(take_all(index, fault)))


def _resume(index: Index) -> Index:
    for kept in index.kept:
        if not kept.owner:
            left = tuple(other for other in index.kept if other is not kept)
            index = _pass(index._replace(kept=left), kept)
    return index


def _scan(index: Index) -> Index:
    text, shown = index.file, index.shown
    if text == shown.text:
        return index
    if text not in shown.since:
        index = edit(index, _made_from(text, shown.text, shown.since), text)
    whole, ids = rendered(index.rows)
    accepted = tuple(line.row or "" for line in base_of(text, whole, ids))
    return index._replace(shown=Shown(text, accepted), known=index.known | {text})


def exchange(index: Index, owner: str, put: tuple[str, tuple[str, ...]], expected: str, fault: str) -> Index:
    """Puts the index, and keeps what comes out unless that was expected."""
    kept, before = index.kept, index.shown
    if index.file != expected and fault != "rename instead of exchange":
        kept = (*kept, Kept(owner, before, index.file))
    return index._replace(file=put[0], shown=Shown(*put), known=index.known | {put[0]}, kept=kept)


def look(index: Index, owner: str, fault: str) -> Index:
    """What came out passes the rules with the previous B."""
    index = take_all(index, fault)
    kept = next(kept for kept in index.kept if kept.owner == owner)
    return _pass(index._replace(kept=tuple(other for other in index.kept if other is not kept)), kept)


def _pass(index: Index, kept: Kept) -> Index:
    """By a base that is older than what is shown now; one that may be younger takes nothing out."""
    now, before, out = index.shown, kept.before, kept.out
    if out in before.since | now.since:
        return index
    base = _made_from(out, before.text, before.since)
    nearer = _made_from(out, base, now.since)
    base = base if nearer == base else _shared(nearer, out)
    index = edit(index._replace(shown=before), base, out)
    return index._replace(shown=now, known=index.known | {out})


def settle(index: Index, fault: str) -> tuple[Index, bool]:
    """Syncs until nothing moves any more; whether that came to be."""
    for _ in range(ROUNDS):
        before = index
        index = absorb(index, fault)
        put = rendered(index.rows)
        index = index._replace(files=index.files | index.live)
        if put[0] != index.file:
            index = exchange(index, "settle", put, index.file, fault)
        if index == before:
            return index, True
    return index, False
