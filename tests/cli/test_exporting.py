"""`export` to files and to standard output."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Run

KEY = "AKIA" + "Q3EGXQ5ZRT7VWYB2"


def test_the_name_of_the_target_chooses_the_format(run: Run, tmp_path: Path):
    run("write", "note", "text")
    done = run("export", str(tmp_path / "a.zip"))
    assert (done.code, "2 files written to" in done.out) == (0, True)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == ["note.md", "MEMORY.md"]
    assert "1 memory written to" in run("export", str(tmp_path / "a.json")).out
    assert json.loads((tmp_path / "a.json").read_bytes())["memories"][0]["versions"][0]["path"] == "note.md"
    assert run("export", str(tmp_path / "odd.zip"), "--format", "dir").code == 0
    assert (tmp_path / "odd.zip" / "note.md").exists()
    shape = run("export", str(tmp_path / "a.json"), "--json").json
    assert (shape["format"], shape["written"], shape["unchanged"]) == ("json", [], ["note.md"])


def test_a_dash_writes_json_and_nothing_else_to_standard_output(run: Run, tmp_path: Path):
    run("write", "note", "text")
    done = run("export", "-")
    assert done.code == 0
    run("export", str(tmp_path / "a.json"))
    assert done.raw == (tmp_path / "a.json").read_bytes()
    for wrong in (("--json",), ("--dry-run",), ("--format", "zip")):
        refused = run("export", "-", *wrong)
        assert refused.code == 2
        assert "standard output" in refused.err


def test_a_secret_is_told_by_rule_and_line_never_by_itself(run: Run, tmp_path: Path):
    run("write", "clean", "c")
    run("write", "aws", f"key {KEY}")
    for target in (str(tmp_path / "dir"), "-"):
        done = run("export", target)
        assert done.code == 5
        assert "aws.md: line" in done.err and "aws-key-id" in done.err and "--with-secrets" in done.err
        assert KEY not in done.out + done.err
    shape = run("export", str(tmp_path / "dir"), "--json").json
    assert [(one["path"], one["rule"]) for one in shape["withheld"]] == [("aws.md", "aws-key-id")]
    assert run("export", str(tmp_path / "dir"), "--with-secrets").code == 0
    assert KEY in (tmp_path / "dir" / "aws.md").read_text()


def test_points_are_operations_or_dates(run: Run, tmp_path: Path):
    run("write", "old", "text")
    seq = run("log", "--json").json["operations"][0]["seq"]
    run("write", "new", "text")
    for number, options in enumerate((("--since", str(seq)), ("--as-of", f"#{seq}"), ("--since", "1h"))):
        done = run("export", str(tmp_path / str(number)), *options)
        assert done.code == 0, done
    assert not (tmp_path / "0" / "old.md").exists() and (tmp_path / "0" / "new.md").exists()
    assert not (tmp_path / "1" / "new.md").exists() and (tmp_path / "1" / "old.md").exists()
    assert (tmp_path / "2" / "new.md").exists()
    assert run("export", str(tmp_path / "x"), "--as-of", "77777").code == 3
    assert run("export", str(tmp_path / "x"), "--as-of", "never").code == 3
    assert run("export", str(tmp_path / "x"), "--since", " ").code == 2
    assert run("export", str(tmp_path / "x"), "--since", "2", "--as-of", "1").code == 2


@pytest.mark.parametrize("scope", ["shared", "agent/", "agent/a/b", ""])
def test_a_scope_that_is_none_is_refused(run: Run, tmp_path: Path, scope: str):
    refused = run("export", str(tmp_path / "x"), "--scope", scope)
    assert refused.code == 2
    assert "private, team, agent/NAME, all" in refused.err


def test_an_agents_own_memories_are_asked_for_by_its_name(run: Run, repo: Path, tmp_path: Path):
    (repo / ".claude" / "agents").mkdir(parents=True)
    (repo / ".claude" / "agents" / "helper.md").write_text("---\nname: helper\nmemory: user\n---\n")
    assert run("--agent", "helper:user", "write", "own", "of the helper").code == 0
    run("write", "note", "text")
    done = run("export", str(tmp_path / "x"), "--scope", "agent/helper")
    assert done.code == 0, done
    assert (tmp_path / "x" / "own.md").exists() and not (tmp_path / "x" / "note.md").exists()


def test_a_strange_file_is_replaced_by_force_only(run: Run, tmp_path: Path):
    run("write", "note", "text")
    (tmp_path / "a.json").write_text("{}")
    refused = run("export", str(tmp_path / "a.json"))
    assert refused.code == 5 and "--force" in refused.err
    assert run("export", str(tmp_path / "a.json"), "--force", "--dry-run").code == 0
    assert (tmp_path / "a.json").read_text() == "{}"
    assert run("export", str(tmp_path / "a.json"), "--force").code == 0


def test_json_goes_into_another_repository_and_comes_back_without_news(run: Run, tmp_path: Path):
    run("write", "note", "text")
    run("pin", "note")
    run("export", str(tmp_path / "a.json"))
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    done = run("import", str(tmp_path / "a.json"), at=other)
    assert (done.code, "read as memstore" in done.out, "1 memory new" in done.out) == (0, True, True)
    there = run("show", "note", "--json", at=other).json["memory"]
    assert (there["pinned"], there["origin"]) == (True, "import")
    assert run("import", str(tmp_path / "a.json"), "--json", at=other).json["seq"] is None
    again = run("import", str(tmp_path / "a.json"), "--json").json
    assert (again["format"], again["noted"], again["seq"]) == ("memstore", [], None)
    (tmp_path / "a.json").write_bytes((tmp_path / "a.json").read_bytes()[:-90])
    refused = run("import", str(tmp_path / "a.json"))
    assert refused.code == 2 and "the export is damaged: line" in refused.err


def test_no_directory_is_made_where_an_archive_was_meant(run: Run, tmp_path: Path):
    run("write", "note", "text")
    refused = run("export", str(tmp_path / "all.tar.gz"))
    assert refused.code == 2 and "name it .zip, or say --format dir" in refused.err
    assert run("export", str(tmp_path / "all.tar.gz"), "--format", "dir").code == 0
