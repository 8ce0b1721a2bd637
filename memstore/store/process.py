"""Which process it is: a pid alone is no proof, for it is given to another program once its process is gone.

A process is its pid, when it started, and the start of the machine that it belongs to. On Linux all of it is read from
`/proc`; elsewhere `ps` and `sysctl` are asked, by argument lists.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

_CLIENT = "claude"
_PACKAGE = "/@anthropic-ai/claude-code/"
_RUNTIMES = ("node", "bun")
"""What runs the client where it was installed as a script."""

_GONE = ("Z", "X", "x")
"""States of a process that has ended and only waits for its parent."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. `started`: as the system tells it. `boot`: the start of the machine, and whose pids these are."""

    pid: int
    started: str
    boot: str


def me() -> Process:
    """The process that asks."""
    pid = os.getpid()
    return Process(pid, _started(pid) or "", _boot())


def is_alive(process: Process) -> bool:
    """Whether this very process still runs.

    Of one whose pids are counted apart (in another container) nobody here can tell, so it counts as alive.
    """
    boot, here = process.boot.split(" ", 1), _boot().split(" ", 1)
    if boot[0] != here[0]:
        return False
    if boot != here:
        return True
    started = _started(process.pid)
    return started is not None and started == process.started


def is_client(pid: int) -> bool:
    """Whether a pid is that of a running client of Claude Code, by the name of its program."""
    if pid <= 1 or _started(pid) is None:
        return False
    if not sys.platform.startswith("linux"):
        words = _asked("ps", "-o", "command=", "-p", str(pid)).split()
    else:
        if _read(f"/proc/{pid}/comm").strip() == _CLIENT:
            return True
        words = _read(f"/proc/{pid}/cmdline").split("\0")
    program = os.path.basename(words[0]) if words else ""
    if program not in _RUNTIMES:
        return program == _CLIENT
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    return os.path.basename(script) == _CLIENT or _PACKAGE in script


def _started(pid: int) -> str | None:
    """When a process started; None where there is none, or only what is left of one."""
    if not sys.platform.startswith("linux"):
        words = _asked("ps", "-o", "stat=,lstart=", "-p", str(pid)).split()
        return None if len(words) < 2 or words[0].startswith(_GONE) else " ".join(words[1:])
    # The program's name may hold spaces and brackets of its own.
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return None if len(fields) < 20 or fields[0] in _GONE else fields[19]


def _boot() -> str:
    """The start of the machine; on Linux also the namespace that pids are counted in."""
    if not sys.platform.startswith("linux"):
        return _asked("sysctl", "-n", "kern.bootsessionuuid").strip()
    boot = _read("/proc/sys/kernel/random/boot_id").strip()
    try:
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return boot


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""


def _asked(*command: str) -> str:
    import subprocess  # only where there is no /proc

    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=5, env={"LC_ALL": "C"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
