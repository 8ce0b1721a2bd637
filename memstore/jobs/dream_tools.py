"""The tools of a dream: those of every run, over memories that may be merged, with an account of each line.

Whatever is staged, every line that the memories had when the dream began is in a result or has its account: a call that
would leave one without is refused, and the lines are named. What a result was made from is known: its own text, what
is merged into it and the sources it names; all other words need a quote, or count as a tool's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from memstore.core.accounting import Account, fresh, key, lines_of, missing, settled
from memstore.core.dream_steps import Planned, numbered
from memstore.core.frontmatter import read
from memstore.core.model import LARGEST, Memory, Origin, least_trusted
from memstore.core.names import check_path, collision_key
from memstore.core.plan import encoded
from memstore.core.quotes import says_enough
from memstore.errors import Defect, InputRefused, NotFound
from memstore.jobs import showing
from memstore.jobs.dream_material import Material, Page
from memstore.jobs.dream_rules import RULES, Derived, check_place
from memstore.jobs.dream_table import TOOLS
from memstore.jobs.forms import check_file, inside
from memstore.jobs.given import Input, folded, number_of, pattern_of, switch, text_of
from memstore.jobs.messages import Tool, ToolResult, ToolUse
from memstore.jobs.replacing import replaced
from memstore.jobs.tools import Tools
from memstore.jobs.vouching import Made, is_personal
from memstore.jobs.workspace import File, Step, Workspace
from memstore.store.runs import Source

_FOREIGN = "surrogateescape"
_NAMED = 12
"""Lines that are missing of which a refusal gives the text."""
_FOUND = 40
"""Lines of sessions that one search shows."""
_LONGEST_REASON = 300
_MOST_LINES = 500


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was said of the changes of one file. Paths are keys; `words`: what lines of its own were made from."""

    reasons: tuple[str, ...] = ()
    accounts: tuple[Account, ...] = ()
    sources: tuple[str, ...] = ()
    into: str | None = None
    words: Mapping[str, Made] = field(default_factory=dict[str, Made])


