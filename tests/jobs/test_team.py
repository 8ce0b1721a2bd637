"""Team memory in a run: it is shown and read, nothing is written there, and nothing private doubles it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore.core.model import SHELF
from memstore.errors import InputRefused
from memstore.files.team import LARGEST, team_memories
from memstore.jobs.forms import check_file
from memstore.jobs.prompt import prompt
from memstore.jobs.team import is_team
from tests.jobs.api import Scripted
from tests.jobs.desk import text_of
from tests.jobs.scene import Scene, saves
from tests.jobs.standin import SESSION, Forked, StandIn
from tests.messages_api import Say, Use

SAID = "releases are cut on Tuesdays"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "memory"
    (made / "team" / "mount").mkdir(parents=True)
    (made / "own.md").write_bytes(text_of("own", "mine\n"))
    (made / "team" / "MEMORY.md").write_text("- [release](release.md)\n")
    (made / "team" / "release.md").write_bytes(text_of("release", "Releases are cut on Mondays.\n", description="when"))
    (made / "team" / "mount" / "board.md").write_bytes(text_of("board", "The board is at B.\n", type="reference"))
    os.utime(made / "team" / "release.md", (1_772_000_000, 1_772_000_000))
    os.utime(made / "team" / "mount" / "board.md", (1_771_000_000, 1_771_000_000))
    return made


def with_team(scene: Scene, folder: Path) -> Scene:
    scene.team = lambda: team_memories(str(folder))
    return scene


def talk(scene: Scene, session: str = "s") -> None:
    scene.transcript(session).person(f"by the way, {SAID} from now on")
    scene.transcript(session).agent("All right.")


def test_what_lies_in_team_is_read_in_place_and_nothing_else(folder: Path, tmp_path: Path):
    (tmp_path / "elsewhere.md").write_bytes(text_of("elsewhere"))
    os.symlink(tmp_path / "elsewhere.md", folder / "team" / "link.md")
    (folder / "team" / "giant.md").write_bytes(b"x" * (LARGEST + 1))
    (folder / "team" / "note.txt").write_text("no memory")
    found = team_memories(str(folder))
    assert [(one.path, one.name, one.type, one.origin, one.state.shelf.scope) for one in found] == [
        ("team/mount/board.md", "board", "reference", "team", "team"),
        ("team/release.md", "release", "project", "team", "team"),
    ]
    assert found[1].changed_at == 1_772_000_000_000_000
    assert team_memories(str(tmp_path / "gone")) == [] == team_memories(str(folder / "team" / "mount"))


def test_a_team_directory_that_is_a_link_is_left_alone(folder: Path, tmp_path: Path):
    (folder / "team").rename(tmp_path / "team")
    os.symlink(tmp_path / "team", folder / "team")
    assert team_memories(str(folder)) == []


def test_the_model_is_told_of_scopes_and_of_the_team_s_memories(scene: Scene, folder: Path):
    talk(with_team(scene, folder))
    scene.turn(Say("Nothing to keep."))
    system = scene.api.bodies[0]["system"][0]["text"]
    assert system == prompt("extract", turns=5, team=True) != prompt("extract", turns=5)
    for told in (
        "`user` is always private",
        "`feedback` is private",
        "`project` leans to the team",
        "can only be read",
    ):
        assert told in system
    assert "- [team, project] team/release.md (2026-02-25T06:13Z): when" in scene.asked()


def test_without_team_memory_nothing_is_said_of_it(scene: Scene):
    talk(scene)
    scene.turn(Say("Nothing to keep."))
    assert scene.api.bodies[0]["system"][0]["text"] == prompt("extract", turns=5)


def test_it_is_read_and_found_and_never_written(scene: Scene, folder: Path):
    talk(with_team(scene, folder))
    change = {"file_path": "team/release.md", "old_string": "Mondays", "new_string": "Tuesdays", "quote": SAID}
    before = (folder / "team" / "release.md").read_bytes()
    end = scene.turn(
        (
            Use("Read", {"file_path": "team/release.md"}),
            Use("Grep", {"pattern": "cut on", "path": "team"}),
            Use("Glob", {"pattern": "team/**/*.md"}),
            Use("Edit", change),
            Use("Delete", {"file_path": "team/release.md", "reason": "wrong", "quote": SAID}),
            saves("team/tuesday.md", "Releases are cut on Tuesdays.", SAID),
            saves("Team/tuesday.md", "Releases are cut on Tuesdays.", SAID),
            saves("release.md", "Releases are cut on Tuesdays; team/release.md says Mondays.", SAID),
        ),
        Say("Kept the day."),
    )
    told = scene.told(1)
    assert "Releases are cut on Mondays." in told and "words of: team" in told and "team/mount/board.md" in told
    assert [kind for kind, _ in scene.events()] == ["tool"] * 3 + ["refused"] * 4 + ["tool"]
    assert told.count("team memory is only read here") == 4
    assert end.outcome == "saved" and list(scene.files()) == ["release.md"]
    assert (folder / "team" / "release.md").read_bytes() == before and not (folder / "team" / "tuesday.md").exists()
    assert {memory.state.shelf for memory in scene.store.memories()} == {SHELF}


def test_nothing_private_doubles_what_the_team_has(scene: Scene, folder: Path):
    talk(with_team(scene, folder))
    end = scene.turn(saves("mine.md", "Releases  are cut\non Mondays.", SAID), Say("The team has it."))
    assert end.outcome == "nothing" and scene.files() == {}
    assert scene.events() == [
        ("refused", "Write 'mine.md': team/release.md says this already, to everybody: nothing is to be saved")
    ]


def test_a_fork_of_the_client_is_told_the_same(tmp_path: Path, api: Scripted, folder: Path):
    client = StandIn(tmp_path / "bin")
    scene = Forked(tmp_path, api, client)
    with_team(scene, folder)
    talk(scene, SESSION)
    write = {"do": "write", "path": "team/x.md", "content": text_of("x").decode(), "quote": SAID}
    client.change({"do": "read", "path": "team/release.md"}, write, reason="Kept it.")
    client.change(reason="Left it.")
    end = scene.turn(session=SESSION)
    assert end.outcome == "nothing" and [kind for kind, _ in scene.events()] == ["tool", "refused"]
    first, second = (call.stdin for call in client.calls)
    assert "`user` is always private" in first and "[team, project] team/release.md" in first
    assert "Releases are cut on Mondays." in second and "team memory is only read here" in second


@pytest.mark.parametrize("path", ["team/a.md", "TEAM/a.md", "team", "team/mount/a.md"])
def test_what_lies_below_team_is_the_team_s(path: str):
    assert is_team(path)
    with pytest.raises(InputRefused, match="only read here"):
        check_file(path)


@pytest.mark.parametrize("path", ["team.md", "teams/a.md", "sub/team/a.md"])
def test_what_only_sounds_like_it_is_not(path: str):
    assert not is_team(path) and check_file(path) == path
