"""`log`, `diff`, `blame`, `undo` and `restore`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def history(run: Run) -> list[str]:
    """Three versions of `note`; their tokens."""
    return [
        run("write", "note", "one\ntwo\n", "--reason", "to begin with", "--json").token,
        run("append", "note", "three", "--json").token,
        run("set", "note", "description", "better", "--json").token,
    ]


@pytest.mark.usefixtures("history")
def test_log_tells_who_when_where_and_why(run: Run, repo):
    told = run("log").out
    assert [line.split()[0] for line in told.splitlines() if line.startswith("#")] == ["#3", "#2", "#1"]
    assert "tester <tester@example.invalid>" in told
    assert f"on main  in {repo}: to begin with" in told
    oldest = run("log", "--json").json["operations"][-1]
    assert (oldest["kind"], oldest["reason"], oldest["branch"]) == ("write", "to begin with", "main")
    assert [(made["path"], made["version"]) for made in oldest["made"]] == [("note.md", 1)]


@pytest.mark.usefixtures("history")
def test_log_of_one_memory_with_limit_since_and_patch(run: Run):
    run("write", "other", "text")
    assert [one["seq"] for one in run("log", "note", "--json").json["operations"]] == [3, 2, 1]
    assert [one["seq"] for one in run("log", "-n", "1", "--json").json["operations"]] == [4]
    assert run("log", "--since", "2100-01-01", "--json").json["operations"] == []
    assert "+three" in run("log", "note", "--patch").out
    assert run("log", "absent").code == 3


def test_log_of_a_memory_names_it_and_counts_the_others_of_an_operation(run: Run, tmp_path: Path):
    (tmp_path / "many").mkdir()
    for number in range(30):
        (tmp_path / "many" / f"n{number:02}.md").write_text(f"text {number}\n")
    (tmp_path / "two").mkdir()
    for number in (7, 8):
        (tmp_path / "two" / f"m{number}.md").write_text(f"more {number}\n")
    run("import", str(tmp_path / "many"))
    run("import", str(tmp_path / "two"))
    run("rename", "n07", "seven")
    told = [line for line in run("log", "seven").out.splitlines() if line.startswith("    ")]
    assert [line.split(",")[0] for line in told] == [
        "    rename seven.md", "    index: 1 line", "    create n07.md", "    and 29 others",
    ]  # fmt: skip
    assert "    and 1 other\n" in run("log", "m7").out
    assert run("log").out.count("create ") == 32 and "other" not in run("log").out
    patch = run("log", "seven", "--patch").out
    assert "+text 7" in patch and "+text 8" not in patch and "MEMORY.md" not in patch
    assert len(run("log", "seven", "--json").json["operations"][-1]["made"]) == 30


def test_diff_of_versions_by_number_and_token(run: Run, history: list[str]):
    assert "+three" in run("diff", "note", "1", "2").out
    assert "+three" in run("diff", "note", history[0], history[1]).out
    assert "-three" in run("diff", "note", "2", "1").out
    assert '+description: "better"' in run("diff", "note").out
    assert "+three" in run("diff", "note", "1").out
    assert run("diff", "note", "1", "1").err == "the texts are the same\n"
    assert run("diff", "note", "1", "7").code == 3
    assert run("diff", "note", "1", "2", "--json").json["diffs"][0]["before"]["token"] == history[0]


@pytest.mark.usefixtures("history")
def test_diff_of_an_operation(run: Run):
    assert "+three" in run("diff", "--operation", "2").out
    assert "+one" in run("diff", "--operation", "#1").out
    assert run("diff", "--operation", "99").code == 3
    assert run("diff").code == 2
    assert run("diff", "note", "--operation", "2").code == 2


def test_an_edit_of_the_index_by_hand_is_seen_in_log_and_diff(run: Run, folder: Path):
    run("write", "note", "one")
    index = folder / "MEMORY.md"
    for line in ("first words", "second words"):
        text = index.read_text()
        index.write_text(text.replace("first words", line) if "first words" in text else f"{text}{line}\nmore\n")
        run("sync")
    lines = [one["index_lines"] for one in run("log", "--json").json["operations"]]
    assert lines == [2, 2, 1]  # the line that was replaced went, and another came
    told = run("log").out
    assert ("index: 1 line\n" in told, "index: 2 lines\n" in told) == (True, True)
    # A line that a later operation changed again is shown as it stood after this one.
    assert run("diff", "--operation", "2").out.splitlines() == [
        "--- MEMORY.md", "+++ MEMORY.md", "+first words", "+more",
    ]  # fmt: skip
    edited = ["--- MEMORY.md", "+++ MEMORY.md", "-first words", "+second words"]
    assert run("diff", "--operation", "3", "--json").json["diffs"] == [
        {"path": "MEMORY.md", "before": None, "after": None, "lines": edited}
    ]
    patches = run("log", "--patch").out
    assert "\n".join(edited) in patches
    assert "+first words\n+more" in patches


def test_a_removed_index_line_is_shown_as_removed(run: Run):
    run("write", "note", "one", "-d", "why")
    run("delete", "note")
    assert any(line.startswith("-- [") for line in run("diff", "--operation", "2").out.splitlines())


def test_diff_of_a_deletion_and_a_renaming(run: Run):
    run("write", "note", "one")
    run("rename", "note", "remark")
    run("delete", "remark")
    assert "remark.md" in run("diff", "--operation", "2").out
    assert "-one" in run("diff", "--operation", "3").out


@pytest.mark.usefixtures("history")
def test_blame_names_the_operation_of_each_line(run: Run):
    lines = {line["text"]: line["seq"] for line in run("blame", "note", "--json").json["lines"]}
    assert (lines["one"], lines["three"], lines['description: "better"']) == (1, 2, 3)
    assert run("blame", "note").out.splitlines()[-1].startswith("#2 ")
    assert run("blame", "absent").code == 3


@pytest.mark.usefixtures("history")
def test_undo_takes_an_operation_back_and_is_one_itself(run: Run):
    assert run("undo", "3").out.startswith("took #3 back by operation #4: note.md")
    assert "better" not in run("show", "note").out
    undone = run("undo", "4", "--json").json
    assert (undone["seq"], undone["operation"]["seq"], undone["changed"]) == (5, 4, ["note.md"])
    assert "better" in run("show", "note").out


@pytest.mark.usefixtures("history")
def test_undo_keeps_what_came_later(run: Run):
    assert run("undo", "2").code == 0
    shown = run("show", "note").out
    assert "three" not in shown
    assert "better" in shown


@pytest.mark.usefixtures("history")
def test_undo_in_the_way_of_later_work_is_refused(run: Run):
    for options in ((), ("--dry-run",)):
        refused = run("undo", "1", *options)
        assert refused.code == 4
        assert "note.md" in refused.err


@pytest.mark.usefixtures("history")
def test_undo_dry_run_changes_nothing(run: Run):
    shown = run("undo", "2", "--dry-run")
    assert "-three" in shown.out
    preview = run("undo", "2", "--dry-run", "--json").json
    assert (preview["dry_run"], preview["changed"], preview["by"]) == (True, ["note.md"], None)
    assert len(run("log", "--json").json["operations"]) == 3


def test_undo_dry_run_tells_of_names_and_pins(run: Run):
    run("write", "note", "text")
    run("pin", "note")
    run("write", "other", "text")
    run("supersede", "note", "--by", "other")
    assert "note.md is unpinned again" in run("undo", "2", "--dry-run").out
    assert "note.md is no longer superseded" in run("undo", "4", "--dry-run").out


@pytest.mark.parametrize("reference", ["99", "zz", "", "%", "0", "-1", "#"])
@pytest.mark.usefixtures("history")
def test_undo_of_what_is_not_there(run: Run, reference: str):
    assert run("undo", "--", reference).code == 3


def test_restore_puts_a_version_back(run: Run, history: list[str]):
    assert run("restore", "note", "--version", "1").out.startswith("restored note.md: version 4")
    assert run("show", "note", "--raw").out == "one\ntwo\n"
    assert run("restore", "note", "--version", "9").code == 3
    assert run("restore", "note", "--version", "0").code == 2
    assert run("restore", "absent").code == 3


@pytest.mark.usefixtures("history")
def test_restore_says_which_version_came_back(run: Run):
    assert "; as version 2 was\n" in run("restore", "note").out
    assert "; as version 1 was\n" in run("restore", "note", "--version", "1").out
    assert "as version" not in run("restore", "note", "--version", "1").out  # it stood there
    run("delete", "note")
    assert "; as version 5 was\n" in run("restore", "note").out


def test_restore_brings_a_retired_memory_back(run: Run, history: list[str], folder):
    run("delete", "note")
    restored = run("restore", "note", "--json").json
    assert restored["memory"]["live"] is True
    assert (folder / "note.md").exists()
