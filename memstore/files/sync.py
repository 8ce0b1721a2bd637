"""Sync: absorb what was edited in the folder, then project what the store holds.

One process has the folder's turn from the scan through the last look at what came out. No transaction is open while
a file is read or written. A folder in which nothing happened costs one scan and no write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

import memstore.core.decisions as d
from memstore.core.gates import PutAllBack, Stop
from memstore.errors import FolderTaken, MemstoreError, PlaceRefused, StoreBusy
from memstore.files.absorb import Plan
from memstore.files.claim import make_claim, read_claim
from memstore.files.committing import Committer
from memstore.files.folder import Folder
from memstore.files.intake import Intake, gate, plan_intake, take_stock
from memstore.files.project import carry_out, plan_work
from memstore.files.report import Findings, Noted, SyncReport
from memstore.files.walk import is_racy, stamp_of
from memstore.store import lines, shown
from memstore.store.shown import FolderRow
from memstore.store.store import Store
from memstore.world import World

Verdict = Literal["ask", "accept", "restore"]

_ROUNDS = 8
_SECOND_LOOK = 1.05
"""Seconds after which a second scan may agree with the first."""


class Sync:
    """One store and the one folder it is shown in here. `path` None: nowhere, and `refusal` says why."""

    def __init__(self, store: Store, path: str | None, root: str, world: World, *, refusal: str = "") -> None:
        self._store = store
        self._path = path
        self._root = root
        self._world = world
        self._refusal = refusal
        self._committer = Committer(store, world)
        self._verdict: Verdict = "ask"

    def run(self, verdict: Verdict = "ask") -> SyncReport:
        """Absorbs and projects; looks twice where a file is gone or may still be being written.

        `verdict`: a person's word where many files are gone or went back: `accept` takes the folder as it is,
        `restore` puts everything back as the store has it.
        """
        self._verdict = verdict
        found = Findings()
        self._guarded(self._round, found)
        if found.waiting:
            found.waiting.clear()
            self._world.pause(_SECOND_LOOK)
            self._guarded(self._round, found)
        return found.report(self._shown_path(found))

    def absorb(self) -> SyncReport:
        """One look at the folder, and what it asks for. What must be seen twice is left for later."""
        found = Findings()
        self._guarded(self._round, found)
        return found.report(self._shown_path(found))

    def settle(self) -> SyncReport:
        """Projects what was committed, without a scan: what somebody edited meanwhile comes out of the exchange."""
        found = Findings()
        self._guarded(self._settle, found)
        return found.report(self._shown_path(found))

    def freshen(self, names: Sequence[str] = ()) -> bool:
        """Absorbs if the directory's own stamp or one of these files' moved since. True where it did."""
        if self._path is None or not self._store.writable:
            return False
        with self._store.view() as connection:
            row = shown.folder_row(connection, os.path.realpath(self._path))
            known = None if row is None else {
                name: shown_row.stamp for name in names if (shown_row := shown.shown_row(connection, row.pk, name))
            }  # fmt: skip
        if row is None or known is None:
            news = os.path.isdir(self._path)
        else:
            news = row.stamp != self._stamp_of("") or any(self._stamp_of(name) != known[name] for name in known)
        if news:
            self.absorb()
        return news

    def preview(self) -> SyncReport:
        """What `run` would take in and put, as far as one look tells. Writes nothing."""
        found = Findings()
        self._guarded(self._preview, found)
        return found.report(self._shown_path(found))

    def _shown_path(self, found: Findings) -> str | None:
        return None if self._path is None or found.refused else self._path

    def _stamp_of(self, name: str) -> str | None:
        assert self._path is not None
        try:
            return stamp_of(os.stat(os.path.join(self._path, name) if name else self._path, follow_symlinks=not name))
        except OSError:
            return None

    def _guarded(self, work: Callable[[Folder | None, Findings], None], found: Findings) -> None:
        """Opens the folder, takes its turn, and turns what is in the way into notices."""
        if self._path is None:
            found.refuse(self._refusal)
            return
        if not self._store.writable:
            found.refuse("the store is read-only: nothing is taken in or projected")
            return
        try:
            folder = Folder.open(self._path, now=self._nanoseconds, pause=self._world.pause)
            if folder is None:
                work(None, found)
                return
            with folder, folder.turn(self._store.directory):
                work(folder, found)
        except (FolderTaken, PlaceRefused) as error:
            found.refuse(_told(error))
        except StoreBusy as error:
            found.notices.append(f"not projected yet: {error}")

    def _nanoseconds(self) -> int:
        return self._world.clock() * 1_000

    # One round

    def _round(self, folder: Folder | None, found: Findings) -> None:
        if folder is None:
            self._missing_folder(found)
            return
        path = folder.path
        scan = folder.scan()
        claim = self._claim(folder)
        row, stamps, last, due = self._known(path)
        idle = claim == "own" and scan.files == stamps and not due and not scan.temporary
        if idle and row is not None and row.shows == last:
            self._remember(row, scan.stamp)
            return
        intake = take_stock(folder, scan, stamps, self._world.clock)
        if row is None:
            row = self._first_meeting(folder, claim)
            found.taken_over = True
        elif not self._may_decide(folder, row, intake, claim, found):
            return
        else:
            row, stamps, _, _ = self._known(path)
            assert row is not None
        self._committer.leftovers(folder, row, intake, found)
        plan = self._committer.absorb(row, intake, found, first=found.taken_over)
        self._project(folder, row, plan, found)

    def _known(self, path: str) -> tuple[FolderRow | None, dict[str, str | None], int, bool]:
        with self._store.view() as connection:
            row = shown.folder_row(connection, path)
            last = shown.last_operation(connection)
            if row is None:
                return None, {}, last, False
            return row, shown.stamps(connection, row.pk), last, shown.due_now(connection, self._world.clock())

    def _remember(self, row: FolderRow, stamp: str) -> None:
        """Keeps the directory's stamp once it is old enough to be telling, so that reads need no scan."""
        if row.stamp != stamp and not is_racy(stamp, self._nanoseconds()):
            self._store.show(row.pk, (), stamp=stamp)

    def _claim(self, folder: Folder) -> str:
        claim = read_claim(folder)
        if claim is None:
            return "none"
        if claim.store != self._store.id:
            raise FolderTaken(folder.path, claim.root or claim.store, self._root)
        return "own"

    def _first_meeting(self, folder: Folder, claim: str) -> FolderRow:
        if claim == "none":
            make_claim(folder, self._store.id, self._root)
        return self._store.add_folder(folder.path)

    def _may_decide(self, folder: Folder, row: FolderRow, intake: Intake, claim: str, found: Findings) -> bool:
        with self._store.view() as connection:
            absorber = self._committer.absorber(connection, row, first=False)
            verdict = gate(connection, row, intake, claim, self._world.clock(), absorber)
        if isinstance(verdict, d.WaitSecondScan):
            if row.gone_at != verdict.since:
                self._store.mark_gone(row.pk, verdict.since)
            found.waiting.append(folder.path)
            return False
        if self._verdict == "restore":
            self._put_all_back(folder, row, found)
        elif isinstance(verdict, Stop) and verdict.rule in (1, 3) and self._verdict == "accept":
            make_claim(folder, self._store.id, self._root)
        elif isinstance(verdict, Stop):
            found.refuse(
                f"nothing was decided in {folder.path}: {verdict.reason}. If that is as it should be, run"
                " `memstore sync --accept`; to have the files back, run `memstore sync --restore`"
            )
            return False
        elif isinstance(verdict, PutAllBack):
            self._put_all_back(folder, row, found)
        elif row.gone_at is not None:
            self._store.mark_gone(row.pk, None)
        return True

    def _put_all_back(self, folder: Folder, row: FolderRow, found: Findings) -> None:
        make_claim(folder, self._store.id, self._root)
        self._store.forget_shown(row.pk)
        found.absorbed.append(Noted(folder.path, "put back", 32, "all files, as the store has them"))
        self._verdict = "ask"

    def _missing_folder(self, found: Findings) -> None:
        """There is no directory: rule 32 where it was shown before, else it is made once there is something to show."""
        assert self._path is not None
        path = os.path.realpath(self._path)
        row, stamps, last, _ = self._known(path)
        if row is None or not stamps:
            if last:
                self._make_and_show(found)
            return
        now = self._world.clock()
        if row.gone_at is None or row.gone_at > now or now - row.gone_at < d.SECOND_SCAN:
            if row.gone_at is None or row.gone_at > now:
                self._store.mark_gone(row.pk, now)
            found.waiting.append(path)
            return
        self._make_and_show(found, swept=row)

    def _make_and_show(self, found: Findings, swept: FolderRow | None = None) -> None:
        assert self._path is not None
        with self._store.view() as connection:
            if not lines.entries(connection) and not lines.rows(connection):
                return
        folder = Folder.open(self._path, create=True, now=self._nanoseconds, pause=self._world.pause)
        assert folder is not None
        with folder, folder.turn(self._store.directory):
            if swept is not None:
                self._put_all_back(folder, swept, found)
            self._round(folder, found)

    # Projecting

    def _settle(self, folder: Folder | None, found: Findings) -> None:
        if folder is None:
            self._missing_folder(found)
            return
        row, _, last, _ = self._known(folder.path)
        if row is None or self._claim(folder) == "none":
            self._round(folder, found)
        elif row.shows < last:
            self._project(folder, row, Plan(), found)

    def _project(self, folder: Folder, row: FolderRow, plan: Plan, found: Findings) -> None:
        """Round by round until nothing moves any more: what comes out of a round may ask for another."""
        forced, removals, since = plan.project, plan.remove, row.shows
        for _ in range(_ROUNDS):
            with self._store.view() as connection:
                upto = shown.last_operation(connection)
                work = plan_work(connection, row.pk, since, forced, removals, plan.blocked)
            complete = not found.pending and not plan.blocked
            if work.none:
                if complete and row.shows < upto:
                    self._store.show(row.pk, (), shows=upto)
                break
            outcome = carry_out(folder, work, found)
            complete = complete and not outcome.failed
            self._store.show(row.pk, outcome.shown, shows=upto if complete and not outcome.surprises else None)
            for surprise in outcome.surprises:
                self._committer.take_in(row, surprise, found)
                folder.discard(surprise.kept, surprise.content)
            if outcome.failed or not outcome.surprises:
                break
            since, forced, removals = upto, {}, {}
        found.notices += [f"{name}: {reason}" for name, reason in plan.blocked.items()]

    def _preview(self, folder: Folder | None, found: Findings) -> None:
        if folder is None:
            return
        row, stamps, _, _ = self._known(folder.path)
        self._claim(folder)
        intake = take_stock(folder, folder.scan(), stamps, self._world.clock)
        with self._store.view() as connection:
            known = row if row is not None else FolderRow(0, folder.path, None, 0, None)
            absorber = self._committer.absorber(connection, known, first=row is None)
            plan = plan_intake(connection, known, intake, absorber, self._world.new_id)
            work = plan_work(connection, known.pk, known.shows, plan.project, plan.remove, plan.blocked)
        found.taken_over = row is None
        found.absorbed += plan.noted
        found.waiting += [*plan.waiting, *plan.again]
        found.notices += plan.notices
        found.projected += [task.row.name for task in work.puts]
        found.projected += [work.index.row.name] if work.index is not None else []
        found.removed += [name for name, _ in work.takes]


def _told(error: MemstoreError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
