"""What the end of a transcript tells of the client that wrote it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from memstore.claude.ending import CostState, End, read_end, tools_in_use

MODELS = {"m": {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 30, "cacheCreationInputTokens": 400}}


def written(place: Path, *rows: Any) -> str:
    path = place / "s.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return str(path)


def state(dollars: object = 0.5, **more: object) -> dict[str, object]:
    return {"type": "cost-state", "totalCostUSD": dollars, "modelUsage": MODELS, **more}


def test_the_last_version_and_all_costs_are_told_newest_first(tmp_path: Path):
    path = written(
        tmp_path, {"type": "user", "version": "2.1.1"}, state(0.1), {"type": "user", "version": "2.1.332"}, state(0.5)
    )
    assert read_end(path) == End("2.1.332", (CostState(433, 0.5), CostState(433, 0.1)))


def test_a_cost_that_is_not_whole_is_not_known(tmp_path: Path):
    path = written(tmp_path, state(hasUnknownModelCost=True), state("0.5"), state(modelUsage=[]), state(modelUsage={}))
    assert read_end(path).costs == (
        CostState(0, 0.5), CostState(0, 0.5), CostState(433, None), CostState(433, None),
    )  # fmt: skip


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path):
    filler = json.dumps({"type": "user", "version": "2.0.0", "text": "x" * 1_000})
    path = written(tmp_path, state(9), *[filler] * 3_000, {"type": "user", "version": "2.1.332"})
    assert read_end(path) == End("2.1.332", ())


def test_what_cannot_be_read_tells_nothing(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(written(tmp_path, {"type": "user", "version": "2.1.332"}))
    for name in ("none", "fifo", "link", "."):
        assert read_end(str(tmp_path / name)) == End()
    lines = ['{"version": "2.1', '["version"]', '{"version": 2}', "\0", '{"version"' * 10_000]
    assert read_end(written(tmp_path, *lines)) == End()


def test_the_tools_that_were_called_last_are_told_newest_first_each_once(tmp_path: Path):
    def called(*names: object) -> dict[str, object]:
        return {"message": {"content": [{"type": "tool_use", "name": name} for name in names]}}

    odd = [{"message": "tool_use"}, {"message": {"content": "tool_use"}}, ["tool_use"], '{"tool_use']
    path = written(tmp_path, called("Old"), called("Bash", "Read"), called("Grep", "Bash", 7), *odd)
    assert tools_in_use(path) == ["Bash", "Grep", "Read", "Old"]
    assert tools_in_use(path, 2) == ["Bash", "Grep"]
    assert tools_in_use(str(tmp_path / "absent")) == []
