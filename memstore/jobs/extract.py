"""One run of the extraction: what came after a session's cursor is looked at, and what it taught is kept.

Killed anywhere, a run leaves all of its end or nothing: memories, index lines, cursor and its record are one
transaction. Nothing is locked while a model thinks. The cursor moves only over messages whose outcome is known: saved,
not worth saving (with the model's reason), passed over by a gate, or declined by the model (parked until somebody wants
it to be asked again). All else is read again by the next run, which sees what this one saved; messages whose outcome is
recorded are known by their digests, also in a fork's copy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from memstore.claude import transcript
from memstore.claude.transcript import Mark, Reading
from memstore.core.model import Memory, Provenance, Shelf
from memstore.core.settings import Settings
from memstore.errors import (
    Conflict,
    MemstoreError,
    ModelBusy,
    ModelError,
    ModelFull,
    ModelUnauthorized,
    NotFound,
    SettingRefused,
    StoreUnavailable,
)
from memstore.jobs import gates
from memstore.jobs.bash import Programs
from memstore.jobs.conversation import Talk, converse
from memstore.jobs.fork import Fork
from memstore.jobs.manifest import manifest
from memstore.jobs.messages import Model, Reply, Request, user
from memstore.jobs.passing_over import PassedOver, digests, passed_over
from memstore.jobs.prompt import prompt
from memstore.jobs.saves import own_saves
from memstore.jobs.secrecy import without_secrets
from memstore.jobs.team import no_double
from memstore.jobs.tools import Tools
from memstore.jobs.window import LEAST, MOST, Window, window
from memstore.jobs.workspace import RULES, Workspace
from memstore.store import ending, runs, sessions
from memstore.store.jobs import BACK_OFF, DECLINED, LONGEST_WAIT, Job
from memstore.store.runs import Cursor, Event, Outcome, RunEnd
from memstore.store.store import Store

KIND = "extract"
PREVIEW = "preview"
"""The kind of a run that saves nothing: it counts for the budget, and for nothing else."""

LIMIT = 32_000
"""Tokens of an answer, its thinking included."""

UNFINISHED = "turns"
"""What is noted as the gate of a run that had more to do when its turns, its budget or its files were used up."""

_LEFT = "the rest is left to the next run"
_IN_A_ROW = 3
"""After so many unfinished runs in a row somebody has to look."""
_ATTEMPTS = 10
_LONGEST_REASON = 600
_NOW_OR_NEVER = ("PreCompact", "SessionEnd", "more")
"""The events after which there may be no further turn to wait for."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a run works with.

    `directory`: the memory folder, as the model knows it. `folders`: all of the store's. `provenance`: who acts, for a
    session in a directory. `team`: the memories of the team, which are only read. `programs`: where the person
    allows Bash. `fork`: the client's own one, where it thinks; no model is asked then.
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
    fork: Fork | None = None
    team: Callable[[], Sequence[Memory]] = tuple


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
        self.note(reply)
        return reply

    def note(self, reply: Reply) -> None:
        """Puts an answer on record."""
        self.replies.append(reply)
        with self.store.change() as connection:
            runs.record_usage(connection, self.run, self.talk.usage, self.talk.cost, reply.model or None)

    @property
    def talk(self) -> Talk:
        """All answers of the run."""
        return Talk((), tuple(self.replies), "said")


