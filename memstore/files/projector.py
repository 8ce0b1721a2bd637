"""Shows in a folder what the store holds, round by round, until nothing comes out any more that nobody expected.

The order: what is about to be put is known before it lies there (a process that dies meanwhile leaves no riddle);
files change places; what is shown is recorded, with what came out and what had been shown before it; then what came
out passes the rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from memstore.errors import NotProjected
from memstore.files.absorb import Plan
from memstore.files.committing import Committer
from memstore.files.folder import Folder
from memstore.files.inbox import AT_WORK, Inbox
from memstore.files.project import Surprise, Work, carry_out, plan_index, plan_work
from memstore.files.report import Findings, Unshown
from memstore.store import shown
from memstore.store.inbox import Forgo, Known
from memstore.store.shown import FolderRow, ShownChange, ShownRow
from memstore.store.store import Store

_ROUNDS = 8


class Projector:
    """For one folder of one store. To be used while the folder's turn is held."""

    def __init__(self, store: Store, committer: Committer, sessions: Inbox) -> None:
        self._store = store
        self._committer = committer
        self._sessions = sessions

    def project(self, folder: Folder, row: FolderRow, plan: Plan, found: Findings) -> None:
        """Carries out what the plan asks for, and puts on files what was committed since the folder was last shown.

        Adds to `plan.blocked` what turns out to be no memory's text.
        """
        forced, removals, since = plan.project, plan.remove, row.shows
        for _ in range(_ROUNDS):
            busy = dict.fromkeys(self._sessions.busy(folder.path), AT_WORK)
            with self._store.view() as connection:
                upto = shown.last_operation(connection)
                blocked = busy | plan.blocked
                work = plan_work(connection, row.pk, since, forced, removals, blocked, index=plan.index)
            found.omitted = found.omitted if work.omitted is None else work.omitted
            begun = self._journal(row, work)
            outcome = carry_out(folder, work, found, partial(self._index_without, row, forced, work))
            if not folder.is_in_place():
                # What was put went along with the old directory: nothing of it is shown under the path.
                found.notices.append(
                    f"{folder.path} was moved or deleted meanwhile; the next sync shows the files again"
                )
                return
            complete = not (outcome.failed or outcome.surprises or work.held or found.pending)
            put = {change.name for change in outcome.shown if isinstance(change, ShownRow)}
            changes: list[ShownChange] = [Forgo(name) for name in begun - put]
            if changes or outcome.shown or (complete and row.shows < upto):
                changes += [*outcome.shown, *(surprise.keep() for surprise in outcome.surprises)]
                # Should a power cut undo this, the files still say what the store says, and are accepted.
                self._store.show(row.pk, changes, shows=upto if complete else None, durable=False)
            for surprise in outcome.surprises:
                self._take_in(folder, row, surprise, plan, found)
            found.pending += [Unshown(name, blocked[name]) for name in work.held]
            if outcome.failed or not outcome.surprises:
                break
            since, forced, removals = upto, {}, {}

    def _journal(self, row: FolderRow, work: Work) -> set[str]:
        """Rule 4: a file that says what was about to be put there holds no news. Returns the names."""
        tasks = [*work.puts, *([] if work.index is None else [work.index])]
        known = [Known(task.row.name, task.row.content, put=True) for task in tasks if task.base is not None]
        if known:
            self._store.show(row.pk, known, durable=False)
        return {change.name for change in known}

    def _index_without(
        self, row: FolderRow, forced: Mapping[str, bytes | None], work: Work, absent: Collection[str]
    ) -> None:
        with self._store.view() as connection:
            plan_index(connection, row.pk, forced, work, absent)

    def _take_in(self, folder: Folder, row: FolderRow, surprise: Surprise, plan: Plan, found: Findings) -> None:
        refusal = self._committer.look(folder, row, surprise, found)
        if not refusal:
            return
        plan.blocked[surprise.name] = refusal
        found.pending.append(Unshown(surprise.name, refusal))
        try:
            back = surprise.put is not None and folder.put_back_over(surprise.name, surprise.kept, surprise.put)
        except NotProjected:
            back = False
        if back:
            self._store.show(row.pk, (surprise.base or shown.Forget(surprise.name),))
        else:
            found.notices.append(f"{surprise.name}: the file that was replaced is kept as {surprise.kept}")
