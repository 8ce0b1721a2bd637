"""What memstore costs, as ratios to bare baselines of the same run. For people: no test asserts a figure."""

from __future__ import annotations
