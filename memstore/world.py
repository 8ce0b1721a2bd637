"""The edge: this process's clock, randomness, environment and person, made once and passed in."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memstore.claude.root import Root, common_directory
from memstore.core.ids import uuid7
from memstore.core.model import Origin, Provenance
from memstore.store.plainfile import read_bounded

AGENT_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "AI_AGENT",
)
_CONFIG_SIZE = 256 * 1024


def zone_here(at: int) -> int:
    """Minutes east of UTC at a moment (unix microseconds), by $TZ or the machine's setting as they are by now."""
    time.tzset()  # a server outlives a change of the machine's zone
    return round(time.localtime(at // 1_000_000).tm_gmtoff / 60)


@dataclass(frozen=True, slots=True)
class World:
    """What a run is given from outside. `clock`: unix microseconds. `random`: that many random bytes. `zone`: minutes
    east of UTC at the person's place at a moment. `whose`: the agent, as NAME or NAME:SCOPE, whose own memory is
    meant; empty: the memories of the working directory."""

    environment: Mapping[str, str]
    cwd: str
    home: str
    clock: Callable[[], int]
    random: Callable[[int], bytes]
    terminal: bool
    pause: Callable[[float], None] = time.sleep
    zone: Callable[[int], int] = zone_here
    whose: str = ""

    @classmethod
    def real(cls, cwd: str | None = None, whose: str = "") -> World:
        """This process's own."""
        return cls(
            environment=dict(os.environ),
            cwd=cwd if cwd is not None else os.getcwd(),
            home=os.path.expanduser("~"),
            clock=lambda: time.time_ns() // 1_000,
            random=os.urandom,
            terminal=any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)),
            whose=whose,
        )

    def new_id(self) -> str:
        """A fresh UUIDv7."""
        return uuid7(self.clock() // 1_000, self.random(10))

    def origin(self) -> Origin:
        """`person` means a terminal and none of an agent's variables; everything else is an agent's doing."""
        return "person" if self.terminal and self.agent() is None else "agent"

    def agent(self) -> str | None:
        """The variable by which an agent is known to run this; None where there is none."""
        return next((name for name in AGENT_VARIABLES if self.environment.get(name)), None)

    def provenance(self, root: Root, origin: Origin | None = None) -> Provenance:
        """Who acts here and now, and from where."""
        session = self.environment.get("MEMSTORE_SESSION") or self.environment.get("CLAUDE_CODE_SESSION_ID") or None
        return Provenance(origin or self.origin(), author(self, root), session, root.worktree, root.branch, root.commit)


def author(world: World, root: Root) -> str:
    """git's user name and mail as configured in files (git is not run), else the operating system's user."""
    found: dict[str, str] = {}
    config_home = world.environment.get("XDG_CONFIG_HOME") or os.path.join(world.home, ".config")
    common = common_directory(root)
    paths = [os.path.join(config_home, "git", "config"), os.path.join(world.home, ".gitconfig")]
    if common is not None:
        paths.append(os.path.join(common, "config"))
    for path in paths:
        found.update(_user_section(path))
    name, mail = found.get("name", ""), found.get("email", "")
    if name and mail:
        return f"{name} <{mail}>"
    return name or mail or _system_user(world)


def _user_section(path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        content = read_bounded(path, _CONFIG_SIZE)
    except OSError:
        return found
    inside = False
    for raw in content.decode("utf-8", "replace").split("\n"):
        line = raw.strip()
        if line.startswith("["):
            inside = line.split("]", 1)[0].strip("[ ").lower() == "user"
        elif inside and "=" in line:
            key, value = line.split("=", 1)
            text = value.strip().strip('"')
            found[key.strip().lower()] = "".join(c for c in text if c.isprintable())[:200]
    return {key: value for key, value in found.items() if key in ("name", "email") and value}


def _system_user(world: World) -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return world.environment.get("USER") or str(os.geteuid())
