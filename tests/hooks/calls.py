"""A client that calls its hooks: real processes of `memstore/hook.py`, with the client's JSON on standard input."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import memstore.hook
from memstore.claude import nearby
from tests.files.desk import Desk

HOOK = memstore.hook.__file__
_numbers = count(1)
_PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """What one hook gave."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.out)) if self.out else {}

    @property
    def context(self) -> str:
        """The words for the session."""
        return str(self.json.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def message(self) -> str:
        """The line for the person."""
        return str(self.json.get("systemMessage", ""))

    def check(self, seconds: float) -> Answer:
        """What holds in every weather: code 0, in time, one line at most, no word on standard error."""
        assert (self.code, self.err) == (0, b""), self
        assert self.seconds < seconds, self
        assert set(self.json) <= {"systemMessage", "hookSpecificOutput"}, self
        assert "\n" not in self.message, self
        return self


def start(event: str, data: bytes, cwd: Path | str, **variables: str) -> Answer:
    """One hook with these bytes on its standard input."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-I", "-S", HOOK, event],
        input=data, cwd=cwd, env={**os.environ, **variables}, capture_output=True, timeout=_PATIENCE,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr, time.monotonic() - begin)


@dataclass
class Session:
    """One session of the client in a desk's repository, or in `cwd`."""

    desk: Desk
    id: str
    cwd: Path | None = None
    agent: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.desk.folder

    def data(self, event: str, **given: Any) -> dict[str, Any]:
        place = self.cwd or self.desk.base / self.desk.root
        transcript = Path(os.environ["HOME"]) / ".claude" / "projects" / "x" / f"{self.id}.jsonl"
        common = {"session_id": self.id, "transcript_path": str(transcript), "cwd": str(place), "prompt_id": "p1"}
        inside = {"agent_id": self.agent, "agent_type": "general-purpose"} if self.agent else {}
        return {**common, **inside, "hook_event_name": event, **given}

    def hook(self, event: str, **given: Any) -> Answer:
        data = self.data(event, **given)
        return start(event, json.dumps(data).encode(), data["cwd"], **self.variables).check(30)

    def starts(self, source: str = "startup") -> Answer:
        return self.hook("SessionStart", source=source)

    def prompts(self) -> Answer:
        return self.hook("UserPromptSubmit", prompt="go on")

    def stops(self) -> Answer:
        return self.hook("Stop", stop_hook_active=False, last_assistant_message="done")

    def file(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_bytes().decode()
        except FileNotFoundError:
            return None

    def writes(self, name: str, text: str, stamped: str | None = None) -> Answer:
        """A Write, from the hook before it to the hook after it. `stamped`: as the client has it on disk."""
        path = str(self.folder / name)
        call = {"tool_name": "Write", "tool_use_id": f"toolu_{next(_numbers)}"}
        given = {"file_path": path, "content": text}
        self.hook("PreToolUse", **call, tool_input=given)
        original = self.file(name)
        self._put(name, text if stamped is None else stamped)
        response = {
            "type": "create" if original is None else "update", "filePath": path, "structuredPatch": [],
            "content": text if stamped is None else stamped, "originalFile": _as_told(original), "userModified": False,
        }  # fmt: skip
        return self.hook("PostToolUse", **call, tool_input=given, tool_response=response)

    def edits(self, name: str, old: str, new: str, stamped: str | None = None) -> Answer:
        """An Edit, likewise. The client does not tell what is on disk after it."""
        path = str(self.folder / name)
        call = {"tool_name": "Edit", "tool_use_id": f"toolu_{next(_numbers)}"}
        given = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        self.hook("PreToolUse", **call, tool_input=given)
        original = self.file(name) or ""
        self._put(name, original.replace(old, new, 1) if stamped is None else stamped)
        response = {
            "filePath": path, "oldString": old, "newString": new, "originalFile": _as_told(original),
            "structuredPatch": [], "userModified": False, "replaceAll": False,
        }  # fmt: skip
        return self.hook("PostToolUse", **call, tool_input=given, tool_response=response)

    def fails(self, name: str, old: str, new: str, given: dict[str, Any] | None = None) -> str:
        """An Edit that the client was about to make and could not; gives its id. `given`: what the hook after it is
        told instead."""
        path = str(self.folder / name)
        call = {"tool_name": "Edit", "tool_use_id": f"toolu_{next(_numbers)}"}
        edit = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        self.hook("PreToolUse", **call, tool_input=edit)
        told = {"error": "File content has changed since it was last read.", "is_interrupt": False, "duration_ms": 3}
        answer = self.hook("PostToolUseFailure", **{**call, "tool_input": edit, **told, **(given or {})})
        assert answer.out == b""
        return call["tool_use_id"]

    def reads(self, name: str, limit: int | None = None) -> Answer:
        path = str(self.folder / name)
        lines = (_as_told(self.file(name)) or "").split("\n")
        shown = lines if limit is None else lines[:limit]
        file = {"filePath": path, "content": "\n".join(shown), "numLines": len(shown), "startLine": 1}
        given = {"file_path": path} if limit is None else {"file_path": path, "limit": limit}
        return self.hook(
            "PostToolUse", tool_name="Read", tool_use_id=f"toolu_{next(_numbers)}", tool_input=given,
            tool_response={"type": "text", "file": {**file, "totalLines": len(lines)}},
        )  # fmt: skip

    def runs(self, command: str) -> Answer:
        return self.hook(
            "PostToolUse", tool_name="Bash", tool_use_id=f"toolu_{next(_numbers)}", tool_input={"command": command},
            tool_response={"stdout": "", "stderr": "", "interrupted": False, "isImage": False},
        )  # fmt: skip

    def _put(self, name: str, text: str) -> None:
        """Whole, by a rename, as the client does."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.tmp.812.ab12cd")
        part.write_bytes(text.encode())
        part.rename(path)


def _as_told(text: str | None) -> str | None:
    return None if text is None else text.replace("\r\n", "\n")


def at_rest(desk: Desk) -> None:
    """Returns once no worker is at work, nor waits for its turn."""
    store = desk.memories.store.directory
    end = time.monotonic() + _PATIENCE
    free = 0
    while free < 3:
        assert time.monotonic() < end, "a worker does not end"
        time.sleep(0.05)
        locks = (f"{kind}-{turn}" for kind in ("work", "extract", "dream") for turn in ("next", "now"))
        free = free + 1 if all(_is_free(os.path.join(store, name)) for name in locks) else 0


def until(true: Callable[[], object]) -> None:
    """Returns once this is so."""
    end = time.monotonic() + _PATIENCE
    while not true():
        assert time.monotonic() < end, "nobody brought it about"
        time.sleep(0.05)


def settled(desk: Desk, true: Callable[[], object]) -> None:
    """Returns once this is so, and the worker that brought it about has ended."""
    until(true)
    at_rest(desk)


def inbox(desk: Desk, columns: str = "kind, state, name, session") -> list[tuple[Any, ...]]:
    """The rows of the inbox."""
    with desk.memories.store.view() as connection:
        return [tuple(row) for row in connection.execute(f"SELECT {columns} FROM inbox ORDER BY seq")]


def spooled(desk: Desk) -> list[Path]:
    home = Path(desk.memories.place.home.path)
    return sorted((home / "spool").glob("*.row"))


def database(desk: Desk) -> Path:
    return Path(nearby.database(desk.memories.place.home.path, desk.memories.store.id))


def _is_free(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True
