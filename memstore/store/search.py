"""Finds memories by words.

First the memories that have all words, then those that have any of the telling ones. What a person typed
reaches FTS5 only as quoted strings of terms.

FTS5 finds rows far faster than it ranks them (0.03 against 0.7 microseconds a row), so cost is bounded by the
rows ranked: any-word queries are cut to their rarest terms, and where too many memories have all the words,
those with the words in name and description are ranked first, then the newest of the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apsw

from memstore.core.terms import Query, Word
from memstore.errors import InputRefused

DEFAULT_LIMIT = 20
MOST_HITS = 1000

_RANKING = "bm25(16.0, 4.0, 1.0)"  # name over description over body
_WINDOW = 200  # ranked rows among which a correction is put before what it corrects; pages are cut afterwards
_MOST_WORDS_TOGETHER = 32  # nobody's memory has all words of a longer text
_TERMS = 8  # the rarest eight terms of a prompt find as much as all of them
_SAMPLE = 256  # matching rows looked at to estimate how many there are
ROWS = 6_000  # about as many can be ranked in 4 ms


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories may be found. Empty: any. `since`: changed at or after, unix microseconds."""

    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    since: int | None = None
    include_retired: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that was found. `score`: higher is better, within one search and `matched`."""

    memory: int
    score: float
    matched: Literal["all", "any"]
    id: str
    path: str
    name: str
    description: str
    type: str | None
    scope: str
    layer: str
    token: str
    version: int
    changed_at: int
    origin: str
    superseded_by: str | None  # the id of the memory that corrects this one; that stands just before it


class RankedRow(NamedTuple):
    """A memory's place, before what is shown of it is read."""

    pk: int
    score: float
    matched: Literal["all", "any"]


def clamp_limit(value: object, default: int = DEFAULT_LIMIT) -> int:
    """A number of hits from 1 to MOST_HITS; None is the default. Raises InputRefused otherwise."""
    if value is None:
        return default
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        number = int(value)
    except (ValueError, OverflowError):
        raise InputRefused(
            f"the limit {str(value)[:40]!r} is not a whole number",
            hint=f"give a number from 1 to {MOST_HITS}",
        ) from None
    return max(1, min(number, MOST_HITS))


def search(connection: apsw.Connection, query: Query, filters: Filters, limit: int, offset: int = 0) -> list[Hit]:
    """The best memories, `limit` of them from `offset` on. A query without words finds nothing."""
    words = query.content
    limit, offset = clamp_limit(limit), max(0, min(offset, 10_000))
    if not words:
        return []
    window = max(_WINDOW, offset + limit)
    ranked: list[RankedRow] = []
    corrected: dict[int, int] = {}
    newest = connection.execute("SELECT max(memory) FROM search_document").get or 0
    if len(words) <= _MOST_WORDS_TOGETHER:
        together = all_of(words)
        if estimated_rows(connection, together, newest) <= ROWS:
            _rank(connection, together, filters, window, "all", ranked, corrected)
        else:
            _rank(connection, f"{{name description}}: ({together})", filters, window, "all", ranked, corrected)
            if len(ranked) < offset + limit:
                _rank(connection, together, filters, window, "all", ranked, corrected, among=ROWS)
    if len(ranked) < offset + limit:
        telling = _rarest(connection, words, newest)
        if telling:
            _rank(connection, " OR ".join(telling), filters, window, "any", ranked, corrected)
    ranked = corrections_first(connection, ranked, corrected, filters)
    return _hits(connection, ranked[offset : offset + limit])


