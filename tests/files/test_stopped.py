"""memstore/files/sync.py `_guarded`: `except StoreUnavailable` must call `found.stop(...)` instead of
`found.notices.append(...)`: a `sync` for which the store could not be used ends with code 0 today.
Copy to tests/files/ and run."""

from __future__ import annotations

from unittest import mock

from memstore.errors import DiskFull
from memstore.store.store import Store
from tests.files.desk import Desk, topic
from tests.files.outages import command


def test_a_sync_that_the_store_stops_ends_with_code_6(desk: Desk):
    desk.put("a.md", topic("a"))
    desk.sync()
    desk.put("b.md", topic("b"))

    def full(*_: object, **__: object) -> None:
        raise DiskFull("the disk is full", hint="free some space")

    with mock.patch.object(Store, "apply", full):
        told = command(desk, "sync")
    assert told.code == 6 and "disk is full" in told.err
    assert command(desk, "sync").code == 0
