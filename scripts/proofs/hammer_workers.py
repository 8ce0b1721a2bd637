"""What the processes of the hammer do: editors save files, tools write through the library, projectors sync.

A fault is planted here, by wrapping a function of the process that it is to break.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier, Event
from operator import eq
from pathlib import Path
from random import Random
from typing import Any

from memstore.app import Memstore
from memstore.core import reconcile
from memstore.core.frontmatter import read
from memstore.core.model import INDEX_NAME
from memstore.core.plan import Wanted
from memstore.errors import Mendable
from memstore.files import absorb, exchange, projector, turn
from memstore.files import project as projecting
from memstore.files.committing import Committer
from memstore.files.folder import Folder
from memstore.files.project import Outcome, Surprise, carry_out
from memstore.files.report import Findings
from memstore.store.shown import FolderRow
from scripts.benchmarks.measure import world_in
from scripts.proofs.client import resaved
from scripts.proofs.hammer_saves import STYLES, Git, Save

HEADER = "---\nname: {0}\ndescription: notes of {0}\nmetadata:\n  type: project\n---\n\n"
_REST = 0.03


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run happens. `directory`: home, store and repository lie below it."""

    directory: str
    folder: str
    fault: str

    def open(self) -> Memstore:
        """The memories, in this process."""
        return Memstore.open(world=world_in(self.directory))


@dataclass(slots=True)
class Told:
    """What a worker did. `lines`: by file, what was completely saved or acknowledged; `last`: each file's last
    text that the editor knows in full."""

    careful: bool = True
    lines: dict[str, list[str]] = field(default_factory=dict)
    texts: list[bytes] = field(default_factory=list)
    last: dict[str, bytes] = field(default_factory=dict)
    styles: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Start:
    """What a worker is given beside its own arguments."""

    place: Place
    seed: int
    barrier: Barrier
    stop: Event


def begin(there: Pipe, work: Callable[..., Told], start: Start, *arguments: Any) -> None:
    """Runs a worker; it answers what it did, or how it broke."""
    try:
        plant(start.place.fault)
        start.barrier.wait(60)
        there.send(work(start, *arguments))
    except BaseException:
        there.send(traceback.format_exc())


# --- editors


def edit(start: Start, names: Sequence[str], saves: int, careful: bool) -> Told:
    """Saves its own files that often, each time with one line more, in whatever way comes next.

    `careful`: what it saved before is in each of its texts, also where it is missing in what it sees.
    """
    chance, told = Random(start.seed), Told(careful)
    folder = Path(start.place.folder)
    git = Git(Path(start.place.directory) / f"git-{start.seed}", folder)
    with contextlib.suppress(FileNotFoundError):
        git.run("init", "--quiet")
    styles = [name for name, (_, weight) in STYLES.items() for _ in range(weight)]
    number = 0
    while number < saves:
        name, style = chance.choice(names), chance.choice(styles)
        own = told.lines.setdefault(name, [])
        line = f"{start.seed} saved {number}"
        save = Save(folder / name, b"", line, chance, git)
        try:
            save.text = _next_text(save, own if careful else (), told.last.get(name, b""))
            STYLES[style][0](save)
        except (OSError, subprocess.CalledProcessError) as error:
            told.failed[f"{style}: {type(error).__name__}"] += 1
            number += 1
            continue
        own.append(line)
        told.styles[style] += 1
        if style not in ("append", "sed -i"):
            told.last[name] = save.text
            told.texts.append(save.text)
        else:
            told.last.pop(name, None)
        number += 1
        time.sleep(chance.random() * _REST)
    return told


def _next_text(save: Save, own: Sequence[str], last: bytes) -> bytes:
    """What the editor saw, with those of its `own` lines in it that were missing, and a new one somewhere."""
    try:
        text = save.path.read_bytes() or last
    except FileNotFoundError:
        text = last
    name = save.path.name
    if not text:
        text = b"" if name == INDEX_NAME else HEADER.format(name.removesuffix(".md")).encode()
    lines = text.decode().rstrip("\n").split("\n")
    there = set(lines)
    lines += [line for line in own if line not in there]
    first = 1 if name == INDEX_NAME else min(8, len(lines))
    lines.insert(save.chance.choice((len(lines), save.chance.randint(first, len(lines)))), save.line)
    return ("\n".join(lines) + "\n").encode()


# --- tools and projectors


