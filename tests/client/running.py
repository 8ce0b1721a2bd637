"""Starts the real client, one process a session, against the scripted API."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.client.api import SUMMARY, Api, Model, Script, saying

QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
PASSED_ON = ("GIT_", "HOME", "MEMSTORE_HOME", "PATH", "PYTHON", "XDG_")
ALLOWED = "Bash,Read,Edit,Write,mcp__plugin_memstore_memstore"
DEADLINE = 240.0


@dataclass(slots=True)
class Session:
    """A client that runs, or ran."""

    id: str
    script: Script
    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def finish(self) -> Session:
        """Waits for its end, which must be a good one, with all said."""
        told = self.end()
        assert self.script.spent(), f"the model had more to say\n{told}"
        return self

    def end(self) -> str:
        """Waits for its end, which must be a good one; gives what it told."""
        try:
            code = self.process.wait(DEADLINE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        told = f"exit {code}\n{self.out.read_text('utf-8')[-3000:]}\n{self.err.read_text('utf-8')[-3000:]}"
        assert not self.script.failures, f"{self.script.failures!r}\n{told}"
        assert code == 0, told
        unwell = [hook for hook in self.hooks if hook["exit_code"] != 0 or hook["stderr"]]
        assert not unwell, unwell
        return told

    @property
    def hooks(self) -> list[dict[str, Any]]:
        """How the hooks went: `hook_name`, `exit_code`, `stdout`, `stderr`."""
        return [event for event in self.events if event.get("subtype") == "hook_response"]

    @property
    def hooked(self) -> set[str]:
        """The events for which hooks were started, with tool or source behind a colon."""
        return {event["hook_name"] for event in self.events if event.get("subtype") == "hook_started"}

    @property
    def opening(self) -> dict[str, Any]:
        """What the client says of itself at the start: tools, skills, MCP servers, plugins."""
        return next(event for event in self.events if event.get("subtype") == "init")

    @property
    def events(self) -> list[dict[str, Any]]:
        """What it wrote on its output: `stream-json`, a line each."""
        return [json.loads(line) for line in self.out.read_text("utf-8").split("\n") if line]


@dataclass(slots=True)
class Talk:
    """A client that is sent prompt after prompt while it runs."""

    script: Script
    process: subprocess.Popen[bytes]

    def say(self, prompt: str) -> str:
        """Sends a prompt and gives the answer to it."""
        assert self.process.stdin and self.process.stdout
        sent = {"type": "user", "message": {"role": "user", "content": prompt}}
        self.process.stdin.write(json.dumps(sent).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            event = json.loads(line)
            if event["type"] == "result":
                return str(event.get("result"))
        raise AssertionError(f"it ended without an answer: {self.script.failures!r}")


@dataclass(slots=True)
class Client:
    """The program and what all its sessions share."""

    program: Path
    api: Api
    logs: Path
    plugin: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def start(
        self,
        cwd: Path,
        prompt: str,
        model: Model,
        *,
        agents: Model = SUMMARY,
        options: tuple[str, ...] = (),
        resume: str = "",
    ) -> Session:
        """Starts one `-p` run; `resume` names the session that it continues."""
        name = resume or str(uuid.uuid4())
        script, key = self.script(model, agents)
        out, err = (self.logs / f"{key}.{kind}" for kind in ("out", "err"))
        which = ("--resume" if resume else "--session-id", name, *options)
        with open(out, "wb") as output, open(err, "wb") as errors:
            process = subprocess.Popen(
                self.command(prompt, *which),
                cwd=cwd,
                env=self.surroundings() | {"ANTHROPIC_API_KEY": key},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        return Session(name, script, process, out, err)

    @contextmanager
    def talk(self, cwd: Path, model: Model) -> Iterator[Talk]:
        """One process for several prompts."""
        script, key = self.script(model, SUMMARY)
        with open(self.logs / f"{key}.err", "wb") as errors:
            process = subprocess.Popen(
                self.command("", "--input-format", "stream-json"),
                cwd=cwd,
                env=self.surroundings() | {"ANTHROPIC_API_KEY": key},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        with process:
            guard = threading.Timer(DEADLINE, process.kill)
            guard.start()
            try:
                yield Talk(script, process)
                assert process.stdin
                process.stdin.close()
                assert process.wait(DEADLINE) == 0
            finally:
                guard.cancel()
                process.kill()

    def script(self, model: Model, agents: Model) -> tuple[Script, str]:
        key = f"sk-{uuid.uuid4()}"
        return self.api.script(key, model, agents), key

    def command(self, prompt: str, *options: str) -> list[str]:
        words = [os.fspath(self.program), "-p", *([prompt] if prompt else []), "--output-format", "stream-json"]
        words += [
            "--verbose",
            "--include-hook-events",
            *(("--plugin-dir", os.fspath(self.plugin)) if self.plugin else ()),
        ]
        # The list of tools takes all words that follow, so it stands last.
        return [*words, *options, "--allowedTools", ALLOWED]

    def run(self, cwd: Path, prompt: str, model: Model, *, agents: Model = SUMMARY, resume: str = "") -> Session:
        return self.start(cwd, prompt, model, agents=agents, resume=resume).finish()

    def compact(self, cwd: Path, session: Session) -> None:
        """Has the session's conversation summed up."""
        self.start(cwd, "/compact", saying(), resume=session.id).end()

    @property
    def home(self) -> Path:
        return Path(self.surroundings()["HOME"])

    def surroundings(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        return kept | QUIET | {"ANTHROPIC_BASE_URL": self.api.url} | self.environment
