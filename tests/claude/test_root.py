"""The canonical root, against real git. git runs only here, never in memstore."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memstore.claude.root import Root, common_directory, find_root, linked_worktrees
from memstore.errors import PlaceRefused

ISOLATED = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@example.invalid",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@example.invalid",
    "LC_ALL": "C.UTF-8",
}


def git(where: Path, *arguments: str) -> str:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=where, env=ISOLATED, check=True, capture_output=True, text=True).stdout.strip()


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def root_of(path: Path) -> Root:
    return find_root(str(path))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


def test_a_repository_is_its_own_root_with_branch_and_commit(base: Path) -> None:
    repo = repository(base / "repo")
    root = root_of(repo)
    assert (root.path, root.worktree, root.kind) == (str(repo), str(repo), "repository")
    assert root.git_dir == str(repo / ".git")
    assert root.branch == "main"
    assert root.commit == git(repo, "rev-parse", "HEAD")
    assert root.rule
    assert root.warnings == ()


def test_h01_a_subdirectory_belongs_to_the_repository(base: Path) -> None:
    repo = repository(base / "repo")
    (repo / "sub/dir").mkdir(parents=True)
    assert root_of(repo / "sub/dir") == root_of(repo)
    assert root_of(repo / ".git/refs").path == str(repo)


def test_h01_five_linked_worktrees_share_the_main_checkouts_root(base: Path) -> None:
    repo = repository(base / "repo")
    for number in range(5):
        tree = base / f"tree {number}"
        git(repo, "worktree", "add", "-q", "-b", f"topic/{number}", str(tree))
        (tree / "deep").mkdir()
        for place in (tree, tree / "deep"):
            root = root_of(place)
            assert (root.path, root.worktree, root.kind) == (str(repo), str(tree), "worktree")
            assert root.branch == f"topic/{number}"
            assert root.commit == git(tree, "rev-parse", "HEAD")
            assert root.warnings == ()
            assert common_directory(root) == str(repo / ".git")
    expected = tuple(str(base / f"tree {number}") for number in range(5))
    assert linked_worktrees(root_of(repo)) == expected
    assert linked_worktrees(root_of(base / "tree 3")) == expected


def test_h01_a_vanished_worktree_is_still_on_gits_record(base: Path) -> None:
    repo = repository(base / "repo")
    git(repo, "worktree", "add", "-q", str(base / "tree"))
    os.rename(base / "tree", base / "elsewhere")
    assert linked_worktrees(root_of(repo)) == (str(base / "tree"),)


def test_a_worktree_inside_the_repository_belongs_to_it(base: Path) -> None:
    repo = repository(base / "repo")
    tree = repo / ".claude/worktrees/feature"
    git(repo, "worktree", "add", "-q", str(tree))
    assert (root_of(tree).path, root_of(tree).worktree) == (str(repo), str(tree))


def test_relative_links_between_worktree_and_repository_are_followed(base: Path) -> None:
    repo = repository(base / "repo")
    tree = base / "tree"
    git(repo, "worktree", "add", "-q", str(tree))
    (tree / ".git").write_text("gitdir: ../repo/.git/worktrees/tree\n")
    (repo / ".git/worktrees/tree/gitdir").write_text("../../../../tree/.git\n")
    assert root_of(tree).path == str(repo)
    assert root_of(tree).warnings == ()
    assert linked_worktrees(root_of(repo)) == (str(tree),)


def test_a_plain_directory_from_a_worktree_hook_is_its_own_root(base: Path) -> None:
    repository(base / "repo")
    (base / "copy").mkdir()
    root = root_of(base / "copy")
    assert (root.path, root.kind, root.git_dir, root.branch) == (str(base / "copy"), "directory", None, None)


def test_a_submodule_is_its_own_root(base: Path) -> None:
    library = repository(base / "library")
    outer = repository(base / "outer")
    git(outer, "submodule", "--quiet", "add", str(library), "lib")
    root = root_of(outer / "lib")
    assert (root.path, root.worktree, root.kind) == (str(outer / "lib"), str(outer / "lib"), "submodule")
    assert root.commit == git(library, "rev-parse", "HEAD")
    assert root_of(outer).path == str(outer)


def test_a_submodule_in_a_linked_worktree_is_its_own_root(base: Path) -> None:
    library = repository(base / "library")
    outer = repository(base / "outer")
    git(outer, "submodule", "--quiet", "add", str(library), "lib")
    git(outer, "commit", "-q", "-m", "lib")
    git(outer, "worktree", "add", "-q", str(base / "tree"))
    git(base / "tree", "submodule", "--quiet", "update", "--init")
    root = root_of(base / "tree/lib")
    assert (root.path, root.kind) == (str(base / "tree/lib"), "submodule")


def test_a_worktree_of_a_bare_repository_belongs_to_the_bare_repository(base: Path) -> None:
    repository(base / "source")
    git(base, "clone", "-q", "--bare", "source", "r.git")
    git(base / "r.git", "worktree", "add", "-q", str(base / "tree"), "main")
    root = root_of(base / "tree")
    assert (root.path, root.kind) == (str(base / "r.git"), "worktree")
    assert root.branch == "main"
    assert (root_of(base / "r.git").path, root_of(base / "r.git").kind) == (str(base / "r.git"), "bare")


def test_the_dot_bare_layout_keeps_parent_and_worktrees_apart(base: Path) -> None:
    repository(base / "source")
    (base / "x").mkdir()
    git(base, "clone", "-q", "--bare", "source", "x/.bare")
    (base / "x/.git").write_text("gitdir: ./.bare\n")
    git(base / "x", "worktree", "add", "-q", str(base / "x/main"), "main")
    assert root_of(base / "x/main").path == str(base / "x/.bare")
    assert (root_of(base / "x").path, root_of(base / "x").kind) == (str(base / "x"), "repository")


def test_a_git_directory_that_lies_apart_leaves_the_checkout_its_own_root(base: Path) -> None:
    (base / "work").mkdir()
    git(base / "work", "init", "-q", f"--separate-git-dir={base / 'modules-of-mine'}")
    root = root_of(base / "work")
    assert (root.path, root.kind) == (str(base / "work"), "repository")


def test_a_folder_called_modules_does_not_make_a_submodule(base: Path) -> None:
    (base / "modules/work").mkdir(parents=True)
    git(base / "modules/work", "init", "-q", f"--separate-git-dir={base / 'modules/store'}")
    assert root_of(base / "modules/work").kind == "repository"


def test_h03_a_symlinked_directory_has_the_real_root(base: Path) -> None:
    repo = repository(base / "real")
    (base / "link").symlink_to(repo)
    assert root_of(base / "link") == root_of(repo)


def test_h03_a_moved_repository_has_its_new_path_and_the_same_inode(base: Path) -> None:
    repo = repository(base / "real")
    before = os.stat(root_of(repo).path).st_ino
    os.rename(repo, base / "renamed")
    root = root_of(base / "renamed")
    assert root.path == str(base / "renamed")
    assert os.stat(root.path).st_ino == before


def test_a_worktree_moved_by_hand_is_not_followed_and_says_how_to_mend_it(base: Path) -> None:
    repo = repository(base / "repo")
    git(repo, "worktree", "add", "-q", str(base / "tree"))
    os.rename(base / "tree", base / "moved")
    root = root_of(base / "moved")
    assert (root.path, root.kind) == (str(base / "moved"), "directory")
    assert "git worktree repair" in root.warnings[0]
    git(base / "moved", "worktree", "repair")
    git(repo, "worktree", "repair", str(base / "moved"))
    assert root_of(base / "moved").path == str(repo)


def test_hostile_25_a_forged_git_file_is_not_followed(base: Path) -> None:
    victim = repository(base / "victim")
    git(victim, "worktree", "add", "-q", str(base / "tree"))
    forged = base / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {victim}/.git/worktrees/tree\n")
    root = root_of(forged)
    assert (root.path, root.kind, root.git_dir, root.branch) == (str(forged), "directory", None, None)
    assert "does not point back" in root.warnings[0]


def test_hostile_25_a_forged_git_directory_cannot_borrow_another_repository(base: Path) -> None:
    victim = repository(base / "victim")
    forged = base / "forged"
    own = forged / "fake/worktrees/x"
    own.mkdir(parents=True)
    (forged / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{forged}/.git\n")
    (own / "commondir").write_text(f"{victim}/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    assert root_of(forged).path == str(forged)
    assert root_of(forged).kind == "directory"


def test_hostile_25_nothing_in_the_repository_runs(base: Path) -> None:
    repo = repository(base / "repo")
    trap = base / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {base}/sprung\n")
    trap.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(trap))
    git(repo, "config", "core.hooksPath", str(base))
    assert root_of(repo).path == str(repo)
    assert not (base / "sprung").exists()


def test_no_git_variable_is_obeyed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(base / "repo")
    other = repository(base / "other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_COMMON_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo))
    (repo / "sub").mkdir()
    assert root_of(repo / "sub").path == str(repo)


def test_paths_that_differ_only_in_case_are_different_roots(base: Path) -> None:
    assert root_of(repository(base / "Repo")).path != root_of(repository(base / "repo")).path


@pytest.mark.parametrize(
    "content",
    [b"", b"gitdir: \n", b"gitdir: /nonexistent/x\n", b"nonsense", b"gitdir: a\0b\n", b"x" * 70_000],
    ids=["empty", "no path", "gone", "nonsense", "nul", "huge"],
)
def test_a_git_file_that_leads_nowhere_leaves_the_directory_its_own_root(base: Path, content: bytes) -> None:
    (base / "x").mkdir()
    (base / "x/.git").write_bytes(content)
    root = root_of(base / "x")
    assert (root.path, root.kind) == (str(base / "x"), "directory")
    assert str(base / "x/.git") in root.warnings[0]


def test_a_fifo_called_dot_git_is_passed_by_without_waiting(base: Path) -> None:
    repo = repository(base / "repo")
    (repo / "sub").mkdir()
    os.mkfifo(repo / "sub/.git")
    assert root_of(repo / "sub").path == str(repo)


def test_a_fifo_called_head_gives_no_branch_and_does_not_wait(base: Path) -> None:
    repo = repository(base / "repo")
    os.unlink(repo / ".git/HEAD")
    os.mkfifo(repo / ".git/HEAD")
    assert (root_of(repo).branch, root_of(repo).commit) == (None, None)


def test_an_empty_git_directory_is_a_root_with_a_warning(base: Path) -> None:
    (base / "x/.git").mkdir(parents=True)
    root = root_of(base / "x")
    assert (root.path, root.kind, root.branch) == (str(base / "x"), "repository", None)
    assert "no HEAD" in root.warnings[0]


def test_a_foreign_git_directory_is_named(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(base / "repo")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert "another user" in root_of(repo).warnings[0]


def test_branch_and_commit_are_read_from_packed_refs(base: Path) -> None:
    repo = repository(base / "repo")
    git(repo, "branch", "another/main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    git(repo, "pack-refs", "--all")
    assert not (repo / ".git/refs/heads/main").exists()
    assert root_of(repo).commit == git(repo, "rev-parse", "HEAD")


def test_a_detached_head_has_a_commit_and_no_branch(base: Path) -> None:
    repo = repository(base / "repo")
    git(repo, "checkout", "-q", "--detach")
    assert (root_of(repo).branch, root_of(repo).commit) == (None, git(repo, "rev-parse", "HEAD"))


def test_an_unborn_branch_has_a_name_and_no_commit(base: Path) -> None:
    (base / "repo").mkdir()
    git(base / "repo", "init", "-q", "-b", "trunk")
    assert (root_of(base / "repo").branch, root_of(base / "repo").commit) == ("trunk", None)


@pytest.mark.parametrize(
    "head",
    [
        b"ref: refs/heads/.invalid\n",
        b"ref: refs/heads/../../../secret\n",
        b"ref: refs/heads/a\x1b[31m\n",
        b"ref: /etc/passwd\n",
        b"\xff\xfe\n",
        b"0123\n",
    ],
    ids=["reftable", "climbing", "escape", "absolute", "bytes", "short"],
)
def test_a_head_that_names_no_branch_is_none_never_a_path(base: Path, head: bytes) -> None:
    repo = repository(base / "repo")
    (base / "secret").write_text("0" * 40)
    (repo / ".git/HEAD").write_bytes(head)
    assert (root_of(repo).branch, root_of(repo).commit) == (None, None)


@pytest.mark.parametrize("name", ["$(touch x)", "a;b", "名前", "é", "trailing "], ids=repr)
def test_hostile_27_odd_names_are_only_names(base: Path, name: str) -> None:
    repo = repository(base / name)
    tree = base / f"tree-{name}"
    git(repo, "worktree", "add", "-q", "-b", "topic", str(tree))
    assert root_of(repo).path == str(repo)
    assert (root_of(tree).path, root_of(tree).worktree) == (str(repo), str(tree))


def test_hostile_27_a_name_with_a_newline_is_only_a_name(base: Path) -> None:
    repo = repository(base / "new\nline")
    assert root_of(repo).path == str(repo)


def test_a_name_that_is_not_utf8_is_carried_through(base: Path) -> None:
    raw = os.fsencode(base) + b"/\xff\xfe"
    os.mkdir(raw)
    root = find_root(os.fsdecode(raw))
    assert os.fsencode(root.path) == raw


@pytest.mark.parametrize("place", ["missing", "file", "nul\0"], ids=["missing", "file", "nul"])
def test_a_working_directory_that_is_not_there_is_refused(base: Path, place: str) -> None:
    (base / "file").write_text("")
    with pytest.raises(PlaceRefused) as refusal:
        find_root(f"{base}/{place}")
    assert refusal.value.hint
