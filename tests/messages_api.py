"""A Messages API on loopback that answers as a script says: right, wrong, slowly, or only half.

What was asked stays with whoever answers, so that a test can say what a model was shown.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    """The model answers with words, which ends its turn."""

    text: str = "Done."


@dataclass(frozen=True, slots=True)
class Use:
    """The model calls a tool. Several in one answer are sent as one message."""

    name: str
    input: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The model answers with these blocks, as the API writes them. `usage` stands over the usual one.

    The input of a `tool_use` may be a text: then it is sent as that text, which may be half of something.
    """

    blocks: tuple[Mapping[str, Any], ...]
    stop: str = "end_turn"
    usage: Mapping[str, int] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """The API answers with an error, of the shape that its documentation tells."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Whatever else may come back."""

    body: bytes
    type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Say | Use | tuple[Use, ...] | Blocks | Fail | Raw


@dataclass(frozen=True, slots=True)
class Halting:
    """An answer that is streamed event by event: with pauses, in seconds, and no further than `events` of them."""

    answer: Say | Use | tuple[Use, ...] | Blocks
    pause: float = 0
    events: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    headers: Message
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The credential that was sent, in whichever header."""
        return self.headers.get("X-Api-Key") or self.headers.get("Authorization", "").removeprefix("Bearer ")


class Server(ThreadingHTTPServer):
    """The server. `answer` is asked for each answer; `strangers` are the paths that it does not serve."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Asked], Answer | Halting]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.numbers = itertools.count(1)
        self.strangers: list[str] = []
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *arguments: object) -> None:
        """Keeps the test's output free of a line for each request."""

    def do_HEAD(self) -> None:
        self.reply(Raw(b"", "text/plain"))

    def do_GET(self) -> None:
        self.server.strangers.append(self.path)
        self.reply(Fail(404, "not_found_error", "Not Found"))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self.reply(Raw(json.dumps({"input_tokens": len(json.dumps(body)) // 4}).encode()))
        elif path == "/v1/messages":
            self.reply(self.server.answer(Asked(self.headers, body)), body)
        else:
            self.server.strangers.append(self.path)
            self.reply(Fail(404, "not_found_error", "Not Found"))

    def reply(self, answer: Answer | Halting, asked: Mapping[str, Any] | None = None) -> None:
        try:
            match answer:
                case Raw():
                    self.whole(answer)
                case Fail():
                    error = {"type": "error", "error": {"type": answer.kind, "message": answer.message}}
                    self.whole(Raw(json.dumps(error).encode(), status=answer.status, headers=answer.headers))
                case Halting():
                    self.halting(answer, asked or {})
                case _:
                    self.message(answer, asked or {})
        except ConnectionError:
            self.close_connection = True  # a client that was stopped reads no answer

    def message(self, answer: Say | Use | tuple[Use, ...] | Blocks, asked: Mapping[str, Any]) -> None:
        if asked.get("stream"):
            self.whole(Raw(b"".join(self.events(answer, asked)), "text/event-stream"))
        else:
            blocks = content(answer, self.server.numbers)
            whole = self.envelope(blocks, asked) | {"content": list(blocks.blocks), "stop_reason": blocks.stop}
            self.whole(Raw(json.dumps(whole).encode()))

    def events(self, answer: Say | Use | tuple[Use, ...] | Blocks, asked: Mapping[str, Any]) -> Iterator[bytes]:
        blocks = content(answer, self.server.numbers)
        return stream(self.envelope(blocks, asked), blocks)

    def envelope(self, blocks: Blocks, asked: Mapping[str, Any]) -> dict[str, Any]:
        return envelope(next(self.server.numbers), blocks, asked.get("model", ""))

    def halting(self, answer: Halting, asked: Mapping[str, Any]) -> None:
        """In chunks, as the API sends: an answer that stops before its end lacks the last one."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in itertools.islice(self.events(answer.answer, asked), answer.events):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
            self.server.stopping.wait(answer.pause)
        if answer.events is None:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def whole(self, answer: Raw) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)


def content(answer: Say | Use | tuple[Use, ...] | Blocks, numbers: Iterator[int]) -> Blocks:
    if isinstance(answer, Blocks):
        return answer
    if isinstance(answer, Say):
        return Blocks(({"type": "text", "text": answer.text},))
    uses = (answer,) if isinstance(answer, Use) else answer
    calls = [
        {"type": "tool_use", "id": f"toolu_{next(numbers):06}", "name": use.name, "input": dict(use.input)}
        for use in uses
    ]
    return Blocks(tuple(calls), "tool_use")


def envelope(number: int, blocks: Blocks, model: str) -> dict[str, Any]:
    usual = {
        "input_tokens": 10,
        "output_tokens": 1,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": blocks.model or model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usual, **blocks.usage},
    }


def stream(whole: dict[str, Any], blocks: Blocks) -> Iterator[bytes]:
    """The events of one message."""
    yield event({"type": "message_start", "message": whole})
    yield event({"type": "ping"})
    for index, block in enumerate(blocks.blocks):
        start, *deltas = parts(block)
        yield event({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": blocks.stop, "stop_sequence": None}
    output = {"output_tokens": blocks.usage.get("output_tokens", 5)}
    yield event({"type": "message_delta", "delta": ending, "usage": output})
    yield event({"type": "message_stop"})


def parts(block: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A block as it starts, and what is added to it: texts in two pieces, as the API streams them."""
    match block["type"]:
        case "text":
            half = len(block["text"]) // 2
            pieces = [block["text"][:half], block["text"][half:]]
            return [{"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces)]
        case "tool_use":
            text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
            half = len(text) // 2
            pieces = [text[:half], text[half:]]
            deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
            return [{**block, "input": {}}, *deltas]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed = [{"type": "signature_delta", "signature": block["signature"]}] if block.get("signature") else []
            return [{"type": "thinking", "thinking": "", "signature": ""}, thought, *signed]
        case _:
            return [block]


def event(value: Mapping[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()
