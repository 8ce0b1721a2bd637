"""`list`, `show` and `status`."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from memstore.cli.shapes import SHAPES
from tests.cli.conftest import Run
from tests.cli.test_shapes import has_shape

NASTY = "\x1b]0;title\x07\u202egnp.exe\u200b\ufeffx"


@pytest.fixture
def four(run: Run) -> None:
    """Four memories of three types; `Beta` was changed last."""
    run("write", "alpha", "text", "--type", "user")
    run("write", "Beta", "text", "--type", "feedback")
    run("write", "gamma", "text", "--type", "feedback")
    run("write", "delta", "text")
    run("append", "Beta", "more")


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["alpha.md", "Beta.md", "delta.md", "gamma.md"]),
        (("--sort", "changed"), ["Beta.md", "delta.md", "gamma.md", "alpha.md"]),
        (("--sort", "type"), ["Beta.md", "gamma.md", "delta.md", "alpha.md"]),
        (("--type", "feedback"), ["Beta.md", "gamma.md"]),
        (("--type", "user", "--type", "feedback"), ["alpha.md", "Beta.md", "gamma.md"]),
        (("--limit", "2"), ["alpha.md", "Beta.md"]),
        (("--scope", "private", "--limit", "1"), ["alpha.md"]),
        (("--scope", "team"), []),
        (("--since", "1h", "-n1"), ["alpha.md"]),
        (("--since", "2100-01-01"), []),
        (("--pinned",), []),
    ],
)
def test_list_filters_and_sorts(run: Run, options: tuple[str, ...], expected: list[str]):
    listed = run("list", *options)
    assert [line.split("\t")[0] for line in listed.out.splitlines()] == expected
    assert [one["path"] for one in run("list", *options, "--json").json["memories"]] == expected


@pytest.mark.usefixtures("four")
def test_list_shows_retired_memories_only_when_asked(run: Run):
    run("delete", "alpha")
    assert "alpha" not in run("list").out
    assert "alpha.md\tuser" in run("list", "--retired").out


@pytest.mark.parametrize(
    "options", [("--sort", "size"), ("--since", "yesterday-ish"), ("--limit", "0"), ("--scope", "everyone")]
)
def test_list_refuses_what_it_does_not_know(run: Run, options: tuple[str, ...]):
    run("write", "note", "text")
    assert run("list", *options).code == 2


@pytest.mark.parametrize("command", [("list",), ("show", "x"), ("search", "x"), ("status",), ("log",), ("conflicts",)])
def test_reading_where_nothing_is_makes_nothing(run: Run, home: Path, command: tuple[str, ...]):
    told = run(*command)
    assert told.code == 3
    assert "memstore write" in told.err
    assert not (home / "memstore").exists()


def test_show_gives_version_token_and_text(run: Run):
    token = run("write", "note", "one", "--json").token
    shown = run("show", "note")
    assert shown.out.startswith(f"note.md  version 1, token {token}, ")
    assert shown.out.endswith("\none\n")


def test_show_gives_any_version(run: Run):
    token = run("write", "note", "one", "--json").token
    run("append", "note", "two")
    assert run("show", "note", "--version", "1", "--raw").out == "one\n"
    assert run("show", "note", "--token", token, "--raw").out == "one\n"
    assert "version 1 of 2" in run("show", "note", "--version", "1").out
    assert run("show", "note", "--version", "9").code == 3
    assert run("show", "note", "--token", "0123456789ab").code == 3
    assert run("show", "note", "--version", "1", "--token", token).code == 2


def test_a_retired_memory_can_still_be_shown(run: Run):
    run("write", "note", "one")
    run("delete", "note")
    assert "(retired)" in run("show", "note").out


@pytest.fixture
def swept(run: Run, folder: Path) -> Path:
    """A folder of twelve memories, ten of whose files are gone."""
    for number in range(12):
        run("write", f"note-{number}", "some words")
    for number in range(10):
        (folder / f"note-{number}.md").unlink()
    return folder


@pytest.mark.parametrize(
    "command",
    [("list",), ("show", "note-3"), ("show", "note-11"), ("search", "words"), ("search", "words", "--all-projects")],
)
def test_where_nothing_was_decided_reading_says_so(run: Run, swept: Path, command: tuple[str, ...]):
    told = run(*command)
    assert told.code == 0 and "note-" in told.out
    line = next(line for line in told.err.splitlines() if line.startswith("note: nothing was decided in "))
    assert str(swept) in line and "of 12 files 10 are gone" in line
    assert "`memstore sync --accept`" in line and "`memstore sync --restore`" in line
    assert run(*command, "--json").json["notices"] == [line.removeprefix("note: ")]
    run("sync", "--restore")
    assert "note: " not in run(*command).err
    assert run(*command, "--json").json["notices"] == []


def test_where_nothing_was_decided_status_says_what_is_shown_and_what_is_not_taken_in(run: Run, swept: Path):
    shown = f"folder:     {swept} (writes are shown there, but no edit of a file is taken in)\n"
    told = run("status")
    assert shown in told.out and "note: nothing was decided in" in told.err
    run("append", "note-11", "more")
    assert "more" in (swept / "note-11.md").read_text()
    status = run("status", "--json").json["files"]
    assert status["folder"] == str(swept) and "nothing was decided" in status["notices"][0]


def test_status_says_where_nothing_is_projected(run: Run, folder: Path):
    run("write", "note", "text")
    (folder / ".memstore").write_text(
        (folder / ".memstore").read_text().replace(run("where", "--json").json["store"], "another")
    )
    assert f"folder:     {folder} (nothing is projected there)\n" in run("status").out
    assert run("status", "--json").json["files"]["folder"] is None


@pytest.mark.parametrize("command", ["show", "list"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_memory_whose_file_has_just_been_deleted_is_marked(
    run: Run, folder: Path, command: str, options: tuple[str, ...]
):
    run("write", "note", "text")
    run("write", "other", "text")
    (folder / "note.md").unlink()
    told = run(command, *(("note",) if command == "show" else ()), *options)
    gone = "note.md: its file is gone; if the next look at the folder misses it too, it counts as deleted"
    assert told.err == f"note: {gone}\n"
    if options:
        assert told.json["notices"] == [gone]
    elif command == "show":
        assert "  (file gone)\n" in told.out
    else:
        assert [line.split("\t")[4] for line in told.out.splitlines()] == ["file gone", ""]
    run("sync")
    assert run("show", "note").err == "" and "(retired)" in run("show", "note").out


def test_nothing_that_steers_a_terminal_is_printed(run: Run):
    run("write", "note", NASTY, "-d", NASTY)
    for command in (
        ("show", "note"),
        ("list",),
        ("search", "gnp"),
        ("blame", "note"),
        ("log", "-p"),
        ("diff", "note"),
    ):
        printed = run(*command)
        assert printed.code == 0
        assert not set(printed.out) & set("\x1b\x07\u202e\u200b\ufeff"), command
    assert "\\x1b" in run("show", "note").out
    assert "\\u202e" in run("show", "note").out


def test_raw_and_json_keep_every_byte(run: Run):
    run("write", "note", NASTY + "\r\n")
    assert run("show", "note", "--raw").raw == (NASTY + "\r\n").encode()
    assert run("show", "note", "--json").json["content"].endswith(NASTY + "\r\n")


def test_bytes_that_are_not_utf8_come_as_base64(run: Run, folder: Path):
    run("write", "note", "text")
    odd = b"---\nname: odd\n---\nlatin \xe9 nul \x00 end\n"
    (folder / "odd.md").write_bytes(odd)
    assert run("sync").code == 0
    shown = run("show", "odd", "--json").json
    assert shown["encoding"] == "base64"
    assert base64.b64decode(shown["content"]) == odd
    assert run("show", "odd", "--raw").raw == b"latin \xe9 nul \x00 end\n"
    assert "latin \ufffd nul \\x00 end" in run("show", "odd").out
    for command in (("list",), ("log",), ("blame", "odd"), ("diff", "odd"), ("search", "latin"), ("status",)):
        assert run(*command, "--json").code == 0


def test_status_counts(run: Run, repo: Path, folder: Path):
    run("write", "note", "text")
    run("write", "gone", "text")
    run("delete", "gone")
    status = run("status", "--json").json
    assert (status["root"], status["files"]["folder"]) == (str(repo), str(folder))
    assert (status["counts"]["live"], status["counts"]["retired"], status["counts"]["operations"]) == (
        1,
        1,
        3,
    )
    assert "1 live, 1 retired, 3 versions in 3 operations" in run("status").out


def test_status_takes_in_what_was_edited(run: Run, folder: Path):
    run("write", "note", "text")
    (folder / "found.md").write_text("---\nname: found\ndescription: x\n---\nby hand\n")
    assert run("status").code == 0
    assert "found.md" in run("list").out


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.md", "Memory.MD", "MEMORY"])
def test_show_prints_the_index(run: Run, folder: Path, name: str):
    run("write", "note", "text", "-d", "why")
    index = folder / "MEMORY.md"
    index.write_text(f"# Mine\n\n{index.read_text()}")
    assert run("show", name).out.startswith("MEMORY.md  the index as the store has it: 3 lines\n\n# Mine\n\n- [")
    assert run("show", name, "--raw").raw == index.read_bytes()
    shown = run("show", name, "--json").json
    assert (shown["content"], shown["encoding"]) == (index.read_text(), "utf-8")
    assert (shown["memory"], shown["version"], shown["notices"]) == (None, None, [])
    assert has_shape(shown, {"memstore": "number", "command": "text", **SHAPES["show"]})
    for options in (("--version", "1"), ("--token", "0123456789ab")):
        refused = run("show", name, *options)
        assert refused.code == 3 and "memstore log" in refused.err


def test_show_prints_an_index_that_is_empty(run: Run):
    run("write", "note", "text")
    run("delete", "note")
    assert run("show", "MEMORY.md", "--raw").raw in (b"", b"\n")
    assert run("show", "MEMORY.md").out == "MEMORY.md  the index as the store has it: 0 lines\n\n\n"


def test_h11_lines_by_hand_without_room_are_counted_named_and_shown_whole(run: Run, folder: Path):
    run("write", "first", "text")
    index = folder / "MEMORY.md"
    by_hand = [f"line {number} by hand" for number in range(230)]
    index.write_text("\n".join([*by_hand, index.read_text()]))
    run("sync")
    made = run("write", "second", "text")
    text = index.read_text()
    lines = 230 - sum(line in text.split("\n") for line in by_hand)
    assert lines > 0
    counted = f"{lines} more lines kept in the store: see `memstore show MEMORY.md`\n"
    assert text.endswith(f"- … 2 more memories and {counted}")
    told = f"the index has no room for 2 memories and {lines} lines: see `memstore show MEMORY.md`\n"
    assert told in made.err
    assert f"no room:    {lines} other lines: see `memstore show MEMORY.md`\n" in run("status").out
    assert "no room:    first.md\n" in run("status").out
    assert run("status", "--json").json["files"]["omitted_lines"] == lines
    assert run("write", "third", "text", "--json").json["files"]["omitted_lines"] == lines
    shown = run("show", "MEMORY.md")
    assert f": 233 lines; the file has no room for 3 memories and {lines} lines\n" in shown.out
    whole = run("show", "MEMORY.md", "--json").json["content"].split("\n")
    for output in (shown.out.split("\n"), run("show", "MEMORY.md", "--raw").out.split("\n"), whole):
        assert [line for line in output if line.endswith(" by hand")] == by_hand
        assert sum(".md)" in line for line in output) == 3
        assert not any("more lines" in line for line in output)
    # A file that somebody wrote past the limits leaves nothing out.
    index.write_text("\n".join(whole))
    run("sync")
    assert run("status", "--json").json["files"]["omitted_lines"] == 0


def test_lines_without_room_are_told_also_where_every_memory_has_its_line(run: Run, folder: Path):
    run("write", "first", "text")
    run("pin", "first")
    index = folder / "MEMORY.md"
    index.write_text("\n".join([*(f"line {number} by hand" for number in range(230)), index.read_text()]))
    run("sync")
    told = run("set", "first", "description", "so that its line changes")
    assert "(first.md)" in index.read_text() and "more memor" not in index.read_text()
    assert "the index has no room for 32 lines: see `memstore show MEMORY.md`\n" in told.err
