"""Which sessions of a repository were touched since a moment: their transcripts, in the folders of all its worktrees.

The client keys transcripts by the directory in which a session was started, memories by the repository. So one looks
in the folders of all worktrees (also of those that the client made itself and that are gone again), and in those that
hooks told of. A folder's name is no proof, for two paths can have the same one: a transcript that says it was made
elsewhere is not counted. Times are unix microseconds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memstore.claude.paths import config_directory
from memstore.claude.root import Root, linked_worktrees
from memstore.claude.slug import names_of, sanitise

AHEAD = 60 * 60 * 1_000_000
"""What was changed so much later than now was not changed then, and would count again after every dream."""

_SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Touched:
    """One session: its transcript, when that was last written to, and how large it is."""

    session: str
    transcript: str
    at: int
    size: int


def touched(
    root: Root, env: Mapping[str, str], home: str, since: int, now: int,
    *, known: Iterable[str] = (), without: Iterable[str] = (),
) -> tuple[Touched, ...]:  # fmt: skip
    """The sessions touched after `since`, each once, in the order in which they were last touched.

    `known`: transcripts that hooks told of. `without`: sessions that do not count, such as the current one.
    """
    tops = tuple(dict.fromkeys((root.path, root.worktree, *linked_worktrees(root))))
    skipped = frozenset(without)
    newest: dict[str, Touched] = {}
    for entry, trusted in _entries(root, tops, env, home, known):
        session = entry.name.removesuffix(".jsonl")
        if session in skipped or session == entry.name or not _SESSION.fullmatch(session):
            continue
        found = _changed(entry, since, now)
        if found is None or (session in newest and newest[session].at >= found.at):
            continue
        if trusted or _belongs(entry.path, tops):
            newest[session] = found
    return tuple(sorted(newest.values(), key=lambda each: (each.at, each.session)))


def directories(root: Root, env: Mapping[str, str], home: str) -> tuple[str, ...]:
    """The folders in which the client keeps the transcripts of sessions that were started in a worktree."""
    projects = os.path.join(config_directory(env, home, root.worktree), "projects")
    names: dict[str, None] = {}
    for top in (root.path, root.worktree, *linked_worktrees(root)):
        names.update(dict.fromkeys(names_of(projects, top)))
    made_by_client = sanitise(os.path.join(root.path, ".claude/worktrees/"))
    names.update(dict.fromkeys(name for name in _listed(projects) if name.startswith(made_by_client)))
    return tuple(os.path.join(projects, name) for name in names)


def _entries(
    root: Root, tops: tuple[str, ...], env: Mapping[str, str], home: str, known: Iterable[str]
) -> Iterator[tuple[os.DirEntry[str], bool]]:
    """What lies in the folders; and whether a hook of this repository told of that very file."""
    told = {os.path.realpath(path) for path in known}
    folders = dict.fromkeys((*directories(root, env, home), *(os.path.dirname(path) for path in sorted(told))))
    seen: set[str] = set()
    for folder in folders:
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        try:
            entries = list(os.scandir(real))
        except OSError:  # not there, or closed to us: nothing in it can be counted
            continue
        yield from ((entry, entry.path in told) for entry in entries)


def _changed(entry: os.DirEntry[str], since: int, now: int) -> Touched | None:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    at = found.st_mtime_ns // 1_000
    if not entry.is_file(follow_symlinks=False) or not since < at <= now + AHEAD or not found.st_size:
        return None
    return Touched(entry.name.removesuffix(".jsonl"), entry.path, at, found.st_size)


def _belongs(path: str, tops: tuple[str, ...]) -> bool:
    """Whether a transcript was made in one of these directories, as far as its beginning tells."""
    cwd = _cwd(path)
    return cwd is None or any(cwd == top or cwd.startswith(top.rstrip("/") + "/") for top in tops)


def _cwd(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            lines = file.read(_HEAD).split(b"\n")
    except OSError:
        return None
    for line in lines:
        if b'"cwd"' not in line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        cwd = row.get("cwd") if isinstance(row, dict) else None
        if isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd:
            return os.path.realpath(cwd)
    return None


def _listed(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:  # not there, or closed to us
        return []
