"""What is to be imported, as it was read: a directory, or anything else that becomes one. Nothing of it is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from memstore.core import basic_memory, formats, mcp_graph
from memstore.core.exchange import Exchange
from memstore.core.model import INDEX_NAME
from memstore.core.names import check_path
from memstore.errors import ImportRefused, NameRefused, PlaceRefused
from memstore.files import archives, tables
from memstore.files.folder import Folder
from memstore.files.report import Progress
from memstore.files.scan import Scan
from memstore.files.walk import Strange
from memstore.store import guard
from memstore.world import World

MOST_BYTES = 256 * 1024 * 1024
"""Of a file that is taken in; a database is not read as a whole."""
MOST_ROWS_BYTES = 64 * 1024 * 1024
"""Of a text whose rows are memories: it is read several times over."""


@dataclass(frozen=True, slots=True)
class Source:
    """`files`: what may be taken in, by path; `skipped`: (path, reason) of the rest.

    `path`: where it lies; `key`: under which name the store remembers what both have in common.
    """

    path: str
    key: str
    format: str
    files: Mapping[str, bytes]
    skipped: tuple[tuple[str, str], ...]
    exchange: Exchange | None = None
    """Of an export in JSON: the versions behind the files."""

    @property
    def foreign(self) -> bool:
        """Whether these are no memories of this client, so that no index of it can have named them."""
        return self.format not in ("dir", "memstore", *formats.PACKED)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person said about a source; what they did not say is found out."""

    format: str | None = None
    table: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of rows: field of a memory to the column that holds it."""


def ancestry(path: str) -> str:
    """The name under which the store remembers what it has in common with a directory that it is not shown in."""
    return f"import:{path}"


def read_source(path: str, world: World, progress: Progress | None = None, asked: Asked | None = None) -> Source:
    """Reads all that may be taken in from there. Raises ImportRefused, and then nothing is to be taken in."""
    asked = asked or Asked()
    _check(asked)
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        status = None
    if status is None or stat.S_ISDIR(status.st_mode):
        return _directory(path, world, progress, asked)
    if not stat.S_ISREG(status.st_mode):
        raise ImportRefused(f"{path} is neither a directory nor a file", hint="save what it says into a file")
    return _file(os.path.realpath(path), status, world, progress, asked)


def _check(asked: Asked) -> None:
    if asked.format is not None and asked.format not in formats.FORMATS:
        raise ImportRefused(f"there is no format {asked.format!r}", hint=f"there are {', '.join(formats.FORMATS)}")


def _directory(path: str, world: World, progress: Progress | None, asked: Asked) -> Source:
    if asked.format not in (None, "dir", "basic-memory"):
        raise ImportRefused(f"{path} is no file of the format {asked.format}", hint="leave --format out")
    _no_rows(asked, path)
    read = _Directory(path, world, progress)
    return _translated(Source(read.path, ancestry(read.path), "dir", read.files, tuple(read.skipped)), asked)


def _file(path: str, status: os.stat_result, world: World, progress: Progress | None, asked: Asked) -> Source:
    if guard.is_protected(status):
        raise _own_store(path)
    kind = formats.found(os.path.basename(path), _read(path, formats.HEAD))
    if asked.format == "basic-memory":
        kind = kind if kind in formats.PACKED else None
    elif asked.format is not None:
        kind = asked.format
    if kind is None or kind == "dir":
        raise ImportRefused(
            f"{path} is no directory of memories, and of no format that is known here",
            hint=f"say which it is with --format: {', '.join(formats.FORMATS[1:])}; or give the directory it lies in",
        )
    if kind not in formats.ROWS:
        _no_rows(asked, path)
    if kind == "db":
        found = tables.of_database(path, asked.table, asked.columns, world)
        return Source(path, f"{ancestry(path)}:{found.table}", kind, found.files, found.skipped)
    if asked.table is not None:
        raise ImportRefused(f"{path} has no tables, for it is of the format {kind}", hint="leave --table out")
    most = MOST_ROWS_BYTES if kind in formats.ROWS or kind == "mcp-memory" else MOST_BYTES
    if status.st_size > most:
        raise ImportRefused(f"{path} is larger than {most >> 20} MB", hint="import it in parts")
    content = _read(path, MOST_BYTES)
    if kind in formats.PACKED:
        unpacked = archives.unpack(path, kind, content, progress)
        return _translated(Source(path, ancestry(path), kind, unpacked.files, unpacked.skipped), asked)
    if kind == "memstore":
        from memstore.files.reimporting import source_of

        return source_of(path, content)
    read: Callable[[], tuple[Mapping[str, bytes], tuple[tuple[str, str], ...]]] = {
        "mcp-memory": lambda: mcp_graph.read(content, path),
        "csv": lambda: tables.of_text("csv", content, path, asked.columns, world),
        "json": lambda: tables.of_text("json", content, path, asked.columns, world),
    }[kind]
    files, skipped = read()
    return Source(path, ancestry(path), kind, files, skipped)


def _translated(source: Source, asked: Asked) -> Source:
    """The same in the words of memories, where the files are another program's notes."""
    wanted = asked.format == "basic-memory" or (asked.format is None and basic_memory.speaks(source.files))
    if not wanted:
        return source
    files = {path: basic_memory.translated(path, content) for path, content in source.files.items()}
    kind = "basic-memory" if source.format == "dir" else f"{source.format}, basic-memory"
    return replace(source, format=kind, files=files)


