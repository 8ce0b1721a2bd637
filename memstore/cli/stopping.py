"""Commands that go on until somebody stops them, and then come to a good end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def until_told() -> Iterator[Callable[[], bool]]:
    """Whether a signal asked for the end. A second one of its kind does what it did before this was called."""
    told: list[int] = []
    # What is ignored stays so: nohup and shells in the background do that.
    earlier = {number: signal.getsignal(number) for number in _SIGNALS}
    earlier = {number: before for number, before in earlier.items() if before is not signal.SIG_IGN}

    def tell(number: int, _: FrameType | None) -> None:
        told.append(number)
        signal.signal(number, earlier[signal.Signals(number)] or signal.SIG_DFL)

    try:
        for number in earlier:
            signal.signal(number, tell)
        yield lambda: bool(told)
    finally:
        for number, before in earlier.items():
            signal.signal(number, before or signal.SIG_DFL)
