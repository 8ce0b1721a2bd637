"""What `lint` costs over a directory of many memories. It has no limit: somebody, or CI, asked for it and waits."""

from __future__ import annotations

import os
import time

from memstore.core.lint import RULES
from memstore.upkeep.linting import lint_paths
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.measure import Row, workplace

_BYTES = 600
"""Of one memory: most hold one fact in a few lines."""


def lints(quick: bool) -> list[Row]:
    """All rules over all memories, read from files."""
    number = 1_000 if quick else 10_000
    with workplace() as directory:
        for path, content in Corpus().memories(number, _BYTES):
            with open(os.path.join(directory, path), "wb") as file:
                file.write(content)
        begin, working = time.perf_counter(), time.process_time()
        found = lint_paths([directory], directory, RULES)
        taken, worked = time.perf_counter() - begin, time.process_time() - working
    assert found.checked == number
    what = f"{number:,} files of {_BYTES} bytes, all rules"
    return [Row("lint", what, taken, "s"), Row("lint", "of it at work itself", worked, "s")]
