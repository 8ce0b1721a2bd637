"""Plain ways to find memories, for comparison: what SQLite ranks by itself, and BM25 with the values that short texts
like. All get the same words of a question, and each memory's name, description and body as one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Any

import apsw

from memstore.core.terms import document_terms, parse_query
from scripts.benchmarks.public import Unit

Find = Callable[[str], list[str]]
"""A question to the keys of what was found, best first."""

_TEN = 10
_PORTER = "porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co Cn'"


def plain_ways(units: Sequence[Unit]) -> dict[str, Find]:
    """By name."""
    porter = _table(units, _PORTER)
    porter.register_fts5_function("short", _short)
    return {
        "unicode61, any word": _by(_table(units, "unicode61"), units, "bm25(plain)", stops=True),
        "porter, any word, no stop words": _by(porter, units, "bm25(plain)", stops=False),
        "BM25 k1 0.9 b 0.4, stemmed, no stop words": _by(porter, units, "short(plain)", stops=False),
    }


def _table(units: Sequence[Unit], tokenizer: str) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(f'CREATE VIRTUAL TABLE plain USING fts5(text, tokenize="{tokenizer}")')
    for number, unit in enumerate(units):
        text = document_terms(f"{unit.name}\n{unit.description}\n{unit.body}")
        connection.execute("INSERT INTO plain (rowid, text) VALUES (?, ?)", (number, text))
    return connection


def _by(connection: apsw.Connection, units: Sequence[Unit], rank: str, *, stops: bool) -> Find:
    statement = f"SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY {rank}, rowid LIMIT {_TEN}"

    def find(question: str) -> list[str]:
        query = parse_query(question)
        terms = dict.fromkeys(term for word in (query.words if stops else query.content) for term in word.exact)
        expression = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        return [units[row].key for (row,) in connection.execute(statement, (expression,))] if expression else []

    return find


def _short(api: apsw.FTS5ExtensionApi, /, *_: Any) -> float:
    """BM25 with k1 0.9 and b 0.4, the better the lower, as FTS5's own."""
    if api.aux_data is None:
        api.aux_data = [_rarity(api, phrase) for phrase in range(api.phrase_count)]
    average = api.column_total_size(-1) / api.row_count
    dampening = 0.9 * (0.6 + 0.4 * api.column_size(-1) / average)
    score = 0.0
    for phrase, rarity in enumerate(api.aux_data):
        count = sum(map(len, api.phrase_locations(phrase)))
        score += rarity * count * 1.9 / (count + dampening)
    return -score


def _rarity(api: apsw.FTS5ExtensionApi, phrase: int) -> float:
    rows = [0]

    def count(_: apsw.FTS5ExtensionApi, rows: list[int]) -> None:
        rows[0] += 1

    api.query_phrase(phrase, count, rows)
    return log(1 + (api.row_count - rows[0] + 0.5) / (rows[0] + 0.5))
