"""Sessions that write, edit and index memories at the same moments: their scripts, and what is left afterwards.

Each round has three things to do for each session, and a barrier lets those of all sessions start together:
- a new memory of its own, `fact-WHO-N.md`;
- a line for it in MEMORY.md, by a whole Write of what was loaded at the start and its own lines so far. The client
  accepts that from a session that has not read the file; later it wants the file read, so the session reads, then
  edits or writes the whole, as a model does;
- an Edit of its own line in `shared.md`, which all sessions edit.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from tests.client.api import Answer, Model, Request, Say, Use
from tests.client.running import Client

ROUNDS = 20
EACH = 4
"""Rounds of one session: the next one starts with what is in the files by then."""
WAIT = 120.0
ATTEMPTS = 8
"""How often a session reads and tries again what was refused because another was faster."""

INDEX = "# Notes\n\nKept by hand: deploys are on Tuesdays.\n\n- [Shared](shared.md) — counters of everybody\n"


def memory(name: str, description: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  type: project\n---\n\n{body}\n"


def fact(who: str, number: int) -> str:
    return f"fact-{who}-{number}"


def body_of(who: str, number: int) -> str:
    return f"What {who} learned in round {number}."


def pointer(who: str, number: int) -> str:
    return f"- [Fact {number} of {who}]({fact(who, number)}.md) — told by {who} in round {number}"


def count(who: str, number: int) -> str:
    return f"{who} is at {number}."


def seed(folder: Path, people: list[str]) -> None:
    """What lies in the folder before: an index with a line by hand, and the memory that all edit."""
    folder.mkdir(parents=True, exist_ok=True)
    counts = "\n\n".join(count(who, 0) for who in people)
    (folder / "shared.md").write_text(memory("shared", "counters of everybody", counts), encoding="utf-8")
    (folder / "MEMORY.md").write_text(INDEX, encoding="utf-8")


Play = Generator[Answer, Request, Request]


@dataclass(slots=True)
class Person:
    """The model of one checkout's sessions, and what the client acknowledged to it."""

    who: str
    folder: Path
    together: threading.Barrier
    told: set[int] = field(default_factory=set)
    indexed: set[int] = field(default_factory=set)
    counted: int = 0
    refused: list[str] = field(default_factory=list)

    def session(self, rounds: range) -> Model:
        """A session that plays these rounds."""

        def model(request: Request) -> Generator[Answer, Request, None]:
            known = (request.index or "").rstrip("\n").split("\n")
            for number in rounds:
                request = yield from self.tell(number)
                request = yield from self.index(number, known)
                request = yield from self.count(number)
            yield Say("All told.")

        return model

    def tell(self, number: int) -> Play:
        self.meet()
        name = fact(self.who, number)
        request = yield self.write(f"{name}.md", memory(name, f"told by {self.who}", body_of(self.who, number)))
        if self.accepted(request):
            self.told.add(number)
        return request

    def index(self, number: int, known: list[str]) -> Play:
        """The whole index from what the session knows of it; where the client wants it read first, from that.

        `known` goes on as a model's knowledge does: with what it read and with what it wrote, not with what others did.
        """
        self.meet()
        line = pointer(self.who, number)
        request = yield self.write("MEMORY.md", "\n".join([*known, line, ""]))
        for attempt in range(ATTEMPTS):
            if self.accepted(request):
                self.indexed.add(number)
                known.append(line)
                break
            request = yield Use("Read", self.at("MEMORY.md"))
            known[:] = read(request)
            if line in known:  # it had landed, though the client refused it
                self.indexed.add(number)
                break
            if attempt % 2:
                request = yield self.write("MEMORY.md", "\n".join([*known, line, ""]))
            else:
                request = yield self.edit("MEMORY.md", known[-1], f"{known[-1]}\n{line}")
        return request

    def count(self, number: int) -> Play:
        """Its own line of a memory that all edit; read first where the client wants that."""
        self.meet()
        before, after = count(self.who, self.counted), count(self.who, number)
        request = yield self.edit("shared.md", before, after)
        for _ in range(ATTEMPTS):
            if self.accepted(request):
                self.counted = number
                break
            request = yield Use("Read", self.at("shared.md"))
            lines = read(request)
            if after in lines:
                self.counted = number  # it had landed: the client saw another's write right after it, and refused
                break
            if before not in lines:
                break  # another's edit took the line away: it is missed at the end
            request = yield self.edit("shared.md", before, after)
        return request

    def at(self, name: str) -> dict[str, object]:
        return {"file_path": str(self.folder / name)}

    def write(self, name: str, text: str) -> Use:
        return Use("Write", self.at(name) | {"content": text})

    def edit(self, name: str, old: str, new: str) -> Use:
        return Use("Edit", self.at(name) | {"old_string": old, "new_string": new})

    def meet(self) -> None:
        self.together.wait(WAIT)

    def accepted(self, request: Request) -> bool:
        """Whether the client acknowledged the call: only that must be kept."""
        result = "".join(request.results)
        if "updated successfully" in result or "created successfully" in result:
            return True
        self.refused.append(result)
        return False


def read(request: Request) -> list[str]:
    """The lines that a Read has shown, up to the last that is not empty."""
    lines = [line.partition("\t")[2] for line in "".join(request.results).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@dataclass(frozen=True, slots=True)
class Lost:
    """What was acknowledged and is not in the folder."""

    facts: list[str]
    pointers: list[str]
    counts: list[str]
    by_hand: list[str]

    @property
    def nothing(self) -> bool:
        return not (self.facts or self.pointers or self.counts or self.by_hand)


def missing(folder: Path, people: list[Person]) -> Lost:
    index = (folder / "MEMORY.md").read_text(encoding="utf-8").split("\n")
    shared = (folder / "shared.md").read_text(encoding="utf-8").split("\n")
    facts = [
        fact(person.who, number)
        for person in people
        for number in person.told
        if not holds(folder / f"{fact(person.who, number)}.md", body_of(person.who, number))
    ]
    pointers = [pointer(person.who, number) for person in people for number in person.indexed]
    return Lost(
        facts,
        [line for line in pointers if line not in index],
        [line for line in (count(person.who, person.counted) for person in people) if line not in shared],
        [line for line in INDEX.split("\n") if line not in index],
    )


def holds(path: Path, text: str) -> bool:
    return path.is_file() and text in path.read_text(encoding="utf-8").split("\n")


def play(client: Client, checkouts: list[Path], people: list[Person], rounds: range, resumed: list[str]) -> list[str]:
    """One session in each checkout, all at once; gives their names."""
    names = resumed or [""] * len(people)
    sessions = [
        client.start(checkout, "Keep notes.", person.session(rounds), resume=name)
        for checkout, person, name in zip(checkouts, people, names, strict=True)
    ]
    return [session.finish().id for session in sessions]


def collide(client: Client, checkouts: list[Path], folder: Path) -> tuple[list[Person], list[list[str]]]:
    """All rounds: new sessions and resumed ones by turns. Gives the models and, for each, the names of its sessions."""
    together = threading.Barrier(len(checkouts))
    people = [Person(checkout.name, folder, together) for checkout in checkouts]
    seed(folder, [person.who for person in people])
    played: list[list[str]] = []
    for part in range(0, ROUNDS, EACH):
        rounds = range(part + 1, part + 1 + EACH)
        played.append(play(client, checkouts, people, rounds, played[-1] if part // EACH % 2 else []))
    return people, [list(names) for names in zip(*played, strict=True)]
