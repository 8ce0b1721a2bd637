from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files.desk import Desk
from tests.hooks.calls import at_rest


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """An empty store, and the clock of the machine; at the end no worker is left behind."""
    made = Desk(tmp_path, ahead=0.0)
    made.folder.mkdir(parents=True)
    yield made
    at_rest(made)
    made.close()
