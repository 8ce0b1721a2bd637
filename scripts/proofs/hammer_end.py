"""What the hammer looks at when all is over: where each line is that was ever saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memstore.app import Memstore
from memstore.core.model import INDEX_NAME, SHELF
from memstore.files import temporary
from memstore.store import shown
from scripts.proofs.hammer_workers import Told

_ROUNDS = 6
_TOLD = 3


@dataclass(slots=True)
class End:
    """`lost`: what cannot be found; `counts`: what was found, and what is worth a number."""

    lost: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


SAVES, SEEN, WRITTEN, OLD = (
    "saves", "of them found word by word", "acknowledged lines of tools",
    "of them taken out again by an old buffer, and kept in a version",
)  # fmt: skip


def look(memories: Memstore, editors: Sequence[Told], tools: Sequence[Told], untouched: Sequence[str]) -> End:
    """After the last sync. `untouched`: memories that one tool wrote and nobody else."""
    end = End()
    if not _settle(memories):
        end.lost.append(f"no rest after {_ROUNDS} syncs: {memories.sync()}")
    there = _Places(memories)
    for told in editors:
        for name, lines in told.lines.items():
            end.counts[SAVES] += len(lines)
            end.lost += _missing("saved", name, lines, there.now(name) if told.careful else there.ever(name))
        end.lost += [f"{name}: the last saved text is nowhere whole" for name, text in told.last.items()
                     if not there.has(name, text)]  # fmt: skip
        end.counts[SEEN] += sum(map(memories.store.knows, told.texts))
    for told in tools:
        for name, lines in told.lines.items():
            end.counts[WRITTEN] += len(lines)
            now = there.now(name)
            end.counts[OLD] += sum(line not in now for line in lines)
            end.lost += _missing("acknowledged", name, lines, now if name in untouched else there.ever(name))
            end.lost += there.mistaken(name, len(lines)) if name in untouched else []
    left = [path.name for path in there.folder.iterdir() if temporary.is_ours(path.name)]
    end.lost += [f"left in the folder: {', '.join(left[:_TOLD])}"] if left else []
    return end


def _settle(memories: Memstore) -> bool:
    """Syncs until a sync does nothing more."""
    return any(memories.sync().quiet for _ in range(_ROUNDS))


def _missing(what: str, name: str, lines: Iterable[str], there: set[str]) -> list[str]:
    lost = [line for line in lines if line not in there]
    more = f", and {len(lost) - _TOLD} more" if len(lost) > _TOLD else ""
    return [f"{name}: {what} and lost: {'; '.join(lost[:_TOLD])}{more}"] if lost else []


class _Places:
    """Where a text may be: in the store as it is now, beside it, in a file, in a version."""

    def __init__(self, memories: Memstore) -> None:
        assert memories.place.folder is not None
        self.folder = Path(memories.place.folder)
        self._store = memories.store
        self._texts: dict[str, list[bytes]] = {}
        for record in self._store.conflicts(everything=True):
            self._add(record.path, record.theirs)
        with self._store.view() as connection:
            for _, name, _, _, content in shown.set_asides(connection, limit=-1):
                self._add(name, content)
        for memory in self._store.memories(retired=True):
            self._add(memory.path, memory.state.content)
        self._add(INDEX_NAME, "\n".join(line.text for line in self._store.index()).encode())
        for path in self.folder.iterdir():
            if path.is_file():
                self._add(temporary.target_of(path.name) or path.name, path.read_bytes())

    def _add(self, name: str, content: bytes) -> None:
        self._texts.setdefault(name, []).append(content)

    def now(self, name: str) -> set[str]:
        """The lines that are shown or kept beside what is shown."""
        return {line for text in self._texts.get(_path(name), ()) for line in _lines(text)}

    def ever(self, name: str) -> set[str]:
        """And those of every version."""
        return self.now(name) | {line for text in self._versions(name) for line in _lines(text)}

    def has(self, name: str, text: bytes) -> bool:
        """Whether a text is there, itself or with all its lines in another one."""
        wanted = set(_lines(text))
        others = (*self._texts.get(_path(name), ()), *self._versions(name))
        return self._store.knows(text) or any(wanted <= set(_lines(other)) for other in others)

    def mistaken(self, name: str, writes: int) -> list[str]:
        """What shows that a memory was taken for edited, though nobody did."""
        memory = self._store.at(SHELF, _path(name))
        number = 0 if memory is None else memory.version
        with self._store.view() as connection:
            folder = shown.folder_row(connection, str(self.folder))
            row = None if folder is None else shown.shown_row(connection, folder.pk, _path(name))
        found = [] if number == writes else [f"{name}: {number} versions of {writes} writes"]
        return [*found, *([f"{name}: lines kept against an edit that was none"] if row and row.flagged else [])]

    def _versions(self, name: str) -> list[bytes]:
        return [
            version.state.content
            for memory in self._store.memories(retired=True)
            if memory.path == _path(name)
            for version in self._store.versions(memory.id)
        ]


def _path(name: str) -> str:
    return name if name.endswith(".md") else f"{name}.md"


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "replace").split("\n")