class DreamTools(Tools):
    """The tools of one dream. `material`: what else it may look into."""

    def __init__(self, workspace: Workspace, material: Material, directory: str, clock: Callable[[], int]) -> None:
        super().__init__(workspace, material.said, directory, clock)
        self._material = material
        self._heads = {collision_key(file.path): file.memory for file in workspace.files() if file.memory}
        self._plans: dict[str, _Plan] = {}
        self._derived: Derived | None = None
        self.calls = 0
        self.phase = "orient"

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model is told that it has."""
        return TOOLS

    def act(self, use: ToolUse) -> ToolResult:
        """Carries out a call. An error says what was wrong; then nothing was staged."""
        self._derived = None
        result = super().act(use)
        self.calls += 1
        if not result.error and use.name in ("Edit", "Write", "Delete"):
            self.phase = "consolidate"
        elif self.phase == "orient" and use.name in ("Grep", "Read"):
            self.phase = "gather"
        return result

    # What there is to look into

    def _page(self, path: str) -> Page | None:
        return self._material.pages.get(path)

    def _read(self, given: Input) -> str:
        page = self._page(self._path(given))
        if page is None:
            return super()._read(given)
        if page.narrow:
            raise InputRefused(f"a session is long: Grep for the words that matter, with path {page.path}")
        offset, limit = number_of(given, "offset") or 1, number_of(given, "limit")
        return showing.numbered(page.path, f"({page.told})", page.text, offset, limit).text

    def _grep(self, given: Input) -> str:
        place = self._path(given, "path").rstrip("/") if given.get("path") is not None else ""
        pages = [page for path, page in self._material.pages.items() if place and f"{path}/".startswith(f"{place}/")]
        if not pages:
            return super()._grep(given)
        wanted = folded(pattern_of(given))
        if any(page.narrow for page in pages) and not says_enough(wanted):
            raise InputRefused("in sessions look for words that say more: four letters at least")
        found = [
            f"{page.path}: {line}" for page in pages for line in showing.lines_of(page.text) if wanted in folded(line)
        ]
        told = "lines hold these words"
        if len(found) > _FOUND and any(page.narrow for page in pages):
            told, found = f"of {len(found)} lines that hold these words", found[-_FOUND:]
        return showing.listed(told, found, "No line there holds these words.")

    def _glob(self, given: Input) -> str:
        wanted = self._path(given, "pattern").replace("[", "[[]").replace("**/", "*")
        found = [page.path for page in self._material.pages.values() if fnmatchcase(page.path, wanted)]
        if found and not any(fnmatchcase(file.path, wanted) for file in self._workspace.files()):
            return showing.listed("files", found, "")
        return super()._glob(given)

    # Changes

    def _edit(self, given: Input) -> str:
        before = self._file(check_file(self._path(given)))
        old, new = text_of(given, "old_string"), text_of(given, "new_string")
        encoded(old), encoded(new)
        now = before.content.decode("utf-8", _FOREIGN)
        after, _ = replaced(now, old, new, every=switch(given, "replace_all"), most=LARGEST)
        return self._changed(given, before.path, after.encode("utf-8", _FOREIGN), super()._edit)

    def _write(self, given: Input) -> str:
        path, content = check_file(self._path(given)), encoded(text_of(given, "content"))
        return self._changed(given, path, content, super()._write)

    def _changed(self, given: Input, path: str, content: bytes, stage: Callable[[Input], str]) -> str:
        name = collision_key(path)
        self._check_place(name)
        plan = self._planned(name, given)
        plan = replace(plan, into=None, sources=tuple(dict.fromkeys((*plan.sources, *self._sources(given, name)))))
        plan, self._derived = self._made_from(name, content, plan, super()._made(given))
        self._check({name, *plan.sources, *self._merged(name)}, {name: content}, {name: plan}, given)
        told = stage(given)
        self._plans[name] = plan
        return told

    def _delete(self, given: Input) -> str:
        path = check_file(self._path(given))
        name, file = collision_key(path), self._file(path)
        self._check_place(name)
        if self._merged(name):
            raise InputRefused("another memory was merged into it in this run, so it stays")
        into = collision_key(self._target(given, name).path) if given.get("into") is not None else None
        plan = replace(self._planned(name, given), into=into)
        quoted = super()._made(given)
        self._derived = Derived(quoted.voice, quoted.message, merged=into is not None)
        touched = {*self._plans.get(name, _Plan()).sources}
        if into is not None:
            if file.memory is None:
                raise InputRefused("it was written in this run: leave `into` out")
            self._check_target(name, into, plan)
            touched.add(name)
        self._check(touched, {name: None}, {name: plan}, given)
        told = super()._delete(given)
        if file.memory is None:
            self._plans.pop(name, None)
        else:
            self._plans[name] = plan
        return told if into is None else f"{told} {self._target(given, name).path} has its words."

    def _made(self, given: Input) -> Made:
        return self._derived or super()._made(given)

    def _planned(self, name: str, given: Input) -> _Plan:
        """What is known of a file with what a call says of it."""
        plan = self._plans.get(name, _Plan())
        reason = _line(text_of(given, "reason"))
        if not reason:
            raise InputRefused("`reason` is empty: say why")
        return replace(plan, reasons=(*plan.reasons, reason), accounts=(*plan.accounts, *_accounts(given)))

    def _sources(self, given: Input, name: str) -> list[str]:
        found = []
        for each in _list(given, "sources"):
            if not isinstance(each, str):
                raise InputRefused("`sources` is a list of paths")
            path = inside(self._directory, each)
            if path is not None and self._page(path) is not None:
                continue  # what comes from there is known by its quote
            source = collision_key(check_path(path or each))
            if source not in self._heads:
                raise NotFound(f"there was no memory {each[:200]} when this run began, so nothing is made from it")
            if source != name:
                found.append(source)
        return found

    def _target(self, given: Input, name: str) -> File:
        path = inside(self._directory, text_of(given, "into"))
        if path is None:
            raise InputRefused("`into` is outside of the memory directory")
        file = self._workspace.read(check_file(path))
        if file is None:
            raise NotFound(f"there is no memory {path} to merge it into: write that one first")
        if collision_key(file.path) == name:
            raise InputRefused("a memory cannot be merged into itself")
        return file

    def _check_place(self, name: str) -> None:
        if (head := self._heads.get(name)) is not None:
            check_place(head)

    def _check_target(self, name: str, into: str, plan: _Plan) -> None:
        """Whether the words of a memory may go into another one."""
        file = self._workspace.read(into)
        assert file is not None
        if is_personal(read(self._heads[name].state.content)) and not is_personal(read(file.content)):
            raise InputRefused("a user or feedback memory is merged into one of these types only")
        if file.memory is not None:
            check_place(file.memory)
        of_target = self._plans.get(into, _Plan())
        known = {**self._plans, name: plan}
        _, derived = self._made_from(into, file.content, of_target, Made("agent"), known)
        for rule in RULES:
            rule(file.memory, file.content, (derived,))

    # What becomes of each line

    def _merged(self, name: str, plans: Mapping[str, _Plan] | None = None) -> list[str]:
        return [each for each, plan in (plans or self._plans).items() if plan.into == name]

    def _text(self, name: str) -> bytes | None:
        file = self._workspace.read(name)
        return None if file is None else file.content

    def _check(
        self, names: Iterable[str], texts: Mapping[str, bytes | None], plans: Mapping[str, _Plan], given: Input
    ) -> None:
        """Refuses a call after which a line of one of these memories would be neither in a result nor accounted for."""
        known = {**self._plans, **plans}
        new = {key(each.line) for each in _accounts(given) if each.fate == "dropped"}
        by_person = super()._made(given).voice == "person"
        for name in sorted(names):
            accounts, left = self._fate(name, texts, known)
            if left:
                raise InputRefused(_told(self._heads[name].path, left))
            dropped = [each.line for each in accounts if each.fate == "dropped" and key(each.line) in new]
            if dropped and not by_person and is_personal(read(self._heads[name].state.content)):
                raise InputRefused(
                    f"{self._heads[name].path} speaks for the person: a line of it may be reworded, and is dropped only"
                    " with `quote`, words that the person wrote in a session"
                )

    def _fate(
        self, name: str, texts: Mapping[str, bytes | None], plans: Mapping[str, _Plan]
    ) -> tuple[list[Account], list[str]]:
        """What becomes of the lines that a memory had when the dream began, and those of which nobody said it.

        Of one that is deleted and not merged nothing is asked: it is listed as a whole.
        """
        head, plan = self._heads.get(name), plans.get(name, _Plan())
        own = texts[name] if name in texts else self._text(name)
        if head is None or (own is None and plan.into is None):
            return [], []
        homes = [plan.into or name, *(each for each, other in plans.items() if name in other.sources)]
        found = {each: texts[each] if each in texts else self._text(each) for each in dict.fromkeys(homes)}
        there = [content for content in found.values() if content is not None]
        if is_personal(read(head.state.content)):
            there = [content for content in there if is_personal(read(content))]
        pool = [account for each in (*found, name) for account in plans.get(each, _Plan()).accounts]
        return settled(missing(head.state.content, there), pool, there)

    def _made_from(
        self, name: str, content: bytes, plan: _Plan, quoted: Made, plans: Mapping[str, _Plan] | None = None
    ) -> tuple[_Plan, Derived]:
        """Whose words a text has, given what it was made from; the plan, with the words that are its own."""
        known = self._plans if plans is None else plans
        others = [self._heads[each] for each in dict.fromkeys((*plan.sources, *self._merged(name, known)))]
        own = [self._heads[name]] if name in self._heads else []
        inputs = [*own, *others]
        accounts = [
            *plan.accounts,
            *(account for each in self._merged(name, known) for account in known[each].accounts),
        ]
        new = [key(line) for line in fresh(content, [each.state.content for each in inputs], accounts)]
        words = {line: plan.words.get(line, quoted) for line in new}
        voices = {made.voice for made in words.values()} or {"agent" if quoted.voice == "tool" else quoted.voice}
        by_tool = "tool" in voices or any(each.origin == "tool" for each in others)
        derived = Derived(
            "tool" if by_tool else "agent" if "agent" in voices else "person",
            quoted.message,
            inputs=tuple(each.origin for each in others),
            personal=bool(inputs) and all(is_personal(read(each.state.content)) for each in inputs),
            fresh=any(made.voice != "person" for made in words.values()),
        )
        return replace(plan, words=words), derived

    # The end

    def planned(self) -> tuple[Planned, ...]:
        """All that is staged, as steps. Raises Defect where a line is without its account after all."""
        steps = self._workspace.steps
        names = {collision_key(step.path): step.memory for step in steps}
        ids = {name: head.id for name, head in self._heads.items()} | names
        together: list[tuple[str, str]] = []
        for name, memory in names.items():
            plan = self._plans[name]
            related = [*plan.sources, *([] if plan.into is None else [plan.into])]
            together += [(memory, ids[each]) for each in related]
        return numbered([self._step(step, ids) for step in steps], together)

    def _step(self, step: Step, ids: Mapping[str, str]) -> Planned:
        name = collision_key(step.path)
        plan, head = self._plans[name], step.seen
        lines, left = self._fate(name, {}, self._plans)
        if left:
            raise Defect(f"lines of {step.path} are not accounted for: {left[:3]}")
        others = [self._heads[each] for each in dict.fromkeys((*plan.sources, *self._merged(name)))]
        target = None if plan.into is None else self._workspace.read(plan.into)
        kept = [] if target is None or target.staged or target.memory is None else [target.memory]
        before = None if head is None else head.state.content
        gone = step.content is None
        lost = 0 if before is None else sum(each.fate == "dropped" for each in lines)
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
            None if plan.into is None else ids[plan.into],
            None if target is None else target.path,
            tuple((each.id, each.token) for each in (*others, *kept) if each.id != step.memory),
            tuple(lines),
            heavy=gone or (before is not None and 2 * lost > len(lines_of(before))),
        )

    def _origin(self, plan: _Plan, head: Memory | None, others: Sequence[Memory]) -> Origin:
        voices: list[Origin] = [made.voice for made in plan.words.values()]
        if head is not None:
            voices.append(head.origin)
        return least_trusted("agent", *voices, *(each.origin for each in others))

    def sources(self) -> tuple[Source, ...]:
        """The messages of sessions that the staged steps were made from."""
        found: list[Source] = []
        for step in self._workspace.steps:
            for made in step.made:
                if made.message:
                    found.append(Source(step.memory, made.message, self._material.session_of(made.message)))
        return tuple(dict.fromkeys(found))


def _accounts(given: Input) -> list[Account]:
    found = []
    for each in _list(given, "lines"):
        if not isinstance(each, Mapping):
            raise InputRefused("each of `lines` has line, fate and reason")
        line, reason, now = (each.get(name) or "" for name in ("line", "reason", "now"))
        fate: object = each.get("fate")
        if not (isinstance(line, str) and isinstance(reason, str) and isinstance(now, str)):
            raise InputRefused("line, reason and now of each of `lines` are texts")
        if fate not in ("reworded", "dropped"):
            raise InputRefused("the fate of a line is reworded or dropped")
        if not line.strip() or not reason.strip():
            raise InputRefused("each of `lines` names the line and the reason")
        if fate == "reworded" and not now.strip():
            raise InputRefused("for a line that is reworded `now` has the words in the result that say it")
        encoded(line), encoded(now), encoded(reason)
        account = Account(line.strip(), "dropped", _line(reason))
        found.append(replace(account, fate="reworded", now=now.strip()) if fate == "reworded" else account)
    return found


def _list(given: Input, name: str) -> Sequence[object]:
    found = given.get(name)
    if found is None:
        return ()
    if not isinstance(found, list) or len(found) > _MOST_LINES:
        raise InputRefused(f"`{name}` is a list of at most {_MOST_LINES}")
    return found


def _line(reason: str) -> str:
    encoded(reason)
    return showing.visible(" ".join(reason.split()))[:_LONGEST_REASON]


def _told(path: str, left: Sequence[str]) -> str:
    named = "\n".join(f"- {showing.visible(line)[:200]}" for line in left[:_NAMED])
    more = f"\n({len(left) - _NAMED} more)" if len(left) > _NAMED else ""
    return (
        f"lines of {path} are neither in the result nor in `lines`. Keep them, or list each with its fate (for"
        f" reworded, `now` must be in the result) and the reason:\n{named}{more}"
    )
