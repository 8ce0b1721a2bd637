"""Lines that are too long to be taken in whole: what was said in them is kept, and they stay JSON."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from memstore.claude.long_lines import HEAD, TAIL, LongLine

HARD = ["\\", '"', "\\\\", "é", "統", "\U0001f600", "\n", "\0", "a", " ", "\ud83d", "\\u00", "{", "]", ","]


def squeezed(line: bytes, piece: int = 4096) -> bytes:
    long = LongLine()
    for at in range(0, len(line), piece):
        long.feed(line[at : at + piece])
    return long.finish()


VALUES = st.recursive(
    st.none() | st.integers() | st.lists(st.sampled_from(HARD), max_size=6).map("".join),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "x", "a]b"]), inner),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from(["type", "message", "uuid", "toolUseResult", "other", 'q"\\']), VALUES),
    st.booleans(),
    st.sampled_from([None, 1]),
    st.integers(1, 9),
)
def test_what_is_wanted_of_a_line_is_the_same(row: dict[str, Any], ascii_only: bool, indent: int | None, piece: int):
    line = json.dumps(row, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    made = json.loads(squeezed(line, piece).decode("utf-8", "surrogatepass"))
    wanted = {"type", "message", "uuid"}
    assert {name: made[name] for name in made if name in wanted} == {name: row[name] for name in row if name in wanted}
    assert set(made) <= wanted | {""}


@given(st.lists(st.sampled_from(HARD), min_size=1, max_size=8).map("".join), st.integers(0, 7), st.booleans())
@example("\U0001f600", 1, True)
@example("\\u00", 3, True)
@example("\ud83d", 1, True)
def test_a_long_string_keeps_its_beginning_and_its_end(unit: str, shift: int, ascii_only: bool):
    text = "x" * shift + unit * ((HEAD + TAIL) // len(unit) + TAIL) + " and use bun"
    line = json.dumps({"message": {"content": text}}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    made = squeezed(line)
    assert len(made) < HEAD + TAIL + 200
    kept = json.loads(made.decode("utf-8", "surrogateescape"), strict=False)["message"]["content"]
    head, left_out, tail = kept.partition(" [... ")
    assert left_out and tail.endswith("and use bun")
    # Bytes of lone halves, which are no UTF-8, are let go; everything else is as it was.
    assert (ascii_only is False and "\ud83d" in unit) or text.startswith(head)


def test_a_line_of_fifty_megabytes_takes_little_memory():
    data = b"A" * 65536
    long = LongLine()
    tracemalloc.start()
    try:
        long.feed(b'{"type":"user","message":{"content":[{"type":"image","source":{"data":"')
        for _ in range(800):
            long.feed(data)
        long.feed(b'"}},{"type":"text","text":"logo is teal"}]},"toolUseResult":[')
        for _ in range(20_000):
            long.feed(b'{"line":"much of the same"},')
        long.feed(b'0],"uuid":"u1"}')
        made = json.loads(long.finish())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made["uuid"] == "u1" and made["message"]["content"][1]["text"] == "logo is teal"
    assert peak < 4_000_000


def test_of_a_line_that_is_nothing_but_numbers_nothing_is_kept():
    assert squeezed(b'{"message":[' + b"1234567890123456789," * 120_000 + b"0]}") == b""


def test_many_long_strings_are_cut_short_where_there_are_enough():
    blocks = [{"type": "text", "text": f"{number} " + "words " * 20_000} for number in range(100)]
    made = squeezed(json.dumps({"message": {"content": blocks}}).encode())
    assert len(made) < 2_000_000
    kept = json.loads(made)["message"]["content"]
    assert [block["text"].split(" ")[0] for block in kept] == [str(number) for number in range(100)]


@given(st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"1", b"\xff", b"\n"]), max_size=30))
def test_garbage_does_not_raise(pieces: list[bytes]):
    squeezed(b"".join(pieces), 3)
