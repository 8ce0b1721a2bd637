"""Sessions that talk: their transcripts as the client writes them, in its own place."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from memstore.core.frontmatter import compose
from tests.messages_api import Use

SAID = "please always use bun here, never npm"

_numbers = count(1)


class Talk:
    """The transcript of one session."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.path = Path(os.environ["HOME"]) / ".claude" / "projects" / "x" / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._last: str | None = None

    def person(self, *texts: str, branch: str = "") -> None:
        """A person says something."""
        for text in texts:
            self._add("user", {"role": "user", "content": text}, origin={"kind": "human"}, gitBranch=branch)

    def agent(self, text: str) -> None:
        """The agent says something."""
        self._add("assistant", {"role": "assistant", "content": [{"type": "text", "text": text}]})

    @property
    def size(self) -> int:
        """Bytes."""
        return self.path.stat().st_size

    def _add(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        identity = f"{self.session}-{next(_numbers)}"
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row = {"type": kind, "uuid": identity, "parentUuid": self._last, "sessionId": self.session, "timestamp": at}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "message": message, **more}) + "\n")
        self._last = identity


def write(name: str = "feedback_bun", body: str = "Use bun.\n", quote: str = SAID, kind: str = "feedback") -> Use:
    """A model writes a memory, by the words of a person."""
    content = compose(name, f"about {name}", kind, body).decode()
    return Use("Write", {"file_path": f"{name}.md", "content": content, "quote": quote})
