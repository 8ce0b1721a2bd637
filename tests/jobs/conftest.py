"""The scripted Messages API, one for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.jobs.api import Scripted, scripted


@pytest.fixture
def api() -> Iterator[Scripted]:
    with scripted() as server:
        yield server
