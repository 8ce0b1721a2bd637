"""Sync: absorb what was edited in the folder, then project what the store holds.

One process has the folder's turn from the scan through the last look at what came out. No transaction is open while
a file is read or written. A folder in which nothing happened costs one scan and no write.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

import memstore.core.decisions as d
from memstore.core.gates import PutAllBack, Stop
from memstore.errors import FolderTaken, MemstoreError, PlaceRefused, StoreUnavailable
from memstore.files.absorb import Plan
from memstore.files.claim import make_claim, read_claim
from memstore.files.committing import Committer, texts_at
from memstore.files.folder import Folder
from memstore.files.inbox import AT_WORK, Inbox
from memstore.files.intake import Intake, gate, left_alone, plan_intake, says_what_was_shown, take_stock
from memstore.files.project import Work, omissions, plan_work
from memstore.files.projector import Projector
from memstore.files.report import Findings, Noted, SyncReport, Unshown
from memstore.files.scan import Scan
from memstore.files.walk import is_racy
from memstore.store import inbox, lines, shown
from memstore.store.shown import FolderRow, Stamp
from memstore.store.stamps import is_waiting
from memstore.store.store import Store
from memstore.world import World

Verdict = Literal["ask", "accept", "restore"]


class OpenFolder(Protocol):
    """`Folder.open`, or what stands for it where the file system itself is given."""

    def __call__(
        self, path: str, *, create: bool = False, now: Callable[[], int], pause: Callable[[float], None]
    ) -> Folder | None: ...


_VERDICTS = (
    "if that is as it should be, run `memstore sync --accept`; to have the files back, run `memstore sync --restore`"
)
"""A person's word where `run` asks for it."""

_SECOND_LOOK = 1.05
"""Seconds after which a second scan may agree with the first."""

_TRIES = 8
"""Scans in a row that sessions may spoil by what they tell meanwhile."""


