"""The worker that hooks start: it takes in what sessions did, shows it, and then lets the extraction do its jobs. Where
a turn has ended, it dreams if it is time to.

One works and one waits, at most: who waits will see all that is there by then. It needs no daemon and leaves none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from memstore.claude import nearby
from memstore.claude.agents import Agent, Scope, bases, committed, of_file
from memstore.claude.root import find_root
from memstore.errors import MemstoreError
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.in_place import InPlace, files_of, keep_out
from memstore.files.sync import Sync
from memstore.store import jobs, sessions
from memstore.store.store import Store
from memstore.store.worker_turn import worker_turn
from memstore.world import World

_WAIT = 60.0


def work(store: str, folders: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    """Takes in what hooks left, gives the memories of ended turns their index lines, and drains the jobs."""
    home = nearby.home_of(os.environ if env is None else env)
    if home is None:
        return
    directory = os.path.join(home, "stores", store)
    os.chdir("/")  # a process that stays behind holds no directory
    turn = worker_turn(directory, "work", _WAIT)
    if turn is None:
        return
    world = World.real("/")
    try:
        with closing(Store.open(directory, store, world.clock)) as opened:
            opened.take_spooled()
            for folder in folders or folders_of(opened):
                with suppress(MemstoreError):
                    _work_in(opened, folder, world)
            thinking = _thinking() if jobs.are_due(opened) else ()
    finally:
        os.close(turn)
    for think in thinking:  # the next one may take in what comes now, however long models think
        think(home, store, world)


def adopt(path: str, cwd: str) -> None:
    """Takes in the own memory of an agent that a session in `cwd` has just written the file `path` into.

    It gets its store so; where git keeps it, which has no claim that later hooks could go by, its files are read each
    time. What a checkout has that git does not keep yet waits for a person's command: a claim would go into the next
    commit.
    """
    from memstore.app import Memstore  # who only works needs less

    agent, world = of_file(os.path.normpath(path)), World.real(cwd)
    os.chdir("/")
    scopes = [] if agent is None else _scopes(agent, world)
    if agent is None or not scopes:
        return
    place, scope = scopes[0]
    if scope == "project" and find_root(place).git_dir is not None and not committed(agent.directory):
        return
    with suppress(MemstoreError), Memstore.open(world=replace(world, cwd=place, whose=f"{agent.name}:{scope}")) as own:
        turn = worker_turn(own.store.directory, "work", _WAIT)
        if turn is not None:
            try:
                own.sync()
            finally:
                os.close(turn)


def _scopes(agent: Agent, world: World) -> list[tuple[str, Scope]]:
    """The working directories and scopes for which this is an agent's directory; the user's own first."""
    above = os.path.realpath(os.path.dirname(agent.directory))
    found = []
    for place in (world.cwd, os.path.dirname(os.path.dirname(above))):
        known = bases(place, world.environment, world.home).items()
        found += [(place, scope) for scope, base in known if os.path.realpath(base) == above]
    return sorted(found, key=lambda one: one[1] != "user")


def _thinking() -> tuple[Callable[[str, str, World], None], ...]:
    from memstore.dreaming import consider
    from memstore.extracting import drain

    return drain, consider


def sync_in(store: Store, path: str, world: World) -> Sync | InPlace | None:
    """The sync of a memory folder; None where it is gone, or is another store's."""
    folder = Folder.open(path)
    if folder is None:
        return None
    with folder:
        claim = read_claim(folder)
    if claim is None or claim.store != store.id:
        return None
    keep_out(store, path)
    return files_of(store, path, replace(find_root(claim.root), path=claim.root), world)


def folders_of(store: Store) -> list[str]:
    """The memory folders that the store is shown in."""
    with store.view() as connection:
        return sessions.folders(connection)


def _work_in(store: Store, path: str, world: World) -> None:
    sync = sync_in(store, path, world)
    if sync is None:
        return
    sync.run()
    with store.change() as connection:
        due = sessions.make_due(connection, world.clock())
    if due:
        sync.run()
