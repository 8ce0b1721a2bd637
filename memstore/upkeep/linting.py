"""Looking memories through by the rules of good ones: those of a store, or files and directories without any store.

Nothing is made and nothing written. Of files, what is a link, no plain file, or too large is named and left alone.
"""

from __future__ import annotations

import gc
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from memstore.claude.root import find_root
from memstore.core.index_values import in_order
from memstore.core.lint import Around, Remark, Text, examine_all, examine_index, keys_of, text_of
from memstore.core.lint_repeats import lines_of
from memstore.core.model import INDEX_NAME, LARGEST
from memstore.core.names import collision_key
from memstore.errors import InputRefused, NameRefused, PlaceRefused
from memstore.files import scan, walk
from memstore.store.guard import is_protected

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.files.report import Progress

INSTRUCTIONS: Final = (
    "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md", "CONTRIBUTING.md",
    "README.md", "README.rst", "README.txt", "README",
)  # fmt: skip
"""Files at the top of a repository whose lines no memory need repeat."""

_LARGEST_PAGE = 1024 * 1024
_MOST_BESIDE = 2_000
"""Files beside the given ones of a folder that are read for their names and for texts that say the same."""
_HIGHEST = 6
_NOT_MEMORIES = frozenset({"agents", "logs", "sessions"})
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Linted:
    """`checked`: how many memories were looked through; `skipped`: (path, reason) of files that could not be."""

    checked: int
    remarks: tuple[Remark, ...]
    skipped: tuple[tuple[str, str], ...] = ()


def lint_store(
    memories: Memstore, names: Sequence[str], rules: Collection[str], progress: Progress | None = None
) -> Linted:
    """Looks through the memories of a store, or those that are named, after a look at the folder."""
    heads = memories.memories()
    chosen = {memories.show(name)[0].id for name in names}
    texts = [text_of(head.path, head.state.content) for head in heads]
    wanted = {head.path for head in heads if not names or head.id in chosen}
    index = "\n".join(row.text for row in in_order(memories.store.index(memories.shelf)))
    beside = _beside(texts, memories.place.root.worktree if memories.place.root.git_dir else None)
    around = Around(*keys_of(texts), *beside)
    found = [one for one in _examined(texts, around, progress) if one.path in wanted and one.rule in rules]
    if not names:
        found = [
            *_of(rules, examine_index(index.encode("utf-8", "surrogatepass"), _for_index(around, memories))),
            *found,
        ]
    return Linted(len(wanted), tuple(found))


def lint_paths(paths: Sequence[str], cwd: str, rules: Collection[str], progress: Progress | None = None) -> Linted:
    """Looks through files and directories, as seen from `cwd`. Raises InputRefused for what is not there."""
    checked, skipped, found = 0, dict[str, str](), dict[Remark, None]()
    for folder in _folders(paths, cwd, skipped):
        one = _lint_folder(folder, rules, progress)
        checked += one.checked
        found |= dict.fromkeys(one.remarks)
        skipped |= dict(one.skipped)
    return Linted(checked, tuple(found), tuple(sorted(skipped.items())))


# Folders


@dataclass(slots=True)
class _Folder:
    """A memory folder on the disk. `files`: what is to be looked through, by its path below it, and how that is told;
    `others`: what lies beside that."""

    top: str
    files: dict[str, str]
    others: tuple[str, ...] = ()


def _folders(paths: Sequence[str], cwd: str, skipped: dict[str, str]) -> list[_Folder]:
    found: dict[str, _Folder] = {}
    for given in paths:
        path = os.path.join(cwd, os.path.expanduser(given))
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InputRefused(f"{given} cannot be read: {reason}", hint="give files or directories") from None
        if stat.S_ISDIR(status.st_mode):
            for folder in _below(path, given, skipped):
                found.setdefault(folder.top, folder).files.update(folder.files)
        elif os.path.islink(path):
            skipped[given] = "it is a link"
        elif not given.lower().endswith(".md"):
            skipped[given] = "it is not a Markdown file"
        else:
            folder, name = _above(path)
            found.setdefault(folder.top, folder).files[name] = given
    return list(found.values())


def _below(path: str, given: str, skipped: dict[str, str]) -> Iterator[_Folder]:
    """The directory as a folder; each directory below it that has an index of its own is another one."""
    top = os.path.realpath(path)
    found = _scan(top, given)
    tops = {""}
    for name, reason in found.strange.items():
        directory, _, last = name.rpartition("/")
        if last == INDEX_NAME and directory:
            tops.add(f"{directory}/")
        else:
            skipped[os.path.join(given, name)] = reason
    parts: dict[str, list[str]] = {each: [] for each in tops}
    for name in sorted(found.files):
        if not name.endswith(f"/{INDEX_NAME}"):
            parts[_longest(tops, name)].append(name)
    for each in sorted(tops):
        files = {name[len(each) :]: os.path.join(given, name) for name in parts[each]}
        if each:
            files[INDEX_NAME] = os.path.join(given, each, INDEX_NAME)
        yield _Folder(os.path.join(top, each).rstrip("/") or "/", files)


def _longest(tops: Collection[str], name: str) -> str:
    directory = name
    while directory:
        directory = directory.rstrip("/").rpartition("/")[0]
        if directory and f"{directory}/" in tops:
            return f"{directory}/"
    return ""


