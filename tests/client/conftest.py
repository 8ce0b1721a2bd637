"""The real client, which `scripts/client` fetches and names with --client. Without it nothing here is collected."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.client.api import Api, serving
from tests.client.running import Client


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--client", help="the program of the real client; scripts/client names it")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return None if config.getoption("--client", None) else True


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as api:
        yield api
        assert api.strangers == []


@pytest.fixture
def bare(request: pytest.FixtureRequest, api: Api, home: Path, tmp_path: Path) -> Client:
    """The client without the plugin: what everybody has today."""
    logs = tmp_path / "logs"
    logs.mkdir()
    return Client(Path(request.config.getoption("--client")), api, logs)


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
