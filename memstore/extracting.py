"""The worker of the extraction and the notes: started by hooks or a person, one for a store, gone when all is done.

It takes jobs as long as there are any that are due, and shows what each run saved. Jobs wait where saving is paused or
no model is set, where the day's budget is used up, and after a failure for their next try; whoever comes next finds
them again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial

from memstore import hook, noting
from memstore.claude.root import Root, find_root
from memstore.core.model import NOTES_KIND, SHELF, Memory, Provenance
from memstore.core.settings import Settings
from memstore.errors import (
    Conflict,
    MemstoreError,
    ModelError,
    ModelUnset,
    PlaceRefused,
    SettingRefused,
    StoreUnavailable,
)
from memstore.files.team import team_memories
from memstore.jobs import llm
from memstore.jobs.bash import Programs
from memstore.jobs.choice import Via, choose, client
from memstore.jobs.extract import Around, Extraction
from memstore.jobs.fork import Fork
from memstore.jobs.messages import Reply, Request
from memstore.jobs.notes import NotesRun
from memstore.jobs.workspace import Step
from memstore.standing import KIND, Hold, allowed, api_hold, note_refusal, resting
from memstore.store import ending, jobs, sessions
from memstore.store.jobs import Job
from memstore.store.runs import RunEnd
from memstore.store.store import Store
from memstore.store.worker_turn import worker_turn
from memstore.working import folders_of, sync_in
from memstore.world import World

_WAIT = 5.0
"""Seconds for the turn: who has it looks for jobs again after each run."""

Begins = Callable[[Job], None]
Told = Callable[[Job, RunEnd], None]


@dataclass(frozen=True, slots=True)
class Drained:
    """What a worker came to: how many runs it made. `hold`: what keeps the jobs waiting that it left.

    `elsewhere`: another worker is at it. `called_off`: somebody wanted it to end.
    """

    runs: int = 0
    hold: Hold | None = None
    elsewhere: bool = False
    called_off: bool = False


@dataclass(frozen=True, slots=True)
class ApiOf:
    """The model that an environment names when it is asked: where no model is to be asked, none need be set."""

    environment: Mapping[str, str]

    def reply(self, request: Request) -> Reply:
        """The answer of the model."""
        return llm.ApiModel.of(self.environment).reply(request)


class Worker:
    """Works on the jobs of one store.

    `begins` and `told`: called before and after each run. `cancelled`: asked before each job and each answer of a
    model.
    """

    def __init__(
        self, store: Store, world: World, home: str, *, begins: Begins | None = None, told: Told | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._store = store
        self._world = world
        self._home = home
        self._begins = begins
        self._told = told
        self._cancelled = cancelled
        self._looked: set[str] = set()

    def drain(self) -> Drained:
        """Takes jobs until none is due. Raises StoreUnavailable and kin."""
        turn = worker_turn(self._store.directory, KIND, _WAIT)
        if turn is None:
            return Drained(elsewhere=True)
        try:
            self._store.take_spooled()
            with self._store.change() as connection:
                for kind in jobs.KINDS:
                    ending.close_interrupted(connection, kind, self._world.clock())
            return self._drained()
        finally:
            os.close(turn)

    def _drained(self) -> Drained:
        done = 0
        while not self._cancelled():
            try:
                settings, hold = allowed(self._store, self._home, self._world)
            except SettingRefused as refused:
                return Drained(done, Hold(str(refused), refused.hint))
            if hold is not None:
                return Drained(done, hold)
            job = self._next(settings)
            if job is None:
                return Drained(done)
            self._work(job, settings)
            done += 1
        return Drained(done, called_off=True)

    def _next(self, settings: Settings) -> Job | None:
        """The job that comes next: one of notes before all others. Where no model may be asked these wait."""
        now, asks, rests = self._world.clock(), self._may_ask(settings), resting(self._store)
        if asks:
            noting.queue_due(self._store, settings, self._looked)
        with self._store.change() as connection:
            noted = jobs.claim(connection, NOTES_KIND, now, rests) if asks else None
            return noted or jobs.claim(connection, KIND, now, rests)

    def _may_ask(self, settings: Settings) -> bool:
        """Whether the API may be asked, also where the extraction is switched off, or is a fork's."""
        try:
            if llm.configured(self._world.environment) is None:
                return False
            return api_hold(self._store, settings, self._world) is None
        except SettingRefused:
            return False

    def preview(self, job: Job) -> tuple[RunEnd, tuple[Step, ...]]:
        """What a run would come to and save; only what it cost is on record. Raises ModelError, SettingRefused."""
        settings, hold = allowed(self._store, self._home, self._world)
        if hold is not None:
            raise ModelError(hold.reason, hint=hold.step)
        return _ended(self._extraction(job, settings, dry=True))

    def _work(self, job: Job, settings: Settings) -> None:
        if self._begins is not None:
            self._begins(job)
        saved: Sequence[Step] = ()
        try:
            if job.kind == NOTES_KIND:
                end = self._notes(job, settings).run()
            else:
                end, saved = _ended(self._extraction(job, settings))
        except StoreUnavailable:
            raise
        except MemstoreError as error:  # the run had not begun, or is not this worker's any more
            end = RunEnd("", "failed", self._world.clock(), f"{error} ({error.hint})" if error.hint else str(error))
            with suppress(Conflict), self._store.change() as connection:
                if isinstance(error, Conflict):
                    jobs.fail(connection, job.seq, end.at, end.reason)
                else:
                    jobs.park(connection, job.seq, end.reason)
        self._note_refusal(job, end, settings)
        if saved:
            self._show()
        if self._told is not None:
            self._told(job, end)

    def _note_refusal(self, job: Job, end: RunEnd, settings: Settings) -> None:
        via = "api" if job.kind == NOTES_KIND else _via(settings, self._world)
        note_refusal(self._store, settings, self._world, via, end)

    def _show(self) -> None:
        for path in folders_of(self._store):
            with suppress(MemstoreError):
                sync = sync_in(self._store, path, self._world)
                if sync is not None:
                    sync.run()

    def _extraction(self, job: Job, settings: Settings, *, dry: bool = False) -> Extraction:
        return Extraction(self._around(job, settings), job, dry=dry)

    def _notes(self, job: Job, settings: Settings) -> NotesRun:
        return NotesRun(self._around(job, settings), job, partial(noting.custom, self._home, self._world.environment))

    def _around(self, job: Job, settings: Settings) -> Around:
        world, folders = self._world, folders_of(self._store)
        provenance, worktree = self._provenance(job)
        return Around(
            self._store, SHELF, settings, ApiOf(world.environment), world.new_id, world.clock,
            directory=folders[0] if folders else "", folders=folders, provenance=provenance,
            programs=_programs(settings, worktree), cancelled=self._cancelled, fork=self._fork(job, settings),
            team=partial(_team, folders),
        )  # fmt: skip

    def _fork(self, job: Job, settings: Settings) -> Fork | None:
        """The client's own fork, where it is to think."""
        environment = self._world.environment
        with suppress(ModelUnset, SettingRefused):  # it is told when a model is asked
            if choose(settings, environment) == "client":
                return Fork(
                    partial(client, settings, environment, _repository(job.cwd)), _hook(), job.session, job.transcript,
                    job.cwd, environment, settings.number("extract.turns"), settings.number("budget.run"),
                    self._cancelled,
                )  # fmt: skip
        return None

    def _provenance(self, job: Job) -> tuple[Provenance, str | None]:
        """Who acted where, and that worktree if it is still there; else what the session told of it counts."""
        try:
            root = find_root(job.cwd)
        except PlaceRefused:
            provenance = self._world.provenance(_above(job.cwd), "agent")
            with self._store.view() as connection:
                worktree, branch = sessions.place(connection, job.session)
            return replace(provenance, session=job.session, worktree=worktree, branch=branch, commit=None), None
        return replace(self._world.provenance(root, "agent"), session=job.session), root.worktree


