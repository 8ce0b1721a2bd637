"""Where agents keep memories of their own: a directory for each name, in up to three scopes.

| scope | directory |
|---|---|
| project | `<cwd>/.claude/agent-memory/<name>/`: goes with the files, git may keep it |
| local | `<cwd>/.claude/agent-memory-local/<name>/` |
| user | `<config>/agent-memory/<name>/` |

Seen with the client 2.1.332 (`-p`, against a server of our own): the first two follow the working directory, not the
repository; `CLAUDE_CODE_REMOTE_MEMORY_DIR` moves the user's directories to `<it>/agent-memory/` and the local ones to
`<it>/projects/<repository>/agent-memory-local/`. Of a name every UTF-16 unit but A-Z a-z 0-9 _ - becomes a dash, so
that no name walks; the client makes the directory when the agent starts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from memstore.claude.git_index import whole_index
from memstore.claude.paths import REMOTE_DIRECTORY, base_directory, config_directory, projects_name
from memstore.claude.root import Root, find_root
from memstore.errors import InputRefused, NameRefused, NotFound, PlaceRefused

Scope = Literal["project", "local", "user"]
SCOPES: tuple[Scope, ...] = ("project", "local", "user")

_ABOVE = ("agent-memory", "agent-memory-local")
_NAMES = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-")
_LONGEST = 255
_MOST = 1_000
_MENTION = re.compile(r'(?<!\S)@(?:agent-([A-Za-z0-9_:.@-]{1,200})|"([A-Za-z0-9_:.@-]{1,200}) \(agent\)")')
"""How a prompt names an agent: as it is typed, and as the client puts it in."""
_MENTIONS = 3


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's memory in one scope. `name`: as its directory is called."""

    name: str
    scope: Scope
    directory: str

    @property
    def address(self) -> str:
        """What `--agent` takes for exactly this one."""
        return f"{self.name}:{self.scope}"


def sanitised(name: str) -> str:
    """The directory's name for an agent's. Raises NameRefused for one that can have none."""
    units = "".join("--" if ord(character) > 0xFFFF else character for character in name)
    found = "".join(character if character in _NAMES else "-" for character in units)
    if not found:
        raise NameRefused(name, "it is empty", hint="give the agent's name")
    if len(found) > _LONGEST:
        raise NameRefused(name, "it is too long for a directory")
    return found


def bases(cwd: str, env: Mapping[str, str], home: str) -> dict[Scope, str]:
    """The directory above the agents' own, for each scope."""
    here = os.path.realpath(cwd)
    local = os.path.join(here, ".claude", _ABOVE[1])
    if env.get(REMOTE_DIRECTORY):
        projects = os.path.join(base_directory(env, home, cwd)[0], "projects")
        local = os.path.join(projects, projects_name(find_root(cwd), projects, env, _ABOVE[1]), _ABOVE[1])
        user = base_directory(env, home, cwd)[0]
    else:
        user = config_directory(env, home, cwd)
    return {
        "project": os.path.join(here, ".claude", _ABOVE[0]),
        "local": local,
        "user": os.path.join(user, _ABOVE[0]),
    }


def existing(cwd: str, env: Mapping[str, str], home: str) -> list[Agent]:
    """The agents that have a directory here, by scope and name. What cannot be listed has none."""
    return [agent for scope, base in bases(cwd, env, home).items() for agent in _below(base, scope)]


def _below(base: str, scope: Scope) -> Iterator[Agent]:
    try:
        with os.scandir(base) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST), strict=False) if entry.is_dir()]
    except OSError:
        return
    for name in sorted(names):
        if _NAMES.issuperset(name):  # the client makes no others
            yield Agent(name, scope, os.path.join(base, name))


def chosen(given: str, cwd: str, env: Mapping[str, str], home: str) -> Agent:
    """The agent that `NAME` or `NAME:SCOPE` means; without a scope the one that has a directory.

    Raises InputRefused where several have one, NotFound where none has, PlaceRefused for a directory of the working
    tree that a link leads out of it.
    """
    head, _, last = given.rpartition(":")
    scope = next((scope for scope in SCOPES if scope == last), None) if head else None
    name = sanitised(head if scope else given)
    above = bases(cwd, env, home)
    if scope is None:
        there = [one for one in SCOPES if os.path.isdir(os.path.join(above[one], name))]
        told = " or ".join(f"--agent {name}:{one}" for one in there or SCOPES)
        if len(there) > 1:
            raise InputRefused(f"the agent {name} has a memory in {len(there)} scopes", hint=f"say which: {told}")
        if not there:
            raise NotFound(
                f"the agent {name} has no memory here", hint=f"`memstore agents` lists all; to begin one give {told}"
            )
        scope = there[0]
    agent = Agent(name, scope, os.path.join(above[scope], name))
    check(agent, cwd)
    return agent


