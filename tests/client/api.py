"""A Messages API on loopback whose models are scripts: each session has one, which answers its requests in turn.

A session is told apart by its API key. What was asked stays, so that a test can say what the model was shown.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "claude-opus-5-5"

INDEX = re.compile(
    r"Contents of ([^\n]*MEMORY\.md) \(user's auto-memory, persists across conversations\):\n\n(.*?)"
    r"\n*</system-reminder>",
    re.DOTALL,
)


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
class Request:
    """What the client sent for one answer."""

    session: str
    agent: str
    """Of an agent that the session has started; empty for the session itself."""
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message; results of tools are in it, calls of tools are not."""
        return [(message["role"], "\n\n".join(texts(message["content"]))) for message in self.body["messages"]]

    @property
    def index(self) -> str | None:
        """MEMORY.md as the client loaded it last: a resumed session is shown the new text after the old one."""
        found = INDEX.findall(self.said("user"))
        return found[-1][1] + "\n" if found else None

    @property
    def index_path(self) -> str | None:
        found = INDEX.findall(self.said("user"))
        return found[-1][0] if found else None

    @property
    def results(self) -> list[str]:
        """What the tools of the last message answered."""
        for message in reversed(self.body["messages"]):
            if message["role"] == "user" and not isinstance(message["content"], str):
                return ["\n".join(texts([block])) for block in message["content"] if block["type"] == "tool_result"]
        return []

    def said(self, role: str = "") -> str:
        """All text of a role: `system` is where context from hooks comes. Of every role without one."""
        return "\n\n".join(text for of, text in self.messages if role in ("", of))


Answer = Say | Use | tuple[Use, ...]
Model = Callable[[Request], Generator[Answer, Request, None]]
"""Called with a session's first request; it yields answers and is sent the requests that follow them."""


def saying(*answers: Answer) -> Model:
    """A model that answers so, whatever it is asked."""

    def model(request: Request) -> Generator[Answer, Request, None]:
        rest = list(answers)
        while rest:
            yield rest.pop(0)

    return model


def texts(content: object) -> Iterator[str]:
    """The texts in a message's content, which may be a string or blocks in blocks."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if block.get("type") == "text":
                yield block["text"]
            elif block.get("type") == "tool_result":
                yield from texts(block.get("content"))


SUMMARY = saying(Say("This is what was talked about."))


class Script:
    """One session's models at work: its own, and that of each agent that it starts (who sums up is one, too).

    `requests` are those of the session itself, `asides` the client's own (titles and such).
    """

    def __init__(self, model: Model, agents: Model = SUMMARY) -> None:
        self.model = model
        self.agents = agents
        self.playing: dict[str, Generator[Answer, Request, None]] = {}
        self.requests: list[Request] = []
        self.asides: list[Request] = []
        self.failures: list[BaseException] = []
        self.turn = threading.Lock()

    def answer(self, request: Request) -> Answer:
        with self.turn:
            if not is_turn(request.body):
                self.asides.append(request)
                return Say("Noted.")
            if not request.agent:
                self.requests.append(request)
            try:
                if request.agent in self.playing:
                    return self.playing[request.agent].send(request)
                self.playing[request.agent] = (self.agents if request.agent else self.model)(request)
                return next(self.playing[request.agent])
            except StopIteration:
                return Say()

    def spent(self) -> bool:
        """Whether the session's model has said all that it had to say; it says nothing after this question."""
        return "" in self.playing and next(self.playing[""], None) is None


def is_turn(body: Mapping[str, Any]) -> bool:
    return any(tool.get("name") == "Write" for tool in body.get("tools", []))


class Api:
    """The server. `script` says which model answers the session that has a key."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.numbers = itertools.count(1)
        self.strangers: list[str] = []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.api = self
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def script(self, key: str, model: Model, agents: Model = SUMMARY) -> Script:
        self.scripts[key] = Script(model, agents)
        return self.scripts[key]


@contextmanager
def serving() -> Iterator[Api]:
    api = Api()
    api.thread.start()
    try:
        yield api
    finally:
        api.server.shutdown()
        api.server.server_close()
        api.thread.join()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    api: Api


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *arguments: object) -> None:
        """Keeps the test's output free of a line for each request."""

    def do_HEAD(self) -> None:
        self.reply(200, "text/plain", b"")

    def do_GET(self) -> None:
        self.server.api.strangers.append(self.path)
        self.refuse(404, "not_found_error", f"{self.path} is not served")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self.reply(200, "application/json", json.dumps({"input_tokens": len(json.dumps(body)) // 4}).encode())
        elif path == "/v1/messages":
            self.message(body)
        else:
            self.server.api.strangers.append(self.path)
            self.refuse(404, "not_found_error", f"{self.path} is not served")

    def message(self, body: Mapping[str, Any]) -> None:
        api = self.server.api
        script = api.scripts.get(self.headers.get("X-Api-Key", ""))
        if script is None:
            self.refuse(401, "authentication_error", "no script has this key")
            return
        try:
            session, agent = (self.headers.get(f"X-Claude-Code-{of}-Id", "") for of in ("Session", "Agent"))
            answer = script.answer(Request(session, agent, body))
        except BaseException as failure:
            script.failures.append(failure)
            self.refuse(400, "invalid_request_error", f"the script failed: {failure!r}")
            return
        identity = f"msg_{next(api.numbers):06}"
        blocks, reason = content(answer, api.numbers)
        if body.get("stream"):
            self.reply(200, "text/event-stream", stream(identity, blocks, reason))
        else:
            whole = envelope(identity) | {"content": blocks, "stop_reason": reason}
            self.reply(200, "application/json", json.dumps(whole).encode())

    def refuse(self, status: int, kind: str, message: str) -> None:
        error = {"type": "error", "error": {"type": kind, "message": message}}
        self.reply(status, "application/json", json.dumps(error).encode())

    def reply(self, status: int, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True  # a client that was stopped reads no answer


def content(answer: Answer, numbers: Iterator[int]) -> tuple[list[dict[str, object]], str]:
    if isinstance(answer, Say):
        return [{"type": "text", "text": answer.text}], "end_turn"
    uses = (answer,) if isinstance(answer, Use) else answer
    return [
        {"type": "tool_use", "id": f"toolu_{next(numbers):06}", "name": use.name, "input": dict(use.input)}
        for use in uses
    ], "tool_use"


def envelope(identity: str) -> dict[str, object]:
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def stream(identity: str, blocks: list[dict[str, object]], reason: str) -> bytes:
    """The events of one message."""
    events: list[dict[str, object]] = [{"type": "message_start", "message": envelope(identity)}]
    for number, block in enumerate(blocks):
        start: dict[str, object]
        if block["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": number, "content_block": start},
            {"type": "content_block_delta", "index": number, "delta": delta},
            {"type": "content_block_stop", "index": number},
        ]
    ending = {"stop_reason": reason, "stop_sequence": None}
    events += [
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
