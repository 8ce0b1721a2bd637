"""Where the client keeps memories, as it says itself."""

from __future__ import annotations

import re
from pathlib import Path

from tests.client.running import Client


def memory_folder(client: Client, checkout: Path) -> Path:
    """The default folder of a checkout's memories: the sanitised path, below the client's own home."""
    return client.home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(checkout)) / "memory"
