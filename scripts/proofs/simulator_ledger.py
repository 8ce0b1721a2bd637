"""Who typed which line, who knew of it when it was taken out, and what was overwritten where nobody else could see it.

A line is known by a mark in it, a word that stands nowhere else: `t12` in a line, `f12` in a field of a header.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from memstore.core.model import INDEX_NAME

_MARK = re.compile(rb"\b[tf]\d+\b")
_POINTER = re.compile(rb"\]\(([^)]+)\)")


def marks_in(content: bytes) -> frozenset[str]:
    """The marks of all lines and fields in a text."""
    return frozenset(found.decode() for found in _MARK.findall(content))


def marks_of(path: str, content: bytes) -> frozenset[str]:
    """Those that count there: the index repeats fields of the topics, which nobody typed into it."""
    found = marks_in(content)
    return frozenset(mark for mark in found if mark[0] == "t") if path == INDEX_NAME else found


def targets(content: bytes) -> frozenset[str]:
    """The files that an index points to."""
    return frozenset(found.decode() for found in _POINTER.findall(content))


def of_topic(content: bytes, path: str) -> frozenset[str]:
    """The marks in the lines of an index that point to a topic."""
    lines = [line for line in content.split(b"\n") if path.encode() in _POINTER.findall(line)]
    return marks_of(INDEX_NAME, b"\n".join(lines))


@dataclass(slots=True)
class Ledger:
    """`typed`: mark to where and by whom. `taken_out`: by somebody who had it before him.

    `swallowed`: mark to the window in which a save took it away unseen; `shown`: brought into a file by a projection,
    so that the store has it; `lacked`: how often a buffer was saved that lacked it; `outdated`: those that were not
    shown yet when that happened; `replaced`: what was in the place of a mark before it; `renamed`: files that somebody
    gave another name by hand, old and new; `parted`: the old names of those whose text was too different to be known.
    """

    typed: dict[str, tuple[str, str]] = field(default_factory=dict)
    taken_out: set[str] = field(default_factory=set)
    swallowed: dict[str, str] = field(default_factory=dict)
    lacked: Counter[str] = field(default_factory=Counter)
    outdated: set[str] = field(default_factory=set)
    replaced: dict[str, frozenset[str]] = field(default_factory=dict)
    contested: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    parted: set[str] = field(default_factory=set)
    _at: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _points_to: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _was: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _deleted: set[str] = field(default_factory=set)
    _count: int = 0

    def new(self, kind: str = "t") -> str:
        """A mark that nobody has used."""
        self._count += 1
        return f"{kind}{self._count}"

    def saved(self, who: str, path: str, had: bytes, content: bytes, over: bytes, window: str) -> None:
        """Somebody saved a file that he had read as `had`, and replaced `over`."""
        had_marks, now = marks_of(path, had), marks_of(path, content)
        self._typed(who, path, had_marks, now)
        if path == INDEX_NAME:
            self._note_pointers(content)
        self.overwrites(path, had + b"\n" + content, over, window)
        self._lacks(path, had_marks | now, had_marks - now)

    def signed(self, who: str, path: str, had: bytes, content: bytes) -> None:
        """A session wrote over what it had seen, and its hooks tell what it overwrote."""
        if path == INDEX_NAME:
            self._note_pointers(content)
        self._typed(who, path, marks_of(path, had), marks_of(path, content))

    def overwrites(self, path: str, had: bytes, over: bytes, window: str) -> None:
        """A text goes of which whoever saves knew less."""
        shown = frozenset() if path == INDEX_NAME else self.shown  # the index has no rule 25
        for mark in marks_of(path, over) - marks_of(path, had) - shown:
            self.swallowed.setdefault(mark, window)

    def _typed(self, who: str, path: str, had: frozenset[str], now: frozenset[str]) -> None:
        for mark in now - had:
            self.typed.setdefault(mark, (path, who))
            self.replaced.setdefault(mark, had - now)
        self._at[path] |= now
        self.taken_out |= had - now

    def _lacks(self, path: str, has: frozenset[str], taken: frozenset[str]) -> None:
        """Somebody knew of these only, and took some of them out."""
        lacking = self._at[path] - has
        self.lacked.update(lacking)
        self.outdated |= lacking - self.shown
        self.contested |= {mark for mark in lacking if self.replaced.get(mark, frozenset()) & taken}

    def took_away(self, path: str, content: bytes) -> None:
        """Somebody deleted a file with this text."""
        marks = marks_of(path, content)
        self.taken_out |= marks
        self._lacks(path, marks, marks)
        self._deleted |= {path, *self._was[path]}

    def _note_pointers(self, content: bytes) -> None:
        for each in content.split(b"\n"):
            for mark in marks_of(INDEX_NAME, each):
                self._points_to[mark] |= targets(each)

    def vanished(self, marks: Iterable[str], window: str) -> None:
        """A text went where nobody looks, before anybody had taken it in."""
        for mark in marks:
            if mark not in self.shown:
                self.swallowed.setdefault(mark, window)

    def unlisted(self, marks: Iterable[str]) -> None:
        """Lines of the index went with their topic."""
        self.taken_out.update(marks)

    def wrote(self, who: str, path: str, had: bytes, content: bytes) -> None:
        """A tool's write: straight into the store, over what its author had read there."""
        self._typed(who, path, marks_of(path, had), marks_of(path, content))

    def moved(self, path: str, new: str) -> None:
        """A file has another name."""
        self._at[new] |= self._at[path]
        self._was[new] |= {path, *self._was[path]}

    def renamed_by_hand(self, path: str, new: str) -> None:
        """Likewise, and whoever looks has to find out."""
        self.moved(path, new)
        self.renamed.append((path, new))

    def part(self, path: str) -> None:
        """A file that somebody renamed by hand was changed so much that nobody can tell where it came from: that is a
        deletion, and another memory."""
        self.parted |= {path, *self._was[path]}

    def put(self, path: str, content: bytes, before: bytes) -> None:
        """A projection put a text over another one."""
        self.shown |= marks_of(path, content) - marks_of(path, before)

    def lost(self, living: frozenset[str], history: Callable[[], frozenset[str]]) -> tuple[list[str], Counter[str]]:
        """What is lost, and what only a limit has lost, by the limit's name."""
        limits: Counter[str] = Counter()
        failures = []
        gone = [mark for mark in self.typed if mark not in living and mark not in self.taken_out]
        for mark in gone:
            limit = self._limit(mark, mark in history())
            if limit:
                limits[limit] += 1
            else:
                path, who = self.typed[mark]
                kept = "in the history only" if mark in history() else "gone"
                failures.append(f"{mark}, which {who} typed into {path}, is {kept}")
        return failures, limits

    def _limit(self, mark: str, kept: bool) -> str:
        """The limit that has lost a mark, or nothing. `kept`: it stands in the history."""
        if self.typed[mark][0] == INDEX_NAME:
            if self._points_to[mark] & (self._deleted | self.parted):
                return "topic"
            return "old" if self.lacked[mark] else self.swallowed.get(mark, "")
        if not kept:
            return self.swallowed.get(mark, "")
        if mark in self.outdated or mark in self.swallowed:
            return "old"
        if mark in self.contested:
            return "same"
        return "insisted" if self.lacked[mark] > 1 else ""
