"""The JSON of the commands that keep house, told as in `shapes`."""

from __future__ import annotations

from memstore.cli.shaping import Shape

UPKEEP: dict[str, Shape] = {}
"""The keys of each of these commands."""
