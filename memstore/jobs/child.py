"""A program that is started, given something to read, and waited for: bounded in time and in what it may say."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

_PIECE = 65_536
_GRACE = 2.0
"""Seconds to end in good order for a program that is stopped, and for its output to come once it has ended."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How it went. `out` and `err` hold no more than was allowed.

    `code`: negative where a signal ended it. `late`: its time was up. `large`: it said more than it may. In both cases
    it was stopped.
    """

    out: bytes
    err: bytes
    code: int
    late: bool = False
    large: bool = False


def run(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], data: bytes, *, seconds: float, most: int
) -> Finished:
    """Starts it without a shell, in a group of its own; it does not outlive the call. Raises OSError.

    `data`: what it reads, up to the end. `most`: bytes of its output; of what it says of errors the first ones count.
    """
    process = subprocess.Popen(
        argv, cwd=cwd, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        talk = _Talk(process, data, most)
        late = talk.go_on(time.monotonic() + seconds)
    finally:
        code = _end(process)
    return Finished(bytes(talk.out[:most]), bytes(talk.err), code, late, len(talk.out) > most)


class _Talk:
    """What goes to and fro: neither side waits for the other."""

    def __init__(self, process: subprocess.Popen[bytes], data: bytes, most: int) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._process = process
        self._data = memoryview(data)
        self._most = most
        self._stdin, self._stdout = process.stdin, process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ)
        self._selector.register(process.stderr, selectors.EVENT_READ)
        if data:
            os.set_blocking(process.stdin.fileno(), False)
            self._selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        self.out = bytearray()
        self.err = bytearray()

    def go_on(self, deadline: float) -> bool:
        """Until all is said, too much is said, or the time is up, which is the answer."""
        with self._selector as selector:
            ended: float | None = None
            while selector.get_map() and len(self.out) <= self._most:
                now = time.monotonic()
                if ended is None and self._process.poll() is not None:
                    ended = now  # what it has started may hold its pipes for ever
                if ended is not None and now > ended + _GRACE:
                    return False
                if now >= deadline:
                    return ended is None
                for key, _ in selector.select(min(deadline - now, 0.2)):
                    self._serve(key)
        return False

    def _serve(self, key: selectors.SelectorKey) -> None:
        pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]  # only pipes of the process are registered
        if pipe is self._stdin:
            try:
                self._data = self._data[os.write(key.fd, self._data[:_PIECE]) :]
            except BlockingIOError:
                return
            except BrokenPipeError:
                self._data = self._data[:0]  # it reads no further
            if self._data:
                return
        else:
            piece = os.read(key.fd, _PIECE)
            if pipe is self._stdout:
                self.out += piece
            else:
                self.err += piece[: max(0, self._most - len(self.err))]
            if piece:
                return
        self._selector.unregister(pipe)
        pipe.close()


def _end(process: subprocess.Popen[bytes]) -> int:
    """Ends what still runs of its group, and gives its exit code."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if process.poll() is None:
        # Until it was waited for its number is its own.
        _signal(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_GRACE)
        _signal(process.pid, signal.SIGKILL)
    return process.wait()


def _signal(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
