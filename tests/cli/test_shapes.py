"""Each command's JSON has the shape that `memstore.cli.shapes` tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memstore.app import Memstore
from memstore.cli.main import SECTIONS
from memstore.cli.shapes import ERROR, NAMED, SHAPES
from memstore.cli.shaping import content_shape, dumped, moment_shape
from tests.cli.conftest import Run
from tests.store.stores import keep_notes


def has_shape(value: Any, shape: Any) -> bool:
    """Whether a value has a shape, with no key more and no key less."""
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(has_shape(value[k], shape[k]) for k in shape)
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(has_shape(item, shape[0]) for item in value)
    if shape.endswith(" or null"):
        return value is None or has_shape(value, shape.removesuffix(" or null"))
    if shape in NAMED:
        return has_shape(value, NAMED[shape])
    return bool(_PLAIN[shape](value))


_PLAIN = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: type(value) is int,
    "fraction": lambda value: isinstance(value, float),
    "flag": lambda value: isinstance(value, bool),
    "scalar": lambda value: isinstance(value, str | bool | int | float),
    "time": lambda value: isinstance(value, str) and len(value) == 27 and value[10] == "T" and value[-1] == "Z",
    "token": lambda value: isinstance(value, str) and len(value) == 12 and not value.strip("0123456789abcdef"),
    "counts": lambda value: isinstance(value, dict) and all(type(number) is int for number in value.values()),
}


def test_every_command_has_a_shape():
    commands = {name for names in SECTIONS.values() for name in names}
    assert commands - {"demo", "hook", "mcp"} == {name.split()[0] for name in SHAPES}


def test_every_command_prints_its_shape(
    run: Run, conflict: str, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (repo / "strange.bin").write_bytes(b"\0")
    (repo / ".claude" / "agent-memory" / "rev").mkdir(parents=True)
    (repo / ".claude" / "settings.json").write_text('{"autoDreamEnabled": true}')
    monkeypatch.setenv("EDITOR", "true")
    with Memstore.open(str(repo)) as memories:
        keep_notes(memories.store, "s", b"# Session Title\nport\n")
    calls: list[tuple[str, ...]] = [
        ("write", "note", "a word"),
        ("append", "note", "more"),
        ("edit", "note"),
        ("set", "note", "description", "text"),
        ("rename", "note", "remark"),
        ("pin", "remark"),
        ("unpin", "remark"),
        ("supersede", "remark", "--by", "topic"),
        ("delete", "remark"),
        ("restore", "remark"),
        ("list", "--retired"),
        ("show", "remark"),
        ("search", "word", "--all-projects"),
        ("recall", "word", "--explain"),
        ("check",),
        ("agents",),
        ("pause", "--store"),
        ("status",),
        ("resume",),
        ("extract", "status"),
        ("extract", "log"),
        ("extract", "run"),
        ("extract", "retry"),
        ("note", "a word", "--operation", "a"),
        ("note", "--list"),
        ("notes", "list"),
        ("notes", "show"),
        ("config", "list"),
        ("config", "path"),
        ("config", "get", "extract.via"),
        ("config", "set", "budget.day", "0.50"),
        ("config", "unset", "budget.day"),
        ("log",),
        ("diff", "remark"),
        ("diff", "--operation", "1"),
        ("blame", "remark"),
        ("undo", "2", "--dry-run"),
        ("tidy",),
        ("lint", "--exit-zero"),
        ("completion", "bash"),
        ("sync",),
        ("conflicts",),
        ("resolve", conflict, "--both"),
        ("undo", "2"),
        ("import", "."),
        ("export", str(tmp_path / "out")),
        ("purge", "--before", "0m", "--yes"),
        ("backup", "--keep", "3"),
        ("backup", "--list"),
        ("restore-backup", "latest", "--yes"),
        ("db", "snapshot", str(tmp_path / "copy.db")),
        ("stats", "--plot", str(tmp_path / "stats.svg")),
        ("where",),
        ("trust", "--all"),
        ("link", str(repo)),
        ("prompt",),
        ("install", "claude", "--yes"),
        ("uninstall", "claude", "--yes"),
    ]
    seen = set()
    for call in calls:
        done = run(*call, "--json")
        assert done.code == 0, (call, done)
        assert done.out.count("\n") == 1
        name = " ".join(call[:2]) if " ".join(call[:2]) in SHAPES else call[0]
        shape = {"memstore": "number", "command": "text", **SHAPES[name]}
        assert has_shape(done.json, shape), (call, done.json)
        assert (done.json["memstore"], done.json["command"]) == (1, name)
        seen.add(name)
    # The watch does not end by itself: see test_watch.py. The doctor and the dream ask a model: see their own tests.
    # What rebuilds a store wants a damaged one: see test_backup.py.
    assert seen == {name for name in SHAPES if name.split()[0] not in ("watch", "doctor", "dream", "rebuild")}


@pytest.mark.parametrize(
    "call",
    [
        ("write", "../x", "text"),
        ("show", "absent"),
        ("nonsense",),
        ("list", "--sort", "size"),
        ("where", "--unknown"),
        ("write",),
    ],
)
def test_an_error_is_json_too(run: Run, call: tuple[str, ...]):
    run("write", "note", "text")
    failed = run(*call, "--json")
    error = failed.json["error"]
    assert failed.json["memstore"] == 1
    assert error["code"] == failed.code != 0
    assert has_shape({key: error[key] for key in ERROR}, ERROR)
    assert failed.err.startswith(f"memstore: {error['message'][:20]}")


@pytest.mark.parametrize("text", ["\ud800", "\0", "\u2028\u2029", "\x1b[31m", "\U0010ffff", "\udcff"])
def test_json_takes_every_text(text: str):
    assert json.loads(dumped({"text": text})) == {"text": text}
    assert dumped({"text": text}).isascii()


def test_content_is_text_or_base64():
    assert content_shape("ü".encode()) == {"content": "ü", "encoding": "utf-8"}
    assert content_shape(b"\xff") == {"content": "/w==", "encoding": "base64"}


def test_a_time_is_utc_with_microseconds():
    assert moment_shape(1_772_323_200_000_001) == "2026-03-01T00:00:00.000001Z"
