"""Which memories belong to which directory: H01, H02, H03, and values that came with a repository."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore import Memstore, Wanted
from memstore.errors import Moved, NotFound, SettingRefused
from memstore.place import find_place, hand_over_folder
from memstore.world import World
from tests.journeys.conftest import git


def put(cwd: Path, name: str, body: str) -> str:
    """Writes a memory from a directory and returns the folder it is projected into."""
    with Memstore.open(os.fspath(cwd)) as memories:
        memories.write(name, Wanted(body=body, description=f"about {name}"))
        return memories.place.placement.directory


def found(cwd: Path, words: str) -> list[str]:
    with Memstore.open(os.fspath(cwd)) as memories:
        return [hit.path for hit in memories.search(words)[1]]


def test_h01_a_memory_written_in_a_worktree_is_the_repositorys(
    repository: Path, worktree: Callable[[str], Path]
) -> None:
    linked = worktree("feature")
    folder = put(linked, "pagination", "API pages are 1-based.")
    assert put(repository, "other", "x") == folder
    assert found(repository, "1-based") == ["pagination.md"]
    (repository / "sub" / "dir").mkdir(parents=True)
    assert found(repository / "sub" / "dir", "1-based") == ["pagination.md"]


def test_h01_a_memory_outlives_the_worktree_it_was_written_in(
    repository: Path, worktree: Callable[[str], Path]
) -> None:
    linked = worktree("feature")
    put(linked, "pagination", "API pages are 1-based.")
    git(repository, "worktree", "remove", "--force", os.fspath(linked))
    assert found(repository, "1-based") == ["pagination.md"]


def test_history_names_the_worktree_branch_and_session_of_a_write(
    repository: Path, worktree: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = worktree("feature")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "11111111-2222")
    put(linked, "pagination", "1-based")
    with Memstore.open(os.fspath(repository)) as memories:
        operation, _ = memories.log("pagination")[0]
    who = operation.provenance
    assert (who.session, who.worktree, who.branch) == ("11111111-2222", os.path.realpath(linked), "feature")
    assert who.origin == "agent"
    assert who.author == "tester <tester@example.invalid>"


@pytest.mark.parametrize(
    ("first", "second"), [("my_app", "my-app"), ("my.app", "my-app"), ("新聞", "暫存"), ("외주", "회사")]
)
def test_h02_two_projects_with_one_slug_share_no_memory_and_the_second_is_refused_the_folder(
    tmp_path: Path, first: str, second: str
) -> None:
    for name in (first, second):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    folder = put(tmp_path / first, "vpn-host", "gateway 10.9.8.7")
    before = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    assert found(tmp_path / second, "gateway") == []
    with Memstore.open(os.fspath(tmp_path / second)) as memories:
        with pytest.raises(NotFound):
            memories.show("vpn-host")
        saved = memories.write("mine", Wanted(body="second project"))
        report = memories.sync()
    assert saved.files.folder is None
    assert report.folder is None
    assert os.path.realpath(tmp_path / first) in report.notices[0]
    assert os.path.realpath(tmp_path / second) in report.notices[0]
    assert {path.name: path.read_bytes() for path in Path(folder).iterdir()} == before
    assert found(tmp_path / second, "second project") == ["mine.md"]


def test_h03_a_link_to_a_project_is_the_project(repository: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repository)
    put(link, "x-ray", "seen by both ways")
    assert found(repository, "seen") == ["x-ray.md"]


def test_h03_a_moved_repository_is_offered_its_store_and_never_starts_afresh_silently(repository: Path) -> None:
    put(repository, "old-news", "written before the move")
    moved = repository.parent / "renamed"
    repository.rename(moved)
    with pytest.raises(Moved) as refusal:
        Memstore.open(os.fspath(moved))
    assert os.path.realpath(repository) in str(refusal.value)
    assert "memstore link" in refusal.value.hint
    world = World.real(os.fspath(moved))
    from memstore.store.home import Home

    home = Home.locate(world.environment)
    home.link(os.path.realpath(moved), os.path.realpath(repository), world.clock())
    assert found(moved, "before the move") == ["old-news.md"]


def test_h03_a_directory_that_the_repository_names_counts_only_after_consent(repository: Path, home: Path) -> None:
    elsewhere = repository.parent / "elsewhere" / "mem"
    settings = repository / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"autoMemoryDirectory": str(elsewhere)}))
    with Memstore.open(os.fspath(repository)) as memories:
        saved = memories.write("first", Wanted(body="before consent"))
        assert saved.files.folder is None
        assert str(elsewhere) in saved.files.notices[0]
        assert "memstore trust" in saved.files.notices[0]
        default = memories.place.placement.directory
        place = memories.place
        value = place.placement.untrusted[0]
        place.home.trust(place.root.path, value.key, value.value, memories.world.clock())
    assert not os.path.exists(default)
    assert not elsewhere.exists()
    folder = put(repository, "second", "after consent")
    assert folder == str(elsewhere)
    assert sorted(path.name for path in elsewhere.glob("*.md")) == ["MEMORY.md", "first.md", "second.md"]
    assert not os.path.exists(default)


def test_a_configuration_directory_moves_the_folder_and_both_show_one_store(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(repository, "alpha", "one store")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", os.fspath(repository.parent / "altcfg"))
    other = put(repository, "beta", "two folders")
    assert other.startswith(os.fspath(repository.parent / "altcfg"))
    assert {path.name for path in Path(other).glob("*.md")} == {"MEMORY.md", "alpha.md", "beta.md"}
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    with Memstore.open(os.fspath(repository)) as memories:
        memories.sync()
    assert {path.name for path in Path(folder).glob("*.md")} == {"MEMORY.md", "alpha.md", "beta.md"}


def test_looking_for_memories_where_there_are_none_makes_nothing(repository: Path, home: Path) -> None:
    with pytest.raises(NotFound):
        Memstore.open(os.fspath(repository), make=False)
    assert not (home / "memstore").exists()
    assert find_place(World.real(os.fspath(repository))).store is None


def test_hostile_git_variables_lead_nowhere(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put(repository, "mine", "the right one")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", os.fspath(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", os.fspath(other))
    assert found(repository, "right one") == ["mine.md"]


def test_a_copied_repository_is_another_project(repository: Path) -> None:
    put(repository, "mine", "only the original's")
    copy = repository.parent / "copy"
    shutil.copytree(repository, copy)
    assert found(copy, "original") == []


def test_h03_a_fresh_start_that_a_person_asked_for_takes_the_folder_along(repository: Path) -> None:
    folder = put(repository, "old-news", "from the earlier store")
    world = World.real(os.fspath(repository))
    place = find_place(world)
    registration = place.home.link_new(place.root.path, world.new_id, world.clock())
    with Memstore.open(os.fspath(repository)) as memories:
        refused = memories.sync()
        assert refused.folder is None and "another store of" in refused.notices[0]
    assert hand_over_folder(place, registration.store)
    with Memstore.open(os.fspath(repository)) as memories:
        assert memories.sync().folder == folder
    assert found(repository, "earlier store") == ["old-news.md"]


def test_a_home_inside_the_folder_that_is_shown_is_refused(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find_place(World.real(os.fspath(repository))).placement.directory
    monkeypatch.setenv("MEMSTORE_HOME", os.path.join(folder, "stores"))
    with pytest.raises(SettingRefused):
        Memstore.open(os.fspath(repository))
    assert not os.path.exists(folder)
