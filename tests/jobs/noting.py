"""A session whose context grows, and the updates of its notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memstore.core.model import NOTES, Memory
from memstore.core.notes_text import TEMPLATE, path_of, sections
from memstore.jobs.notes import KIND, Custom, NotesRun
from memstore.jobs.notes_since import Pace, is_due, since
from memstore.store import jobs, runs
from memstore.store.jobs import Job
from memstore.store.runs import Cursor, Event, RunEnd
from tests.jobs.scene import Scene, Transcript
from tests.messages_api import Use


def answers(talk: Transcript, tokens: int, *tools: str, text: str = "Done.") -> None:
    """The agent answers, with a context of so many tokens after it: words, then a line for each tool that it calls."""
    usage = {"input_tokens": 1, "cache_read_input_tokens": tokens - 3, "output_tokens": 2}
    blocks: list[Mapping[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{talk.said}_{number}", "name": name, "input": {}}
        for number, name in enumerate(tools)
    ]
    for block in blocks:
        message = {"role": "assistant", "model": "claude-sonnet-5-5", "content": [block], "usage": usage}
        talk.write(talk.row("assistant", message=message))


def compacted(talk: Transcript) -> None:
    """The conversation is taken away, but for a summary."""
    boundary = talk.row("system", subtype="compact_boundary", logicalParentUuid=talk.last)
    talk.write(boundary | {"parentUuid": None})
    talk.write(talk.row("user", isCompactSummary=True, message={"role": "user", "content": "what was before"}))


def edit(section: str, text: str, *, path: str = "s.md") -> Use:
    """The model writes below the heading of an empty section, given by its first word."""
    guide = next(one.guide for one in sections(TEMPLATE) if one.heading.split()[1] == section)
    return Use("Edit", {"file_path": path, "old_string": guide, "new_string": f"{guide}\n\n{text}"})


class Notes:
    """The notes of a session in a scene."""

    def __init__(self, scene: Scene, session: str = "s") -> None:
        self.scene = scene
        self.session = session
        self.talk = scene.transcript(session)

    def job(self, event: str = "Stop") -> Job:
        """A job for a turn that ended."""
        now, path = self.scene.clock(), str(self.talk.path)
        return Job(
            0, f"{event} {self.session} {now}", "extract", "waiting", self.session, path, self.scene.worktree, event,
            now, 0, None, None, 1,
        )  # fmt: skip

    def queued(self, event: str = "Stop") -> Job:
        """The job that a worker gets for the notes."""
        with self.scene.store.change() as connection:
            jobs.add(connection, KIND, self.job(event), self.scene.clock())
        return self.claimed(self.scene.clock())

    def claimed(self, now: int) -> Job:
        """The job that a worker gets at a moment."""
        with self.scene.store.change() as connection:
            job = jobs.claim(connection, KIND, now)
        assert job is not None
        return job

    def update(self, *steps: Any, custom: Callable[[], Custom] = Custom) -> RunEnd:
        """One run: the model answers with these steps."""
        self.scene.api.steps = list(steps)
        return NotesRun(self.scene.around(self.session), self.queued(), custom).run()

    def is_due(self, start: int = 10_000, every: int = 5_000, calls: int = 3) -> bool:
        """Whether it is time for an update."""
        return is_due(since(self.job(), self.cursor), Pace(start, every, calls))

    @property
    def cursor(self) -> Cursor | None:
        with self.scene.store.view() as connection:
            return runs.cursor(connection, KIND, self.session)

    @property
    def memory(self) -> Memory | None:
        return self.scene.store.at(NOTES, path_of(self.session))

    @property
    def text(self) -> str:
        memory = self.memory
        assert memory is not None
        return memory.state.content.decode()

    def says(self, section: str) -> str:
        """What a section says, by the first word of its heading."""
        return next(one.body.strip() for one in sections(self.text) if one.heading.split()[1] == section)

    def events(self) -> list[Event]:
        """What happened in the newest run."""
        newest = self.scene.runs()[-1].seq
        with self.scene.store.view() as connection:
            return runs.events(connection, newest)
