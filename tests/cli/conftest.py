"""A repository with no memories yet, and the program run in it, in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memstore.cli.main import program


@dataclass(frozen=True)
class Ran:
    """What a run of the program gave."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that was printed."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value

    @property
    def token(self) -> str:
        """The token of the memory that was written."""
        return str(self.json["memory"]["token"])


Run = Callable[..., Ran]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A directory that looks like a repository."""
    place = tmp_path / "repo"
    (place / ".git").mkdir(parents=True)
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return place


@pytest.fixture
def run(repo: Path) -> Run:
    """Runs `memstore` as if started in the repository; `at` another directory, `stdin` what is piped in."""

    def call(*args: str, stdin: str | bytes | None = None, at: Path | None = None) -> Ran:
        result = CliRunner().invoke(program, ["-C", str(at or repo), *args], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return Ran(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)

    return call


@pytest.fixture
def folder(repo: Path, run: Run) -> Path:
    """The memory folder of the repository."""
    return Path(run("where", "--json").json["folder"])


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets $EDITOR to a program: these lines of Python on `path` and `text`, which is written back."""

    def use(lines: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(
            "import sys\npath = sys.argv[-1]\ntext = open(path, encoding='utf-8', newline='').read()\n"
            f"{lines}\nopen(path, 'w', encoding='utf-8', newline='').write(text)\n"
        )
        monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{script}'")

    return use


@pytest.fixture
def conflict(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The id of a conflict in `topic.md`: the store has `ours`, a file of a second folder had `theirs`."""
    run("write", "topic", "first\nmiddle\nlast\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "second"))
    assert run("sync").code == 0
    file = Path(run("where", "--json").json["folder"]) / "topic.md"
    file.write_text(file.read_text().replace("middle", "theirs"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    token = run("show", "topic", "--json").json["memory"]["token"]
    assert run("write", "topic", "first\nours\nlast\n", "--expect", token).code == 0
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "second"))
    assert run("sync").code == 0
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    found = run("conflicts", "--json").json["conflicts"]
    assert len(found) == 1
    return str(found[0]["id"])
