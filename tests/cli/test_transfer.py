"""`import` and `export`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A directory of memories from elsewhere."""
    place = tmp_path / "source"
    (place / "deep").mkdir(parents=True)
    for path in ("one.md", "deep/two.md"):
        (place / path).write_text(f"---\nname: {Path(path).stem}\ndescription: d\ntype: user\n---\n\ntext of {path}\n")
    (place / "MEMORY.md").write_text("- [One](one.md) — d\n")
    (place / "picture.png").write_bytes(b"\x89PNG")
    return place


def test_import_takes_memories_in_and_names_what_it_left_alone(run: Run, source: Path):
    done = run("import", str(source))
    assert done.code == 0
    assert "2 memories new" in done.out
    assert "picture.png" in done.err
    assert {one["path"] for one in run("list", "--json").json["memories"]} == {"one.md", "deep/two.md"}


def test_import_twice_brings_nothing_new(run: Run, source: Path):
    run("import", str(source))
    again = run("import", str(source), "--json").json
    assert (again["noted"], again["seq"]) == ([], None)
    assert sorted(again["unchanged"])[:2] == ["deep/two.md", "one.md"]


def test_import_dry_run_takes_nothing(run: Run, source: Path):
    would = run("import", str(source), "--dry-run", "--json").json
    assert (would["dry_run"], len(would["noted"]), would["seq"]) == (True, 2, None)
    assert "2 memories would be new" in run("import", str(source), "--dry-run").out
    assert run("list", "--json").json["memories"] == []


@pytest.mark.parametrize("path", ["missing", "file.txt", "nul\0l"])
def test_import_from_no_directory_is_refused(run: Run, repo: Path, path: str):
    (repo / "file.txt").write_text("text")
    assert run("import", path).code == 2


def test_export_writes_the_same_bytes_and_leaves_strange_files_alone(run: Run, source: Path, tmp_path: Path):
    run("import", str(source))
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine.md").write_text("not from the store")
    assert run("export", str(target)).code == 0
    for path in ("one.md", "deep/two.md"):
        assert (target / path).read_bytes() == (source / path).read_bytes()
    assert (target / "mine.md").read_text() == "not from the store"
    again = run("export", str(target), "--json").json
    assert again["written"] == []


def test_export_that_leaves_a_file_of_a_memory_alone_ends_with_5(run: Run, tmp_path: Path):
    run("write", "note", "text")
    target = tmp_path / "target"
    target.mkdir()
    (target / "note.md").write_text("unheard of")
    for options in ((), ("--json",)):
        done = run("export", str(target), *options)
        assert done.code == 5
    assert done.json["kept"][0]["path"] == "note.md"
    assert (target / "note.md").read_text() == "unheard of"


def test_import_counts_conflicts_apart(run: Run, source: Path):
    run("write", "one", "another text of the store")
    would = run("import", str(source), "--dry-run").out
    assert "0 changed" in would
    assert "there would be 1 conflict\n" in would
    done = run("import", str(source)).out
    assert "1 memory new, 0 changed" in done
    assert "1 conflict: see `memstore conflicts`\n" in done


def test_export_dry_run_writes_nothing(run: Run, tmp_path: Path):
    run("write", "note", "text")
    would = run("export", str(tmp_path / "target"), "--dry-run")
    assert "would write  note.md" in would.out
    assert not (tmp_path / "target").exists()


def test_export_to_a_file_is_refused(run: Run, tmp_path: Path):
    run("write", "note", "text")
    (tmp_path / "target").write_text("a file")
    refused = run("export", str(tmp_path / "target"))
    assert refused.code in (2, 5)
    assert str(tmp_path / "target") in refused.err


def test_a_relative_directory_is_seen_from_the_directory_given(run: Run, repo: Path):
    run("write", "note", "text")
    assert run("export", "out").code == 0
    assert (repo / "out" / "note.md").exists()
