"""A program that is started and waited for: what it may do is bounded, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from memstore.jobs.child import Finished, run


def start(code: str, cwd: Path, data: bytes = b"", *, seconds: float = 60, most: int = 100_000) -> Finished:
    environment = {"PATH": os.environ["PATH"], "HERE": "1"}
    return run([sys.executable, "-I", "-c", code], str(cwd), environment, data, seconds=seconds, most=most)


def is_there(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_has_its_words_its_place_and_no_other_environment(tmp_path: Path):
    code = "import os, sys; print(os.getcwd(), sorted(os.environ), len(sys.stdin.read())); sys.exit(3)"
    done = start(code, tmp_path, b"x" * 1_000_000)
    assert done.out.decode().split("\n")[0].startswith(f"{tmp_path} [")
    assert b"'HERE'" in done.out and b"HOME" not in done.out
    assert done.out.strip().endswith(b"1000000")
    assert (done.code, done.late, done.large) == (3, False, False)


def test_a_program_that_reads_nothing_is_no_trouble(tmp_path: Path):
    assert start("print(1)", tmp_path, b"x" * 1_000_000).out == b"1\n"


def test_both_outputs_are_read_at_once(tmp_path: Path):
    code = "import sys\nfor _ in range(50): sys.stderr.write('e' * 9000); sys.stdout.write('o' * 1000)"
    done = start(code, tmp_path)
    assert (len(done.out), len(done.err)) == (50_000, 100_000)


def test_one_that_says_too_much_is_stopped(tmp_path: Path):
    done = start("while True: print('x' * 1000)", tmp_path)
    assert (done.large, done.late, len(done.out)) == (True, False, 100_000)
    assert done.code != 0


def test_one_whose_time_is_up_is_stopped_with_all_that_it_started(tmp_path: Path):
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    begin = time.monotonic()
    done = start(code, tmp_path, seconds=2)
    assert (done.late, done.code) == (True, -signal.SIGKILL)
    assert time.monotonic() - begin < 30
    child = int(done.out)
    deadline = time.monotonic() + 10
    while is_there(child):
        assert time.monotonic() < deadline


def test_one_that_has_ended_is_not_waited_for_because_of_what_it_left_behind(tmp_path: Path):
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
    )
    begin = time.monotonic()
    done = start(code, tmp_path)
    assert (done.code, done.late) == (0, False)
    assert time.monotonic() - begin < 15
    os.kill(int(done.out), signal.SIGKILL)


def test_one_that_a_signal_ends_is_told_by_it(tmp_path: Path):
    assert start("import os; os.kill(os.getpid(), 9)", tmp_path).code == -signal.SIGKILL


def test_what_cannot_be_started_raises(tmp_path: Path):
    with pytest.raises(OSError):
        run([str(tmp_path / "nothing")], str(tmp_path), {}, b"", seconds=5, most=10)
