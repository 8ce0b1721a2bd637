"""Answers that list: stores, documents, what a search found, what was done. One JSON object a line, in pages."""

from __future__ import annotations

import os
from collections.abc import Sequence

from memstore.app import Memstore
from memstore.claude.agents import Agent, committed
from memstore.core.excerpt import excerpt
from memstore.core.frontmatter import split
from memstore.core.model import INDEX_NAME, Memory, Operation
from memstore.core.names import check_path
from memstore.errors import NameRefused
from memstore.mcp.answers import Answer, answer, dumped, moment
from memstore.mcp.desk import AGENT, STORES
from memstore.mcp.pages import fitting, number_cursor, refused, shortened
from memstore.mcp.reading import doubt, words_of
from memstore.store import reader
from memstore.store.search import MOST_HITS, Filters, Hit
from memstore.store.store import Made

_MOST = 200
_AGENTS = 20
_EXCERPTS = 3
"""How many hits of a page are shown with a piece of their text: the best one, and those without a description."""


def stores(memories: Memstore | None, agents: Sequence[Agent] = ()) -> Answer:
    """The stores that can be opened: the project's, and those of agents."""
    writable = memories is None or memories.store.writable
    found = [
        {"id": store, "description": words, "access": "rw" if writable else "ro", "index": INDEX_NAME}
        for store, words in STORES.items()
    ]
    for agent in agents[:_AGENTS]:
        words, access = f"The own memory of the agent {agent.name}, scope {agent.scope}.", "rw" if writable else "ro"
        if committed(agent.directory):
            words, access = f"{words} git keeps it: change its files.", "ro"
        found.append({"id": AGENT + agent.address, "description": words, "access": access, "index": INDEX_NAME})
    return answer({"stores": found})


def listing(memories: Sequence[Memory], prefix: str, after: str | None) -> Answer:
    """A page of the documents whose path begins with `prefix`, by path, from behind the path `after`."""
    if after is not None:
        try:
            check_path(after)
        except NameRefused:
            raise refused() from None
    found = sorted((one for one in memories if one.path.startswith(prefix)), key=lambda one: one.path)
    rest = [one for one in found if after is None or one.path > after]
    told = [dumped(_listed(one)) for one in rest[:_MOST]]
    number = fitting(told)
    following = rest[number - 1].path if number < len(rest) else None
    return answer({"documents": len(found), "next": following}, "\n".join(told[:number]))


def searching(memories: Memstore | None, text: str, kind: str | None, limit: int, cursor: str | None) -> Answer:
    """A page of what was found, best first."""
    start = number_cursor(cursor)
    if memories is None:
        return answer({"found": 0}, "")
    filters = Filters(scopes=(memories.shelf.scope,), types=() if kind is None else (kind,))
    query, hits = memories.search(text, filters=filters, limit=min(start + limit + 1, MOST_HITS))
    page = hits[start : start + limit]
    excerpts: dict[str, str] = {}
    best = [hit.id for at, hit in enumerate(page) if at + start == 0 or not hit.description][:_EXCERPTS]
    if best:
        with memories.store.view() as connection:
            heads = [reader.by_id(connection, memory) for memory in best]
        for head in filter(None, heads):
            excerpts[head.id] = excerpt(split(head.state.content)[1].decode("utf-8", "replace"), query)[0]
    told = [dumped(_hit(hit, excerpts.get(hit.id))) for hit in page]
    number = fitting(told)
    more = start + number < len(hits)
    facts = {"found": number, "note": doubt(memories), "next": str(start + number) if more else None}
    return answer(facts, "\n".join(told[:number]))


def history(memories: Memstore, path: str | None, limit: int, cursor: str | None) -> Answer:
    """A page of operations, newest first."""
    before = None if cursor is None else number_cursor(cursor)
    found = memories.log(path, before=before, limit=limit + 1)
    told = [dumped(_done(operation, made)) for operation, made in found[:limit]]
    number = fitting(told)
    # By number, not by place: what is done meanwhile moves nothing.
    following = str(found[number - 1][0].seq) if number < len(found) else None
    return answer({"operations": number, "next": following}, "\n".join(told[:number]))


def _listed(memory: Memory) -> dict[str, object]:
    return {
        "path": memory.path,
        "size": len(memory.state.content),
        "date": moment(memory.changed_at),
        "type": memory.type,
        "words_of": words_of(memory.origin),
        "description": shortened(memory.description) or None,
    }


def _hit(hit: Hit, text: str | None) -> dict[str, object]:
    return {
        "path": hit.path,
        "version": hit.token,
        "type": hit.type,
        "words_of": words_of(hit.origin),
        "date": moment(hit.changed_at),
        "description": shortened(hit.description) or None,
        "excerpt": text or None,
        "words": hit.matched,
        "superseded": True if hit.superseded_by is not None else None,
    }


def _done(operation: Operation, made: Made) -> dict[str, object]:
    by = operation.provenance
    return {
        "operation": operation.seq,
        "date": moment(operation.at),
        "kind": operation.kind,
        "by": by.origin,
        "author": by.author or None,
        "session": by.session,
        "worktree": os.path.basename(by.worktree) if by.worktree else None,
        "branch": by.branch,
        "reason": shortened(operation.reason) or None,
        "documents": [{"path": path, "change": change, "version": token} for path, change, _, token in made[:20]],
        "more_documents": len(made) - 20 if len(made) > 20 else None,
    }