class Sync:
    """One store and the one folder it is shown in here. `path` None: nowhere, and `refusal` says why.

    `author`: who the sessions work for that hooks tell of.
    """

    def __init__(
        self,
        store: Store,
        path: str | None,
        root: str,
        world: World,
        *,
        refusal: str = "",
        author: Callable[[], str] = lambda: "",
        open_folder: OpenFolder = Folder.open,
    ) -> None:
        self._open_folder = open_folder
        self._store = store
        self._path = path
        self._root = root
        self._world = world
        self._refusal = refusal
        self._sessions = Inbox(store, world, author)
        self._committer = Committer(store, world, self._sessions)
        self._projector = Projector(store, self._committer, self._sessions)
        self._verdict: Verdict = "ask"
        self._undecided: list[str] = []
        self._blocked: dict[str, str] = {}
        """What the last look found that must not be projected over, and why."""

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
        self._undecided = found.notices if found.refused else []
        return found.report(self._shown_path(found))

    def settle(self) -> SyncReport:
        """Projects what was committed, without a scan: what somebody edited meanwhile comes out of the exchange."""
        found = Findings(notices=list(self._undecided))
        self._guarded(self._settle, found)
        return found.report(self._shown_path(found))

    def preview(self) -> SyncReport:
        """What `run` would take in and put, as far as one look tells. Writes nothing."""
        found = Findings()
        self._guarded(self._preview, found)
        return found.report(self._shown_path(found))

    def omissions(self) -> tuple[str, ...]:
        """The paths of the memories that the index has no room for."""
        with self._store.view() as connection:
            return omissions(connection)

    def _shown_path(self, found: Findings) -> str | None:
        return None if self._path is None or found.refused else self._path

    def _guarded(self, work: Callable[[Folder | None, Findings], None], found: Findings) -> None:
        """Opens the folder, takes its turn, and turns what is in the way into notices."""
        if self._path is None:
            found.refuse(self._refusal)
            return
        if not self._store.writable:
            found.refuse("the store is read-only: nothing is taken in or projected")
            return
        try:
            self._store.take_spooled()
            folder = self._open_folder(self._path, now=self._nanoseconds, pause=self._world.pause)
            if folder is None:
                work(None, found)
                return
            with folder, folder.turn(self._store.directory):
                work(folder, found)
        except PlaceRefused as error:
            found.refuse(_told(error))
        except StoreUnavailable as error:
            # What is in the store is safe, and its files are mended by whoever comes next.
            found.stop(f"the files in {self._path} are not up to date yet: {_told(error)}")

    def _nanoseconds(self) -> int:
        return self._world.clock() * 1_000

    # One round

    def _round(self, folder: Folder | None, found: Findings, tries: int = _TRIES) -> None:
        if folder is None:
            self._missing_folder(found)
            return
        claim = self._claim(folder)
        known = self._known(folder.path)
        if known.row is not None and claim == "own" and known.told:
            self._sessions.work_in(known.row, found, partial(texts_at, folder))
            self._sessions.work_in_others(folder.path, found)
            known = self._known(folder.path)
        heard = self._sessions.acts
        scan = folder.clear_links(folder.scan())
        intake = take_stock(folder, scan, known.stamps, self._world.clock, known.busy)
        if known.row is not None and claim == "own" and tries and self._told_meanwhile(folder.path, intake):
            self._round(folder, found, tries - 1)
            return
        late = self._sessions.given_up(folder.path) & set(intake.seen) if known.row is not None and intake.seen else ()
        if known.row is not None and late:
            self._sessions.work_in(known.row, found, partial(texts_at, folder), late)
            if tries and self._sessions.acts > heard:  # what was read may be older than what is known by now
                return self._round(folder, found, tries - 1)
            known = self._known(folder.path)
        found.waiting += sorted(known.busy)
        if known.row is not None and claim == "own" and known.rests(scan) and self._as_shown(known.row, intake):
            found.notices += left_alone(intake)
            self._remember(known.row, intake)
            return
        restored = len(found.absorbed)
        if not self._may_decide(folder, known.row, intake, claim, found):
            return
        row = known.row
        if row is None or len(found.absorbed) > restored:
            again = self._known(folder.path)
            if row is None and again.told:  # the folder was nobody's until now, so that nobody could be heard
                self._round(folder, found)
                return
            if again.stamps != known.stamps:  # all files were put back, so that each counts as new
                intake = take_stock(folder, scan, again.stamps, self._world.clock, known.busy)
            row = again.row
        assert row is not None
        self._committer.leftovers(folder, row, scan, found)
        if tries and self._sessions.acts > heard:
            return self._round(folder, found, tries - 1)
        plan = self._committer.absorb(row, intake, found, first=found.taken_over)
        self._project(folder, row, plan, found)

    def _told_meanwhile(self, path: str, intake: Intake) -> bool:
        """Whether a session told of a file while it was read: what was read there may be that session's (rule 5)."""
        if not intake.seen and not intake.absent:
            return False
        self._store.take_spooled()
        with self._store.view() as connection:
            names = inbox.names_waiting(connection, path)
        return any(name in intake.seen or name in intake.absent for name in names)

    def _known(self, path: str) -> _Known:
        with self._store.view() as connection:
            row = shown.folder_row(connection, path)
            last = shown.last_operation(connection)
            told = is_waiting(connection, path)
            if row is None:
                return _Known(None, {}, last, False, told)
            now = self._world.clock()
            restless = bool(shown.missing(connection, row.pk)) or shown.due_now(connection, now)
            busy = frozenset(inbox.busy(connection, path, now)) if told else frozenset[str]()
            return _Known(row, shown.stamps(connection, row.pk), last, restless, told, busy)

    def _as_shown(self, row: FolderRow, intake: Intake) -> bool:
        """Whether every file whose bytes had to be read, most likely one of our own, says what was last shown."""
        if not intake.seen and not intake.absent:
            return True
        with self._store.view() as connection:
            return says_what_was_shown(connection, row, intake)

    def _remember(self, row: FolderRow, intake: Intake) -> None:
        """Keeps the stamps of files and directory once they are old enough to be telling, so that reads need no
        scan."""
        directory = intake.scan.stamp
        stamp = None if is_racy(directory, self._nanoseconds()) else directory
        stamps = [Stamp(name, seen.stamp) for name, seen in intake.seen.items() if seen.stamp is not None]
        if stamps or (stamp is not None and stamp != row.stamp):
            self._store.show(row.pk, stamps, stamp=stamp, durable=False)

    def _claim(self, folder: Folder) -> str:
        claim = read_claim(folder)
        if claim is None:
            return "none"
        if claim.store != self._store.id:
            raise FolderTaken(folder.path, claim.root or claim.store, self._root)
        return "own"

    def _may_decide(self, folder: Folder, row: FolderRow | None, intake: Intake, claim: str, found: Findings) -> bool:
        """The gates: rules 1, 3 and 32. A folder that is met for the first time is claimed."""
        now = self._world.clock()
        with self._store.view() as connection:
            known = row if row is not None else FolderRow(0, folder.path, None, 0, None)
            verdict = gate(known, intake, claim, now, self._committer.absorber(connection, known, first=False))
        if isinstance(verdict, Stop) and verdict.rule == 32:
            found.refuse(f"nothing was decided in {folder.path}: {verdict.reason}; mend its permissions")
            return False
        if row is None:
            make_claim(folder, self._store.id, self._root)
            self._store.add_folder(folder.path)
            found.taken_over = True
            return True
        if self._verdict == "restore" or isinstance(verdict, PutAllBack):
            self._put_all_back(folder, row, found)
            return True
        if isinstance(verdict, d.WaitSecondScan):
            if row.gone_at != verdict.since:
                self._store.mark_gone(row.pk, verdict.since)
            found.waiting.append(folder.path)
            return False
        if isinstance(verdict, Stop) and self._verdict != "accept":
            found.refuse(f"nothing was decided in {folder.path}: {verdict.reason}; {_VERDICTS}")
            return False
        if claim == "none":
            make_claim(folder, self._store.id, self._root)
        if row.gone_at is not None:
            self._store.mark_gone(row.pk, None)
        return True

    def _put_all_back(self, folder: Folder, row: FolderRow, found: Findings) -> None:
        # The claim comes last: without it, a folder of a process that died here is still one that was swept away.
        self._store.forget_shown(row.pk)
        make_claim(folder, self._store.id, self._root)
        found.absorbed.append(Noted(folder.path, "put back", 32, "all files, as the store has them"))
        self._verdict = "ask"

    def _missing_folder(self, found: Findings) -> None:
        """There is no directory: rule 32 where it was shown before, else it is made once there is something to show."""
        assert self._path is not None
        path = os.path.realpath(self._path)
        known = self._known(path)
        row = known.row
        if row is None or not known.stamps:
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
        folder = self._open_folder(self._path, create=True, now=self._nanoseconds, pause=self._world.pause)
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
        with self._store.view() as connection:
            row, last = shown.folder_row(connection, folder.path), shown.last_operation(connection)
        if row is None or self._claim(folder) == "none":
            self._round(folder, found)
        elif row.shows < last:
            self._project(folder, row, Plan(blocked=dict(self._blocked)), found)

    def _project(self, folder: Folder, row: FolderRow, plan: Plan, found: Findings) -> None:
        self._projector.project(folder, row, plan, found)
        self._blocked = {name: reason for name, reason in plan.blocked.items() if reason != AT_WORK}

    def _preview(self, folder: Folder | None, found: Findings) -> None:
        if folder is None:
            self._preview_missing(found)
            return
        claim = self._claim(folder)
        known = self._known(folder.path)
        row = known.row if known.row is not None else FolderRow(0, folder.path, None, 0, None)
        intake = take_stock(folder, folder.scan(), known.stamps, self._world.clock, known.busy)
        with self._store.view() as connection:
            absorber = self._committer.absorber(connection, row, first=known.row is None)
            verdict = gate(row, intake, claim, self._world.clock(), absorber)
            if isinstance(verdict, Stop):
                helps = "mend its permissions" if verdict.rule == 32 else _VERDICTS
                found.refuse(f"nothing would be decided in {folder.path}: {verdict.reason}; {helps}")
                return
            if isinstance(verdict, (d.WaitSecondScan, PutAllBack)):
                found.waiting.append(folder.path)
                return
            plan = plan_intake(connection, row, intake, absorber, self._world.new_id)
            work = plan_work(connection, row.pk, row.shows, plan.project, plan.remove, plan.blocked)
        found.taken_over = known.row is None
        found.absorbed += plan.noted
        found.waiting += [*sorted(known.busy), *plan.waiting, *plan.again]
        found.notices += plan.notices
        found.pending += [Unshown(name, plan.blocked[name]) for name in work.held]
        _note(work, found)

    def _preview_missing(self, found: Findings) -> None:
        """As `_missing_folder`: what was swept away waits for a second look, else the folder is made."""
        assert self._path is not None
        path = os.path.realpath(self._path)
        known = self._known(path)
        if known.stamps:
            found.waiting.append(path)
            return
        with self._store.view() as connection:
            row = known.row if known.row is not None else FolderRow(0, path, None, 0, None)
            _note(plan_work(connection, row.pk, row.shows, {}, {}, {}), found)
        found.taken_over = known.row is None and bool(found.projected)


@dataclass(frozen=True, slots=True)
class _Known:
    """What the store knows of a folder. `restless`: something waits for its moment; `told`: rows wait in the inbox;
    `busy`: the names under which sessions are at work."""

    row: FolderRow | None
    stamps: dict[str, str | None]
    last: int
    restless: bool
    told: bool = False
    busy: frozenset[str] = frozenset()

    def rests(self, scan: Scan) -> bool:
        """Whether nothing is on its way between files and store; what the files say is another question."""
        row = self.row
        if row is None or row.shows != self.last or row.gone_at is not None or self.restless or self.busy:
            return False
        return scan.complete and not scan.temporary


def _note(work: Work, found: Findings) -> None:
    found.projected += [task.row.name for task in (*work.puts, *([work.index] if work.index else []))]
    found.removed += [name for name, _ in (*work.early, *work.takes)]


def _told(error: MemstoreError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