def write(start: Start, names: Sequence[str], own: str) -> Told:
    """Appends and writes through the library, to the editors' memories and to one that nobody else touches."""
    chance, told = Random(start.seed), Told()
    _stumble(chance)
    number = 0
    with start.place.open() as memories:
        while not start.stop.is_set():
            name = own if chance.random() < 0.6 else chance.choice(names)
            line = f"{start.seed} wrote {number}"
            number += 1
            try:
                if name == own or chance.random() < 0.6:
                    memories.append(name, line)
                else:
                    memory, version = memories.show(name)
                    lines = read(version.state.content).body.split("\n")
                    lines.insert(chance.randint(0, len(lines)), line)
                    memories.write(name, Wanted(body="\n".join(lines)), expect=memory.token)
            except Mendable as error:
                told.failed[type(error).__name__] += 1
            else:
                told.lines.setdefault(name, []).append(line)
            time.sleep(chance.random() * 2 * _REST)
    return told


def project(start: Start) -> Told:
    """Takes in and shows, over and over, now and then as a process that has just started."""
    chance, told = Random(start.seed), Told()
    _stumble(chance)
    while not start.stop.is_set():
        with start.place.open() as memories:
            for _ in range(chance.randrange(1, 20)):
                if start.stop.is_set():
                    break
                if chance.random() < 0.2:
                    memories.sync()
                else:
                    memories.files.absorb()
                    memories.files.settle()
                told.styles["syncs"] += 1
                time.sleep(chance.random() * _REST)
    return told


# --- the client


def work(start: Start, names: Sequence[str], saves: int) -> Told:
    """Edits memories as the client does: what it saves has its own header, and one line more."""
    chance, told = Random(start.seed), Told()
    for number in range(saves):
        path = Path(start.place.folder) / chance.choice(names)
        with contextlib.suppress(FileNotFoundError):
            text = path.read_bytes()
            client_save(path, resaved(text, f"session-{number}", _moment(number)) + f"line {number}\n".encode())
            told.styles["edits"] += 1
        time.sleep(chance.random() * _REST)
    return told


def save_anew(place: Place, names: Sequence[str], number: int) -> int:
    """The client saves all files without an edit: only its stamps are new. How many it saved."""
    for at, name in enumerate(names):
        path = Path(place.folder) / name
        client_save(path, resaved(path.read_bytes(), f"session-{number}-{at}", _moment(number)))
    return len(names)


def client_save(path: Path, text: bytes) -> None:
    """A temporary file beside it takes its name."""
    spare = path.with_name(f"{path.name}.tmp.{os.getpid()}.{len(text):x}")
    spare.write_bytes(text)
    os.replace(spare, path)


def _moment(number: int) -> str:
    return f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}.{number % 1_000:03}Z"


def sync_once(start: Start) -> Told:
    """One sync, at the same moment as others."""
    with start.place.open() as memories:
        memories.sync()
    return Told()


def _stumble(chance: Random) -> None:
    """From now on this process is held up now and then before and after it puts files, as a busy machine does."""

    def slowly(*arguments: Any) -> Outcome:
        time.sleep(max(0.0, chance.random() - 0.7) * _REST)
        outcome = carry_out(*arguments)
        time.sleep(max(0.0, chance.random() - 0.7) * _REST)
        return outcome

    _swap(projector, "carry_out", slowly)


# --- faults


def plant(fault: str) -> None:
    """Breaks this process in one way; the empty name in none."""
    if fault:
        FAULTS[fault]()


def _swap(owner: object, name: str, other: object) -> None:
    assert hasattr(owner, name), f"there is no {name} to be broken"
    setattr(owner, name, other)


def _rename() -> None:
    def rename(directory: int, new: str, target: str, aside: str) -> str:
        os.rename(new, target, src_dir_fd=directory, dst_dir_fd=directory)
        return ""

    _swap(exchange, "exchange", rename)


def _look_away() -> None:
    def let_go(_: Committer, folder: Folder, row: FolderRow, surprise: Surprise, found: Findings) -> str:
        folder.discard(surprise.kept, surprise.content)
        return ""

    _swap(Committer, "look", let_go)


def _rush() -> None:
    _swap(turn.FolderTurn, "_lock", lambda _: None)


def _count_stamps() -> None:
    for module in (reconcile, absorb, projecting):
        _swap(module, "alike", eq)


STAMPS = "stamps are an edit"
FAULTS: dict[str, Callable[[], None]] = {
    "rename instead of exchange": _rename,
    "no look at what came out": _look_away,
    "no turn": _rush,
    STAMPS: _count_stamps,
}
