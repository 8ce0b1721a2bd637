"""Where agents' own memories are, what a name can lead to, and which of them git keeps."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memstore.claude.agents import (
    Agent,
    bases,
    chosen,
    committed,
    existing,
    mentioned,
    sanitised,
    without_mentions,
)
from memstore.errors import InputRefused, NameRefused, NotFound, PlaceRefused


def git(cwd: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    place.mkdir()
    git(place, "init", "-q")
    return place


def own(directory: Path, name: str, scope: str = "project") -> Path:
    above = ".claude/agent-memory-local" if scope == "local" else ".claude/agent-memory"
    made = directory / above / name
    made.mkdir(parents=True)
    return made


@pytest.mark.parametrize(
    ("name", "directory"),
    [
        ("my:rev x", "my-rev-x"),
        ("a.b_c", "a-b_c"),
        ("Übung", "-bung"),
        ("../up", "---up"),
        ("a/b", "a-b"),
        ("记忆", "--"),
        ("emoji😀z", "emoji--z"),
        (".hid", "-hid"),
    ],
)
def test_a_name_becomes_the_directory_that_the_client_was_seen_to_make(name: str, directory: str):
    assert sanitised(name) == directory


@pytest.mark.parametrize("name", ["", "x" * 256])
def test_a_name_that_can_have_no_directory_is_refused(name: str):
    with pytest.raises(NameRefused):
        sanitised(name)


def test_project_and_local_follow_the_working_directory_and_user_the_configuration(shop: Path, home: Path):
    below = shop / "sub"
    below.mkdir()
    found = bases(str(below), {}, str(home))
    assert found == {
        "project": f"{below}/.claude/agent-memory",
        "local": f"{below}/.claude/agent-memory-local",
        "user": f"{home}/.claude/agent-memory",
    }
    assert bases(str(below), {"CLAUDE_CONFIG_DIR": "/c"}, str(home))["user"] == "/c/agent-memory"


def test_the_remote_directory_moves_what_the_client_moves(shop: Path, home: Path):
    below = shop / "sub"
    below.mkdir()
    found = bases(str(below), {"CLAUDE_CODE_REMOTE_MEMORY_DIR": "/r", "CLAUDE_CONFIG_DIR": "/c"}, str(home))
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(shop))
    assert found == {
        "project": f"{below}/.claude/agent-memory",
        "local": f"/r/projects/{slug}/agent-memory-local",
        "user": "/r/agent-memory",
    }


def test_a_name_means_the_scope_that_is_there_and_is_refused_where_several_are(shop: Path, home: Path):
    def find(given: str) -> Agent:
        return chosen(given, str(shop), {}, str(home))

    with pytest.raises(NotFound, match="has no memory here"):
        find("rev")
    there = own(shop, "rev")
    assert find("rev") == find("rev:project") == Agent("rev", "project", str(there))
    assert find("rev:user").directory == f"{home}/.claude/agent-memory/rev"
    own(shop, "rev", "local")
    with pytest.raises(InputRefused, match="2 scopes"):
        find("rev")
    own(home, "my-rev")
    assert find("my:rev").address == "my-rev:user"
    assert [agent.address for agent in existing(str(shop), {}, str(home))] == [
        "rev:project",
        "rev:local",
        "my-rev:user",
    ]


def test_a_link_of_the_repository_that_leads_out_or_up_is_not_followed(shop: Path, home: Path, tmp_path: Path):
    private = tmp_path / "private"
    private.mkdir()
    (shop / ".claude").mkdir()
    (shop / ".claude" / "agent-memory").mkdir()
    links = [("out", private), ("git", shop / ".git"), ("top", shop), ("up", shop / ".claude/agent-memory")]
    for name, target in (*links, ("beside", shop / "notes")):
        (shop / ".claude/agent-memory" / name).symlink_to(target)
    (shop / "notes").mkdir()
    for name, _ in links:
        with pytest.raises(PlaceRefused, match="is a link"):
            chosen(name, str(shop), {}, str(home))
        assert mentioned(f"@agent-{name} what?", str(shop), {"HOME": str(home)}) == []
    assert chosen("beside", str(shop), {}, str(home)).name == "beside"


def test_a_prompt_names_agents_as_the_client_writes_them(shop: Path, home: Path):
    for name in ("rev", "plug-rev"):
        own(shop, name)
    own(home, "rev")

    def names(prompt: str) -> list[str]:
        return [agent.address for agent in mentioned(prompt, str(shop), {"HOME": str(home)})]

    assert names("ask @agent-rev. Which port?") == ["rev:project", "rev:user"]
    assert names('@"plug:rev (agent)" look') == ["plug-rev:project"]
    assert names("me@agent-rev.example @agent-none @agent- @agent-../rev") == []
    assert names("@" * 100_000) == []
    assert without_mentions("ask @agent-rev which port").split() == ["ask", "which", "port"]


def test_what_git_keeps_is_known_from_its_own_list(shop: Path):
    rev, other, deep = own(shop, "rev"), own(shop, "other"), own(shop / "x", "other")
    for directory in (rev, deep):
        (directory / "a.md").write_text("a\n")
    assert not committed(str(rev))
    git(shop, "add", ".")
    assert committed(str(rev)) and committed(str(deep))
    assert not committed(str(other)), "only a longer path ends like it"
    assert not committed(f"{shop}/.claude/agent-memory/re")
    (shop / ".git" / "index").unlink()
    git(shop, "add", "-N", ".")  # a list of another version, with longer entries
    assert committed(str(rev)) and not committed(str(other))
    git(shop, "update-index", "--index-version", "4")
    assert committed(str(rev)) and committed(str(deep)) and not committed(str(other))
    git(shop, "update-index", "--split-index")
    assert committed(str(other)), "a list that is not read may say so"


def test_each_worktree_has_a_list_of_its_own(shop: Path, tmp_path: Path):
    git(shop, "commit", "-q", "--allow-empty", "-m", "start")
    linked = tmp_path / "linked"
    git(shop, "worktree", "add", "-q", str(linked))
    for place in (shop, linked):
        (own(place, "rev") / "a.md").write_text("a\n")
    git(linked, "add", ".")
    assert committed(str(linked / ".claude/agent-memory/rev"))
    assert not committed(str(shop / ".claude/agent-memory/rev"))


def test_outside_git_nothing_is_kept_and_a_broken_link_to_it_may_be(tmp_path: Path):
    rev = own(tmp_path / "plain", "rev")
    assert not committed(str(rev))
    (tmp_path / "plain" / ".git").write_text("gitdir: /nowhere\n")
    assert committed(str(rev))
    assert os.listdir(rev) == []
