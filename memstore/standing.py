"""How things stand with the extraction: what waits and why, what is parked, what was decided, what it costs.

Cheap to import: a hook and `memstore status` ask as well. No model is asked here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import memstore.store.settings as kept
from memstore.claude import nearby
from memstore.core.settings import KEYS, Settings, written
from memstore.errors import ModelUnset, PlaceRefused, SettingRefused
from memstore.jobs.choice import Via, choose
from memstore.jobs.endpoint import find_endpoint, sent
from memstore.store import jobs, runs, sessions
from memstore.store import refused as refusals
from memstore.store.connection import Reading
from memstore.store.jobs import Job
from memstore.store.runs import Run, RunEnd
from memstore.store.store import Store
from memstore.store.worker_turn import is_working
from memstore.world import World

KIND = "extract"
_SESSIONS = 10
_MORE_THAN_A_DAY = 30 * 3_600_000_000
"""Microseconds: from the beginning of any day, one with a change of the hour too, they reach into the next."""
_NEEDED = ("extract.", "claude", "model.extract", "budget.")
"""Settings that a run cannot do without: one that cannot be used is no job's fault."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What keeps every job waiting, and what to do about it. `to_mend`: it goes on only when a person has done that."""

    reason: str
    step: str = ""
    to_mend: bool = False

    def __str__(self) -> str:
        return f"{self.reason} ({self.step})" if self.step else self.reason


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand now. Times are unix microseconds, money is millionths of a US dollar.

    `hold` None: jobs are taken as they are due. `credential`: the variable that is sent from. `via`: who thinks; None:
    nobody. `settings` None: they cannot be read, and the hold says why. `last`: the newest decision on each of the
    sessions that came last. `resting`: sessions whose jobs wait because saving is paused. `spent`: what the runs of
    today cost, `unknown`: how many have a cost that is not known; `budget` 0: there is no limit. `working`: a worker is
    at it.
    """

    settings: Settings | None
    credential: str | None
    via: Via | None
    hold: Hold | None
    waiting: tuple[Job, ...]
    running: tuple[Job, ...]
    parked: tuple[Job, ...]
    last: tuple[Run, ...]
    resting: frozenset[str]
    spent: int
    unknown: int
    budget: int
    working: bool


def standing(store: Store, home: str, world: World) -> Standing:
    """How things stand in a store. What is wrong with settings and credentials is said, and not raised."""
    settings, credential, via, hold, budget = None, None, None, None, 0
    now, paused = world.clock(), _paused(store)
    with store.view() as connection:
        spent, unknown = _spent(connection, now)
        waiting, running = (
            tuple(job for job in found(connection) if job.kind == KIND) for found in (jobs.waiting, jobs.orphaned)
        )
        parked = tuple(jobs.parked(connection))
        last = tuple(runs.newest(connection, KIND, _SESSIONS))
        try:
            settings = kept.load(home, world.environment, connection)
            budget = settings.number("budget.day")
            hold = paused or _hold(store, settings, world, spent, unknown)
            with suppress(ModelUnset):
                via = choose(settings, world.environment)
        except SettingRefused as error:
            hold = Hold(str(error), error.hint)
    try:
        credential = find_endpoint(world.environment).credential.variable
    except (ModelUnset, SettingRefused):
        credential = None
    working, rests = is_working(store.directory, KIND), resting(store)
    return Standing(
        settings, credential, via, hold, waiting, running, parked, last, rests, spent, unknown, budget, working
    )


def allowed(store: Store, home: str, world: World) -> tuple[Settings, Hold | None]:
    """The settings, and why no model is to be asked now. Raises SettingRefused for a setting that cannot be used."""
    with store.view() as connection:
        settings = kept.load(home, world.environment, connection)
        spent, unknown = _spent(connection, world.clock())
    return settings, _paused(store) or _hold(store, settings, world, spent, unknown)


def resting(store: Store) -> frozenset[str]:
    """The sessions whose jobs wait because automatic saving is paused for them."""
    with store.view() as connection:
        paused = sessions.all_pauses(connection)
        waiting = jobs.waiting(connection) if paused else []
    if ("store", "") in paused:
        return frozenset(job.session for job in waiting)
    return frozenset(
        job.session
        for job in waiting
        if ("session", job.session) in paused or ("worktree", _worktree(store, job)) in paused
    )


def day_of(now: int) -> int:
    """The beginning of a moment's day, by the clock of this machine."""
    day = datetime.fromtimestamp(now / 1_000_000).replace(hour=0, minute=0, second=0, microsecond=0)
    return int(day.timestamp() * 1_000_000)


