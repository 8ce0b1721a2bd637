"""Agents' own memories, all of one working directory: how each is kept, and what those tell that a prompt names.

Each is a folder of its own with a store of its own, opened with `Memstore.open(agent=...)`. It gets its store at the
first command that names it; a look at all of them makes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from memstore.claude import nearby
from memstore.claude.agents import Agent, check, committed, existing, mentioned, without_mentions
from memstore.core.model import INDEX_NAME
from memstore.errors import FolderTaken, Mendable
from memstore.store import quick, recalled
from memstore.store.home import Home
from memstore.store.store import DATABASE, Store
from memstore.world import World

if TYPE_CHECKING:
    from memstore.recall import Asked, Recalled
    from memstore.recalling import Likeness

_PATIENCE = 100
"""Milliseconds for the lock of one store."""

Kept = Literal["shared", "read", "new", "refused"]


@dataclass(frozen=True, slots=True)
class Found:
    """An agent's memory. `memories`: the files there. `kept`: "shared", the store and the files show the same; "read",
    git keeps the files and the store only reads them; "new", it has no store yet; "refused", and `why`."""

    agent: Agent
    memories: int
    store: str | None
    kept: Kept
    why: str = ""


def agents(world: World) -> list[Found]:
    """All that have a directory here, by scope and name."""
    home = Home.locate(world.environment)
    return [look(agent, world, home) for agent in existing(world.cwd, world.environment, world.home)]


def look(agent: Agent, world: World, home: Home) -> Found:
    """How one is kept. It makes nothing."""
    from memstore.files.claim import read_claim
    from memstore.files.folder import Folder
    from memstore.files.in_place import keep_out

    count, store = 0, None
    try:
        check(agent, world.cwd)
        folder = Folder.open(agent.directory)
        if folder is None:
            return Found(agent, 0, None, "refused", "it was deleted just now")
        with folder:
            count = sum(name != INDEX_NAME for name in folder.scan().files)
            claim = read_claim(folder)
        root = os.path.realpath(agent.directory)
        entry = home.entry(root)
        store = None if entry is None else entry.store
        if store is None or not os.path.exists(os.path.join(home.store_directory(store), DATABASE)):
            return Found(agent, count, None, "read" if committed(root) else "new")
        with closing(Store.open(home.store_directory(store), store, world.clock, writable=False)) as opened:
            keep_out(opened, agent.directory)
            if opened.refusal is not None:
                return Found(agent, count, store, "read")
        if claim is not None and claim.store != store:
            raise FolderTaken(agent.directory, claim.root or claim.store, root)
    except Mendable as error:
        return Found(agent, count, store, "refused", str(error))
    return Found(agent, count, store, "shared")


def forget_told(world: World, session: str) -> None:
    """The session's conversation was taken away: what it was told of agents' memories counts as unseen as well."""
    home = Home.locate(world.environment).path
    for agent in existing(world.cwd, world.environment, world.home):
        store = nearby.store_of(home, os.path.realpath(agent.directory), quick.Json())
        connection = "" if store is None else quick.open_quick(nearby.database(home, store or ""), _PATIENCE)
        if isinstance(connection, str):
            continue
        try:
            if recalled.spent(connection, session):
                quick.try_write(connection, recalled.STATEMENTS, [("forgotten", (session,))])
        except quick.Error:
            continue  # at worst it is not told again
        finally:
            connection.close()


def recall_alone(world: World, asked: Asked) -> Recalled | None:
    """The same where the repository has no memories; None where the prompt names no agent that has some."""
    named = [] if world.whose else mentioned(asked.prompt, world.cwd, world.environment)
    return recall_of(world, named, asked) if named else None


def recall_of(world: World, named: Sequence[Agent], asked: Asked, likeness: Likeness | None = None) -> Recalled:
    """What the agents' own memories tell of a prompt that names them. What cannot be used tells nothing."""
    from memstore.app import Memstore
    from memstore.recall import Recalled, recall

    answers: list[Recalled] = []
    left, prompt = asked.most, without_mentions(asked.prompt)
    for agent in named:
        try:
            with Memstore.open(world=replace(world, whose=agent.address), make=False) as memories:
                answer = recall(memories, replace(asked, prompt=prompt, most=left), likeness)
        except Mendable:
            continue
        answers.append(answer)
        left -= len(answer.memories)
        if left <= 0:
            break
    picked = [one for answer in answers for one in answer.candidates if one.picked]
    others = [one for answer in answers for one in answer.candidates if not one.picked]
    return Recalled(
        "\n".join(answer.text for answer in answers if answer.text),
        (*picked, *others),
        tuple(size for answer in answers for size in answer.sizes),
    )
