"""One store for one test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.store.store import Store
from tests.store.stores import open_store


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a closed store that holds nothing."""
    directory = tmp_path_factory.mktemp("empty") / "store"
    open_store(directory).close()
    return directory


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    """An empty store in `tmp_path / "store"`, with a clock that ticks.

    It does not wait for the disk: what is durable is tried in tests/race and test_commit.py.
    """
    shutil.copytree(empty_store, tmp_path / "store")
    opened = open_store(tmp_path / "store")
    opened._link.connection.execute("PRAGMA synchronous = OFF")
    yield opened
    opened.close()
