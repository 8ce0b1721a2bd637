"""One run: a seed decides who acts, when, and who dies. The same seed gives the same run.

Whoever is at work calls `step` before it touches anything; there others may act, one whole step or more of theirs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random

from memstore.core.model import INDEX_NAME, SHELF, Provenance
from memstore.core.plan import Wanted
from memstore.errors import MemstoreError
from memstore.files.sync import OpenFolder, Sync
from memstore.files.temporary import is_ours
from memstore.store import shown
from memstore.store.store import Store
from memstore.world import World
from memstore.writing import Writer
from scripts.proofs.simulator_calls import Calls
from scripts.proofs.simulator_disk import Disk, Inode
from scripts.proofs.simulator_ledger import Ledger, marks_in, targets
from scripts.proofs.simulator_process import FOLDER, STORE_ID, Died, Process, real_sync
from scripts.proofs.simulator_real import Changed, folder_over
from scripts.proofs.simulator_texts import TOPICS, index, line, topic

Actor = Iterator[str]
"""Each step of it gives what it did."""

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
_TICKS = (1, 4_000_000, SECOND)
_CALL = (2_000, 200_000)
_ODDS = (0.005, 0.02, 0.06)
_PAUSED = 0.3
_NESTED = 0.3
_OPERATIONS = ("sync", "sync", "look", "settle", "append", "append")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is planted: see `simulator_faults`. `turns`: whether the lock on a folder's turn holds."""

    changed: Changed = field(default_factory=dict)
    made: Callable[[Store, World, OpenFolder], Sync] = real_sync
    turns: bool = True


