"""What is told of the memories that bear on a prompt: those of the short-list that are sure, new to the session, and
within its budget. Nothing sure: nothing.

Pinned memories and corrections come first; one that was superseded comes only behind its correction, if there is room.
What is told unasked leaves out words of tools: nobody ever wished that they be heard. Nothing is stored but what a
session was told, and that its caller does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from memstore.core.certain import Verdict, spread, verdicts
from memstore.core.model import SHELF, Memory
from memstore.core.recall_text import MEMORIES, SESSION, Excerpted, told
from memstore.core.sought import read_prompt
from memstore.core.unseen import one_line
from memstore.recalling import Likeness, Ranked, likeness_for, ranked_in
from memstore.store import reader, recalled
from memstore.store.candidates import Found, behind_corrections, found
from memstore.store.search import Filters

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.checking import Tree
    from memstore.claude.root import Root
    from memstore.store.connection import Reading
    from memstore.world import World

Notes = Callable[[Memory], Sequence[str]]
"""What to say beside a memory: its age, what it names that is gone."""

_LISTED = 200
_BY_MODEL = "a model picked it for the prompt before"
_KNOWN = {
    "told": "this session was told this version",
    "read": "this session has read this version",
    "written": "this session wrote this version itself",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory of the short-list, whether it is told, and why or why not."""

    memory: Found
    score: float
    picked: bool
    why: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """`text`: the frame with all that is told, or nothing. `candidates`: those that are told first, in their order."""

    text: str
    candidates: tuple[Candidate, ...] = ()
    sizes: tuple[int, ...] = ()

    @property
    def memories(self) -> tuple[Found, ...]:
        """Those that are told."""
        return tuple(one.memory for one in self.candidates if one.picked)

    @property
    def shown(self) -> list[tuple[str, str, int]]:
        """What the session is told, for `store.recalled.record`."""
        return [(one.id, one.token, size) for one, size in zip(self.memories, self.sizes, strict=True)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt, and for whom. `session`: what it knows is left out, unless `again`. `unasked`: nobody asked for it.
    `room`: UTF-16 units of the text. `whose`: the agent whose own memory is asked."""

    prompt: str
    session: str | None = None
    again: bool = False
    unasked: bool = False
    most: int = MEMORIES
    room: int | None = None
    scope: str = SHELF.scope
    whose: str = ""


def recall(memories: Memstore, asked: Asked, likeness: Likeness | None = None) -> Recalled:
    """The answer in a working directory, after a look at the folder and at the very files that are told. What the
    session is told is kept. Where the prompt names agents that have memories of their own, those answer instead.
    `likeness`: what compares by meaning, instead of what the settings ask for."""
    from memstore.files.freshness import has_news

    if "@" in asked.prompt and memories.place.agent is None:
        from memstore.agents import recall_of
        from memstore.claude.agents import mentioned

        named = mentioned(asked.prompt, memories.world.cwd, memories.world.environment)
        if named:
            return recall_of(memories.world, named, asked, likeness or likeness_for(memories))

    def now() -> Recalled:
        with memories.store.view() as connection:
            notes = notes_in(connection, memories.place.root, memories.world, folder)
            return recalled_in(connection, asked, notes, likeness=likeness)

    folder, asked = memories.place.folder, replace(asked, whose=memories.world.whose)
    if likeness is None:
        likeness = likeness_for(memories)
    if has_news(memories.store, folder):
        memories.look()
    answer = now()
    if answer.memories and has_news(memories.store, folder, [one.path for one in answer.memories]):
        memories.look()
        answer = now()
    if asked.session is not None and answer.memories and memories.store.writable:
        with memories.store.change(durable=False) as connection:
            recalled.record(connection, asked.session, answer.shown, memories.world.clock())
    return answer


def notes_in(connection: Reading, root: Root, world: World, folder: str | None) -> Notes:
    """What a look at the working tree tells of a memory, and its age. All share what may be looked through."""

    @cache
    def tree() -> Tree:
        from memstore.checking import LOOKED_THROUGH, Tree  # most prompts are told nothing, and do without

        return Tree(root, world.cwd, folder, LOOKED_THROUGH)

    def notes(memory: Memory) -> Sequence[str]:
        from memstore.checking import notes_on
        from memstore.store.ages import written

        told = notes_on(memory, written(connection, [memory.id])[memory.id], world.clock(), tree())
        return [f"from the own memory of the agent {one_line(world.whose, 80)}", *told] if world.whose else told

    return notes


def recalled_in(
    connection: Reading,
    asked: Asked,
    notes: Notes,
    deleted: Callable[[str], bool] = lambda path: False,
    likeness: Likeness | None = None,
) -> Recalled:
    """The answer by what the store holds at this moment. `deleted`: whether a file is gone that had been shown."""
    listed = ranked_in(connection, asked.prompt, _LISTED, Filters(scopes=(asked.scope,)), likeness)
    late = recalled.picked(connection, asked.session) if asked.unasked and asked.session is not None else []
    # What was corrected since it was picked brings its correction along.
    rows = found(connection, behind_corrections(connection, late, Filters(scopes=(asked.scope,)))) if late else {}
    known = {one.memory.id for one in listed}
    listed += [Ranked(row, 0.0, (), 0.0, False) for row in rows.values() if row.id not in known]
    picked = frozenset(row.id for key, row in rows.items() if key in late)
    return _Recall(connection, asked, notes, deleted, listed, picked).answer() if listed else Recalled("")


class _Recall:
    def __init__(
        self, connection: Reading, asked: Asked, notes: Notes, deleted: Callable[[str], bool],
        listed: Sequence[Ranked], picked: frozenset[str],
    ) -> None:  # fmt: skip
        self._deleted = deleted
        self._picked = picked
        self._connection = connection
        self._asked = asked
        self._notes = notes
        self._listed = {one.memory.id: one for one in listed}
        self._missing = recalled.missing(connection, [one.memory.path for one in listed])
        self._why: dict[str, str] = {}

    def answer(self) -> Recalled:
        """All of it."""
        chosen = self._within_places(self._allowed())
        text, sizes, kept = self._text(chosen)
        told_first = [self._candidate(memory, True) for memory in chosen[:kept]]
        others = [self._candidate(memory, False) for memory in self._listed if memory not in chosen[:kept]]
        return Recalled(text, (*told_first, *others), sizes)

    def _candidate(self, memory: str, picked: bool) -> Candidate:
        one = self._listed[memory]
        return Candidate(one.memory, one.score, picked, self._why.get(memory, ""))

    def _allowed(self) -> list[str]:
        """Those that are sure and may be told, in the order in which they are."""
        sure = self._sure()
        known: Mapping[str, str] = {}
        if self._asked.session is not None and not self._asked.again and sure:
            known = recalled.known(self._connection, self._asked.session, sure)
        allowed = []
        for memory in sure:
            head = self._listed[memory].memory
            if head.path in self._missing or self._deleted(head.path):
                self._why[memory] = "its file was deleted"
            elif head.origin == "tool" and self._asked.unasked:
                self._why[memory] = "words of tools are not told unasked"
            elif memory in known:
                self._why[memory] = _KNOWN[known[memory]]
            else:
                allowed.append(memory)
        return sorted(allowed, key=lambda memory: self._standing(self._listed[memory].memory))

    def _sure(self) -> list[str]:
        """Those that surely bear on the prompt, and what corrects them."""
        prompt = read_prompt(self._asked.prompt)
        reasons = [one.reasons for one in self._listed.values()]
        judged = verdicts(prompt.sought, reasons, spread(reasons, recalled.living(self._connection)))
        by_words: dict[str, Verdict] = dict(zip(self._listed, judged, strict=True))
        self._why = {memory: verdict.why for memory, verdict in by_words.items()}
        sure = {memory for memory, verdict in by_words.items() if verdict.sure}
        for memory in self._picked - sure:
            sure.add(memory)
            self._why[memory] = _BY_MODEL
        for memory in [memory for memory in self._listed if memory in sure]:
            for correction in self._corrections(memory):
                if correction not in sure:
                    sure.add(correction)
                    self._why[correction] = f"corrects {one_line(self._listed[memory].memory.path, 80)}"
        return [memory for memory in self._listed if memory in sure]

    def _corrections(self, memory: str) -> list[str]:
        """What corrects a memory, what corrects that, and so on, as far as it is in the short-list."""
        chain: list[str] = []
        by = self._listed[memory].memory.superseded_by
        while by is not None and by in self._listed and by != memory and by not in chain:
            chain.append(by)
            by = self._listed[by].memory.superseded_by
        return chain

    @staticmethod
    def _standing(memory: Found) -> tuple[bool, bool]:
        return not memory.pinned, memory.type != "feedback"

    def _within_places(self, allowed: Sequence[str]) -> list[str]:
        """As many as may be told. What was superseded gets the room that is left, behind its correction."""
        current = [memory for memory in allowed if self._listed[memory].memory.superseded_by is None]
        chosen = current[: self._asked.most]
        for memory in current[self._asked.most :]:
            self._why[memory] = "another comes first" if len(chosen) == 1 else f"{len(chosen)} others come first"
        for memory in allowed:
            if self._listed[memory].memory.superseded_by is None:
                continue
            ahead = next((one for one in self._corrections(memory) if one in chosen), None)
            if ahead is None:
                self._why[memory] = "superseded, and its correction is not told"
            elif len(chosen) >= self._asked.most:
                self._why[memory] = "superseded, and there is no room behind its correction"
            else:
                chosen.insert(chosen.index(ahead) + 1, memory)
        return chosen

    def _text(self, chosen: Sequence[str]) -> tuple[str, tuple[int, ...], int]:
        """The text, the bytes of each memory in it, and how many are in it."""
        session = self._asked.session
        # Two calls at the same time may have told more than the limit.
        left = SESSION if session is None else max(0, SESSION - recalled.spent(self._connection, session))
        excerpts = [self._excerpted(memory) for memory in chosen]
        while True:
            text, sizes = told(excerpts, self._asked.room)
            if sum(sizes) <= left:
                break
            excerpts = excerpts[: len(sizes) - 1]
        for memory in chosen[len(sizes) :]:
            self._why[memory] = "there is no room for it in this session any more"
        return text, sizes, len(sizes)

    def _excerpted(self, memory: str) -> Excerpted:
        shown = self._listed[memory].memory
        head = reader.by_id(self._connection, memory)
        assert head is not None, "it was found"
        notes = list(self._notes(head))
        if self._why.get(memory) == _BY_MODEL:
            notes.insert(0, _BY_MODEL)
        if shown.superseded_by is not None:
            correction = self._listed[self._corrections(memory)[0]].memory.path
            notes.insert(0, f"superseded by {one_line(correction, 200)}: no longer so")
        return Excerpted(
            shown.path, shown.name, shown.description, shown.type, shown.origin, shown.token, head.state.content,
            tuple(notes), self._asked.whose,
        )  # fmt: skip
