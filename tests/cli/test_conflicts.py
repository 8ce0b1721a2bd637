"""`conflicts` and `resolve`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memstore.cli.state import State
from memstore.cli.telling import tell_files
from memstore.files.report import Noted, SyncReport
from tests.cli.conftest import Run


def test_a_conflict_is_listed_and_both_sides_are_shown(run: Run, conflict: str):
    assert run("conflicts").out.startswith(f"{conflict[:8]}\ttopic.md\t")
    assert "-ours" in run("conflicts", conflict[:8]).out
    shown = run("conflicts", conflict).out
    assert "-ours" in shown
    assert "+theirs" in shown
    assert "theirs" in run("conflicts", conflict, "--json").json["conflicts"][0]["theirs"]["content"]
    assert "1 open conflict" in run("status").out


@pytest.mark.parametrize(
    ("choice", "body"),
    [("--ours", "first\nours\nlast\n"), ("--theirs", "first\ntheirs\nlast\n")],
)
def test_one_side_is_taken(run: Run, conflict: str, choice: str, body: str):
    assert run("resolve", conflict, choice).code == 0
    assert run("show", "topic", "--raw").out == body
    assert run("conflicts", "--json").json["conflicts"] == []
    settled = run("conflicts", "--all", "--json").json["conflicts"]
    assert [one["resolution"] for one in settled] == [choice.removeprefix("--")]


@pytest.fixture
def edited_twice(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The index line of `topic.md` was edited here and, which nobody has taken in yet, in a second folder."""
    run("write", "topic", "text")
    first = Path(run("where", "--json").json["folder"]) / "MEMORY.md"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "second"))
    assert run("sync").code == 0
    second = Path(run("where", "--json").json["folder"]) / "MEMORY.md"
    second.write_text("- [topic](topic.md) — their words\n")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    first.write_text("- [topic](topic.md) — our words\n")
    assert run("sync").code == 0
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "second"))


@pytest.mark.usefixtures("edited_twice")
def test_what_makes_a_conflict_says_where_it_is_seen(run: Run):
    assert run("sync", "--dry-run").out.endswith("\nthere would be 1 conflict\n")
    assert run("sync").out.endswith("\n1 conflict: see `memstore conflicts`\n")
    assert "1 open conflict: see `memstore conflicts`\n" in run("status").out
    assert "conflict:" not in run("sync").out


def test_a_write_whose_file_was_saved_meanwhile_says_where_the_conflict_is_seen(capsys: pytest.CaptureFixture[str]):
    saved_meanwhile = Noted("topic.md", "conflict", 24, "both sides changed body")
    tell_files(State(), SyncReport("/folder", absorbed=(saved_meanwhile,), projected=("topic.md",)))
    assert "\n1 conflict: see `memstore conflicts`\n" in capsys.readouterr().out


@pytest.mark.usefixtures("edited_twice")
def test_a_conflict_about_an_index_line_shows_both_lines_and_is_settled_in_an_editor(
    run: Run, editor: Callable[[str], None], folder: Path
):
    run("sync")
    found = run("conflicts", "--json").json["conflicts"][0]["id"]
    shown = run("conflicts", found).out
    assert "\n-- [topic](topic.md) — our words\n+- [topic](topic.md) — their words\n" in shown
    assert "--edit" in shown and "--both" not in shown
    editor("assert 'our words' in text and 'their words' in text\ntext = '- [topic](topic.md) — words of both'")
    assert run("resolve", found, "--edit").code == 0
    assert (folder / "MEMORY.md").read_text() == "- [topic](topic.md) — words of both\n"


def test_an_open_conflict_ends_with_the_commands_that_settle_it(run: Run, conflict: str):
    *_, ours, theirs, both, edit = run("conflicts", conflict).out.rstrip("\n").split("\n")
    for line, way in ((ours, "--ours"), (theirs, "--theirs"), (both, "--both"), (edit, "--edit")):
        assert line.startswith(f"memstore resolve {conflict[:8]} {way} ")
    assert run(*theirs.split()[1:4]).code == 0
    assert "memstore resolve" not in run("conflicts", conflict, "--all").out


def test_an_id_that_fits_several_conflicts_is_refused_with_those(run: Run, tmp_path: Path):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        for name in ("a.md", "b.md"):
            (tmp_path / place / name).write_text(f"{place} in {name}\n")
        run("import", str(tmp_path / place))
    one, other = (line.split("\t")[0] for line in run("conflicts").out.splitlines())
    refused = run("resolve", one[:4], "--ours")
    assert refused.code == 3
    assert f"{one[:4]!r} fits several conflicts: {one} (a.md), {other} (b.md)\n" in refused.err
    assert len(run("conflicts", "--json").json["conflicts"]) == 2


