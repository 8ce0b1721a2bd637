"""strace: which calls a process makes that change files, and its death right before one of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

CALLS = (
    *("open", "openat", "creat", "write", "writev", "pwrite64", "pwritev", "rename", "renameat", "renameat2"),
    *("link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "fsync", "fdatasync", "utimensat"),
    *("chmod", "fchmod", "fchmodat", "truncate", "ftruncate", "fallocate"),
)
_OPENS = frozenset(("open", "openat", "creat"))
_CHANGES = re.compile(r"O_CREAT|O_TRUNC")
_CALL = re.compile(r"(?:[0-9]+ +)?([a-z0-9_]+)\(")


@dataclass(frozen=True, slots=True)
class Point:
    """The `number`th call of that name that a process makes, and how strace shows it."""

    call: str
    number: int
    shown: str


def strace() -> str | None:
    """Where it is installed."""
    return shutil.which("strace")


class Traced:
    """A process that strace has hold of: its calls are noted, or it dies before one."""

    def __init__(self, pid: int, notes: Path, point: Point | None = None) -> None:
        self._notes = notes
        wanted = ",".join(f"?{call}" for call in CALLS) if point is None else point.call
        command = [strace() or "strace", "-f", "-o", str(notes), "-e", f"trace={wanted}", "-p", str(pid)]
        if point is not None:
            command += ["-e", f"inject={point.call}:signal=KILL:when={point.number}"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self._process.stderr is not None
        self.failure = ""
        line = self._process.stderr.readline()
        if "attached" not in line:
            self.failure = line.strip() or "strace said nothing"

    def points(self) -> list[Point]:
        """The calls that change something, once the process has ended."""
        self.end()
        seen: Counter[str] = Counter()
        found = []
        for line in self._notes.read_text(errors="replace").split("\n"):
            call = _CALL.match(line)
            if call is None:
                continue
            seen[call[1]] += 1
            if call[1] not in _OPENS or _CHANGES.search(line):
                found.append(Point(call[1], seen[call[1]], line[:160]))
        return found

    def end(self) -> None:
        """Waits for strace, which ends with its process."""
        self._process.communicate(timeout=60)
