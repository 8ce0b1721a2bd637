"""What an examination found: values for whoever tells a person, mends it, or decides by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning", "error"]
"""note: worth knowing. warning: something does not work as it should, nothing is lost. error: memories are in danger,
or cannot be read or written."""

_ORDER: tuple[Severity, ...] = ("note", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. `check`: the name of what looked, such as `index-full`; `what`: what is the matter, one
    sentence that names the file or row; `why`: why it matters; `mend`: the command that mends it, or the next step.
    `fix`: whether `doctor --fix` mends it by itself, for nothing can be lost by that."""

    check: str
    severity: Severity
    what: str
    why: str
    mend: str
    fix: bool = False


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The highest severity; None where nothing was found."""
    return max((finding.severity for finding in findings), key=_ORDER.index, default=None)
