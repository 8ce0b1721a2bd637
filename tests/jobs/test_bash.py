"""Programs that only read: what is in the table runs, all else is refused, and no repository starts a program."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from memstore.errors import InputRefused
from memstore.jobs.bash import LIMIT, Programs


def git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=place, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with two commits and a change that is not committed."""
    found = tmp_path / "shop"
    (found / "src").mkdir(parents=True)
    git(found, "init")
    (found / "src" / "cart.py").write_text("one\ntwo\n")
    (found / "notes.txt").write_text("notes\n")
    git(found, "add", ".")
    git(found, "commit", "-m", "The cart")
    (found / "src" / "cart.py").write_text("one\n2\n")
    git(found, "commit", "-am", "A number")
    (found / "src" / "cart.py").write_text("one\nthree\n")
    return found


def run(place: Path, command: str) -> str:
    return Programs(str(place)).run(command)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("git log --oneline", "The cart"),
        ("git log -1 --stat", "src/cart.py | 2 +-"),
        ("git log -n 2 --since='2 weeks ago' -- src/cart.py", "A number"),
        ("git log --oneline HEAD~1..HEAD src", "A number"),
        ("git show HEAD", "+2"),
        ("git show HEAD~1:notes.txt", "notes"),
        ("git status --short", " M src/cart.py"),
        ("git diff", "+three"),
        ("git diff --name-only HEAD~1 HEAD", "src/cart.py"),
        ("git blame -L 1,1 src/cart.py", "one"),
        ("git blame HEAD -- src/cart.py", "2"),
        ("ls", "notes.txt\nsrc\n"),
        ("ls -la src", "cart.py"),
        ("wc -l notes.txt", "1 notes.txt"),
    ],
)
def test_what_is_in_the_table_runs_in_the_worktree(place: Path, command: str, told: str):
    assert told in run(place, command)


@pytest.mark.parametrize(
    "command",
    [
        "", " ", "rm notes.txt", "cat notes.txt", "/bin/ls", "./ls", "git", "git push", "git commit -m x",
        "git -c core.pager=x log", "git --exec-path=. log", "git log --output=x", "git log --format=%G?",
        "git log --pretty=x", "git log --ext-diff", "git log --textconv", "git log --remerge-diff", "git show -m",
        "git diff --no-index /etc/passwd /dev/null", "git diff /etc/passwd", "git diff -- /etc/passwd /dev/null",
        "git diff -- ../x ../y", "git blame --contents /etc/passwd src/cart.py", "git log -n x", "git log -n",
        "git log --since='$(touch x)'", "git log HEAD^{/x}", "git log :/x", "git show :!x", "git log -- :(top)x",
        "git log -S x", "git grep x", "ls ..", "ls /", "ls ~", "ls .git", "ls -- -l/../..", "wc",
        "wc --files0-from=/etc/passwd", "wc src", "wc -l /etc/passwd", "ls; rm notes.txt", "ls | wc -l",
        "ls > x", "ls `touch x`", "ls $(touch x)", "ls 'unclosed", "ls\nrm notes.txt", "ls \x1b[0m", "x" * 3_000,
    ],
)  # fmt: skip
def test_everything_else_is_refused_and_nothing_happens(place: Path, command: str):
    before = sorted(str(path) for path in place.rglob("*"))
    with pytest.raises(InputRefused):
        run(place, command)
    assert sorted(str(path) for path in place.rglob("*")) == before


def test_links_do_not_lead_out_of_the_worktree(place: Path, tmp_path: Path):
    (tmp_path / "secret.txt").write_text("a\nb\nc\n")
    (place / "out").symlink_to(tmp_path)
    (place / "file").symlink_to(tmp_path / "secret.txt")
    for command in ("ls out", "ls out/", "ls -R out", "wc -l file", "wc -l out/secret.txt"):
        with pytest.raises(InputRefused, match="leads out"):
            run(place, command)
    assert "secret" not in run(place, "git diff -- out/secret.txt")


