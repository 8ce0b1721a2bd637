"""The inbox of one name: which row comes next, and what it means. The rules are `core/inbox.py`'s; nothing is written.

Each act is one operation, with the session that did it as its author. What a session overwrote and nobody knew is an
act of its own, of an author nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memstore.core import daylog
from memstore.core.changes import Create, OpenConflict, Revise
from memstore.core.frontmatter import alike
from memstore.core.inbox import Row, Step, happened, made_from, next_row, shared, take, unsigned
from memstore.core.index import loaded_view
from memstore.core.merge import merge_texts
from memstore.core.model import INDEX_NAME, SHELF, Memory
from memstore.core.names import check_path, is_debris
from memstore.core.reconcile import looks_broken
from memstore.errors import NameRefused
from memstore.files.absorb import Absorber, Plan, conflict_note
from memstore.files.absorb_index import absorb_call
from memstore.files.report import Noted
from memstore.store import inbox
from memstore.store.connection import Reading
from memstore.store.inbox import Arrival, Known, KnownTexts, SeenBy, Settle, Waiting
from memstore.store.shown import FolderRow


@dataclass(frozen=True, slots=True)
class Act:
    """One thing to commit. `call`: whose doing it is; None: of somebody nobody knows."""

    plan: Plan
    call: Arrival | None
    reason: str


class NameInbox:
    """The waiting rows of one name at one moment of the store.

    `texts`: what lies in the folder under the name now; None where nobody has looked: then calls of which nothing
    was heard are left alone.
    """

    def __init__(
        self,
        connection: Reading,
        folder: FolderRow,
        name: str,
        calls: Sequence[Waiting],
        absorber: Absorber,
        new_id: Callable[[], str],
        texts: Sequence[bytes] | None,
        now: int,
    ) -> None:
        self._connection = connection
        self._folder = folder
        self._name = name
        self._new_id = new_id
        self._texts = texts
        self._done = [waiting for waiting in calls if waiting.call.state == "done"]
        self._dead = [waiting for waiting in calls if waiting.call.state == "open" and not is_alive(waiting, now)]
        self._given_up = [waiting for waiting in calls if waiting.call.state == "dead"]
        self._absorber = absorber
        self._plan = absorber.plan
        self._row, self._head = absorber.known(name)
        if self._head is not None and absorber.lost_its_path(self._head):
            self._head = None
        self._known = KnownTexts(connection, name, None if self._head is None else self._head.id)

    def next(self) -> Act | None:
        """The next act; None: nothing is left that may be decided now."""
        if not self._done and not self._dead and not self._given_up:
            return None
        refusal = self._refusal()
        if refusal:
            return self._give_up(refusal)
        firsts = self._firsts()
        for waiting in firsts:
            if waiting.call.kind in ("load", "read"):
                return self._looked(waiting.call)
        candidates = {waiting.call.id: waiting for waiting in (*firsts, *self._heard(), *self._made_late())}
        if candidates:
            rows = [_row(waiting.call) for waiting in candidates.values()]
            shown = None if self._row is None else self._row.content
            return self._take(candidates[next_row(rows, shown, self._known).id])
        if self._texts is None:
            return None
        return self._bury() if self._dead else self._overwritten(self._texts)

    def _firsts(self) -> list[Waiting]:
        """Of each session the row that comes first: clocks go back, so that its own chain of originals counts too."""
        by_session: dict[str, list[Waiting]] = {}
        for waiting in self._done:
            by_session.setdefault(waiting.call.session, []).append(waiting)
        return [_first(rows) for rows in by_session.values()]

    # What is no edit

    def _refusal(self) -> str:
        if self._name == INDEX_NAME:
            return ""
        try:
            check_path(self._name)
        except NameRefused as error:
            return error.reason
        return "it is called like a temporary file" if is_debris(self._name.rpartition("/")[2]) else ""

    def _give_up(self, reason: str) -> Act:
        if daylog.day_in(self._name) is None:  # logs are the sessions' own, and no memories
            self._plan.notices.append(f"{self._name}: what sessions wrote there is not taken in: {reason}")
        calls = (*self._done, *self._dead, *self._given_up)
        self._plan.shown += [Settle(each.call.id, each.call.state, "settled") for each in calls]
        return Act(self._plan, None, "")

    def _looked(self, call: Arrival) -> Act:
        if call.result is not None:
            loaded = call.kind == "load"
            self._plan.shown.append(SeenBy(call.session, self._folder.path, self._name, call.result, loaded))
        self._plan.shown.append(Settle(call.id, call.state, "settled"))
        return Act(self._plan, call, "")

    # Rule 5

    def _heard(self) -> list[Waiting]:
        """The calls that were about to begin, were not heard of in time, and happened all the same."""
        if self._texts is None or not self._dead:
            return []
        calls = [waiting.call for waiting in self._done]
        told = [text for call in calls for text in (call.original, self._seen(call)) if text is not None]
        results = [call.result for call in calls if call.result is not None]
        since = self._absorber.since(self._name)
        shown = self._row.content if self._row is not None else b""
        file, kept = (self._texts[0] if self._texts else None), self._texts[1:]
        return [
            dead
            for dead in self._dead
            if dead.call.result is not None
            and not any(each.call.session == dead.call.session and each.seq < dead.seq for each in self._done)
            and happened(
                dead.call.result,
                file,
                (*told, *kept),
                shown,
                since if dead.call.found is None else {*since, dead.call.found},
                results,
            )
        ]

    def _made_late(self) -> list[Waiting]:
        """The calls that were given up, and whose very outcome lies there now, or came out of a projection."""
        if not self._given_up:
            return []
        news = [text for text in self._texts or () if text not in self._known]
        return [
            each
            for each in self._given_up
            if each.call.result is not None and any(alike(each.call.result, text) for text in news)
        ]

    def _bury(self) -> Act:
        """Nothing more will be heard of it; what it found may have been overwritten."""
        call = self._dead[0].call
        if call.found is not None and call.found not in (self._texts or ()):
            act = self._absorb_unknown(call.found, older=True)
            if act is not None:
                return act
        self._plan.shown.append(Settle(call.id, call.state, "dead"))
        return Act(self._plan, None, "")

    def _overwritten(self, texts: Sequence[bytes]) -> Act | None:
        """What a call found that came to nothing, where somebody else has overwritten it since."""
        for call in (waiting.call for waiting in self._given_up):
            if call.found is not None and call.found not in texts:
                act = self._absorb_unknown(call.found, older=True)
                if act is not None:
                    return act
        return None

    # Rules 6 to 11

    def _take(self, waiting: Waiting) -> Act:
        call = waiting.call
        original = call.original if call.state == "done" else call.found
        seen = self._seen(call) if call.kind == "write" else None
        act = None
        if original is not None:
            # A call that was taken for done before it was told of: what it overwrote is older than that.
            act = self._absorb_unknown(original, older=waiting.taken is not None)
        if act is None and seen is not None:
            act = self._absorb_unknown(seen, older=True)
        if act is not None:
            return act
        result = call.result
        if result is not None:
            self._take_result(waiting, original, result, seen)
            self._plan.shown.append(Known(self._name, result))
            self._plan.shown += self._seen_after(call, original, result)
        self._plan.shown.append(Settle(call.id, call.state, "settled" if call.state == "done" else "heard"))
        return Act(self._plan, call, f"{call.kind} by a session")

    def _take_result(self, waiting: Waiting, original: bytes | None, result: bytes, seen: bytes | None) -> None:
        call = waiting.call
        row = Row(call.id, "edit" if call.kind == "edit" else "write", call.session, original, result)
        if waiting.taken is not None:  # it was taken for done before anything was heard of it
            if alike(waiting.taken, result):
                return
            row = Row(call.id, "edit", call.session, waiting.taken, result)
        if looks_broken(result, original):
            return  # the scan will find the file, and set it aside
        if self._name == INDEX_NAME:
            base = row.original if row.kind == "edit" else self._view(call) if seen is not None else None
            rule = 8 if row.kind == "edit" else 9 if base is not None else 10
            absorb_call(self._connection, self._row, base or b"", result, self._absorber, self._new_id, rule=rule)
            return
        head = self._head
        live = None if head is None or not head.state.live else head.state.content
        if head is not None and live is None and result in self._known:
            return  # an old copy of a memory that was deleted: the scan sets it aside
        self._step(take(row, live, seen))

    def _absorb_unknown(self, text: bytes, *, older: bool) -> Act | None:
        """Rule 7: what nobody knows is an edit that nobody signed. None where it is known."""
        if text in self._known:
            return None
        head = self._head
        if not looks_broken(text, None):
            if self._name == INDEX_NAME:
                self._absorb_unknown_index(text, older=older)
            elif head is not None and head.state.live:
                shown = None if self._row is None else self._row.content
                step = unsigned(text, head.state.content, self._known, shown, older=older)
                if step is not None:
                    self._step(step)
            elif not older:
                self._step(Step(text, None, None, 7))
        self._plan.shown.append(Known(self._name, text))
        return Act(self._plan, None, "overwritten by a session")

    def _absorb_unknown_index(self, text: bytes, *, older: bool) -> None:
        shown = b"" if self._row is None else self._row.content
        base = made_from(text, shown, list(self._known))
        base = shared(base, text) if older else base
        absorb_call(self._connection, self._row, base, text, self._absorber, self._new_id, rule=7)

    def _seen(self, call: Arrival) -> bytes | None:
        found = inbox.seen_by(self._connection, call.session, self._folder.path, self._name)
        return None if found is None else found.content

    def _seen_after(self, call: Arrival, original: bytes | None, result: bytes) -> list[SeenBy]:
        """A Write is all that its session knows of a text. Of an Edit it knows its own change, on top of what it had
        seen: the client edits text that its session never saw."""
        if call.kind == "write":
            return [SeenBy(call.session, self._folder.path, self._name, result)]
        seen = inbox.seen_by(self._connection, call.session, self._folder.path, self._name)
        if seen is None or original is None:
            return []
        merged = merge_texts(original, seen.content, result)
        return [] if merged.conflict else [replace(seen, content=merged.content)]

    def _view(self, call: Arrival) -> bytes | None:
        """Rule 1 of the index: what the session had before it, cut as the client cuts it."""
        found = inbox.seen_by(self._connection, call.session, self._folder.path, self._name)
        if found is None or not found.loaded:
            return None if found is None else found.content
        return loaded_view(found.content.decode("utf-8", "replace")).encode()

    def _step(self, step: Step) -> None:
        """What the head becomes."""
        plan, name, head = self._plan, self._name, self._head
        if step.other is not None:
            assert head is not None
            note = conflict_note(step.rule)
            conflict = OpenConflict(self._new_id(), head.id, name, "text", step.base, step.other, note)
            plan.conflicts.append(conflict)
            plan.noted.append(Noted(name, "conflict", step.rule, note))
        elif head is None:
            plan.changes.append(Create(self._new_id(), SHELF, name, step.content, due_at=self._absorber.due_at))
            plan.noted.append(Noted(name, "created", step.rule))
        elif not head.state.live or not alike(step.content, head.state.content):
            merged = step.base is not None and not alike(step.base, head.state.content)
            plan.changes.append(Revise(head.id, head.token, step.content, merged=merged))
            plan.noted.append(Noted(name, _word(head, merged), step.rule))


def is_alive(waiting: Waiting, now: int) -> bool:
    """Rule 5: whether a call that was about to begin may still be under way. `now`: unix microseconds."""
    return abs(now - waiting.call.at) <= inbox.PATIENCE


def _first(rows: Sequence[Waiting]) -> Waiting:
    """The first of a session's rows that none of its others has to come before."""
    results = {each.call.result: each.seq for each in rows if each.call.result != each.call.original}
    for each in rows:
        follows = results.get(each.call.original)
        if each.call.kind in ("load", "read") or follows is None or follows == each.seq:
            return each
    return rows[0]


def _row(call: Arrival) -> Row:
    original = call.original if call.state == "done" else call.found
    return Row(call.id, "edit" if call.kind == "edit" else "write", call.session, original, call.result or b"")


def _word(head: Memory, merged: bool) -> str:
    if not head.state.live:
        return "revived"
    return "merged" if merged else "revised"
