"""The spool: a file for each record, whole or not at all, and what is none of ours is put out of the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.errors import StoreBusy
from memstore.store import ddl, quick, sessions, spool
from memstore.store.quick import Record
from tests.store.stores import STORE, open_store

HEARD: Record = ("heard", ("s", None, "main", 3, 4))
VALUES = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=99), st.text(max_size=99).filter(
    lambda text: not any("\ud800" <= character <= "\udfff" for character in text)))  # fmt: skip


@given(st.lists(st.tuples(*[VALUES] * 5), max_size=4))
def test_what_is_encoded_is_read_again_as_it_was(rows: list[tuple[str | bytes | int | None, ...]]):
    records: list[Record] = [("heard", values) for values in rows]
    assert spool.decoded(spool.encoded(records)) == records


@given(st.binary(max_size=200), st.integers(0, 60))
def test_bytes_of_another_origin_are_no_records(noise: bytes, cut: int):
    whole = spool.encoded([HEARD])
    for content in (noise, whole[:cut], whole[:cut] + noise, whole + noise):
        found = spool.decoded(content)
        assert found is None or spool.encoded(found) == content


def test_the_schema_that_hooks_know_is_the_present_one():
    assert len(ddl.migrations()) == quick.SCHEMA


def test_a_record_is_kept_for_its_owner_alone_and_applied_once(tmp_path: Path):
    home = tmp_path / "home"
    store = open_store(home / "stores" / STORE)
    spool.put(str(home), STORE, [HEARD], 7)
    spool.put(str(home), "another", [HEARD], 7)
    (path,) = spool.waiting(str(home), STORE)
    assert os.stat(path).st_mode & 0o777 == 0o600 and os.stat(home / "spool").st_mode & 0o777 == 0o700
    assert store.has_spooled()
    store.take_spooled()
    store.take_spooled()
    with store.view() as connection:
        assert sessions.heard(connection, "s") == 3
    assert not store.has_spooled() and len(list((home / "spool").iterdir())) == 1
    store.close()


def test_records_wait_on_while_the_store_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    store, other = open_store(home / "stores" / STORE), open_store(home / "stores" / STORE)
    spool.put(str(home), STORE, [HEARD], 7)
    with other.change():
        store._link.connection.set_busy_timeout(1)
        monkeypatch.setattr("memstore.store.turn.PATIENCE", 0.01)
        store.take_spooled()
        assert store.has_spooled()
        with pytest.raises(StoreBusy), store.change():
            pass
    store.take_spooled()
    assert not store.has_spooled()
    for each in (store, other):
        each.close()


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"memstore 1\nDROP 0\n", b"memstore 1\nheard 2\ni1:1\ni1:1\n", spool.encoded([HEARD])[:-3],
     spool.encoded([("pause", ("nowhere", None, 1))])],
)  # fmt: skip
def test_a_file_that_no_hook_wrote_is_put_out_of_the_way_and_kept(tmp_path: Path, content: bytes):
    home = tmp_path / "home"
    store = open_store(home / "stores" / STORE)
    spool.put(str(home), STORE, [HEARD], 9)
    place = home / "spool" / f"{STORE}.0000000000000001.x.row"
    place.write_bytes(content)
    store.take_spooled()
    assert not store.has_spooled()
    assert place.with_name(place.name + ".unreadable").read_bytes() == content
    with store.view() as connection:
        assert sessions.heard(connection, "s") == 3
    store.close()


def test_a_spool_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path):
    (tmp_path / "spool").write_text("no directory")
    with pytest.raises(OSError):
        spool.put(str(tmp_path), STORE, [HEARD], 1)
    assert [path.name for path in tmp_path.iterdir()] == ["spool"]


def test_what_a_killed_hook_left_half_written_goes_after_an_hour_and_nothing_else(tmp_path: Path):
    hour = 3_600_000_000
    spool.put(str(tmp_path), STORE, [], hour)
    place = tmp_path / "spool"
    (kept,) = os.listdir(place)
    old, young = (f"{STORE}.{at:016d}.0a1b2c3d4e5f.part" for at in (hour, 2 * hour))
    others = ("notes.part", ".part", f"{STORE}.{hour:016d}.0a1b2c3d4e5f.row.unreadable")
    for name in (old, young, *others):
        (place / name).write_bytes(b"memstore 1")
    spool.put(str(tmp_path), STORE, [], 2 * hour + 1)
    assert set(os.listdir(place)) >= {kept, young, *others} and old not in os.listdir(place)
