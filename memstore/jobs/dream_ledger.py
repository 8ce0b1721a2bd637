"""What a dream says of its changes, held against what the memories said when it began.

Whatever is staged, every line that the memories had when the dream began is in a result or has its account. What a
result was made from is known: its own text, what is merged into it and the sources that it names; all other words need
a quote, or count as a tool's. Paths are keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from memstore.core.accounting import (
    Account,
    fresh,
    keeps_sense,
    key,
    keys_of,
    lines_of,
    misplaced,
    missing,
    says,
    says_less,
    settled,
    turned,
)
from memstore.core.dream_steps import Planned, numbered
from memstore.core.frontmatter import read
from memstore.core.index_lines import parse
from memstore.core.index_values import Line
from memstore.core.model import Memory, Origin, least_trusted
from memstore.core.names import collision_key
from memstore.errors import Defect, InputRefused
from memstore.jobs import showing
from memstore.jobs.dream_rules import Derived, Quote
from memstore.jobs.vouching import Made, is_personal
from memstore.jobs.workspace import Step

_NAMED = 12
"""Lines that are missing of which a refusal gives the text."""
_SHOWN = 200
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class Plan:
    """What was said of the changes of one file. Paths are keys; `words`: what lines of its own were made from."""

    reasons: tuple[str, ...] = ()
    accounts: tuple[Account, ...] = ()
    sources: tuple[str, ...] = ()
    into: str | None = None
    words: Mapping[str, Made] = field(default_factory=dict[str, Made])


class Ledger:
    """The accounts of one dream. `heads`: the memories when it began; `text`: a file as it is staged.

    `hooks`: what somebody wrote of a memory, by its id, into its line of the index, which goes with it.
    """

    def __init__(
        self,
        heads: Mapping[str, Memory],
        text: Callable[[str], bytes | None],
        hooks: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        self.heads = heads
        self._hooks = hooks
        self.plans: dict[str, Plan] = {}
        self.vouched: set[tuple[str, str]] = set()
        self._text = text

    def of(self, name: str) -> Plan:
        """What was said of a file so far."""
        return self.plans.get(name, Plan())

    def merged(self, name: str, plans: Mapping[str, Plan] | None = None) -> list[str]:
        """The files that are merged into one."""
        return [each for each, plan in (self.plans if plans is None else plans).items() if plan.into == name]

    def check(
        self,
        names: Iterable[str],
        texts: Mapping[str, bytes | None],
        plans: Mapping[str, Plan],
        quote: Quote,
    ) -> set[tuple[str, str]]:
        """Refuses a call after which a line of one of these memories would be neither in a result nor accounted for.

        `texts` and `plans`: as they would be. Gives the lines that a memory of the person loses by words of
        the person: `vouched` has them when the call is carried out.
        """
        known = {**self.plans, **plans}
        lost: set[tuple[str, str]] = set()
        for name in sorted(names):
            accounts, left = self.fate(name, texts, known)
            if left:
                raise InputRefused(_told(self.heads[name].path, left))
            if name in self.heads and _speaks_for_the_person(self.heads[name]):
                lost |= {(name, key(each.line)) for each in accounts if not keeps_sense(each)} - self.vouched
                lost |= {(name, key(line)) for line in self._turned(name, texts, known)} - self.vouched
        for name, line in sorted(lost):
            if quote.on(line).voice == "person":
                continue
            raise InputRefused(
                f"{self.heads[name].path} speaks for the person: a line of it may be said in other words that mean the"
                " same, and stand elsewhere below the same `not`. It is dropped, or made to say something else, only"
                " with `quote`, words that the person wrote in a session and that bear on it:"
                f" {showing.visible(line)[:_SHOWN]}"
            )
        return lost

    def fate(
        self, name: str, texts: Mapping[str, bytes | None], plans: Mapping[str, Plan]
    ) -> tuple[list[Account], list[str]]:
        """What becomes of the lines that a memory had when the dream began, and those of which nobody said it.

        Of one that is deleted and not merged nothing is asked: it is listed as a whole.
        """
        head, plan = self.heads.get(name), plans.get(name, Plan())
        own = texts[name] if name in texts else self._text(name)
        if head is None or (own is None and plan.into is None):
            return [], []
        found = self._homes(name, texts, plans)
        there = list(found.values())
        pool = [account for each in (*found, name) for account in plans.get(each, Plan()).accounts]
        old = head.state.content
        lines = [*missing(old, there), *misplaced(old, there)]
        if own is None:
            said = set[str]().union(*map(keys_of, there))
            lines += [hook for hook in self._hooks.get(head.id, ()) if not says(hook, said)]
        return settled(list(dict.fromkeys(lines)), pool, there)

    def _homes(self, name: str, texts: Mapping[str, bytes | None], plans: Mapping[str, Plan]) -> dict[str, bytes]:
        """The texts in which the lines of a memory may stand: its own, and those that were made from it."""
        wanted = [plans.get(name, Plan()).into or name, *(each for each in plans if name in plans[each].sources)]
        found = {each: texts[each] if each in texts else self._text(each) for each in dict.fromkeys(wanted)}
        mine = is_personal(read(self.heads[name].state.content))
        return {
            each: content
            for each, content in found.items()
            if content is not None and (not mine or is_personal(read(content)))
        }

    def _turned(self, name: str, texts: Mapping[str, bytes | None], plans: Mapping[str, Plan]) -> list[str]:
        own = texts[name] if name in texts else self._text(name)
        if own is None and plans.get(name, Plan()).into is None:
            return []
        return turned(self.heads[name].state.content, self._homes(name, texts, plans).values())

    def made_from(
        self, name: str, content: bytes, plan: Plan, quote: Quote, plans: Mapping[str, Plan] | None = None
    ) -> tuple[Plan, Derived]:
        """Whose words a text has, given what it was made from; the plan, with the words that are its own."""
        known = self.plans if plans is None else plans
        others = [self.heads[each] for each in dict.fromkeys((*plan.sources, *self.merged(name, known)))]
        own = [self.heads[name]] if name in self.heads else []
        inputs = [*own, *others]
        accounts = [
            *plan.accounts,
            *(account for each in self.merged(name, known) for account in known[each].accounts),
        ]
        old = [each.state.content for each in inputs]
        mine = is_personal(read(content))
        if not mine:  # who wrote into the index is not known
            old += [hook.encode() for each in inputs for hook in self._hooks.get(each.id, ())]
        new = [key(line) for line in fresh(content, old, accounts, strict=mine)]
        words = {line: plan.words.get(line) or quote.on(line) for line in new}
        asked = quote.on(content.decode("utf-8", "replace")).voice
        voices = {made.voice for made in words.values()} or {"agent" if asked == "tool" else asked}
        by_tool = "tool" in voices or any(each.origin == "tool" for each in others)
        derived = Derived(
            "tool" if by_tool else "agent" if "agent" in voices else "person",
            quote.made.message,
            personal=bool(inputs) and all(is_personal(read(each.state.content)) for each in inputs),
            fresh=any(made.voice != "person" for made in words.values()),
        )
        return replace(plan, words=words), derived

    def planned(self, steps: Sequence[Step]) -> tuple[Planned, ...]:
        """What is staged, as steps of a dream. Raises Defect where a line is without its account after all."""
        staged = {collision_key(step.path): step for step in steps}
        together: list[tuple[str, str]] = []
        for name, step in staged.items():
            related = [*self.plans[name].sources, *filter(None, [self.plans[name].into])]
            together += [(step.memory, staged[each].memory) for each in related if each in staged]
        return numbered([self._step(name, step, staged) for name, step in staged.items()], together)

    def _step(self, name: str, step: Step, staged: Mapping[str, Step]) -> Planned:
        plan, head = self.plans[name], step.seen
        lines, left = self.fate(name, {}, self.plans)
        if left:
            raise Defect(f"lines of {step.path} are not accounted for: {left[:3]}")
        others = [self.heads[each] for each in dict.fromkeys((*plan.sources, *self.merged(name)))]
        into, into_path = None, None
        if plan.into is not None and plan.into in staged:
            into, into_path = staged[plan.into].memory, staged[plan.into].path
        elif plan.into is not None:
            target = self.heads[plan.into]
            into, into_path = target.id, target.path
            others.append(target)
        before = None if head is None else head.state.content
        gone = step.content is None
        # Its lines may stand where nothing is staged: they are to stand there still.
        kept = [self.heads[each] for each in self._homes(name, {}, self.plans) if each not in staged] if head else []
        return Planned(
            0,
            0,
            "create" if head is None else "revise" if not gone else "delete" if plan.into is None else "merge",
            step.memory,
            step.path,
            None if head is None else head.token,
            before,
            step.content,
            self._origin(plan, head, others) if not gone else head.origin if head is not None else "agent",
            "; ".join(plan.reasons)[:_LONGEST_REASON],
            into,
            into_path,
            tuple(dict.fromkeys((each.id, each.token) for each in (*others, *kept) if each.id != step.memory)),
            tuple(lines),
            loss=1.0 if gone else 0.0 if before is None else _loss(before, lines),
        )

    def _origin(self, plan: Plan, head: Memory | None, others: Sequence[Memory]) -> Origin:
        voices: list[Origin] = [made.voice for made in plan.words.values()]
        if head is not None:
            voices.append(head.origin)
        return least_trusted("agent", *voices, *(each.origin for each in others))


def hooks_of(lines: Iterable[Line]) -> dict[str, list[str]]:
    """The hooks that somebody wrote by hand into lines of the index, by the id of their memory."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.memory is not None and line.kind != "auto" and line.hook_by == "hand":
            hook = next((piece.hook.strip() for piece in parse(line.text)), "")
            if any(map(str.isalnum, hook)):
                found.setdefault(line.memory, []).append(hook)
    return found


def _loss(before: bytes, lines: Sequence[Account]) -> float:
    """What share of a text is not said any more; of most of it all counts."""
    share = sum(map(says_less, lines)) / max(1, len(lines_of(before)))
    return 1.0 if share > 0.5 else share


def _speaks_for_the_person(head: Memory) -> bool:
    return head.origin == "person" or is_personal(read(head.state.content))


def _told(path: str, left: Sequence[str]) -> str:
    named = "\n".join(f"- {showing.visible(line)[:_SHOWN]}" for line in left[:_NAMED])
    more = f"\n({len(left) - _NAMED} more)" if len(left) > _NAMED else ""
    return (
        f"lines of {path} are neither in the result nor in `lines`. Keep them (each as often as it was there and below"
        " its heading, code with its indent and marks in a block of code), or list each with its fate (for reworded,"
        f" `now` must be in the result) and the reason:\n{named}{more}"
    )
