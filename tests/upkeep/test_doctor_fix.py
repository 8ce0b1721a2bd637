"""`memstore doctor --fix` as a person meets it: what it finds in a folder, what it mends, and back again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from memstore.store import restoring
from tests.cli.conftest import Run, folder, repo, run
from tests.files.desk import topic

__all__ = ["folder", "repo", "run"]


def checks(run: Run, *options: str) -> list[str]:
    """What is found, by name; notes aside."""
    return [one["check"] for one in run("doctor", "--json", *options).json["findings"] if one["severity"] != "note"]


def test_h12_through_the_command(run: Run, folder: Path):
    run("write", "one", "text")
    index = folder / "MEMORY.md"
    before = "- [Gone](gone.md) \u2014 words of a person\n" + index.read_text()
    index.write_text(before)
    (folder / "orphan.md").write_text(topic("orphan"))
    assert run("sync").code == 0
    looked = run("doctor")
    assert looked.code == 8 and "MEMORY.md has 1 line that points to nothing: gone.md" in looked.out
    assert run("doctor", "--fix", "--dry-run").code == 8 and index.read_text() == before
    assert checks(run) == ["index-dangling", "index-orphans"]

    mended = run("doctor", "--fix")
    assert mended.code == 0 and "took 1 line that pointed to nothing out of MEMORY.md: gone.md" in mended.out
    assert "gone.md" not in index.read_text() and "(orphan.md)" in index.read_text()
    assert checks(run) == []
    operations = [one["seq"] for one in run("log", "--json").json["operations"] if one["kind"] == "doctor"]
    for number in operations:
        assert run("undo", str(number)).code == 0
    assert index.read_text() == before


def test_an_agents_own_memory_and_a_place_without_any_are_looked_at(run: Run, repo: Path, home: Path):
    assert run("doctor").code == 0 and not (home / "memstore").exists()
    own = repo / ".claude" / "agent-memory-local" / "rev"
    own.mkdir(parents=True)
    (own / "MEMORY.md").write_text("- [Gone](gone.md)\n")
    assert run("--agent", "rev", "sync").code == 0
    assert checks(run, "--fix") == []
    found = run("--agent", "rev", "doctor", "--json").json["findings"]
    assert [one["check"] for one in found if one["severity"] != "note"] == ["index-dangling"]
    assert run("--agent", "rev", "doctor", "--fix").code == 0
    assert (own / "MEMORY.md").read_text() == ""


def test_a_folder_inside_the_home_is_an_error_of_place(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMSTORE_HOME", str(home))
    looked = run("doctor")
    assert looked.code == 6 and "lie one inside the other" in looked.out


def test_a_folder_that_belongs_to_another_store_is_an_error_and_not_mended(run: Run, folder: Path):
    run("write", "one", "text")
    claim = folder / ".memstore"
    text = claim.read_text()
    other = json.dumps({**json.loads(text), "store": "01900000-0000-7000-8000-000000000000", "root": "elsewhere"})
    claim.write_text(other)
    looked = run("doctor", "--fix")
    assert looked.code == 6 and "belongs to elsewhere" in looked.out
    assert claim.read_text() == other


def test_the_command_that_is_named_for_texts_put_aside_shows_them(run: Run, folder: Path):
    run("write", "one", "text")
    (folder / "one.md").write_bytes(b"\0" * 100)
    run("sync")
    (told,) = [one for one in run("doctor", "--json").json["findings"] if one["check"] == "set-aside"]
    program, *call = shlex.split(told["mend"].split("`")[1])
    shown = run(*call)
    assert program == "memstore" and shown.code == 0
    assert [(row["name"], row["reason"]) for row in json.loads(shown.out)] == [("one.md", "is filled with NUL bytes")]


def test_what_a_killed_restore_left_is_named_and_removed(run: Run):
    run("write", "note", "a word")
    directory = Path(run("where", "--json").json["store_directory"])
    for name in ("restore.draft", "restore.draft-wal"):
        (directory / name).write_text("half")
    with restoring.alone(str(directory)):  # one that is going on
        assert "left restore.draft" not in run("doctor").out
    assert "left restore.draft" in run("doctor").out
    assert "removed restore.draft" in run("doctor", "--fix").out
    assert not list(directory.glob("restore.draft*"))
