"""What memories name, beside a real working tree: what is gone is told, and nothing outside the tree is looked at."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memstore import Memstore, Wanted
from memstore.checking import Tree, notes_on
from memstore.claude.root import find_root
from memstore.core.age import DAY
from memstore.core.claims import claims, told
from memstore.store import ages
from memstore.store.guard import Protection
from memstore.world import World


def git(place: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=place, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository that had `src/gone.py` once."""
    place = tmp_path / "repo"
    (place / "src").mkdir(parents=True)
    git(place, "init", "-q")
    (place / "src" / "auth.py").write_text("def login():\n    pass\n")
    (place / "src" / "gone.py").write_text("x\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    git(place, "rm", "-q", "src/gone.py")
    git(place, "commit", "-qm", "second")
    git(place, "branch", "feature/login")
    git(place, "update-ref", "refs/remotes/origin/theirs", "HEAD")
    return place


def missing(place: Path, text: str, cwd: Path | None = None, folder: Path | None = None) -> list[str]:
    tree = Tree(find_root(str(place)), str(cwd or place), None if folder is None else str(folder))
    return [told(one) for one in tree.missing(claims(text))]


def test_of_files_beyond_what_a_recall_looks_through_nothing_is_said(repo: Path):
    (repo / "src" / "large.py").write_text("x = 1\n" * 1_000)
    text = "`gone()` is in `src/large.py`.\n`login()` was in src/large.py, `other()` is in `src/auth.py`."
    tree = Tree(find_root(str(repo)), str(repo), None, 6_000)
    assert [one.claim.what for one in tree.missing(claims(text))] == ["gone"]
    assert len(missing(repo, text)) == 2


def test_what_is_there_is_not_told(repo: Path, tmp_path: Path):
    (repo / "packages" / "app" / "lib").mkdir(parents=True)
    (repo / "packages" / "app" / "lib" / "x.ts").write_text("")
    (tmp_path / "memory" / "team").mkdir(parents=True)
    (tmp_path / "memory" / "team" / "note.md").write_text("")
    text = (
        "`login()` is in `src/auth.py:2`, and `src/` stays. On branch `feature/login`, branch `main`, branch `theirs`,"
        " branch `origin/theirs`.\nHere lib/x.ts counts, and [note](team/note.md)."
    )
    assert missing(repo, text, repo / "packages" / "app" / "lib", tmp_path / "memory") == []
    git(repo, "pack-refs", "--all")
    assert missing(repo, text, repo / "packages" / "app", tmp_path / "memory") == []


def test_what_is_gone_is_told(repo: Path):
    assert missing(repo, "`src/gone.py` and `src/old/`, on branch `feature/x`\n`logout()` in `src/auth.py:3`") == [
        "names the branch `feature/x`, which this repository does not have",
        "names `src/gone.py`, which is not in this working tree",
        "names `src/old`, which is not in this working tree",
        "names line 3 of `src/auth.py`, which has 2 lines",
        "names `logout`, which is not in `src/auth.py`",
    ]
    assert missing(repo, "`login()` in `src/gone.py:7`") == ["names `src/gone.py`, which is not in this working tree"]


def test_what_cannot_be_known_is_not_told(repo: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / "linked").symlink_to(outside)
    (repo / "src" / "linked.py").symlink_to("/etc/hosts")
    os.mkfifo(repo / "src" / "pipe.py")
    (repo / "src" / "large.py").write_bytes(b"\n" * (1 << 20) + b"\n")
    text = "linked/x.py, src/auth.py/x.py, `f()` in src/linked.py:99999, src/pipe.py:9 src/large.py:2000000"
    assert missing(repo, text) == []
    (repo / "lib" / "core").mkdir(parents=True)
    (repo / "lib" / "core" / "part.py").write_text("")
    git(repo, "add", "lib")
    assert missing(repo, "core/part.py and `lib/core/`, core/other.py") == [
        "names `core/other.py`, which is not in this working tree"
    ]
    git(repo, "update-index", "--index-version", "4")
    assert missing(repo, "core/part.py, core/other.py")[0].startswith("names `core/other.py`")
    git(repo, "update-index", "--index-version", "2")
    git(repo, "update-index", "--split-index")
    assert missing(repo, "core/part.py, core/other.py") == []
    git(repo, "update-index", "--no-split-index")
    for shared in (repo / ".git").glob("sharedindex.*"):
        shared.unlink()
    assert missing(repo, "core/other.py")
    (repo / ".git" / "info" / "sparse-checkout").write_text("/src\n")
    assert missing(repo, "other/x.py") == []
    (repo / ".git" / "reftable").mkdir()
    assert missing(repo, "branch `nowhere`") == []


def test_a_live_database_is_never_opened(repo: Path, monkeypatch: pytest.MonkeyPatch):
    held = repo / "src" / "store.db"
    held.write_bytes(b"x")
    protection = Protection(str(held))
    opened: list[object] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *more, **named: opened.append(path) or real(path, *more, **named))
    try:
        assert missing(repo, "`src/store.db:5`") == []
    finally:
        protection.end()
    assert "store.db" not in opened
    assert missing(repo, "`src/store.db:5`") == ["names line 5 of `src/store.db`, which has 1 line"]


