"""The values that `core/reconcile.py` and `core/gates.py` speak of: what was found, and what to do about it.

Each decision carries the number of its rule in `core/reconcile.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

SECOND_SCAN = 1_000_000
"""Microseconds between two scans that agree on an absence."""

Trouble = Literal["irregular", "unsettled"]
"""What a folder's scan found wrong: no plain file (or debris in its place), or one that is being written."""


@dataclass(frozen=True, slots=True)
class File:
    """F. `content` None: no such file. `settled`: it has been still for the settle time."""

    name: str
    content: bytes | None
    trouble: Trouble | None = None
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Shown:
    """B, and what stood under the name before it.

    `version`: what B was put or accepted as; no rule depends on it.
    `missing_since`: unix microseconds of the scan that first missed the file.
    `since`: texts that became known after B.
    `earlier`: the texts that were there before the newest projection, newest first. Texts that only saves have
    replaced since then do not belong here: taking one's own lines out again is no old buffer.
    `flagged`: the lines that rule 25 has kept once.
    """

    content: bytes
    version: int
    missing_since: int | None = None
    since: tuple[bytes, ...] = ()
    earlier: Callable[[], Iterable[bytes]] = tuple
    flagged: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stored:
    """H. `had(calm text)`: whether a version before the head had this text, stamps aside. No rule depends on
    `version`."""

    memory: str
    state: Literal["live", "retired"]
    head: bytes
    version: int
    had: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Nothing:
    """File and store agree, or there is neither."""

    rule: int


@dataclass(frozen=True, slots=True)
class LookAgain:
    """The file may still be written: scan it again after the settle time."""

    rule: int


@dataclass(frozen=True, slots=True)
class WaitSecondScan:
    """Absent; believed when a scan at least SECOND_SCAN after `since` agrees. Remember `since`."""

    since: int
    rule: int


@dataclass(frozen=True, slots=True)
class Report:
    """Decide nothing for this name and say why."""

    reason: str
    rule: int


@dataclass(frozen=True, slots=True)
class Accept:
    """B becomes these bytes. No version."""

    content: bytes
    rule: int


@dataclass(frozen=True, slots=True)
class Create:
    """A new memory from the file. `parent`: what the lost store had shown there."""

    content: bytes
    parent: bytes | None
    rule: int


@dataclass(frozen=True, slots=True)
class Revise:
    """A new version (none where `content` is alike the head). B becomes F.

    `rewrite`: the file differs from `content` and is projected next. `flagged`: lines that were kept against
    the file's wish: say so, and add them to the name's flagged lines.
    """

    content: bytes
    rewrite: bool
    flagged: tuple[str, ...]
    rule: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """The head stays current, the file's text is kept as the other side; the head is projected next."""

    other: bytes
    base: bytes | None
    fields: tuple[str, ...]
    rule: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """The file is no edit: keep its bytes aside and report. `project`: then the head is put back."""

    content: bytes
    reason: str
    project: bool
    rule: int


@dataclass(frozen=True, slots=True)
class Revive:
    """The retired memory is live again, with the file's text. B becomes F."""

    content: bytes
    rule: int


@dataclass(frozen=True, slots=True)
class Retire:
    """The file was deleted on purpose."""

    rule: int


@dataclass(frozen=True, slots=True)
class Project:
    """Put the head into the file. `over`: what is expected there; what else comes out is rule 35's."""

    over: bytes | None
    rule: int


@dataclass(frozen=True, slots=True)
class MoveAside:
    """The memory is retired: take the file away, expecting `over`, then look at what came out."""

    over: bytes
    rule: int


@dataclass(frozen=True, slots=True)
class Forget:
    """Nothing is shown under this name any more."""

    rule: int


Decision = (
    Nothing
    | LookAgain
    | WaitSecondScan
    | Report
    | Accept
    | Create
    | Revise
    | Conflict
    | SetAside
    | Revive
    | Retire
    | Project
    | MoveAside
    | Forget
)
