"""What a hook could not write into its store: a file for each record, applied by whoever opens the store next.

A file appears whole or not at all. It is removed only after its records are committed, and a record counts once
however often it is written: a crash in between repeats nothing. Cheap to import.
"""

from __future__ import annotations

import os

from memstore.store.quick import Record
from memstore.store.sessions import STATEMENTS

_BEGIN = b"memstore 1\n"
_LARGEST = 64 * 1024 * 1024
_SUFFIX = ".row"
_PART = ".part"
_HOUR = 3_600_000_000


def directory_of(home: str) -> str:
    """Where the files lie."""
    return os.path.join(home, "spool")


def put(home: str, store: str, records: list[Record], now: int) -> None:
    """Keeps records for a store. Raises OSError; then nothing is kept."""
    place = directory_of(home)
    os.makedirs(place, 0o700, exist_ok=True)
    _sweep(place, now - _HOUR)
    name = os.path.join(place, f"{store}.{now:016d}.{os.urandom(6).hex()}")
    handle = os.open(name + _PART, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            left = memoryview(encoded(records))
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(name + _PART, name + _SUFFIX)
    except OSError:
        os.unlink(name + _PART)
        raise
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def waiting(home: str, store: str) -> list[str]:
    """The files that wait for a store, oldest first."""
    place = directory_of(home)
    try:
        names = os.listdir(place)
    except OSError:
        return []
    mine = sorted(name for name in names if name.startswith(store + ".") and name.endswith(_SUFFIX))
    return [os.path.join(place, name) for name in mine]


def read(path: str) -> list[Record] | None:
    """The records of a file; None where it is gone or cannot be read now, or is none of ours: that one is put out of
    the way."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    content = b""
    try:
        while len(content) <= _LARGEST and (piece := os.read(handle, 1 << 20)):
            content += piece
    except OSError:
        return None
    finally:
        os.close(handle)
    records = decoded(content)
    if records is None:
        put_away(path)
    return records


def put_away(path: str) -> None:
    """A file that no store takes: it is kept, and not looked at again."""
    os.rename(path, path + ".unreadable")


def remove(path: str) -> None:
    """A file whose records are committed."""
    try:
        os.unlink(path)
    except OSError:
        return


def encoded(records: list[Record]) -> bytes:
    """A line for each record with its name and how many values follow; each value with its kind and its length."""
    pieces = [_BEGIN]
    for what, values in records:
        pieces.append(f"{what} {len(values)}\n".encode())
        for value in values:
            kind, raw = _value(value)
            pieces += [f"{kind}{len(raw)}:".encode(), raw, b"\n"]
    return b"".join(pieces)


def decoded(content: bytes) -> list[Record] | None:
    """The records again; None for what `encoded` never wrote."""
    if not content.startswith(_BEGIN):
        return None
    at, records = len(_BEGIN), list[Record]()
    try:
        while at < len(content):
            end = content.index(b"\n", at)
            what, count = content[at:end].decode().split(" ")
            if what not in STATEMENTS or int(count) != _places(STATEMENTS[what]):
                return None
            at, values = end + 1, list[str | bytes | int | None]()
            for _ in range(int(count)):
                end = content.index(b":", at)
                kind, size = content[at : at + 1], int(content[at + 1 : end])
                raw, at = content[end + 1 : end + 1 + size], end + 1 + size + 1
                if len(raw) != size or content[at - 1 : at] != b"\n" or kind not in b"nisb":
                    return None
                values.append(
                    None if kind == b"n" else int(raw) if kind == b"i" else raw.decode() if kind == b"s" else raw
                )
            records.append((what, tuple(values)))
    except ValueError:  # also what is no UTF-8
        return None
    return records


def _sweep(place: str, before: int) -> None:
    """Takes away what hooks were killed over before that time: a part of a file, which nobody was told is kept."""
    for name in os.listdir(place):
        begun = name.split(".")[1] if name.endswith(_PART) else ""
        if begun.isdecimal() and int(begun) < before:
            remove(os.path.join(place, name))


def _places(statement: str) -> int:
    """How many values a statement takes."""
    places = 0
    while f"?{places + 1}" in statement:
        places += 1
    return places


def _value(value: str | bytes | int | None) -> tuple[str, bytes]:
    if value is None:
        return "n", b""
    if isinstance(value, int):
        return "i", str(value).encode()
    return ("b", value) if isinstance(value, bytes) else ("s", value.encode())
