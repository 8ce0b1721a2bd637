"""One update of a session's notes: what was said since the last one is read, and a model edits the one file.

The notes are a memory on a shelf of their own, with history. Text, cursor and the run's record are one transaction, so
that a run that is killed leaves all of it or nothing. Notes hold what tools printed, too: their origin is `tool`, and
nobody takes them for the person's words.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from memstore.core.model import NOTES, NOTES_KIND, Memory
from memstore.core.notes_text import TEMPLATE, check_change, path_of
from memstore.errors import InputRefused, MemstoreError, ModelFull, SettingRefused, StoreUnavailable
from memstore.jobs import secrecy
from memstore.jobs.conversation import Talk, converse
from memstore.jobs.extract import LIMIT, Around, Metered, failed, in_words
from memstore.jobs.messages import Request, user
from memstore.jobs.notes_prompt import rules, task
from memstore.jobs.notes_since import Pace, Since, cursor_after, since
from memstore.jobs.notes_tools import NotesTools
from memstore.jobs.passing_over import passed_over
from memstore.jobs.vouching import Made
from memstore.jobs.window import LEAST, MOST, Window, window
from memstore.jobs.workspace import Workspace
from memstore.store import runs, sessions
from memstore.store.jobs import DECLINED, Job
from memstore.store.runs import Cursor, Event, RunEnd

KIND = NOTES_KIND
TURNS = 4
"""Answers of one run. The first has the edits; the others are for what was refused of them."""

_LONGEST_REASON = 600


@dataclass(frozen=True, slots=True)
class Custom:
    """What a person may word otherwise: with which text notes begin, and how an update is asked for (None: as ours)."""

    template: str = TEMPLATE
    prompt: str | None = None


class NotesRun:
    """A run for one job. Use it once. `around.shelf` is not asked; `custom` may raise SettingRefused."""

    def __init__(self, around: Around, job: Job, custom: Callable[[], Custom] = Custom) -> None:
        self._around = around
        self._job = job
        self._custom = custom
        self._id = around.new_id()
        self._path = path_of(job.session)
        self._before = ""
        self._space: Workspace | None = None
        self._tools: NotesTools | None = None
        self._model: Metered | None = None

    def run(self) -> RunEnd:
        """Does it, and gives how it ended.

        Raises Conflict where another run of the session is going on or a worker closed this one, and what a store
        raises that cannot be written.
        """
        around, job = self._around, self._job
        name: str | None = None
        with suppress(SettingRefused):  # told when a model is asked
            name = around.settings.word("model.notes")
        with around.store.change() as connection:
            runs.begin(connection, self._id, KIND, job.session, around.clock(), job=job.seq, model=name, via="api")
            cursor = runs.cursor(connection, KIND, job.session)
        try:
            return self._look(cursor)
        except StoreUnavailable:
            raise
        except MemstoreError as error:
            return self._finish(RunEnd(self._id, "failed", 0, in_words(error), park=isinstance(error, SettingRefused)))

    def _look(self, cursor: Cursor | None) -> RunEnd:
        around, job = self._around, self._job
        if not around.settings.flag("notes.enabled"):
            return self._finish(RunEnd(self._id, "skipped", 0, "notes are switched off (notes.enabled)", gate="off"))
        Pace.of(around.settings)  # whoever saw that it cannot be used has left it to this run to say so
        said = since(job, cursor)
        if said.reading.unreadable:
            why = f"the transcript cannot be read: {said.reading.unreadable}"
            return self._finish(RunEnd(self._id, "failed", 0, why))
        if said.reading.missing:
            return self._finish(RunEnd(self._id, "nothing", 0, "the transcript is gone"))
        with around.store.view() as connection:
            rests = sessions.rests(connection, job.session, around.provenance.worktree or "")
        over, most = passed_over(said.entries, (), rests).all, MOST
        while True:
            part = window(said.entries, over, most)
            after, most = cursor_after(said, job, cursor, part.end if part.more else None), most // 2
            if not part.shown:
                return self._finish(RunEnd(self._id, "nothing", 0, "nothing new was said"), after)
            end = self._think(said, part, after, least=most < LEAST)
            if end is not None:
                return end

    def _think(self, said: Since, part: Window, after: Cursor, *, least: bool) -> RunEnd | None:
        """None: the model takes no part of this size, and a smaller one (this is not the `least`) may be tried."""
        around, settings = self._around, self._around.settings
        name, budget, custom = settings.word("model.notes"), settings.number("budget.run"), self._custom()
        space, made = self._begin(custom.template, part.shown[-1].id)
        tools = self._tools = NotesTools(space, self._path, made, around.clock)
        request = Request(
            name,
            (user(f"The conversation:\n\n{part.text}", task(self._path, self._before, custom.prompt)),),
            LIMIT,
            (rules(TURNS),),
            tools.tools,
        )
        model = self._model = self._model or Metered(around.model, around.store, self._id)
        talk = converse(
            model, request, tools.act, turns=TURNS, budget=budget, cancelled=around.cancelled,
            earlier=tuple(model.replies),
        )  # fmt: skip
        if isinstance(talk.error, ModelFull) and not least:
            return None
        end = replace(
            self._ending(talk), at=around.clock(), turns=len(model.replies), messages=len(part.shown),
            unread=len(said.reading.corrupt), usage=model.talk.usage, cost=model.talk.cost,
        )  # fmt: skip
        whole = end.outcome in ("saved", "nothing")
        if end.gate == DECLINED:
            return self._finish(replace(end, rest=part.more), after)
        if whole and part.more:
            end = replace(end, outcome="more", reason=f"{end.reason} (more was said after that)")
        return self._finish(end, after if whole else None)

    def _begin(self, template: str, message: str) -> tuple[Workspace, Made]:
        """The workspace with the notes as they are, or as they begin."""
        around, made = self._around, Made("tool", message)
        space = self._space = Workspace(around.store, NOTES, around.new_id, around.clock, (self._check,))
        file = space.read(self._path)
        self._before = template if file is None else file.text
        if file is None:
            space.stage_write(self._path, template.encode(), made)
        return space, made

    def _check(self, head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
        if text is None:
            raise InputRefused("notes are not deleted")
        after = text.decode("utf-8", "replace")
        check_change(self._before, after)
        secrecy.check_text(self._before, after)

    def _ending(self, talk: Talk) -> RunEnd:
        """How a run ends after this talk. What failed saves nothing: its messages are read again."""
        end = RunEnd(self._id, "failed", self._around.clock())
        said = " ".join(talk.last_text.split())[:_LONGEST_REASON]
        used = {"turns": "its turns were used up", "budget": "its budget was used up"}.get(talk.ended, "")
        match talk.ended:
            case "said" | "turns" | "budget" if self._is_changed():
                return replace(end, outcome="saved", reason=used or said or "saved without a word")
            case "said" if said:
                return replace(end, outcome="nothing", reason=said)
            case "said":
                return replace(end, reason="the model ended without a word")
            case "turns" | "budget":
                return replace(end, reason=f"{used} before anything was noted")
            case "cancelled":
                return replace(end, outcome="more", reason="it was called off; it is left to the next run")
            case "refused":
                return replace(end, reason=f"the model declined{': ' if said else ''}{said}", park=True, gate=DECLINED)
            case "failed":
                return failed(end, talk.error)

    def _is_changed(self) -> bool:
        file = None if self._space is None else self._space.read(self._path)
        return file is not None and file.text != self._before

    def _finish(self, end: RunEnd, after: Cursor | None = None) -> RunEnd:
        """Commits the end of the run. `after`: the cursor, where what was said has a known outcome."""
        around, space = self._around, self._space
        events: tuple[Event, ...] = () if self._tools is None else self._tools.events
        end = secrecy.without_secrets(replace(end, at=around.clock(), events=events))
        if space is None or after is None or end.outcome == "failed" or not self._is_changed():
            around.store.finish_run(end, None, after)
            return end
        change_set = space.change_set(KIND, self._id, around.provenance, end.reason)
        assert change_set is not None, "what changed is staged"
        # No line of the index comes due by it: nobody shows the folder for its sake.
        around.store.finish_run(end, replace(change_set, real=False), after, (), space.sources())
        return end
