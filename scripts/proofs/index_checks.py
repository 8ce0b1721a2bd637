"""The laws of absorbing an edited MEMORY.md. Each says whether it applied to an example, and fails with a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from memstore.core.index import (
    AddLine,
    BaseIndex,
    Change,
    ChangeLine,
    IndexEdit,
    Line,
    MoveLine,
    Resolve,
    RetireLine,
    base_of,
    in_order,
    parse,
    render,
    take_in,
)
from memstore.core.index_lines import Piece, read_line
from scripts.proofs.merge_checks import holds

MergeIndex = Callable[[BaseIndex, Sequence[Line], str, Resolve], IndexEdit]
IndexLaw = Callable[[MergeIndex, str, str, str], bool]

_LIVE = {f"{name}.md": f"m-{name}" for name in "abcde"}


def resolve(path: str) -> str | None:
    """From a topic's path to its memory; `z.md` has none."""
    return _LIVE.get(path)


def rows_of(text: str) -> tuple[Line, ...]:
    """The rows of an index that was taken over."""
    return applied((), take_in(text, resolve), "1")


def applied(rows: Iterable[Line], changes: Iterable[Change], step: str) -> tuple[Line, ...]:
    """The rows after the changes: what the store does with them in SQL. `step`: for the ids of new rows."""
    kept = {row.id: row for row in rows}
    for change in changes:
        match change:
            case AddLine(text, kind, memory, rank, hook_by):
                identity = f"{step}-{rank}"
                assert identity not in kept, "two new rows have one rank"
                kept[identity] = Line(identity, text, kind, memory, rank, hook_by, 1, 1)
            case ChangeLine(identity, text, kind, memory, hook_by):
                kept[identity] = kept[identity]._replace(text=text, kind=kind, memory=memory, hook_by=hook_by)
            case RetireLine(identity):
                del kept[identity]
            case MoveLine(identity, rank):
                kept[identity] = kept[identity]._replace(rank=rank)
    return tuple(in_order(kept.values()))


def text_of(rows: Sequence[Line]) -> str:
    """The file that shows them."""
    return render(rows, {}).text


@lru_cache(maxsize=8)
def two_edits(merge: MergeIndex, base: str, ours: str, theirs: str) -> Two:
    """Several laws ask for the same."""
    return Two(merge, base, ours, theirs)


class Two:
    """An index, an edit that the store has by now, and another one of the same text."""

    def __init__(self, merge: MergeIndex, base: str, ours: str, theirs: str) -> None:
        before = rows_of(base)
        rendering = render(before, {})
        self._merge = merge
        self.base = base_of(rendering.text, rendering.text, [row for row, _ in rendering.lines])
        self.rows = applied(before, merge(self.base, before, ours, resolve).changes, "2")
        self.edit = merge(self.base, self.rows, theirs, resolve)
        self.after = applied(self.rows, self.edit.changes, "3")
        self.text = text_of(self.after)

    def again(self, text: str) -> str:
        """What becomes of the store's index if the same base is edited to be `text`."""
        return text_of(applied(self.rows, self._merge(self.base, self.rows, text, resolve).changes, "4"))


def index_gives_way(merge: MergeIndex, base: str, ours: str, theirs: str) -> bool:
    """merge(b, b, a) = a, merge(b, a, b) = a, merge(b, a, a) = a."""
    two = two_edits(merge, base, ours, theirs)
    holds(text_of(two.rows) == ours, "the only edit is the answer", text_of(two.rows))
    for text in (base, ours):
        holds(two.again(text) == ours, "an edit that says no more changes nothing", two.again(text))
    return True


def index_equals(merge: MergeIndex, base: str, ours: str, theirs: str) -> bool:
    """Who comes first decides about labels, order and blank lines, and nothing else."""
    here, there = two_edits(merge, base, ours, theirs), two_edits(merge, base, theirs, ours)
    once = all(_pointers(text) is not None for text in (base, ours, theirs))
    fields = [sorted((each.field, each.base) for each in two.edit.conflicts) for two in (here, there)]
    holds(not once or fields[0] == fields[1], "a conflict is one from both sides", here.edit, there.edit)
    if any(fields):
        return False
    pieces = [[piece for piece in parse(two.text) if not piece.blank] for two in (here, there)]
    if once:
        lines = [Counter(piece.bare for piece in some) for some in pieces]
    else:  # of lines for one topic either side may have left another one, or more of them
        lines = [Counter({read_line(piece.bare).target or piece.bare for piece in some}) for some in pieces]
    holds(lines[0] == lines[1], "both orders give the same lines", here.text, there.text)
    return True


