"""The canonical root of a working directory: one root for a repository and all its worktrees.

It is found by reading `.git`, `commondir` and the back-link `gitdir`, as the client finds it. git is never
run, since a hostile folder can make git run programs, and no GIT_* variable is obeyed: identity comes from
the disk.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Literal

from memstore.errors import PlaceRefused
from memstore.store.plainfile import read_bounded

Kind = Literal["repository", "worktree", "submodule", "bare", "directory"]

_SMALL = 64 * 1024
_PACKED_REFS = 8 * 1024 * 1024
_MOST_WORKTREES = 1_000


@dataclass(frozen=True, slots=True)
class Root:
    """What a working directory belongs to. All paths are real paths."""

    path: str
    """The canonical root: what a store belongs to, and what the client's folder is named after."""
    worktree: str
    """The top directory of this checkout; outside git the working directory itself."""
    kind: Kind
    git_dir: str | None
    """The git directory of this checkout (of a linked worktree: its own, inside the common one)."""
    branch: str | None
    commit: str | None
    rule: str
    """Why this is the root, as a sentence."""
    warnings: tuple[str, ...]


def find_root(cwd: str) -> Root:
    """The root of a working directory. Raises PlaceRefused when the directory is not there."""
    start = _real_directory(cwd)
    top = start
    while True:
        dot_git = os.path.join(top, ".git")
        found = _stat(dot_git)
        if found is not None and stat.S_ISDIR(found.st_mode):
            return _with_head(_repository(top, dot_git, found))
        if found is not None and stat.S_ISREG(found.st_mode):
            return _with_head(_linked(top, dot_git, found))
        parent = os.path.dirname(top)
        if parent == top:
            break
        top = parent
    if _looks_like_git_directory(start):
        return _with_head(_plain(start, "bare", start, "it is a bare repository"))
    return _plain(start, "directory", None, "there is no git repository here or above: the directory itself is used")


def common_directory(root: Root) -> str | None:
    """The git directory that all worktrees share; None outside git."""
    if root.git_dir is None or root.kind != "worktree":
        return root.git_dir
    return os.path.dirname(os.path.dirname(root.git_dir))


def linked_worktrees(root: Root) -> tuple[str, ...]:
    """The top directories of all linked worktrees that git has on record, also of vanished ones; sorted."""
    common = common_directory(root)
    if common is None:
        return ()
    records = os.path.join(common, "worktrees")
    found: list[str] = []
    try:
        with os.scandir(records) as entries:
            for entry, _ in zip(entries, range(_MOST_WORKTREES), strict=False):
                back_link = _read_path(os.path.join(entry.path, "gitdir"), entry.path)
                if back_link is not None:
                    found.append(os.path.realpath(os.path.dirname(back_link)))
    except OSError:
        # No linked worktree was ever made, or the records are closed to us: there are none to show.
        return tuple(sorted(found))
    return tuple(sorted(found))