def test_outside_git_files_are_looked_for_and_branches_are_not(tmp_path: Path):
    assert missing(tmp_path, "`src/a.py`, branch `x`") == ["names `src/a.py`, which is not in this working tree"]


def test_a_check_names_the_commit_that_took_a_file_away(repo: Path):
    commit = git(repo, "rev-parse", "--short", "HEAD")
    with Memstore.open(str(repo)) as memories:
        memories.write("auth", Wanted(body="See `src/gone.py` and `never/there.py`.", description="d"))
        memories.write("fine", Wanted(body="See `src/auth.py`.", description="d"))
        found = memories.check()
        assert [(one.memory.path, one.claims, [told(gone) for gone in one.missing]) for one in found] == [
            ("auth.md", 2, [
                f"names `src/gone.py`, which is gone since commit {commit}",
                "names `never/there.py`, which is not in this working tree",
            ]),
            ("fine.md", 1, []),
        ]  # fmt: skip
        assert [one.memory.path for one in memories.check(["fine"])] == ["fine.md"]
        (repo / "src" / "gone.py").write_text("x\n")
        git(repo, "add", ".")
        git(repo, "commit", "-qm", "back")
        (repo / "src" / "gone.py").unlink()
        assert found[0].missing[0].commit == commit
        assert memories.check(["auth"])[0].missing[0].commit == ""


def test_a_text_is_as_old_as_it_was_in_its_folder_and_no_pin_makes_it_younger(repo: Path):
    real = World.real(str(repo))
    later = replace(real, clock=lambda: real.clock() + DAY)  # files are not as young as their times are coarse
    with Memstore.open(world=later) as memories:
        folder = Path(memories.place.folder or "")
        folder.mkdir(parents=True)
        (folder / "old.md").write_text("---\nname: old\ndescription: d\n---\n\nSee `src/gone.py`.\n")
        now = memories.world.clock()
        os.utime(folder / "old.md", ns=((now - 12 * DAY) * 1_000,) * 2)
        memories.sync()
        memories.pin("old")
        (head,) = memories.memories()

        def written() -> int:
            with memories.store.view() as connection:
                return ages.written(connection, [head.id])[head.id]

        notes = notes_on(head, written(), now, Tree.here(memories))
        assert notes[0].startswith("12 days old: a note of that moment")
        assert notes[1:] == ["names `src/gone.py`, which is not in this working tree"]
        memories.append("old", "More.")
        assert notes_on(head, written(), now, Tree.here(memories))[0].startswith("names")
        os.utime(folder / "old.md", (1, 1))
        memories.sync()
        assert written() >= now
