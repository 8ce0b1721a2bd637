"""Agents' own memories: each a folder with a store of its own; what git keeps is read where it lies."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.agents import agents
from memstore.app import Memstore
from memstore.core.changes import ChangeSet
from memstore.core.model import Applied
from memstore.core.plan import Wanted
from memstore.errors import Moved, NotFound, PlaceRefused
from memstore.files.claim import NAME as CLAIM
from memstore.working import sync_in
from memstore.world import World
from tests.files.desk import topic

INDEX = "# Notes\n\n- [Style](style.md) — how to review\n"


def git(cwd: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    place.mkdir()
    git(place, "init", "-q")
    git(place, "commit", "-q", "--allow-empty", "-m", "start")
    return place


@pytest.fixture
def rev(shop: Path) -> Path:
    """The memory of an agent that the branch `main` has in git; `other` does not have it."""
    git(shop, "branch", "other")
    made = shop / ".claude/agent-memory/rev"
    made.mkdir(parents=True)
    (made / "style.md").write_text(topic("style", "how to review", "Early returns.\n"))
    (made / "MEMORY.md").write_text(INDEX)
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "memory")
    return made


def of(cwd: Path, agent: str, *, make: bool = True) -> Memstore:
    world = replace(World.real(str(cwd), agent), pause=lambda _: None)
    return Memstore.open(world=world, make=make)


def state(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """All that could be written there: names, times, bytes."""
    found = {}
    for path in sorted([directory, *directory.rglob("*")]):
        status = path.stat()
        found[str(path)] = (status.st_mtime_ns, status.st_ctime_ns, b"" if path.is_dir() else path.read_bytes())
    return found


def test_each_scope_is_a_folder_with_a_store_of_its_own_and_all_that_a_store_gives(shop: Path, home: Path):
    with Memstore.open(str(shop)) as project:
        project.write("port", Wanted(body="The port is 1."))
        others = {project.store.id}
        for scope, above in (("user", home), ("local", shop), ("project", shop)):
            with Memstore.open(str(shop), agent=f"my:rev:{scope}") as own:
                saved = own.write("port", Wanted(body=f"The port of {scope} is 7443."))
                name = "agent-memory-local" if scope == "local" else "agent-memory"
                folder = above / ".claude" / name / "my-rev"
                assert f"{scope} is 7443" in (folder / "port.md").read_text()
                assert "port.md" in (folder / "MEMORY.md").read_text()
                (folder / "port.md").write_text(topic("port", body="By hand.\n"))
                own.sync()
                assert [version.number for version in own.versions("port")] == [1, 2]
                assert own.search("hand")[1] and not own.search("7443")[1]
                operation = own.log("port")[-1][0]
                assert operation.id == saved.operation and operation.provenance.worktree == str(shop)
                assert own.undo("2").changed == ("port.md",)
                others.add(own.store.id)
        assert len(others) == 4
        assert project.search("7443")[1] == []


def test_an_agent_without_a_memory_is_not_made_up_by_a_look(shop: Path, home: Path):
    with pytest.raises(NotFound):
        of(shop, "rev", make=False)
    with pytest.raises(NotFound):
        of(shop, "rev:user", make=False)
    assert not (home / ".claude").exists() and agents(World.real(str(shop))) == []


def test_what_git_keeps_is_taken_in_and_nothing_is_written_there(shop: Path, rev: Path):
    before = state(shop / ".claude")
    assert [(one.memories, one.store, one.kept) for one in agents(World.real(str(shop)))] == [(1, None, "read")]
    with of(shop, "rev", make=False) as own:
        assert [memory.path for memory in own.memories()] == ["style.md"]
        assert [hit.path for hit in own.search("early returns")[1]] == ["style.md"]
        assert own.show("style")[0].origin == "team"
        report = own.sync()
        assert (report.taken_in, report.projected, own.status().files.pending) == (0, (), ())
        assert [line.text for line in own.store.index()] == INDEX.split("\n")
    assert state(shop / ".claude") == before
    (rev / "style.md").write_text(topic("style", "how to review", "Late returns.\n"))
    before = state(shop / ".claude")
    with of(shop, "rev") as own:
        assert [version.number for version in own.versions("style")] == [1, 2]
        assert own.log()[0][0].kind == "in place"
    assert state(shop / ".claude") == before


def test_every_write_to_what_git_keeps_is_refused_with_the_step(shop: Path, rev: Path, tmp_path: Path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "new.md").write_text(topic("new"))
    with of(shop, "rev") as own:
        own.memories()
        before = state(shop / ".claude")
        writes = (
            lambda: own.write("new", Wanted(body="x")),
            lambda: own.append("style", "x"),
            lambda: own.delete("style"),
            lambda: own.pin("style"),
            lambda: own.undo("1"),
            lambda: own.note("x"),
            lambda: own.import_directory(str(tmp_path / "more")),
        )
        for write in writes:
            with pytest.raises(PlaceRefused, match="git keeps") as refused:
                write()
            assert "edit the file itself" in refused.value.hint
        assert len(own.log()) == 1
    assert state(shop / ".claude") == before


def test_branches_take_memories_away_and_bring_them_back_with_their_history(shop: Path, rev: Path):
    (rev / "port.md").write_text(topic("port", body="7443.\n"))
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "port")
    with of(shop, "rev") as own:
        known = {memory.path: memory.id for memory in own.memories()}
        git(shop, "checkout", "-q", "HEAD~1")
        assert [noted.what for noted in own.sync().absorbed] == ["retired"]
        git(shop, "checkout", "-q", "main")
        assert [noted.what for noted in own.sync().absorbed] == ["revived"]
        git(shop, "mv", str(rev / "port.md"), str(rev / "gate.md"))
        assert [noted.what for noted in own.sync().absorbed] == ["renamed"]
        assert own.sync().absorbed == ()
        assert {memory.path: memory.id for memory in own.memories()} == {
            "gate.md": known["port.md"],
            "style.md": known["style.md"],
        }
        git(shop, "reset", "-q", "--hard")
        git(shop, "checkout", "-q", "other")
        assert not rev.exists()
        assert "not there" in own.sync().notices[0] and len(own.memories()) == 2, (
            "a directory that is gone says nothing"
        )


def test_a_store_that_has_read_in_place_never_shows_there(shop: Path, rev: Path):
    with of(shop, "rev") as own:
        own.memories()
    git(shop, "checkout", "-q", "other")
    with of(shop, "rev:project") as own:
        own.sync()
        with pytest.raises(PlaceRefused, match="git kept"):
            own.write("new", Wanted(body="x"))
    assert not (shop / ".claude").exists()
    rev.mkdir(parents=True)  # left by somebody, and not in git's list
    with of(shop, "rev") as own:
        own.sync()
    assert os.listdir(rev) == []
    git(shop, "status")


def test_an_own_claim_that_was_committed_along_does_not_open_the_directory(shop: Path):
    with of(shop, "rev:project") as own:
        own.write("style", Wanted(body="Early returns."))
        store = own.store
        folder = shop / ".claude/agent-memory/rev"
        assert (folder / CLAIM).exists()
        git(shop, "add", ".")
        (folder / "style.md").write_text(topic("style", body="Late returns.\n"))
        before = state(folder)
        looked = sync_in(store, str(folder), own.world)
        assert looked is not None and looked.run().absorbed[0].what == "revised"
        assert state(folder) == before


def test_what_cannot_be_used_is_said_and_left_alone(shop: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("taken", "closed", "fine"):
        with of(shop, f"{name}:user") as own:
            own.write("a", Wanted(body="x"))
    above = home / ".claude/agent-memory"
    (above / "taken" / CLAIM).write_bytes((above / "fine" / CLAIM).read_bytes())
    (above / "closed").chmod(0o777)
    (above / "file").write_text("")
    (above / "no name").mkdir()
    (above / "fresh").mkdir()
    found = {one.agent.name: one for one in agents(World.real(str(shop)))}
    assert {name: one.kept for name, one in found.items()} == {
        "closed": "refused", "fine": "shared", "fresh": "new", "taken": "refused",
    }  # fmt: skip
    assert (found["fine"].memories, found["fresh"].store) == (1, None)
    with of(shop, "taken") as own:
        before = state(above / "taken")
        assert own.write("b", Wanted(body="y")).files.folder is None
    assert state(above / "taken") == before
    assert "belongs to" in found["taken"].why and "can be written by" in found["closed"].why


def test_a_directory_that_got_the_number_of_a_deleted_one_is_a_new_memory(shop: Path, home: Path):
    above = home / ".claude/agent-memory"
    with of(shop, "old:user") as own:
        own.write("a", Wanted(body="x"))
        store = own.store.id
    os.rename(above / "old", above / "moved")
    with pytest.raises(Moved):
        of(shop, "moved")
    (above / "moved" / CLAIM).unlink()
    with of(shop, "moved") as own:
        assert own.store.id != store


def test_a_prompt_that_names_an_agent_is_answered_from_its_memory(shop: Path, home: Path):
    with Memstore.open(str(shop)) as project:
        project.write("staging-port", Wanted(body="Staging listens on 1.", description="port of staging"))
        with of(shop, "rev:user") as own:
            own.write("staging-port", Wanted(body="Staging listens on 7443.", description="port of staging"))
        asked = "@agent-rev on which port does staging listen?"
        text = project.recall(asked, session="s").text
        assert "> Staging listens on 7443." in text and "own memory of the agent rev:user" in text
        assert "listens on 1." not in text
        assert project.recall(asked, session="s").text == "", "it was told already"
        assert "listens on 1." in project.recall(asked.replace("agent-rev", "agent-none")).text
        (home / ".claude/agent-memory/rev").chmod(0o777)
        assert project.recall(asked).text


def test_of_two_that_look_at_the_same_files_the_slower_one_looks_again(
    shop: Path, rev: Path, monkeypatch: pytest.MonkeyPatch
):
    with of(shop, "rev") as one, of(shop, "rev") as two:
        apply = one.store.apply

        def slower(change_set: ChangeSet) -> Applied:
            two.sync()
            return apply(change_set)

        monkeypatch.setattr(one.store, "apply", slower)
        assert one.sync().absorbed == () and len(one.memories()) == 1
        (rev / "style.md").unlink()
        assert one.sync().absorbed == () and one.memories() == []
        git(shop, "reset", "-q", "--hard")
        assert one.sync().absorbed == () and len(one.versions("style")) == 3
