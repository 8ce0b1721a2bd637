"""One store for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.store.store import Store
from tests.store.stores import open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store in `tmp_path / "store"`, with a clock that ticks."""
    opened = open_store(tmp_path / "store")
    yield opened
    opened.close()
