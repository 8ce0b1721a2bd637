"""Memory folders that an earlier way of finding them left behind. They are listed, never touched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memstore.claude.paths import base_directory, config_directory
from memstore.claude.root import Root, linked_worktrees
from memstore.claude.slug import names_of, sanitise


@dataclass(frozen=True, slots=True)
class Earlier:
    """A memory folder that is not the current one but was, or may have been, this project's."""

    directory: str
    rule: str
    """Whose name it bears."""
    files: int
    """How many Markdown files lie in it."""


def earlier_directories(
    root: Root, env: Mapping[str, str], home: str, *, current: str, cwd: str | None = None
) -> tuple[Earlier, ...]:
    """The folders that exist beside `current`: of worktrees, of the working directory, of other spellings.

    `cwd` may be the path as the person typed it: a client that did not resolve links used that one.
    """
    start = cwd or root.worktree
    found: dict[str, Earlier] = {}
    seen = {os.path.realpath(current)}
    for projects in _project_folders(env, home, start):
        for name, rule in _names(root, start, projects):
            directory = os.path.join(projects, name, "memory")
            real = os.path.realpath(directory)
            if real not in seen and os.path.isdir(real):
                seen.add(real)
                found[directory] = Earlier(directory, rule, _count(directory))
    return tuple(found.values())


def _project_folders(env: Mapping[str, str], home: str, cwd: str) -> Iterator[str]:
    bases = (
        base_directory(env, home, cwd)[0],
        config_directory(env, home, cwd),
        os.path.join(home, ".claude"),
    )
    for base in dict.fromkeys(bases):
        yield os.path.join(base, "projects")


def _names(root: Root, cwd: str, projects: str) -> Iterator[tuple[str, str]]:
    for path, whose in _paths(root, cwd):
        for name in names_of(projects, path):
            yield name, f"{whose}, {path}"
    # The client's own worktrees lie here; git forgets a removed one, its memory folder stays.
    prefix = sanitise(os.path.join(root.path, ".claude/worktrees/"))
    for name in _listed(projects):
        if name.startswith(prefix):
            yield name, f"a worktree that was made in {root.path}/.claude/worktrees"


def _paths(root: Root, cwd: str) -> Iterator[tuple[str, str]]:
    yield root.path, "the repository by its usual name"
    yield root.worktree, "this checkout by itself"
    for path in linked_worktrees(root):
        yield path, "a linked worktree by itself"
    yield cwd, "the working directory as it was typed"
    path = os.path.realpath(cwd)
    while path.startswith(root.worktree + "/"):
        yield path, "a directory inside the checkout"
        path = os.path.dirname(path)


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        # Not there, or closed to us: nothing in it can be shown.
        return []


def _count(directory: str) -> int:
    return sum(name.endswith(".md") for name in _listed(directory))
