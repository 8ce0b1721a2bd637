"""A staged view of the store that a job's tools read and write; its end is one change set.

What is read belongs to one moment of the store, with what was staged since on top. Each step names the version that
it was made against. Where others wrote meanwhile, `rebase` merges a step into what stands there now, drops it where
that says the same already, or gives it back; nothing of theirs is ever overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstore.core.changes import Change, ChangeSet, Create, Retire, Revise
from memstore.core.frontmatter import alike
from memstore.core.merge import merge_texts
from memstore.core.model import LARGEST, Listing, Memory, Origin, Provenance, Shelf
from memstore.core.names import check_path, collision_key
from memstore.core.secrets import masked
from memstore.errors import InputRefused, NotFound
from memstore.jobs import forms, secrecy, vouching
from memstore.jobs.replacing import replaced
from memstore.jobs.vouching import Made, Rule
from memstore.store import lines, reader
from memstore.store.runs import Source
from memstore.store.sessions import last_operation
from memstore.store.store import Store

_FOREIGN = "surrogateescape"
"""Bytes that are no UTF-8 pass through an edit of other words unharmed."""

_LONGEST_REASON = 1_000
_LATER = "what is left comes in the next run"

RULES: Final[tuple[Rule, ...]] = (forms.check, vouching.check, secrecy.check)
"""What a run may write: in which shape, with whose words, and no secret."""


FEW: Final = 3
"""So many memories a run may always delete; of more a fifth."""


@dataclass(frozen=True, slots=True)
class File:
    """A memory's file as a job sees it. `memory`: as it stands in the store; None: it is made here."""

    path: str
    content: bytes
    memory: Memory | None
    staged: bool = False

    @property
    def text(self) -> str:
        """Its text, to be read by a model."""
        return self.content.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Step:
    """A staged change. `seen`: the version that it was made against; None: the path must be free.

    `content` None: it is deleted. `whole`: the text was given as a whole. `made`: what its words were made from.
    """

    memory: str
    path: str
    seen: Memory | None
    content: bytes | None
    whole: bool
    made: tuple[Made, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GivenBack:
    """A step that is staged no more, and why. `wanted` and `current`: its text and the store's; None: deleted."""

    path: str
    wanted: bytes | None
    current: bytes | None
    reason: str


@dataclass(frozen=True, slots=True)
class Rebased:
    """What became of the staged steps. `moved`: others had changed something that one of them is about."""

    moved: bool
    merged: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    given_back: tuple[GivenBack, ...] = ()


@dataclass(frozen=True, slots=True)
class _View:
    """One moment of a shelf."""

    seq: int
    heads: dict[str, Memory]
    ids: dict[str, str]
    index: str

    @classmethod
    def of(cls, store: Store, shelf: Shelf) -> _View:
        with store.view() as connection:
            seq = last_operation(connection)
            heads = {memory.id: memory for memory in reader.heads(connection, shelf)}
            index = lines.rendering(connection, shelf)
        ids = {collision_key(memory.path): memory.id for memory in heads.values()}
        return cls(seq, heads, ids, "" if index is None else index.text)

    def at(self, path: str) -> Memory | None:
        found = self.ids.get(collision_key(path))
        return None if found is None else self.heads[found]


class Workspace:
    """The memories of one shelf, to be read and changed by one run.

    `rules`: each raises for what it may not do. `beside`: memories of elsewhere, which it only reads. `most`: how many
    it may change, and of those that there are it then deletes at most a fifth; None: any number. `new`: how many it may
    make; None: as many as it may change.
    """

    def __init__(
        self,
        store: Store,
        shelf: Shelf,
        new_id: Callable[[], str],
        clock: Callable[[], int],
        rules: tuple[Rule, ...] = RULES,
        beside: Sequence[Memory] = (),
        most: int | None = None,
        new: int | None = None,
    ) -> None:
        self._shelf = shelf
        self._new_id = new_id
        self._clock = clock
        self._rules = rules
        self._beside = {collision_key(memory.path): memory for memory in beside}
        self._view = _View.of(store, shelf)
        self._steps: dict[str, Step] = {}
        self._most = most
        self._new = new
        self._deletions = max(FEW, len(self._view.heads) // 5)
        self.is_full = False
        """Whether more was to be changed than one run may."""

    # Reading

    @property
    def seq(self) -> int:
        """The last operation whose outcome is seen here."""
        return self._view.seq

    @property
    def index(self) -> str:
        """MEMORY.md as it is shown, without what is staged; empty where there is no line."""
        return self._view.index

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is staged, in the order in which each file was first touched."""
        return tuple(self._steps.values())

    def files(self) -> list[File]:
        """The files that there are, by path."""
        found = [self._file(memory, self._steps.get(memory.id)) for memory in self._view.heads.values()]
        found += [self._file(None, step) for step in self._steps.values() if step.seen is None]
        found += [self._file(memory, None) for memory in self._beside.values()]
        return sorted((file for file in found if file is not None), key=lambda file: collision_key(file.path))

    def read(self, path: str) -> File | None:
        """The file at a path, upper and lower case being one; None where there is none."""
        other = self._beside.get(collision_key(path))
        return self._file(*self._at(path)) if other is None else self._file(other, None)

    # Staging: each raises InputRefused or NotFound, and then nothing is staged

    def stage_write(self, path: str, content: bytes, made: Made) -> bool:
        """A whole text, for a new file or in place of another. False where it stands there already."""
        head, step = self._at(path)
        return self._stage(head, step, head.path if head else step.path if step else check_path(path), content, (made,))

    def stage_edit(self, path: str, old: str, new: str, every: bool, made: Made) -> int:
        """Other words in the one place of a file that has the old ones, or in `every` one. Returns how many."""
        head, step = self._at(path)
        file = self._file(head, step)
        if file is None:
            raise NotFound(f"there is no memory {path}")
        text, count = replaced(file.content.decode("utf-8", _FOREIGN), old, new, every=every, most=LARGEST)
        earlier = step.made if step is not None else ()
        self._stage(head, step, file.path, text.encode("utf-8", _FOREIGN), (*earlier, made), whole=False)
        return count

    def stage_delete(self, path: str, reason: str, made: Made) -> None:
        """Takes a file out of use."""
        head, step = self._at(path)
        file = self._file(head, step)
        if file is None:
            raise NotFound(f"there is no memory {path}")
        if head is None:
            assert step is not None
            del self._steps[step.memory]
            return
        self._check(head, None, (made,))
        self._check_room(head.id, deletes=True)
        self._steps[head.id] = Step(head.id, head.path, head, None, True, (made,), reason)

    def _stage(
        self,
        head: Memory | None,
        step: Step | None,
        path: str,
        content: bytes,
        made: tuple[Made, ...],
        *,
        whole: bool = True,
    ) -> bool:
        if len(content) > LARGEST:
            raise InputRefused(f"the text has {len(content)} bytes; a memory has {LARGEST} at most")
        now = step.content if step is not None else None if head is None else head.state.content
        if content == now:
            return False
        self._check(head, content, made)
        if head is not None and content == head.state.content:
            self._steps.pop(head.id, None)
            return True
        if head is None and step is None:
            self._check_new()
        memory = step.memory if step is not None else head.id if head is not None else self._new_id()
        self._check_room(memory)
        whole = whole or (step is not None and step.whole)
        self._steps[memory] = Step(memory, path, head, content, whole, made)
        return True

    def _at(self, path: str) -> tuple[Memory | None, Step | None]:
        head = self._view.at(path)
        if head is not None:
            return head, self._steps.get(head.id)
        key = collision_key(path)
        mine = (step for step in self._steps.values() if step.seen is None and collision_key(step.path) == key)
        return None, next(mine, None)

    def _file(self, head: Memory | None, step: Step | None) -> File | None:
        if step is not None:
            return None if step.content is None else File(step.path, step.content, head, staged=True)
        return None if head is None else File(head.path, head.state.content, head)

    def _check(self, head: Memory | None, text: bytes | None, made: tuple[Made, ...]) -> None:
        for rule in self._rules:
            rule(head, text, made)

    def _check_room(self, memory: str, *, deletes: bool = False) -> None:
        """Raises InputRefused where one more change is one too many: a flood buries what was there before."""
        if self._most is None:
            return
        others = [step for step in self.steps if step.memory != memory]
        if len(others) >= self._most:
            self.is_full = True
            raise InputRefused(f"one run changes at most {self._most} memories (extract.files); {_LATER}")
        if deletes and sum(step.content is None for step in others) >= self._deletions:
            self.is_full = True
            raise InputRefused(f"one run deletes at most {self._deletions} of these memories; {_LATER}")

    def _check_new(self) -> None:
        if self._new is not None and sum(step.seen is None for step in self.steps) >= self._new:
            self.is_full = True
            raise InputRefused(f"one run makes at most {self._new} new memories (extract.files); {_LATER}")

    # The end

    def change_set(self, kind: str, operation: str, provenance: Provenance, reason: str = "") -> ChangeSet | None:
        """All that is staged, as one operation; None where nothing is.

        A file that holds words of tools is derived from them, and a new one of these gets no line in the index.
        """
        if not self._steps:
            return None
        reasons = [reason, *(f"{step.path} deleted: {step.reason}" for step in self.steps if step.content is None)]
        tool: Origin = "tool"
        return ChangeSet(
            operation,
            kind,
            self._clock(),
            provenance,
            tuple(_change(step, self._shelf) for step in self.steps),
            reason=masked("; ".join(filter(None, reasons)))[:_LONGEST_REASON],
            derived=tuple((step.memory, tool) for step in self.steps if _is_of_tools(step)),
        )

    def sources(self) -> tuple[Source, ...]:
        """The messages that the staged steps were made from."""
        made = ((step.memory, each.message) for step in self.steps for each in step.made if each.message)
        return tuple(Source(memory, message) for memory, message in dict.fromkeys(made))

    def rebase(self, store: Store) -> Rebased:
        """Moves to the present moment of the store, and takes the staged steps along as far as they fit.

        For use when a commit raised a kind of Conflict, or NotFound. Where nothing `moved`, they had another cause.
        """
        now = _View.of(store, self._shelf)
        kept: dict[str, Step] = {}
        merged: list[str] = []
        dropped: list[str] = []
        given_back: list[GivenBack] = []
        for step in self.steps:
            found = self._rebased(step, now)
            if isinstance(found, GivenBack):
                given_back.append(found)
            elif found is None:
                dropped.append(step.path)
            else:
                kept[found.memory] = found
                if found.content != step.content:
                    merged.append(found.path)
        moved = tuple(kept.values()) != self.steps
        self._view, self._steps = now, kept
        return Rebased(moved, tuple(merged), tuple(dropped), tuple(given_back))

    def _rebased(self, step: Step, now: _View) -> Step | GivenBack | None:
        """The step against the present moment; None where what it wants is so already."""
        if step.seen is None:
            there = now.at(step.path)
            if there is None:
                return step
            if step.content is not None and alike(there.state.content, step.content):
                return None
            return _back(step, there, "another session made a file of that name meanwhile")
        head = now.heads.get(step.memory)
        if head is not None and head.token == step.seen.token:
            return step
        if step.content is None:
            return _deletion(step, step.seen, head)
        if head is None:
            return _back(step, now.at(step.path), "it was deleted meanwhile")
        result = merge_texts(step.seen.state.content, head.state.content, step.content)
        if result.conflict or len(result.content) > LARGEST:
            return _back(step, head, "another session changed the same words meanwhile")
        if result.content == head.state.content:
            return None
        try:
            self._check(head, result.content, step.made)
        except InputRefused as refusal:
            return _back(step, head, f"it was changed meanwhile: {refusal}")
        return replace(step, path=head.path, seen=head, content=result.content, whole=False)


def _deletion(step: Step, seen: Memory, head: Memory | None) -> Step | GivenBack | None:
    """A deletion holds for the text that was seen, under the name that it had."""
    if head is None:
        return None
    same = head.path == seen.path and head.state.pinned == seen.state.pinned
    if same and alike(head.state.content, seen.state.content):
        return replace(step, seen=head)
    return _back(step, head, "it was changed meanwhile, so it is not deleted")


def _back(step: Step, head: Memory | None, reason: str) -> GivenBack:
    path, current = (step.path, None) if head is None else (head.path, head.state.content)
    return GivenBack(path, step.content, current, reason)


def _change(step: Step, shelf: Shelf) -> Change:
    if step.seen is None:
        assert step.content is not None
        listing: Listing = "unlisted" if _is_of_tools(step) else "due"
        return Create(step.memory, shelf, step.path, step.content, listing=listing)
    if step.content is None:
        return Retire(step.memory, step.seen.token)
    return Revise(step.memory, step.seen.token, step.content, merged=not step.whole)


def _is_of_tools(step: Step) -> bool:
    return step.content is not None and any(each.voice == "tool" for each in step.made)
