"""A repository with its store and its memory folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A store that holds nothing yet."""
    opened = Desk(tmp_path)
    yield opened
    opened.close()