def _spent(connection: Reading, now: int) -> tuple[int, int]:
    """What the runs of a moment's day cost. A clock that was set back leaves runs of later days: not counted."""
    day = day_of(now)
    return runs.cost_since(connection, day, day_of(day + _MORE_THAN_A_DAY))


def dollars(cost: int) -> str:
    """Millionths of a US dollar as a person reads them."""
    return f"${written('budget.day', cost)}"


def asked_with(settings: Settings, environment: Mapping[str, str], via: Via) -> list[str]:
    """All that decides whether a model lets itself be asked: by whom, for which model, and as whom."""
    found = [str(settings.get(name)) for name in ("claude", "model.extract", "model.notes")]
    return [via, *found, *sent(environment), _login(environment) if via == "client" else ""]


def _login(environment: Mapping[str, str]) -> str:
    """The stamp of the file in which the client keeps what it is logged in with."""
    try:
        found = os.stat(os.path.join(nearby.config_of(environment), ".credentials.json"))
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"


def api_hold(store: Store, settings: Settings, world: World) -> Hold | None:
    """Why the API is not to be asked now, by work that no fork of a session can do. Raises SettingRefused."""
    try:
        find_endpoint(world.environment)
    except ModelUnset as error:
        return Hold(
            str(error), "set one where sessions start: the client's own fork does not do this work", to_mend=True
        )
    except SettingRefused as error:
        return Hold(str(error), error.hint, to_mend=True)
    with store.view() as connection:
        spent, unknown = _spent(connection, world.clock())
    return _refused(store, settings, world, "api") or _spent_up(settings, spent, unknown)


def note_refusal(store: Store, settings: Settings, world: World, via: Via, end: RunEnd) -> None:
    """Whether the one that the model was asked as was refused, for all that would ask it to know."""
    if end.held is None and not end.turns:
        return
    asked = asked_with(settings, world.environment, via)
    if end.held is not None:
        refusals.note(store.directory, *end.held, world.clock(), world.new_id(), asked)
    elif (found := refusals.refused(store.directory)) is not None and found.is_of(asked):
        refusals.forget(store.directory)


def _hold(store: Store, settings: Settings, world: World, spent: int, unknown: int) -> Hold | None:
    if not settings.flag("extract.enabled"):
        return None  # jobs are taken, and their gate is shut
    return _in_the_way(store, settings, world, spent, unknown)


def _refused(store: Store, settings: Settings, world: World, via: Via) -> Hold | None:
    """A credential that was refused is asked again when it has changed, after a while, or when somebody says so."""
    found, now = refusals.refused(store.directory), world.clock()
    if found is None or not found.at <= now < found.until:
        return None
    if not found.is_of(asked_with(settings, world.environment, via)):
        return None
    minutes = -(-(found.until - now) // 60_000_000)
    again = f"it is asked again when that has changed, in {minutes} min, or by `memstore extract retry`"
    return Hold(found.reason, f"{found.step}; {again}" if found.step else again)


def _paused(store: Store) -> Hold | None:
    with store.view() as connection:
        whole = ("store", "") in sessions.all_pauses(connection)
    return Hold("saving is paused for this repository", "`memstore resume` ends that") if whole else None


def _worktree(store: Store, job: Job) -> str:
    """Where a job's session works, as a pause names it; of a worktree that is gone what the session told of it."""
    from memstore.claude.root import find_root

    try:
        return find_root(job.cwd).worktree
    except PlaceRefused:
        with store.view() as connection:
            return sessions.place(connection, job.session)[0] or ""


def _in_the_way(store: Store, settings: Settings, world: World, spent: int, unknown: int) -> Hold | None:
    for name in KEYS:
        if name.startswith(_NEEDED):
            settings.get(name)
    try:
        via = choose(settings, world.environment)
    except (ModelUnset, SettingRefused) as error:
        return Hold(str(error), error.hint)
    return _refused(store, settings, world, via) or _spent_up(settings, spent, unknown)


def _spent_up(settings: Settings, spent: int, unknown: int) -> Hold | None:
    limit = settings.number("budget.day")
    if limit and (spent >= limit or unknown):
        cost = dollars(spent) + (" and more, as the price of a model is not known" if unknown else "")
        return Hold(f"the runs of today cost {cost}, and budget.day is {dollars(limit)}", "it goes on tomorrow")
    return None
