"""A store, sessions whose transcripts grow, and a scripted model that is shown what they taught."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memstore.core.frontmatter import compose
from memstore.core.model import SHELF, Memory, Provenance
from memstore.core.settings import Settings
from memstore.jobs.extract import KIND, Around, Extraction
from memstore.jobs.llm import ApiModel
from memstore.jobs.messages import Model, Reply, Request
from memstore.store import jobs, reader, runs, sessions
from memstore.store.connection import many
from memstore.store.jobs import Job
from memstore.store.runs import Cursor, Run, RunEnd
from memstore.store.store import Store
from tests.jobs.api import Scripted
from tests.messages_api import Use
from tests.store.stores import STORE, ticking

START = int(datetime(2026, 3, 2, 10, tzinfo=UTC).timestamp())
"""A Monday."""

FOLDER = "/srv/me/.claude/projects/-srv-shop/memory"


class Transcript:
    """A session's file, as the client writes it: a line for each thing said, each a second after the one before."""

    def __init__(self, path: Path, session: str) -> None:
        self.path = path
        self.session = session
        self.said = 0
        self.last: str | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def row(self, kind: str, **more: Any) -> dict[str, Any]:
        """The next line."""
        self.said += 1
        at = datetime.fromtimestamp(START + self.said, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row = {
            "type": kind, "uuid": f"{self.session}-{self.said}", "parentUuid": self.last, "sessionId": self.session,
            "timestamp": at,
        }  # fmt: skip
        row |= more
        self.last = row["uuid"]
        return row

    def write(self, *rows: Mapping[str, Any] | str) -> None:
        """Puts lines at the end."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)

    def person(self, *texts: str, **more: Any) -> None:
        for text in texts:
            self.write(self.row("user", message={"role": "user", "content": text}, **more))

    def agent(self, text: str, *calls: tuple[str, Mapping[str, object]]) -> None:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}]
        blocks += [
            {"type": "tool_use", "id": f"toolu_{self.said}_{number}", "name": name, "input": dict(given)}
            for number, (name, given) in enumerate(calls)
        ]
        self.write(self.row("assistant", message={"role": "assistant", "content": blocks}))

    def tool(self, text: str, of: str = "toolu", **more: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": of, "content": text, **more}
        self.write(self.row("user", message={"role": "user", "content": [block]}))

    def saves(self, name: str) -> None:
        """The agent writes a memory itself."""
        call = f"toolu_{self.said}_0"
        self.agent("Saved.", ("Write", {"file_path": f"{FOLDER}/{name}"}))
        self.tool("written", call)

    def fork(self, path: Path, session: str, lines: int | None = None) -> Transcript:
        """Another session that begins with a copy of this one's lines."""
        other = Transcript(path, session)
        kept = self.path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
        path.write_text("".join(kept), encoding="utf-8")
        other.said, other.last = self.said + 100, json.loads(kept[-1])["uuid"] if kept else None
        return other


class Meanwhile:
    """A model during whose answers something happens: each act before the answer of its number, from 1."""

    def __init__(self, model: Model, acts: Mapping[int, Callable[[], object]]) -> None:
        self.model = model
        self.acts = acts
        self.asked = 0

    def reply(self, request: Request) -> Reply:
        self.asked += 1
        self.acts.get(self.asked, lambda: None)()
        return self.model.reply(request)


class Scene:
    """All that a run needs. `settings`: as in the store's own; they may be changed between runs."""

    def __init__(
        self, directory: Path, api: Scripted | None = None, *, model: Model | None = None, ids: str = "id"
    ) -> None:
        self.directory = directory
        self._api = api
        self.settings: dict[str, str] = {}
        self.transcripts: dict[str, Transcript] = {}
        self.clock: Callable[[], int] = ticking(START * 1_000_000)
        self.store = Store.open(str(directory / "store"), STORE, self.clock)
        self.store._link.connection.execute("PRAGMA synchronous = OFF")
        self.model = model or ApiModel.of(self.api.environment, retries=0)
        self.cancelled: Callable[[], bool] = lambda: False
        self.worktree = "/srv/shop"
        self.folders = [FOLDER]
        self.team: Callable[[], Sequence[Memory]] = tuple
        self._ids = ids
        self._numbers = ticking(1)

    @property
    def api(self) -> Scripted:
        """The server that answers for the model."""
        assert self._api is not None
        return self._api

    def transcript(self, session: str = "s") -> Transcript:
        """The one of a session, begun when it is first asked for."""
        path = self.directory / f"{session}.jsonl"
        return self.transcripts.setdefault(session, Transcript(path, session))

    def new_id(self) -> str:
        return f"{self._ids}-{self._numbers()}"

    def queue(self, session: str = "s", event: str = "Stop", path: Path | None = None) -> None:
        """What the hook writes when a turn ended."""
        at = self.clock()
        transcript = str(path or self.directory / f"{session}.jsonl")
        with self.store.change() as connection:
            values = (f"{event} {session} {at}", session, transcript, self.worktree, event, at)
            sessions.write(connection, "job", values)

    def claim(self, now: int | None = None) -> Job:
        """The job that a worker gets."""
        with self.store.change() as connection:
            job = jobs.claim(connection, KIND, self.clock() if now is None else now)
        assert job is not None
        return job

    def around(self, session: str = "s") -> Around:
        return Around(
            self.store, SHELF, Settings({}, self.settings), self.model, self.new_id, self.clock, FOLDER, self.folders,
            Provenance("agent", "tester", session, self.worktree, "main"), cancelled=lambda: self.cancelled(),
            team=lambda: self.team(),
        )  # fmt: skip

    def work(self, now: int | None = None, *, dry: bool = False) -> RunEnd:
        """The run of the job that waits."""
        job = self.claim(now)
        return self.extraction(job, dry=dry).run()

    def extraction(self, job: Job, *, dry: bool = False) -> Extraction:
        return Extraction(self.around(job.session), job, dry=dry)

    def turn(self, *steps: Any, session: str = "s", event: str = "Stop", path: Path | None = None) -> RunEnd:
        """A turn ended, and its run: the model answers with these steps."""
        self.api.steps = list(steps)
        self.queue(session, event, path)
        return self.work()

    def meanwhile(self, acts: Mapping[int, Callable[[], object]]) -> None:
        """From now on: what others do before the answers of these numbers."""
        model = self.model.model if isinstance(self.model, Meanwhile) else self.model
        self.model = Meanwhile(model, acts)

    # What is there afterwards

    def files(self) -> dict[str, str]:
        """The memories: bodies by path."""
        found = self.store.memories()
        return {memory.path: memory.state.content.decode().split("---\n", 2)[-1].strip() for memory in found}

    def index(self) -> str:
        return "\n".join(line.text for line in self.store.index())

    def cursor(self, session: str = "s") -> Cursor | None:
        with self.store.view() as connection:
            return runs.cursor(connection, KIND, session)

    def runs(self) -> list[Run]:
        """Oldest first."""
        with self.store.view() as connection:
            return runs.log(connection)[::-1]

    def events(self, number: int = -1) -> list[tuple[str, str]]:
        run = self.runs()[number].seq
        with self.store.view() as connection:
            return [(event.kind, event.text) for event in runs.events(connection, run)]

    def jobs(self) -> list[tuple[str, str, int, int | None]]:
        """Event, state, failures and when they are due, oldest first."""
        with self.store.view() as connection:
            rows = many(connection, "SELECT event, state, tries, due_at FROM job ORDER BY seq")
        return [(str(row[0]), str(row[1]), int(row[2]), row[3]) for row in rows]

    def job_note(self) -> str:
        with self.store.view() as connection:
            return str(many(connection, "SELECT note FROM job ORDER BY seq DESC LIMIT 1")[0][0])

    def sources(self, path: str) -> list[tuple[str, str]]:
        """Session and message that a memory was made from."""
        memory = self.store.at(SHELF, path)
        assert memory is not None
        with self.store.view() as connection:
            return [(session, message) for _, session, message in runs.sources(connection, memory.id)]

    def origin(self, path: str) -> str:
        with self.store.view() as connection:
            memory = reader.by_path(connection, SHELF, path)
        assert memory is not None
        return memory.origin

    # What the model was shown

    def asked(self, number: int = -1) -> str:
        """The first message of a request."""
        return str(self.api.bodies[number]["messages"][0]["content"][0]["text"])

    def shown(self, number: int = -1) -> list[str]:
        """The lines of the conversation in a request."""
        return shown(self.api.bodies[number])

    def told(self, number: int = -1) -> str:
        """The last message of a request, as text."""
        blocks: Sequence[Mapping[str, Any]] = self.api.bodies[number]["messages"][-1]["content"]
        return "\n".join(str(block.get("text") or block.get("content")) for block in blocks)


def shown(body: Mapping[str, Any]) -> list[str]:
    """The lines of the conversation in a request."""
    text = str(body["messages"][0]["content"][0]["text"])
    return [line.removeprefix("| ") for line in text.split("\n") if line.startswith("| ")]


def saves(path: str, body: str, quote: str, *, type: str = "project", **more: object) -> Use:
    """The model writes a memory."""
    content = compose(path.removesuffix(".md"), f"about {body}", type, body + "\n").decode()
    return Use("Write", {"file_path": path, "content": content, "quote": quote, **more})
