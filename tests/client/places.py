"""Where the client keeps memories, and what memstore says of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
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


def with_plugin(client: Client, place: Path, cwd: Path) -> Client:
    """The client with the plugin, as `install` renders it."""
    memstore(cwd, "install", "claude", "--plugin-dir", place)
    client.plugin = place
    return client
