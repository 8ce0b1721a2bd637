"""Recall: how often the evidence is among the first memories of the short-list, on public data (`--data DIR`), beside
plain ways on the same texts; and how long the short-list takes, there and for a long prompt in a large store.

Every question goes through `memstore.recalling.ranked`, which `memstore recall --ranked` calls; where the extra is
installed (`scripts/semantic bench`) once more with the setting `recall.semantic`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from memstore.app import Memstore
from memstore.core.changes import ChangeSet, Create
from memstore.core.frontmatter import compose
from memstore.core.model import SHELF, Provenance
from memstore.recalling import Ranked, ranked
from memstore.semantic import is_installed
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Limit, Row, middle, percentile, value, workplace, world_in
from scripts.benchmarks.plain import plain_ways
from scripts.benchmarks.public import Case, Unit, locomo, long_mem_eval
from scripts.benchmarks.writes import Ids, filled

_SMALL_MS, _LARGE_MS = 5.0, 25.0
_TARGETS = {"LongMemEval-S sessions": (97.5, 98.5), "LoCoMo sessions": (92.5, 96.5), "LoCoMo turns": (62.5, 69.5)}
_OURS, _SEMANTIC = "memstore", "memstore[semantic]"
_WHO = Provenance("import", "bench")


@dataclass(slots=True)
class _Figures:
    """What one way reached, question by question."""

    first_five: list[float] = field(default_factory=list)
    first_ten: list[float] = field(default_factory=list)
    recalled: list[float] = field(default_factory=list)
    reciprocal: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    """The milliseconds of the first question that is asked of a store."""

    def add(self, found: Sequence[str], evidence: frozenset[str], milliseconds: float) -> None:
        """The keys that were found, and those that hold the answer."""
        places = [place for place, key in enumerate(found[:10]) if key in evidence]
        self.first_five.append(any(place < 5 for place in places))
        self.first_ten.append(bool(places))
        self.recalled.append(sum(place < 5 for place in places) / len(evidence))
        self.reciprocal.append(1 / (places[0] + 1) if places else 0.0)
        self.milliseconds.append(milliseconds)


def recalls(quick: bool, data: str | None = None) -> list[Row]:
    """The rows of the public sets, if their directory is given; always those of the large store."""
    rows: list[Row] = []
    if data is not None:
        sets: list[tuple[str, Iterable[Case]]] = [
            ("LongMemEval-S sessions", long_mem_eval(data)),
            ("LoCoMo sessions", locomo(data, turns=False)),
            ("LoCoMo turns", locomo(data, turns=True)),
        ]
        for name, cases in sets:
            rows += _set_rows(name, cases, 5 if quick else None)
    return rows + _large(1_000 if quick else 10_000, 10 if quick else 50) + _loading()


def _set_rows(name: str, cases: Iterable[Case], most: int | None) -> list[Row]:
    figures: dict[str, _Figures] = {}
    for number, case in enumerate(cases):
        if most is not None and number >= most:
            break
        _ask(case, figures)
    if not figures:
        return []
    ours, semantic = figures.pop(_OURS), figures.pop(_SEMANTIC, None)
    five, ten = _TARGETS[name]
    title = f"{name} ({len(ours.first_five):,} questions)"
    best_five, best_ten = (max(_percent(one.first_five) for one in figures.values()),
                           max(_percent(one.first_ten) for one in figures.values()))  # fmt: skip
    rows = _way_rows(title, _OURS, ours, None if most else (value(">=", five), value(">=", ten)))
    rows += [
        _row(f"{title}: any@5 over the best plain way", _percent(ours.first_five) - best_five, "points", _above()),
        _row(f"{title}: any@10 over the best plain way", _percent(ours.first_ten) - best_ten, "points", _above()),
        _row(
            f"{title}: one prompt, p50 (p99 {percentile(ours.milliseconds, 0.99):.1f})",
            middle(ours.milliseconds),
            "ms",
            value("<", _SMALL_MS),
        ),
    ]
    if semantic is not None:
        rows += _way_rows(title, _SEMANTIC, semantic, None)
        first = (
            f"{title}: {_SEMANTIC}: one prompt, p50 (its first time, nothing read yet: {middle(semantic.first):.0f})"
        )
        rows.append(_row(first, middle(semantic.milliseconds), "ms"))
    for way, found in figures.items():
        rows += _way_rows(title, way, found, None)
    return rows


def _way_rows(title: str, way: str, found: _Figures, limits: tuple[Limit, Limit] | None) -> list[Row]:
    first, second = limits or (None, None)
    return [
        _row(f"{title}: {way}: any@5", _percent(found.first_five), "%", first),
        _row(f"{title}: {way}: any@10", _percent(found.first_ten), "%", second),
        _row(f"{title}: {way}: R@5", _percent(found.recalled), "%"),
        _row(f"{title}: {way}: MRR@10", _percent(found.reciprocal), "%"),
    ]


def _above() -> Limit:
    return value(">=", 0.01)


def _percent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values)


def _row(what: str, measured: float, unit: str, limit: Limit | None = None) -> Row:
    return Row("recall", what, measured, unit, limit=limit)


def _ask(case: Case, figures: dict[str, _Figures]) -> None:
    ways = plain_ways(case.units)
    with workplace() as directory, Memstore.open(world=world_in(directory)) as memories:
        keys = _stored(memories, case.units)
        for question in case.questions:
            found, taken = _timed(memories, question.text)
            figures.setdefault(_OURS, _Figures()).add(
                [keys[one.memory.path] for one in found], question.evidence, taken
            )
            for way, find in ways.items():
                figures.setdefault(way, _Figures()).add(find(question.text), question.evidence, 0.0)
        if is_installed():
            _ask_semantic(memories, case, keys, figures.setdefault(_SEMANTIC, _Figures()))


def _ask_semantic(memories: Memstore, case: Case, keys: dict[str, str], figures: _Figures) -> None:
    environment = {**memories.world.environment, "MEMSTORE_RECALL_SEMANTIC": "true"}
    memories.world = replace(memories.world, environment=environment)
    begin = time.perf_counter_ns()
    ranked(memories, case.questions[0].text, 10)
    figures.first.append((time.perf_counter_ns() - begin) / 1e6)
    for question in case.questions:
        found, taken = _timed(memories, question.text)
        figures.add([keys[one.memory.path] for one in found], question.evidence, taken)


def _timed(memories: Memstore, prompt: str) -> tuple[list[Ranked], float]:
    """What is found, and the middle of three times that it takes."""
    taken = []
    for _ in range(3):
        begin = time.perf_counter_ns()
        found = ranked(memories, prompt, 10)
        taken.append((time.perf_counter_ns() - begin) / 1e6)
    return found, middle(taken)


def _loading() -> list[Row]:
    """What the extra costs a process before its first answer; whether it is there at all."""
    if not is_installed():
        return [_row(f"{_SEMANTIC}: installed (it is not: `scripts/semantic bench` has it)", 0, "")]
    taken, sizes = zip(*(_loaded_once() for _ in range(5)), strict=True)
    return [
        _row(f"{_SEMANTIC}: loaded and a first text read, in a process of its own", middle(taken), "ms"),
        _row(f"{_SEMANTIC}: the memory that this adds to the process", middle(sizes), "MB"),
    ]


def _loaded_once() -> tuple[float, float]:
    script = (
        "import time\n"
        "from memstore import semantic\n"
        "def peak():\n"
        "    with open('/proc/self/status') as file:\n"
        "        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM')) / 1024\n"
        "begin, before = time.perf_counter(), peak()\n"
        "semantic.installed().likeness('tea', ['Tuesdays are for tea.'])\n"
        "print((time.perf_counter() - begin) * 1000, peak() - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    milliseconds, megabytes = map(float, done.stdout.split())
    return milliseconds, megabytes


def _stored(memories: Memstore, units: Sequence[Unit]) -> dict[str, str]:
    """Writes each unit as a memory; their keys by path."""
    ids = Ids()
    keys = {f"unit-{number:05}.md": unit.key for number, unit in enumerate(units)}
    made = [
        Create(ids.new(), SHELF, path, compose(unit.name, unit.description, "project", unit.body))
        for path, unit in zip(keys, units, strict=True)
    ]
    memories.store.apply(ChangeSet(ids.new(), "import", memories.world.clock(), _WHO, tuple(made)))
    return keys


def _large(count: int, prompts: int) -> list[Row]:
    """A prompt of 300 words, over memories of the made-up corpus."""
    corpus, random = Corpus(), Random(5)
    with workplace() as directory, Memstore.open(world=world_in(directory)) as memories:
        filled(memories.store, corpus, count, Ids())
        asked = [" ".join(corpus.english.some(random, 300)) for _ in range(prompts)]
        taken = [_timed(memories, prompt)[1] for prompt in asked]
    what = f"a prompt of 300 words over {count:,} memories, p50 (p99 {percentile(taken, 0.99):.1f})"
    return [_row(what, middle(taken), "ms", value("<", _LARGE_MS))]
