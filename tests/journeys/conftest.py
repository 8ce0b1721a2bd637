"""Repositories, worktrees and memory directories to travel through."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


def git(cwd: Path, *arguments: str) -> None:
    """Runs git, which must succeed."""
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    path = tmp_path / "repo"
    path.mkdir()
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "start")
    return path


@pytest.fixture
def worktree(repository: Path) -> Callable[[str], Path]:
    """Makes a linked worktree beside the repository."""

    def make(name: str) -> Path:
        path = repository.parent / name
        git(repository, "worktree", "add", "-q", "-b", name, os.fspath(path))
        return path

    return make
