"""Whether what memories name is there: files, lines and functions in them, branches.

Looking is cheap, starts no program and follows no link, so that a recall can afford it in any folder. Only `check`,
which somebody asked for, also asks git which commit took a file away, as `jobs.bash` lets git run: with everything
switched off by which a repository could start a program. Where something cannot be looked at, nothing is said.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from memstore.claude.git_index import whole_index
from memstore.claude.root import Root, common_directory
from memstore.core.age import age_note, days_old
from memstore.core.claims import Claim, Missing, claims, told
from memstore.core.frontmatter import read
from memstore.core.model import Memory
from memstore.errors import InputRefused, NameRefused
from memstore.files import walk
from memstore.store import ages
from memstore.store.guard import is_protected
from memstore.store.plainfile import read_bounded

if TYPE_CHECKING:
    from memstore.app import Memstore

FEW: Final = 12
"""Claims of one memory that a recall looks at."""

LOOKED_THROUGH: Final = 4 * 1024 * 1024
"""Characters of files that one recall looks through, a tenth of a second at most; `check` has all the time."""

_LARGEST = 1024 * 1024
_PACKED_REFS = 8 * 1024 * 1024
_REMOTES = 20
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Checked:
    """A memory, when its text was written (unix microseconds) and how many days ago, how many things it names, and
    which of them are not there."""

    memory: Memory
    written_at: int
    days: int
    claims: int
    missing: tuple[Missing, ...]


def check(memories: Memstore, names: Sequence[str] = ()) -> list[Checked]:
    """Memories, by default all, beside the working tree of this directory and the history of what is checked out."""
    heads = [memories.show(name)[0] for name in names] if names else memories.memories()
    tree, now = Tree.here(memories), memories.world.clock()
    with memories.store.view() as connection:
        written = ages.written(connection, (head.id for head in heads))
    named = [claims(_text(head)) for head in heads]
    missing = [tree.missing(each) for each in named]
    gone = {one.claim.what: None for each in missing for one in each if one.claim.kind == "path"}
    commits = tree.removals(list(gone))
    return [
        Checked(
            head,
            written[head.id],
            days_old(written[head.id], now),
            len(each),
            tuple(_since(one, commits) for one in found),
        )
        for head, each, found in zip(heads, named, missing, strict=True)
    ]


def _since(one: Missing, commits: Mapping[str, str]) -> Missing:
    commit = commits.get(one.claim.what) if one.claim.kind == "path" else None
    return one._replace(commit=commit) if commit else one


def notes_on(memory: Memory, written_at: int, now: int, tree: Tree) -> list[str]:
    """What to say beside a memory that is recalled: its age, and what it names that is not there. Cheap.

    `written_at` comes from `store.ages.written`.
    """
    age = age_note(written_at, now)
    return [*([age] if age else []), *map(told, tree.missing(claims(_text(memory), FEW)))]


class Tree:
    """A working tree and its branches, to be looked at. What a memory folder holds counts as there.

    `most_read`: so much of files is looked through, whatever is asked; of what is beyond that nothing is said.
    """

    def __init__(self, root: Root, cwd: str, folder: str | None = None, most_read: int | None = None) -> None:
        self._root = root
        self._folder = folder
        self._left = most_read
        self._places = _places(root.worktree, cwd)
        self._common = common_directory(root)

    @classmethod
    def here(cls, memories: Memstore) -> Tree:
        """The one that a directory's memories are about."""
        return cls(memories.place.root, memories.world.cwd, memories.place.folder)

    def missing(self, named: Iterable[Claim]) -> list[Missing]:
        """Those that are surely not there. Of a file that is gone nothing else is said."""
        if self._root.kind == "bare":
            return []
        try:
            top = walk.open_directory(None, self._root.worktree)
        except OSError:
            return []
        try:
            found = [self._look(top, claim) for claim in named]
        finally:
            os.close(top)
        return [one for one in found if one is not None]

    def removals(self, paths: Sequence[str]) -> dict[str, str]:
        """The commits that took files away which are not there now, as far as git tells in time."""
        if not paths or self._root.git_dir is None:
            return {}
        from memstore.jobs.bash import Programs

        whole = {place + path: path for place in reversed(self._places) for path in paths}
        try:
            found = Programs(self._root.worktree).removals(list(whole))
        except InputRefused:
            return {}
        return {whole[path]: commit for path, commit in found.items()}

    # Inside

    def _look(self, top: int, claim: Claim) -> Missing | None:
        if claim.kind == "branch":
            return None if self._has_branch(claim.what) is not False else Missing(claim)
        if claim.kind == "path":
            return None if self._has_path(top, claim.what) is not False else Missing(claim)
        if claim.kind == "line":
            content = self._content(top, claim.what)
            lines = claim.line if content is None else content.count("\n") + (not content.endswith("\n"))
            return Missing(claim, lines=lines) if lines < claim.line else None
        word = re.compile(rf"(?<!\w){re.escape(claim.what)}(?!\w)")
        for path in claim.files:
            content = self._content(top, path)
            if content is None or (claim.what in content and word.search(content)):
                return None
        return Missing(claim)

    def _has_path(self, top: int, path: str) -> bool | None:
        found = [_status(top, place + path) for place in self._places]
        if any(found):
            return True
        if any(one is None for one in found) or self._is_sparse or self._tracks_below(path):
            return None
        return self._folder is not None and os.path.lexists(os.path.join(self._folder, path))

    def _tracks_below(self, path: str) -> bool:
        """Whether git has some path that ends so, or may have: people leave the beginning out."""
        name = os.fsencode(path)
        if self._index is None:
            return True
        return b"/" + name + b"\0" in self._index or b"/" + name + b"/" in self._index

    @cached_property
    def _index(self) -> bytes | None:
        """git's list of what is checked out; None where paths cannot be looked for in it."""
        return b"" if self._root.git_dir is None else whole_index(self._root.git_dir)

    @cached_property
    def _is_sparse(self) -> bool:
        """Whether a part of the files may not be checked out."""
        git_dir = self._root.git_dir
        return git_dir is not None and os.path.lexists(os.path.join(git_dir, "info", "sparse-checkout"))

    def _content(self, top: int, path: str) -> str | None:
        """The text of a plain file of moderate size; None for all else."""
        for place in self._places:
            if _status(top, place + path):
                content = _read(top, place + path) if self._left is None or self._left > 0 else None
                if content is not None and self._left is not None:
                    self._left -= len(content)
                return content
        return None

    def _has_branch(self, name: str) -> bool | None:
        """A branch here or, under the same name, of a remote. None where git keeps its refs in another form."""
        common = self._common
        if common is None or name == self._root.branch or os.path.lexists(os.path.join(common, "reftable")):
            return None
        remotes = os.path.join(common, "refs", "remotes")
        places = [os.path.join(common, "refs", "heads"), remotes]
        with suppress(OSError):
            places += [os.path.join(remotes, one) for one in sorted(os.listdir(remotes))[:_REMOTES]]
        if any(os.path.isfile(os.path.join(place, name)) for place in places):
            return True
        if self._packed is None:
            return None
        packed = re.escape(name.encode("utf-8"))
        return bool(re.search(rb" refs/(?:heads/|remotes/(?:[^/\n]+/)?)" + packed + rb"\n", self._packed))

    @cached_property
    def _packed(self) -> bytes | None:
        assert self._common is not None
        try:
            return read_bounded(os.path.join(self._common, "packed-refs"), _PACKED_REFS)
        except FileNotFoundError:
            return b""
        except OSError:
            return None


def _text(memory: Memory) -> str:
    document = read(memory.state.content)
    return f"{document.description or ''}\n{document.body}"


def _places(worktree: str, cwd: str) -> tuple[str, ...]:
    """Where a path may begin: at the top, or in each directory from there to the working directory."""
    real = os.path.realpath(cwd)
    if os.path.commonpath((real, worktree)) != worktree:
        return ("",)
    parts = [part for part in os.path.relpath(real, worktree).split("/") if part != "."]
    return tuple("".join(f"{part}/" for part in parts[:depth]) for depth in range(len(parts) + 1))


def _status(top: int, path: str) -> os.stat_result | bool | None:
    """What lies below a directory. False: nothing. None: that cannot be known without following a link."""
    try:
        with walk.parent(top, path) as (directory, name):
            return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except (OSError, NameRefused):
        return None


def _read(top: int, path: str) -> str | None:
    try:
        with walk.parent(top, path) as (directory, name):
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST or is_protected(found):
                return None
            with open(os.open(name, _FILE, dir_fd=directory), "rb") as file:
                content = file.read(_LARGEST + 1)
    except (OSError, NameRefused):
        return None
    return None if len(content) > _LARGEST else content.decode("utf-8", "replace")
