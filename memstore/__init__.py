"""Keeps the memories of coding agents in one store and shows them as the files that agents read."""

from __future__ import annotations

__version__ = "0.1.0"
