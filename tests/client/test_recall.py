"""What a prompt is told with the real client: the memory that bears on it, once until the conversation is compacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.api import Say, saying
from tests.client.places import memstore, with_plugin
from tests.client.running import Client, Session

ASKED = "Which port does staging listen on?"
TOLD = "> Staging listens on 7443."


@pytest.fixture
def client(bare: Client, repository: Path, tmp_path: Path) -> Client:
    memstore(repository, "write", "bun", "Use bun, never npm.", "-d", "the package manager", "--type", "project")
    return with_plugin(bare, tmp_path / "plugin", repository)


def told(session: Session) -> int:
    """How often the model was shown the memory's words in the session's last request."""
    return session.script.requests[-1].said().count(TOLD)


def test_a_prompt_is_told_what_another_worktree_has_just_written_once_until_a_compaction(
    client: Client, checkouts: list[Path]
):
    _, pay, auth = checkouts
    memstore(pay, "write", "staging-port", TOLD[2:], "-d", "which port staging listens on", "--type", "reference")
    first = client.run(auth, ASKED, saying(Say("On 7443.")))
    assert told(first) == 1 and "> Use bun" not in first.script.requests[-1].said()
    again = client.run(auth, ASKED, saying(Say("Still on 7443.")), resume=first.id)
    assert told(again) <= 1
    client.compact(auth, first)
    after = client.run(auth, ASKED, saying(Say("7443, as ever.")), resume=first.id)
    assert told(after) == 1
    unrelated = client.run(auth, "Tell me something about the weather.", saying(Say("It rains.")))
    assert "> Use bun" not in unrelated.script.requests[-1].said() and told(unrelated) == 0