def test_both_sides_are_kept(run: Run, conflict: str):
    resolved = run("resolve", conflict, "--both", "--json").json
    assert (resolved["conflict"], resolved["resolution"]) == (conflict, "both")
    body = run("show", "topic", "--raw").out
    assert "ours" in body
    assert "theirs" in body


def test_a_person_joins_them_in_an_editor(run: Run, conflict: str, editor: Callable[[str], None]):
    editor("lines = [x for x in text.split('\\n') if x[:7] not in ('<<<<<<<', '=======', '>>>>>>>')]\n"
           "text = '\\n'.join(lines)")  # fmt: skip
    assert run("resolve", conflict, "--edit").code == 0
    assert run("show", "topic", "--raw").out == "first\nours\ntheirs\nlast\n"


def test_marks_left_in_the_text_settle_nothing(run: Run, conflict: str, editor: Callable[[str], None]):
    editor("text += 'more\\n'")
    refused = run("resolve", conflict, "--edit")
    assert refused.code == 2
    assert Path(refused.err.rpartition("your text is in ")[2].strip()).exists()
    assert len(run("conflicts", "--json").json["conflicts"]) == 1


def test_a_merge_tool_gets_four_files_and_its_result_is_taken(run: Run, conflict: str, tmp_path: Path):
    tool = tmp_path / "a tool.py"
    tool.write_text(
        "import sys\nours, base, theirs, out = sys.argv[1:]\ntext = open(base).read()\n"
        "assert 'middle' in text and 'ours' in open(ours).read() and 'theirs' in open(theirs).read()\n"
        "open(out, 'w').write(text.replace('middle', 'by the tool'))\n"
    )
    assert run("resolve", conflict, "--tool", f"{sys.executable} '{tool}'").code == 0
    assert run("show", "topic", "--raw").out == "first\nby the tool\nlast\n"


@pytest.mark.parametrize("tool", ["false", "/nowhere/tool", "", "'unclosed"])
def test_a_merge_tool_that_fails_settles_nothing(run: Run, conflict: str, tool: str):
    assert run("resolve", conflict, "--tool", tool).code == 2
    assert len(run("conflicts", "--json").json["conflicts"]) == 1


def test_what_does_not_name_one_conflict_is_refused(run: Run, conflict: str):
    for reference in ("0", "zzzzzzzz", "%", conflict[:3]):
        assert run("resolve", reference, "--ours").code == 3
    assert run("resolve", conflict).code == 2
    assert run("resolve", conflict, "--ours", "--tool", "true").code == 2


def test_a_conflict_that_is_settled_already_is_told_so(run: Run, conflict: str):
    run("resolve", conflict[:8], "--theirs")
    again = run("resolve", conflict[:8], "--ours")
    assert again.code == 3
    assert "topic.md is settled already: theirs" in again.err


def test_short_ids_name_one_conflict_each(run: Run, tmp_path: Path):
    for place, text in (("first", "one way"), ("second", "another way"), ("third", "a third way")):
        (tmp_path / place).mkdir()
        for name in ("a.md", "b.md"):
            (tmp_path / place / name).write_text(f"{text} in {name}\n")
        run("import", str(tmp_path / place))
    whole = [one["id"] for one in run("conflicts", "--json").json["conflicts"]]
    shown = [line.split("\t")[0] for line in run("conflicts").out.splitlines()]
    assert len(whole) == len(shown) == 4
    for one, short in zip(whole, shown, strict=True):
        assert len(short) >= 8
        assert [other for other in whole if other.startswith(short)] == [one]
    assert run("resolve", shown[1], "--ours").code == 0


@pytest.mark.parametrize(
    "choices", [("--ours", "--theirs"), ("--both", "--ours"), ("--edit", "--both"), ("--theirs", "--tool", "true")]
)
def test_two_choices_settle_nothing(run: Run, conflict: str, choices: tuple[str, ...]):
    refused = run("resolve", conflict, *choices)
    assert refused.code == 2
    assert "in one way" in refused.err
    assert len(run("conflicts", "--json").json["conflicts"]) == 1


def test_no_conflict_is_no_error(run: Run):
    run("write", "note", "text")
    assert (run("conflicts").code, run("conflicts").out) == (0, "")
