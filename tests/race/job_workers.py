"""Workers that drain one queue at once, while sessions end turns."""

from __future__ import annotations

import os
from multiprocessing.synchronize import Barrier
from pathlib import Path

from memstore.store import jobs
from tests.race.workers import opened
from tests.store.queues import claim, queue


def drain(barrier: Barrier, number: int, directory: Path, turns: int) -> list[tuple[int, str]]:
    """Ends turns of sessions that all share, and takes whatever waits. Returns each job that it got: (row, id)."""
    store = opened(directory, number)
    barrier.wait(60)
    got: list[tuple[int, str]] = []
    for turn in range(turns):
        queue(store, f"session {turn % 3}")
        while (job := claim(store)) is not None:
            got.append((job.seq, job.id))
            # Nobody else is at this session's transcript.
            mine = directory / f"{job.session}.mine"
            os.close(os.open(mine, os.O_CREAT | os.O_EXCL))
            mine.unlink()
            with store.change() as connection:
                jobs.finish(connection, job.seq, read=True)
    store.close()
    return got
