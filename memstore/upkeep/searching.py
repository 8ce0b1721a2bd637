"""Looks for bytes in the files of the store and of the memory folders, in a process of its own (`raw_search`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from memstore.errors import StoreUnavailable
from memstore.jobs.child import run
from memstore.upkeep import raw_search

_SECONDS = 600.0
_MOST = 16 * 1024 * 1024


def search_files(needles: Sequence[bytes], places: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of these places that hold any of the needles, and those that could not be read.

    Raises StoreUnavailable where the search itself fails.
    """
    if not needles:
        return (), ()
    asked = json.dumps({"needles": [needle.hex() for needle in needles], "places": list(places)})
    argv = [sys.executable, "-I", "-S", raw_search.__file__]
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
    try:
        done = run(argv, "/", environment, asked.encode(), seconds=_SECONDS, most=_MOST)
        if done.code == 0 and not done.late and not done.large:
            answer = json.loads(done.out)
            return tuple(answer["found"]), tuple(answer["unread"])
        reason = "it took too long" if done.late else done.err.decode("utf-8", "replace").strip()[-200:]
    except (OSError, ValueError) as error:
        reason = str(error)
    raise StoreUnavailable(
        f"the files could not be searched for what is to go: {reason}",
        hint="repeat the command; it goes on where it was",
    )
