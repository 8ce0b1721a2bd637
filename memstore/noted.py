"""What a session is told of its notes when its conversation was compacted. Nobody is asked, and nothing is written."""

from __future__ import annotations

from memstore.core.notes_text import shortened, units
from memstore.core.settings import Settings
from memstore.errors import SettingRefused
from memstore.jobs.showing import framed, visible
from memstore.store import notes
from memstore.store.store import Store

LEAST = 6_000
"""UTF-16 units that the notes are given, if they need as many: all else that is told comes after them."""

_ABOUT = (
    "memstore: notes of this session from before its conversation was compacted, kept by a model from what was said and"
    " what tools printed. Lines that are left out: `memstore notes show`."
)
_MARGIN = 8


def notes_of(store: Store, settings: Settings, session: str) -> str:
    """The notes of a session as they may be shown; empty where it has none, or where notes are switched off."""
    try:
        if not settings.flag("notes.enabled"):
            return ""
    except SettingRefused:
        return ""
    with store.view() as connection:
        found = notes.of_session(connection, session)
    return "" if found is None else visible(found.memory.state.content.decode("utf-8", "replace"))


def told(text: str, room: int) -> str:
    """What notes say, framed as data, in at most so many UTF-16 units; empty where they say nothing."""
    body = shortened(text, room - units(framed(_ABOUT, "")) - _MARGIN)
    return framed(_ABOUT, body) if body else ""
