"""Looks for bytes in files, whatever they are. Run as a program of its own, which loads nothing but this file: opening
a live database here would drop the locks that SQLite holds on it in the process that asks.

Standard input: JSON, {"needles": [hex], "places": [path]}; a place is a file or a directory. Standard output: JSON,
{"found": [path], "unread": [path]}. Links are not followed: where they lead to is what they hold. Of all else that is
no file the name is looked at.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence

_PIECE = 4 * 1024 * 1024


def main() -> None:
    """Reads what is asked for and answers."""
    asked = json.load(sys.stdin)
    needles = [bytes.fromhex(needle) for needle in asked["needles"]]
    found, unread = [], []
    for path in sorted({path for place in asked["places"] for path in files_in(place)}):
        try:
            if holds(path, needles):
                found.append(path)
        except FileNotFoundError:  # it came and went
            pass
        except OSError:
            unread.append(path)
    json.dump({"found": found, "unread": unread}, sys.stdout)


def files_in(place: str) -> Iterator[str]:
    """The files of a place: of a directory all that lie below it, and whatever else does."""
    try:
        found = os.lstat(place)
    except OSError:
        return
    if stat.S_ISREG(found.st_mode):
        yield place
    elif stat.S_ISDIR(found.st_mode):
        for above, inside, names in os.walk(place):
            yield from (os.path.join(above, name) for name in (*names, *inside))


def holds(path: str, needles: Sequence[bytes]) -> bool:
    """Whether any of the needles stands in a file, or in its name. Raises OSError."""
    mode = os.lstat(path).st_mode
    said = os.fsencode(os.path.basename(path)) + (b"\0" + os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) else b"")
    if any(needle in said for needle in needles):
        return True
    if stat.S_ISDIR(mode):
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))  # what lies there is seen
    if not stat.S_ISREG(mode):
        return False
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False
        longest = max(map(len, needles), default=1)
        kept = b""
        while piece := os.read(handle, _PIECE):
            window = kept + piece
            if any(needle in window for needle in needles):
                return True
            kept = window[-(longest - 1) :] if longest > 1 else b""
        return False
    finally:
        os.close(handle)


if __name__ == "__main__":
    main()
