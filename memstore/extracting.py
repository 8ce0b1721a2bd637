"""The worker of the extraction: started by hooks or a person, one for a store, gone when nothing is left to do.

It takes jobs as long as there are any that are due, and shows what each run saved. Jobs wait where no model is set,
where the day's budget is used up, and after a failure for their next try; whoever comes next finds them again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memstore.claude.root import Root, find_root
from memstore.core.model import SHELF
from memstore.core.settings import Settings, written
from memstore.errors import MemstoreError, PlaceRefused, StoreUnavailable
from memstore.jobs import llm
from memstore.jobs.bash import Programs
from memstore.jobs.extract import KIND, Around, Extraction
from memstore.jobs.messages import Model
from memstore.store import ending, jobs, runs
from memstore.store import settings as kept
from memstore.store.jobs import Job
from memstore.store.runs import RunEnd
from memstore.store.store import Store
from memstore.store.worker_turn import worker_turn
from memstore.working import folders_of, sync_in
from memstore.world import World

_WAIT = 5.0
"""Seconds for the turn: who has it looks for jobs again after each run."""

Told = Callable[[Job, RunEnd], None]


@dataclass(frozen=True, slots=True)
class Drained:
    """What a worker came to. `why`: why it left jobs that wait; empty where it left none, or all have their time."""

    runs: int
    why: str = ""


class Worker:
    """Works on the jobs of one store. `cancelled`: asked before each job and each answer of a model."""

    def __init__(
        self, store: Store, world: World, home: str, *, told: Told | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._store = store
        self._world = world
        self._home = home
        self._told = told
        self._cancelled = cancelled

    def drain(self) -> Drained:
        """Takes jobs until none is due. Raises StoreUnavailable and kin."""
        turn = worker_turn(self._store.directory, KIND, _WAIT)
        if turn is None:
            return Drained(0, "another worker is at it")
        try:
            self._store.take_spooled()
            with self._store.change() as connection:
                ending.close_interrupted(connection, self._world.clock())
            return self._drained()
        finally:
            os.close(turn)

    def _drained(self) -> Drained:
        done = 0
        while not self._cancelled():
            settings = self._settings()
            if settings.flag("extract.enabled"):
                why = self._why_not(settings)
                if why:
                    return Drained(done, why)
            with self._store.change() as connection:
                job = jobs.claim(connection, KIND, self._world.clock())
            if job is None:
                return Drained(done)
            self._work(job, settings)
            done += 1
        return Drained(done, "it was called off")

    def preview(self, job: Job) -> tuple[RunEnd, Extraction]:
        """What a run would save; only what it cost is on record. Raises what is in the way."""
        settings = self._settings()
        why = self._why_not(settings)
        if why:
            return RunEnd("", "skipped", self._world.clock(), why), self._extraction(job, settings, dry=True)
        extraction = self._extraction(job, settings, dry=True)
        return extraction.run(), extraction

    def _settings(self) -> Settings:
        with self._store.view() as connection:
            return kept.load(self._home, self._world.environment, connection)

    def _why_not(self, settings: Settings) -> str:
        """Why no model is to be asked now."""
        if llm.configured(self._world.environment) is None:
            return "no model is set (`memstore doctor --model` says how)"
        limit = settings.number("budget.day")
        if limit:
            with self._store.view() as connection:
                spent, unknown = runs.cost_since(connection, _midnight(self._world.clock()))
            if spent >= limit or unknown:
                cost = "a cost that is not known" if unknown else f"${written('budget.day', spent)}"
                return f"the runs of today have {cost}; budget.day is ${written('budget.day', limit)}"
        return ""

    def _work(self, job: Job, settings: Settings) -> None:
        try:
            end = self._extraction(job, settings).run()
        except StoreUnavailable:
            raise
        except MemstoreError as error:  # before the run had begun
            with self._store.change() as connection:
                jobs.park(connection, job.seq, f"{error} ({error.hint})" if error.hint else str(error))
            return
        if end.outcome in ("saved", "more"):
            for path in folders_of(self._store):
                with suppress(MemstoreError):
                    sync = sync_in(self._store, path, self._world)
                    if sync is not None:
                        sync.run()
        if self._told is not None:
            self._told(job, end)

    def _extraction(self, job: Job, settings: Settings, *, dry: bool = False) -> Extraction:
        world, root, folders = self._world, _root(job.cwd), folders_of(self._store)
        provenance = replace(world.provenance(root, "agent"), session=job.session)
        around = Around(
            self._store, SHELF, settings, self._model(), world.new_id, world.clock,
            directory=folders[0] if folders else "", folders=folders, provenance=provenance,
            programs=self._programs(settings, root), cancelled=self._cancelled,
        )  # fmt: skip
        return Extraction(around, job, dry=dry)

    def _model(self) -> Model:
        return llm.ApiModel.of(self._world.environment)

    def _programs(self, settings: Settings, root: Root) -> Programs | None:
        # A repository may set variables of its sessions, so what starts programs is only taken from settings.
        asked = replace(settings, environment={})
        return Programs(root.worktree) if asked.word("extract.bash") == "read" else None


def drain(home: str, store: str, world: World) -> None:
    """The worker as a hook starts it: silent; what it cannot do now is found again by the next one."""
    directory = os.path.join(home, "stores", store)
    with closing(Store.open(directory, store, world.clock)) as opened, suppress(MemstoreError):
        Worker(opened, world, home).drain()


def _root(cwd: str) -> Root:
    """Where a session worked. Its worktree may be gone by now: then the directory that is left of it."""
    while True:
        try:
            return find_root(cwd)
        except PlaceRefused:
            if cwd in ("", "/"):
                raise
            cwd = os.path.dirname(cwd)


def _midnight(now: int) -> int:
    """The beginning of the day, by the clock of this machine."""
    day = datetime.fromtimestamp(now / 1_000_000).replace(hour=0, minute=0, second=0, microsecond=0)
    return int(day.timestamp() * 1_000_000)


def next_day(now: int) -> int:
    """When the budget of a day is new, in unix microseconds."""
    day = datetime.fromtimestamp(_midnight(now) / 1_000_000) + timedelta(days=1)
    return int(day.timestamp() * 1_000_000)
