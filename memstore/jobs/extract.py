"""One run of the extraction: what came after a session's cursor is looked at, and what it taught is kept.

Killed anywhere, a run leaves all of its end or nothing: memories, index lines, cursor and its record are one
transaction. Nothing is locked while a model thinks. The cursor moves only over messages whose outcome is known: saved,
not worth saving (with the model's reason), or passed over by a gate. All else is read again by the next run, which
sees what this one saved; messages whose outcome is recorded are known by their digests, also in a fork's copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memstore.claude import transcript
from memstore.claude.entries import Entry
from memstore.claude.transcript import Mark, Reading
from memstore.core.model import Provenance, Shelf
from memstore.core.settings import Settings
from memstore.errors import Conflict, MemstoreError, ModelBusy, ModelError, NotFound, SettingRefused, StoreUnavailable
from memstore.jobs import gates
from memstore.jobs.bash import Programs
from memstore.jobs.conversation import Talk, converse
from memstore.jobs.manifest import manifest
from memstore.jobs.messages import Model, Reply, Request, user
from memstore.jobs.prompt import prompt
from memstore.jobs.saves import own_saves
from memstore.jobs.tools import Tools
from memstore.jobs.window import Window, window
from memstore.jobs.workspace import Workspace
from memstore.store import runs, sessions
from memstore.store.jobs import Job
from memstore.store.runs import Cursor, Event, Outcome, RunEnd
from memstore.store.store import Store

KIND = "extract"
LIMIT = 32_000
"""Tokens of an answer, its thinking included."""

UNFINISHED = "turns"
"""What is noted as the gate of a run that had more to do when its turns or its budget were used up."""

_IN_A_ROW = 3
"""After so many unfinished runs in a row somebody has to look."""
_ATTEMPTS = 10
_LONGEST_REASON = 600


@dataclass(frozen=True, slots=True)
class Around:
    """What a run works with.

    `directory`: the memory folder, as the model knows it. `folders`: all of the store's. `provenance`: who acts, for a
    session in a directory. `programs`: where the person allows Bash.
    """

    store: Store
    shelf: Shelf
    settings: Settings
    model: Model
    new_id: Callable[[], str]
    clock: Callable[[], int]
    directory: str
    folders: Sequence[str]
    provenance: Provenance
    programs: Programs | None = None
    cancelled: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Metered:
    """A model whose tokens are noted with every answer: what a killed run has cost is known all the same."""

    model: Model
    store: Store
    run: str
    replies: list[Reply] = field(default_factory=list)

    def reply(self, request: Request) -> Reply:
        """The answer of the model."""
        reply = self.model.reply(request)
        self.replies.append(reply)
        talk = Talk((), tuple(self.replies), "said")
        with self.store.change() as connection:
            runs.record_usage(connection, self.run, talk.usage, talk.cost)
        return reply


class Extraction:
    """A run for one job. Use it once; `dry` leaves everything as it is."""

    def __init__(self, around: Around, job: Job, *, dry: bool = False) -> None:
        self._around = around
        self._job = job
        self._dry = dry
        self._id = around.new_id()
        self._events: list[Event] = []
        self.workspace: Workspace | None = None

    def run(self) -> RunEnd:
        """Does it, and gives how it ended.

        Raises SettingRefused for settings that cannot be used, and what a store raises that cannot be written.
        """
        around, job = self._around, self._job
        name, number = around.settings.word("model.extract"), None if self._dry else job.seq
        with around.store.change() as connection:
            runs.begin(connection, self._id, KIND, job.session, around.clock(), job=number, model=name, via="api")
            cursor = runs.cursor(connection, KIND, job.session)
        try:
            return self._look(_mark(cursor, job), name)
        except StoreUnavailable:
            raise
        except MemstoreError as error:
            return self._finish(RunEnd(self._id, "failed", 0, str(error), park=isinstance(error, SettingRefused)))

    def _look(self, mark: Mark, name: str) -> RunEnd:
        job = self._job
        reading = transcript.read(job.transcript, mark)
        if reading.missing:
            told = f"the transcript is gone: {_count(job.turns, 'turn')} could not be read"
            return self._finish(RunEnd(self._id, "nothing", 0, told, unread=job.turns))
        known, paused = self._outcomes(reading)
        shut = self._shut(reading, known, paused)
        if shut is not None:
            end = RunEnd(self._id, "skipped", 0, shut.reason, gate=shut.gate, unread=len(reading.corrupt))
            return self._finish(end, reading.mark if shut.advance else None, reading.entries)
        part = window(reading.entries, known | paused)
        mark = transcript.read(job.transcript, mark, until=part.end).mark if part.more else reading.mark
        if not part.shown:
            return self._finish(RunEnd(self._id, "nothing", 0, "nothing new was said"), mark, part.entries)
        return self._think(part, mark, len(reading.corrupt), name)

    # What is there

    def _outcomes(self, reading: Reading) -> tuple[set[bytes], set[bytes]]:
        """The digests of what has a known outcome, and of what was said while saving was paused."""
        around, entries = self._around, reading.entries
        with around.store.view() as connection:
            known = set(runs.taken(connection, [entry.digest for entry in entries]))
            rests = sessions.rests(connection, self._job.session, around.provenance.worktree or "")
        gone = transcript.abandoned(entries)
        known |= {entry.digest for entry in entries if entry.id in gone}
        paused = {entry.digest for entry in entries if _rested(entry, rests)}
        if reading.corrupt:
            self._note(f"{_count(len(reading.corrupt), 'line')} of the transcript could not be read")
        if reading.replaced:
            self._note(f"{_count(reading.replaced, 'character')} could not be kept")
        return known, paused - known

    def _shut(self, reading: Reading, known: set[bytes], paused: set[bytes]) -> gates.Shut | None:
        around, new = self._around, [entry for entry in reading.entries if entry.digest not in known]
        people = [entry for entry in new if entry.kind == "person"]
        with around.store.view() as connection:
            held = runs.held_back(connection, KIND, self._job.session, "every")
        turn = gates.Turn(
            said=[entry.text for entry in people if entry.digest not in paused],
            paused=sum(entry.digest in paused for entry in people),
            saved=own_saves(new, around.folders),
            let_pass=held,
        )
        settings = around.settings
        return gates.check(
            turn,
            enabled=settings.flag("extract.enabled"),
            look_after_save=settings.word("extract.after_own_save") == "look",
            every=settings.number("extract.every"),
        )

    # The model

    def _think(self, part: Window, mark: Mark, unread: int, name: str) -> RunEnd:
        around = self._around
        turns, budget = around.settings.number("extract.turns"), around.settings.number("budget.run")
        space = self.workspace = Workspace(around.store, around.shelf, around.new_id, around.clock)
        tools = Tools(space, part.shown, around.directory, around.clock, programs=around.programs)
        request = Request(
            name,
            (user(_material(part, manifest(file.memory for file in space.files() if file.memory))),),
            LIMIT,
            (prompt("extract", turns=turns),),
            tools.tools,
        )
        model = Metered(around.model, around.store, self._id)
        talk = converse(model, request, tools.act, turns=turns, budget=budget, cancelled=around.cancelled)
        for _ in range(_ATTEMPTS):
            end = self._ending(talk, bool(space.steps), model.replies, len(part.shown), unread)
            whole = end.outcome in ("saved", "nothing")
            if whole and part.more:
                end = replace(end, outcome="more", reason=f"{end.reason} (more was said after that)")
            try:
                return self._commit(end, tools, part, mark if whole else None)
            except (Conflict, NotFound):
                rebased, told = tools.rebase(around.store)
                if not rebased.moved:
                    raise
            left = turns - len(model.replies)
            if told and left > 0 and talk.ended == "said":
                again = replace(request, messages=(*talk.messages, user(told)))
                talk = converse(model, again, tools.act, turns=left, budget=0, cancelled=around.cancelled)
            elif told:
                talk = replace(talk, ended="turns")
        raise Conflict("others changed the same memories all the time", hint="the job is tried again later")

    def _ending(self, talk: Talk, staged: bool, replies: Sequence[Reply], messages: int, unread: int) -> RunEnd:
        """How a run ends after this talk. What failed saves nothing: its messages are read again."""
        whole = replace(talk, replies=tuple(replies))
        end = RunEnd(
            self._id, "failed", self._around.clock(), turns=len(replies), messages=messages, unread=unread,
            usage=whole.usage, cost=whole.cost,
        )  # fmt: skip
        said = " ".join(talk.last_text.split())[:_LONGEST_REASON]
        match talk.ended:
            case "said" if staged or said:
                outcome: Outcome = "saved" if staged else "nothing"
                return replace(end, outcome=outcome, reason=said or "saved without a word")
            case "said":
                return replace(end, reason="the model ended without a word")
            case "turns" | "budget" | "cancelled":
                return self._unfinished(end, talk)
            case "refused":
                return replace(end, reason=f"the model declined: {said}", park=True)
            case "failed":
                return _failed(end, talk.error)

    def _unfinished(self, end: RunEnd, talk: Talk) -> RunEnd:
        used = {"turns": "its turns were used up", "budget": "its budget was used up", "cancelled": "it was called off"}
        why = f"{used[talk.ended]}; the rest is left to the next run"
        if talk.ended == "cancelled":
            return replace(end, outcome="more", reason=why)
        with self._around.store.view() as connection:
            row = runs.in_a_row(connection, KIND, self._job.session, UNFINISHED)
        if row + 1 >= _IN_A_ROW:
            told = f"{row + 1} runs in a row had more to do when they ended (extract.turns, budget.run)"
            return replace(end, reason=told, park=True, gate=UNFINISHED)
        return replace(end, outcome="more", reason=why, gate=UNFINISHED)

    # The end

    def _commit(self, end: RunEnd, tools: Tools, part: Window, mark: Mark | None) -> RunEnd:
        space, around = self.workspace, self._around
        assert space is not None
        keep = end.outcome in ("saved", "more") or end.gate == UNFINISHED
        change_set = space.change_set(KIND, self._id, around.provenance, end.reason) if keep else None
        self._events += tools.events
        if self._dry:
            return self._finish(end)
        end = replace(end, at=around.clock(), events=tuple(self._events))
        cursor = None if mark is None else self._cursor(mark)
        taken = [entry.digest for entry in part.entries] if cursor is not None else []
        sources = space.sources() if change_set is not None else ()
        around.store.finish_run(end, change_set, cursor, taken, sources)
        return end

    def _finish(self, end: RunEnd, mark: Mark | None = None, entries: Sequence[Entry] = ()) -> RunEnd:
        end = replace(end, at=self._around.clock(), events=tuple(self._events))
        if self._dry:  # what it cost is on record, and nothing else
            self._around.store.finish_run(replace(end, outcome="skipped", gate="dry"))
            return end
        cursor = None if mark is None else self._cursor(mark)
        taken = [entry.digest for entry in entries] if cursor is not None else []
        self._around.store.finish_run(end, None, cursor, taken)
        return end

    def _cursor(self, mark: Mark) -> Cursor:
        job = self._job
        return Cursor(KIND, job.session, job.transcript, mark.message, mark.offset, mark.digest)

    def _note(self, text: str) -> None:
        self._events.append(Event("note", text, self._around.clock()))


def _mark(cursor: Cursor | None, job: Job) -> Mark:
    """A transcript elsewhere is another file: it is read from its start, and what is known is known by its digest."""
    if cursor is None or cursor.transcript != job.transcript:
        return transcript.START
    return Mark(cursor.message, cursor.offset, cursor.digest)


def _rested(entry: Entry, rests: Sequence[tuple[int, int | None]]) -> bool:
    """Whether it was said while saving was paused."""
    try:
        at = int(datetime.fromisoformat(entry.at).timestamp() * 1_000_000)
    except ValueError:
        return False
    return any(since <= at and (until is None or at < until) for since, until in rests)


def _failed(end: RunEnd, error: ModelError | None) -> RunEnd:
    """What passes by itself is tried again, after the time that was asked for; all else waits for a person."""
    if error is None or not error.passing:
        return replace(end, reason=str(error or "no model answered"), park=True)
    if isinstance(error, ModelBusy) and error.wait is not None:
        return replace(end, reason=str(error), due_at=end.at + int(error.wait * 1_000_000))
    return replace(end, reason=str(error))


def _material(part: Window, listed: str) -> str:
    return f"The memories that there are:\n\n{listed}\n\nThe conversation, from message 1 on:\n\n{part.text}"


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"
