from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """An empty store and no memory folder yet."""
    made = Desk(tmp_path)
    yield made
    made.close()
