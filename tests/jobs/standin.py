"""A small program in the place of the client: it says what it is told to say, and keeps what it was asked.

Only for what the real client cannot be made to do, and for what is decided before it is asked; how it really behaves
is tested in tests/client.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memstore.jobs.child import Finished
from memstore.jobs.client_program import OLDEST, Program
from memstore.jobs.extract import Around
from memstore.jobs.fork import Fork
from tests.jobs.api import Scripted
from tests.jobs.scene import Scene

SESSION = "11111111-1111-4111-8111-111111111111"
MODEL = "claude-opus-5-5"
SAYS = """\
#!{python} -I
import json, os, pathlib, sys, time
place = pathlib.Path({place!r})
if sys.argv[1:] == ["--version"]:
    print((place / "version").read_text())
    sys.exit(0)
number = len(list(place.glob("call-*.json")))
asked = {{"argv": sys.argv, "stdin": sys.stdin.read(), "env": dict(os.environ), "cwd": os.getcwd()}}
(place / f"call-{{number}}.json").write_text(json.dumps(asked))
step = json.loads((place / f"step-{{number}}.json").read_text())
sys.stdout.write(step["out"])
sys.stderr.write(step["err"])
sys.stdout.flush()
if step["code"] < 0:
    os.kill(os.getpid(), -step["code"])
time.sleep(step["sleep"])
sys.exit(step["code"])
"""


@dataclass(frozen=True, slots=True)
class Call:
    """How the program was started."""

    argv: list[str]
    stdin: str
    env: dict[str, str]
    cwd: str

    def option(self, name: str) -> str:
        return self.argv[self.argv.index(name) + 1]

    @property
    def told(self) -> list[Any]:
        """The JSON that the fork was given, in the order in which it stands."""
        parts = self.stdin.split("```json\n")[1:]
        return [json.loads(part.split("\n```")[0]) for part in parts[1:]]


class StandIn:
    """The program. `say` and `fail` are what it does, in turn."""

    def __init__(self, place: Path) -> None:
        place.mkdir()
        self.place = place
        self.path = place / "claude"
        self.path.write_text(SAYS.format(python=sys.executable, place=str(place)), encoding="utf-8")
        self.path.chmod(0o755)
        self.version("2.1.332")
        self._steps = 0

    def version(self, text: str) -> None:
        (self.place / "version").write_text(f"{text} (Claude Code)", encoding="utf-8")

    def step(self, out: str = "", err: str = "", code: int = 0, sleep: float = 0) -> None:
        step = {"out": out, "err": err, "code": code, "sleep": sleep}
        (self.place / f"step-{self._steps}.json").write_text(json.dumps(step), encoding="utf-8")
        self._steps += 1

    def say(self, answer: object, **more: Any) -> None:
        """A result as the client prints it, with this answer: a text, or what is to be dumped."""
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.step(json.dumps(result(text, **more)), code=1 if more.get("is_error") else 0)

    def change(self, *changes: Mapping[str, object], reason: str = "It was said.", **more: Any) -> None:
        """A list of changes."""
        self.say({"changes": list(changes), "reason": reason}, **more)

    @property
    def calls(self) -> list[Call]:
        paths = sorted(self.place.glob("call-*.json"))
        return [Call(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def result(text: str | None, *, before: float = 0, **more: Any) -> dict[str, Any]:
    """The result of a fork that used a thousand tokens and cost a cent. `before`: what the session had cost, for as
    many tokens as it was hundredths of a cent."""
    usage = {
        "input_tokens": 10, "output_tokens": 90, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0,
    }  # fmt: skip
    models = {MODEL: {
        "inputTokens": 10 + round(before * 10_000), "outputTokens": 90, "cacheReadInputTokens": 900,
        "cacheCreationInputTokens": 0,
    }}  # fmt: skip
    return {
        "type": "result", "subtype": "success", "is_error": False, "result": text, "total_cost_usd": 0.01 + before,
        "usage": usage, "modelUsage": models, "api_error_status": None, "num_turns": 1, **more,
    }  # fmt: skip


def finished(value: object, code: int = 0, err: str = "") -> Finished:
    """How a program ended that printed this."""
    return Finished(json.dumps(value).encode(), err.encode(), code)


class Forked(Scene):
    """A scene in which forks think."""

    def __init__(self, directory: Path, api: Scripted, client: StandIn) -> None:
        super().__init__(directory, api)
        self.client = client
        self.environment: dict[str, str] = {"HOME": str(directory), "PATH": "/usr/bin:/bin"}
        self.seconds = 60.0
        self.others: list[Callable[[], object]] = []

    def find(self) -> Program:
        """The program. Before each conversation others do the next of what they do."""
        if self.others:
            self.others.pop(0)()
        return Program(str(self.client.path), OLDEST)

    def around(self, session: str = SESSION) -> Around:
        around = super().around(session)
        fork = Fork(
            self.find, ("/usr/bin/python3", "hook.py", "PreToolUse"), session,
            str(self.transcript(session).path), str(self.directory / "gone" / "worktree"), self.environment,
            around.settings.number("extract.turns"), around.settings.number("budget.run"),
            lambda: self.cancelled(), self.seconds,
        )  # fmt: skip
        return replace(around, fork=fork)
