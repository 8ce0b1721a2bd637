"""The memories of one working directory as the memory tool of the Messages API knows them: files below /memories.

A file's text is a memory's text, byte for byte: what is created without a header gets none, its name is its
file's, and it has no type. A directory is there as long as there is a file in it. `MEMORY.md` is the index, as it is
shown in the memory folder: it can be edited, and what an edit means is decided line by line.

A command that writes is one operation, planned against what stands there and planned anew where somebody was faster.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memstore.core import tool_text
from memstore.core.changes import Change, Create, LineChange, Rename, Retire, Revise, SetIndexLine
from memstore.core.index import base_of, merge
from memstore.core.index_render import Rendering
from memstore.core.model import INDEX_NAME, Memory, Shelf
from memstore.core.names import check_path, collision_key
from memstore.core.plan import encoded
from memstore.core.tool_text import ROOT, Edited, ToolPath, tool_path
from memstore.errors import Conflict, InputRefused, MemstoreError, NameRefused, NotFound, StoreBusy
from memstore.files.absorb import resolver
from memstore.files.absorb_index import translated
from memstore.files.freshness import has_news
from memstore.store import lines, reader
from memstore.store.connection import Reading
from memstore.writing import Writer

if TYPE_CHECKING:
    from memstore.app import Memstore

_ATTEMPTS = 1_000
_FOREIGN = "surrogateescape"
"""Bytes that are no UTF-8 pass through an edit of other words unharmed."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What a command comes to: the operation, which may be empty, and the answer."""

    answer: str
    changes: tuple[Change, ...] = ()
    lines: tuple[LineChange, ...] = ()


