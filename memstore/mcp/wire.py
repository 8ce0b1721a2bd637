"""The wire to the client: standard input and output, taken away from everybody else, and lines that always parse.

Whatever is printed by mistake goes to standard error, now and when the process ends; whoever reads standard input
finds its end.

A JSON text may name half of a surrogate pair, which no text can hold; the parser would refuse the whole line, and its
sender would wait for an answer in vain. The half becomes a mark instead, and the tool that meets it says so.
"""

from __future__ import annotations

import fcntl
import os
import re
from typing import BinaryIO

from memstore.mcp.arguments import BROKEN

_MARK = b"\\ufdd0"
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
    rb"|\\."
)
_HALVES = re.compile("[\ud800-\udfff]")


def mended(line: bytes) -> str:
    """The line as text, with a mark for each thing that is no character."""
    if b"\\ud" in line or b"\\uD" in line:
        line = _ESCAPES.sub(lambda found: _MARK if found[1] else found[0], line)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return _HALVES.sub(BROKEN, line.decode("utf-8", "surrogateescape"))


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """What the client sends, and where it reads. To be called once, before anything could print."""
    incoming, outgoing = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1))
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb")


class Lines:
    """The lines of a stream, until it ends. Whoever waits for one can be told to stop waiting."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        from anyio import to_thread

        line = await to_thread.run_sync(self._stream.readline, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return mended(line)


class Answers:
    """Lines to a stream, each on its way as a whole when `write` is done."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    async def write(self, line: str) -> None:
        """Sends it. A client that does not read holds up nothing but this."""
        from anyio import to_thread

        await to_thread.run_sync(self._send, line.encode("utf-8"))

    async def flush(self) -> None:
        """There is nothing left to send."""

    def _send(self, line: bytes) -> None:
        self._stream.write(line)
        self._stream.flush()