def _real_directory(cwd: str) -> str:
    try:
        real = os.path.realpath(cwd, strict=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a possible path"
        raise PlaceRefused(
            f"the working directory {cwd!r} cannot be used: {reason}",
            hint="change to a directory that exists",
        ) from error
    if not os.path.isdir(real):
        raise PlaceRefused(f"{cwd!r} is not a directory", hint="name a directory")
    return real


def _plain(path: str, kind: Kind, git_dir: str | None, rule: str, warnings: tuple[str, ...] = ()) -> Root:
    return Root(path, path, kind, git_dir, None, None, rule, warnings)


def _repository(top: str, dot_git: str, found: os.stat_result) -> Root:
    warnings = _foreign(dot_git, found)
    if _stat(os.path.join(dot_git, "HEAD")) is None:
        warnings += (f"{dot_git} has no HEAD: git itself would not take it for a repository",)
    return _plain(
        top, "repository", os.path.realpath(dot_git), f"{top} holds the repository's .git directory", warnings
    )


def _linked(top: str, dot_git: str, found: os.stat_result) -> Root:
    """A `.git` file: a linked worktree, a submodule, a git directory that lies apart, or a forgery."""
    warnings = _foreign(dot_git, found)
    target = _read_path(dot_git, top, prefix=b"gitdir: ")
    git_dir = None if target is None else os.path.realpath(target)
    if git_dir is None or not os.path.isdir(git_dir):
        warnings += (f"{dot_git} names no git directory that is there; the directory is used as its own root",)
        return _plain(top, "directory", None, f"the .git file in {top} leads nowhere", warnings)

    shared = _read_path(os.path.join(git_dir, "commondir"), git_dir)
    if shared is None:
        if _is_module(git_dir):
            return _plain(top, "submodule", git_dir, "a submodule is a repository of its own", warnings)
        rule = f"the .git file in {top} names a git directory that is no worktree's: {top} is its own root"
        return _plain(top, "repository", git_dir, rule, warnings)

    common = os.path.realpath(shared)
    if not _points_back(git_dir, common, top):
        warnings += (
            f"{dot_git} claims to be a worktree of {common}, which does not point back; it is not followed"
            " (if the worktree was moved by hand, `git worktree repair` mends the link)",
        )
        return _plain(top, "directory", None, f"the .git file in {top} is not confirmed by the other side", warnings)
    if os.path.basename(common) == ".git":
        path, rule = os.path.dirname(common), "a linked worktree belongs to its main checkout"
    else:
        path, rule = common, "a worktree of a bare repository belongs to the bare repository"
    return Root(path, top, "worktree", git_dir, None, None, rule, warnings)


def _points_back(git_dir: str, common: str, top: str) -> bool:
    if os.path.dirname(git_dir) != os.path.join(common, "worktrees"):
        return False
    back_link = _read_path(os.path.join(git_dir, "gitdir"), git_dir)
    if back_link is None or os.path.basename(back_link) != ".git":
        return False
    try:
        # Directories, unlike files, cannot be hard linked: the same directory means the same place, also
        # where one place has two spellings (a file system that ignores case, a link on the way).
        return os.path.samefile(os.path.dirname(back_link), top)
    except OSError:
        return False


def _is_module(git_dir: str) -> bool:
    """Whether it lies in the `modules` of another git directory, where git keeps those of submodules."""
    above = git_dir
    while above != "/":
        above, name = os.path.split(above)
        if name == "modules" and _looks_like_git_directory(above, linked=True):
            return True
    return False


def _foreign(dot_git: str, found: os.stat_result) -> tuple[str, ...]:
    if found.st_uid == os.geteuid():
        return ()
    return (f"{dot_git} belongs to another user",)


def _looks_like_git_directory(path: str, *, linked: bool = False) -> bool:
    """HEAD, objects and refs, as git itself decides; a linked worktree's own directory has only HEAD."""
    names = ("HEAD",) if linked else ("HEAD", "objects", "refs")
    return all(_stat(os.path.join(path, name)) is not None for name in names)


def _with_head(root: Root) -> Root:
    common = common_directory(root)
    if root.git_dir is None or common is None:
        return root
    branch, commit = _read_head(root.git_dir, common)
    return Root(root.path, root.worktree, root.kind, root.git_dir, branch, commit, root.rule, root.warnings)


def _read_head(git_dir: str, common: str) -> tuple[str | None, str | None]:
    """Branch and commit; both None where git keeps its refs in another form (reftable)."""
    head = _read_line(os.path.join(git_dir, "HEAD"))
    if head is None:
        return None, None
    if not head.startswith(b"ref: "):
        return None, _commit(head)
    reference = head[5:].strip(b" ")
    if not _is_branch(reference):
        return None, None
    branch = reference[len(b"refs/heads/") :].decode("utf-8", "replace")
    loose = _read_line(os.path.join(common, os.fsdecode(reference)))
    return branch, _commit(loose or b"") or _packed(common, reference)


def _is_branch(reference: bytes) -> bool:
    # git refuses such names too; here the point is that the name becomes a path and is printed.
    parts = reference.split(b"/")
    return (
        reference.startswith(b"refs/heads/")
        and not any(part.startswith(b".") or not part for part in parts)
        and not any(byte < 0x20 or byte == 0x7F for byte in reference)
    )


def _packed(common: str, reference: bytes) -> str | None:
    try:
        packed = read_bounded(os.path.join(common, "packed-refs"), _PACKED_REFS)
    except OSError:
        return None
    end = packed.find(b" " + reference + b"\n")
    if end < 0:
        return None
    return _commit(packed[packed.rfind(b"\n", 0, end) + 1 : end])


def _commit(text: bytes) -> str | None:
    if len(text) not in (40, 64) or text.strip(b"0123456789abcdef"):
        return None
    return text.decode("ascii")


def _read_line(path: str) -> bytes | None:
    try:
        return read_bounded(path, _SMALL).split(b"\n", 1)[0].rstrip(b"\r")
    except OSError:
        return None


def _read_path(path: str, base: str, *, prefix: bytes = b"") -> str | None:
    """The path that a one-line file holds, made absolute from `base`; None when there is none."""
    try:
        content = read_bounded(path, _SMALL)
    except OSError:
        return None
    content = content.rstrip(b"\r\n")
    if not content.startswith(prefix) or len(content) == len(prefix) or b"\0" in content:
        return None
    return os.path.join(base, os.fsdecode(content[len(prefix) :]))


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
