"""Plans become operations: what a folder told is committed, and planned anew where a writer was faster."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import memstore.core.decisions as d
from memstore.core.changes import ChangeSet
from memstore.core.inbox import made_from
from memstore.core.model import INDEX_NAME
from memstore.errors import NameTaken, StaleVersion, StoreBusy
from memstore.files.absorb import Absorber, Plan, Seen
from memstore.files.absorb_index import absorb_index, accepted_index, older_base
from memstore.files.folder import Folder, Leftover
from memstore.files.inbox import NOBODY, Inbox
from memstore.files.intake import Intake, plan_intake, unknown
from memstore.files.project import Surprise
from memstore.files.report import Findings
from memstore.files.scan import Scan
from memstore.files.walk import FileRead
from memstore.store import inbox, kept, lines, shown
from memstore.store.connection import Reading
from memstore.store.kept import LetGo, TakenIn
from memstore.store.shown import Aside, Before, FolderRow, ShownRow
from memstore.store.store import Store
from memstore.world import World

_ATTEMPTS = 100
_SETTLING = (0.05, 0.2, 0.8, 0.2)
"""Seconds between looks at a file that somebody may still be writing."""


class Committer:
    """Takes in what one folder of one store has to tell."""

    def __init__(self, store: Store, world: World, sessions: Inbox) -> None:
        self._store = store
        self._world = world
        self._sessions = sessions

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
            self._show_index(row, intake, plan)
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
            self._world.new_id(), "absorb", self._world.clock(), NOBODY, tuple(plan.changes), tuple(plan.lines),
            tuple(plan.conflicts), reason=reason, real=False,
        )  # fmt: skip
        return self._store.apply(change_set, folder=row.pk, shown_changes=plan.shown).seq

    def _show_index(self, row: FolderRow, intake: Intake, plan: Plan) -> None:
        """B of the index becomes what lies there, each of its lines known by its row; not where it is no edit."""
        index = intake.seen.get(INDEX_NAME)
        if index is None or index.file.content is None or index.file.trouble is not None:
            return
        if INDEX_NAME in plan.blocked or INDEX_NAME in plan.project or INDEX_NAME in plan.again:
            return
        with self._store.view() as connection:
            known = shown.shown_row(connection, row.pk, INDEX_NAME)
            if known is not None and known.content == index.file.content:
                return
            accepted = accepted_index(lines.rows(connection), index.file.content, index.stamp)
            begun = inbox.begun(connection, row.pk, INDEX_NAME)
            accepted = replace(accepted, put=accepted.content in begun)  # a projection that nobody recorded
        self._store.show(row.pk, (accepted,))

    # What comes to light: rule 35, and the files of processes that died

    def leftovers(self, folder: Folder, row: FolderRow, scan: Scan, found: Findings) -> None:
        """Takes in the texts that dead processes left in the folder, and removes them."""
        left = folder.leftovers(scan) if scan.temporary else []
        if not left:
            return
        with self._store.view() as connection:
            # What was begun is gone on with, although its text is known by now.
            news = {item.kept for item in unknown(connection, left)} | kept.paths(connection, row.pk)
        for item in left:
            if item.kept in news:
                self.look(folder, row, self._left_behind(row, item), found)
            else:
                folder.discard(item.kept, item.content)

    def _left_behind(self, row: FolderRow, item: Leftover) -> Surprise:
        """With what had been shown there when it came out; if that is not known, with what takes nothing out."""
        with self._store.view() as connection:
            base = shown.shown_row(connection, row.pk, item.target)
            keep = kept.kept(connection, row.pk, item.kept)
            if keep is not None:
                base = None if keep.base is None else ShownRow(item.target, keep.memory, 0, keep.base, lines=keep.lines)
            elif item.target == INDEX_NAME:
                base = older_base(base, shown.texts_before(connection, row.pk, INDEX_NAME), item.content)
            elif base is not None:
                texts = shown.texts_before(connection, row.pk, item.target)
                base = replace(base, content=made_from(item.content, base.content, texts))
        # What became known may all be younger than the file, where nobody recorded what was known before.
        since = () if keep is None else keep.since
        return Surprise(item.target, item.content, item.settled, base, item.kept, since=since)

    def look(self, folder: Folder, row: FolderRow, surprise: Surprise, found: Findings) -> str:
        """Rule 35: what came out is kept until nobody writes it any more, and goes when its text is safe.

        Whoever may have written it is heard first (rule 5). The answer says why it cannot be taken in, or nothing.
        """
        self._sessions.wait_for(row.path, surprise.name)
        late = self._sessions.given_up(row.path) & {surprise.name}
        self._sessions.work_in(row, found, partial(texts_at, folder, also=surprise), late)
        # Whoever has that text in a buffer may save it later. Of a dead process nobody knows what it found there.
        was = () if surprise.put is None else (Before(surprise.name, surprise.content),)
        for wait in _SETTLING:
            if surprise.settled:
                refusal = self.take_in(row, surprise, found)
                if refusal:
                    return refusal
                if folder.discard(surprise.kept, surprise.content):
                    self._store.show(row.pk, (LetGo(surprise.kept), *was), durable=False)
                    return ""
                taken = surprise.content
            else:
                taken = None
            self._world.pause(wait)
            again = folder.read_kept(surprise.kept)
            if not isinstance(again, FileRead):
                break
            base = surprise.base
            if taken is not None:  # what follows was written on top of what has been taken in
                base = ShownRow(surprise.name, None if base is None else base.memory, 0, taken)
            surprise = replace(surprise, content=again.content, settled=again.settled, base=base)
        found.notices.append(
            f"{surprise.name}: somebody is still writing the file that was replaced; a later sync takes it in from"
            f" {surprise.kept}"
        )
        return ""

    def take_in(self, row: FolderRow, surprise: Surprise, found: Findings) -> str:
        """Passes a text through the rules with the previous B; what the folder shows stays as it is."""
        name, content = surprise.name, surprise.content
        for _ in range(_ATTEMPTS):
            with self._store.view() as connection:
                since = inbox.known_since(connection, row.pk, name)
                if content in since or content in surprise.since:
                    return ""  # a session's, and taken in as such
                absorber = self.absorber(connection, row, first=False)
                self._decide(connection, absorber, surprise, since)
                plan = absorber.plan
                if plan.blocked:
                    return plan.blocked[name]
                if not plan.writes and plan.notices and content.strip():
                    absorber.set_aside(name, content, "it came to light in a projection, and says nothing readable")
            flagged = [change for change in plan.shown if isinstance(change, ShownRow) and change.flagged]
            plan.shown = [change for change in plan.shown if isinstance(change, Aside)]
            if not plan.writes and not plan.shown:
                return ""
            plan.shown.append(TakenIn(surprise.kept))
            try:
                seq = self._commit(row, plan, due=False, reason="edited during a projection")
            except (StaleVersion, NameTaken):
                continue
            self._flag(row, flagged)
            found.seq = seq if seq is not None else found.seq
            found.absorbed += plan.noted
            found.notices += plan.notices
            return ""
        raise StoreBusy(f"{name} changed faster than its file could be taken in", hint="try again")

    def _decide(self, connection: Reading, absorber: Absorber, surprise: Surprise, since: tuple[bytes, ...]) -> None:
        """By a base that is older than what is shown now.

        Where a text that became known since the exchange is nearer, that may be the younger one: nothing is taken
        out then.
        """
        name, content, base = surprise.name, surprise.content, surprise.base
        seen = Seen(d.File(name, content, None, True), None)
        made = None if base is None else made_from(content, base.content, surprise.since)
        newer = [text for text in since if text not in surprise.since and text != surprise.put]
        nearer = made if made is None else made_from(content, made, newer)
        if nearer is not None and nearer != made and content not in surprise.since:
            if name == INDEX_NAME:
                base = older_base(base, newer, content)
            else:
                absorber.take_older(name, content, nearer)
                return
        elif name == INDEX_NAME and base is not None and made is not None:
            base = base if made == base.content else replace(base, content=made, lines=None)
        if name == INDEX_NAME:
            absorb_index(connection, base, seen, absorber, self._world.new_id, None)
        else:
            absorber.decide_over(name, seen, base, surprise.since)

    def _flag(self, row: FolderRow, flagged: list[ShownRow]) -> None:
        """Rule 25: a line that was kept once may be taken out the next time."""
        for change in flagged:
            with self._store.view() as connection:
                known = shown.shown_row(connection, row.pk, change.name)
            if known is not None:
                kept = tuple(dict.fromkeys((*known.flagged, *change.flagged)))
                self._store.show(row.pk, (replace(known, flagged=kept),))


def texts_at(folder: Folder, name: str, also: Surprise | None = None) -> list[bytes]:
    """What lies in the folder under a name: the file, and what came out of projections that died; and `also`."""
    file = folder.read(name)
    if not isinstance(file, FileRead):
        return []
    left = folder.leftovers(folder.scan())
    came_out = [also.content] if also is not None and also.name == name else []
    return [file.content, *(item.content for item in left if item.target == name), *came_out]