def free_lines(merge: MergeIndex, base: str, ours: str, theirs: str) -> bool:
    """No free line from thin air, and none lost unless a side took one like it out."""
    two = two_edits(merge, base, ours, theirs)
    was, mine, other, now = (_free(text) for text in (base, ours, theirs, two.text))
    # A fence or a comment that came or went makes pointers of free lines, and the other way round.
    extra = now - (_all(ours) + _all(theirs))
    holds(
        not any(line and read_line(line).target is None for line in extra),
        "each line is one of a side's",
        two.text,
        extra,
    )
    taken_out = (was - mine) + (was - other)
    lost = [line for line in mine | other if line and line not in taken_out and not _all(two.text)[line]]
    holds(not lost, "a line stays that nobody took out", two.text, lost)
    return bool(mine or other)


def repeated_lines(merge: MergeIndex, base: str, ours: str, theirs: str) -> bool:
    """Of lines that stand more than once, as many stay as each side left, unless a side took some out."""
    two = two_edits(merge, base, ours, theirs)
    was, mine, other = (_free(text) for text in (base, ours, theirs))
    now = _all(two.text)  # without the fence around them free lines are pointers
    many = [line for line in was if line and mine[line] >= was[line] > 1 and other[line] >= was[line]]
    for line in many:
        holds(now[line] >= was[line], "a repeated line stays as often", two.text, line)
    return bool(many)


def _all(text: str) -> Counter[str]:
    return Counter(piece.bare for piece in parse(text))


def _free(text: str) -> Counter[str]:
    return Counter(piece.bare for piece in parse(text) if piece.target is None)


def pointers(merge: MergeIndex, base: str, ours: str, theirs: str) -> bool:
    """A topic's line stays unless a side took it out, and its title and hook are merged by themselves; where both
    changed one of them, what is not there is told."""
    two = two_edits(merge, base, ours, theirs)
    if any(piece.in_code or piece.hidden for text in (base, ours, theirs, two.text) for piece in parse(text)):
        return False  # then a line may be a pointer on one side only
    was, mine, other, now = (_pointers(text) for text in (base, ours, theirs, two.text))
    if was is None or mine is None or other is None:
        return False  # a topic that stands twice has no line of its own
    holds(now is not None, "no pointer is doubled", two.text)
    assert now is not None
    for target in mine.keys() | other.keys() | now.keys():
        sides = [side.get(target) for side in (was, mine, other)]
        _one_pointer(two, target, now.get(target), *sides)
    return bool(mine or other)


def _pointers(text: str) -> dict[str, Piece] | None:
    found: dict[str, Piece] = {}
    for piece in parse(text):
        if piece.target is not None:
            if piece.target in found:
                return None
            found[piece.target] = piece
    return found


def _one_pointer(
    two: Two, target: str, now: Piece | None, was: Piece | None, mine: Piece | None, other: Piece | None
) -> None:
    if mine is None or other is None:
        stays = mine or other
        gone = was is not None and (stays is None or stays.bare == was.bare)
        holds((now is None) == gone, f"{target} goes only where nobody changed it", two.text)
    else:
        holds(now is not None, f"{target} stays", two.text)
    if now is None or mine is None or other is None:
        return
    for name in ("title", "hook"):
        ours, theirs, current = (getattr(piece, name) for piece in (mine, other, now))
        before = getattr(was, name) if was is not None else None
        if theirs in (before, ours):
            holds(current == ours, f"the {name} of {target} is ours", two.text)
        elif ours == before:
            holds(current == theirs, f"the {name} of {target} is theirs", two.text)
        else:
            told = [each for each in two.edit.conflicts if each.field == name and each.other == theirs]
            holds(current == ours and bool(told), f"the {name} of {target} is in conflict", two.text, two.edit)


INDEX_LAWS: tuple[IndexLaw, ...] = (index_gives_way, index_equals, free_lines, repeated_lines, pointers)
