"""What a person sees on a terminal, and what goes into a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.cli.terminal import marked, printable, printable_text
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain — 中文 ñ", "plain — 中文 ñ"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\tb\nc\r", "a\\tb\\nc\\r"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\x9b31m", "\\x9b31m"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻 ✔\ufe0f", "👩\u200d💻 ✔\ufe0f"),
        ("ab\u200dcd", "ab\\u200dcd"),
        ("é\u200d\u202e", "é\\u200d\\u202e"),
    ],
)
def test_what_steers_or_hides_is_an_escape(text: str, shown: str):
    assert printable(text) == shown


@given(st.text())
def test_nothing_unseen_is_printed(text: str):
    shown = printable(text)
    assert "\x1b" not in shown
    assert "\n" not in shown
    assert not any("\u202a" <= character <= "\u202e" or "\ud800" <= character <= "\udfff" for character in shown)


def test_a_text_of_lines_keeps_them():
    assert printable_text(b"a\tb\r\nc\rd\xff\n") == "a\tb\nc\\rd\ufffd\n"


def test_marks_in_a_pipe_are_angle_quotes():
    assert marked("a hit\x07 here", ((2, 5),)) == "a «hit»\\x07 here"


def _on_a_terminal(args: list[str], **environment: str) -> str:
    """What the program prints when its output is a terminal of 80 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "memstore", *args],
        stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(slave)
    pieces: list[bytes] = []
    try:
        while piece := os.read(master, 65536):
            pieces.append(piece)
    except OSError:
        pass  # Linux: the other side is closed
    finally:
        os.close(master)
    assert process.wait() == 0
    return b"".join(pieces).decode()


def test_a_terminal_gets_a_table_with_wide_characters_aligned(run: Run, repo: Path):
    run("write", "alpha", "text", "-d", "plain")
    run("write", "数据库", "text", "-d", "a description that is far too long for one line of a terminal " * 2)
    lines = _on_a_terminal(["-C", str(repo), "list"], NO_COLOR="1").replace("\r", "").split("\n")
    assert lines[0].startswith("Memory")
    assert "\x1b" not in "".join(lines)
    assert lines[1].index("project") == lines[2].index("project") + 3  # three characters, six columns


def test_what_is_there_to_be_copied_is_never_cut(run: Run, repo: Path):
    name = "a-name-that-is-as-long-as-some-names-become-in-time"
    token = run("write", name, "text", "-d", "long " * 30, "--json").json["memory"]["token"]
    listed = _on_a_terminal(["-C", str(repo), "list"], NO_COLOR="1")
    assert name in listed and token in listed and "…" in listed
    file = run("backup", "--json").json["file"]
    backups = _on_a_terminal(["-C", str(repo), "backup", "--list"], NO_COLOR="1").replace("\r", "")
    assert file in backups and backups.split("\n")[1].startswith("1 ")


def test_a_terminal_gets_bold_hits_unless_colours_are_off(run: Run, repo: Path):
    run("write", "note", "a real database")
    coloured = _on_a_terminal(["-C", str(repo), "search", "database"])
    assert "\x1b[1m" in coloured
    assert "«" not in coloured
    assert "«database»" in _on_a_terminal(["-C", str(repo), "search", "database"], NO_COLOR="1")


def test_an_import_on_a_terminal_shows_its_progress(run: Run, repo: Path, tmp_path: Path):
    run("write", "note", "text")
    run("export", str(tmp_path / "out"))
    assert "taking in" in _on_a_terminal(["-C", str(repo), "import", str(tmp_path / "out")])