def _no_rows(asked: Asked, path: str) -> None:
    if asked.table is not None or asked.columns:
        raise ImportRefused(f"{path} has no tables and columns", hint="leave --table and --column out")


def _own_store(path: str) -> ImportRefused:
    return ImportRefused(
        f"{path} is the database of a store of memstore",
        hint="run `memstore export DIR` in the repository that it belongs to, and import DIR",
    )


def _read(path: str, most: int) -> bytes:
    """Its first bytes, at most so many."""
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError as error:
        raise ImportRefused(
            f"{path} cannot be read: {os.strerror(error.errno or 0)}", hint="mend its permissions"
        ) from error


class _Directory:
    """The memories of a directory. Raises ImportRefused."""

    def __init__(self, directory: str, world: World, progress: Progress | None) -> None:
        self.files: dict[str, bytes] = {}
        self.skipped: list[tuple[str, str]] = []
        try:
            folder = Folder.open(directory, now=lambda: world.clock() * 1_000)
        except PlaceRefused as error:
            raise ImportRefused(str(error), hint=error.hint) from error
        if folder is None:
            raise ImportRefused(
                f"there is no file or directory {directory}",
                hint="give the directory that holds the .md files, or a file in a format that can be taken in",
            )
        with folder:
            self.path = folder.path
            found = folder.scan()
            closed = [name for name, reason in found.strange.items() if not name.endswith(".md")]
            if not found.complete and not closed:
                raise ImportRefused(f"{directory} cannot be read whole", hint="mend its permissions")
            self._skip(found)
            left = {name for name, _ in self.skipped}
            for done, name in enumerate(sorted(found.files)):
                if progress is not None:
                    progress(done, len(found.files), name)
                if name not in left:
                    self._read(folder, name)

    def _skip(self, found: Scan) -> None:
        self.skipped += sorted(found.strange.items())
        self.skipped += [(name, f"a sync program's copy of {of}") for name, of in found.conflict_copies]
        self.skipped += [(name, "another program's temporary or conflict copy") for name in found.debris]
        self.skipped += [(name, "what memstore was writing when it was stopped") for name in found.temporary]
        for first, *others in found.collisions:
            self.skipped += [
                (name, f"it differs from {first} by case or composition only; rename it") for name in others
            ]
        for name in found.foreign:
            directory = name.endswith("/")
            self.skipped.append((name, "a directory that holds no memories" if directory else "not a Markdown file"))

    def _read(self, folder: Folder, name: str) -> None:
        try:
            if name != INDEX_NAME:
                check_path(name)
        except NameRefused as error:
            self.skipped.append((name, error.reason))
            return
        read = folder.read(name)
        if read is None or isinstance(read, Strange):
            self.skipped.append((name, "it vanished" if read is None else read.reason))
        elif not read.content.strip():
            self.skipped.append((name, "it is empty"))
        else:
            self.files[name] = read.content
