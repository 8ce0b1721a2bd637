"""A purge beside others at work: what they write meanwhile is all there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memstore.core.forgetting import secret_of
from memstore.store import redacting
from memstore.upkeep import purging
from memstore.upkeep.purging import Wanted
from tests.files.desk import Desk
from tests.store.stores import keep_notes

SECRET = "hunter2-Zaubertrank"

WRITER = """
import sys
from memstore import Memstore
with Memstore.open() as memories:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(12):
        memories.append("log", f"{sys.argv[1]} wrote {number}")
"""


def test_who_writes_meanwhile_loses_nothing(desk: Desk):
    desk.write("log", f"It begins with {SECRET}.\n")
    desk.write("key", f"The key is {SECRET}.\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name], cwd=desk.base / "repo", env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for name in ("ann", "ben")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout and writer.stdin and writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    desk.ahead = 0
    done = purging.purge(desk.memories, purging.plan(desk.memories, Wanted(secret=secret_of(SECRET))))
    for writer in writers:
        with writer:
            assert writer.wait(60) == 0
    assert done.seq is not None
    desk.memories.sync()
    text = desk.text("log")
    assert "[purged]" in text and SECRET not in text
    assert all(f"{name} wrote {number}\n" in text for name in ("ann", "ben") for number in range(12))
    with desk.memories.store.view() as connection:
        assert redacting.left_in(connection, [SECRET.encode()]) == []


def test_notes_lose_it_and_what_no_store_takes_from_the_spool_is_named(desk: Desk):
    desk.write("key", f"The key is {SECRET}.\n")
    keep_notes(desk.memories.store, "s", f"# Session Title\nused {SECRET}\n".encode())
    keep_notes(desk.memories.store, "s", f"# Session Title\nused {SECRET} twice\n".encode())
    store = desk.memories.store
    spooled = Path(desk.memories.place.home.path) / "spool"
    spooled.mkdir(mode=0o700, exist_ok=True)
    bad = spooled / f"{store.id}.0000000000000001.abcdefabcdef.row.unreadable"
    bad.write_bytes(f"no record: {SECRET}".encode())
    done = purging.purge(desk.memories, purging.plan(desk.memories, Wanted(secret=secret_of(SECRET))))
    assert done.found == (str(bad),) and done.left == () and not done.whole
    bad.unlink()
    assert purging.purge(desk.memories, purging.plan(desk.memories, Wanted(secret=secret_of(SECRET)))).whole
