"""How long a command takes from nothing, against an interpreter that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from memstore.app import Memstore
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.folders import SETTLED, shown_in
from scripts.benchmarks.measure import Row, interleaved, middle, ratio, workplace, world_in

_LIMIT = 8.0
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def starts(quick: bool) -> list[Row]:
    """`memstore search` as a process, in a project of 200 memories."""
    rounds = 10 if quick else 40
    with workplace() as directory:
        world = world_in(directory)
        with Memstore.open(world=world) as app:
            shown_in(app, Corpus(), 200)
            world.pause(SETTLED)  # files of the last two seconds are read again by every command
            app.sync()
        environment = environment_of(world.environment)
        command = [sys.executable, "-m", "memstore", "search", "the"]

        def run(arguments: list[str]) -> None:
            subprocess.run(
                arguments, cwd=world.cwd, env=environment, check=True, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip

        ours, baseline = interleaved(rounds, lambda _: run(command), lambda _: run([sys.executable, "-c", "pass"]))
    return [
        Row(
            "start", "`memstore search` as a process", middle(ours), "ms", middle(baseline), "python -c pass",
            ratio("<=", _LIMIT),
        )
    ]  # fmt: skip


def import_times(lines: int = 30) -> str:
    """What the imports of `memstore search` cost, the dearest first, as `python -X importtime` tells it."""
    with workplace() as directory:
        world = world_in(directory)
        with Memstore.open(world=world) as app:
            shown_in(app, Corpus(), 5)
        command = [sys.executable, "-X", "importtime", "-m", "memstore", "search", "the"]
        environment = environment_of(world.environment)
        for _ in range(2):
            done = subprocess.run(command, cwd=world.cwd, env=environment, check=True, capture_output=True, text=True)
    told = [line for line in done.stderr.split("\n") if line.startswith("import time:") and "|" in line]
    told.sort(key=lambda line: -_own(line))
    return "\n".join(told[:lines])


def _own(line: str) -> int:
    number = line.removeprefix("import time:").split("|")[0].strip()
    return int(number) if number.isdigit() else -1


def environment_of(given: Mapping[str, str]) -> dict[str, str]:
    """As scripts/memstore sets it; byte code is kept, so that all but the first run find it."""
    return {"PATH": os.environ["PATH"], **given, "PYTHONPATH": _ROOT, "PYTHONSAFEPATH": "1"}
