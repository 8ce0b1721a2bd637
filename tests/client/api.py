"""The Messages API whose models are scripts: each session has one, which answers its requests in turn.

A session is told apart by its API key. What was asked stays, so that a test can say what the model was shown.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.messages_api import Asked, Fail, Say, Server, Use, running

INDEX = re.compile(
    r"Contents of ([^\n]*MEMORY\.md) \(user's auto-memory, persists across conversations\):\n\n(.*?)"
    r"\n*</system-reminder>",
    re.DOTALL,
)


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


def keeps_nothing(_: Asked) -> Answer:
    """The model of a worker that finds nothing worth keeping."""
    return Say("Nothing in it is worth keeping.")


class Api(Server):
    """The server. `script` says which model answers the session that has a key.

    `worker` answers memstore's own worker, which the hooks of a session start, with the session's key; what it asked is
    in `worked`.
    """

    def __init__(self) -> None:
        super().__init__(self.answered)
        self.scripts: dict[str, Script] = {}
        self.worker: Callable[[Asked], Answer] = keeps_nothing
        self.worked: list[Asked] = []

    def script(self, key: str, model: Model, agents: Model = SUMMARY) -> Script:
        self.scripts[key] = Script(model, agents)
        return self.scripts[key]

    def answered(self, asked: Asked) -> Answer | Fail:
        script = self.scripts.get(asked.key)
        if script is None:
            return Fail(401, "authentication_error", "no script has this key")
        if asked.headers.get("User-Agent", "").startswith("Anthropic/Python"):
            self.worked.append(asked)
            return self.worker(asked)
        session, agent = (asked.headers.get(f"X-Claude-Code-{of}-Id", "") for of in ("Session", "Agent"))
        try:
            return script.answer(Request(session, agent, asked.body))
        except BaseException as failure:
            script.failures.append(failure)
            return Fail(400, "invalid_request_error", f"the script failed: {failure!r}")


@contextmanager
def serving() -> Iterator[Api]:
    api = Api()
    with running(api):
        yield api
