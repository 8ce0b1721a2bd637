"""Rows read straight off the pages of a database file, whatever state the rest of it is in.

A damaged database is not opened for this: its pages are looked at one by one, those that hold rows of a table by
their form, and a row is read if its cell can be. Nothing that is read here is believed by itself; whoever asks knows
by what a sound row is told, as a text is by its digest. The format is SQLite's own, which is documented and does not
change.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

PAGE_SIZE = 4096
LARGEST_ROW = 17 * 1024 * 1024
"""A row that claims to be larger is none."""

_LEAF = 0x0D
_HEADER = b"SQLite format 3\0"
_LOG_HEADER, _FRAME_HEADER = 32, 24
_LOG_MAGIC = (0x377F0682, 0x377F0683)

Value = int | float | str | bytes | None
Page = Callable[[int], bytes]
"""Gives a page by its number, the first being 1; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of some table. A text that is not UTF-8 is given as its bytes."""

    rowid: int
    values: tuple[Value, ...]


def page_size(start: bytes) -> int:
    """The size of a database's pages, by its first bytes; the usual one where these say nothing that can be."""
    if start[:16] == _HEADER and len(start) >= 18:
        found = int.from_bytes(start[16:18], "big")
        size = 65_536 if found == 1 else found
        if size in (512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536):
            return size
    return PAGE_SIZE


def log_frames(start: bytes, frame_headers: Iterator[bytes]) -> dict[int, int]:
    """Which pages stand in a write-ahead log, by number, and in which of its frames (the first being 0) last.

    `start`: the first 32 bytes of the log; `frame_headers`: the first 24 bytes of each frame.
    """
    if len(start) < _LOG_HEADER or int.from_bytes(start[:4], "big") not in _LOG_MAGIC:
        return {}
    salts = start[16:24]
    found: dict[int, int] = {}
    for number, header in enumerate(frame_headers):
        if len(header) < _FRAME_HEADER or header[8:16] != salts:
            break  # what follows was left by an earlier round
        found[int.from_bytes(header[:4], "big")] = number
    return found


def log_page_size(start: bytes) -> int:
    """The size of the pages in a write-ahead log; 0 where it is none."""
    if len(start) < _LOG_HEADER or int.from_bytes(start[:4], "big") not in _LOG_MAGIC:
        return 0
    size = int.from_bytes(start[8:12], "big")
    return size if size in (512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536) else 0


def rows_on(number: int, page: Page, wanted: Callable[[int], bool]) -> Iterator[Row]:
    """The rows of tables on one page. `wanted`: whether rows of so many columns are of use."""
    content = page(number)
    start = 100 if number == 1 and content[:16] == _HEADER else 0
    if len(content) < start + 8 or content[start] != _LEAF:
        return
    cells = int.from_bytes(content[start + 3 : start + 5], "big")
    for at in range(start + 8, min(start + 8 + 2 * cells, len(content) - 1), 2):
        row = _cell(content, int.from_bytes(content[at : at + 2], "big"), page, wanted)
        if row is not None:
            yield row


def _cell(content: bytes, at: int, page: Page, wanted: Callable[[int], bool]) -> Row | None:
    usable = len(content)
    size, at = _varint(content, at)
    rowid, at = _varint(content, at)
    if not 0 < size <= LARGEST_ROW or at >= usable:
        return None
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    here = size
    if size > most:
        here = least + (size - least) % (usable - 4)
        here = here if here <= most else least
    if not _promises(content, at, wanted):
        return None
    payload = content[at : at + here]
    if size > here:
        payload += _overflow(int.from_bytes(content[at + here : at + here + 4], "big"), size - here, page)
    if len(payload) != size:
        return None
    values = _record(payload)
    return None if values is None else Row(rowid - (1 << 64) if rowid >= 1 << 63 else rowid, values)


def _promises(content: bytes, at: int, wanted: Callable[[int], bool]) -> bool:
    """Whether a row has as many columns as somebody wants, before all of it is gathered."""
    length, first = _varint(content, at)
    end, columns = at + length, 0
    if not first - at < length <= 1_000:
        return False
    while first < min(end, len(content)):
        _, first = _varint(content, first)
        columns += 1
    return wanted(columns)


def _overflow(number: int, size: int, page: Page) -> bytes:
    """What did not fit on its page. Short where the chain breaks off or goes round."""
    pieces: list[bytes] = []
    seen = set()
    while size > 0 and number and number not in seen:
        seen.add(number)
        content = page(number)
        if len(content) < 8:
            break
        piece = content[4 : 4 + min(size, len(content) - 4)]
        pieces.append(piece)
        size -= len(piece)
        number = int.from_bytes(content[:4], "big")
    return b"".join(pieces)


def _record(payload: bytes) -> tuple[Value, ...] | None:
    length, at = _varint(payload, 0)
    if not at <= length <= len(payload):
        return None
    values: list[Value] = []
    body = length
    while at < length:
        kind, at = _varint(payload, at)
        size = _size(kind)
        if size is None or body + size > len(payload):
            return None
        values.append(_value(kind, payload[body : body + size]))
        body += size
    return tuple(values)


def _size(kind: int) -> int | None:
    if kind >= 12:
        return (kind - 12) // 2
    return {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}.get(kind)


def _value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind in (8, 9):
        return kind - 8
    if kind < 7:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind % 2 == 0:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it; beyond the end zeros are read."""
    value = 0
    for count in range(8):
        byte = data[at + count] if at + count < len(data) else 0
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    return value << 8 | (data[at + 8] if at + 8 < len(data) else 0), at + 9