class Extraction:
    """A run for one job. Use it once; `dry` leaves everything as it is, and what would be saved in `workspace`."""

    def __init__(self, around: Around, job: Job, *, dry: bool = False) -> None:
        self._around = around
        self._job = job
        self._dry = dry
        self._id = around.new_id()
        self._notes: list[str] = []
        self._tools: Tools | None = None
        self._over = PassedOver(frozenset(), frozenset(), frozenset())
        self._branch = ""
        self._model: Metered | None = None
        self.workspace: Workspace | None = None

    def run(self) -> RunEnd:
        """Does it, and gives how it ended.

        Raises Conflict where another run of the session is going on or a worker closed this one, and what a store
        raises that cannot be written.
        """
        around, job = self._around, self._job
        kind, number = (PREVIEW, None) if self._dry else (KIND, job.seq)
        name, via = None, "api" if around.fork is None else "client"
        with suppress(SettingRefused):  # told when a model is asked
            name = around.settings.word("model.extract") if around.fork is None else None
        with around.store.change() as connection:
            if self._dry:  # whoever looks is in nobody's way, and nobody who looked before is in his
                ending.close_interrupted(connection, PREVIEW, around.clock())
            runs.begin(connection, self._id, kind, job.session, around.clock(), job=number, model=name, via=via)
            cursor = runs.cursor(connection, KIND, job.session)
        try:
            return self._look(_mark(cursor, job))
        except StoreUnavailable:
            raise
        except MemstoreError as error:
            return self._finish(RunEnd(self._id, "failed", 0, in_words(error), park=isinstance(error, SettingRefused)))

    def _look(self, mark: Mark) -> RunEnd:
        job = self._job
        reading = transcript.read(job.transcript, mark)
        # What is known by its digest is looked at once, also where the cursor has to stay before it.
        reading = replace(reading, entries=(*reading.entries, *reading.unended))
        if reading.unreadable:
            return self._finish(RunEnd(self._id, "failed", 0, f"the transcript cannot be read: {reading.unreadable}"))
        if reading.missing:
            told = f"the transcript is gone: {_count(job.turns, 'turn')} could not be read"
            return self._finish(RunEnd(self._id, "nothing", 0, told, unread=job.turns))
        if not reading.fits:
            self._notes.append("the transcript was written anew, so it was read again from its start")
        over = self._over = self._passed_over(reading)
        shut = self._shut(reading, over)
        if shut is not None:
            end = RunEnd(self._id, "skipped", 0, shut.reason, gate=shut.gate)
            return self._finish(end, reading if shut.advance else None)
        most, notes = MOST, self._notes
        while True:
            part = window(reading.entries, over.all, most)
            if part.shortened and self._around.fork is None:  # a fork has them in its conversation
                told = f"{_count(part.shortened, 'long message')} of the person could not be shown in full"
                self._notes = [*notes, told]
            read, most = _as_far(job.transcript, mark, part) if part.more else reading, most // 2
            thought = self._think(part, read, reading, least=most < LEAST)
            if thought is not None:
                return thought

    # What is there

    def _passed_over(self, reading: Reading) -> PassedOver:
        around, entries = self._around, reading.entries
        with around.store.view() as connection:
            taken = runs.taken(connection, digests(entries))
            rests = sessions.rests(connection, self._job.session, around.provenance.worktree or "")
        return passed_over(entries, taken, rests)

    def _shut(self, reading: Reading, over: PassedOver) -> gates.Shut | None:
        job, settings = self._job, self._around.settings
        new = [entry for entry in reading.entries if entry.digest not in over.known | over.gone]
        people = [entry for entry in new if entry.kind == "person"]
        with self._around.store.view() as connection:
            held = runs.held_back(connection, KIND, job.session, "every")
            left = runs.has_left(connection, KIND, job.session)  # what a run did not come to is no later turn's
        turn = gates.Turn(
            said=[entry.text for entry in people if entry.digest not in over.paused],
            paused=sum(entry.digest in over.paused for entry in people),
            saved=own_saves(new, self._around.folders),
            let_pass=held + max(job.turns - 1, 0),
        )
        return gates.check(
            turn,
            enabled=settings.flag("extract.enabled"),
            look_after_save=left or settings.word("extract.after_own_save") == "look",
            every=1 if left or job.event in _NOW_OR_NEVER else settings.number("extract.every"),
        )

    # The model

    def _think(self, part: Window, read: Reading, there: Reading, *, least: bool) -> RunEnd | None:
        """Has a part looked at. `read`: what is read with it; `there`: and with what comes after it.

        None: the model takes no part of this size, and a smaller one (this is not the `least`) may be tried.
        """
        around = self._around
        self._branch = next((entry.branch for entry in reversed(part.shown) if entry.branch), "")
        team = around.team()
        rules, most = (*RULES, no_double(team)), around.settings.number("extract.files")
        space = self.workspace = Workspace(around.store, around.shelf, around.new_id, around.clock, rules, team, most)
        tools = self._tools = Tools(space, part.shown, around.directory, around.clock, programs=around.programs)
        listed = manifest(file.memory for file in space.files() if file.memory)
        model = self._model = self._model or Metered(around.model, around.store, self._id)
        if around.fork is None:
            request = self._request(part, listed, tools, team=bool(team))
        else:
            request = around.fork.request(part, there.entries, listed, team=bool(team))
        talk = self._converse(model, request, tools)
        if isinstance(talk.error, ModelFull) and not least:
            return None
        for _ in range(_ATTEMPTS):
            end = self._ending(talk, model.talk, len(part.shown))
            whole = end.outcome in ("saved", "nothing") or end.gate == DECLINED
            if whole and part.more and end.gate != DECLINED:
                end = replace(end, outcome="more", reason=f"{end.reason} (more was said after that)")
            end = replace(end, rest=part.more and end.gate == DECLINED)
            try:
                return self._finish(end, read if whole else None)
            except (Conflict, NotFound):
                rebased, told = tools.rebase(around.store)
                if not rebased.moved:
                    raise
            if told and talk.ended == "said":
                talk = self._converse(model, replace(request, messages=(*talk.messages, user(told))), tools)
        told = "others changed the same memories all the time"
        return self._finish(replace(end, outcome="failed", reason=told, gate=None, park=False))

    def _request(self, part: Window, listed: str, tools: Tools, *, team: bool) -> Request:
        settings = self._around.settings
        system = prompt("extract", turns=settings.number("extract.turns"), team=team)
        return Request(settings.word("model.extract"), (user(_material(part, listed)),), LIMIT, (system,), tools.tools)

    def _converse(self, model: Metered, request: Request, tools: Tools) -> Talk:
        """Goes on after the answers that there are."""
        around = self._around
        if around.fork is not None:
            return around.fork.converse(request, tools.act, model.note, tuple(model.replies))
        turns, budget = around.settings.number("extract.turns"), around.settings.number("budget.run")
        earlier, cancelled = tuple(model.replies), around.cancelled
        return converse(model, request, tools.act, turns=turns, budget=budget, cancelled=cancelled, earlier=earlier)

    def _ending(self, talk: Talk, whole: Talk, messages: int) -> RunEnd:
        """How a run ends after this talk. What failed saves nothing: its messages are read again."""
        staged = self.workspace is not None and bool(self.workspace.steps)
        end = RunEnd(
            self._id, "failed", self._around.clock(), turns=len(whole.replies), messages=messages, usage=whole.usage,
            cost=whole.cost,
        )  # fmt: skip
        said = " ".join(talk.last_text.split())[:_LONGEST_REASON]
        match talk.ended:
            case "said" if self.workspace is not None and self.workspace.is_full:
                return self._unfinished(end, "it changed as many memories as one run may")
            case "said" if staged or said:
                outcome: Outcome = "saved" if staged else "nothing"
                return replace(end, outcome=outcome, reason=said or "saved without a word")
            case "said":
                return replace(end, reason="the model ended without a word")
            case "turns":
                return self._unfinished(end, "its turns were used up")
            case "budget":
                return self._unfinished(end, "its budget was used up")
            case "cancelled":
                return replace(end, outcome="more", reason=f"it was called off; {_LEFT}")
            case "refused":
                return replace(end, reason=f"the model declined{': ' if said else ''}{said}", park=True, gate=DECLINED)
            case "failed":
                return failed(end, talk.error)

    def _unfinished(self, end: RunEnd, why: str) -> RunEnd:
        with self._around.store.view() as connection:
            row = runs.in_a_row(connection, KIND, self._job.session, UNFINISHED)
        if row + 1 >= _IN_A_ROW:
            told = f"{row + 1} runs in a row had more to do when they ended (raise extract.turns, extract.files or"
            told += " budget.run, then `memstore extract retry`)"
            return replace(end, reason=told, park=True, gate=UNFINISHED)
        return replace(end, outcome="more", reason=f"{why}; {_LEFT}", gate=UNFINISHED)

    # The end

    def _finish(self, end: RunEnd, read: Reading | None = None) -> RunEnd:
        """Commits the end of the run. `read`: what has a known outcome with it; None: all of it is read again."""
        around, space = self._around, self.workspace
        lost, used = _losses(read, self._over.gone), () if self._tools is None else self._tools.events
        unread = end.unread if read is None else len(read.corrupt)
        noted = (Event("note", text, around.clock()) for text in [*self._notes, *lost])
        end = without_secrets(replace(end, at=around.clock(), unread=unread, events=(*noted, *used)))
        if self._dry:  # what it cost is on record, and nothing else
            with suppress(Conflict):  # a worker that began meanwhile closed it
                around.store.finish_run(replace(end, outcome="skipped", gate="dry"))
            return end
        kept = space is not None and (end.outcome in ("saved", "more") or end.gate == UNFINISHED)
        change_set = space.change_set(KIND, self._id, self._provenance(), end.reason) if space and kept else None
        sources = space.sources() if space and change_set else ()
        cursor = None if read is None else self._cursor(read.mark)
        over = [] if read is None else [entry for entry in read.entries if entry.digest not in self._over.gone]
        around.store.finish_run(end, change_set, cursor, digests(over), sources)
        return end

    def _provenance(self) -> Provenance:
        """Who acts where; of a branch that was left since the words were said it is not known at which commit."""
        provenance = self._around.provenance
        if self._branch in ("", "HEAD", provenance.branch):
            return provenance
        return replace(provenance, branch=self._branch, commit=None)

    def _cursor(self, mark: Mark) -> Cursor:
        job = self._job
        return Cursor(KIND, job.session, job.transcript, mark.message, mark.offset, mark.digest)


