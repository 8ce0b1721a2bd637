"""A process that shows what a store holds, and is killed at a step that the test names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]

STEPS = (
    *("turn taken", "before writing", "one file written", "all files written", "half in place"),
    *("first file in place", "all topics in place", "before the index", "index in place"),
    *("before looking", "before taking away", "taken away", "before the store knows"),
)


def die() -> NoReturn:
    """As a power cut would have it: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def _at(nth: int, *functions: tuple[object, str], after: bool = False) -> None:
    """Ends the process at the `nth` call of these functions, or just behind it."""
    calls = 0

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **how: Any) -> Any:
            nonlocal calls
            calls += 1
            mine = calls
            if mine == nth and not after:
                die()
            answer = real(*given, **how)
            if mine == nth:
                die()
            return answer

        return call

    for module, name in functions:
        setattr(module, name, watched(getattr(module, name)))


def _arrange(step: str, files: int) -> None:
    """`files`: how many topics are put before the index."""
    from memstore.files import exchange, publishing, temporary
    from memstore.files.folder import Folder
    from memstore.store.store import Store

    if os.environ.get("MEMSTORE_TEST_WITHOUT_EXCHANGE"):
        exchange._system_call = lambda: None  # type: ignore[assignment]  # as where names cannot be exchanged
    placing = (exchange, "exchange"), (exchange, "publish")
    match step:
        case "turn taken":
            _at(1, (Folder, "scan"))
        case "before writing":
            _at(1, (publishing, "publish_all"))
        case "one file written":
            _at(1, (temporary, "write"), after=True)
        case "all files written":
            _at(files, (temporary, "write"), after=True)
        case "half in place":
            _at(files + 1, (os, "rename"))  # after those by which the files became whole
        case "first file in place":
            _at(1, *placing, after=True)
        case "all topics in place":
            _at(files, *placing, after=True)
        case "before the index":
            _at(2, (publishing, "publish_all"))
        case "index in place":
            _at(files + 1, *placing, after=True)
        case "before looking":
            _at(1, (publishing, "_look"))
        case "before taking away":
            _at(1, (publishing, "set_aside"))
        case "taken away":
            _at(1, (publishing, "set_aside"), after=True)
        case "before the store knows":
            _at(1, (Store, "show"))
        case _:
            raise AssertionError(step)


def sync_until(repository: Path, step: str, files: int) -> None:
    """`memstore sync` in a process of its own, which is killed at this step."""
    started = [sys.executable, "-m", "tests.journeys.interrupted", str(repository), step, str(files)]
    ran = subprocess.run(started, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL, (step, ran)


if __name__ == "__main__":
    from memstore.app import Memstore

    with Memstore.open(sys.argv[1]) as memories:
        _arrange(sys.argv[2], int(sys.argv[3]))
        memories.sync()
