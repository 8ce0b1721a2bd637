"""Ids sort by time, tokens differ with either id, keys are safe as names."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstore.core.ids import digest, fingerprint, is_uuid, token, uuid7
from memstore.errors import Defect

times = st.integers(0, (1 << 48) - 1)
randoms = st.binary(min_size=10, max_size=10)


@given(times, randoms)
def test_an_id_is_a_uuid_of_version_7_with_the_time_in_front(milliseconds: int, random_bits: bytes) -> None:
    text = uuid7(milliseconds, random_bits)
    value = uuid.UUID(text)
    assert str(value) == text
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert value.int >> 80 == milliseconds
    assert is_uuid(text)


@given(times, times, randoms)
def test_ids_sort_by_time(first: int, second: int, random_bits: bytes) -> None:
    if first < second:
        assert uuid7(first, random_bits) < uuid7(second, random_bits)


@given(randoms, randoms)
def test_all_74_random_bits_count(first: bytes, second: bytes) -> None:
    meant = [int.from_bytes(bits, "big") & ~(0x3F << 62) for bits in (first, second)]
    assert (uuid7(5, first) == uuid7(5, second)) == (meant[0] == meant[1])


@pytest.mark.parametrize(("milliseconds", "size"), [(-1, 10), (1 << 48, 10), (0, 9), (0, 11)])
def test_an_id_needs_a_possible_time_and_ten_bytes(milliseconds: int, size: int) -> None:
    with pytest.raises(Defect):
        uuid7(milliseconds, bytes(size))


@pytest.mark.parametrize("text", ["", "../..", "0" * 36, "0-0-0-0-0", f"{'g' * 8}-0000-0000-0000-{'0' * 12}"])
def test_other_texts_are_no_ids(text: str) -> None:
    assert not is_uuid(text)


def test_a_token_is_twelve_hex_characters_and_depends_on_both_ids() -> None:
    one, two = uuid7(1, bytes(10)), uuid7(1, b"\1" * 10)
    tokens = {token(one, two), token(two, one), token(one, one), token(two, two)}
    assert len(tokens) == 4
    assert all(re.fullmatch(r"[0-9a-f]{12}", text) for text in tokens)
    assert token("ab", "c") != token("a", "bc")


def test_a_digest_is_the_same_in_every_process() -> None:
    assert digest(b"/srv/a") == "b0baac413ec2706eddcd61acf35a1354"
    assert len(fingerprint(b"")) == 16