def test_a_repository_starts_no_program(place: Path, tmp_path: Path):
    trap, fell = tmp_path / "trap", tmp_path / "fell"
    trap.write_text(f"#!/bin/sh\necho x >> '{fell}'\ncat\n")
    trap.chmod(0o755)
    for setting in (
        "core.fsmonitor", "core.pager", "pager.log", "core.sshCommand", "diff.external", "diff.x.command",
        "diff.x.textconv", "gpg.program", "merge.x.driver", "core.editor", "core.askPass",
    ):  # fmt: skip
        git(place, "config", setting, str(trap))
    for setting, value in (
        ("log.showSignature", "true"), ("format.pretty", "%G?"), ("log.diffMerges", "remerge"),
        ("core.hooksPath", str(tmp_path)), ("status.submoduleSummary", "true"), ("alias.log", f"!{trap}"),
    ):  # fmt: skip
        git(place, "config", setting, value)
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "attributes").write_text("* diff=x merge=x\n")
    for command in (
        "git log", "git log -p", "git show HEAD", "git status", "git diff", "git diff --cached",
        "git blame src/cart.py", "git blame HEAD -- src/cart.py", "git log --graph --all",
    ):  # fmt: skip
        assert "failed" not in run(place, command), command
        assert not fell.exists(), command
    assert Programs(str(place)).removals(["src/cart.py"]) == {}
    assert not fell.exists()
    git(place, "config", "filter.x.clean", str(trap))
    (place / ".git" / "info" / "attributes").write_text("* filter=x\n")
    os.utime(place / "notes.txt", (1, 1))
    for command in ("git status", "git diff", "git blame src/cart.py"):
        with pytest.raises(InputRefused, match="filters"):
            run(place, command)
    assert "The cart" in run(place, "git log")
    assert not fell.exists()


def test_only_the_repository_of_this_worktree_is_read(place: Path, tmp_path: Path):
    other = tmp_path / "other"
    other.mkdir()
    for forged in (f"gitdir: {place / '.git'}\n", "gitdir: nowhere\n"):
        (other / ".git").write_text(forged)
        with pytest.raises(InputRefused, match="no git repository here"):
            run(other, "git log")
    (other / ".git").unlink()
    (other / ".git").symlink_to(place / ".git")
    with pytest.raises(InputRefused, match="no git repository here"):
        run(other, "git log")
    with pytest.raises(InputRefused, match="no git repository here"):
        run(place / "src", "git log")
    git(place, "worktree", "add", str(tmp_path / "linked"))
    assert "The cart" in run(tmp_path / "linked", "git log")


def test_a_worktree_that_the_configuration_names_is_not_taken(place: Path, tmp_path: Path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "notes.txt").write_text("a secret\n")
    git(place, "config", "core.worktree", str(tmp_path / "private"))
    assert "secret" not in run(place, "git diff") + run(place, "git status")


def test_an_output_without_end_is_cut_off(place: Path):
    (place / "long.txt").write_text("a line of text\n" * 10_000)
    git(place, "add", ".")
    git(place, "commit", "-m", "long")
    found = run(place, "git show HEAD:long.txt")
    assert found.endswith(f"[cut off after {LIMIT} bytes]") and len(found) < LIMIT + 100


def test_a_program_that_does_not_end_is_stopped(place: Path, tmp_path: Path):
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "wc"
    slow.write_text("#!/bin/sh\necho begun\n/bin/sleep 60 &\n/bin/sleep 60\n")
    slow.chmod(0o755)
    before = time.monotonic()
    found = Programs(str(place), seconds=0.3, searched=f"{tmp_path / 'bin'}:/bin").run("wc notes.txt")
    assert found == "begun\n\n[stopped after 0.3 seconds]" and time.monotonic() - before < 20


def test_the_environment_and_the_configuration_of_the_person_stay_out(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/nonexistent")
    monkeypatch.setenv("LS_COLORS", "x")
    assert "+three" in run(place, "git diff")


def test_a_program_that_is_not_installed_is_told(place: Path):
    with pytest.raises(InputRefused, match="cannot be started"):
        Programs(str(place), searched="/nonexistent").run("git log")