class Simulation:
    """Everything that is there in one run."""

    def __init__(self, seed: int, base: str, fault: Fault) -> None:
        self.random = Random(seed)
        self.fault = fault
        self.now = START
        self.ledger = Ledger()
        self.trace: list[str] = []
        self.failures: list[str] = []
        self.actors: list[tuple[str, Actor]] = []
        self.leases = self.random.random() < 0.8
        """Whether the system can tell that somebody has a file open for writing."""
        self.disk = Disk(lambda: self.now, self.random.choice(_TICKS))
        self.removed: set[Inode] = set()
        self.torn: set[Inode] = set()
        """Files that somebody is in the middle of writing."""
        """Files of which the program took the last name."""
        self.names: set[str] = set()
        """Every name that was ever in the folder."""
        self.by_tools: set[str] = set()
        """Names of memories that nobody but a projection brings to the folder."""
        self.steps = self.operations = self.deaths = 0
        self._crashes = self.random.choice((0, 0, 1, 1, 2))
        self._crash_odds = self.random.choice((0.001, 0.01, 0.03))
        self._odds = self.random.choice(_ODDS)
        self._pid = 100
        self._alive: set[int] = set()
        self._running: list[Process] = []
        self.calm = True
        self.directory = tempfile.mkdtemp(prefix="simulated-", dir=base)
        self.world = World(
            {}, "/home/repository", "/home", lambda: self.now // 1_000, self.random.randbytes, False, self.pause
        )  # fmt: skip
        self.disk.make_directories(self._store)
        self.disk.make_directories(FOLDER)
        self._first_texts()
        self.processes = [self._process("one"), self._process("two")]
        self.tool = Writer(
            Store.open(self._store, STORE_ID, self.world.clock), self.world, Provenance("agent", "tool"), SHELF
        )  # fmt: skip
        self._take_over()

    @property
    def _store(self) -> str:
        return f"{self.directory}/{STORE_ID}"

    def _first_texts(self) -> None:
        names = TOPICS[: self.random.choice((1, 2, 3, 5))]
        for name in names:
            lines = [line(self.random, self.ledger.new("t")) for _ in range(self.random.randint(2, 5))]
            self._make_file(name, topic(name, line(self.random, self.ledger.new("f")), *lines))
        self._make_file(INDEX_NAME, index(*names))

    def _make_file(self, name: str, content: bytes) -> None:
        self.ledger.saved("start", name, b"", content, b"", "")
        self.disk.make_file(self.disk.at(FOLDER), name).data = content
        self.names.add(name)

    def _take_over(self) -> None:
        """What lies in the folder is known, and some time has passed."""
        self.now += 3 * SECOND
        self.processes[0].sync.run()
        self.now += 3 * SECOND

    def _process(self, name: str) -> Process:
        self._pid += 1
        self._alive.add(self._pid)
        made: list[Process] = []

        def step(what: str) -> None:
            for process in made:
                self.step(process, what)

        calls = Calls(
            self.disk, self._pid, step, self.random.randbytes, self._alive.__contains__, self._put, self._removed,
            self.leases, self.fault.turns,
        )  # fmt: skip
        opener = folder_over(calls, lambda: self.now / SECOND, self.fault.changed).open
        made.append(Process(name, calls, self._store, self.world, opener, self.fault.made))
        made[0].begin_steps(step)
        return made[0]

    def close(self) -> None:
        """Takes the store away."""
        for process in self.processes:
            process.store.close()
        self.tool.store.close()
        shutil.rmtree(self.directory)

    def fail(self, what: str) -> None:
        """Once is enough."""
        if what not in self.failures:
            self.failures.append(what)

    # The scheduler

    def run(self) -> None:
        """Until everybody is done."""
        self.calm = False
        operations = self.random.randint(1, 5)
        while self.actors or operations:
            chance = self.random.random()
            if self.actors and chance < 0.55:
                self._act("")
            elif chance < 0.65:
                self._time_passes()
            elif operations and chance > 0.75:
                operations -= 1
                self.operate(self.random.choice(self.processes), self.random.choice(_OPERATIONS))
        self.calm = True

    def step(self, process: Process, what: str) -> None:
        """Before a process touches a file or commits: others may act, and it may die."""
        if not process.alive:
            raise Died
        self.steps += 1
        self.now += self.random.randint(*_CALL)
        if process.store.in_transaction:
            self.fail(f"a transaction is open at {what}")
        if self.calm:
            return
        if self._crashes and self.random.random() < self._crash_odds:
            self._crashes -= 1
            self._kill(process, what)
        while self.random.random() < (_PAUSED if what == "pause" else self._odds) and self._others_act(what):
            pass

    def pause(self, seconds: float) -> None:
        """Somebody waits."""
        for _ in range(2):
            self.now += int(seconds * SECOND / 2)
            if self._running:
                self.step(self._running[-1], "pause")

    def _others_act(self, what: str) -> bool:
        chance = self.random.random()
        if chance < _NESTED and len(self._running) < len(self.processes) and self._turn_is_free():
            other = next(each for each in self.processes if each not in self._running)
            self.operate(other, self.random.choice(_OPERATIONS))
        elif self.actors:
            self._act(what)
        else:
            return False
        return True

    def _turn_is_free(self) -> bool:
        return not (self.disk.locks and self.fault.turns)

    def _act(self, at: str) -> None:
        which = self.random.randrange(len(self.actors))
        name, actor = self.actors[which]
        try:
            did = next(actor)
        except StopIteration:
            del self.actors[which]
        else:
            self.trace.append(f"{name} {did}" + (f" at {at}" if at else ""))

    def finish_acting(self) -> None:
        """Everybody does the rest of what he had in mind."""
        while self.actors:
            self._act("")

    def _time_passes(self) -> None:
        self.now += int(self.random.choice((0.002, 0.5, 1.5, 3, 70)) * SECOND)

    def _kill(self, process: Process, what: str) -> None:
        self.deaths += 1
        self._alive.discard(process.calls.pid)
        process.bury()
        self.trace.append(f"{process.name} DIES at {what}")
        raise Died

    def operate(self, process: Process, kind: str) -> None:
        """One whole operation of a process; where it dies, another one takes its place."""
        self._running.append(process)
        self.operations += 1
        self.trace.append(f"{process.name} {kind} (")
        try:
            self._operate(process, kind)
        except Died:
            self.processes[self.processes.index(process)] = self._process(process.name)
        except MemstoreError as error:
            self.trace.append(f"{process.name} is refused: {error}")
        except Exception as error:
            self.fail(f"{type(error).__name__}: {error}")
        finally:
            self._running.pop()
            self.trace.append(")")

    def _operate(self, process: Process, kind: str) -> None:
        if kind == "sync":
            process.sync.run()
        elif kind == "settle":
            process.sync.settle()
        else:
            process.sync.absorb()
            if kind == "append":
                self.append(process.writer, process.name)
                process.sync.settle()

    # What is done to store and folder

    def append(self, writer: Writer, who: str) -> str:
        """A tool adds a line to a memory, or makes one. Gives the path."""
        memories = writer.store.memories(SHELF)
        text = line(self.random, self.ledger.new("t"))
        if memories and self.random.random() < 0.7:
            path = self.random.choice(memories).path
            writer.append(path, text, operation=None, reason="")
        else:
            path = f"{who}-{self.ledger.new('n')}.md"
            self.by_tools.add(path)
            writer.write(path, Wanted(body=text), expect=None, on_conflict="merge")
        self.ledger.wrote(who, path, b"", text.encode())
        return path

    def folder(self) -> Inode | None:
        """The memory folder, where there is one now."""
        try:
            return self.disk.at(FOLDER)
        except OSError:
            return None

    def file(self, name: str) -> Inode | None:
        """A file in it."""
        folder = self.folder()
        return None if folder is None else folder.entries.get(name)

    def read(self, name: str) -> bytes | None:
        """What somebody reads there, if it is whole."""
        inode = self.file(name)
        return None if inode is None or inode in self.torn else inode.data

    def living(self) -> frozenset[str]:
        """The marks that stand in a head, in the index, in a conflict's other side or in a text set aside."""
        store = self.tool.store
        with store.view() as connection:
            texts = [content for *_, content in shown.set_asides(connection, -1)]
        texts += [memory.state.content for memory in store.memories(SHELF)]
        texts += [conflict.theirs for conflict in store.conflicts()]
        texts.append("\n".join(row.text for row in store.index()).encode())
        return frozenset().union(*map(marks_in, texts))

    def _removed(self, inode: Inode, read: bytes) -> None:
        """The program took a file's last name. What it had read there it may not lose."""
        self.removed.add(inode)
        if not self.leases and not self.tool.store.knows(inode.data):
            self.ledger.vanished(marks_in(inode.data) - marks_in(read), "unseen")

    def _put(self, directory: Inode, name: str, inode: Inode, before: Inode | None) -> None:
        """The program put a file under a name."""
        self.names.add(name)
        if directory is not self.folder() or is_ours(name):
            return
        self.ledger.put(name, inode.data, b"" if before is None else before.data)
        if name == INDEX_NAME:
            for target in sorted(targets(inode.data) & self.by_tools - self.names):
                self.fail(f"MEMORY.md names {target}, which was never there")
