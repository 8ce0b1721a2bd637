"""A plugin that writes down what the client hands to hooks, and the session that makes it hand out all kinds.

The samples in tests/data were made so; test_recording.py says whether the client still sends what they show.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from tests.client.api import Answer, Request, Say, Use, saying
from tests.client.places import memory_folder
from tests.client.running import Client

EVENTS = (
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PreCompact PostCompact"
    " SubagentStart SubagentStop Stop SessionEnd"
)

RECORD = """\
import os, sys
text = sys.stdin.buffer.read()
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(handle, text.strip() + b"\\n")
"""

TOPIC = "---\nname: staging\ndescription: where staging listens\ntype: reference\n---\n\nStaging listens on 7443.\n"
DEMO = {"home": "/home/me", "shop": "/srv/demo/shop"}
"""What stands for the two directories that a sample names."""


def recorder(place: Path, log: Path) -> Path:
    """Makes the plugin; gives its directory."""
    (place / ".claude-plugin").mkdir(parents=True)
    (place / ".claude-plugin" / "plugin.json").write_text('{"name": "recorder"}', encoding="utf-8")
    (place / "record.py").write_text(RECORD, encoding="utf-8")
    arguments = ["-I", "-S", str(place / "record.py"), str(log)]
    handler = {"type": "command", "command": sys.executable, "args": arguments}
    hooks = {event: [{"hooks": [handler]}] for event in EVENTS.split()}
    (place / "hooks").mkdir()
    (place / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    return place


def record(client: Client, checkout: Path, log: Path) -> dict[str, dict[str, Any]]:
    """Plays all that has hooks, and gives the first input of each kind, as a sample shows it."""
    folder = memory_folder(client, checkout)
    topic, index = str(folder / "staging.md"), str(folder / "MEMORY.md")

    def model(request: Request) -> Generator[Answer, Request, None]:
        yield Use("Write", {"file_path": topic, "content": TOPIC})
        yield Use("Write", {"file_path": index, "content": "- [Staging](staging.md) — where it listens\n"})
        yield Use("Edit", {"file_path": topic, "old_string": "7443", "new_string": "7444"})
        yield Use("Read", {"file_path": topic})
        yield Use("Read", {"file_path": topic, "offset": 2, "limit": 2})
        yield Use("Read", {"file_path": str(folder / "absent.md")})
        yield Use("Write", {"file_path": topic, "content": TOPIC.replace("7443", "7445")})
        yield Use("Bash", {"command": f"cat {topic}"})
        yield Use("Agent", {"description": "a note", "prompt": "Note it.", "subagent_type": "general-purpose"})
        yield Say("An agent does it.")
        yield Say("Noted.")

    agent = saying(Use("Write", {"file_path": str(folder / "by-agent.md"), "content": TOPIC}), Say("It is noted."))
    session = client.run(checkout, "Note where staging listens.", model, agents=agent)
    client.compact(checkout, session)
    samples: dict[str, dict[str, Any]] = {}
    text = log.read_text("utf-8")
    for real, demo in ((client.home, DEMO["home"]), (checkout, DEMO["shop"])):
        text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", str(real)), re.sub(r"[^A-Za-z0-9]", "-", demo))
        text = text.replace(str(real), demo)
    text = text.replace(str(checkout.parent), str(Path(DEMO["shop"]).parent))
    text = text.replace(session.id, "11111111-1111-4111-8111-111111111111")
    for line in text.split("\n"):
        if line:
            value = json.loads(line)
            samples.setdefault(kind(value), value)
    return samples


def kind(value: dict[str, Any]) -> str:
    """What a sample is called: event, then tool or source, then what is special about it."""
    words = [re.sub(r"(?<!^)(?=[A-Z])", "-", value["hook_event_name"]).lower()]
    words += [str(value.get("tool_name") or value.get("source") or "").lower()]
    response = value.get("tool_response")
    if isinstance(response, dict):
        words.append(response.get("type", "") if value["tool_name"] == "Write" else "")
        file = response.get("file", {})
        words.append("part" if file.get("numLines") != file.get("totalLines") else "")
    words.append("agent" if "agent_id" in value and not value["hook_event_name"].startswith("Subagent") else "")
    return "-".join(word for word in words if word)


def shape(value: object) -> object:
    """Names and types, without what changes from run to run: how many are in a list, and whether a number is whole."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in sorted(value.items())}
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