class ToolFiles:
    """The six commands. Each answers with a text, or raises a kind of `errors.Mendable`; then nothing was written."""

    def __init__(self, memories: Memstore) -> None:
        self._memories = memories
        self._store = memories.store
        self._shelf = memories.shelf
        world = memories.world
        self._new_id = world.new_id
        self._writer = Writer(memories.store, world, world.provenance(memories.place.root, "agent"), memories.shelf)

    def view(self, given: str, view_range: tuple[int, int] | None = None) -> str:
        """A directory's files, or a file's lines."""
        path = tool_path(given)
        self._freshen(path)
        if path.is_index:
            index = self._index()
            if index is not None:
                return tool_text.view(path, index.text, view_range)
        file = self._file(path)
        if file is not None:
            return tool_text.view(path, file.state.content.decode("utf-8", "replace"), view_range)
        below = self._below(path)
        if not below and path.inside:
            raise NotFound(f"The path {given} does not exist. Please provide a valid path.")
        start = len(path.inside) + 1 if path.inside else 0
        sizes = {memory.path[start:]: len(memory.state.content) for memory in below}
        if not path.inside:
            index = self._index()
            sizes |= {} if index is None else {INDEX_NAME: len(index.text.encode())}
        return tool_text.listing(path, sizes)

    def create(self, given: str, text: str) -> str:
        """A new file. One that exists stays as it is."""
        path, content = tool_path(given), encoded(text)

        def plan() -> _Step:
            if path.is_index:
                self._refuse_index(path)
            if not path.inside or self._below(path):
                raise Conflict(f"File {given} already exists")
            tool_text.check_file(path)
            head = self._store.at(self._shelf, path.inside)
            answer = f"File created successfully at: {given}"
            if head is None or (head.path != path.inside and not head.state.live):
                return _Step(answer, (Create(self._new_id(), self._shelf, path.inside, content),))
            if head.state.live:
                also = "" if head.path == path.inside else f" as {ROOT}/{head.path}: such names count as one"
                raise Conflict(f"File {given} already exists{also}")
            return _Step(answer, (Revise(head.id, head.token, content),))

        return self._commit("write", plan)

    def str_replace(self, given: str, old: str, new: str) -> str:
        """Other words in one place of a file."""
        path = tool_path(given)
        encoded(old), encoded(new)
        return self._edit(path, lambda text: tool_text.replace(path, text, old, new))

    def insert(self, given: str, line: int, text: str) -> str:
        """Lines behind a line of a file."""
        path = tool_path(given)
        encoded(text)
        return self._edit(path, lambda before: tool_text.insert(path, before, line, text))

    def delete(self, given: str) -> str:
        """Retires a file, or all files of a directory."""
        path = tool_path(given)

        def plan() -> _Step:
            if not path.inside:
                raise InputRefused(f"Cannot delete the {ROOT} directory itself")
            if path.is_index:
                self._refuse_index(path)
            file = self._file(path)
            heads = self._below(path) if file is None else [file]
            if not heads:
                raise NotFound(f"The path {given} does not exist")
            return _Step(f"Successfully deleted {given}", tuple(Retire(head.id, head.token) for head in heads))

        return self._commit("delete", plan)

    def rename(self, given: str, new_given: str) -> str:
        """Moves a file, or all files of a directory. Their texts and their history stay."""
        path, new_path = tool_path(given), tool_path(new_given)

        def plan() -> _Step:
            if not path.inside:
                raise InputRefused(f"Cannot rename the {ROOT} directory itself")
            for each in (path, new_path):
                if each.is_index:
                    self._refuse_index(each)
            file = self._file(path)
            self._refuse_taken(new_path, file)
            heads = self._below(path) if file is None else [file]
            if not heads:
                raise NotFound(f"The path {given} does not exist")
            if file is not None:
                tool_text.check_file(new_path)
            elif f"{new_path.inside}/".startswith(f"{path.inside}/"):
                raise InputRefused(f"Cannot rename {given} into itself")
            else:
                tool_text.check_directory(new_path, new_path.inside)
            changes = (Rename(head.id, head.token, _moved(head.path, path, new_path)) for head in heads)
            return _Step(f"Successfully renamed {given} to {new_given}", tuple(changes))

        return self._commit("rename", plan)

    def clear(self) -> str:
        """Retires all memories and takes all lines out of the index, in one operation that can be undone."""

        def plan() -> _Step:
            heads, rows = self._store.memories(self._shelf), self._store.index(self._shelf)
            return _Step(
                "All memory cleared",
                tuple(Retire(head.id, head.token) for head in heads),
                tuple(
                    SetIndexLine(row.id, row.version, row.kind, row.text, row.memory, row.rank, row.hook_by, live=False)
                    for row in rows
                    if row.memory is None
                ),
            )

        return self._commit("delete", plan)

    # Inside

    def _freshen(self, path: ToolPath) -> None:
        """Takes in what was edited, where the folder or this very file tells of it; for all but files a scan tells."""
        known = path.is_index or self._file(path) is not None
        if not known or has_news(self._store, self._memories.place.folder, [path.inside]):
            self._memories.files.absorb()

    def _index(self) -> Rendering | None:
        with self._store.view() as connection:
            return lines.rendering(connection)

    def _commit(self, kind: str, plan: Callable[[], _Step]) -> str:
        self._memories.files.absorb()
        for _ in range(_ATTEMPTS):
            step = plan()
            if not step.changes and not step.lines:
                return step.answer
            try:
                self._writer.apply(step.changes, kind, lines=step.lines, reason="memory tool")
            except Conflict:
                continue  # somebody was faster: plan against what stands there now
            # What is written is kept, also where its file cannot be shown yet: whoever comes next sees to that.
            with suppress(MemstoreError, OSError):
                self._memories.files.settle()
            return step.answer
        raise StoreBusy(f"the memories changed {_ATTEMPTS} times meanwhile", hint="try again")

    def _edit(self, path: ToolPath, edit: Callable[[str], Edited]) -> str:
        def plan() -> _Step:
            if path.is_index:
                return self._edited_index(path, edit)
            head = self._file(path)
            if head is None:
                if not path.inside or self._below(path):
                    raise InputRefused(f"The path {path.given} is not a file.")
                raise NotFound(f"The path {path.given} does not exist. Please provide a valid path.")
            edited = edit(head.state.content.decode("utf-8", _FOREIGN))
            content, answer = edited.text.encode("utf-8", _FOREIGN), _readable(edited.answer)
            if content == head.state.content:
                return _Step(answer)
            return _Step(answer, (Revise(head.id, head.token, content, merged=True),))

        return self._commit("edit", plan)

    def _edited_index(self, path: ToolPath, edit: Callable[[str], Edited]) -> _Step:
        """An edit of the index changes the lines that it touches, by the rules of `core/index.py`."""
        with self._store.view() as connection:
            found, rows = lines.rendering(connection), lines.rows(connection)
            resolve = resolver(connection, {})
        if found is None:
            raise NotFound(f"The path {path.given} does not exist. Please provide a valid path.")
        edited = edit(found.text)
        if edited.text == found.text:
            return _Step(edited.answer)
        base = base_of(found.text, found.text, [identity for identity, _ in found.lines])
        meant = merge(base, rows, edited.text, resolve)
        if meant.restores:
            raise InputRefused(f"{path.given} cannot be emptied: it is the index of the memories")
        if not meant.changes or meant.conflicts:
            raise InputRefused(f"{path.given} was not edited: that line counts what found no room, and is made anew")
        return _Step(edited.answer, lines=tuple(translated(meant.changes, rows, self._new_id)))

    def _file(self, path: ToolPath) -> Memory | None:
        """The living memory of this very path."""
        if not path.inside or path.directory:
            return None
        head = self._store.at(self._shelf, path.inside)
        return head if head is not None and head.state.live and head.path == path.inside else None

    def _below(self, path: ToolPath) -> list[Memory]:
        """The living memories in a directory."""
        if path.inside:
            with self._store.view() as connection:
                if not _is_directory(connection, path, self._shelf):
                    return []
        start = f"{path.inside}/" if path.inside else ""
        return [memory for memory in self._store.memories(self._shelf) if memory.path.startswith(start)]

    def _refuse_taken(self, path: ToolPath, moved: Memory | None) -> None:
        head = self._store.at(self._shelf, path.inside) if path.inside else None
        taken = head is not None and head.state.live
        renamed = moved is not None and head is not None and head.id == moved.id and head.path != path.inside
        with self._store.view() as connection:
            directory = not path.inside or _is_directory(connection, path, self._shelf)
        if directory or (taken and not renamed):
            raise Conflict(f"The destination {path.given} already exists")

    def _refuse_index(self, path: ToolPath) -> None:
        raise InputRefused(
            f"{path.given} is the index of the memories and is kept for you: each memory has its line there."
            " It can be edited with str_replace and insert, but not created, deleted or renamed"
        )


def _is_directory(connection: Reading, path: ToolPath, shelf: Shelf) -> bool:
    start = collision_key(path.inside) + "/"
    return any(key.startswith(start) for key in reader.paths(connection, shelf))


def _moved(name: str, path: ToolPath, new_path: ToolPath) -> str:
    try:
        return check_path(new_path.inside + name[len(path.inside) :])
    except NameRefused as error:
        raise InputRefused(f"Cannot rename {path.given} to {new_path.given}: {error.reason}") from None


def _readable(answer: str) -> str:
    return answer.encode("utf-8", _FOREIGN).decode("utf-8", "replace")
