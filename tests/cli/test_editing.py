"""`edit` and `write --edit`: a person's editor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

Editor = Callable[[str], None]


def test_edit_saves_what_the_editor_left(run: Run, editor: Editor):
    run("write", "note", "one\n")
    editor("text = text.replace('one', 'uno')")
    assert run("edit", "note").out.startswith("revised note.md: version 2")
    assert run("show", "note", "--raw").out == "uno\n"


def test_edit_without_a_change_writes_nothing(run: Run, editor: Editor):
    run("write", "note", "one\n")
    editor("")
    assert run("edit", "note", "--json").json["what"] == "unchanged"
    assert len(run("log", "--json").json["operations"]) == 1


def test_edit_merges_what_others_wrote_meanwhile(run: Run, editor: Editor, repo: Path):
    run("write", "note", "one\ntwo\nthree\n")
    editor(_meanwhile(repo, "append", "note", "four") + "text = text.replace('one', 'uno')")
    assert run("edit", "note").out.startswith("merged with a newer version of note.md")
    assert run("show", "note", "--raw").out == "uno\ntwo\nthree\nfour\n"


def test_edit_keeps_the_persons_text_where_it_does_not_merge(run: Run, editor: Editor, repo: Path):
    token = run("write", "note", "one\n", "--json").token
    editor(_meanwhile(repo, "write", "note", "theirs", "--expect", token) + "text = text.replace('one', 'mine')")
    refused = run("edit", "note")
    assert refused.code == 4
    assert "-theirs" in refused.err
    path = Path(refused.err.rpartition("your text is in ")[2].strip())
    assert path.read_text().endswith("\nmine\n")
    assert run("show", "note", "--raw").out == "theirs\n"


def test_edit_keeps_the_persons_text_where_the_header_was_broken(run: Run, editor: Editor):
    run("write", "note", "one\n")
    editor("text = text.replace('---', '-')")
    refused = run("edit", "note")
    assert refused.code == 2
    assert Path(refused.err.rpartition("your text is in ")[2].strip()).read_text().startswith("-\n")


def test_edit_of_an_older_version(run: Run, editor: Editor):
    token = run("write", "note", "one\ntwo\nthree\n", "--json").token
    run("append", "note", "four")
    editor("text = text.replace('one', 'uno')")
    assert run("edit", "note", "--expect", token).code == 0
    assert run("show", "note", "--raw").out == "uno\ntwo\nthree\nfour\n"


@pytest.mark.parametrize("editor_value", ["/nowhere/editor", "false", "'unclosed", "true; touch hit"])
def test_an_editor_that_does_not_work_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, editor_value: str, repo: Path
):
    run("write", "note", "one")
    monkeypatch.setenv("EDITOR", editor_value)
    refused = run("edit", "note")
    assert refused.code == 2
    assert not (repo / "hit").exists()


def test_no_editor_and_no_terminal_is_refused(run: Run):
    run("write", "note", "one")
    refused = run("edit", "note")
    assert refused.code == 2
    assert "EDITOR" in refused.err


def test_visual_comes_before_editor(run: Run, editor: Editor, monkeypatch: pytest.MonkeyPatch):
    run("write", "note", "one")
    editor("text = text.replace('one', 'uno')")
    monkeypatch.setenv("VISUAL", "false")
    assert run("edit", "note").code == 2


def test_edit_of_what_is_not_there(run: Run, editor: Editor):
    run("write", "note", "one")
    run("delete", "note")
    editor("")
    assert run("edit", "absent").code == 3
    assert run("edit", "note").code == 3


def test_write_edit_opens_a_header_with_the_fields_given(run: Run, editor: Editor):
    editor("text += 'written there\\n'")
    assert run("write", "note", "--edit", "-d", "why", "--type", "user").code == 0
    memory = run("show", "note", "--json").json
    assert (memory["memory"]["description"], memory["memory"]["type"]) == ("why", "user")
    assert memory["content"].endswith("written there\n")


def test_write_edit_left_as_it_was_makes_no_memory(run: Run, editor: Editor):
    editor("")
    assert run("write", "note", "--edit").code == 2
    assert run("list", "--json").json["memories"] == []


def test_write_edit_refuses_an_existing_memory_before_anything_is_typed(run: Run, monkeypatch: pytest.MonkeyPatch):
    token = run("write", "note", "one", "--json").token
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    refused = run("write", "note", "--edit")
    assert refused.code == 4
    assert token in refused.err


def test_write_edit_with_a_token_edits_that_version(run: Run, editor: Editor):
    token = run("write", "note", "one\n", "--json").token
    editor("text = text.replace('one', 'uno')")
    assert run("write", "note", "--edit", "--expect", token).code == 0
    assert run("show", "note", "--raw").out == "uno\n"


def _meanwhile(repo: Path, *args: str) -> str:
    command = ["-m", "memstore", "-q", "-C", str(repo), *args]
    return f"import subprocess\nsubprocess.run([sys.executable, *{command!r}], check=True)\n"


def test_expect_has_one_meaning_in_the_help(run: Run):
    told = run("edit", "--help").out
    assert "Open the version TOKEN, not the current one." in told
    assert "Do nothing unless" not in told
    assert told.count("--expect") == 1