def check_index(connection: apsw.Connection) -> bool:
    """Does the index hold exactly the terms of the search documents? Needs a writable connection."""
    try:
        connection.execute("INSERT INTO search_index (search_index, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return False
    return True


def rebuild_index(connection: apsw.Connection) -> None:
    """Makes the index anew from the search documents. Call it within a write transaction."""
    connection.execute("INSERT INTO search_index (search_index) VALUES ('rebuild')")


def quoted(terms: str) -> str:
    """Terms as an expression of FTS5: nothing in them is syntax."""
    return '"' + terms.replace('"', '""') + '"'


def all_of(words: Iterable[Word]) -> str:
    """The words as an expression of FTS5: true where each of them occurs."""
    return " AND ".join(map(_whole, words))


def _whole(word: Word) -> str:
    """True where the whole word occurs; the more of its spellings, the better the rank."""
    spellings = [quoted(terms) for terms in (*word.exact, *word.bonus)]
    if word.prefix:
        spellings.append(quoted(word.exact[0]) + "*")
    return f"({' OR '.join(spellings)})" if len(spellings) > 1 else spellings[0]


def _any_of(word: Word) -> Iterable[str]:
    if word.prefix:
        yield quoted(word.exact[0]) + "*"
    yield from map(quoted, word.exact)
    yield from map(quoted, word.parts)


def _rarest(connection: apsw.Connection, words: tuple[Word, ...], newest: int) -> list[str]:
    """The rarest of the words' terms that occur at all, as expressions."""
    terms = dict.fromkeys(term for word in words for term in _any_of(word))
    found = [(rows, term) for term in terms if (rows := estimated_rows(connection, term, newest))]
    found.sort(key=lambda pair: pair[0])
    chosen: list[str] = []
    total = 0.0
    for rows, term in found[:_TERMS]:
        total += rows
        if chosen and total > ROWS:
            break
        chosen.append(term)
    return chosen


def estimated_rows(connection: apsw.Connection, term: str, newest: int) -> float:
    """About how many memories match: told by how far the first _SAMPLE of them reach, cheap for any word."""
    count, reach = connection.execute(
        "SELECT count(*), max(rowid) FROM (SELECT rowid FROM search_index WHERE search_index MATCH ? LIMIT ?)",
        (term, _SAMPLE),
    ).get
    return float(count) if count < _SAMPLE else _SAMPLE * newest / reach


def _rank(
    connection: apsw.Connection,
    expression: str,
    filters: Filters,
    window: int,
    matched: Literal["all", "any"],
    ranked: list[RankedRow],
    corrected: dict[int, int],
    *,
    among: int | None = None,
) -> None:
    """Appends the best rows that are not ranked yet (of the newest `among`), and notes what corrects them."""
    allowed, values = condition(filters)
    known = {row.pk for row in ranked}
    # FTS5 hands its rows out by rank and the join keeps that order, so LIMIT ends the join early.
    statement = (
        "SELECT m.pk, s.rank, m.superseded_by FROM search_index AS s CROSS JOIN memory AS m ON m.pk = s.rowid"
        f" WHERE s.search_index MATCH ? AND s.rank MATCH '{_RANKING}' AND {allowed}"
    )
    if among is None:
        statement += " ORDER BY s.rank LIMIT ?"
        limits = [window + len(known)]
    else:
        statement = f"SELECT * FROM ({statement} ORDER BY s.rowid DESC LIMIT ?) ORDER BY 2 LIMIT ?"
        limits = [among, window + len(known)]
    for pk, rank, correction in connection.execute(statement, (expression, *values, *limits)):
        if pk not in known:
            ranked.append(RankedRow(pk, -rank, matched))
            if correction is not None:
                corrected[pk] = correction


def condition(filters: Filters) -> tuple[str, list[str | int]]:
    """The filters as SQL over the memory `m`, and its values."""
    parts = ["true" if filters.include_retired else "m.state = 'live'"]
    values: list[str | int] = []
    for column, wanted in (("type", filters.types), ("scope", filters.scopes), ("layer", filters.layers)):
        if wanted:
            parts.append(f"m.{column} IN ({','.join('?' * len(wanted))})")
            values += wanted
    if filters.since is not None:
        parts.append("m.changed_at >= ?")
        values.append(filters.since)
    return " AND ".join(parts), values


def corrections_first(
    connection: apsw.Connection, ranked: list[RankedRow], corrected: dict[int, int], filters: Filters
) -> list[RankedRow]:
    """Each corrected memory directly after its correction, the group where its best member stood.

    A correction that was not found itself is taken in, if the filters allow it.
    """
    if not corrected:
        return ranked
    rows = {row.pk: row for row in ranked}
    while missing := [row for row in rows.values() if corrected.get(row.pk, row.pk) not in rows]:
        allowed = _allowed(connection, {corrected[row.pk] for row in missing}, filters)
        for row in missing:
            correction = corrected[row.pk]
            if correction in allowed:
                rows.setdefault(correction, row._replace(pk=correction))
                following = allowed[correction]
                if following is not None:
                    corrected[correction] = following
            else:
                del corrected[row.pk]
    followers: dict[int, list[int]] = {}
    for pk in rows:
        if pk in corrected:
            followers.setdefault(corrected[pk], []).append(pk)
    ordered: dict[int, None] = {}
    for pk in rows:
        top, seen = pk, {pk}
        while top in corrected and corrected[top] not in seen:  # a person may make two correct each other
            top = corrected[top]
            seen.add(top)
        pending = [top]
        while pending:
            current = pending.pop()
            if current not in ordered:
                ordered[current] = None
                pending += reversed(followers.get(current, ()))
    return [rows[pk] for pk in ordered]


def _allowed(connection: apsw.Connection, pks: set[int], filters: Filters) -> dict[int, int | None]:
    allowed, values = condition(filters)
    return dict(
        connection.execute(
            f"SELECT m.pk, m.superseded_by FROM memory AS m WHERE m.pk IN ({','.join('?' * len(pks))}) AND {allowed}",
            (*pks, *values),
        )
    )


def _hits(connection: apsw.Connection, ranked: list[RankedRow]) -> list[Hit]:
    found = {
        row[0]: row[1:]
        for row in connection.execute(
            "SELECT m.pk, m.id, m.path, m.name, m.description, m.type, m.scope, m.layer, m.token, m.version,"
            " m.changed_at, m.origin, c.id FROM memory AS m LEFT JOIN memory AS c ON c.pk = m.superseded_by"
            f" WHERE m.pk IN ({','.join('?' * len(ranked))})",
            [row.pk for row in ranked],
        )
    }
    return [Hit(row.pk, row.score, row.matched, *found[row.pk]) for row in ranked]
