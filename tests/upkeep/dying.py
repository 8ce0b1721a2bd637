"""A process that purges, and is killed at the place that the test names."""

from __future__ import annotations

import os
import signal

from memstore import Memstore
from memstore.core.forgetting import secret_of
from memstore.store import purging as rows
from memstore.store import sweeping
from memstore.upkeep import purging


def die(*_: object, **__: object) -> None:
    """As a power cut would have it: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


def purge(cwd: str, environment: dict[str, str], where: str, wanted: str) -> None:
    """Purges a secret, or the memory `key`."""
    os.environ.update(environment)
    places = {
        "before": (rows, "commit"),
        "inside": (rows.tombstones, "put"),
        "logs": (purging, "redact_logs"),
        "vacuum": (sweeping, "sweep"),
        "log": (sweeping, "_empty_log"),
    }
    module, name = places[where]
    assert hasattr(module, name)
    setattr(module, name, die)
    with Memstore.open(cwd) as memories:
        asked = purging.Wanted(("key",)) if wanted == "key" else purging.Wanted(secret=secret_of(wanted))
        purging.purge(memories, purging.plan(memories, asked))
