"""Rows read off the pages of a database, against SQLite's own reading; and of any bytes, without an error."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstore.core.pages import PAGE_SIZE, Row, Value, log_frames, log_page_size, page_size, rows_on

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.binary(max_size=40),
    st.integers(400, 9_100).map(lambda size: b"long" * size),
)


def read(content: bytes, size: int = PAGE_SIZE) -> list[Row]:
    """All rows of three columns in a file."""

    def page(number: int) -> bytes:
        data = content[(number - 1) * size : number * size] if number > 0 else b""
        return data if len(data) == size else b""

    pages = range(1, len(content) // size + 1)
    return [row for number in pages for row in rows_on(number, page, lambda columns: columns == 3)]


def made(rows: Sequence[tuple[int, Value, Value]], size: int = PAGE_SIZE) -> bytes:
    """A database whose one table has these rows."""
    with TemporaryDirectory() as directory:
        path = os.path.join(directory, "x.db")
        database = apsw.Connection(path)
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"PRAGMA page_size = {size}; CREATE TABLE t (pk INTEGER PRIMARY KEY, a, b)")
        with database:
            database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        database.close()
        return Path(path).read_bytes()


@settings(max_examples=40)
@given(
    st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.tuples(VALUES, VALUES), max_size=12),
    st.sampled_from([512, 1024, 4096, 65536]),
)
def test_every_row_is_read_as_sqlite_wrote_it(rows: dict[int, tuple[Value, Value]], size: int):
    content = made([(pk, *values) for pk, values in rows.items()], size)
    assert page_size(content[:18]) == size
    assert {row.rowid: row.values[1:] for row in read(content, size)} == rows


@pytest.mark.parametrize("lost", [100, 4096])
def test_rows_are_read_whatever_became_of_the_first_page(lost: int):
    rows = [(number, "x" * 300, b"y" * 6_000) for number in range(1, 60)]
    content = os.urandom(lost) + made(rows)[lost:]
    assert {(row.rowid, *row.values[1:]) for row in read(content)} == set(rows)


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_of_a_torn_file_nothing_is_read_that_raises(seed: int):
    chance = Random(seed)
    content = bytearray(_WHOLE)
    for _ in range(chance.randrange(1, 400)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    read(bytes(content[: chance.randrange(len(content))]))


_WHOLE = made([(number, "x" * 300, b"y" * 6_000) for number in range(40)])


@settings(max_examples=60)
@given(st.binary(max_size=PAGE_SIZE))
def test_of_any_bytes_nothing_is_read_that_raises(noise: bytes):
    read(noise)
    read((b"\x0d" + noise).ljust(2 * PAGE_SIZE, b"\x05"))


def test_a_chain_of_pages_that_goes_round_ends():
    content = bytearray(made([(1, "x" * 30_000, None)]))
    for at in range(2 * PAGE_SIZE, len(content), PAGE_SIZE):
        content[at : at + 4] = (3).to_bytes(4, "big")
    assert read(bytes(content)) == []


def test_a_log_tells_which_pages_it_has_of_its_own_round():
    salts = b"saltsalt"
    start = (0x377F0682).to_bytes(4, "big") + b"\0" * 4 + (4096).to_bytes(4, "big") + b"\0" * 4 + salts + b"\0" * 8

    def frame(number: int, salt: bytes = salts) -> bytes:
        return number.to_bytes(4, "big") + b"\0" * 4 + salt + b"\0" * 8

    assert log_page_size(start) == 4096
    headers = [frame(2), frame(5), frame(2), frame(7, b"earlier "), frame(9)]
    assert log_frames(start, iter(headers)) == {2: 2, 5: 1}
    for noise in (b"", b"x" * 32, start[:20]):
        assert (log_page_size(noise), log_frames(noise, iter(headers))) == (0, {})
