"""A store with memories, and a scripted model that dreams of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memstore.core.dream_steps import Planned
from memstore.core.model import SHELF, Origin
from memstore.core.settings import Settings
from memstore.core.usage import Usage
from memstore.errors import MemstoreError
from memstore.jobs.dream import KIND, Around, Dream, Report
from memstore.jobs.dream_material import Material, Session, gather
from memstore.jobs.messages import Model, Reply, Request, Text, ToolResult, ToolUse
from memstore.store import leases, runs, steps
from memstore.store.connection import many
from memstore.store.process import is_alive, me
from memstore.store.runs import Run
from memstore.store.steps import Progress
from memstore.store.store import Store
from tests.jobs import desk
from tests.jobs.api import MODEL
from tests.jobs.scene import FOLDER, START, Meanwhile, Transcript
from tests.messages_api import Say, Use
from tests.store.stores import STORE, ticking, who


class Told:
    """A model that answers what it is told, in turn: words, calls of tools, or a failure; and what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def reply(self, request: Request) -> Reply:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, MemstoreError):
            raise answer
        if isinstance(answer, Reply):
            return answer
        calls = answer if isinstance(answer, tuple) else (answer,)
        if isinstance(answer, Say):
            return Reply((Text(answer.text),) if answer.text else (), "end_turn", Usage(10, 5), MODEL)
        number = len(self.asked)
        uses = tuple(ToolUse(f"toolu_{number}_{at}", call.name, call.input) for at, call in enumerate(calls))
        return Reply(uses, "tool_use", Usage(10, 5), MODEL)


class Night:
    """All that a dream needs. `settings`: as in the store's own."""

    def __init__(self, directory: Path, *, model: Model | None = None, ids: str = "night") -> None:
        self.directory = directory
        self.settings: dict[str, str] = {}
        self.clock: Callable[[], int] = ticking(START * 1_000_000)
        self.store = Store.open(str(directory / "store"), STORE, self.clock)
        self.store._link.connection.execute("PRAGMA synchronous = OFF")
        self.script = Told()
        self.model: Model = model or self.script
        self.material = Material()
        self.cancelled: Callable[[], bool] = lambda: False
        self.review: Callable[[Sequence[Planned]], Sequence[bool]] | None = None
        self.told: list[Progress] = []
        self._ids = ids
        self._numbers = ticking(1)
        self.owner = ""
        self.take()

    def take(self) -> None:
        """Takes the lease, which nobody else may have."""
        owner = self.new_id()
        with self.store.change() as connection:
            leases.release(connection, KIND, self.owner)
            leases.take(connection, KIND, owner, me(), self.clock(), is_alive)
        self.owner = owner

    def close(self) -> None:
        with self.store.change() as connection:
            leases.release(connection, KIND, self.owner)
        self.store.close()

    def new_id(self) -> str:
        return f"{self._ids}-{self._numbers()}"

    def keep(
        self, name: str, *lines: str, type: str = "project", origin: Origin = "agent", pinned: bool = False
    ) -> None:
        """A memory with a description that no other has, and these lines."""
        text = desk.text_of(name, "\n".join(lines) + "\n", type=type, description=f"about {name}")
        desk.put(self.store, desk.create(name, text, pinned=pinned), origin=origin)

    def session(self, *texts: str, tool: str = "") -> None:
        """A session in which a person said this, and a tool printed that."""
        number = len(list(self.directory.glob("session-*.jsonl"))) + 1
        transcript = Transcript(self.directory / f"session-{number}.jsonl", f"session-{number}")
        transcript.person(*texts)
        transcript.agent("All right.")
        if tool:
            transcript.tool(tool)
        self.look()

    def look(self, logs: Mapping[str, str] | None = None, instructions: str | None = None) -> None:
        """What the next dream has before it: all sessions, and these texts."""
        paths = sorted(self.directory.glob("session-*.jsonl"))
        self.material = gather([Session(path.stem, str(path)) for path in paths], logs, instructions)

    def around(self) -> Around:
        return Around(
            self.store, SHELF, Settings({}, self.settings), self.model, self.new_id, self.clock, FOLDER, who(),
            self.owner, self.material, lambda: self.cancelled(), self.told.append, self.review,
        )  # fmt: skip

    def dream(self, *answers: Any, dry: bool = False) -> Report:
        """A dream in which the model answers so."""
        if answers:
            self.script.answers = list(answers)
        return Dream(self.around(), dry=dry).run()

    def forget(self) -> None:
        """What the last dream had before it is news again."""
        with self.store.change() as connection:
            connection.execute("DELETE FROM dream")

    def meanwhile(self, acts: Mapping[int, Callable[[], object]]) -> None:
        """What others do before the answers of these numbers."""
        self.model = Meanwhile(self.model, acts)

    # What is there afterwards

    def files(self) -> dict[str, bytes]:
        return {memory.path: memory.state.content for memory in self.store.memories()}

    def bodies(self) -> dict[str, str]:
        return {path: text.decode().split("---\n", 2)[-1].strip() for path, text in self.files().items()}

    def index(self) -> list[str]:
        return [line.text for line in self.store.index()]

    def runs(self) -> list[Run]:
        """Oldest first."""
        with self.store.view() as connection:
            return runs.log(connection)[::-1]

    def events(self) -> list[tuple[str, str]]:
        run = self.runs()[-1].seq
        with self.store.view() as connection:
            return [(event.kind, event.text) for event in runs.events(connection, run)]

    def refusals(self) -> list[str]:
        return [text for kind, text in self.events() if kind in ("refused", "denied")]

    def steps(self, number: int = -1) -> list[tuple[str, str, str]]:
        """Action, path and state of each step of a run, as they are on record."""
        run = self.runs()[number].id
        with self.store.view() as connection:
            return [(each.step.action, each.step.path, each.state) for each in steps.of_run(connection, run)]

    def asked(self, number: int = 0) -> str:
        """The first message of a request."""
        (said,) = self.script.asked[number].messages[0].blocks
        assert isinstance(said, Text)
        return said.text

    def answers(self, number: int = -1) -> list[str]:
        """What the calls before a request came to."""
        blocks = self.script.asked[number].messages[-1].blocks
        return [block.text for block in blocks if isinstance(block, ToolResult)]

    def rows(self, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
        with self.store.view() as connection:
            return {table: many(connection, f'SELECT * FROM "{table}"') for table in tables}


def reads(*names: str) -> tuple[Use, ...]:
    return tuple(Use("Read", {"file_path": f"{name}.md"}) for name in names)


def deletes(name: str, reason: str = "it is over", **more: object) -> Use:
    return Use("Delete", {"file_path": f"{name}.md", "reason": reason, **more})


def writes(name: str, *lines: str, type: str = "project", reason: str = "said once", **more: object) -> Use:
    text = desk.text_of(name, "\n".join(lines) + "\n", type=type, description=f"about {name}").decode()
    return Use("Write", {"file_path": f"{name}.md", "content": text, "reason": reason, **more})


def edits(name: str, old: str, new: str, reason: str = "it is so now", **more: object) -> Use:
    return Use("Edit", {"file_path": f"{name}.md", "old_string": old, "new_string": new, "reason": reason, **more})


def dropped(line: str, reason: str = "overturned") -> dict[str, str]:
    return {"line": line, "fate": "dropped", "reason": reason}


def reworded(line: str, now: str, reason: str = "shorter") -> dict[str, str]:
    return {"line": line, "fate": "reworded", "now": now, "reason": reason}