def check(agent: Agent, cwd: str) -> None:
    """Raises PlaceRefused where a link, which may have come with the repository, leads out of the working tree, or to
    a directory above it, whose files are no memories."""
    here = os.path.realpath(cwd)
    if not agent.directory.startswith(os.path.join(here, ".claude", "")):
        return  # below the user's own directories
    top = find_root(here).worktree
    real = os.path.realpath(agent.directory)
    if os.path.commonpath((top, real)) != top or ".git" in os.path.relpath(real, top).split(os.sep):
        raise PlaceRefused(
            f"{agent.directory} is a link that leads out of {top}, to {real}; it is not followed",
            hint="replace the link by a directory",
        )
    if os.path.commonpath((real, os.path.realpath(os.path.dirname(agent.directory)))) == real:
        raise PlaceRefused(
            f"{agent.directory} is a link to {real}, which is above it; it is not followed",
            hint="replace the link by a directory",
        )


def mentioned(prompt: str, cwd: str, env: Mapping[str, str]) -> list[Agent]:
    """The memories, those that are there, of the agents that a prompt names: `@agent-NAME`, `@"NAME (agent)"`."""
    names = [typed or put for typed, put in _MENTION.findall(prompt[:100_000])] if "@" in prompt else []
    if not names:
        return []
    above = bases(cwd, env, env.get("HOME", "/"))
    found: dict[str, list[Agent]] = {}
    for name in names:
        for wanted in dict.fromkeys((sanitised(name), sanitised(name.rstrip(":.@-") or name))):
            agents = [Agent(wanted, scope, os.path.join(above[scope], wanted)) for scope in SCOPES]
            there = [agent for agent in agents if os.path.isdir(agent.directory) and _stays(agent, cwd)]
            if there:
                found.setdefault(wanted, there)
                break
    return [agent for agents in list(found.values())[:_MENTIONS] for agent in agents]


def _stays(agent: Agent, cwd: str) -> bool:
    try:
        check(agent, cwd)
    except PlaceRefused:
        return False
    return True


def without_mentions(prompt: str) -> str:
    """A prompt without the names of agents: they say whom it is for, not what it is about."""
    return _MENTION.sub(" ", prompt)


def is_agents(directory: str) -> bool:
    """Whether a directory is where an agent's own memory lies, by its name alone."""
    return os.path.basename(os.path.dirname(os.path.normpath(directory))) in _ABOVE


def of_file(path: str) -> Agent | None:
    """The agent whose directory in a working tree or a configuration directory a file lies in."""
    parts = path.split(os.sep)
    for at in range(len(parts) - 3, 0, -1):
        if parts[at] in _ABOVE and _NAMES.issuperset(parts[at + 1]):
            scope: Scope = "local" if parts[at] == _ABOVE[1] else "project"
            return Agent(parts[at + 1], scope, os.sep.join(parts[: at + 2]))
    return None


def committed(directory: str) -> bool:
    """Whether git keeps files of this directory in a checkout, by its own list. What cannot be read may say so."""
    real = os.path.realpath(directory)
    start = real
    while not os.path.isdir(start):
        start = os.path.dirname(start)
    root = find_root(start)
    if root.git_dir is None:  # a `.git` that leads nowhere: whose files these are cannot be known
        return os.path.lexists(os.path.join(root.worktree, ".git"))
    return root.kind != "bare" and _lists(root, os.fsencode(os.path.relpath(real, root.worktree)) + b"/")


def _lists(root: Root, below: bytes) -> bool:
    assert root.git_dir is not None
    index = whole_index(root.git_dir)
    if index is None:
        return True
    version = int.from_bytes(index[4:8])
    at = index.find(below)
    while at >= 0:
        # Before a path stands its length: the same bytes may also be the end of a longer path.
        length = min(index.find(b"\0", at) - at, 0xFFF)
        flags = (index[at - 2 : at], index[at - 4 : at - 2] if version == 3 else b"")
        if any(int.from_bytes(one) & 0xFFF == length for one in flags):
            return True
        at = index.find(below, at + 1)
    return False
