"""A COMMIT that fails has an unknown outcome: a crash may bring it back, so the operation is looked up and done once.

The disk's faults come from a layer under SQLite, in a process of its own: it becomes that process's default.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memstore.core.changes import Append
from tests.store.stores import at, check_witness, create, open_store, put

FAULTY = """
import subprocess, sys
from pathlib import Path
import apsw

class File(apsw.VFSFile):
    def __init__(self, name, flags):
        super().__init__("unix", name, flags)
        self.log = str(name.filename() if hasattr(name, "filename") else name).endswith("-wal")
    def xSync(self, flags):
        if self.log and faults:
            faults.pop()
            raise apsw.IOError("injected failure")
        super().xSync(flags)

class Disk(apsw.VFS):
    def __init__(self):
        super().__init__("faulty", "unix", makedefault=True)
    def xOpen(self, name, flags):
        return File(name, flags)

faults = []
disk = Disk()
from memstore.core.changes import Append
from memstore.errors import StoreUnavailable
from tests.store.stores import at, create, open_store, put

place, crashed = Path(sys.argv[1]), Path(sys.argv[2])
store = open_store(place)
put(store, create("note", b"- one\\n"), operation="first")
faults.append(1)
try:
    put(store, Append("note", b"- two"), operation="second")
except StoreUnavailable as error:
    print(type(error).__name__, "injected" in str(error) or "I/O" in str(error), faults)
print(store.versions("note")[-1].number, store.operation("#2"), store._link.connection.in_transaction)
crashed.mkdir()
subprocess.run(["cp", place / "store.db", place / "store.db-wal", place / "store.id", crashed], check=True)
again = put(store, Append("note", b"- two"), operation="second")
print(again.repeated, at(store, "note").state.content, len(store.versions("note")))
repeated = put(store, Append("note", b"- two"), operation="second")
print(repeated.repeated, len(store.versions("note")))
store.close()
"""


def test_a_commit_that_failed_is_told_done_once_when_repeated_and_found_if_a_crash_brings_it_back(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", FAULTY, tmp_path / "store", tmp_path / "crashed"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [
        "StoreUnavailable True []",
        "1 None False",
        "False b'- one\\n- two\\n' 2",
        "True 2",
    ]
    check_witness(tmp_path / "store", tmp_path / "copy")
    # The same moment, had the machine stopped there: the commit that failed is in the log, whole.
    store = open_store(tmp_path / "crashed")
    found = store.operation("second")
    assert found is not None and at(store, "note").version == 2

    again = put(store, Append("note", b"- two"), operation="second")
    assert (again.repeated, at(store, "note").state.content) == (True, b"- one\n- two\n")
    put(store, create("other"))
    store.close()
