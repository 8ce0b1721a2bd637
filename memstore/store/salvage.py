"""What can be saved out of a database that cannot be used: the texts that are still what was written, and their names.

The file is read as bytes, page by page; SQLite has no part in it. Each text stands beside its digest, so that a sound
one is known for sure. The file and its log are only read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import BinaryIO

from memstore.core.ids import fingerprint
from memstore.core.pages import Page, Row, log_frames, log_page_size, page_size, rows_on

_TEXT_COLUMNS, _VERSION_COLUMNS = 4, 18
_TOKEN = re.compile(r"[0-9a-f]{12}")
_TOLD = 1_000


@dataclass(frozen=True, slots=True)
class Named:
    """One version of a memory. `memory` is its number in the damaged file, `text` that of its text."""

    memory: int
    number: int
    scope: str
    path: str
    live: bool
    text: int


@dataclass(slots=True)
class Salvage:
    """What was found. Of a text number that stands there twice the last sound one counts."""

    texts: dict[int, bytes] = field(default_factory=dict)
    versions: dict[tuple[int, int], Named] = field(default_factory=dict)

    def take(self, row: Row) -> None:
        """Keeps a row that is sound and of use."""
        values = row.values
        if len(values) == _TEXT_COLUMNS:
            _, digest, _, content = values
            data = content.encode() if isinstance(content, str) else content
            if isinstance(data, bytes) and isinstance(digest, bytes) and fingerprint(data) == digest:
                self.texts[row.rowid] = data
        elif len(values) == _VERSION_COLUMNS:
            named = _named(values)
            if named is not None:
                self.versions[named.memory, named.number] = named


def _named(values: tuple[object, ...]) -> Named | None:
    memory, number, token, scope, path, state, text = (values[at] for at in (1, 2, 3, 6, 8, 9, 15))
    if not (isinstance(memory, int) and isinstance(number, int) and isinstance(text, int)):
        return None
    if not (isinstance(token, str) and _TOKEN.fullmatch(token) and isinstance(scope, str) and isinstance(path, str)):
        return None
    return Named(memory, number, scope, path, state == "live", text) if state in ("live", "retired") else None


def read(path: str, log: str | None, told: Callable[[int, int], None] | None = None) -> Salvage:
    """Reads a database file that nobody uses any more, and its log. Raises OSError."""
    found = Salvage()
    with ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        size = page_size(file.read(18))
        base = _base(file, size)
        count = os.fstat(file.fileno()).st_size // size
        newer: dict[int, int] = {}
        if log is not None and os.path.exists(log):
            logged = stack.enter_context(open(log, "rb"))
            start = logged.read(32)
            size_there = log_page_size(start)
            if size_there:
                newer = log_frames(start, _headers(logged, size_there))
                base = _base(file, size_there)
                count = os.fstat(file.fileno()).st_size // size_there
                overlay = _overlay(base, logged, size_there, newer)
        total = count + len(newer)
        for number in range(1, count + 1):  # as it stood before the log
            if told is not None and number % _TOLD == 0:
                told(number, total)
            _take_page(found, number, base)
        for number in sorted(newer) if newer else ():
            _take_page(found, number, overlay)
        if newer:
            # A row whose page is old may go on in pages that the log has.
            for number in range(1, count + 1):
                if number not in newer:
                    _take_page(found, number, overlay)
    return found


def _take_page(found: Salvage, number: int, page: Page) -> None:
    for row in rows_on(number, page, lambda columns: columns in (_TEXT_COLUMNS, _VERSION_COLUMNS)):
        found.take(row)


def _base(file: BinaryIO, size: int) -> Page:
    def page(number: int) -> bytes:
        if number < 1:
            return b""
        file.seek((number - 1) * size)
        data = file.read(size)
        return data if len(data) == size else b""

    return page


def _overlay(base: Page, log: BinaryIO, size: int, frames: dict[int, int]) -> Page:
    def page(number: int) -> bytes:
        frame = frames.get(number)
        if frame is None:
            return base(number)
        log.seek(32 + frame * (24 + size) + 24)
        data = log.read(size)
        return data if len(data) == size else b""

    return page


def _headers(log: BinaryIO, size: int) -> Iterator[bytes]:
    at = 32
    while True:
        log.seek(at)
        header = log.read(24)
        if len(header) < 24:
            return
        yield header
        at += 24 + size
