"""What a prompt is told unasked: the memories that surely bear on it. The long path of the hook for prompts.

It takes some fifty milliseconds, most of them for imports, so the hook comes here only with a prompt that may be about
something, in a store that has memories. No model is waited for: what one picks comes with the next prompt. Where
anything is in the way, nothing is told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from memstore.claude import nearby
from memstore.claude.hooks import Event, has_substance
from memstore.claude.root import find_root
from memstore.core.notes_text import units
from memstore.errors import MemstoreError
from memstore.files.freshness import stamp_of
from memstore.recall import Asked, Recalled, notes_in, recalled_in
from memstore.store import quick, recalled, sessions
from memstore.store.guard import Protection
from memstore.store.settings import load as load_settings
from memstore.store.stamps import known_stamps
from memstore.world import World

MOST_TOLD: Final = 9_500
"""UTF-16 units: of what is longer than 10,000 the client shows the session a piece."""
_PATIENCE = 100
"""Milliseconds for the lock of an agent's store."""


def remind(
    connection: quick.Connection, database: str, home: str, env: Mapping[str, str], event: Event, cwd: str, said: str,
    start_picker: Callable[[], None],
) -> str:  # fmt: skip
    """The frame with what bears on the prompt, or nothing. `said`: what the session is told before it. Where the prompt
    names agents, their own memories answer instead. `start_picker`: lets a model pick, for the next prompt."""
    protection = Protection(database)  # a memory may name any file, and whoever looks there must not open these
    try:
        settings = load_settings(home, env, connection)
        if not settings.flag("recall.enabled"):
            return ""
        prompt, session = event.words, event.session_id
        world, room = World.real(cwd), MOST_TOLD - units(said) - 1
        asked = Asked(prompt, session, unasked=True, room=room)
        own = _of_agents(asked, home, env, world) if "@" in prompt else None
        if own is not None:
            return own
        folders = sessions.folders(connection)
        answer = _answer(connection, asked, world, folders[0] if folders else None)
        with suppress(MemstoreError, quick.Error, OSError):  # what was found counts as told by now
            if settings.word("recall.selector") == "model" and has_substance(prompt) and _may_ask(env):
                transcript = event.transcript if nearby.is_transcript(event.transcript, env) else None
                record: quick.Record = ("asked", (session, prompt, transcript, world.clock()))
                if not quick.try_write(connection, recalled.STATEMENTS, [record]):
                    start_picker()
        return answer.text
    except (MemstoreError, quick.Error):
        return ""
    finally:
        protection.end()


def _may_ask(env: Mapping[str, str]) -> bool:
    return any(env.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))


def _answer(connection: quick.Connection, asked: Asked, world: World, folder: str | None) -> Recalled:
    asked = replace(asked, whose=world.whose)
    with recalled.one_moment(connection):
        files = _Files(connection, folder)
        notes = notes_in(connection, find_root(world.cwd), world, folder)
        answer = recalled_in(connection, asked, lambda memory: [*files.notes(memory.path), *notes(memory)], files.gone)
    records: list[quick.Record] = [
        ("recalled", (asked.session, memory, token, size, world.clock())) for memory, token, size in answer.shown
    ]
    if asked.session is not None and recalled.picked(connection, asked.session):
        records.append(("delivered", (asked.session,)))
    if records:
        quick.try_write(connection, recalled.STATEMENTS, records)  # at worst it is told once more
    return answer


class _Files:
    """The memories' files, as far as their stamps tell: a hook takes no edit in, but it does not pass over one."""

    def __init__(self, connection: quick.Connection, folder: str | None) -> None:
        self._connection = connection
        self._folder = folder

    def gone(self, path: str) -> bool:
        """Whether somebody has deleted what had been shown."""
        return self._stamps(path) == ("", True)

    def notes(self, path: str) -> list[str]:
        """What to say of a text that is not that of its file."""
        stamp, shown = self._stamps(path)
        return ["its file was edited since: read that"] if stamp and not shown else []

    def _stamps(self, path: str) -> tuple[str, bool]:
        """The file's stamp, empty for none; and whether this, or else any, was known when it was shown."""
        known = None if self._folder is None else known_stamps(self._connection, self._folder, [path])
        if known is None or known.get(path) is None or self._folder is None:
            return "", False
        try:
            stamp = stamp_of(os.stat(os.path.join(self._folder, path), follow_symlinks=False))
        except OSError:
            return "", True
        return stamp, stamp == known[path]


def _of_agents(asked: Asked, home: str, env: Mapping[str, str], world: World) -> str | None:
    """The same from the own memories of the agents that the prompt names; None where none of them has a store."""
    from memstore.claude.agents import mentioned, without_mentions

    told: list[str] = []
    named, known = mentioned(asked.prompt, world.cwd, env), False
    asked = replace(asked, prompt=without_mentions(asked.prompt))
    for agent in named:
        store = nearby.store_of(home, os.path.realpath(agent.directory), quick.Json())
        database = "" if store is None else nearby.database(home, store)
        connection = quick.open_quick(database, _PATIENCE) if store is not None else ""
        known = known or store is not None
        if isinstance(connection, str) or asked.most < 1:
            continue
        protection = Protection(database)
        try:
            answer = _answer(connection, asked, replace(world, whose=agent.address), agent.directory)
        finally:
            connection.close()
            protection.end()
        if answer.text:
            told.append(answer.text)
            room = (asked.room or 0) - units(answer.text) - 1
            asked = replace(asked, most=asked.most - len(answer.memories), room=room)
    return "\n".join(told) if known else None
