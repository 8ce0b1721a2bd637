"""What a prompt is told unasked: the memories that surely bear on it. The long path of the hook for prompts.

It takes some fifty milliseconds, most of them for imports, so the hook comes here only with a prompt that may be about
something, in a store that has memories. Nobody is asked; where anything is in the way, nothing is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memstore.claude.root import find_root
from memstore.core.notes_text import units
from memstore.errors import MemstoreError
from memstore.recall import Asked, notes_in, recalled_in
from memstore.store import quick, recalled, sessions
from memstore.store.guard import Protection
from memstore.store.settings import load as load_settings
from memstore.world import World

MOST_TOLD: Final = 9_500
"""UTF-16 units: of what is longer than 10,000 the client shows the session a piece."""


def remind(
    connection: quick.Connection, database: str, home: str, env: Mapping[str, str], cwd: str, session: str, prompt: str,
    said: str,
) -> str:  # fmt: skip
    """The frame with what bears on the prompt, or nothing. `said`: what the session is told before it."""
    protection = Protection(database)  # a memory may name any file, and whoever looks there must not open these
    try:
        if not load_settings(home, env, connection).flag("recall.enabled"):
            return ""
        world = World.real(cwd)
        folders = sessions.folders(connection)
        asked = Asked(prompt, session, unasked=True, room=MOST_TOLD - units(said) - 1)
        connection.execute("BEGIN")  # all of one moment
        try:
            notes = notes_in(connection, find_root(cwd), world, folders[0] if folders else None)
            answer = recalled_in(connection, asked, notes)
        finally:
            connection.execute("ROLLBACK")
        records: list[quick.Record] = [
            ("recalled", (session, memory, token, size, world.clock())) for memory, token, size in answer.shown
        ]
        if records:
            quick.try_write(connection, recalled.STATEMENTS, records)  # at worst it is told once more
        return answer.text
    except (MemstoreError, quick.Error):
        return ""
    finally:
        protection.end()
