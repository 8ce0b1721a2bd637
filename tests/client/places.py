"""Where the client keeps memories, and what memstore says of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.client.running import Client


def memory_folder(client: Client, checkout: Path) -> Path:
    """The default folder of a checkout's memories: the sanitised path, below the client's own home."""
    return client.home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(checkout)) / "memory"


def memstore(cwd: Path, *arguments: str | Path) -> str:
    """Runs a command of memstore, which must succeed, as a process of its own."""
    words = [os.fspath(argument) for argument in arguments]
    done = subprocess.run([sys.executable, "-m", "memstore", *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def ask(cwd: Path, *arguments: str) -> dict[str, Any]:
    """The same, as JSON."""
    value = json.loads(memstore(cwd, *arguments, "--json"))
    assert isinstance(value, dict)
    return value


def makers(cwd: Path) -> dict[str, dict[str, Any]]:
    """The operation that made each memory, by its path."""
    operations = ask(cwd, "log", "--limit", "100000")["operations"]
    return {made["path"]: one for one in operations for made in one["made"] if made["change"] == "create"}


def settle(cwd: Path) -> None:
    """Syncs until nothing waits: a call that was refused late leaves its file in suspense for some seconds."""
    deadline = time.monotonic() + 30
    while True:
        words = [sys.executable, "-m", "memstore", "sync", "--json"]
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
        files = json.loads(done.stdout).get("files") if done.stdout else None
        if files and not files["waiting"] and not files["pending"]:
            return
        assert time.monotonic() < deadline, f"{done.stdout}\n{done.stderr}"


def with_plugin(client: Client, place: Path, cwd: Path) -> Client:
    """The client with the plugin, as `install` renders it."""
    memstore(cwd, "install", "claude", "--plugin-dir", place)
    client.plugin = place
    return client
