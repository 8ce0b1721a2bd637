"""What an export takes: of which moment, since when, of which scope, and without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from memstore.core import exchange as x
from memstore.core.index_lines import Limits
from memstore.core.index_render import whole
from memstore.core.index_values import END, Line
from memstore.core.model import INDEX_NAME, SHELF, Memory, Operation, Shelf, Version
from memstore.core.secrets import find
from memstore.store import moments
from memstore.store.store import Store

Format = Literal["dir", "zip", "json"]
FORMATS: tuple[Format, ...] = ("dir", "zip", "json")
ALL, TEAM = "all", "team"

_UNLIMITED = Limits(10**9, 10**12, 10**9, 10**12)


@dataclass(frozen=True, slots=True)
class Wish:
    """`since`: only what an operation after this one wrote; `as_of`: as things stood after this one (None: now).

    `secrets`: texts that hold a secret are taken, too. `force`: a file that no export of this store wrote, or that was
    changed since, is replaced.
    """

    format: Format = "dir"
    scope: str = SHELF.scope
    since: int = 0
    as_of: int | None = None
    secrets: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """`files`: the texts by path, the index among them; `heads`: whose texts these are; `team`: files by path, as the
    client shares them. `withheld`: (path, rule, line) of what holds a secret and stays away."""

    exchange: x.Exchange
    files: Mapping[str, bytes]
    heads: Mapping[str, Version]
    team: Mapping[str, bytes]
    withheld: tuple[tuple[str, x.Withheld], ...]


def select(store: Store, wish: Wish, team: Iterable[Memory] = ()) -> Selection:
    """Reads one moment of the store. `team`: what the client shares, where the scope asks for it."""
    with store.view() as connection:
        last = moments.last(connection)
        as_of = last if wish.as_of is None else min(wish.as_of, last)
        everything = moments.carried(connection, as_of)
        rows = moments.index_rows(connection, as_of)
        chosen = [memory for memory in everything if _in_scope(memory.shelf, wish) and memory.head.seq > wish.since]
        rows = [row for row in rows if _in_scope(row.shelf, wish)]
        seqs = {version.seq for memory in chosen for version in memory.versions}
        operations = moments.operations(connection, as_of, seqs)
    return _Selecting(wish).selection(store.id, as_of, chosen, rows, operations, team)


def _in_scope(shelf: Shelf, wish: Wish) -> bool:
    return wish.scope in (ALL, shelf.scope)


@dataclass(slots=True)
class _Selecting:
    wish: Wish
    withheld: list[tuple[str, x.Withheld]] = field(default_factory=list)

    def selection(
        self,
        store: str,
        as_of: int,
        chosen: list[x.Carried],
        rows: list[x.IndexRow],
        operations: list[Operation],
        team: Iterable[Memory],
    ) -> Selection:
        whole_history = self.wish.format == "json"
        chosen = [self._checked(memory, whole_history) for memory in chosen]
        shared = {memory.path: memory.state.content for memory in team if self._may_go(memory)}
        heads = {
            memory.head.state.path: memory.head
            for memory in chosen
            if memory.shelf == SHELF and memory.head.state.live and memory.head.token not in memory.withheld
        }
        rows = self._rows(rows, chosen)
        files = {path: head.state.content for path, head in heads.items()}
        index = index_text([row for row in rows if row.shelf == SHELF], ended=not self.wish.since)
        if index is not None:
            files[INDEX_NAME] = index
        if not self.wish.secrets:
            operations = [replace(one, reason="") if find(one.reason) else one for one in operations]
        return Selection(
            x.Exchange(
                store, as_of, self.wish.since, self.wish.scope, tuple(operations), tuple(chosen), tuple(rows),
                tuple(sorted(shared.items())),
            ),
            files,
            heads,
            shared,
            tuple(sorted(self.withheld, key=lambda one: (one[0], one[1].line))),
        )  # fmt: skip

    def _checked(self, memory: x.Carried, whole_history: bool) -> x.Carried:
        """The memory with a mark on each version that stays away. What only its history holds is no news to tell."""
        if self.wish.secrets:
            return memory
        marks: dict[str, x.Withheld] = {}
        texts: dict[bytes, x.Withheld | None] = {}
        for version in memory.versions if whole_history else (memory.head,):
            content = version.state.content
            if content not in texts:
                texts[content] = secret_in(content)
            mark = texts[content]
            if mark is not None:
                marks[version.token] = mark
        if memory.head.token in marks and memory.head.state.live:
            self.withheld.append((memory.head.state.path, marks[memory.head.token]))
        return replace(memory, withheld=marks) if marks else memory

    def _may_go(self, memory: Memory) -> bool:
        mark = None if self.wish.secrets else secret_in(memory.state.content)
        if mark is not None:
            self.withheld.append((memory.path, mark))
        return mark is None

    def _rows(self, rows: list[x.IndexRow], chosen: list[x.Carried]) -> list[x.IndexRow]:
        """The lines that go along: not those of memories that stay away, nor any that holds a secret itself."""
        kept = {memory.id for memory in chosen if memory.head.token not in memory.withheld}
        if self.wish.since:
            rows = [row for row in rows if row.memory in kept]
        if self.wish.secrets:
            return rows
        away = {memory.id for memory in chosen} - kept
        rows = [row for row in rows if row.memory not in away]
        if not find("\n".join(row.text for row in rows)):
            return rows
        clean: list[x.IndexRow] = []
        for at, row in enumerate(rows, 1):
            found = find(row.text)
            if found:
                self.withheld.append((INDEX_NAME, x.Withheld(found[0].rule, at)))
            else:
                clean.append(row)
        left = find("\n".join(row.text for row in clean))
        if left:  # one that goes over several lines
            self.withheld.append((INDEX_NAME, x.Withheld(left[0].rule, left[0].line)))
            return []
        return clean


def index_text(rows: Sequence[x.IndexRow], *, ended: bool = True) -> bytes | None:
    """The lines of one index as a file; None: there are none. Not `ended`: a last newline is put where none is."""
    if not rows:
        return None
    lines = [Line(row.id, row.text, "free", row.memory, row.rank, "hand", 1, 0) for row in rows]
    rendered = whole(lines, _UNLIMITED)
    assert rendered is not None  # nothing is too much for no limits
    if not ended and not any(row.rank == END for row in rows):
        return f"{rendered.text}\n".encode()
    return rendered.text.encode("utf-8")


def secret_in(content: bytes) -> x.Withheld | None:
    """The first secret in a text, by its rule and line; None where there is none."""
    found = find(content.decode("utf-8", "replace"))
    return x.Withheld(found[0].rule, found[0].line) if found else None
