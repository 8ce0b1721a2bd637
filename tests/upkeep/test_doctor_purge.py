"""A purge whose cleaning could not be done is found, and mended."""

from __future__ import annotations

import apsw
import pytest

from memstore.core.forgetting import secret_of
from memstore.errors import StoreBusy
from memstore.upkeep import doctor_files, doctor_purge, purging
from memstore.upkeep.purging import Wanted
from tests.files.desk import Desk


def test_a_purge_that_is_not_finished_is_found_and_mended(desk: Desk):
    desk.write("key", "The key is hunter2-Zaubertrank.\n")
    assert list(doctor_purge.unfinished(desk.memories)) == []
    store = desk.memories.store
    reader = apsw.Connection(store.path, flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN; SELECT * FROM text").fetchall()
    store._link.connection.set_busy_timeout(10)
    purging.purge(desk.memories, purging.plan(desk.memories, Wanted(secret=secret_of("hunter2-Zaubertrank"))))
    (found,) = [finding for finding in doctor_files.findings(desk.memories) if finding.check == doctor_purge.PURGE]
    assert found.fix and found.mend == "memstore purge --finish"
    with pytest.raises(StoreBusy):
        doctor_files.fix(desk.memories, found)
    reader.close()
    assert "clean after 1" in doctor_files.fix(desk.memories, found)
    assert list(doctor_purge.unfinished(desk.memories)) == []
