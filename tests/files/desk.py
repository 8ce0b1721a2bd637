"""A repository, its store and its memory folder, with a clock that only the test moves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memstore.app import Memstore
from memstore.core.changes import Create, Rename, Retire
from memstore.core.model import SHELF, Memory
from memstore.core.plan import Wanted
from memstore.files.report import Noted, SyncReport
from memstore.outcomes import Saved
from memstore.store import shown
from memstore.store.shown import ShownRow
from memstore.world import World

PEAK = """
def peak():
    # Not ru_maxrss: a child inherits that of whoever started it.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))
"""
"""Python source of a function: the most memory that its process has had, in megabytes (Linux)."""


def topic(name: str, description: str = "d", body: str = "Body.\n", kind: str = "project") -> str:
    """The text of a memory's file."""
    return f"---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n\n{body}"


@dataclass
class Desk:
    """`ahead`: seconds by which the test's clock is ahead of the machine's."""

    base: Path
    ahead: float = 10.0
    during_pause: Callable[[], object] | None = None
    variables: dict[str, str] = field(default_factory=dict)
    root: str = "repo"
    opened: list[Memstore] = field(default_factory=list)

    def __post_init__(self) -> None:
        place = self.base / self.root
        (place / ".git").mkdir(parents=True, exist_ok=True)
        (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.memories = self.open()
        assert self.memories.place.folder is not None
        self.folder = Path(self.memories.place.folder)

    def world(self) -> World:
        return World(
            environment={**os.environ, **self.variables},
            cwd=str(self.base / self.root),
            home=os.environ["HOME"],
            clock=lambda: time.time_ns() // 1_000 + int(self.ahead * 1_000_000),
            random=os.urandom,
            terminal=False,
            pause=self.pause,
        )

    def open(self) -> Memstore:
        self.opened.append(Memstore.open(world=self.world()))
        return self.opened[-1]

    def close(self) -> None:
        """Closes every store that was opened here."""
        while self.opened:
            self.opened.pop().close()

    def other(self, root: str, **variables: str) -> Desk:
        """Another repository, or with the same root and other variables another folder of the same store."""
        return Desk(self.base, self.ahead, variables=variables, root=root, opened=self.opened)

    def second(self) -> Desk:
        """The same store, shown in the folder of another configuration directory."""
        return self.other(self.root, CLAUDE_CONFIG_DIR=str(self.base / "second"))

    def pause(self, seconds: float) -> None:
        self.ahead += seconds
        if self.during_pause is not None:
            act, self.during_pause = self.during_pause, None
            act()

    # The folder

    def put(self, name: str, text: str | bytes) -> Path:
        """Writes a file as a simple editor does."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_bytes().decode()

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        assert old in text, (old, text)
        self.put(name, text.replace(old, new))

    def files(self) -> dict[str, bytes]:
        """Everything in the folder, memstore's own files included."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    def stamps(self) -> dict[str, tuple[int, int, int]]:
        """Inode and times of every file."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            status = path.lstat()
            found[str(path.relative_to(self.folder))] = (status.st_ino, status.st_mtime_ns, status.st_size)
        return found

    # The store

    def sync(self, seconds: float = 3.0) -> SyncReport:
        """A sync, some time after what happened before."""
        self.ahead += seconds
        return self.memories.sync()

    def write(self, name: str, body: str, **wanted: str) -> Saved:
        """Creates a memory, or replaces its body whatever it is."""
        head = self.head(name)
        expect = head.token if head is not None and head.state.live else None
        return self.memories.write(name, Wanted(body=body, **wanted), expect=expect)

    def head(self, name: str) -> Memory | None:
        path = name if name.endswith(".md") else f"{name}.md"
        return self.memories.store.at(self.memories.shelf, path)

    def living(self) -> list[str]:
        return [memory.path for memory in self.memories.store.memories()]

    def text(self, name: str) -> str:
        head = self.head(name)
        assert head is not None, name
        return head.state.content.decode()

    def number(self, name: str) -> int:
        head = self.head(name)
        assert head is not None, name
        return head.version

    def versions(self) -> dict[str, int]:
        return {memory.path: memory.version for memory in self.memories.store.memories(retired=True)}

    def shown(self, name: str) -> ShownRow | None:
        """B."""
        with self.memories.store.view() as connection:
            row = shown.folder_row(connection, os.path.realpath(self.folder))
            return None if row is None else shown.shown_row(connection, row.pk, name)

    def set_aside(self) -> list[tuple[str, bytes]]:
        with self.memories.store.view() as connection:
            return [(name, text) for _, name, _, _, text in shown.set_asides(connection)]

    def index(self) -> list[str]:
        """The lines of the index, as the store has them."""
        return [line.text for line in self.memories.store.index()]

    def unlisted(self) -> list[str]:
        return [memory.path for memory in self.memories.store.memories() if memory.listing == "unlisted"]


def rules(report: SyncReport) -> list[tuple[str, str, int]]:
    """What was noted: path, what, rule."""
    return [(noted.path, noted.what, noted.rule) for noted in report.absorbed]


def noted(report: SyncReport, path: str) -> Noted:
    """The one thing that was noted of a file."""
    found = [one for one in report.absorbed if one.path == path]
    assert len(found) == 1, report
    return found[0]


class Silent:
    """Writers that died, or were busy elsewhere, before they showed what they had written."""

    def __init__(self, desk: Desk) -> None:
        self._writer = desk.memories._writer
        self._desk = desk

    def write(self, name: str, body: str) -> None:
        head = self._desk.head(name)
        live = head is not None and head.state.live
        self._writer.write(name, Wanted(body=body), expect=head.token if live and head else None, on_conflict="refuse")

    def create(self, path: str, body: str) -> None:
        """A memory at a path, whatever other memories are called."""
        text = topic(path.removesuffix(".md"), body=body).encode()
        self._writer.apply((Create(self._desk.memories.world.new_id(), SHELF, path, text),), "write")

    def retire(self, name: str) -> None:
        self._writer.change(name, lambda head: Retire(head.id, head.token), "delete")

    def rename(self, name: str, path: str) -> None:
        self._writer.change(name, lambda head: Rename(head.id, head.token, path), "rename")
