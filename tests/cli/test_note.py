"""`note`: an entry of the log of the day from arguments or a pipe, and the log read again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def only_log(folder: Path) -> Path:
    (found,) = folder.glob("logs/*/*/*.md")
    return found


def test_a_note_says_when_and_where_and_stands_there(run: Run, folder: Path):
    told = run("note", "The cache", "moved.").out
    found = re.fullmatch(r"noted (\d\d:\d\d \+00:00) in (logs/\d{4}/\d\d/\d{4}-\d\d-\d\d\.md)\n", told)
    assert found
    assert (folder / found[2]).read_text() == f"- {found[1]} The cache moved.\n"
    assert run("note", "--list").out == f"{found[1]} The cache moved.\n"


@pytest.mark.parametrize(
    ("words", "stdin", "text"),
    [
        (("-",), "piped\n- second\n", "piped\n      - second"),
        ((), "piped", "piped"),
        (("- a bullet",), None, "- a bullet"),
        (("--", "--list"), None, "--list"),
        (("记忆", "\N{PILE OF POO}"), None, "记忆 \N{PILE OF POO}"),
    ],
)
def test_a_note_comes_from_arguments_or_a_pipe(
    run: Run, folder: Path, words: tuple[str, ...], stdin: str | None, text: str
):
    assert run("note", *words, stdin=stdin).code == 0
    assert only_log(folder).read_text(encoding="utf-8").split(" ", 3)[3] == f"{text}\n"


@pytest.mark.parametrize(
    "call",
    [
        ("note", "  "), ("note", "x", "--day", "2026-03-01"), ("note", "--list", "x"),
        ("note", "--list", "--days", "0"),
        ("note", "--list", "--day", "yesterday"), ("note", "--list", "--operation", "a"), ("note", "--lst"),
        ("note", "x", "--session", "a\nb"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_nothing_is_kept(run: Run, folder: Path, call: tuple[str, ...]):
    run("write", "topic", "text")
    assert run(*call).code == 2
    assert not (folder / "logs").exists()


def test_the_list_has_what_others_wrote_and_an_entry_that_steers_a_terminal_does_not(run: Run, folder: Path):
    run("note", "one\ntwo\x1b[31m", "--session", "s1")
    run("note", "other", "--session", "s2")
    with only_log(folder).open("a") as file:
        file.write("> asked\n  more\n")
    lines = run("note", "--list").out.split("\n")
    assert [line[13:] if line[2:3] == ":" else line for line in lines] == [
        "one", "    two\\x1b[31m", "other", "user: asked", "      more", "",
    ]  # fmt: skip
    assert len(run("note", "--list", "--session", "s2").out.strip().split("\n")) == 1
    told = run("note", "--list", "--json", "--days", "2").json["days"]
    assert [(one["who"], one["session"], one["origin"]) for one in told[1]["entries"]] == [
        ("note", "s1", "agent"), ("note", "s2", "agent"), ("user", None, None),
    ]  # fmt: skip
    assert "nothing is in the log of 2020-01-01" in run("note", "--list", "--day", "2020-01-01").err


def test_a_repeated_operation_adds_nothing(run: Run, folder: Path):
    run("note", "once", "--operation", "job-1")
    assert run("note", "once", "--operation", "job-1").out.startswith("done before, nothing new: ")
    assert run("note", "other", "--operation", "job-1").code == 4
    assert only_log(folder).read_text().count("\n") == 1


def test_a_note_that_cannot_be_shown_is_kept_and_said(run: Run, folder: Path):
    folder.parent.mkdir(parents=True)
    folder.write_text("a file\n")
    done = run("note", "kept")
    assert done.code == 0 and "is not a directory" in done.err
    folder.unlink()
    assert run("sync").code == 0
    assert only_log(folder).read_text().endswith(" kept\n")


@pytest.mark.parametrize(("zone", "offset"), [("Asia/Kathmandu", "+05:45"), ("<-03>3", "-03:00"), ("UTC", "+00:00")])
def test_the_zone_of_the_process_counts(repo: Path, zone: str, offset: str):
    call = [sys.executable, "-m", "memstore", "-C", str(repo), "note", "x"]
    done = subprocess.run(call, env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True)
    assert f" {offset} in logs/" in done.stdout


def test_a_pause_of_automatic_saving_keeps_no_note_away(run: Run, folder: Path):
    run("write", "topic", "text")
    run("pause", "--store")
    assert run("note", "x").out.startswith("noted ")
    assert only_log(folder).exists()
