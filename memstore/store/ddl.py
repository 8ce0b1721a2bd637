"""Finds the files that memstore ships beside its code: the schema's steps, the sample memories of the demo.

A wheel carries them inside the package (`memstore/schema`, `memstore/demo_data`); in a checkout, and so in an
editable install, they lie where the project keeps them. Plain `os.path`: every command passes through here,
and importlib.resources would cost more than the search itself.
"""

from __future__ import annotations

import os
import re

from memstore import errors

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_STEP = re.compile(r"([0-9]{4})_[a-z0-9_]+\.sql")


def schema_directory(package: str = _PACKAGE) -> str:
    """The directory of the numbered schema steps. Raises Defect where the installation has none."""
    return _shipped(package, "schema", "schema")


def sample_directory(package: str = _PACKAGE) -> str:
    """A memory directory as a real client wrote it, for the demo. Raises Defect where there is none."""
    return _shipped(package, "demo_data/memory", "tests/data/claude-code-2.1.332/memory")


def migrations(directory: str | None = None) -> list[tuple[int, str]]:
    """The schema's steps as (number, SQL), from 1 upwards. Raises Defect where one is missing."""
    directory = schema_directory() if directory is None else directory
    names = sorted(name for name in os.listdir(directory) if _STEP.fullmatch(name))
    steps = [(int(name[:4]), _text(os.path.join(directory, name))) for name in names]
    if not steps or [number for number, _ in steps] != list(range(1, len(steps) + 1)):
        raise errors.Defect(
            f"the schema steps in {directory} are not numbered 1, 2, 3 ...: {', '.join(names) or 'none'}",
            hint="install memstore again",
        )
    return steps


def _shipped(package: str, in_wheel: str, in_checkout: str) -> str:
    candidates = (os.path.join(package, in_wheel), os.path.join(os.path.dirname(package), in_checkout))
    for candidate in candidates:
        if os.path.isdir(candidate):
            return candidate
    raise errors.Defect(
        f"this installation of memstore is incomplete: neither {candidates[0]} nor {candidates[1]} is there",
        hint="install memstore again",
    )


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
