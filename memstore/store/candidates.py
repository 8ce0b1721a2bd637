"""The short-list for a prompt: at most 200 memories that have any of its telling things, and where they have them.

The index itself tells the places of each hit (an auxiliary function that hands them out), so no memory's text is
read and there is no second index. In a large store only the rarest things of a prompt are looked for: they find as
much as all of them, and what the others match would have to be ranked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple
from weakref import WeakSet

import apsw

from memstore.core.ranking import BODY, Candidate, Hits, Pool
from memstore.core.sought import Sought, Spelling
from memstore.store.connection import many
from memstore.store.reader import text_content
from memstore.store.search import ROWS, Filters, RankedRow, condition, corrections_first, estimated_rows, quoted

MOST = 200
_THINGS = 12  # the rarest eight words of a prompt find as much as all of them; an identifier has parts as well
_FEW = 24  # in a small store so many are looked for without counting first
_MOST_COUNTED = 192  # of a long prompt, from its beginning and its end: about what 300 words hold
_RANKING = "bm25(8.0, 4.0, 1.0)"

_prepared: WeakSet[apsw.Connection] = WeakSet()


@dataclass(frozen=True, slots=True)
class Found:
    """What is shown of a memory of the short-list. `superseded_by`: the id of the memory that corrects it."""

    id: str
    path: str
    name: str
    description: str
    type: str | None
    token: str
    version: int
    changed_at: int
    origin: str
    pinned: bool
    superseded_by: str | None


class _Phrase(NamedTuple):
    slot: int
    share: float
    expression: str


class _Collected(NamedTuple):
    """What the auxiliary function is given, and what it notes: of the store, and of each row."""

    phrases: Sequence[_Phrase]
    store: list[int]
    candidates: list[Candidate]


def candidates(connection: apsw.Connection, sought: Sequence[Sought], filters: Filters) -> Pool:
    """The memories that have any of these things, with their places; what is no living memory is left out."""
    newest = connection.execute("SELECT max(memory) FROM search_document").get or 0
    chosen, rows, kin_rows = _choose(connection, sought, newest)
    phrases = [phrase for number, thing in enumerate(chosen) for phrase in _phrases(number, thing, kin_rows[number])]
    if not phrases:
        return Pool(0, 0.0, (), (), (), [])
    collected = _collect(connection, phrases, filters, ranked=newest > MOST)
    listed = collected.candidates
    memories, size = collected.store or (0, 0)
    if newest <= MOST and len(sought) <= _FEW:
        # All that have anything are here: they can be counted.
        rows, kin_rows = _counted(listed, len(chosen))
    return Pool(memories, size / memories if memories else 0.0, tuple(chosen), tuple(rows), tuple(kin_rows), listed)


def bodies(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, str]:
    """The terms of these memories' bodies, parted by spaces."""
    statement = f"SELECT memory, body FROM search_document WHERE memory IN ({','.join('?' * len(keys))})"
    return dict(connection.execute(statement, tuple(keys)))


def written(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, str]:
    """The texts of these memories, as somebody wrote them."""
    statement = (
        "SELECT m.pk, t.content FROM memory AS m JOIN text AS t ON t.id = m.text"
        f" WHERE m.pk IN ({','.join('?' * len(keys))})"
    )
    rows = many(connection, statement, tuple(keys))
    return {key: text_content(content).decode("utf-8", "replace") for key, content in rows}


def found(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, Found]:
    """What is shown of these memories."""
    statement = (
        "SELECT m.pk, m.id, m.path, m.name, m.description, m.type, m.token, m.version, m.changed_at, m.origin,"
        " m.pinned, c.id FROM memory AS m LEFT JOIN memory AS c ON c.pk = m.superseded_by"
        f" WHERE m.pk IN ({','.join('?' * len(keys))})"
    )
    rows = many(connection, statement, tuple(keys))
    return {row[0]: Found(*[*row[1:10], bool(row[10]), row[11]]) for row in rows}


def behind_corrections(connection: apsw.Connection, keys: Sequence[int], filters: Filters) -> list[int]:
    """The same order, each corrected memory directly after its correction; one that was not found is taken in."""
    statement = f"SELECT pk, superseded_by FROM memory WHERE pk IN ({','.join('?' * len(keys))})"
    corrected = {key: by for key, by in many(connection, statement, tuple(keys)) if by is not None}
    ranked = [RankedRow(key, 0.0, "any") for key in keys]
    return [row.pk for row in corrections_first(connection, ranked, corrected, filters)]