def _mark(cursor: Cursor | None, job: Job) -> Mark:
    """A transcript elsewhere is another file: it is read from its start, and what is known is known by its digest."""
    if cursor is None or cursor.transcript != job.transcript:
        return transcript.START
    return Mark(cursor.message, cursor.offset, cursor.digest)


def _as_far(path: str, mark: Mark, part: Window) -> Reading:
    """What was read, up to the end of the window. Raises Conflict where something else stands there by now."""
    read = transcript.read(path, mark, until=part.end)
    if [entry.digest for entry in read.entries] != [entry.digest for entry in part.entries]:
        raise Conflict("the transcript was written anew while it was read")
    return read


def _losses(read: Reading | None, gone: Collection[bytes]) -> list[str]:
    """What of the transcript could not be read, and what of the person's words was not looked at."""
    told: list[str] = []
    left = 0 if read is None else sum(entry.kind == "person" and entry.digest in gone for entry in read.entries)
    if left:
        told.append(f"the person went back behind {_count(left, 'message')} and said something else: not looked at")
    if read is not None and read.corrupt:
        lines = ", ".join(map(str, read.corrupt[:20])) + (" and more" if len(read.corrupt) > 20 else "")
        told.append(f"{_count(len(read.corrupt), 'line')} of the transcript could not be read: {lines}")
    if read is not None and read.replaced:
        told.append(f"{_count(read.replaced, 'character')} of the transcript could not be kept")
    return told


def failed(end: RunEnd, error: ModelError | None) -> RunEnd:
    """What passes by itself is tried again, after the time that was asked for; all else waits for a person.

    A credential that is refused is no fault of the job's: all of them wait.
    """
    reason = "no model answered" if error is None else in_words(error)
    if isinstance(error, ModelUnauthorized):
        return replace(end, reason=reason, held=(str(error), error.hint))
    if error is None or not error.passing:
        return replace(end, reason=reason, park=True)
    wait = min(int((error.wait or 0) * 1_000_000), LONGEST_WAIT) if isinstance(error, ModelBusy) else 0
    # Who asks for less than the first back-off gets that: a server that always says "now" must not be asked for ever.
    return replace(end, reason=reason, due_at=end.at + wait if wait > BACK_OFF[0] else None)


def in_words(error: MemstoreError) -> str:
    """What went wrong and what to do about it, in one line."""
    return f"{error} ({error.hint})" if error.hint else str(error)


def _material(part: Window, listed: str) -> str:
    return f"The memories that there are:\n\n{listed}\n\nThe conversation, from message 1 on:\n\n{part.text}"


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"
