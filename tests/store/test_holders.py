"""Who reads a database: the kernel's list of locks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memstore.store import holders
from memstore.store.holders import Lock, parsed
from tests.store.stores import create, open_store, put

READER = """
import sys
from tests.store.stores import open_store
from pathlib import Path
store = open_store(Path(sys.argv[1]), writable=False)
with store.view() as connection:
    connection.execute("SELECT count(*) FROM memory").get
    print("reading", flush=True)
    sys.stdin.read()
"""


def test_locks_that_are_held_are_read_and_others_left_out():
    text = (
        "1: POSIX  ADVISORY  READ  812 fe:00:1234 124 124\n"
        "1: -> POSIX  ADVISORY  WRITE 900 fe:00:1234 120 120\n"
        "2: FLOCK  ADVISORY  WRITE 700 fe:00:99 0 EOF\n"
        "3: POSIX  ADVISORY  WRITE 813 00:2a:7 1073741826 EOF\n"
        "4: OFDLCK ADVISORY  READ  -1 fe:00:1234 1 2\n"
        "5: POSIX  nonsense\n"
        "6: POSIX  ADVISORY  READ  x fe:00:1234 124 124\n"
    )
    assert parsed(text) == [
        Lock(812, (0xFE, 0), 1234, 124, 124),
        Lock(813, (0, 0x2A), 7, 1073741826, None),
        Lock(-1, (0xFE, 0), 1234, 1, 2),
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who holds a lock")
def test_a_process_that_reads_is_named_for_as_long_as_it_does(tmp_path: Path):
    store = open_store(tmp_path / "store")
    put(store, create("note"))
    assert holders.readers(store.path) == []
    child = subprocess.Popen(
        [sys.executable, "-c", READER, tmp_path / "store"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.readline() == b"reading\n"
    (found,) = holders.readers(store.path)
    assert found.pid == child.pid and "python" in found.program
    child.communicate(b"")
    assert holders.readers(store.path) == []
    store.close()


def test_where_nothing_is_told_nobody_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert holders.readers(str(tmp_path / "absent.db")) == []
    (tmp_path / "x.db-shm").touch()
    monkeypatch.setattr(holders, "LOCKS", str(tmp_path / "absent"))
    assert holders.readers(str(tmp_path / "x.db")) == []
