"""The scripted Messages API as the tests of this room use it: one list of answers, and what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memstore.jobs.messages import Request, user
from tests.messages_api import Answer, Asked, Fail, Halting, Server, running

KEY = "sk-ant-api03-KEYSECRET0123456789"
TOKEN = "TOKENSECRET0123456789"
MODEL = "claude-sonnet-5-5"

Step = Answer | Halting | Callable[[Asked], Answer | Halting]


class Scripted(Server):
    """Answers in turn whoever asks; `steps` may be put in at any time."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(self.answered)
        self.steps = list(steps)
        self.asked: list[Asked] = []

    def answered(self, asked: Asked) -> Answer | Halting:
        self.asked.append(asked)
        if not self.steps:
            return Fail(400, "invalid_request_error", "the script has ended")
        step = self.steps.pop(0)
        return step(asked) if callable(step) else step

    @property
    def environment(self) -> dict[str, str]:
        """What leads a program here."""
        return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.url}

    @property
    def bodies(self) -> list[Any]:
        return [asked.body for asked in self.asked]

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")


@contextmanager
def scripted(*steps: Step) -> Iterator[Scripted]:
    server = Scripted(*steps)
    with running(server):
        yield server


def request(*texts: str, model: str = MODEL, limit: int = 1_000) -> Request:
    """Something to ask."""
    return Request(model, (user(*(texts or ("hello",))),), limit)
