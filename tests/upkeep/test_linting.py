"""Files are linted without any store: nothing is made, no link is followed, and only what was asked for is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore.core.lint import RULES
from memstore.errors import InputRefused
from memstore.upkeep.linting import Linted, lint_paths

TEXT = """---
name: {name}
description: what {name} is about, told at some length
metadata:
  type: user
---

{body}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memory folder inside a repository."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    place = tmp_path / ".claude" / "agent-memory" / "rev"
    place.mkdir(parents=True)
    (place / "MEMORY.md").write_text("- [One](one.md)\n- [Two](sub/two.md)\n")
    put(place, "one", "See [[two]].")
    (place / "sub").mkdir()
    put(place, "sub/two", "Back to [one](../one.md) and [[one]].")
    return place


def put(place: Path, name: str, body: str) -> None:
    (place / f"{name}.md").write_text(TEXT.format(name=name.rpartition("/")[2], body=body), encoding="utf-8")


def lint(place: Path, *paths: str) -> Linted:
    return lint_paths(paths or (".",), str(place), RULES)


def told(linted: Linted) -> list[tuple[str, str]]:
    return [(one.path, one.rule) for one in linted.remarks]


def everything(place: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in place.rglob("*")}


def test_a_directory_is_looked_through_with_its_index_and_nothing_is_made(folder: Path, tmp_path: Path):
    put(folder, "three", "Since yesterday, see [[nowhere]].")
    with open(folder / "MEMORY.md", "a") as file:
        file.write("- [Gone](gone.md)\n")
    before = everything(tmp_path)
    found = lint(folder)
    assert found.checked == 3
    assert told(found) == [("./MEMORY.md", "link"), ("./three.md", "date"), ("./three.md", "link")]
    assert everything(tmp_path) == before


def test_files_are_looked_at_beside_their_folder_and_alone_are_told(folder: Path):
    put(folder, "three", "Since yesterday.")
    assert told(lint(folder, "one.md")) == []
    assert told(lint(folder / "sub", "two.md", "../three.md")) == [("../three.md", "date")]
    assert told(lint(folder.parent, str(folder / "three.md"))) == [(str(folder / "three.md"), "date")]
    assert lint(folder, "one.md", "sub/two.md").checked == 2


def test_a_text_that_says_the_same_as_a_file_beside_it_is_told(folder: Path):
    body = "Staging listens on 7443 and the old port is closed for everybody, so scripts use the new one at once."
    put(folder, "a", body)
    put(folder, "z", body)
    assert told(lint(folder, "a.md")) == [("a.md", "near")]
    assert told(lint(folder, "z.md")) == [("z.md", "near")]


def test_each_folder_below_a_directory_is_one_of_its_own(folder: Path):
    other = folder.parent / "writer"
    other.mkdir()
    (other / "MEMORY.md").write_text("- [One](one.md)\n")
    put(other, "x", "See [[one]].")
    found = lint(folder.parent)
    assert found.checked == 3
    assert told(found) == [("./writer/MEMORY.md", "link"), ("./writer/x.md", "link")]


def test_lines_of_the_instructions_and_files_of_the_repository_are_known(folder: Path, tmp_path: Path):
    rule = "Always run the linter before you push to main."
    (tmp_path / "CLAUDE.md").write_text(f"# Rules\n- {rule}\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("")
    put(folder, "one", f"{rule}\nSee [[two]], [a](docs/a.md), [b](docs/b.md).")
    assert told(lint(folder)) == [("./one.md", "recorded"), ("./one.md", "link")]
    assert told(lint(tmp_path, "CLAUDE.md")) == [("CLAUDE.md", "header")]


def test_instructions_behind_a_link_are_not_read(folder: Path, tmp_path: Path):
    rule = "Always run the linter before you push to main."
    (tmp_path / "elsewhere").write_text(rule)
    os.symlink(tmp_path / "elsewhere", tmp_path / "CLAUDE.md")
    put(folder, "one", f"{rule} See [[two]].\n{rule}")
    assert told(lint(folder)) == []


def test_what_is_no_plain_markdown_file_is_named_and_left_alone(folder: Path, tmp_path: Path):
    os.symlink(tmp_path / ".git" / "HEAD", folder / "link.md")
    os.mkfifo(folder / "pipe.md")
    (folder / "notes.txt").write_text("yesterday")
    found = lint(folder, ".", "link.md", "notes.txt")
    assert {os.path.normpath(path) for path, _ in found.skipped} == {"link.md", "pipe.md", "notes.txt"}
    assert told(found) == []


def test_what_is_not_there_is_refused(folder: Path):
    with pytest.raises(InputRefused, match="nothing"):
        lint(folder, "nothing.md")


def test_a_file_outside_of_any_folder_is_looked_at_beside_its_neighbours(tmp_path: Path):
    put(tmp_path, "a", "See [[b]] and [[c]].")
    put(tmp_path, "b", "Nothing.")
    assert told(lint(tmp_path, "a.md")) == [("a.md", "link")]


def test_bytes_of_all_kinds_are_no_reason_to_stop(folder: Path):
    (folder / "bad.md").write_bytes(b"\xff\xfe\0---\n[[" * 1_000)
    (folder / "empty.md").write_bytes(b"")
    found = lint(folder)
    assert {"./bad.md", "./empty.md"} <= {one.path for one in found.remarks}
    assert [one.rule for one in found.remarks if one.path == "./bad.md"].count("unseen") == 1


def test_only_rules_that_are_asked_for_are_told(folder: Path):
    put(folder, "three", "Since yesterday, see [[nowhere]].")
    assert [one.rule for one in lint_paths(["three.md"], str(folder), ["link"]).remarks] == ["link"]
