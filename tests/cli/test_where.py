"""`where`, `trust` and `link`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def _snapshot(*places: Path) -> list[str]:
    return sorted(
        os.path.join(at, name) for place in places for at, dirs, files in os.walk(place) for name in dirs + files
    )


def test_where_tells_each_decision_and_makes_nothing(run: Run, repo: Path, home: Path):
    before = _snapshot(repo, home)
    facts = run("where", "--json").json
    assert (facts["root"], facts["root_kind"], facts["store"]) == (str(repo), "repository", None)
    assert facts["folder"].startswith(str(home))
    assert {"base", "project name", "default", "enabled"} <= {one["what"] for one in facts["decisions"]}
    text = run("where").out
    for value in (facts["folder"], facts["root_rule"], facts["folder_rule"], facts["enabled_rule"]):
        assert value in text
    assert _snapshot(repo, home) == before


def test_where_in_a_plain_directory(run: Run, tmp_path: Path):
    assert run("where", "--json", at=tmp_path).json["root_kind"] == "directory"


def test_where_in_a_directory_that_is_not_there(run: Run, tmp_path: Path):
    for path in (tmp_path / "missing", tmp_path / "nul\0l"):
        refused = run("where", at=path)
        assert refused.code == 5
        assert refused.err.startswith("memstore: ")


def test_where_names_earlier_folders(run: Run, home: Path, repo: Path):
    sub = repo / "sub"
    sub.mkdir()
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(sub))
    earlier = home / ".claude" / "projects" / slug / "memory"
    earlier.mkdir(parents=True)
    (earlier / "old.md").write_text("old")
    found = run("where", "--json", at=sub).json["earlier"]
    assert [(one["directory"], one["files"]) for one in found] == [(str(earlier), 1)]
    assert str(earlier) in run("where", at=sub).out


def test_where_names_another_project_that_has_the_folder(run: Run, tmp_path: Path):
    first, second = tmp_path / "a_b", tmp_path / "a-b"
    for place in (first, second):
        (place / ".git").mkdir(parents=True)
        (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    run("write", "note", "text", at=first)
    before = run("where", "--json", at=second).json
    assert before["claim"] == {
        "store": run("where", "--json", at=first).json["store"],
        "root": str(first),
        "ours": False,
    }
    assert before["projected"] is False
    refused = run("write", "other", "text", at=second)
    assert refused.code == 0
    assert str(first) in refused.err
    assert str(second) in refused.err
    told = next(line for line in run("where", at=second).out.splitlines() if line.startswith("projected"))
    assert told.startswith("projected  no: ")
    assert f"belongs to {first};" in told
    facts = run("where", "--json", at=second).json
    assert facts["projected"] is False
    assert str(first) in facts["refusal"]
    assert run("where", "--json", at=first).json["projected"] is True
    assert run("sync", at=second).code == 5


@pytest.fixture
def settings(repo: Path, tmp_path: Path) -> Path:
    """A directory for memories that the repository itself asks for."""
    (repo / ".claude").mkdir()
    wanted = tmp_path / "wanted"
    (repo / ".claude" / "settings.json").write_text(f'{{"autoMemoryDirectory": "{wanted}"}}')
    return wanted


def test_a_value_of_the_repository_waits_until_it_is_trusted(run: Run, settings: Path):
    assert str(settings) in run("trust").out
    facts = run("where", "--json").json
    assert facts["projected"] is False
    assert [value["value"] for value in facts["untrusted"]] == [str(settings)]
    accepted = run("trust", "autoMemoryDirectory", "--json").json
    assert ([value["value"] for value in accepted["accepted"]], accepted["waiting"]) == ([str(settings)], [])
    assert run("where", "--json").json["folder"] == str(settings)
    run("write", "note", "text")
    assert (settings / "note.md").exists()


def test_trust_is_for_this_very_value_and_can_be_withdrawn(run: Run, settings: Path, repo: Path):
    run("trust", "--all")
    file = repo / ".claude" / "settings.json"
    file.write_text(file.read_text().replace("wanted", "another"))
    assert run("where", "--json").json["projected"] is False
    file.write_text(file.read_text().replace("another", "wanted"))
    assert run("where", "--json").json["projected"] is True
    assert run("trust", "autoMemoryDirectory", "--withdraw").out.startswith("withdrawn: autoMemoryDirectory")
    assert run("where", "--json").json["projected"] is False
    assert run("trust", "--all", "--withdraw").code == 3


@pytest.mark.usefixtures("settings")
def test_an_agent_cannot_give_consent(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    for args in (("--all",), ("autoMemoryDirectory",)):
        refused = run("trust", *args)
        assert refused.code == 5
        assert "CLAUDECODE" in refused.err
    assert run("where", "--json").json["projected"] is False
    assert run("trust").code == 0


@pytest.mark.usefixtures("settings")
def test_trust_refuses_what_does_not_wait(run: Run):
    assert run("trust", "unheardOf").code == 3
    assert run("trust", "autoMemoryDirectory", "--all").code == 2
    assert run("trust", "--withdraw").code == 2


def test_nothing_to_trust_is_no_error(run: Run):
    assert run("trust").code == 0
    assert run("trust", "--all").code == 0


def test_a_moved_repository_is_told_and_linked(run: Run, repo: Path, tmp_path: Path):
    run("write", "note", "text")
    store = run("where", "--json").json["store"]
    moved = tmp_path / "moved"
    repo.rename(moved)
    refused = run("list", at=moved)
    assert refused.code == 5
    assert "memstore link" in refused.err
    facts = run("where", "--json", at=moved).json
    assert (facts["moved_from"], facts["store"]) == (str(repo), None)
    assert "memstore link" in run("where", at=moved).out
    assert run("link", "--json", at=moved).json == {
        "memstore": 1, "command": "link", "root": str(moved), "store": store, "created": False,
    }  # fmt: skip
    assert run("list", at=moved).out.startswith("note.md")


def test_a_moved_repository_may_start_afresh(run: Run, repo: Path, tmp_path: Path):
    run("write", "note", "text")
    store = run("where", "--json").json["store"]
    moved = tmp_path / "moved"
    repo.rename(moved)
    linked = run("link", "--new", "--json", at=moved).json
    assert linked["created"] is True
    assert linked["store"] != store


def test_link_by_old_path_and_by_store(run: Run, repo: Path, tmp_path: Path):
    run("write", "note", "text")
    store = run("where", "--json").json["store"]
    for number, target in enumerate((str(repo), "../repo", store)):
        clone = tmp_path / f"clone-{number}"
        (clone / ".git").mkdir(parents=True)
        assert run("link", target, at=clone).code == 0
        assert run("list", at=clone).out.startswith("note.md")


def test_link_refuses_what_it_does_not_know(run: Run, tmp_path: Path):
    run("write", "note", "text")
    assert run("link").code == 2
    assert run("link", str(tmp_path / "unknown")).code == 3
    assert run("link", "01234567-89ab-7def-8123-456789abcdef").code == 3
    assert run("link", "somewhere", "--new").code == 2
