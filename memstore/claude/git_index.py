"""git's own list of what is checked out, as far as paths can be looked for in it."""

from __future__ import annotations

import os
from typing import Final

from memstore.store.plainfile import read_bounded

_LARGEST: Final = 64 * 1024 * 1024
_WHOLE = (b"\0\0\0\2", b"\0\0\0\3")
"""Versions that write each path whole."""
_SHARING = b"\0\0\0\4"
"""The version in which a path leaves out what it shares with the one before it."""
_STATUS = 60  # bytes of an entry before its flags, where names of objects are SHA-1
_LONGER = 0x4000
_LENGTH = 0xFFF
_DIGITS = 4


def whole_index(git_dir: str) -> bytes | None:
    """The list of a checkout, empty where it has none; None where it cannot be read, is written in another way, or may
    be split in two files.

    Before each path stands its length in two bytes (in version 3 perhaps two others between them), behind it a zero.
    """
    try:
        index = read_bounded(os.path.join(git_dir, "index"), _LARGEST)
        split = any(name.startswith("sharedindex.") for name in os.listdir(git_dir))
    except FileNotFoundError:
        return b""
    except OSError:
        return None
    if index[:4] != b"DIRC" or split or len(index) < 12 + int.from_bytes(index[8:12]) * _STATUS:
        return None  # the last one: a part is missing
    if index[4:8] == _SHARING:
        return _with_whole_paths(index)
    return index if index[4:8] in _WHOLE else None


def _with_whole_paths(index: bytes) -> bytes | None:
    """A list of version 4 as one of version 2, without what is known of each file; None for one that is not sound."""
    pieces, size = [b"DIRC" + _WHOLE[0] + index[8:12]], 0
    at, path = 12, b""
    try:
        for _ in range(int.from_bytes(index[8:12])):
            flags = int.from_bytes(index[at + _STATUS : at + _STATUS + 2])
            at += _STATUS + (4 if flags & _LONGER else 2)
            drop, at = _number(index, at)
            end = index.index(b"\0", at)
            if drop > len(path):
                return None
            path = path[: len(path) - drop] + index[at:end]
            size += len(path)
            if flags & _LENGTH != min(len(path), _LENGTH) or size > _LARGEST:
                return None
            pieces.append((flags & _LENGTH).to_bytes(2) + path + b"\0")
            at = end + 1
    except (IndexError, ValueError):
        return None
    return b"".join(pieces)


def _number(index: bytes, at: int) -> tuple[int, int]:
    """A number that git writes in as many bytes as it takes, and where it ends.

    One of too many is more than any path has.
    """
    found = 0
    for place in range(at, at + _DIGITS):
        found = found << 7 | index[place] & 0x7F
        if not index[place] & 0x80:
            return found, place + 1
        found += 1
    return _LARGEST + 1, at + _DIGITS
