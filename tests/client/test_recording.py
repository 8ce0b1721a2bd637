"""The samples of hook inputs that other tests use are what the real client sends."""

from __future__ import annotations

import json
from pathlib import Path

from tests.client.recording import record, recorder, shape
from tests.client.running import Client

SAMPLES = Path(__file__).parents[1] / "data" / "claude-code-2.1.332" / "hooks"


def test_the_client_sends_hooks_what_the_samples_show(bare: Client, repository: Path, tmp_path: Path):
    log = tmp_path / "hooks.jsonl"
    bare.plugin = recorder(tmp_path / "recorder", log)
    found = record(bare, repository, log)
    for name, value in found.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    samples = {path.stem: json.loads(path.read_text("utf-8")) for path in SAMPLES.glob("*.json")}
    assert {name: shape(value) for name, value in found.items()} == {
        name: shape(value) for name, value in samples.items()
    }, f"the client's own are in {tmp_path}"
