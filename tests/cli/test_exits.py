"""Exit codes, and that nobody sees a traceback for what they did."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from memstore import errors
from memstore.cli import exits
from memstore.cli.main import SECTIONS, program
from memstore.hook import SECONDS
from tests.cli.conftest import Run


def _kinds(kind: type[errors.MemstoreError]) -> list[type[errors.MemstoreError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _kinds(child))]


@pytest.mark.parametrize("kind", _kinds(errors.MemstoreError))
def test_every_error_has_the_code_of_its_branch(kind: type[errors.MemstoreError]):
    branches = {
        errors.InputRefused: 2, errors.NotFound: 3, errors.Conflict: 4, errors.PlaceRefused: 5,
        errors.StoreUnavailable: 6, errors.ModelError: 7,
    }  # fmt: skip
    expected = next((code for branch, code in branches.items() if issubclass(kind, branch)), 1)
    assert exits.code_of(kind.__new__(kind)) == expected


def test_an_error_is_a_sentence_and_the_next_step(run: Run):
    run("write", "note", "text")
    told = run("show", "absent").err.splitlines()
    assert told[0] == "memstore: there is no memory 'absent'"
    assert told[1].startswith("  see `memstore list`")


def test_our_own_fault_shows_no_traceback_unless_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fail() -> int:
        raise KeyError("inner")

    assert exits.guarded(fail, False) == 1
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("MEMSTORE_DEBUG", "1")
    assert exits.guarded(fail, False) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, click.Abort])
def test_an_interruption_ends_with_130(interruption: type[BaseException]):
    def interrupted() -> int:
        raise interruption

    assert exits.guarded(interrupted, False) == 130


@pytest.mark.parametrize("args", [["-x"], ["nonsense"], ["write"], ["show", "a", "b"], ["-C"]])
def test_a_wrong_call_ends_with_2_and_points_to_the_help(run: Run, args: list[str]):
    wrong = run(*args)
    assert wrong.code == 2
    assert "--help" in wrong.err


def test_the_version_and_the_help_of_every_command(run: Run):
    assert run("--version").out.startswith("memstore ")
    for names in SECTIONS.values():
        for name in names:
            shown = run(name, "--help")
            assert shown.code == 0, name
            assert shown.out.startswith(f"Usage: memstore {name} ")


def test_without_a_command_the_help_is_shown(run: Run):
    alone = run()
    assert (alone.code, alone.err) == (0, "")
    assert alone.out == run("--help").out


def test_no_line_of_the_help_ends_in_the_middle_of_a_sentence(run: Run):
    for args in ((), ("config",)):
        shown = run(*args, "--help").out
        assert "..." not in shown.replace("[ARGS]...", "")


def test_the_help_of_hook_names_every_event(run: Run):
    shown = " ".join(run("hook", "--help").out.split())
    assert all(event in shown for event in SECONDS)


def test_every_option_and_command_is_described():
    context = click.Context(program)
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (name, parameter.name)


def _process(args: list[str], **more) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "memstore", *args], capture_output=True, check=False, **more)


def test_a_reader_that_stops_reading_is_no_error(run: Run, repo: Path):
    for number in range(3):
        run("write", f"note-{number}", "word " * 20_000)
    read, write = os.pipe()
    os.close(read)
    process = subprocess.run(
        [sys.executable, "-m", "memstore", "-C", str(repo), "show", "note-1"],
        stdout=write, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(write)
    assert (process.returncode, process.stderr) == (141, b"")


def test_output_that_cannot_be_written_is_said(run: Run, repo: Path):
    run("write", "note", "text")
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "memstore", "-C", str(repo), "list"],
            stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert process.returncode == 1
    assert process.stderr.startswith(b"memstore: the output cannot be written: No space left")
    assert b"Traceback" not in process.stderr


def test_a_working_directory_that_is_gone(tmp_path: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, sys; os.rmdir(os.getcwd());"
        "os.execv(sys.executable, [sys.executable, '-P', '-m', 'memstore', 'list'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(exits.__file__).parents[2])}
    process = subprocess.run([sys.executable, "-c", code], cwd=gone, env=environment, capture_output=True, check=False)
    assert process.returncode == 5
    assert process.stderr.startswith(b"memstore: the working directory is gone")


def test_closed_standard_streams_are_no_crash(repo: Path):
    for streams in ("0<&-", "1>&-", "0<&- 1>&- 2>&-"):
        command = f'exec "$0" -m memstore -C "$1" write note text --operation job {streams}'
        process = subprocess.run(["sh", "-c", command, sys.executable, str(repo)], capture_output=True, check=False)
        assert (process.returncode, b"Traceback" in process.stderr) == (0, False), streams


def test_an_output_that_lacks_a_character_gets_its_escape(run: Run, repo: Path):
    run("write", "note", "café 数据")
    shown = _process(["-C", str(repo), "show", "note"], env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert shown.returncode == 0
    assert b"caf\xe9 \\u6570\\u636e" in shown.stdout


def test_a_home_that_cannot_be_made_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "file").write_text("no directory")
    monkeypatch.setenv("MEMSTORE_HOME", str(tmp_path / "file"))
    assert run("write", "note", "text").code == 5
    monkeypatch.setenv("MEMSTORE_HOME", "relative")
    assert run("where").code == 2


def test_a_damaged_store_is_refused_and_left_as_it_is(run: Run):
    run("write", "note", "text")
    database = Path(run("where", "--json").json["store_directory"]) / "store.db"
    for side in ("-wal", "-shm"):
        database.with_name(database.name + side).unlink(missing_ok=True)
    database.write_bytes(b"this is no database" * 300)
    before = database.read_bytes()
    for call in (("list",), ("write", "other", "text"), ("sync",), ("search", "text")):
        assert run(*call).code == 6
    assert database.read_bytes() == before


@pytest.mark.parametrize("command", [["show", "a\udcff"], ["write", "a", "x", "--expect", "\udcff"], ["log", "\udcff"]])
def test_an_argument_that_is_not_utf8_is_refused_and_is_nobodys_fault(run: Run, command: list[str]) -> None:
    done = run(*command)
    assert done.code == 2
    assert "is not UTF-8" in done.err


@pytest.mark.parametrize("command", [["show", "a", "--version", "9" * 30], ["log", "-n", "9" * 30]])
def test_a_number_beyond_every_store_is_refused(run: Run, command: list[str]) -> None:
    assert run(*command).code == 2


def test_choices_stand_in_one_line_and_a_group_alone_shows_its_help(run: Run):
    told = run("set", "note").err.splitlines()
    assert told[0] == "memstore: Missing argument 'FIELD'. Choose from: name, description, type"
    alone = run("db")
    assert alone.code == 0 and alone.out == run("db", "--help").out and alone.err == ""
