"""One dream: the memories are looked through as a whole, and what it makes of them is one operation.

A dream works in a workspace at one moment of the store; no lock is held while the model thinks. Before the commit each
step is held against what stands there by then: what somebody else changed meanwhile is theirs, and the step is listed
as stale. Steps, operation, what the dream had before it and its record are one transaction, in which the lease is
checked: killed anywhere, a dream has done all of it or nothing. Where its turns or its budget are used up, where it is
called off or no model answers, nothing is done. Where it would take too many memories out of use it stops and asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from memstore.core import dream_steps
from memstore.core.changes import ChangeSet
from memstore.core.dream_steps import Action, Outcome, Planned
from memstore.core.ids import token
from memstore.core.model import Memory, Provenance, Shelf
from memstore.core.secrets import masked
from memstore.core.settings import Settings
from memstore.errors import (
    Conflict,
    LeaseLost,
    MemstoreError,
    ModelUnauthorized,
    NotFound,
    SettingRefused,
    StoreUnavailable,
)
from memstore.jobs.conversation import Talk, converse
from memstore.jobs.dream_ledger import hooks_of
from memstore.jobs.dream_material import ABSENT, Material, listing
from memstore.jobs.dream_rules import RULES
from memstore.jobs.dream_tools import DreamTools
from memstore.jobs.extract import Metered, in_words
from memstore.jobs.messages import Model, Request, ToolResult, ToolUse, user
from memstore.jobs.prompt import prompt
from memstore.jobs.secrecy import without_secrets
from memstore.jobs.workspace import Workspace
from memstore.store import ending, leases, lines, reader, runs, steps
from memstore.store.runs import RunEnd, Source
from memstore.store.steps import Dreamt, Progress
from memstore.store.store import Store

KIND = "dream"
"""What its lease, its runs and its operations are called."""

DRY = "dream preview"
"""The kind of a run that only shows what it would do: it counts for the budget, and for nothing else."""

PHASES = ("orient", "gather", "consolidate", "check", "done")
"""The phases of its progress, in order."""

NEWS = "news"
SHARE = "share"
CALLED_OFF = "cancelled"
LEASE = "lease"
"""The gates at which a dream ends: nothing is new; it would lose too much and waits for a person; somebody called it
off; another one runs. Beside them `turns`, `budget` and `dry`."""

LIMIT = 32_000
"""Tokens of an answer, its thinking included."""

LAST_TURN = (
    "(Your next answer is the last one of this run. End with words and call no tool: with a call in it the run has not"
    " come to its end, and nothing of what you did is kept.)"
)

_LONGEST_REASON = 600
_TOLD = 50
_LONGEST = 1_000
_CALLED_OFF = "it was called off; nothing was done"
_TURNS = "dream.turns); nothing was done: a greater number lets it come to its end"
_BUDGET = "budget.run); nothing was done: a greater sum lets it come to its end"


@dataclass(frozen=True, slots=True)
class Around:
    """What a dream works with.

    `directory`: the memory folder, as the model knows it. `provenance`: who acts. `lease`: the token of the owner of
    the lease of `KIND`, taken before. `cancelled`: asked before each answer of the model and before the commit.
    `progress`: told whenever something has happened. `review`: given what is to be done, says of each step whether it
    may be; of a part all steps are done or none. `absorb`: takes in what was edited in files while the model thought.
    """

    store: Store
    shelf: Shelf
    settings: Settings
    model: Model
    new_id: Callable[[], str]
    clock: Callable[[], int]
    directory: str
    provenance: Provenance
    lease: str
    material: Material = field(default_factory=Material)
    cancelled: Callable[[], bool] = lambda: False
    progress: Callable[[Progress], None] = lambda _: None
    review: Callable[[Sequence[Planned]], Sequence[bool]] | None = None
    absorb: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Report:
    """What a dream came to. `outcomes`: each step, and what became of it; in a dry run all are `held`.

    `operation`: the id of what it did, which is the run's; None where it did nothing.
    """

    end: RunEnd
    outcomes: tuple[Outcome, ...] = ()
    operation: str | None = None

    def done(self, action: Action) -> tuple[Planned, ...]:
        """The steps of one kind that were done."""
        return tuple(each.step for each in self.outcomes if each.state == "done" and each.step.action == action)


class Dream:
    """One dream. Use it once; `dry` leaves everything as it is."""

    def __init__(self, around: Around, *, dry: bool = False) -> None:
        self._around = around
        self._dry = dry
        self.id = around.new_id()
        self._tools: DreamTools | None = None
        self._space: Workspace | None = None
        self._told = Progress(PHASES[0])
        self._hooks: Mapping[str, Sequence[str]] = {}

    def run(self) -> Report:
        """Does it, and gives what it came to.

        Raises LeaseLost where the lease is another's when it begins, Conflict where another process closed the run, and
        what a store raises that cannot be written.
        """
        around, kind = self._around, DRY if self._dry else KIND
        name = None
        with suppress(SettingRefused):  # told when the model is asked
            name = around.settings.word("model.dream")
        with around.store.change() as connection:
            leases.check(connection, KIND, around.lease, around.clock())
            ending.close_interrupted(connection, kind, around.clock())  # whoever has the lease is alone
            runs.begin(connection, self.id, kind, "", around.clock(), model=name, via="api")
        try:
            return self._look()
        except StoreUnavailable:
            raise
        except LeaseLost as lost:
            return self._failed(in_words(lost), CALLED_OFF if lost.called_off else LEASE)
        except MemstoreError as error:
            return self._failed(in_words(error))
        except KeyboardInterrupt:
            with suppress(MemstoreError):
                self._failed(_CALLED_OFF, CALLED_OFF)
            raise

    def _look(self) -> Report:
        around = self._around
        most = around.settings.number("extract.files")
        space = self._space = Workspace(around.store, around.shelf, around.new_id, around.clock, RULES, new=most)
        heads = [file.memory for file in space.files() if file.memory is not None]
        if not self._is_news(heads):
            reason = "nothing has changed since the last dream" if heads else "there is no memory yet"
            return self._finish(RunEnd(self.id, "nothing", 0, reason, gate=NEWS), heads=None)
        opened, unwanted = around.material.opened(), self._unwanted(heads)
        around.settings.number("dream.share")  # refused before a model is paid for
        with around.store.view() as connection:
            rows = lines.rows(connection, around.shelf)
        self._hooks = hooks_of(rows)
        tools = self._tools = DreamTools(space, opened, around.directory, around.clock, unwanted, rows)
        model = Metered(around.model, around.store, self.id)
        talk = self._converse(model, tools, material(opened, listing(heads, around.clock()), unwanted))
        end = self._ending(talk, model.talk)
        if end.outcome == "failed":
            return self._finish(end, heads=None)
        self._tell("check", len(talk.replies))
        return self._decide(end, tools.planned(), heads)

    def _is_news(self, heads: Sequence[Memory]) -> bool:
        """Whether there is anything that the last dream did not have before it, or did not make itself."""
        with self._around.store.view() as connection:
            memories, seen = steps.seen(connection)
        if memories == dream_steps.digest_of({head.id: head.token for head in heads}):
            return any(seen.get(name, ABSENT) != digest for name, digest in self._around.material.noted.items())
        return bool(heads or self._around.material.seen)

    def _unwanted(self, heads: Sequence[Memory]) -> list[Planned]:
        """What earlier dreams did and a person did not want, of memories that are still as they were then."""
        with self._around.store.view() as connection:
            found = steps.unwanted(connection)
        texts = {head.id: head.state.content for head in heads}
        return [step for step in found if step.before is not None and texts.get(step.memory) == step.before]

    # The model

    def _converse(self, model: Metered, tools: DreamTools, told: str) -> Talk:
        around, turns = self._around, self._around.settings.number("dream.turns")
        system = prompt("dream", turns=turns)
        request = Request(around.settings.word("model.dream"), (user(told),), LIMIT, (system,), tools.tools)

        def act(use: ToolUse) -> ToolResult:
            result = tools.act(use)
            self._tell(tools.phase, len(model.replies))
            return result

        self._tell(tools.phase, 0)
        budget = around.settings.number("budget.run")
        return converse(model, request, act, turns=turns, budget=budget, cancelled=around.cancelled, last=LAST_TURN)

    def _ending(self, talk: Talk, whole: Talk) -> RunEnd:
        """How the dream ends after this talk. What did not come to its end does nothing."""
        end = RunEnd(self.id, "failed", 0, turns=len(whole.replies), usage=whole.usage, cost=whole.cost)
        said = " ".join(talk.last_text.split())[:_LONGEST_REASON]
        staged = self._space is not None and bool(self._space.steps)
        match talk.ended:
            case "said" if staged or said:
                return replace(end, outcome="saved" if staged else "nothing", reason=said or "done without a word")
            case "said":
                return replace(end, reason="the model ended without a word")
            case "turns":
                return replace(end, reason=f"its turns were used up ({_TURNS}", gate="turns")
            case "budget":
                return replace(end, reason=f"its budget was used up ({_BUDGET}", gate="budget")
            case "cancelled":
                return replace(end, reason=_CALLED_OFF, gate=CALLED_OFF)
            case "refused":
                return replace(end, reason=f"the model declined{': ' if said else ''}{said}")
            case "failed":
                error = talk.error
                held = (str(error), error.hint) if isinstance(error, ModelUnauthorized) else None
                return replace(end, reason="no model answered" if error is None else in_words(error), held=held)

    # What is done of it

    def _decide(self, end: RunEnd, planned: tuple[Planned, ...], heads: Sequence[Memory]) -> Report:
        around = self._around
        if self._dry:
            return self._finish(end, [Outcome(step, "held") for step in planned], heads=None)
        share, review = around.settings.number("dream.share"), around.review
        lost = dream_steps.losses(planned)
        if review is None and lost * 100 > share * len(heads):
            told = f"it would take {lost} of {len(heads)} memories away, more than dream.share allows ({share} %): "
            end = replace(end, outcome="skipped", gate=SHARE, reason=f"{told}it waits for an answer. {end.reason}")
            return self._finish(end, [Outcome(step, "held") for step in planned], heads)
        rejected: list[Planned] = []
        if review is not None and planned:
            answers = dict(zip((step.n for step in planned), review(planned), strict=True))
            parts = {step.part for step in planned if not answers[step.n]}
            rejected = [step for step in planned if step.part in parts]
        around.absorb()
        if around.cancelled():
            return self._finish(replace(end, outcome="failed", reason=_CALLED_OFF, gate=CALLED_OFF))
        return self._commit(end, [step for step in planned if step not in rejected], rejected, heads)

    def _commit(
        self, end: RunEnd, wanted: Sequence[Planned], rejected: Sequence[Planned], heads: Sequence[Memory]
    ) -> Report:
        """Does what still fits. When somebody else was faster one step less does, so it comes to an end."""
        late: dict[int, str] = {}
        while True:
            found = self._late([step for step in wanted if step.n not in late])
            late |= found
            fits = [step for step in wanted if step.n not in late]
            outcomes = [
                *(Outcome(step, "stale", late[step.n]) if step.n in late else Outcome(step, "done") for step in wanted),
                *(Outcome(step, "rejected") for step in rejected),
            ]
            outcomes.sort(key=lambda each: each.step.n)
            try:
                return self._finish(_in_the_end(end, fits, outcomes), outcomes, heads, fits)
            except LeaseLost:
                raise
            except (Conflict, NotFound):
                if not self._late(fits):
                    raise

    def _late(self, wanted: Sequence[Planned]) -> dict[int, str]:
        with self._around.store.view() as connection:
            hooks = hooks_of(lines.rows(connection, self._around.shelf))
            told_anew = [memory for memory in hooks if hooks[memory] != self._hooks.get(memory)]
            return dream_steps.stale(wanted, reader.heads(connection, self._around.shelf), told_anew)

    # The end

    def _finish(
        self,
        end: RunEnd,
        outcomes: Sequence[Outcome] = (),
        heads: Sequence[Memory] | None = None,
        done: Sequence[Planned] = (),
    ) -> Report:
        """Commits the end of the run. `heads`: the memories that were looked through; None: they are to be again."""
        around = self._around
        used = () if self._tools is None else self._tools.events
        end = without_secrets(replace(end, at=around.clock(), events=used))
        if self._dry:  # what it cost is on record, and nothing else
            with suppress(Conflict):
                around.store.finish_run(replace(end, outcome="skipped", gate="dry"))
            return Report(end, tuple(outcomes))
        memories = None
        if heads is not None:
            left = {head.id: head.token for head in heads}
            left |= {step.memory: token(step.memory, self.id) for step in done}
            gone = {step.memory for step in done if step.content is None}
            memories = dream_steps.digest_of({memory: each for memory, each in left.items() if memory not in gone})
        seen = {} if heads is None else around.material.noted
        dreamt = None if end.outcome == "failed" else Dreamt(around.lease, outcomes, memories, seen)
        around.store.finish_run(end, self._change_set(end, done), sources=self._sources(done), dreamt=dreamt)
        self._tell("done", end.turns, end.reason)
        return Report(end, tuple(outcomes), self.id if done else None)

    def _failed(self, reason: str, gate: str | None = None) -> Report:
        return self._finish(RunEnd(self.id, "failed", 0, reason, gate=gate))

    def _change_set(self, end: RunEnd, done: Sequence[Planned]) -> ChangeSet | None:
        if not done:
            return None
        gone = [f"{step.path} {_gone(step)}: {step.reason}" for step in done if step.content is None]
        return ChangeSet(
            self.id,
            KIND,
            end.at,
            self._around.provenance,
            dream_steps.changes(done, self._around.shelf),
            reason=masked("; ".join([end.reason, *gone]))[:_LONGEST],
            request=f"the end of {self.id}",
            derived=dream_steps.derived(done),
        )

    def _sources(self, done: Sequence[Planned]) -> tuple[Source, ...]:
        memories = {step.memory for step in done}
        found = () if self._tools is None else self._tools.sources()
        return tuple(each for each in found if each.memory in memories)

    def _tell(self, phase: str, turns: int, note: str = "") -> None:
        around, tools = self._around, self._tools
        files = 0 if self._space is None else len(self._space.steps)
        self._told = Progress(phase, turns, 0 if tools is None else tools.calls, files, note, around.clock())
        with suppress(StoreUnavailable), around.store.change(durable=False) as connection:
            steps.note_progress(connection, self.id, self._told)
        around.progress(self._told)


def material(found: Material, listed: str, unwanted: Sequence[Planned] = ()) -> str:
    """What the model is told of at first."""
    pages = [f"- {page.path}: {page.told}" for page in found.pages.values()] or ["(nothing)"]
    parts = {
        "The memories that there are, oldest first:": [listed],
        "What else can be looked into:": pages,
        "What rules have found:": [f"- {hint}" for hint in found.hints],
        "What a person did not want or took back, and stays as it is:": [_told(step) for step in unwanted[:_TOLD]],
    }
    return "\n\n".join(f"{title}\n\n" + "\n".join(lines) for title, lines in parts.items() if lines)


def _told(step: Planned) -> str:
    into = "" if step.into_path is None else f" into {step.into_path}"
    return f"- {step.action} {step.path}{into}"


def _in_the_end(end: RunEnd, fits: Sequence[Planned], outcomes: Sequence[Outcome]) -> RunEnd:
    if fits or not outcomes:
        return end
    late = sum(each.state == "stale" for each in outcomes)
    told = "nothing was left to do: others had changed the same memories" if late else "nothing was accepted"
    return replace(end, outcome="nothing", reason=f"{told}. {end.reason}")


def _gone(step: Planned) -> str:
    return "deleted" if step.into_path is None else f"merged into {step.into_path}"
