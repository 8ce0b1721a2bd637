"""Search, by kinds of queries, in process; and the same words by ripgrep over the same files."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from random import Random

from memstore.app import Memstore
from memstore.core.terms import parse_query
from memstore.store.search import Filters
from memstore.store.store import Store
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.folders import put_files
from scripts.benchmarks.measure import Row, middle, percentile, ratio, value, workplace, world_in
from scripts.benchmarks.writes import Ids, filled, opened

_P50, _P99 = 3.0, 30.0
_P50_LARGE = 10.0
_FASTER = 15
_ALL = Filters(scopes=("private",))

Queries = dict[str, list[str]]


def searches(quick: bool) -> list[Row]:
    """10,000 memories with their files beside ripgrep, then 100,000 in the store alone."""
    small, large, each = (1_000, 0, 20) if quick else (10_000, 100_000, 100)
    corpus = Corpus()
    rows = _with_files(corpus, small, each)
    return rows + _large(corpus, large, each) if large else rows


def queries(corpus: Corpus, each: int) -> Queries:
    """So many of each kind, drawn as unevenly as the corpus draws its own words: most are frequent ones. A prompt has
    function words too, as people write them."""
    random = Random(11)

    def han(length: int) -> str:
        while True:
            text = "".join(corpus.chinese.some(random, 3))
            if len(text) >= length:
                return text[:length]

    kinds: dict[str, Callable[[], str]] = {
        "English word": lambda: corpus.telling.some(random, 1)[0],
        "two words": lambda: " ".join(corpus.telling.some(random, 2)),
        "one Han character": lambda: han(1),
        "two Han": lambda: han(2),
        "four Han": lambda: han(4),
        "identifier": lambda: corpus.identifiers.some(random, 1)[0],
        "prompt of 12 words": lambda: " ".join(corpus.english.some(random, 12)),
    }
    return {kind: [make() for _ in range(each)] for kind, make in kinds.items()}


def _with_files(corpus: Corpus, memories: int, each: int) -> list[Row]:
    name = f"{memories:,}"
    with workplace() as directory:
        folder = os.path.join(directory, "memories")
        put_files(folder, corpus, memories)
        with Memstore.open(world=world_in(directory)) as app:
            app.import_directory(folder)
            asked = queries(corpus, each)
            taken = _timed(app.store, asked)
            through = _milliseconds([text for texts in asked.values() for text in texts], app.search)
        tool, command = _searcher()
        scans = {
            kind: [_scan(command, text, folder) for text in texts[: max(3, each // 20)]]
            for kind, texts in asked.items()
            if kind != "prompt of 12 words"
        }
    rows = [_kind_row(f"{name}: {kind}", times) for kind, times in taken.items()]
    mix = [one for times in taken.values() for one in times]
    ours = middle([one for kind in scans for one in taken[kind]])
    theirs = middle([one for times in scans.values() for one in times])
    return [
        *rows,
        Row("search", f"{name}: the mix, p50", middle(mix), "ms", limit=value("<", _P50)),
        Row("search", f"{name}: the mix, p99", percentile(mix, 0.99), "ms", limit=value("<", _P99)),
        Row("search", f"{name}: the mix through the app, p50", middle(through), "ms", limit=value("<", _P50)),
        Row("search", f"{name}: without prompts, p50", ours, "ms", theirs, tool, ratio("<=", 1 / _FASTER)),
    ]


def _large(corpus: Corpus, memories: int, each: int) -> list[Row]:
    name = f"{memories:,}"
    with workplace() as directory:
        store = opened(directory, "store")
        filled(store, corpus, memories, Ids())
        taken = _timed(store, queries(corpus, each))
        store.close()
    mix = [one for times in taken.values() for one in times]
    return [
        *(_kind_row(f"{name}: {kind}", times) for kind, times in taken.items()),
        Row("search", f"{name}: the mix, p50", middle(mix), "ms", limit=value("<", _P50_LARGE)),
        Row("search", f"{name}: the mix, p99", percentile(mix, 0.99), "ms"),
    ]


def _kind_row(what: str, times: list[float]) -> Row:
    return Row("search", f"{what}, p50 (p99 {percentile(times, 0.99):.1f})", middle(times), "ms")


def _timed(store: Store, asked: Queries) -> dict[str, list[float]]:
    """The milliseconds of each query. The kinds take turns, after one round that fills the page cache."""

    def search(text: str) -> object:
        return store.search(parse_query(text), _ALL, 20)

    taken: dict[str, list[float]] = {kind: [] for kind in asked}
    for texts in zip(*asked.values(), strict=True):
        for text in texts[:3]:
            search(text)
        for kind, text in zip(asked, texts, strict=True):
            taken[kind] += _milliseconds([text], search)
    return taken


def _milliseconds(texts: list[str], search: Callable[[str], object]) -> list[float]:
    taken = []
    for text in texts:
        begin = time.perf_counter_ns()
        search(text)
        taken.append((time.perf_counter_ns() - begin) / 1e6)
    return taken


def _searcher() -> tuple[str, list[str]]:
    """ripgrep, or grep where there is none; each says which files hold the text."""
    ripgrep = shutil.which("rg")
    if ripgrep is not None:
        return "rg", [ripgrep, "--no-config", "-l", "-i", "-F", "--"]
    return "grep (no rg on PATH)", ["grep", "-r", "-l", "-i", "-F", "--"]


def _scan(command: list[str], text: str, folder: str) -> float:
    begin = time.perf_counter_ns()
    subprocess.run([*command, text, folder], stdout=subprocess.DEVNULL, check=False)
    return (time.perf_counter_ns() - begin) / 1e6
