"""git's own list of what is checked out, as far as paths can be looked for in it."""

from __future__ import annotations

import os
from typing import Final

from memstore.store.plainfile import read_bounded

_LARGEST: Final = 64 * 1024 * 1024
_WHOLE = (b"\0\0\0\2", b"\0\0\0\3")
"""Versions that write each path whole."""


def whole_index(git_dir: str) -> bytes | None:
    """The list of a checkout, empty where it has none; None where it cannot be read, is written in another way, or may
    be split in two files."""
    try:
        index = read_bounded(os.path.join(git_dir, "index"), _LARGEST)
        split = any(name.startswith("sharedindex.") for name in os.listdir(git_dir))
    except FileNotFoundError:
        return b""
    except OSError:
        return None
    return index if index[:4] == b"DIRC" and index[4:8] in _WHOLE and not split else None
