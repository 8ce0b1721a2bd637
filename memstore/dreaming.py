"""A dream from its gates to what the folders show: begun by turns that ended, by a schedule, or by somebody who asks.

What turns begin runs in the worker, after the jobs, outside of its turn: others work on meanwhile. Nothing is begun
where a gate is shut; what a dream did is shown in every folder of the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

import memstore.store.settings as kept
from memstore.claude.root import Root
from memstore.core.dream_gates import Gate
from memstore.core.dream_steps import Planned
from memstore.core.model import SHELF, Provenance
from memstore.core.settings import key_of
from memstore.dream_hold import DreamHold
from memstore.dream_inputs import inputs
from memstore.dream_standing import By, Gates, own, root_of
from memstore.errors import ClientDreams, LeaseHeld, MemstoreError, ModelError
from memstore.extracting import ApiOf
from memstore.jobs.dream import KIND, Around, Dream, Report
from memstore.standing import api_hold, note_refusal
from memstore.store.steps import Progress
from memstore.store.store import Store
from memstore.store.worker_turn import worker_turn
from memstore.working import folders_of, sync_in
from memstore.world import World

Review = Callable[[Sequence[Planned]], Sequence[bool]]

_SHARE = key_of("dream.share").variable


@dataclass(frozen=True, slots=True)
class Dreamed:
    """What came of it. `gate`: the one that was shut, so that nothing was begun. `said`: locks that were taken over, or
    what lies in their place. `unshown`: what is saved and could not be shown in a folder."""

    gate: Gate | None = None
    report: Report | None = None
    said: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()


class Dreamer:
    """Dreams in one store. `root`: the repository's; by default that of a folder's claim.

    `progress`: told whenever something has happened. `review`: asked about the steps before they are done.
    `cancelled`: asked before each answer of the model and before the commit.
    """

    def __init__(
        self, store: Store, world: World, home: str, *, root: Root | None = None,
        progress: Callable[[Progress], None] = lambda _: None, review: Review | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        self._store = store
        self._world = world
        self._home = home
        self._folders = own(store, folders_of(store))
        self._root = root or root_of(store, self._folders)
        self._progress = progress
        self._review = review
        self._cancelled = cancelled

    def dream(self, by: By, *, dry: bool = False) -> Dreamed:
        """Dreams, if the gates that concern whoever asks are open.

        Somebody who asks gets LeaseHeld or ClientDreams where somebody dreams, and ModelError where no model is to be
        asked; a schedule gets that, too, where somebody has to mend something. Raises SettingRefused, StoreUnavailable
        and what `Dream.run` raises.
        """
        if by == "hand":
            self._check_model()
        gates = Gates(self._store, self._home, self._world, self._folders, self._root)
        shut = None if by == "hand" else next((gate for gate in gates.walk(by) if not gate.open), None)
        if shut is not None:
            if by == "schedule" and shut.to_mend:  # else it would stay away night for night without a word
                raise ModelError(f"no dream can begin: {shut.figure}")
            return Dreamed(gate=shut)
        hold = DreamHold(self._store, self._folders, self._world.new_id(), self._world.clock)
        try:
            with hold:
                self._sync()
                around = self._around(by, hold, gates)
                report = Dream(around, dry=dry).run()
                hold.good = report.end.outcome != "failed" and not dry
        except (LeaseHeld, ClientDreams) as held:
            if by == "hand":
                raise
            return Dreamed(gate=Gate("lease", False, str(held)))
        note_refusal(self._store, around.settings, self._world, "api", report.end)
        unshown = self._sync() if report.operation is not None else ()
        return Dreamed(None, report, tuple(hold.said), unshown)

    def _check_model(self) -> None:
        with self._store.view() as connection:
            settings = kept.load(self._home, self._world.environment, connection)
        hold = api_hold(self._store, settings, self._world)
        if hold is not None:
            raise ModelError(hold.reason, hint=f"{hold.step}; `memstore tidy` does what rules can, without a model")

    def _around(self, by: By, hold: DreamHold, gates: Gates) -> Around:
        world, store = self._world, self._store
        with store.view() as connection:
            settings = kept.load(self._home, world.environment, connection)
        if by != "hand" or world.agent() is not None:  # a person's; a repository may set variables of its sessions
            environment = {name: text for name, text in settings.environment.items() if name != _SHARE}
            settings = replace(settings, environment=environment)
        return Around(
            store, SHELF, settings, ApiOf(world.environment), world.new_id, world.clock,
            directory=self._folders[0] if self._folders else "", provenance=self._provenance(), lease=hold.owner,
            material=inputs(store, world, self._folders, self._root, gates.touched(), gates.last),
            cancelled=lambda: self._cancelled() or hold.called_off(), progress=self._progress, review=self._review,
            absorb=self._sync,
        )  # fmt: skip

    def _provenance(self) -> Provenance:
        """The dream acts for nobody's session, and is of the repository, not of a worktree."""
        if self._root is None:
            return Provenance("agent", "memstore")
        return replace(
            self._world.provenance(self._root, "agent"), session=None, worktree=None, branch=None, commit=None
        )

    def _sync(self) -> tuple[str, ...]:
        """Takes in what lies in the folders and shows what the store has; what could not be shown is told."""
        troubles: list[str] = []
        for path in self._folders:
            try:
                sync = sync_in(self._store, path, self._world)
                if sync is not None:
                    sync.run()
            except MemstoreError as error:
                troubles.append(str(error))
        return tuple(troubles)


def consider(home: str, store: str, world: World) -> None:
    """The worker after a turn: dreams if it is time to. Silent; what cannot be done now is found again."""
    directory = os.path.join(home, "stores", store)
    turn = worker_turn(directory, KIND, 0.1)  # who only looks holds it for an instant
    if turn is None:  # another worker is at it
        return
    try:
        with closing(Store.open(directory, store, world.clock)) as opened, suppress(MemstoreError):
            Dreamer(opened, world, home).dream("turns")
    finally:
        os.close(turn)
