"""From turns to the session after its compaction: real hook processes start the worker, which keeps the notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memstore.core.model import NOTES
from tests.files.desk import Desk
from tests.hooks.calls import Session, at_rest, settled, until
from tests.jobs.api import Scripted, scripted
from tests.jobs.noting import edit
from tests.messages_api import Answer, Asked, Halting, Say
from tests.talks import Talk


class Script:
    """Keeps notes where it is asked to, after it was allowed to, and finds nothing to extract."""

    def __init__(self, server: Scripted) -> None:
        self.server = server
        self.slow = False
        server.answer = self.answered

    def answered(self, asked: Asked) -> Answer | Halting:
        self.server.asked.append(asked)
        if [tool["name"] for tool in asked.body["tools"]] != ["Edit"]:
            return Say("Nothing is worth it.")
        if len(asked.body["messages"]) > 1:
            return Say("Noted.")
        answer = edit("Current", "porting the cache", path="one.md")
        return Halting(answer, pause=0.3) if self.slow else answer


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted() as server:
        yield Script(server)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, ahead=0.0)
    made.folder.mkdir(parents=True)
    yield made
    at_rest(made)
    made.close()


def session(shop: Desk, script: Script) -> Session:
    return Session(shop, "one", variables={"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": script.server.url})


def says(talk: Talk, tokens: int) -> None:
    talk.person("please port the cache to h2")
    usage = {"input_tokens": tokens}
    talk._add("assistant", {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "usage": usage})


def version(shop: Desk) -> int:
    memory = shop.memories.store.at(NOTES, "one.md")
    return 0 if memory is None else memory.version


def test_a_session_goes_on_from_its_notes_after_a_compaction(shop: Desk, script: Script):
    one, talk = session(shop, script), Talk("one")
    one.starts()
    says(talk, 6_000)
    one.stops()
    at_rest(shop)
    assert version(shop) == 0
    says(talk, 12_000)
    one.stops()
    settled(shop, lambda: version(shop) == 1)
    one.hook("PreCompact", trigger="auto")
    at_rest(shop)
    told = one.starts("compact").context
    assert "# Current State\nporting the cache\n" in told and "memory" not in told.split("memstore: notes")[0]
    assert list(shop.folder.glob("*.md")) == []


def test_a_compaction_waits_for_the_notes_that_a_worker_is_writing(shop: Desk, script: Script):
    script.slow = True
    one, talk = session(shop, script), Talk("one")
    says(talk, 12_000)
    one.stops()
    until(lambda: script.server.asked)
    one.hook("PreCompact", trigger="manual").check(20)
    assert version(shop) == 1
    assert "porting the cache" in one.starts("compact").context
