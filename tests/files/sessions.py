"""Sessions of agents that work on a desk's folder as the client does, with hooks that tell the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from memstore.store.inbox import Arrival, Kind, State
from tests.files.desk import Desk

_numbers = count(1)


@dataclass
class Call:
    """One call of a tool: `begin`, `act` and `tell` are the hook before it, the client's write, the hook after it."""

    session: Session
    kind: Kind
    name: str
    result: bytes
    id: str = field(default_factory=lambda: f"toolu_{next(_numbers)}")
    found: bytes | None = None
    original: bytes | None = None

    def begin(self) -> Call:
        self.found = self.session.file(self.name)
        self._arrive("open", self.found, None)
        return self

    def act(self) -> Call:
        """Written whole, by a rename, as the client does."""
        self.original = self.session.file(self.name)
        path = self.session.folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.tmp.812.ab12cd")
        part.write_bytes(self.result)
        part.rename(path)
        return self

    def tell(self) -> Call:
        self._arrive("done", None, self.original)
        return self

    def _arrive(self, state: State, found: bytes | None, original: bytes | None) -> None:
        now = self.session.desk.memories.world.clock()
        self.session.arrive(
            Arrival(
                self.id, self.kind, state, str(self.session.folder), self.name, now,
                self.session.id, "m1", "/w/tree", "topic", found, original, self.result,
            )
        )  # fmt: skip


@dataclass
class Session:
    """One session of an agent."""

    desk: Desk
    id: str

    @property
    def folder(self) -> Path:
        return self.desk.folder.resolve()

    def file(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def arrive(self, call: Arrival) -> None:
        self.desk.memories.store.receive([call])

    def load(self) -> None:
        """The session starts: MEMORY.md is loaded."""
        self._look("load", "MEMORY.md")

    def read(self, name: str) -> None:
        self._look("read", name)

    def _look(self, kind: Kind, name: str) -> None:
        self.arrive(
            Arrival(
                f"toolu_{next(_numbers)}", kind, "done", str(self.folder), name, self.desk.memories.world.clock(),
                self.id, result=self.file(name),
            )
        )  # fmt: skip

    def calls_write(self, name: str, text: str) -> Call:
        return Call(self, "write", name, text.encode())

    def calls_edit(self, name: str, old: str, new: str) -> Call:
        content = (self.file(name) or b"").decode()
        assert old in content, (old, content)
        return Call(self, "edit", name, content.replace(old, new).encode())

    def write(self, name: str, text: str) -> Call:
        """A Write, from the hook before it to the hook after it."""
        return self.calls_write(name, text).begin().act().tell()

    def edit(self, name: str, old: str, new: str) -> Call:
        """An Edit, likewise."""
        return self.calls_edit(name, old, new).begin().act().tell()
