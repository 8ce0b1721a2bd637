"""The tools of a dream: those of every run, over memories that may be merged, with an account of each line.

Whatever is staged, every line that the memories had when the dream began is in a result or has its account: a call that
would leave one without is refused, and the lines are named. What a result was made from is known: its own text, what
is merged into it and the sources it names; all other words need a quote, or count as a tool's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from memstore.core.accounting import Account
from memstore.core.dream_steps import Planned
from memstore.core.frontmatter import read
from memstore.core.index_values import Line
from memstore.core.model import LARGEST
from memstore.core.names import check_path, collision_key
from memstore.core.plan import encoded
from memstore.core.quotes import says_enough
from memstore.core.secrets import masked
from memstore.errors import InputRefused, NotFound
from memstore.jobs import showing
from memstore.jobs.dream_ledger import Ledger, Plan, hooks_of
from memstore.jobs.dream_material import INSTRUCTIONS, Material, Page
from memstore.jobs.dream_rules import RULES, Derived, Quote, check_name, check_place
from memstore.jobs.dream_table import TOOLS
from memstore.jobs.forms import check_file, inside
from memstore.jobs.given import Input, folded, number_of, optional, pattern_of, switch, text_of
from memstore.jobs.messages import Tool, ToolResult, ToolUse
from memstore.jobs.replacing import replaced
from memstore.jobs.tools import Tools
from memstore.jobs.vouching import Made, is_personal
from memstore.jobs.workspace import File, Workspace
from memstore.store.runs import Source

_FOREIGN = "surrogateescape"
_FOUND = 40
"""Lines of sessions that one search shows."""
_LONGEST_REASON = 300
_MOST_LINES = 500


class DreamTools(Tools):
    """The tools of one dream.

    `material`: what else it may look into. `unwanted`: what is not to be done again. `lines`: those of the index.
    """

    def __init__(
        self,
        workspace: Workspace,
        material: Material,
        directory: str,
        clock: Callable[[], int],
        unwanted: Iterable[Planned] = (),
        lines: Iterable[Line] = (),
    ) -> None:
        super().__init__(workspace, material.said, directory, clock)
        self._material = material
        heads = {collision_key(file.path): file.memory for file in workspace.files() if file.memory}
        self._ledger = Ledger(heads, self._text, hooks_of(lines))
        self._unwanted = {(step.memory, step.content) for step in unwanted}
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
        before = self._file(self._writable(self._path(given)))
        self._check_place(collision_key(before.path), before.content)
        old, new = text_of(given, "old_string"), text_of(given, "new_string")
        encoded(old), encoded(new)
        now = before.content.decode("utf-8", _FOREIGN)
        after, _ = replaced(now, old, new, every=switch(given, "replace_all"), most=LARGEST)
        return self._changed(given, before.path, after.encode("utf-8", _FOREIGN), super()._edit)

    def _write(self, given: Input) -> str:
        path, content = self._writable(self._path(given)), encoded(text_of(given, "content"))
        return self._changed(given, path, content, super()._write)

    def _writable(self, path: str) -> str:
        if collision_key(path) == collision_key(INSTRUCTIONS):
            raise InputRefused(f"{INSTRUCTIONS} is the project's own and only read")
        return check_file(path)

    def _changed(self, given: Input, path: str, content: bytes, stage: Callable[[Input], str]) -> str:
        name = collision_key(path)
        self._check_place(name, content)
        plan = self._planned(name, given)
        plan = replace(plan, into=None, sources=tuple(dict.fromkeys((*plan.sources, *self._sources(given, name)))))
        plan, self._derived = self._ledger.made_from(name, content, plan, self._quote(given))
        for rule in RULES:  # what it may not be at all is said before what it lacks
            rule(self._ledger.heads.get(name), content, (self._derived,))
        lost = self._check({name, *plan.sources, *self._ledger.merged(name)}, name, content, plan, given)
        told = stage(given)
        self._ledger.plans[name] = plan
        self._ledger.vouched |= lost
        return told

    def _delete(self, given: Input) -> str:
        path = self._writable(self._path(given))
        name, file = collision_key(path), self._file(path)
        self._check_place(name, None)
        if self._ledger.merged(name):
            raise InputRefused("another memory was merged into it in this run, so it stays")
        into = collision_key(self._target(given, name).path) if given.get("into") is not None else None
        plan = replace(self._planned(name, given), into=into)
        quote = self._quote(given)
        asked = quote.on(file.text)
        self._derived = Derived(asked.voice, asked.message, merged=into is not None)
        plans = {name: plan}
        if into is not None:
            if file.memory is None:
                raise InputRefused("it was written in this run: leave `into` out")
            plans[into] = self._merged(name, into, plan, quote)
        lost = self._check({name, *plan.sources}, name, None, plan, given)
        told = super()._delete(given)
        self._ledger.plans |= plans
        self._ledger.vouched |= lost
        if file.memory is None:
            del self._ledger.plans[name]
        return told if into is None else f"{told} {self._target(given, name).path} has its words."

    def _made(self, given: Input) -> Made:
        return self._derived or super()._made(given)

    def _planned(self, name: str, given: Input) -> Plan:
        """What is known of a file with what a call says of it."""
        plan = self._ledger.of(name)
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
            if source not in self._ledger.heads:
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

    def _check_place(self, name: str, content: bytes | None) -> None:
        """Whether a memory may get this text (None: be deleted) at all."""
        check_name(name)
        if (head := self._ledger.heads.get(name)) is not None:
            check_place(head)
            if (head.id, content) in self._unwanted:
                raise InputRefused("an earlier dream did just that, and a person did not want it: it stays as it is")

    def _merged(self, name: str, into: str, plan: Plan, quote: Quote) -> Plan:
        """The plan of the file that a memory is merged into. Raises InputRefused where its words may not go there."""
        file = self._workspace.read(into)
        assert file is not None
        if is_personal(read(self._ledger.heads[name].state.content)) and not is_personal(read(file.content)):
            raise InputRefused("a user or feedback memory is merged into one of these types only")
        if file.memory is not None:
            check_place(file.memory)
        target = self._ledger.of(into)
        target = replace(target, sources=tuple(dict.fromkeys((*target.sources, name))))
        known = {**self._ledger.plans, name: plan}
        target, derived = self._ledger.made_from(into, file.content, target, quote, known)
        for rule in RULES:
            rule(file.memory, file.content, (derived,))
        return target

    def _check(
        self, names: Iterable[str], name: str, content: bytes | None, plan: Plan, given: Input
    ) -> set[tuple[str, str]]:
        return self._ledger.check(names, {name: content}, {name: plan}, self._quote(given))

    def _quote(self, given: Input) -> Quote:
        return Quote(super()._made(given), optional(given, "quote"))

    def _text(self, name: str) -> bytes | None:
        file = self._workspace.read(name)
        return None if file is None else file.content

    # The end

    def planned(self) -> tuple[Planned, ...]:
        """All that is staged, as steps."""
        return self._ledger.planned(self._workspace.steps)

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
    return masked(showing.visible(" ".join(reason.split())))[:_LONGEST_REASON]
