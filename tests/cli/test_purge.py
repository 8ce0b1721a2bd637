"""`memstore purge`: what is asked, what is refused, what is said."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

SECRET = "hunter2-Zaubertrank"


@pytest.fixture
def key(run: Run) -> str:
    """A memory with a secret in it."""
    assert run("write", "key", f"The key of the harbour gate is {SECRET}.").code == 0
    return "key.md"


def test_a_purge_of_a_memory_shows_first_and_then_says_what_it_took(run: Run, key: str):
    shown = run("purge", "key", "--dry-run")
    assert shown.code == 0 and "goes     key.md" in shown.out and "versions 1" in shown.out
    assert "nothing was changed" in shown.out and run("show", "key").code == 0
    done = run("purge", "key", "--yes", "--reason", "it was a test")
    assert done.code == 0, done
    assert "purged by operation #3" in done.out and "found in no file" in done.out
    assert "what memstore cannot reach" in done.err
    gone = run("show", "key")
    assert gone.code == 3 and "purged by operation #3" in gone.err
    log = run("log")
    assert "purge" in log.out and "it was a test" in log.out and "key.md" not in log.out
    assert "was purged by operation #3" in run("diff", "--operation", "1").err
    assert "#3 is a purge" in run("diff", "--operation", "3").err
    assert run("undo", "3").code == run("undo", "1").code == run("undo", "1", "--dry-run").code == 4


@pytest.mark.parametrize("given", [("--secret", SECRET), ("--secret-file", "-"), ("--secret-file", "file")])
def test_a_secret_may_come_from_the_command_line_a_file_or_standard_input(
    run: Run, repo: Path, folder: Path, key: str, given: tuple[str, ...]
):
    (repo / "file").write_text(SECRET + "\n")
    done = run("purge", *given, "--yes", "--reason", f"{SECRET} leaked", stdin=SECRET + "\r\n")
    assert done.code == 0 and SECRET not in done.out + done.err, done
    assert ("history" in done.err) == (given[0] == "--secret")
    assert "[purged]" in (folder / key).read_text() and SECRET not in run("log").out


def test_the_json_says_what_would_go_and_what_went(run: Run, key: str):
    planned = run("purge", "--secret-file", "-", "--dry-run", "--json", stdin=SECRET).json
    assert planned["dry_run"] and planned["what"] == "secret" and planned["memories"] == [key]
    assert any(path.endswith(key) for path in planned["holding"]) and planned["seq"] is None
    done = run("purge", "--secret-file", "-", "--yes", "--json", stdin=SECRET).json
    assert done["finished"] and done["holding"] == done["columns"] == [] and done["taken"]["texts"] > 0
    nothing = run("purge", "--secret-file", "-", "--yes", "--json", stdin=SECRET).json
    assert nothing["seq"] is None and nothing["taken"] == {}
    finished = run("purge", "--finish", "--json").json
    assert finished["what"] == "finish" and finished["finished"]


def test_what_is_old_goes_by_age(run: Run, key: str):
    assert run("delete", "key").code == 0
    assert "nothing to purge" in run("purge", "--before", "1d", "--yes").out
    done = run("purge", "--before", "0m", "--yes")
    assert done.code == 0 and "memories 1" in done.out
    assert run("list", "--retired", "--json").json["memories"] == []


def test_backups_are_named_and_deleted_with_backups(run: Run, key: str):
    file = run("backup", "--json").json["file"]
    done = run("purge", "--secret-file", "-", "--yes", stdin=SECRET)
    assert done.code == 8 and f"still holds it: {file}" in done.err and "--backups" in done.err
    again = run("purge", "--secret-file", "-", "--yes", "--backups", stdin=SECRET)
    assert again.code == 0 and f"deleted {file}" in again.out and not os.path.exists(file)


def test_an_agent_is_refused_but_may_look(run: Run, key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    refused = run("purge", "key", "--yes")
    assert refused.code == 5 and "a person's decision" in refused.err
    assert run("purge", "--finish").code == 5
    assert run("purge", "key", "--dry-run").code == 0 and run("show", "key").code == 0


def test_nobody_at_a_terminal_has_to_say_yes_beforehand(run: Run, key: str):
    refused = run("purge", "key")
    assert refused.code == 2 and "--yes" in refused.err and run("show", "key").code == 0


def test_at_a_terminal_it_asks(run: Run, repo: Path, key: str):
    for answer, code in ((b"n\n", 0), (b"y\n", 3)):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with subprocess.Popen(
            [sys.executable, "-m", "memstore", "-C", str(repo), "purge", "key"],
            stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
        ) as asked:  # fmt: skip
            os.close(theirs)
            os.write(ours, answer)
            out, err = asked.communicate(timeout=60)
        os.close(ours)
        assert asked.returncode == 0 and b"for good?" in err, (out, err)
        assert run("show", "key").code == code


def test_at_a_terminal_a_secret_is_asked_for_and_not_shown(run: Run, repo: Path, key: str):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-m", "memstore", "-C", str(repo), "purge", "--secret-file", "-", "--yes"],
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True,
    ) as asked:  # fmt: skip
        os.close(theirs)
        assert asked.stderr
        said = b""
        while not said.endswith(b"out: ") and select.select([asked.stderr], [], [], 30)[0]:
            said += os.read(asked.stderr.fileno(), 1) or b"the end, not out: "
        os.write(ours, f"{SECRET}\n".encode())
        try:
            out, err = asked.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            asked.kill()
            raise
    os.close(ours)
    assert asked.returncode == 0 and b"purged by operation" in out, (said, out, err)
    assert "[purged]" in run("show", "key").out


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ((), "give one of these"),
        (("--backups", "--reason", "old"), "leave --reason out"),
        (("key", "--before", "1d"), "give one of these"),
        (("--secret", "a", "--secret-file", "-"), "give one of these"),
        (("--finish", "--backups"), "only cleans up"),
        (("--secret", ""), "no text to purge"),
        (("--secret", "urge"), "cannot be told from the mark"),
        (("--secret-file", "absent"), "cannot be read"),
        (("--before", "yesterday"), "no point in time"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(run: Run, key: str, call: tuple[str, ...], said: str):
    refused = run("purge", *call, "--yes")
    assert refused.code == 2 and said in refused.err
    assert run("show", "key").code == 0


def test_a_short_secret_is_warned_of(run: Run, key: str):
    warned = run("purge", "--secret", "The", "--dry-run")
    assert "3 characters may stand in many words" in warned.err
    assert "changes  key.md" in warned.out


def test_a_memory_that_was_never_there_is_not_found(run: Run, key: str):
    assert run("purge", "absent", "--yes").code == 3
    assert json.loads(run("purge", "absent", "--yes", "--json").out)["error"]["code"] == 3


def test_the_copies_that_a_purge_left_can_be_deleted_afterwards(
    run: Run, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run("backup", "--json")
    run("backup", str(tmp_path / "mine.db"))
    done = run("purge", "key", "--yes")
    assert "1 copy of the database from before may hold it: `memstore purge --backups` deletes them" in done.err
    assert "may hold" not in run("purge", "--before", "180d").out
    path = run("backup", "--list", "--json").json["backups"][0]["file"]
    shown = run("purge", "--backups", "--dry-run")
    assert shown.code == 0 and f"deletes {path}" in shown.out and os.path.exists(path)
    assert run("purge", "--backups").code == 2 and os.path.exists(path)
    gone = run("purge", "--backups", "--yes", "--json").json
    assert gone["removed"] == [path] and gone["finished"] and gone["copies"] == []
    assert not os.path.exists(path) and (tmp_path / "mine.db").exists()
    assert "there is no copy of the database" in run("purge", "--backups").out
    monkeypatch.setenv("CLAUDECODE", "1")
    assert run("purge", "--backups", "--yes").code == 5
