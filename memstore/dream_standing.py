"""How things stand with the dream: each gate and its figure, when the last one was, who dreams now and what waits.

Nothing is written here but the count of sessions, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import memstore.store.settings as kept
from memstore.claude import consolidate_lock
from memstore.claude.paths import REMOTE
from memstore.claude.root import Root, find_root
from memstore.claude.touched import Touched, touched
from memstore.core import dream_gates
from memstore.core.dream_gates import Gate
from memstore.core.settings import Settings
from memstore.errors import PlaceRefused, SettingRefused
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.standing import api_hold
from memstore.store import dreams, leases, runs, sessions, steps
from memstore.store.dreams import KIND, Past
from memstore.store.leases import Lease
from memstore.store.process import is_alive, is_client
from memstore.store.runs import Run
from memstore.store.steps import Progress
from memstore.store.store import Store
from memstore.world import World

By = Literal["turns", "schedule", "hand"]
"""What asks for a dream: turns that ended, a schedule, somebody."""

Look = tuple[dream_gates.Name, Callable[[], Gate]]

_ON = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class DreamStanding:
    """How things stand now. Times are unix microseconds.

    `gates`: those of a dream that comes by itself. `last`: when the last dream began, ours or the client's. `run`: the
    newest dream, however it ended. `lease`: whose it is, where somebody dreams, and `progress` how far that is.
    `waiting`: runs with steps that wait for a person, and how many. `odd`: what lies where the client has its lock.
    """

    gates: tuple[Gate, ...]
    last: int | None
    run: Run | None
    lease: Lease | None
    progress: Progress | None
    waiting: tuple[tuple[str, int], ...]
    odd: tuple[str, ...]


class Gates:
    """The gates of a store. `root`: the repository's; None where it is not there any more."""

    def __init__(self, store: Store, home: str, world: World, folders: Sequence[str], root: Root | None) -> None:
        self._store = store
        self._home = home
        self._world = world
        self._folders = folders
        self._root = root
        self._now = world.clock()
        with store.view() as connection:
            self.past: Past = dreams.past(connection, self._now)
            self._held = {lock.folder: lock for lock in dreams.locks(connection)}
            self._count = dreams.count(connection)
            self._paused = bool(sessions.pauses(connection, "", ""))
        self._locks = {folder: consolidate_lock.read(folder) for folder in folders}

    @property
    def last(self) -> int | None:
        """When the last dream began: ours that ended well, or what the client's lock says, unless that is to come."""
        found = [] if self.past.last is None else [self.past.last]
        for folder, lock in self._locks.items():
            held = self._held.get(folder)
            # One that is ours and was not given back tells of no dream: it goes on, or was killed.
            ours = held is not None and lock.pid in (held.pid, None)
            found.append(held.prior if held is not None and ours else 0 if lock.odd else lock.at)
        return max((at for at in found if 0 < at <= self._now), default=None)

    @property
    def odd(self) -> tuple[str, ...]:
        """What lies where the client has its lock, and is none."""
        return tuple(
            f"{consolidate_lock.NAME} in {folder} is left alone: {lock.odd}"
            for folder, lock in self._locks.items()
            if lock.odd
        )

    def walk(self, by: By, *, every: bool = False) -> Iterator[Gate]:
        """The gates that concern whoever asks, in their order, up to the first that is shut; `every`: all of them."""
        try:
            with self._store.view() as connection:
                settings = kept.load(self._home, self._world.environment, connection)
        except SettingRefused as refused:
            yield _unusable("enabled", refused)
            return
        for name, look in self._looks(settings, by, note=not every):
            try:
                gate = look()
            except SettingRefused as refused:
                gate = _unusable(name, refused)
            yield gate
            if not gate.open and not every:
                return

    def touched(self) -> tuple[Touched, ...]:
        """The sessions touched since the last dream, without the one that asks."""
        if self._root is None:
            return ()
        with self._store.view() as connection:
            known = dreams.transcripts(connection)
        environment = self._world.environment
        own = (environment.get("MEMSTORE_SESSION", ""), environment.get("CLAUDE_CODE_SESSION_ID", ""))
        home = self._world.home
        return touched(self._root, environment, home, self.last or 0, self._now, known=known, without=own)

    def _looks(self, settings: Settings, by: By, *, note: bool) -> list[Look]:
        if by == "hand":
            return [("lease", self._lease)]
        looks: list[Look] = [("enabled", lambda: self._enabled(settings, by))]
        if by == "turns":
            looks += [
                ("hours", lambda: dream_gates.hours(self._now, self.last, settings.number("dream.hours"))),
                ("throttle", lambda: self._throttle(settings)),
                ("sessions", lambda: self._sessions(settings, note=note)),
            ]
        return [*looks, ("lease", self._lease)]

    def _enabled(self, settings: Settings, by: By) -> Gate:
        hold = api_hold(self._store, settings, self._world)
        return dream_gates.enabled(
            wanted=settings.flag("dream.enabled"),
            remote=self._world.environment.get(REMOTE, "").strip().lower() in _ON,
            assistant=settings.flag("assistant.enabled"),
            paused=self._paused,
            hold="" if hold is None else str(hold),
            to_mend=hold is not None and hold.to_mend,
            by_turns=by == "turns",
        )

    def _throttle(self, settings: Settings) -> Gate:
        counted = None if self._count is None else self._count.at
        return dream_gates.throttle(
            self._now, counted, settings.number("dream.scan_minutes"), self.past.failures, self.past.failed_at,
            settings.number("dream.hours"),
        )  # fmt: skip

    def _sessions(self, settings: Settings, *, note: bool) -> Gate:
        found = len(self.touched())
        if note:
            with self._store.change() as connection:
                dreams.note_count(connection, self._now, found)
        return dream_gates.sessions(found, settings.number("dream.sessions"))

    def _lease(self) -> Gate:
        with self._store.view() as connection:
            lease = leases.current(connection, KIND)
        if lease is not None and leases.is_held(lease, self._now, is_alive):
            since = dream_gates.span(self._now - lease.taken_at)
            return dream_gates.lease(f"process {lease.process.pid} has dreamt for {since}")
        for folder, lock in self._locks.items():
            if consolidate_lock.is_held(lock, self._now, is_client):
                until = lock.at + consolidate_lock.LASTS
                return dream_gates.lease(f"the client dreams (process {lock.pid}, in {folder})", until)
        return dream_gates.lease("")


