"""`import` of other formats, as a person sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.files.packed import zipped

ROWS = "topic;remark\nAda;Wrote a program\nTwice;one\nTwice;two\nEmpty;\n"


def test_the_answer_says_what_it_was_read_as_and_what_was_left_alone(run: Run, tmp_path: Path):
    (tmp_path / "facts.csv").write_text(ROWS)
    done = run("import", str(tmp_path / "facts.csv"), "--column", "body=remark")
    assert done.code == 0
    assert f"read as csv: {tmp_path / 'facts.csv'}\n" in done.out and "3 memories new" in done.out
    assert "left alone: row 4: its column remark is empty\n" in done.err
    again = run("import", str(tmp_path / "facts.csv"), "--column", "body=remark", "--json").json
    assert (again["format"], again["noted"], again["seq"]) == ("csv", [], None)
    assert sorted(again["unchanged"]) == ["Ada.md", "Twice-2.md", "Twice.md"]


def test_a_rehearsal_of_rows_takes_nothing(run: Run, tmp_path: Path):
    (tmp_path / "facts.csv").write_text("name,body\na,text\n")
    would = run("import", str(tmp_path / "facts.csv"), "--dry-run")
    assert would.code == 0 and "1 memory would be new" in would.out
    assert run("list", "--json").json["memories"] == []


def test_a_hostile_archive_is_refused_with_the_name_of_its_entry(run: Run, tmp_path: Path):
    (tmp_path / "x.zip").write_bytes(zipped({"a.md": "A\n", "../\x1b[31mevil.md": "evil\n"}))
    for options in ((), ("--json",), ("--dry-run",)):
        done = run("import", str(tmp_path / "x.zip"), *options)
        assert done.code == 2
        assert "evil.md" in done.err and "leads out of the archive" in done.err and "\x1b" not in done.err
    assert not list(Path(os.environ["MEMSTORE_HOME"]).glob("stores/*/*"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--column", "body"), "FIELD=COLUMN"),
        (("--column", "body=a", "--column", "body=b"), "given twice"),
        (("--column", "title=topic"), "'title'"),
        (("--column", "body=none"), "no column 'none'"),
        ((), "--column body=COLUMN"),
        (("--table", "facts"), "leave --table out"),
        (("--format", "paper"), "paper"),
        (("--format", "zip"), "have it packed again"),
        (("--format", "db"), "not a database"),
    ],
)
def test_options_that_cannot_be_used_are_told_with_the_next_step(
    run: Run, tmp_path: Path, options: tuple[str, ...], told: str
):
    (tmp_path / "facts.csv").write_text(ROWS)
    done = run("import", str(tmp_path / "facts.csv"), *options)
    assert done.code == 2 and told in done.err
    assert not list(Path(os.environ["MEMSTORE_HOME"]).glob("stores/*/*"))


def test_an_import_is_taken_back_as_one(run: Run, tmp_path: Path):
    (tmp_path / "facts.csv").write_text(ROWS)
    seq = run("import", str(tmp_path / "facts.csv"), "--column", "body=remark", "--json").json["seq"]
    assert run("undo", str(seq)).code == 0
    assert run("list", "--json").json["memories"] == []


def test_an_empty_path_is_not_the_directory_one_is_in(run: Run, repo: Path):
    (repo / "README.md").write_text("not a memory\n")
    run("write", "mine", "text\n")
    for command in ("import", "export"):
        done = run(command, "")
        assert done.code == 2 and "the path is empty" in done.err
    assert sorted(path.name for path in repo.iterdir()) == [".git", "README.md"]
