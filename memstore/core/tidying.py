"""What can be tidied by rule, without a model: proposals over the memories and the index as they stand.

1. Two memories of one type whose texts are alike but for the client's stamps: all but one are retired for it. That is
   safe where the text is long enough to mean one thing, where no other memory links to the one that goes, and where no
   line of the index goes that says more.
2. Texts that are nearly the same (`near`), of one type and equally trusted: the lines that only one has are added to
   the other, so that none is lost. Never where figures or words such as `not` differ, nor where a line says what it
   does by where it stands (below a heading, in a row of steps) and would stand elsewhere: those are shown together.
3. A line of ours that points to no memory goes; a line by hand that does is named.
4. A memory that says itself until when it holds, and that day is past.
5. An index that cannot hold all: what it leaves out is named.

What is pinned, has an open conflict, or stands on another shelf is never changed, nor a line that was written by hand;
of the lines of a memory that goes nothing is kept, as with every memory that is retired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from memstore.core.changes import Change, LineChange, Retire, Revise, SetIndexLine, appended
from memstore.core.expiring import expiry
from memstore.core.frontmatter import Document, calm, read
from memstore.core.index_lines import parse
from memstore.core.index_values import Line, in_order
from memstore.core.model import ORIGINS, Memory
from memstore.core.names import RESERVED, collision_key, stem
from memstore.core.near import differing, near
from memstore.core.terms import count_words

Kind = Literal["duplicate", "near", "differ", "pointer", "expired", "index"]

_FENCE = "```"
_PLACED = re.compile(r"(?m)^#{1,6}[ \t]|[:：][ \t*_]*\r?$|^[ \t]+\S|^\||^\d{1,3}[.)][ \t]")
"""A heading, words before a list, a line below another one, a row, a step: after these a line belongs to its place."""
_LINK = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]|\]\(([^()\s]{1,200}\.md)\)")
FEWEST_WORDS = 8
"""Words of a text that means one thing by itself; a shorter one may live on its name alone (`it is 7443`)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something to tidy. `paths`: the memories it is about; of those that become one the first one stays.

    `safe`: nothing can be lost by it. Without changes there is nothing to do by rule: somebody has to look.
    """

    kind: Kind
    paths: tuple[str, ...]
    reason: str
    safe: bool = False
    changes: tuple[Change, ...] = ()
    lines: tuple[LineChange, ...] = ()

    @property
    def can_be_done(self) -> bool:
        """Whether there is anything to be done by rule."""
        return bool(self.changes or self.lines)


class Material(NamedTuple):
    """What is looked at. `held`: ids of memories with an open conflict. `others`: paths of whatever else is there,
    on other shelves or as files that are no memories. `omitted`: paths that found no room in the index."""

    memories: Sequence[Memory]
    lines: Sequence[Line]
    held: Collection[str]
    others: Collection[str]
    omitted: Sequence[str]
    today: date


class _Read(NamedTuple):
    """A memory with its text as it was read."""

    memory: Memory
    document: Document
    calm: bytes

    @property
    def words(self) -> str:
        return f"{self.document.description or ''}\n{self.document.body}"


def propose(material: Material, told: Callable[[int], None] | None = None) -> tuple[Proposal, ...]:
    """All that there is to tidy, surest first; a memory is changed by one proposal at most.

    `told` hears of two steps for each memory.
    """
    texts = [
        _Read(memory, read(memory.state.content), calm(memory.state.content))
        for memory in sorted(material.memories, key=_standing)
        if memory.id not in material.held
    ]
    pointing: dict[str, list[Line]] = {}
    for line in material.lines:
        if line.memory is not None:
            pointing.setdefault(line.memory, []).append(line)
    linked = {link for text in texts for link in _links(text.document.body)}
    found = list(_duplicates(texts, pointing, linked))
    gone = _changed(found)
    found += _near([text for text in texts if text.memory.id not in gone], told)
    gone = _changed(found)
    found += _expired([text for text in texts if text.memory.id not in gone], material.today)
    found += _pointers(material)
    if material.omitted:
        found.append(_left_out(material))
    return tuple(found)


def _changed(proposals: Sequence[Proposal]) -> set[str]:
    return {change.memory for proposal in proposals for change in proposal.changes}


def _standing(memory: Memory) -> tuple[object, ...]:
    """Which of several memories that say the same stays: the smallest."""
    state = memory.state
    trust = ORIGINS.index(memory.origin)
    return (not state.pinned, state.superseded_by is not None, trust, memory.created_at, memory.path)


def _links(body: str) -> Iterator[str]:
    """What a text links to: names in double brackets, and files."""
    for name, file in _LINK.findall(body):
        yield collision_key(name.strip() or stem(file))


def _duplicates(texts: Sequence[_Read], pointing: dict[str, list[Line]], linked: set[str]) -> Iterator[Proposal]:
    first: dict[tuple[str | None, bytes], _Read] = {}
    for text in texts:
        kept = first.setdefault((text.memory.type, text.calm), text)
        if kept is text or text.memory.state.pinned or not text.words.strip():
            continue
        memory = text.memory
        says_more = _says_more(pointing.get(memory.id, ()), pointing.get(kept.memory.id, ()))
        is_linked = not linked.isdisjoint((collision_key(memory.name), collision_key(stem(memory.path))))
        short = count_words(text.words, FEWEST_WORDS) < FEWEST_WORDS
        reason = f"the same text as {kept.memory.path}"
        if says_more:
            reason += ", but its line in MEMORY.md says something else"
        elif is_linked:
            reason += ", but other memories link to it"
        elif short:
            reason += ", but it is so short that its name may be what matters"
        yield Proposal(
            "duplicate", (kept.memory.path, memory.path), reason, safe=not (says_more or is_linked or short),
            changes=(Retire(memory.id, memory.token, kept.memory.id),),
        )  # fmt: skip


def _says_more(lines: Sequence[Line], kept: Sequence[Line]) -> bool:
    """Whether words that somebody wrote into a line of the index would go with it."""
    known = {_hook(line) for line in kept}
    return any(line.kind != "auto" and line.hook_by == "hand" and _hook(line) not in known for line in lines)


def _hook(line: Line) -> str:
    pieces = parse(line.text)
    return pieces[0].hook.strip() if pieces else ""


def _near(texts: Sequence[_Read], told: Callable[[int], None] | None) -> Iterator[Proposal]:
    groups: dict[int, list[tuple[int, float]]] = {}
    for one in near([(text.memory.type, text.words) for text in texts], told):
        groups.setdefault(one.first, []).append((one.second, one.share))
    for first, others in groups.items():
        kept = texts[first]
        same: list[_Read] = []
        differ: list[_Read] = []
        signs: dict[str, None] = {}
        for second, _ in others:
            text = texts[second]
            found = differing(kept.words, text.words)
            signs |= dict.fromkeys(found)
            (differ if found else same).append(text)
        if same:
            yield _joined(kept, same, min(share for second, share in others if texts[second] in same))
        if differ:
            told_signs = ", ".join(tuple(signs)[:5])
            reason = f"nearly the same words, yet they say different things: {told_signs}"
            yield Proposal("differ", (kept.memory.path, *(text.memory.path for text in differ)), reason)


def _joined(kept: _Read, others: Sequence[_Read], share: float) -> Proposal:
    """What would make one memory of several: the lines that are missing in the first are added to it."""
    paths = (kept.memory.path, *(text.memory.path for text in others))
    reason = f"{100 * share:.0f} % alike"
    missing = _missing(kept, others)
    if any(text.memory.state.pinned for text in others) or (missing and kept.memory.state.pinned):
        return Proposal("near", paths, f"{reason}; what is pinned stays as it is")
    if any(not _fields(text) <= _fields(kept) for text in others):
        return Proposal("near", paths, f"{reason}, but their headers differ")
    placed = any(_is_placed(text) for text in (kept, *others))
    if placed and any(not _in_order(text, missing, kept) for text in others):
        return Proposal("near", paths, f"{reason}, but their lines stand in another order")
    if missing and placed:
        return Proposal("near", paths, f"{reason}, but their lines cannot be put together one by one")
    if missing and any(text.memory.origin != kept.memory.origin for text in others):
        return Proposal("near", paths, f"{reason}, but the words of one are less trusted")
    retired = tuple(Retire(text.memory.id, text.memory.token, kept.memory.id) for text in others)
    if not missing:
        return Proposal("near", paths, f"{reason}; {paths[0]} has every line", changes=retired)
    content = appended(kept.memory.state.content, "\n".join(missing).encode())
    revised = Revise(kept.memory.id, kept.memory.token, content, merged=True)
    lines = "1 line" if len(missing) == 1 else f"{len(missing)} lines"
    return Proposal("near", paths, f"{reason}; {lines} would be added to {paths[0]}", changes=(revised, *retired))


def _missing(kept: _Read, others: Sequence[_Read]) -> list[str]:
    """The lines of the others, in their order, that the one does not have; a description counts as a line."""
    known = {" ".join(line.split()) for line in kept.words.split("\n")} | {""}
    found: list[str] = []
    for text in others:
        for line in text.words.split("\n"):
            bare = " ".join(line.split())
            if bare not in known:
                known.add(bare)
                found.append(line.rstrip())
    return found


def _in_order(text: _Read, missing: Sequence[str], kept: _Read) -> bool:
    """Whether the lines of one, but for the missing ones, stand in the other in the same order, each as often."""
    added = {" ".join(line.split()) for line in missing} | {""}
    there = iter([" ".join(line.split()) for line in kept.document.body.split("\n")])
    bare = (" ".join(line.split()) for line in text.document.body.split("\n"))
    return all(line in there for line in bare if line not in added)


def _is_placed(text: _Read) -> bool:
    """Whether lines of a text cannot be taken out of it one by one."""
    return bool(text.document.problems) or _FENCE in text.words or _PLACED.search(text.document.body) is not None


def _fields(text: _Read) -> frozenset[object]:
    """What the header says besides name, description and type, as far as somebody chose it."""
    stamps = ("node_type", "originSessionId", "modified")
    values = [pair for pair in text.document.extra if pair[0].removeprefix("metadata.") not in stamps]
    return frozenset((*values, *text.document.lists))


def _expired(texts: Sequence[_Read], today: date) -> Iterator[Proposal]:
    for text in texts:
        found = expiry(text.document)
        if found is None or found.day >= today:
            continue
        memory, reason = text.memory, f"it says itself: {found.words[:80]}"
        if memory.state.pinned:
            yield Proposal("expired", (memory.path,), f"{reason}; it is pinned")
        else:
            yield Proposal("expired", (memory.path,), reason, changes=(Retire(memory.id, memory.token),))


def _pointers(material: Material) -> Iterator[Proposal]:
    living = {memory.id for memory in material.memories}
    known = {collision_key(path) for path in (*(memory.path for memory in material.memories), *material.others)}
    ordered = in_order(material.lines)
    pieces = parse("\n".join(line.text for line in ordered)) if ordered else ()
    for line, piece in zip(ordered, pieces, strict=True):
        if line.memory in living:
            continue
        if line.kind == "auto":
            gone = SetIndexLine(line.id, line.version, "auto", line.text, line.memory, line.rank, line.hook_by, False)
            yield Proposal("pointer", (), f"a line of ours points to nothing: {line.text[:80]}", True, lines=(gone,))
        elif piece.target is not None and collision_key(piece.target) not in known:
            if piece.target.split("/")[0] in RESERVED:
                continue  # what lies there is another shelf's, or no memory at all
            yield Proposal("pointer", (piece.target,), f"a line by hand points to no memory: {piece.bare[:80]}")


def _left_out(material: Material) -> Proposal:
    by_hand = sum(line.kind != "auto" and bool(line.text.strip()) for line in material.lines)
    number = len(material.omitted)
    memories = "1 memory" if number == 1 else f"{number} memories"
    reason = f"the index has no room for {memories}: {by_hand} of its lines were written by hand"
    return Proposal("index", tuple(material.omitted), reason)