def drain(home: str, store: str, world: World) -> None:
    """The worker as a hook starts it: silent; what it cannot do now is found again by the next one."""
    directory = os.path.join(home, "stores", store)
    with closing(Store.open(directory, store, world.clock)) as opened, suppress(MemstoreError):
        Worker(opened, world, home).drain()


def _ended(extraction: Extraction) -> tuple[RunEnd, tuple[Step, ...]]:
    end = extraction.run()
    return end, () if extraction.workspace is None else extraction.workspace.steps


def _via(settings: Settings, world: World) -> Via:
    try:
        return choose(settings, world.environment)
    except (ModelUnset, SettingRefused):  # set otherwise meanwhile: then it is nobody's
        return "api"


def _team(folders: Sequence[str]) -> list[Memory]:
    return team_memories(folders[0]) if folders else []


def _programs(settings: Settings, worktree: str | None) -> Programs | None:
    # A repository may set variables of its sessions, so what starts programs is only taken from settings.
    asked = replace(settings, environment={})
    return Programs(worktree) if worktree is not None and asked.word("extract.bash") == "read" else None


def _repository(cwd: str) -> tuple[str, ...]:
    """The directories of the repository that a session worked in; what lies there is not started."""
    try:
        root = find_root(cwd)
    except PlaceRefused:
        return ()
    return tuple(filter(None, (root.path, root.worktree)))


def _hook() -> tuple[str, ...]:
    """The command of the hook that lets a fork only read, as the plugin has it."""
    from memstore.installing import libraries

    return sys.executable, "-I", "-S", hook.__file__, "--site", libraries(), "PreToolUse"


def _above(cwd: str) -> Root:
    """What is left of a directory that is gone."""
    while True:
        cwd = os.path.dirname(cwd) or "/"
        try:
            return find_root(cwd)
        except PlaceRefused:
            if cwd == "/":
                raise
