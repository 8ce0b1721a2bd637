"""The present texts of all memories, one after the other: for whoever looks through all of them and keeps none."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from memstore.core.model import Shelf
from memstore.store.reader import text_content


def present(connection: apsw.Connection, shelf: Shelf) -> Iterator[tuple[str, bytes]]:
    """The path and the bytes of each living memory of a shelf, by path."""
    rows = connection.execute(
        "SELECT m.path, t.content FROM memory m JOIN text t ON t.id = m.text"
        " WHERE m.state = 'live' AND m.scope = ? AND m.layer = ? ORDER BY m.path_key, m.pk",
        (shelf.scope, shelf.layer),
    )
    return ((path, text_content(stored)) for path, stored in rows)