def _counted(listed: Sequence[Candidate], things: int) -> tuple[list[float], list[float]]:
    """In how many bodies each thing is: itself, and with its kin."""
    rows, kin_rows = [0.0] * things, [0.0] * things
    for one in listed:
        found = set()
        for slot, hits in one.hits.items():
            if hits[BODY]:
                found.add(slot >> 1)
                rows[slot >> 1] += not slot & 1
        for thing in found:
            kin_rows[thing] += 1
    return rows, kin_rows


def _choose(
    connection: apsw.Connection, sought: Sequence[Sought], newest: int
) -> tuple[list[Sought], list[float], list[float]]:
    """The things worth looking for, rarest first, and in how many bodies they are: themselves, and with their kin.
    0 for the latter where their kin is not worth looking for."""
    if newest <= MOST and len(sought) <= _FEW:
        return list(sought), [0.0] * len(sought), [1.0] * len(sought)
    if len(sought) > _FEW:
        # Of a long prompt only what names something: the rest would be among the commonest anyway, and counting costs.
        sought = [thing for thing in sought if thing.weight >= 1] or sought
        if len(sought) > _MOST_COUNTED:
            sought = [*sought[: _MOST_COUNTED // 2], *sought[-_MOST_COUNTED // 2 :]]
    counted = []
    for thing in sought:
        expression = " OR ".join(map(_expression, thing.same))
        found = estimated_rows(connection, expression, newest)
        if found or thing.kin:
            counted.append((found, expression, thing))
    counted.sort(key=lambda one: one[0])
    chosen: list[Sought] = []
    rows: list[float] = []
    total = 0.0
    for found, expression, thing in counted[:_THINGS]:
        total += found
        if chosen and total > ROWS:
            break
        chosen.append(thing)
        rows.append(found and estimated_rows(connection, f"body: ({expression})", newest))
    kin_rows = [0.0] * len(chosen)
    for number, thing in enumerate(chosen):
        if thing.kin and total < ROWS:
            theirs = estimated_rows(connection, " OR ".join(map(quoted, thing.kin)), newest)
            if total + theirs <= ROWS:
                total += theirs
                kin_rows[number] = min(float(newest), rows[number] + theirs)
    return chosen, rows, kin_rows


def _phrases(number: int, thing: Sought, kin_rows: float) -> list[_Phrase]:
    phrases = [_Phrase(2 * number, spelling.share, _expression(spelling)) for spelling in thing.same]
    if kin_rows:
        phrases += [_Phrase(2 * number + 1, 1.0, quoted(terms)) for terms in thing.kin]
    return phrases


def _expression(spelling: Spelling) -> str:
    return quoted(spelling.terms) + "*" if spelling.prefix else quoted(spelling.terms)


def _collect(connection: apsw.Connection, phrases: Sequence[_Phrase], filters: Filters, *, ranked: bool) -> _Collected:
    if connection not in _prepared:
        connection.register_fts5_function("memstore_places", _note_places)
        _prepared.add(connection)
    collected = _Collected(phrases, [], [])
    where, values = condition(filters)
    statement = (
        "SELECT memstore_places(s.search_index, ?) FROM search_index AS s CROSS JOIN memory AS m ON m.pk = s.rowid"
        f" WHERE s.search_index MATCH ? AND {where}"
    )
    if ranked:
        # FTS5 hands its rows out by rank, and the places are asked for only of those that the limit lets through.
        statement += f" AND s.rank MATCH '{_RANKING}' ORDER BY s.rank LIMIT {MOST}"
    expression = " OR ".join(phrase.expression for phrase in phrases)
    for _ in connection.execute(statement, (apsw.pyobject(collected), expression, *values)):
        pass
    return collected


def _note_places(api: apsw.FTS5ExtensionApi, /, *given: Any) -> None:
    collected: _Collected = given[0]
    if not collected.store:
        collected.store[:] = api.row_count, api.column_total_size(-1)
    hits: Hits = {}
    for number, (slot, share, _) in enumerate(collected.phrases):
        for column in api.phrase_columns(number):
            known = hits.get(slot)
            if known is None:
                known = hits[slot] = ({}, {}, {})
            places, offsets = known[column], api.phrase_column_offsets(number, column)
            if not places:
                places.update(zip(offsets, repeat(share)))
                continue
            for offset in offsets:
                # Spellings stand by what they count: one that another one includes changes nothing.
                places.setdefault(offset, share)
    sizes = (api.column_size(0), api.column_size(1), api.column_size(2))
    collected.candidates.append(Candidate(api.rowid, sizes, hits))
