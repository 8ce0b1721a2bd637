"""What the client's hooks take as whole processes, against an interpreter that does nothing."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time

import memstore.hook
from memstore.app import Memstore
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.folders import SETTLED, shown_in
from scripts.benchmarks.measure import Row, interleaved, middle, ratio, workplace, world_in

_LIMIT = 2.0
_RECALL_LIMIT = 8.0  # that of a search as a process
_PATIENCE = 30.0


def hooks(quick: bool) -> list[Row]:
    """In a project of 200 memories."""
    rounds = 10 if quick else 40
    with workplace() as directory:
        world = world_in(directory)
        with Memstore.open(world=world) as app:
            folder = os.path.realpath(shown_in(app, Corpus(), 200))
            world.pause(SETTLED)
            app.sync()
            store = app.store.directory
            wanted = f"what do we know of {app.memories()[100].description}?"
            assert app.recall(wanted).text
        hook = _Hook(world.cwd, dict(world.environment), folder)
        hook.run("SessionStart", source="startup")
        hook.run("Stop")
        prompt, told, unsure, written, turned, started, ended, nothing = interleaved(
            rounds,
            lambda _: hook.run("UserPromptSubmit", prompt="go on"),
            lambda number: hook.run("UserPromptSubmit", prompt=wanted, session_id=f"bench-{number}"),
            lambda _: hook.run("UserPromptSubmit", prompt="what does the zebra say about this?"),
            hook.written,
            lambda _: hook.run("Stop"),
            lambda number: hook.run("SessionStart", source="resume") if number % 5 == 0 else None,
            lambda _: hook.run("SessionEnd", reason="other"),
            lambda _: subprocess.run([sys.executable, "-c", "pass"], check=True),
            before=lambda number: hook.prepare(number, store),
            between=lambda _: _rest(store),  # of what an earlier hook started none pays
        )
        _rest(store)
    baseline = middle(nothing)

    def row(what: str, taken: list[float], limited: bool = True, most: float = _LIMIT) -> Row:
        limit = ratio("<=", most) if limited else None
        return Row("hook", what, middle(taken), "ms", baseline, "python -c pass", limit)

    return [
        row("a prompt, nothing new", prompt),
        row("a prompt, memories are recalled and told", told, most=_RECALL_LIMIT),
        row("a prompt, nothing surely bears on it", unsure, most=_RECALL_LIMIT),
        row("a file that was written goes into the inbox", written),
        row("a turn ends: a job is queued, the worker started", turned),
        row("a session ends: the same", ended, limited=False),
        row("a session starts: synced, told", [took for at, took in enumerate(started) if at % 5 == 0], limited=False),
    ]


class _Hook:
    """Calls of one session, as the client makes them."""

    def __init__(self, cwd: str, environment: dict[str, str], folder: str) -> None:
        self._cwd = cwd
        self._environment = {"PATH": os.environ["PATH"], **environment}
        self._file = os.path.join(folder, "note-of-the-bench.md")
        self._texts = ("", "")
        transcripts = os.path.join(environment["HOME"], ".claude", "projects", "bench")
        os.makedirs(transcripts, exist_ok=True)
        self._common = {"session_id": "bench", "transcript_path": f"{transcripts}/bench.jsonl", "cwd": cwd}

    def run(self, event: str, **given: object) -> None:
        """One hook, from its start to its end."""
        command = [sys.executable, "-I", "-S", memstore.hook.__file__, event]
        data = json.dumps({**self._common, "hook_event_name": event, **given}).encode()
        subprocess.run(command, input=data, cwd=self._cwd, env=self._environment, check=True, stdout=subprocess.DEVNULL)

    def prepare(self, number: int, store: str) -> None:
        """No worker is at work, and the client has written a file, as the hook before that has told."""
        _rest(store)
        header = "---\nname: note-of-the-bench\ndescription: a note\ntype: project\n---\n\n"
        self._texts = self._texts[1], header + f"What round {number} wrote.\n" * 30
        with open(self._file + ".tmp.1", "w", encoding="utf-8") as file:
            file.write(self._texts[1])
        os.rename(self._file + ".tmp.1", self._file)
        self.run(
            "PreToolUse",
            tool_name="Write",
            tool_use_id=f"bench-{number}",
            tool_input={"file_path": self._file, "content": self._texts[1]},
        )

    def written(self, number: int) -> None:
        """What the client tells of that."""
        before, text = self._texts
        self.run(
            "PostToolUse",
            tool_name="Write",
            tool_use_id=f"bench-{number}",
            tool_input={"file_path": self._file, "content": text},
            tool_response={"type": "update", "content": text, "originalFile": before or None},
        )


def _rest(store: str) -> None:
    """Waits until no worker is at work: two cores would otherwise be shared with it."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        time.sleep(0.05)
        locks = (f"{kind}-{turn}" for kind in ("work", "extract") for turn in ("next", "now"))
        if all(_is_free(os.path.join(store, name)) for name in locks):
            return


def _is_free(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True
