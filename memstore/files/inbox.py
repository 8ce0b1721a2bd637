"""The inbox, worked in row by row by whoever has the folder's turn, before any file of that name is looked at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Literal

from memstore.core.changes import ChangeSet
from memstore.core.decisions import File
from memstore.core.model import Provenance
from memstore.errors import NameTaken, StaleVersion, StoreBusy
from memstore.files.absorb import Absorber, Seen
from memstore.files.inbox_plan import Act, NameInbox, is_alive
from memstore.files.report import Findings
from memstore.files.turn import FolderTurn
from memstore.store import inbox, shown
from memstore.store.inbox import Settle, Waiting
from memstore.store.shown import FolderRow
from memstore.store.store import Store
from memstore.world import World

AT_WORK = "a session is at work on it"
"""Why a name is neither scanned nor projected: rule 5."""

_ATTEMPTS = 100
_STEP = 0.01
NOBODY = Provenance("file", "whoever edited the files")

Look = Callable[[str], Sequence[bytes]]
"""The texts that lie in the folder under a name: the file's first, then those that came out of projections."""


class Inbox:
    """What hooks of sessions saw in the folders of one store. `author`: who these sessions work for."""

    def __init__(self, store: Store, world: World, author: Callable[[], str]) -> None:
        self._store = store
        self._world = world
        self._author = author
        self.acts = 0
        """How much was taken in so far: a folder that was looked at before the last of it is older than that."""

    def busy(self, folder: str) -> set[str]:
        """The names under which sessions are at work just now."""
        with self._store.view() as connection:
            return inbox.busy(connection, folder, self._world.clock())

    def wait_for(self, folder: str, name: str) -> None:
        """Returns once no session is at work under a name; nobody is for longer than five seconds."""
        self._store.take_spooled()
        while name in self.busy(folder):
            self._world.pause(_STEP)

    def given_up(self, folder: str) -> set[str]:
        """The names under which calls may still be made that nothing was heard of in time."""
        with self._store.view() as connection:
            return inbox.names_given_up(connection, folder, self._world.clock())

    def work_in(self, row: FolderRow, found: Findings, look: Look | None, late: Collection[str] = ()) -> None:
        """Takes in what waits in one folder. `look` None: calls that nobody heard the end of are left alone.

        `late`: names whose files have changed, perhaps by calls that were given up.
        """
        with self._store.view() as connection:
            names = inbox.names_waiting(connection, row.path)
        for name in (*names, *sorted(set(late) - set(names))):
            if look is not None:
                self._find_renamed(row, name, found, look)
            self._work_name(row, name, found, look)

    def work_in_others(self, folder: str, found: Findings) -> None:
        """Takes in what waits in the store's other folders; one that somebody is at is left to them."""
        with self._store.view() as connection:
            rows = [shown.folder_row(connection, path) for path in inbox.folders_told(connection) if path != folder]
        for row in rows:
            if row is None:
                continue
            try:
                with FolderTurn(row.path, self._store.directory, 0, self._world.pause):
                    self.work_in(row, found, None)
            except StoreBusy:
                continue

    def _work_name(self, row: FolderRow, name: str, found: Findings, look: Look | None) -> None:
        stale = 0
        calls = self._calls(row, name)
        while calls:
            act = self._work_next(row, name, calls, found, look)
            stale = stale + 1 if act == "stale" else 0
            if stale > _ATTEMPTS:
                raise StoreBusy(f"{name} changed faster than what sessions wrote could be taken in")
            if isinstance(act, Act):  # the rows may hold much text: they are read once
                settled = {change.id for change in act.plan.shown if isinstance(change, Settle)}
                calls = [each for each in calls if each.call.id not in settled]
            else:
                calls = self._calls(row, name) if act == "stale" else []

    def _work_next(
        self, row: FolderRow, name: str, calls: Sequence[Waiting], found: Findings, look: Look | None
    ) -> Literal["nothing", "stale"] | Act:
        """One act; `stale`: another writer was faster, so that it has to be planned anew."""
        now = self._world.clock()
        texts = None
        if look is not None and any(_is_unheard(waiting, now) for waiting in calls):
            texts = look(name)  # no transaction is open while a file is read
        with self._store.view() as connection:
            absorber = Absorber(connection, row.pk, self._world.new_id, now, first=False)
            act = NameInbox(connection, row, name, calls, absorber, self._world.new_id, texts, now).next()
        if act is None:
            return "nothing"
        try:
            seq = self._commit(row, act)
        except (StaleVersion, NameTaken):
            return "stale"
        self.acts += 1
        found.seq = seq if seq is not None else found.seq
        found.absorbed += act.plan.noted
        found.notices += act.plan.notices
        return act

    def _calls(self, row: FolderRow, name: str) -> list[Waiting]:
        now = self._world.clock()
        with self._store.view() as connection:
            return [*inbox.waiting(connection, row.path, name), *inbox.given_up(connection, row.path, name, now)]

    def _find_renamed(self, row: FolderRow, name: str, found: Findings, look: Look) -> None:
        """Rule 28, where a session was faster than any scan: it edited a file that somebody had just renamed."""
        with self._store.view() as connection:
            if Absorber(connection, row.pk, self._world.new_id, 0, first=False).known(name) != (None, None):
                return
        calls = [each.call for each in self._calls(row, name) if each.call.state == "done"]
        original = next((call.original for call in calls if call.original is not None), None)
        if original is None:
            return
        with self._store.view() as connection:
            candidates = shown.names_saying(connection, row.pk, original)
        old = [candidate for candidate in candidates if candidate != name and not look(candidate)]
        if len(old) != 1:
            return
        with self._store.view() as connection:
            absorber = Absorber(connection, row.pk, self._world.new_id, self._world.clock(), first=False)
            absorber.rename(old[0], name, Seen(File(name, original), None))
            act = Act(absorber.plan, None, "renamed in the folder")
        with suppress(StaleVersion, NameTaken):  # then it is found again, or is a memory of its own
            self._commit(row, act)
            found.absorbed += act.plan.noted

    def _commit(self, row: FolderRow, act: Act) -> int | None:
        plan, call = act.plan, act.call
        if not plan.writes:
            self._store.show(row.pk, plan.shown)
            return None
        provenance = NOBODY
        if call is not None:
            provenance = Provenance("agent", self._author(), call.session, call.worktree, call.branch)
        change_set = ChangeSet(
            self._world.new_id(), "absorb", self._world.clock(), provenance, tuple(plan.changes), tuple(plan.lines),
            tuple(plan.conflicts), reason=act.reason, real=False,
        )  # fmt: skip
        return self._store.apply(change_set, folder=row.pk, shown_changes=plan.shown).seq


def _is_unheard(waiting: Waiting, now: int) -> bool:
    return waiting.call.state == "dead" or (waiting.call.state == "open" and not is_alive(waiting, now))
