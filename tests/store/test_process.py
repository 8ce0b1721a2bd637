"""A pid alone is no proof: what counts is when its process started, and since which start of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from memstore.store import process
from memstore.store.process import Process, is_alive, is_client, me


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of another program, until the end of the block."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                stream.close()


def test_a_process_knows_itself_and_another_one_knows_it_too():
    assert is_alive(me()) and me() == me()
    asked = (
        "import sys; from memstore.store.process import *; print(is_alive(Process(int(sys.argv[1]), *sys.argv[2:])))"
    )
    told = subprocess.run(
        [sys.executable, "-c", asked, str(me().pid), me().started, me().boot], capture_output=True, check=True
    )
    assert told.stdout.strip() == b"True"


def test_a_recycled_pid_is_nobody():
    assert not is_alive(replace(me(), started="1"))


def test_before_the_machine_started_again_nobody_ran():
    assert not is_alive(replace(me(), boot="00000000-0000-0000-0000-000000000000"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces of pids are Linux's")
def test_of_a_process_in_another_container_nobody_can_tell():
    boot = me().boot.split(" ")[0]
    assert is_alive(Process(2, "1", f"{boot} pid:[1]"))


def test_a_killed_process_is_gone_also_while_its_parent_has_not_asked_for_it():
    with running("sleep", "60") as child:
        there = replace(me(), pid=child.pid, started=process._started(child.pid) or "")
        assert is_alive(there)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(there)


def test_the_client_is_known_by_its_program(tmp_path: Path):
    claude = tmp_path / "claude"
    shutil.copy(shutil.which("sleep") or "", claude)
    with running(str(claude), "60") as child:
        assert is_client(child.pid)
    assert not is_client(child.pid)


def test_what_only_names_the_client_is_not_the_client(tmp_path: Path):
    (tmp_path / "claude").write_text("import time; print('up', flush=True); time.sleep(60)")
    with running(sys.executable, str(tmp_path / "claude")) as child:
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        assert not is_client(child.pid)
    assert [is_client(pid) for pid in (os.getpid(), 1, 0, -1, 2**31)] == [False] * 5


def test_the_client_as_a_script_of_node_is_the_client(tmp_path: Path):
    node = tmp_path / "node"
    script = tmp_path / "node_modules" / "@anthropic-ai" / "claude-code" / "cli.js"
    script.parent.mkdir(parents=True)
    script.write_text("echo up; read answer\n")
    shutil.copy(shutil.which("sh") or "", node)
    with running(str(node), str(script)) as child:
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        assert is_client(child.pid)
