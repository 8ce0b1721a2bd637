"""One thread for everything that touches the store: a connection belongs to one thread, and calls take turns.

A call that is cancelled while it waits is never begun; one that has begun ends as if nobody had cancelled it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Worker:
    """The thread. Close it: what has begun ends first."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "memstore")

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` gives, or raises."""
        return await asyncio.wrap_future(self._thread.submit(work))

    def close(self, last: Callable[[], None]) -> None:
        """Lets what has begun end, then does the last thing."""
        self._thread.submit(last)
        self._thread.shutdown(wait=True)
