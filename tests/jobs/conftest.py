"""The scripted Messages API, one for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.api import Scripted, scripted
from tests.jobs.night import Night
from tests.jobs.scene import Scene


@pytest.fixture
def api() -> Iterator[Scripted]:
    with scripted() as server:
        yield server


@pytest.fixture
def scene(tmp_path: Path, api: Scripted) -> Iterator[Scene]:
    made = Scene(tmp_path, api)
    yield made
    made.store.close()


@pytest.fixture
def night(tmp_path: Path) -> Iterator[Night]:
    made = Night(tmp_path)
    yield made
    made.close()
