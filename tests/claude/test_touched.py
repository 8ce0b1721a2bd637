"""Which sessions count: those of all worktrees, each once, and nobody else's."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from memstore.claude.root import find_root
from memstore.claude.slug import sanitise
from memstore.claude.touched import AHEAD, Touched, directories, touched

NOW = 1_800_000_000_000_000
HOUR = 3_600_000_000


class Place:
    """A repository and a home, with transcripts of sessions."""

    def __init__(self, base: Path) -> None:
        self.home, self.repo = base / "home", base / "repo"
        self.git = self.repo / ".git"
        self.git.mkdir(parents=True)
        (self.git / "HEAD").write_text("ref: refs/heads/main\n")

    def worktree(self, path: Path) -> Path:
        """A linked worktree, as git makes it."""
        record = self.git / "worktrees" / path.name
        record.mkdir(parents=True)
        path.mkdir(parents=True)
        (path / ".git").write_text(f"gitdir: {record}\n")
        (record / "HEAD").write_text("ref: refs/heads/x\n")
        (record / "commondir").write_text("../..\n")
        (record / "gitdir").write_text(f"{path}/.git\n")
        return path

    def session(self, number: int | str, cwd: Path, at: int = NOW - HOUR, *, slug: str = "", says: str = "") -> Path:
        """A transcript, in the folder of the directory it was started in."""
        name = f"00000000-0000-4000-8000-{number:012}" if isinstance(number, int) else number
        path = self.home / ".claude" / "projects" / (slug or sanitise(str(cwd))) / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"type":"summary"}\n' + json.dumps({"type": "user", "cwd": says or str(cwd)}) + "\n")
        os.utime(path, ns=(at * 1_000, at * 1_000))
        return path

    def touched(self, since: int = 0, **more: tuple[str, ...]) -> list[int]:
        found = touched(find_root(str(self.repo)), {}, str(self.home), since, NOW, **more)
        return [int(each.session[-12:]) for each in found]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_sessions_of_all_worktrees_count_each_once(place: Place, tmp_path: Path):
    one, other = place.worktree(tmp_path / "wt-one"), place.worktree(place.repo / ".claude" / "worktrees" / "wt")
    place.session(1, place.repo, NOW - 4 * HOUR)
    place.session(2, one, NOW - 3 * HOUR)
    place.session(3, other, NOW - 2 * HOUR)
    place.session(1, one, NOW - HOUR)
    assert place.touched() == [2, 3, 1]
    assert find_root(str(one)).path == str(place.repo)
    inside = touched(find_root(str(one)), {}, str(place.home), 0, NOW)
    assert [each.session[-1] for each in inside] == ["2", "3", "1"]
    newest = place.session(1, one, NOW - HOUR)
    assert inside[-1] == Touched(newest.stem, str(newest), NOW - HOUR, newest.stat().st_size)


def test_a_worktree_that_the_client_made_and_removed_counts_still(place: Place):
    made = place.worktree(place.repo / ".claude" / "worktrees" / "gone")
    place.session(1, made)
    shutil.rmtree(made)
    shutil.rmtree(place.git / "worktrees")
    assert place.touched() == [1]


def test_only_what_was_touched_since_then_counts_and_not_the_current_session(place: Place):
    for number in range(1, 5):
        place.session(number, place.repo, NOW - number * HOUR)
    assert place.touched(NOW - 3 * HOUR) == [2, 1]
    assert place.touched(NOW - 3 * HOUR, without=("00000000-0000-4000-8000-000000000001",)) == [2]


def test_agents_and_what_is_no_transcript_do_not_count(place: Place):
    folder = place.session(1, place.repo).parent
    place.session("agent-00000000-0000-4000-8000-000000000002", place.repo)
    place.session("notes", place.repo)
    (folder / "00000000-0000-4000-8000-000000000003.jsonl").mkdir()
    (folder / "00000000-0000-4000-8000-000000000004.jsonl").symlink_to(folder / "notes.jsonl")
    (folder / "00000000-0000-4000-8000-000000000005.jsonl").touch()
    (folder / "00000000-0000-4000-8000-000000000006.txt").write_text("x")
    os.mkfifo(folder / "00000000-0000-4000-8000-000000000007.jsonl")
    assert place.touched() == [1]


def test_a_session_of_another_project_with_the_same_slug_does_not_count(place: Place, tmp_path: Path):
    place.session(1, place.repo)
    place.session(2, place.repo, says=str(tmp_path / "another"))
    assert place.touched() == [1]


def test_where_hooks_know_of_a_transcript_its_folder_counts_too(place: Place):
    inside = place.repo / "sub" / "dir"
    one = place.session(1, inside)
    place.session(2, inside)
    assert place.touched() == []
    assert place.touched(known=(str(one),)) == [1, 2]
    odd = place.session(3, place.repo, slug="x", says="/elsewhere")
    assert place.touched(known=(str(odd),)) == [3]


def test_a_time_far_ahead_does_not_count_again_and_again(place: Place):
    place.session(1, place.repo, NOW + AHEAD)
    place.session(2, place.repo, NOW + AHEAD + 1)
    assert place.touched() == [1]


def test_where_there_is_nothing_nothing_counts(place: Place):
    assert place.touched() == []
    assert all(
        path.startswith(str(place.home)) for path in directories(find_root(str(place.repo)), {}, str(place.home))
    )
