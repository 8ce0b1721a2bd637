"""What absorbing and projecting came to, as values for whoever tells a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memstore.core.exchange import Withheld

Progress = Callable[[int, int, str], None]
"""Called with how many are done, how many there are, and the one at hand."""


def counted(number: int, word: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


@dataclass(frozen=True, slots=True)
class Noted:
    """What one file came to. `what`: created, revised, merged, conflict, renamed, retired, revived, set aside …

    `rule`: the number of the rule that decided (`core/reconcile.py`; for MEMORY.md `core/index.py`).
    """

    path: str
    what: str
    rule: int
    detail: str = ""


_MENDED_BY = {
    "it is a link": "replace the link by a plain file or move it away",
    "it is a hard link": "replace it by a copy of its own",
    "it is a directory": "move it away",
    "it is a FIFO": "move it away",
    "it is a socket": "move it away",
    "it is a device": "move it away",
    "it is too large": "move it away",
    "iCloud has moved it": "have it downloaded",
}
"""How the reasons begin that never go by themselves (`files/walk.py`), and what a person does about them."""


@dataclass(frozen=True, slots=True)
class Unshown:
    """A file that could not be written; the store has its text, and every sync tries again."""

    path: str
    reason: str

    @property
    def step(self) -> str:
        """What has to happen before it can be written."""
        for begins, step in _MENDED_BY.items():
            if self.reason.startswith(begins):
                return f"{step}, then run `memstore sync`"
        if " is not UTF-8" in self.reason:
            return "save it as UTF-8, then run `memstore sync`"
        return "the next `memstore sync` tries again"


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did. `folder` None: nothing is projected here, and `notices` says why.

    `omitted`: paths of the memories that found no room in the index. `waiting`: files that are gone and are
    believed deleted when a second scan agrees, or that may still be being written. `seq`: the operation that
    took the edits in. `taken_over`: the folder was met for the first time. `stopped`: the store could not be used
    in the middle of it, and what is missing is left for the next sync; `notices` says why.
    """

    folder: str | None
    absorbed: tuple[Noted, ...] = ()
    projected: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pending: tuple[Unshown, ...] = ()
    omitted: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    seq: int | None = None
    taken_over: bool = False
    stopped: bool = False

    @property
    def taken_in(self) -> int:
        """How many files were taken in. What was put back was not: the store has had it all along."""
        return sum(noted.what != "put back" for noted in self.absorbed)

    @property
    def put_back(self) -> int:
        """How many of the projected files were put back because they were gone, or no edit."""
        back = [noted for noted in self.absorbed if noted.what == "put back"]
        if any(noted.rule == 32 for noted in back):  # the whole folder
            return len(self.projected)
        return len({noted.path for noted in back}.intersection(self.projected))

    @property
    def quiet(self) -> bool:
        """Whether nothing happened that a person needs to hear of."""
        return not (self.absorbed or self.projected or self.removed or self.pending or self.waiting or self.notices)


@dataclass(slots=True)
class Findings:
    """A report in the making."""

    absorbed: list[Noted] = field(default_factory=list)
    projected: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    pending: list[Unshown] = field(default_factory=list)
    omitted: tuple[str, ...] = ()
    waiting: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    seq: int | None = None
    taken_over: bool = False
    refused: bool = False
    stopped: bool = False

    def refuse(self, reason: str) -> None:
        """Nothing is taken in or projected here, for this reason."""
        self.refused = True
        self.notices.append(reason)

    def stop(self, reason: str) -> None:
        """The rest is left for the next sync, for this reason."""
        self.stopped = True
        self.notices.append(reason)

    def report(self, folder: str | None) -> SyncReport:
        """The finished report."""
        return SyncReport(
            folder,
            tuple(self.absorbed),
            tuple(dict.fromkeys(self.projected)),
            tuple(dict.fromkeys(self.removed)),
            tuple(self.pending),
            self.omitted,
            tuple(dict.fromkeys(self.waiting)),
            tuple(dict.fromkeys(self.notices)),
            self.seq,
            self.taken_over,
            self.stopped,
        )


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or with a dry run would do. `seq` None: nothing was written.

    `noted`: one for each file that made a version or a conflict. `unchanged`: files whose text the store has
    already under that path; `duplicates`: (path, the memory that has the same text); `older`: files that are
    earlier versions of what the store holds; `skipped`: (path, reason). `lines`: index lines that were added.
    `format`: what the source turned out to be.
    """

    source: str
    noted: tuple[Noted, ...]
    unchanged: tuple[str, ...]
    duplicates: tuple[tuple[str, str], ...]
    older: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    lines: int
    seq: int | None
    format: str = "dir"

    @property
    def new(self) -> int:
        """How many memories were made."""
        return sum(1 for noted in self.noted if noted.what == "created")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote, or with a dry run would write.

    `kept`: (path, reason) of files that were left alone; `failed`: of those that could not be written. `withheld`:
    of what holds a secret: its path, with the rule of `core.secrets` and the line. `format`: "dir", "zip" or "json".
    """

    target: str
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]
    format: str = "dir"
    withheld: tuple[tuple[str, Withheld], ...] = ()
