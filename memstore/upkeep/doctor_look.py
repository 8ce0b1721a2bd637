"""What several of the doctor's checks look at, each read once and when it is first asked for."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from memstore.core.index_values import in_order
from memstore.errors import PlaceRefused
from memstore.files.folder import Folder
from memstore.store import lines

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.index_values import Entry, Line
    from memstore.files.scan import Scan


class Look:
    """One look at the memories of a directory, at its folder and its index."""

    def __init__(self, memories: Memstore) -> None:
        self.memories = memories

    @property
    def mendable(self) -> bool:
        """Whether anything may be written: the store of a directory that git keeps is only read."""
        return self.memories.store.writable and self.memories.store.refusal is None

    def folder(self) -> Folder | None:
        """The folder, where there is one that can be used; else another check says why not."""
        path = self.memories.place.folder
        try:
            return None if path is None else Folder.open(path)
        except PlaceRefused:
            return None

    @cached_property
    def scan(self) -> Scan | None:
        """What lies in the folder."""
        folder = self.folder()
        if folder is None:
            return None
        with folder:
            return folder.scan()

    @property
    def listed(self) -> bool:
        """Whether it is known what lies in the folder: all of it could be listed, or there is none."""
        path, scan = self.memories.place.folder, self.scan
        return path is not None and (not os.path.lexists(path) if scan is None else scan.complete)

    @cached_property
    def index(self) -> tuple[list[Line], dict[str, Entry]]:
        """The lines of the index in their order, and what it may say of each living memory: of one moment."""
        with self.memories.store.view() as connection:
            rows = in_order(lines.rows(connection, self.memories.shelf))
            return rows, lines.entries(connection, self.memories.shelf)
