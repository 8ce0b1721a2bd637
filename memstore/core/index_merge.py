"""The three-way merge behind `index.merge`. Rule numbers are those of `index`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from memstore.core.index_align import align, align_moved, ascending
from memstore.core.index_lines import Piece, Side, parse, read_line
from memstore.core.index_values import (
    END,
    AddLine,
    Change,
    ChangeLine,
    IndexEdit,
    Kind,
    Line,
    LineConflict,
    List,
    MoveLine,
    RetireLine,
    Unlist,
    ends_in_cr,
    ranks_between,
)


@dataclass(slots=True, eq=False)
class _Slot:
    """A line of the merged index. `row` is the place of its row, None for a new line."""

    piece: Piece
    row: int | None
    stays: bool


@dataclass(slots=True)
class Merge:
    """Base and edit against the rows, which come in order and without the row of the final newline."""

    base: Side
    theirs: Side
    rows: Sequence[Line]
    resolve: Callable[[str], str | None]
    gone: Collection[str]
    line_ends: tuple[bool, bool] = (False, False)
    ours: list[Piece] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    row_of_base: list[int | None] = field(default_factory=list)
    retired: dict[int, RetireLine] = field(default_factory=dict)
    changed: list[ChangeLine] = field(default_factory=list)
    conflicts: list[LineConflict] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def edit(self) -> IndexEdit:
        parsed = parse("\n".join(row.text for row in self.rows)) if self.rows else ()
        pairs = zip(self.rows, parsed, strict=True)
        self.ours = [read_line(row.text) if row.memory else piece for row, piece in pairs]
        seen, ends = [piece.text for piece in self.base.pieces], [row.text for row in self.rows]
        self.line_ends = ends_in_cr(seen), ends_in_cr(ends)
        self._find_base_rows()
        slots = self._slots()
        self._take_out({slot.row for slot in slots})
        final = self._order(slots)
        moves, added = self._place(final)
        listing = self._listing(final)
        changes: list[Change] = [*self.retired.values(), *self.changed, *moves, *added, *listing]
        return IndexEdit(tuple(changes), tuple(self.conflicts), tuple(self.kept))

    def _key(self, piece: Piece) -> Hashable:
        """Rule 5. A path in the base may be a memory's old one: then the row knows which memory it meant."""
        if piece.target is None:
            return "line", piece.bare
        return "topic", self.known.get(piece.target) or self.resolve(piece.target) or piece.target

    def _row_key(self, at: int) -> Hashable:
        memory = self.rows[at].memory
        return ("topic", memory) if memory else self._key(self.ours[at])

    def _find_base_rows(self) -> None:
        by_id = {row.id: at for at, row in enumerate(self.rows)}
        self.row_of_base = [by_id.get(row_id) if row_id else None for row_id in self.base.ids]
        left: list[Hashable] = []
        right: list[Hashable] = [self._row_key(at) for at in range(len(self.rows))]
        movable = []
        for at, (piece, row_id) in enumerate(zip(self.base.pieces, self.base.ids, strict=True)):
            row = self.row_of_base[at]
            memory = self.rows[row].memory if row is not None else None
            if memory and piece.target is not None:
                self.known[piece.target] = memory
            if row is not None:
                right[row] = ("same", row)
            # A blank line whose row was retired is not just any other blank line.
            lost = row_id is not None and piece.blank
            left.append(("same", row) if row is not None else ("lost", at) if lost else self._key(piece))
            movable.append(row is None and not piece.blank)
        pairs = align(left, right)
        align_moved(left, right, pairs, movable)
        self.row_of_base = [pairs[at] if row is None else row for at, row in enumerate(self.row_of_base)]

    def _slots(self) -> list[_Slot]:
        """Their lines, each as the row that it is or as a new line."""
        pieces = self.theirs.pieces
        keys = [self._key(piece) for piece in pieces]
        base_keys = [self._key(piece) for piece in self.base.pieces]
        in_base = align(keys, base_keys)
        align_moved(keys, base_keys, in_base, [not piece.blank for piece in pieces])
        matched = [(at, place) for at, place in enumerate(in_base) if place is not None]
        in_sequence = {matched[step][0] for step in ascending([place for _, place in matched])}
        in_rows, moved = self._new_among_rows(keys, in_base)
        spare = self._twins(base_keys, set(in_base))
        slots = []
        for at, piece in enumerate(pieces):
            place, row = in_base[at], in_rows[at]
            if place is not None:
                row = self.row_of_base[place]
                if row is None and spare.get(keys[at]):
                    place = spare[keys[at]].pop(0)
                    row = self.row_of_base[place]
                    in_sequence.discard(at)
                if row is not None:
                    self._change(row, self.base.pieces[place], piece)
                    slots.append(_Slot(piece, row, at in in_sequence))
                elif piece.bare != self.base.pieces[place].bare:
                    # Deleted in the store, changed in the edit: nobody deleted these words.
                    slots.append(_Slot(piece, None, False))
            elif row is not None:
                derived = self.rows[row].hook_by == "derived"
                self._meet(row, piece)
                slots.append(_Slot(piece, row, not (derived and at in moved)))
            else:
                slots.append(_Slot(piece, None, False))
        return slots

    def _twins(self, base_keys: Sequence[Hashable], present: Collection[int | None]) -> dict[Hashable, list[int]]:
        """Lines of the base that the edit has no longer and the store still has.

        Of two equal lines each side may have taken out another one. Both wanted one left, so theirs is ours.
        """
        spare: dict[Hashable, list[int]] = {}
        for place, key in enumerate(base_keys):
            if place not in present and not self.base.pieces[place].blank and self.row_of_base[place] is not None:
                spare.setdefault(key, []).append(place)
        return spare

    def _new_among_rows(
        self, keys: Sequence[Hashable], in_base: Sequence[int | None]
    ) -> tuple[list[int | None], set[int]]:
        """Lines that are new in the edit and have a row all the same: ours (rule 12), or added by both sides.

        Also tells which of them stand elsewhere in the edit than their row does.
        """
        seen = {row for row in self.row_of_base if row is not None}
        right: list[Hashable] = [
            ("same", at) if at in seen else (self._row_key(at), self.ours[at].in_code) for at in range(len(self.rows))
        ]
        left: list[Hashable] = []
        for at, place in enumerate(in_base):
            row = self.row_of_base[place] if place is not None else None
            if place is None:
                left.append((keys[at], self.theirs.pieces[at].in_code))
            else:
                left.append(("same", row) if row is not None else ("lost", place))
        pairs = align(left, right)
        aligned = list(pairs)
        new = [place is None for place in in_base]
        movable = [is_new and not p.blank for is_new, p in zip(new, self.theirs.pieces, strict=True)]
        align_moved(left, right, pairs, movable)
        moved = {at for at, pair in enumerate(pairs) if pair != aligned[at]}
        return [pair if is_new else None for pair, is_new in zip(pairs, new, strict=True)], moved

    def _change(self, at: int, base: Piece, theirs: Piece) -> None:
        """An edit's line that was in the base: rules 6, 10 and 11."""
        row, ours = self.rows[at], self.ours[at]
        bare = ours.bare
        if theirs.bare != base.bare:
            bare = self._fields(row, base, ours, theirs) if ours.target is not None else theirs.bare
        text = _pick(base.start, ours.start, theirs.start) + bare + _pick(base.end, ours.end, theirs.end)
        memory = row.memory or (self.resolve(theirs.target) if theirs.target is not None else None)
        touched = theirs.bare != base.bare or memory != row.memory
        kind = "pointer" if memory and touched else row.kind
        hook_by = row.hook_by if theirs.hook in (base.hook, ours.hook) else "hand"
        if (text, kind, memory, hook_by) != (row.text, row.kind, row.memory, row.hook_by):
            self.changed.append(ChangeLine(row.id, text, kind, memory, hook_by))

    def _fields(self, row: Line, base: Piece, ours: Piece, theirs: Piece) -> str:
        """The pointer's fields, three ways. What we derived ourselves gives way to what somebody typed."""
        title = _pick(base.title, ours.title, theirs.title)
        if ours.title not in (base.title, theirs.title) and theirs.title != base.title and row.kind != "auto":
            self._conflict(row, "title", base.title, ours.title, theirs)
            title = ours.title
        hook = _pick(base.hook, ours.hook, theirs.hook)
        gap = _pick(base.gap, ours.gap, theirs.gap)
        if theirs.hook != base.hook:
            gap = theirs.gap
            if ours.hook not in (base.hook, theirs.hook) and row.hook_by == "hand":
                self._conflict(row, "hook", base.hook, ours.hook, theirs)
                hook, gap = ours.hook, ours.gap
        elif ours.hook != base.hook:
            gap = ours.gap
        prefix = _pick(base.prefix, ours.prefix, theirs.prefix)
        dest = _pick(base.dest, ours.dest, theirs.dest)
        return f"{prefix}[{title}]{dest}{gap}{hook}"

    def _meet(self, at: int, theirs: Piece) -> None:
        """A line that both sides have and the base had not."""
        row, ours = self.rows[at], self.ours[at]
        if theirs.bare == ours.bare:
            return
        if row.hook_by == "derived":
            hook_by = row.hook_by if theirs.hook == ours.hook else "hand"
            self.changed.append(ChangeLine(row.id, self._new_text(theirs), "pointer", row.memory, hook_by))
            return
        if theirs.title != ours.title:
            self._conflict(row, "title", "", ours.title, theirs)
        if theirs.hook != ours.hook:
            self._conflict(row, "hook", "", ours.hook, theirs)

    def _conflict(self, row: Line, name: Literal["title", "hook"], base: str, current: str, theirs: Piece) -> None:
        other = theirs.title if name == "title" else theirs.hook
        self.conflicts.append(LineConflict(row.id, name, base, current, other, theirs.text))

    def _take_out(self, present: Collection[int | None]) -> None:
        """Rows whose line was in the base and is not in the edit: rules 7, 8, 9 and 16."""
        for place, at in enumerate(self.row_of_base):
            if at is None or at in present:
                continue
            row = self.rows[at]
            if row.memory in self.gone:
                continue
            if self.ours[at].bare == self.base.pieces[place].bare:
                self.retired[at] = RetireLine(row.id)
            else:
                self.kept.append(row.id)

    def _order(self, slots: Sequence[_Slot]) -> list[_Slot]:
        """All lines as they will stand: rules 15 and 17."""
        of_row = {slot.row: slot for slot in slots if slot.row is not None}
        behind: dict[int | None, list[_Slot]] = {None: []}
        anchor: int | None = None
        for slot in slots:
            if slot.stays:
                anchor = slot.row
            behind.setdefault(anchor, [])
            if not slot.stays:
                behind[anchor].append(slot)
        first = next((slot.row for slot in slots if slot.stays), None)
        final: list[_Slot] = []
        for at in range(len(self.rows)):
            held = of_row.get(at)
            if at in self.retired or (held is not None and not held.stays):
                continue
            if at == first:
                final += behind[None]
            final.append(held or _Slot(self.ours[at], at, True))
            final += behind.get(at, ())
        return final if first is not None else final + behind[None]

    def _place(self, final: Sequence[_Slot]) -> tuple[list[MoveLine], list[AddLine]]:
        """Ranks for what is new or moved; as few rows move as the order allows."""
        existing = [(step, slot.row) for step, slot in enumerate(final) if slot.row is not None]
        still = {existing[place][0] for place in ascending([row for _, row in existing])}
        moves: list[MoveLine] = []
        added: list[AddLine] = []
        for before, run, after in _runs(final, still):
            low = self.rows[before].rank if before is not None else None
            high = self.rows[after].rank if after is not None else None
            for slot, rank in zip(run, ranks_between(low, high, len(run)), strict=True):
                if slot.row is not None:
                    moves.append(MoveLine(self.rows[slot.row].id, rank))
                    continue
                target = slot.piece.target
                memory = self.resolve(target) if target is not None else None
                kind: Kind = "pointer" if memory else "free"
                added.append(AddLine(self._new_text(slot.piece), kind, memory, rank, "hand"))
        return moves, added

    def _new_text(self, piece: Piece) -> str:
        """A line of the edit's own, with the index's line ends if its writer was shown other ones."""
        seen, ours = self.line_ends
        if seen == ours or bool(piece.end) != seen:
            return piece.text
        return piece.start + piece.bare + ("\r" if ours else "")

    def _listing(self, final: Sequence[_Slot]) -> list[Change]:
        """Rules 7 and 12: which memories the edit takes out of the index, and which it puts there."""
        pointed = [self._pointed(piece, row.memory) for piece, row in zip(self.ours, self.rows, strict=True)]
        before = {memory for memories in pointed for memory in memories}
        after: dict[str, None] = {}
        for slot in final:
            memory = self.rows[slot.row].memory if slot.row is not None else None
            after |= dict.fromkeys(self._pointed(slot.piece, memory))
        lost = dict.fromkeys(memory for at in sorted(self.retired) for memory in pointed[at])
        return [
            *(Unlist(memory) for memory in lost if memory not in after and memory not in self.gone),
            *(List(memory) for memory in after if memory not in before),
        ]

    def _pointed(self, piece: Piece, memory: str | None) -> list[str]:
        found = [self.known.get(path) or self.resolve(path) for path in piece.mentions]
        return [each for each in [memory, *found] if each]


def _pick(base: str, ours: str, theirs: str) -> str:
    return ours if theirs == base else theirs


def _runs(final: Sequence[_Slot], still: Collection[int]) -> Iterator[tuple[int | None, list[_Slot], int | None]]:
    """Stretches without a rank of their own, with the rows around them."""
    before: int | None = None
    run: list[_Slot] = []
    for step, slot in enumerate(final):
        if step in still:
            if run:
                yield before, run, slot.row
            before, run = slot.row, []
        else:
            run.append(slot)
    if run:
        yield before, run, None


def final_newline(base: Side, end: Line | None, theirs: Side) -> list[Change]:
    """The newline behind the last line, merged like a line."""
    if _pick(str(base.ended), str(end is not None), str(theirs.ended)) == str(end is not None):
        return []
    return [RetireLine(end.id)] if end is not None else [AddLine("", "free", None, END, "hand")]
