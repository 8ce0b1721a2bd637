"""Starts the hammer's processes at one moment, each fresh from a server that has opened no store."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from memstore.place import find_place
from scripts.benchmarks.measure import world_in
from scripts.proofs.hammer_workers import Place, Start, Told, begin

Work = tuple[Callable[..., Told], tuple[Any, ...]]

_CONTEXT = get_context("forkserver")
_SECONDS = 600


def crowd(work: Sequence[Work], place: Place, seed: int, first: int) -> list[Told]:
    """Starts them all at once; when the first so many are done, the others are told to stop."""
    _CONTEXT.set_forkserver_preload(["scripts.proofs.hammer_workers"])
    barrier, stop = _CONTEXT.Barrier(len(work)), _CONTEXT.Event()
    pipes = [_CONTEXT.Pipe(duplex=False) for _ in work]
    processes = [
        _CONTEXT.Process(
            target=begin, args=(there, job, Start(place, seed * 100 + number, barrier, stop), *arguments), daemon=True
        )
        for number, ((job, arguments), (_, there)) in enumerate(zip(work, pipes, strict=True))
    ]
    for process in processes:
        process.start()
    for _, there in pipes:
        there.close()
    told: list[Told] = []
    try:
        for number, (here, _) in enumerate(pipes):
            if number == first:
                stop.set()
            answer = here.recv() if here.poll(_SECONDS) else "no answer"
            if not isinstance(answer, Told):
                raise RuntimeError(f"{work[number][0].__name__}: {answer}")
            told.append(answer)
    finally:
        stop.set()
        for process in processes:
            process.join(30)
            if process.is_alive():
                process.kill()
    return told


@contextmanager
def workplace(fault: str) -> Iterator[Place]:
    """A repository, with a memory folder and a home of its own."""
    directory = os.path.realpath(tempfile.mkdtemp(prefix="memstore-hammer-"))
    try:
        world = world_in(directory)
        os.mkdir(os.path.join(world.cwd, ".git"))
        folder = find_place(world).folder
        assert folder is not None
        os.makedirs(folder)
        yield Place(directory, folder, fault)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
