"""`search`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from memstore.cli import inputs, terminal
from memstore.cli.state import State, json_option
from memstore.cli.telling import tell_doubts
from memstore.cli.terminal import plural, printable
from memstore.core.excerpt import excerpt
from memstore.core.fences import split
from memstore.core.model import SHELF, WORDS_OF_TOOLS
from memstore.core.terms import Query, parse_query
from memstore.errors import Mendable
from memstore.store.search import Filters, Hit, clamp_limit

if TYPE_CHECKING:
    from memstore.store.store import Store

Marks = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """A hit with the project it is in, and the piece of its text that shows why it was found."""

    project: str
    hit: Hit
    text: str
    marks: Marks


@click.command(cls=inputs.WordsCommand)
@click.argument("words", nargs=-1, required=True)
@inputs.type_filter
@inputs.scope_filter
@inputs.since_option
@inputs.limit_option(20, "memories", clamped=True)
@click.option("--retired", is_flag=True, help="Find retired memories too.")
@click.option("--all-projects", is_flag=True, help="Search every project that has a store, and name it.")
@json_option
@click.pass_obj
def search(
    state: State,
    words: tuple[str, ...],
    types: tuple[str, ...],
    scopes: tuple[str, ...],
    since: int | None,
    limit: int,
    retired: bool,
    all_projects: bool,
) -> None:
    """Find memories by words, in any script.

    First the memories that have all words, then those that have some. Where hits cannot be shown in bold they
    stand in «such marks». A word with a dash before it that is no option is a word.
    """
    text = " ".join(words)
    filters = Filters(types, scopes or (SHELF.scope,), (), since, retired)
    limit = clamp_limit(limit)
    query = parse_query(text)
    if not query.words:
        state.note(f"there is no word in {text[:80]!r} to search for: give letters, digits or a name")
    unavailable: list[tuple[str, str]] = []
    doubts: list[str] = []
    if all_projects:
        found = _everywhere(state, text, query, filters, limit + 1, unavailable, doubts)
    else:
        found = _here(state, text, query, filters, limit + 1, doubts)
    more, found = len(found) > limit, found[:limit]
    for project, reason in unavailable:
        state.note(f"not searched: {project}: {reason}")
    if state.json:
        state.emit("search", {**_shape(query, found, more, unavailable), "notices": doubts})
        return
    state.say("\n".join(_told(found, all_projects)))
    state.note(_summary(found, more))


def _here(state: State, text: str, query: Query, filters: Filters, limit: int, doubts: list[str]) -> list[_Found]:
    with state.open() as memories:
        hits = memories.search(text, filters=filters, limit=limit)[1]
        doubts += tell_doubts(state, memories)
        return [_found(memories.store, memories.place.root.path, hit, query) for hit in hits]


def _everywhere(
    state: State,
    text: str,
    query: Query,
    filters: Filters,
    limit: int,
    unavailable: list[tuple[str, str]],
    doubts: list[str],
) -> list[_Found]:
    """The best of all stores. Each store's order is kept: a correction stands before what it corrects."""
    from heapq import merge

    lists: list[list[_Found]] = []
    for project, search_in in _stores(state, text, query, filters, limit, doubts):
        try:
            lists.append(search_in())
        except Mendable as error:
            unavailable.append((project, str(error)))
    ranked = merge(*map(_ranked, lists), key=lambda pair: pair[0])
    return [found for _, found in list(ranked)[:limit]]


def _stores(
    state: State, text: str, query: Query, filters: Filters, limit: int, doubts: list[str]
) -> Iterator[tuple[str, Callable[[], list[_Found]]]]:
    """Each project, and how to search in it: the present one as usual, the others as they stand."""
    from memstore.cli.where import look
    from memstore.store.store import Store

    world = state.world()
    place, _ = look(world)

    def elsewhere(project: str, store: str) -> list[_Found]:
        opened = Store.open(place.home.store_directory(store), store, world.clock, writable=False)
        try:
            return [_found(opened, project, hit, query) for hit in opened.search(query, filters, limit)]
        finally:
            opened.close()

    seen = {place.store}
    if place.store is not None:
        yield place.root.path, lambda: _here(state, text, query, filters, limit, doubts)
    for entry in place.home.entries():
        if entry.store not in seen:
            seen.add(entry.store)
            yield entry.root, lambda entry=entry: elsewhere(entry.root, entry.store)  # type: ignore[misc] # bound now


def _ranked(found: Sequence[_Found]) -> Iterator[tuple[tuple[bool, float], _Found]]:
    worst = (False, float("-inf"))
    for one in found:
        worst = max(worst, (one.hit.matched == "any", -one.hit.score))
        yield worst, one


def _found(store: Store, project: str, hit: Hit, query: Query) -> _Found:
    memory = store.memory(hit.id)
    body = b"" if memory is None else split(memory.state.content)[1]
    text, marks = excerpt(body.decode("utf-8", "replace"), query)
    return _Found(project, hit, text, marks)


def _told(found: Sequence[_Found], all_projects: bool) -> Iterator[str]:
    for one in found:
        hit = one.hit
        notes = [hit.type or "no type"]
        if hit.superseded_by is not None:
            notes.append("superseded by the one before")
        if hit.origin == "tool":
            notes.append(WORDS_OF_TOOLS)
        if all_projects:
            notes.append(one.project)
        yield f"{terminal.bold(printable(hit.path))}  [{printable(', '.join(notes))}]"
        if hit.description:
            yield f"    {printable(hit.description)}"
        if one.text:
            yield f"    {terminal.marked(one.text, one.marks)}"


def _summary(found: Sequence[_Found], more: bool) -> str:
    if not found:
        return "no memory was found"
    whole = sum(one.hit.matched == "all" for one in found)
    count = plural(len(found), "memory", "memories") + (" and more (--limit)" if more else "")
    return f"{count} found, {whole} with all words"


def _shape(query: Query, found: Sequence[_Found], more: bool, unavailable: list[tuple[str, str]]) -> dict[str, object]:
    from memstore.cli.shaping import moment_shape

    return {
        "words": [word.text for word in query.words],
        "hits": [
            {
                "project": one.project,
                "id": one.hit.id,
                "path": one.hit.path,
                "name": one.hit.name,
                "description": one.hit.description,
                "type": one.hit.type,
                "scope": one.hit.scope,
                "layer": one.hit.layer,
                "token": one.hit.token,
                "version": one.hit.version,
                "changed_at": moment_shape(one.hit.changed_at),
                "origin": one.hit.origin,
                "superseded_by": one.hit.superseded_by,
                "score": one.hit.score,
                "matched": one.hit.matched,
                "excerpt": one.text,
                "marks": [list(span) for span in one.marks],
            }
            for one in found
        ],
        "more": more,
        "unavailable": [{"project": project, "reason": reason} for project, reason in unavailable],
    }