def dream_standing(store: Store, home: str, world: World, folders: Sequence[str], root: Root | None) -> DreamStanding:
    """How things stand in a store: every gate is looked at, and nothing is written."""
    gates = Gates(store, home, world, own(store, folders), root)
    walked = tuple(gates.walk("turns", every=True))
    with store.view() as connection:
        newest = runs.newest(connection, KIND, 1)
        lease = leases.current(connection, KIND)
        if lease is not None and not leases.is_held(lease, world.clock(), is_alive):
            lease = None
        run = newest[0] if newest else None
        goes_on = lease is not None and run is not None and run.state == "running"
        progress = None if run is None or not goes_on else steps.progress(connection, run.id)
        waiting = tuple(steps.waiting(connection))
    return DreamStanding(walked, gates.last, run, lease, progress, waiting, gates.odd)


def _unusable(name: dream_gates.Name, refused: SettingRefused) -> Gate:
    return Gate(name, False, f"{refused} ({refused.hint})", to_mend=True)


def own(store: Store, folders: Sequence[str]) -> list[str]:
    """Those of these folders that are there and claimed for this store: in another's nothing is looked at or done."""
    return [path for path in folders if _claimed_root(store, path) is not None]


def root_of(store: Store, folders: Sequence[str]) -> Root | None:
    """The repository of a store, by the claim of a folder that it is shown in; None where it is gone."""
    for path in folders:
        claimed = _claimed_root(store, path)
        if claimed is not None:
            with suppress(PlaceRefused):  # another folder may be claimed for where it is now
                return find_root(claimed)
    return None


def _claimed_root(store: Store, path: str) -> str | None:
    """The root that a folder is claimed for by this store."""
    try:
        folder = Folder.open(path)
        if folder is None:
            return None
        with folder:
            claim = read_claim(folder)
    except PlaceRefused:  # it cannot be looked into
        return None
    return claim.root if claim is not None and claim.store == store.id else None
