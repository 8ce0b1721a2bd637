"""The real client. `scripts/client` fetches it and names it in MEMSTORE_CLIENT; nothing here is collected without."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.api import Api, serving
from tests.client.running import Client

PROGRAM = os.environ.get("MEMSTORE_CLIENT")
"""Looked up once: no test sees the variables of whoever runs it."""


def pytest_ignore_collect() -> bool | None:
    return None if PROGRAM else True


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as api:
        yield api
        assert api.strangers == []


@pytest.fixture
def bare(api: Api, home: Path, tmp_path: Path) -> Client:
    """The client without the plugin: what everybody has today."""
    logs = tmp_path / "logs"
    logs.mkdir()
    assert PROGRAM
    return Client(Path(PROGRAM), api, logs)


def git(cwd: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    path = tmp_path / "shop"
    path.mkdir()
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "start")
    return path


@pytest.fixture
def checkouts(repository: Path) -> list[Path]:
    """The main checkout and two linked worktrees."""
    linked = [repository.parent / name for name in ("shop-pay", "shop-auth")]
    for path in linked:
        git(repository, "worktree", "add", "-q", "-b", path.name, os.fspath(path))
    return [repository, *linked]
