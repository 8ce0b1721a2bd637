"""The wire to the client: standard input and output, taken away from everybody else, and lines that always parse.

Whatever is printed by mistake goes to standard error, now and when the process ends; whoever reads standard input
finds its end.

A JSON text may name half of a surrogate pair, which no text can hold; the parser would refuse the whole line, and its
sender would wait for an answer in vain. The half becomes a mark instead, and the tool that meets it says so. A request
that the parser refuses for another reason is answered here: the SDK would pass over it in silence.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
from typing import TYPE_CHECKING, BinaryIO

from memstore.mcp.arguments import BROKEN

if TYPE_CHECKING:
    from anyio import CancelScope

_MARK = b"\\ufdd0"
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half of one
    rb"|\\."
)
_HALVES = re.compile("[\ud800-\udfff]")
_INVALID_REQUEST = -32600
_DIGITS = 4_000
"""Of a whole number; Python reads no longer ones."""


def mended(line: bytes) -> str:
    """The line as text, with a mark for each thing that is no character."""
    if b"\\ud" in line or b"\\uD" in line:
        line = _ESCAPES.sub(lambda found: _MARK if found[1] else found[0], line)
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _HALVES.sub(BROKEN, line.decode("utf-8", "surrogateescape"))


def refusals(line: str) -> list[str]:
    """The answers to the requests in a line that is no message of the protocol. Without an id nobody waits for one."""
    from mcp_types import jsonrpc_message_adapter
    from pydantic import ValidationError

    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
        return []
    except ValidationError:
        pass
    try:
        given = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < _DIGITS else None)
    except (ValueError, RecursionError):
        return []
    return [_refusal(one["id"]) for one in (given if isinstance(given, list) else [given]) if _waits(one)]


def _waits(given: object) -> bool:
    """Whether it is a request that can be answered, by its id."""
    if not isinstance(given, dict) or "result" in given or "error" in given:
        return False
    return isinstance(given.get("id"), (int, str)) and not isinstance(given["id"], bool)


def _refusal(number: object) -> str:
    told = "not a request of this protocol: one JSON object a line, its parameters in an object, not nested too deeply"
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": _INVALID_REQUEST, "message": told}})


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

    def __init__(self, stream: BinaryIO, answers: Answers) -> None:
        self._stream = stream
        self._answers = answers

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        from anyio import to_thread

        while True:
            # A giant takes its time: meanwhile other calls are answered.
            line, refused = await to_thread.run_sync(self._next, abandon_on_cancel=True)
            if line is None:
                raise StopAsyncIteration
            for answer in refused:
                await self._answers.write(answer + "\n")
            if not refused:
                return line

    def _next(self) -> tuple[str | None, list[str]]:
        line = self._stream.readline()
        if not line:
            return None, []
        text = mended(line)
        return text, refusals(text)


class Answers:
    """Lines to a stream, each on its way as a whole when `write` is done."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._sending: set[CancelScope] = set()
        self._until = math.inf

    async def write(self, line: str) -> None:
        """Sends it, to the end. A client that does not read holds up nothing but this."""
        from anyio import CancelScope, to_thread

        with CancelScope(deadline=self._until, shield=True) as scope:
            self._sending.add(scope)
            try:
                await to_thread.run_sync(self._send, line.encode("utf-8"), abandon_on_cancel=True)
            finally:
                self._sending.discard(scope)

    def leave(self, seconds: float) -> None:
        """The server is told to end: what is not read by then is given up."""
        from anyio import current_time

        self._until = current_time() + seconds
        for scope in self._sending:
            scope.deadline = self._until

    async def flush(self) -> None:
        """There is nothing left to send."""

    def _send(self, line: bytes) -> None:
        self._stream.write(line)
        self._stream.flush()
