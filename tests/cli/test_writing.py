"""Commands that write one memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run

HEADER = "---\nname: own\ndescription: brought along\n---\n\n"


def test_a_write_says_what_was_saved_and_what_was_projected(run: Run, folder: Path):
    done = run("write", "testing", "Use a real database.", "-d", "how tests run", "--type", "feedback")
    assert done.code == 0
    assert done.out.startswith("created testing.md: version 1, token ")
    assert "projected: testing.md, MEMORY.md" in done.out
    assert (folder / "testing.md").read_text().endswith("\nUse a real database.\n")


def test_quiet_writes_print_nothing(run: Run):
    done = run("-q", "write", "testing", "text")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("source", ["stdin", "dash", "file"])
def test_the_text_comes_from_a_pipe_or_a_file(run: Run, repo: Path, source: str):
    (repo / "body.txt").write_text("from elsewhere\n")
    args = {"stdin": (), "dash": ("--file", "-"), "file": ("--file", "body.txt")}[source]
    assert run("write", "note", *args, stdin="from elsewhere\n").code == 0
    assert run("show", "note", "--raw").out == "from elsewhere\n"


def test_a_text_with_its_own_header_keeps_it(run: Run):
    run("write", "note", stdin=HEADER + "body\n")
    assert run("show", "note", "--json").json["content"] == HEADER + "body\n"


def test_an_existing_memory_is_not_overwritten_without_its_token(run: Run):
    token = run("write", "note", "one", "--json").token
    refused = run("write", "note", "two")
    assert refused.code == 4
    assert token in refused.err
    assert "--expect" in refused.err
    assert run("show", "note", "--raw").out == "one\n"


def test_the_current_token_replaces_the_text_and_keeps_the_header(run: Run):
    token = run("write", "note", "one", "-d", "kept", "--json").token
    assert run("write", "note", "two", "--expect", token).out.startswith("revised note.md: version 2")
    assert run("show", "note", "--json").json["memory"]["description"] == "kept"


def test_an_older_token_is_merged_where_that_is_clean(run: Run):
    token = run("write", "note", "one\ntwo\nthree\n", "--json").token
    run("write", "note", "ONE\ntwo\nthree\n", "--expect", token)
    merged = run("write", "note", "one\ntwo\nTHREE\n", "--expect", token, "--json")
    assert merged.json["what"] == "merged"
    assert run("show", "note", "--raw").out == "ONE\ntwo\nTHREE\n"


@pytest.mark.parametrize("choice", ["merge", "refuse"])
def test_a_stale_token_that_does_not_merge_shows_both_texts_and_the_current_token(run: Run, choice: str):
    token = run("write", "note", "one", "--json").token
    current = run("write", "note", "two", "--expect", token, "--json").token
    refused = run("write", "note", "three", "--expect", token, "--on-conflict", choice)
    assert refused.code == 4
    assert "-two" in refused.err
    assert "+three" in refused.err
    assert current in refused.err
    assert run("show", "note", "--raw").out == "two\n"


def test_a_stale_token_gives_both_texts_as_json(run: Run):
    token = run("write", "note", "one", "--json").token
    current = run("write", "note", "two", "--expect", token, "--json").token
    error = run("write", "note", "three", "--expect", token, "--json").json["error"]
    assert (error["kind"], error["code"], error["current"]) == ("StaleVersion", 4, current)
    assert error["current_text"]["content"].endswith("two\n")
    assert error["given_text"]["content"].endswith("three\n")


def test_new_means_that_it_must_not_exist(run: Run):
    assert run("write", "note", "one", "--expect", "new").code == 0
    assert run("write", "note", "one", "--expect", "new").code == 4


def test_an_unknown_token_is_not_found(run: Run):
    run("write", "note", "one")
    assert run("write", "note", "two", "--expect", "0123456789ab").code == 3
    assert run("write", "other", "two", "--expect", "0123456789ab").code == 3


def test_fields_alone_leave_the_text(run: Run):
    token = run("write", "note", "one", "--json").token
    assert run("write", "note", "-d", "better", "--expect", token).code == 0
    shown = run("show", "note", "--json").json
    assert shown["memory"]["description"] == "better"
    assert shown["content"].endswith("\none\n")


def test_an_operation_id_makes_a_repetition_harmless(run: Run):
    first = run("write", "note", "one", "--operation", "job-7", "--json").json
    again = run("write", "note", "one", "--operation", "job-7", "--json").json
    assert again["what"] == "repeated"
    assert again["operation"] == first["operation"] == "job-7"
    assert len(run("log", "--json").json["operations"]) == 1


def test_an_operation_id_is_not_taken_for_something_else(run: Run):
    run("write", "note", "one", "--operation", "job-7")
    assert run("write", "other", "two", "--operation", "job-7").code == 4


@pytest.mark.parametrize("bad", ["", "12", "line\nbreak", "x" * 201])
def test_an_operation_id_that_reads_as_something_else_is_refused(run: Run, bad: str):
    assert run("write", "note", "one", "--operation", bad).code == 2


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "MEMORY", " ", "a/b", ".hidden", "%2e%2e%2fup", "nul\0l"])
def test_a_name_that_cannot_be_a_file_is_refused(run: Run, name: str):
    refused = run("write", name, "text")
    assert refused.code == 2
    assert refused.err.startswith("memstore: ")


def test_text_that_is_not_utf8_is_refused_with_its_place(run: Run):
    refused = run("write", "note", stdin=b"good \xff bad")
    assert refused.code == 2
    assert "byte 5 is 0xff" in refused.err
    assert run("write", "note", os.fsdecode(b"good \xff bad")).code == 2


def test_a_text_over_one_mebibyte_is_refused(run: Run, repo: Path):
    (repo / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    for refused in (
        run("write", "note", "-f", "large"),
        run("write", "note", stdin=b"x" * (1024 * 1024 + 1)),
    ):
        assert refused.code == 2
        assert "1 MiB" in refused.err
    (repo / "just").write_bytes(b"x" * (1024 * 1024))
    assert run("write", "note", "-f", "just").code == 0


@pytest.mark.parametrize("path", ["missing.txt", ".git", "nul\0l", "/dev/zero"])
def test_a_file_that_cannot_be_read_is_named(run: Run, path: str):
    refused = run("write", "note", "--file", path)
    assert refused.code == 2
    assert path.strip("\0")[:3] in refused.err


def test_no_text_is_refused(run: Run):
    for command in ("write", "append"):
        refused = run(command, "note", stdin="")
        assert refused.code == 2
        assert "no text" in refused.err


@pytest.mark.parametrize("text", ["- a bullet", "- do it for him", "-5 degrees", "-x", "--flag is text", "---"])
@pytest.mark.parametrize("command", ["write", "append"])
def test_a_text_may_begin_with_a_dash(run: Run, command: str, text: str):
    done = run(command, "note", text, "--reason", "- why", "--json")
    assert (done.code, done.json["memory"]["path"]) == (0, "note.md")
    assert run("show", "note", "--raw").out == f"{text}\n"
    assert run("log", "--json").json["operations"][0]["reason"] == "- why"


def test_options_stand_before_and_behind_such_a_text(run: Run, repo: Path):
    (repo / "file").write_text("- from a file\n")
    assert run("write", "-d", "one line", "--type=user", "note", "- x").code == 0
    memory = run("show", "note", "--json").json["memory"]
    assert (memory["description"], memory["type"]) == ("one line", "user")
    assert run("write", "other", "-dshort", "-f", "file").code == 0
    assert run("write", "third", "-f", "-", stdin="- piped\n").code == 0
    assert run("append", "note", "--", "--json").code == 0
    assert run("show", "note", "--raw").out == "- x\n--json\n"
    assert run("append", "-h").out.startswith("Usage: ")


@pytest.mark.parametrize(
    "args", [("--unheard",), ("--unheard=of",), ("text", "--unheard"), ("- x", "- y"), ("text", "--reason")]
)
@pytest.mark.parametrize("command", ["write", "append"])
def test_an_unknown_option_is_no_text(run: Run, command: str, args: tuple[str, ...]):
    assert run(command, "note", *args, stdin="piped").code == 2
    assert run("list").code == 3


def test_two_sources_of_text_are_refused(run: Run):
    assert run("write", "note", "text", "--file", "-").code == 2
    assert run("write", "note", "text", "--edit").code == 2


def test_a_type_that_is_none_of_the_four_is_refused(run: Run):
    assert run("write", "note", "text", "--type", "opinion").code == 2
    run("write", "note", "text")
    assert run("set", "note", "type", "opinion").code == 2


def test_append_adds_lines_and_makes_the_memory_where_there_is_none(run: Run):
    assert run("append", "note", "one").out.startswith("created note.md")
    assert run("append", "note", stdin="two\nthree").out.startswith("appended to note.md: version 2")
    assert run("show", "note", "--raw").out == "one\ntwo\nthree\n"


def test_append_repeated_with_its_id_adds_once(run: Run):
    run("append", "note", "one")
    for _ in range(2):
        assert run("append", "note", "two", "--operation", "job-8").code == 0
    assert run("show", "note", "--raw").out == "one\ntwo\n"


def test_set_changes_one_field(run: Run):
    run("write", "note", stdin=HEADER + "body\n")
    assert run("set", "note", "description", "another: one").code == 0
    content = run("show", "note", "--json").json["content"]
    assert content == HEADER.replace("brought along", '"another: one"') + "body\n"


def test_set_refuses_what_is_no_field(run: Run):
    run("write", "note", "text")
    assert run("set", "note", "colour", "red").code == 2
    assert run("set", "absent", "name", "x").code == 3


def test_rename_keeps_history_and_frees_the_file(run: Run, folder: Path):
    run("write", "note", "text")
    assert run("rename", "note", "remark").code == 0
    assert not (folder / "note.md").exists()
    assert (folder / "remark.md").exists()
    assert run("show", "remark", "--json").json["memory"]["version"] == 2


def test_rename_to_a_name_that_is_taken_is_a_conflict(run: Run):
    run("write", "one", "text")
    run("write", "two", "text")
    assert run("rename", "one", "two").code == 4
    assert run("rename", "absent", "three").code == 3
    assert run("rename", "one", "../three").code == 2
    assert run("rename", "one", "memory.md/three.md").code == 2


def test_delete_retires_and_the_versions_stay(run: Run, folder: Path):
    run("write", "note", "text")
    assert run("delete", "note", "--reason", "wrong").out.startswith("retired note.md")
    assert not (folder / "note.md").exists()
    assert run("log", "note", "--json").json["operations"][0]["reason"] == "wrong"
    assert run("delete", "note").code == 3


@pytest.mark.parametrize(
    "command", [("set", "note", "description", "x"), ("rename", "note", "other"), ("delete", "note")]
)
def test_a_token_that_is_not_current_stops_the_command(run: Run, command: tuple[str, ...]):
    token = run("write", "note", "one", "--json").token
    run("append", "note", "two")
    assert run(*command, "--expect", token).code == 4
    assert run("show", "note", "--json").json["memory"]["version"] == 2


def test_pin_and_unpin(run: Run):
    run("write", "note", "text")
    assert run("pin", "note").out.startswith("pinned note.md: version 2")
    assert run("pin", "note").out.startswith("unchanged note.md: version 2")
    assert run("unpin", "note", "--json").json["memory"]["pinned"] is False
    assert run("pin", "absent").code == 3


def test_supersede_marks_and_clears(run: Run):
    run("write", "old", "wrong")
    new = run("write", "new", "right", "--json").json["memory"]["id"]
    assert run("supersede", "old", "--by", "new", "--json").json["memory"]["superseded_by"] == new
    assert run("supersede", "old", "--clear", "--json").json["memory"]["superseded_by"] is None
    assert run("supersede", "old").code == 2
    assert run("supersede", "old", "--by", "old").code == 2
    assert run("supersede", "old", "--by", "absent").code == 3


def test_supersede_says_by_what(run: Run):
    run("write", "old", "wrong")
    run("write", "new", "right")
    assert "; superseded by new.md\n" in run("supersede", "old", "--by", "new").out
    assert "; nothing supersedes it\n" in run("supersede", "old", "--clear").out


def test_a_file_that_could_not_be_projected_is_no_failure_of_the_write(run: Run, folder: Path):
    run("write", "note", "one")
    (folder / "other.md").mkdir()
    done = run("write", "other", "two")
    assert done.code == 0
    assert "not projected" in done.err
    assert "other.md" in done.err
    assert run("sync").code == 5


def test_a_value_of_the_repository_stops_projecting_and_not_the_write(run: Run, repo: Path):
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_text('{"autoMemoryDirectory": "/tmp/elsewhere"}')
    done = run("write", "note", "text")
    assert done.code == 0
    assert "not projected" in done.err
    assert "autoMemoryDirectory" in done.err
    assert run("sync").code == 5


def test_what_looks_like_a_secret_is_saved_all_the_same_and_said(run: Run):
    token = "gh" + "p_" + "a1B2c3D4e5" * 4
    done = run("write", "bot", f"It deploys.\nIts token is {token}")
    assert done.code == 0 and done.out.startswith("created bot.md")
    assert done.err == "note: line 9 looks like a secret (github-token): every session reads it, and history keeps it\n"
    done = run("append", "bot", "At noon.", "--json")
    assert done.json["secrets"] == [{"rule": "github-token", "line": 9}]
    assert run("write", "port", "It is 7443.", "--json").json["secrets"] == []
    assert run("pin", "bot").err == ""
