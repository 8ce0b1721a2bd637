"""What a look at everything takes."""

from __future__ import annotations

import os

from memstore.app import Memstore
from memstore.upkeep.doctor import examine
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.folders import SETTLED, shown_in
from scripts.benchmarks.measure import Row, interleaved, middle, value, workplace, world_in

_LIMIT = 2_000.0


def doctors(quick: bool) -> list[Row]:
    """All looks of `memstore doctor` at a store and its folder, in which nothing is the matter but a full index."""
    count, rounds = (1_000, 3) if quick else (10_000, 7)
    with workplace() as directory:
        world = world_in(directory)
        with Memstore.open(world=world) as app:
            shown_in(app, Corpus(), count - 1)
            app.append("the last one", "With the first real write all get their lines.")
            world.pause(SETTLED)
            app.sync()

        def look(_: int) -> None:
            found = examine(world)
            bad = [finding for finding in found.findings if finding.severity == "error"]
            assert not bad, bad

        (taken,) = interleaved(rounds, look, warm=1)
        size = os.path.getsize(os.path.join(world.environment["MEMSTORE_HOME"], "stores", app.store.id, "store.db"))
    return [
        Row("doctor", f"all looks, {count:,} memories", middle(taken), "ms", limit=value("<=", _LIMIT)),
        Row("doctor", "... database", size / 1e6, "MB"),
    ]
