"""Plans become operations: what a folder told is committed, and planned anew where a writer was faster."""

from __future__ import annotations

import memstore.core.decisions as d
from memstore.core.changes import ChangeSet
from memstore.core.model import INDEX_NAME, Provenance
from memstore.errors import NameTaken, StaleVersion, StoreBusy
from memstore.files.absorb import Absorber, Plan, Seen
from memstore.files.absorb_index import absorb_index, shown_index
from memstore.files.folder import Folder
from memstore.files.intake import Intake, plan_intake, unknown
from memstore.files.project import Surprise
from memstore.files.report import Findings
from memstore.store import lines, shown
from memstore.store.connection import Reading
from memstore.store.shown import Aside, FolderRow
from memstore.store.store import Store
from memstore.world import World

_ATTEMPTS = 100
_EDITOR = Provenance("file", "whoever edited the files")


class Committer:
    """Takes in what one folder of one store has to tell."""

    def __init__(self, store: Store, world: World) -> None:
        self._store = store
        self._world = world

    def absorber(self, connection: Reading, row: FolderRow, *, first: bool) -> Absorber:
        return Absorber(connection, row.pk, self._world.new_id, self._world.clock(), first=first)

    def absorb(self, row: FolderRow, intake: Intake, found: Findings, *, first: bool) -> Plan:
        """Plans and commits; plans anew where a writer was faster."""
        for _ in range(_ATTEMPTS):
            with self._store.view() as connection:
                absorber = self.absorber(connection, row, first=first)
                plan = plan_intake(connection, row, intake, absorber, self._world.new_id)
                due = shown.due_now(connection, self._world.clock())
            try:
                seq = self._commit(row, plan, due=due, reason="taken over" if first else "edited in the folder")
            except (StaleVersion, NameTaken):
                continue
            found.seq = seq if seq is not None else found.seq
            self._show_index(row, intake)
            found.absorbed += plan.noted
            found.waiting += [*plan.waiting, *plan.again]
            found.notices += plan.notices
            return plan
        raise StoreBusy("the memories changed faster than the folder could be taken in", hint="try again")

    def _commit(self, row: FolderRow, plan: Plan, *, due: bool, reason: str) -> int | None:
        if not plan.writes and not due:
            if plan.shown:
                self._store.show(row.pk, plan.shown)
            return None
        change_set = ChangeSet(
            self._world.new_id(), "absorb", self._world.clock(), _EDITOR, tuple(plan.changes), tuple(plan.lines),
            tuple(plan.conflicts), reason=reason, real=False,
        )  # fmt: skip
        return self._store.apply(change_set, folder=row.pk, shown_changes=plan.shown).seq

    def _show_index(self, row: FolderRow, intake: Intake) -> None:
        """B of the index becomes what lies there, each of its lines known by its row."""
        index = intake.seen.get(INDEX_NAME)
        if index is None or index.file.content is None or index.file.trouble is not None:
            return
        try:
            index.file.content.decode("utf-8")
        except UnicodeDecodeError:
            return
        with self._store.view() as connection:
            known = shown.shown_row(connection, row.pk, INDEX_NAME)
            if known is not None and known.content == index.file.content:
                return
            now_shown = shown_index(lines.rows(connection), index.file.content, index.stamp)
        self._store.show(row.pk, (now_shown,))

    def leftovers(self, folder: Folder, row: FolderRow, intake: Intake, found: Findings) -> None:
        left = folder.leftovers(intake.scan) if intake.scan.temporary else []
        if not left:
            return
        with self._store.view() as connection:
            absorber = self.absorber(connection, row, first=False)
            news = {item.kept for item in unknown(connection, absorber, left)}
        for item in left:
            if item.kept in news:
                with self._store.view() as connection:
                    base = shown.shown_row(connection, row.pk, item.target)
                self.take_in(row, Surprise(item.target, item.content, item.settled, base, item.kept), found)
            folder.discard(item.kept, item.content)

    def take_in(self, row: FolderRow, surprise: Surprise, found: Findings) -> None:
        """Rule 35: what came out goes through the rules with the previous B; what the folder shows stays as it is."""
        seen = Seen(d.File(surprise.name, surprise.content, None, True), None)
        for _ in range(_ATTEMPTS):
            with self._store.view() as connection:
                absorber = self.absorber(connection, row, first=False)
                if surprise.name == INDEX_NAME:
                    absorb_index(connection, surprise.base, seen, absorber.plan, self._world.new_id, None)
                else:
                    absorber.decide(surprise.name, seen, base=surprise.base)
            plan = absorber.plan
            plan.shown = [change for change in plan.shown if isinstance(change, Aside)]
            if not plan.writes and not plan.shown:
                return
            try:
                seq = self._commit(row, plan, due=False, reason="edited during a projection")
            except (StaleVersion, NameTaken):
                continue
            found.seq = seq if seq is not None else found.seq
            found.absorbed += plan.noted
            return
