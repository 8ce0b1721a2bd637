"""Hooks where the home lies on a network's file system: nothing is opened there, and nothing that they saw is lost."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files.desk import Desk, topic
from tests.hooks.calls import Answer, Session, spooled

ROOT = str(Path(__file__).parents[2])
HOOK = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from memstore.store import ground, quick
quick.is_disk, ground.MOUNTS = lambda _: False, sys.argv[1]
from memstore import hook
hook.main(sys.argv[2:])
"""


def on_a_network(told: Path, session: Session, event: str, **given: object) -> Answer:
    """One hook, to which the system says that the home is a network's."""
    data = json.dumps(session.data(event, **given)).encode()
    done = subprocess.run(
        [sys.executable, "-c", HOOK, ROOT, told, event], input=data, cwd=session.data(event)["cwd"], capture_output=True
    )
    return Answer(done.returncode, done.stdout, done.stderr, 0.0).check(30)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_what_hooks_see_waits_until_the_home_was_moved(desk: Desk, home: Path, tmp_path: Path):
    desk.put("a.md", topic("a"))
    desk.memories.sync()
    desk.memories.close()
    told = tmp_path / "mountinfo"
    told.write_text(f"22 1 254:0 / / rw - ext4 x rw\n30 22 0:40 / {home / 'memstore'} rw - nfs4 server:/x rw\n")
    before = (Path(desk.memories.store.directory) / "store.db").read_bytes()
    session = Session(desk, "s")
    path = desk.folder / "b.md"
    call = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": str(path), "content": topic("b")}}
    handle = os.open(os.path.join(desk.memories.store.directory, "work-next"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # so that no worker is started: to it the home would be no network's
        message = on_a_network(told, session, "SessionStart", source="startup").message
        assert "lies on nfs4 (server:/x, mounted at" in message
        path.write_text(topic("b"))
        response = {"content": topic("b"), "originalFile": None}
        assert on_a_network(told, session, "PostToolUse", **call, tool_response=response).out == b""
    finally:
        os.close(handle)
    assert len(spooled(desk)) >= 1
    assert (Path(desk.memories.store.directory) / "store.db").read_bytes() == before
    desk.memories = desk.open()  # as after a move: the spool goes with the home
    desk.memories.sync()
    head = desk.head("b")
    assert head is not None and desk.memories.operation(str(head.seq)).provenance.session == "s"
    assert spooled(desk) == []