def _above(path: str) -> tuple[_Folder, str]:
    """The folder of one file: the next directory upwards with an index, else its own; and its path in there."""
    own = os.path.realpath(os.path.dirname(path))
    name = os.path.basename(path)
    top = own
    for _ in range(_HIGHEST):
        if os.path.isfile(os.path.join(top, INDEX_NAME)):
            below = os.path.relpath(os.path.join(own, name), top)
            others = _scan(top, top).files if below.split("/")[0] not in _NOT_MEMORIES else {}
            return _Folder(top, {}, tuple(others)), below
        if top == os.path.dirname(top) or os.path.lexists(os.path.join(top, ".git")):
            break
        top = os.path.dirname(top)
    with os.scandir(own) as entries:
        others = {entry.name: "" for entry in entries if entry.name.endswith(".md")}
    return _Folder(own, {}, tuple(others)), name


def _scan(top: str, given: str) -> scan.Scan:
    try:
        handle = walk.open_directory(None, top)
    except OSError as error:
        raise InputRefused(f"{given} cannot be read: {error.strerror}", hint="mend its permissions") from None
    try:
        return scan.scan(handle, top, _NOT_MEMORIES)
    finally:
        os.close(handle)


def _lint_folder(folder: _Folder, rules: Collection[str], progress: Progress | None) -> Linted:
    skipped: list[tuple[str, str]] = []
    index: bytes | None = None
    texts: list[Text] = []
    beside = [name for name in folder.others if name not in folder.files and name != INDEX_NAME]
    handle = walk.open_directory(None, folder.top)
    try:
        for name in (*folder.files, *sorted(beside)[:_MOST_BESIDE]):
            content = _read(handle, name, LARGEST)
            if isinstance(content, str):
                skipped += [(folder.files[name], content)] if name in folder.files else []
            elif name == INDEX_NAME:
                index = content
            else:
                texts.append(text_of(name, content))
    finally:
        os.close(handle)
    repository = _repository(folder.top)
    recorded, is_there = _beside(texts, repository, folder.top)
    names, paths = keys_of(texts)
    around = Around(names | _stems(beside), paths | frozenset(map(collision_key, beside)), recorded, is_there)
    # A text is told to be near to an earlier one: those that are looked through come last.
    texts.sort(key=lambda text: (text.path in folder.files, text.path))
    found = [one for one in _examined(texts, around, progress) if one.path in folder.files]
    if index is not None:
        found = [*examine_index(index, around), *found]
    told = [one._replace(path=folder.files[one.path]) for one in _of(rules, found)]
    checked = sum(text.path in folder.files for text in texts)
    return Linted(checked, tuple(told), tuple(skipped))


def _stems(names: Iterable[str]) -> frozenset[str]:
    return frozenset(collision_key(os.path.basename(name)[:-3]) for name in names)


def _of(rules: Collection[str], remarks: Iterable[Remark]) -> list[Remark]:
    return [one for one in remarks if one.rule in rules]


def _for_index(around: Around, memories: Memstore) -> Around:
    """Lines of an index may also point to what lies in the folder and is no memory."""
    folder = memories.place.folder
    if folder is None:
        return around
    return around._replace(is_there=lambda path: os.path.lexists(os.path.join(folder, path)))


# What the repository records


def _repository(directory: str) -> str | None:
    """The top of the working tree that a directory lies in; None outside of any."""
    with suppress(PlaceRefused):
        root = find_root(directory)
        return root.worktree if root.git_dir is not None and root.kind != "bare" else None
    return None


def _beside(
    texts: Sequence[Text], worktree: str | None, folder: str = ""
) -> tuple[dict[str, str], Callable[[str], bool]]:
    """The lines of the project's own instructions, as far as these are no memories, and whether it has a file."""
    if worktree is None:
        return {}, lambda path: bool(folder) and os.path.lexists(os.path.join(folder, path))
    own = {os.path.join(folder, text.path) for text in texts} if folder else set()
    pages: list[tuple[str, str]] = []
    with suppress(OSError):
        handle = walk.open_directory(None, worktree)
        try:
            for name in INSTRUCTIONS:
                content = _read(handle, name, _LARGEST_PAGE)
                if isinstance(content, bytes) and os.path.join(worktree, name) not in own:
                    pages.append((name, content.decode("utf-8", "replace")))
        finally:
            os.close(handle)
    places = [worktree, folder] if folder else [worktree]
    return lines_of(pages), lambda path: any(os.path.lexists(os.path.join(place, path)) for place in places)


def _read(handle: int, name: str, most: int) -> bytes | str:
    """A plain file below a directory, through no link; or why it cannot be read."""
    try:
        with walk.parent(handle, name) as (directory, last):
            status = os.stat(last, dir_fd=directory, follow_symlinks=False)
            reason = walk.why_strange(status, links=1_000)
            if reason or is_protected(status):
                return reason or "it is a database"
            with open(os.open(last, _FILE, dir_fd=directory), "rb") as file:
                content = file.read(most + 1)
    except FileNotFoundError:
        return "it is not there"
    except OSError as error:
        return walk.strange_of(error).reason
    except NameRefused as error:
        return error.reason
    return content if len(content) <= most else "it is too large to be a memory"


def _examined(texts: Sequence[Text], around: Around, progress: Progress | None) -> list[Remark]:
    """The remarks on all texts. What is made meanwhile is kept to the end or freed at once: to look for circles in it,
    again and again, would take a fifth of the time."""
    total = 3 * len(texts)
    told = None if progress is None else lambda done: progress(done, total, "")
    enabled = gc.isenabled()
    gc.disable()
    try:
        return list(examine_all(texts, lambda text: around, told))
    finally:
        if enabled:
            gc.enable()
