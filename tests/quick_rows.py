"""sqlite-utils as on a machine without numpy. It needs none, and most of the time of its process is numpy's start."""

from __future__ import annotations

from pathlib import Path

import pytest


def without_numpy(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are started from now on find no numpy."""
    place.mkdir()
    (place / "numpy.py").write_text("raise ImportError('this test needs none')\n")
    monkeypatch.setenv("PYTHONPATH", str(place))
