"""Team memory: what lies in `team/` of a memory folder, read in place.

The client shares these files with everybody who works on the repository, by a service of its own: it pulls them, pushes
what was changed, and brings back what was deleted. The store keeps no versions of them and projects none, so nothing of
memstore writes there.
"""

from __future__ import annotations

from contextlib import suppress

from memstore.core.frontmatter import read
from memstore.core.model import Memory, Shelf, State
from memstore.core.names import RESERVED, stem
from memstore.errors import MemstoreError
from memstore.files.folder import Folder
from memstore.files.walk import FileRead

TEAM = "team"
MOST = 500
"""Files that are read: the newest."""
LARGEST = 250_000
"""Bytes of one: the client shares no larger ones."""

_BESIDE = RESERVED - {TEAM}


def team_memories(directory: str) -> list[Memory]:
    """The memories below `team/`, by path; none where the folder is gone or cannot be read. They have no version."""
    with suppress(MemstoreError):
        folder = Folder.open(directory, reserved=_BESIDE)
        if folder is not None:
            with folder:
                return _memories(folder)
    return []


def _memories(folder: Folder) -> list[Memory]:
    stamps = {path: stamp for path, stamp in folder.scan().files.items() if path.startswith(f"{TEAM}/")}
    changed = {path: int(stamp.split()[1]) // 1_000 for path, stamp in stamps.items()}
    newest = sorted(changed, key=lambda path: (-changed[path], path))[:MOST]
    found = {path: folder.read(path) for path in sorted(newest)}
    return [
        _memory(path, file.content, changed[path])
        for path, file in found.items()
        if isinstance(file, FileRead) and len(file.content) <= LARGEST
    ]


def _memory(path: str, content: bytes, at: int) -> Memory:
    document = read(content)
    return Memory(
        f"{TEAM} {path}", 0, "", State(Shelf(TEAM), path, content), document.name or stem(path),
        document.description or "", document.type, "team", "unlisted", at, at, 0,
    )  # fmt: skip
