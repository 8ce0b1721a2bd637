"""What a dream is given to look into: the logs of the last days, the project's instructions, sessions, and what rules
have found."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime

from memstore.claude.root import Root
from memstore.claude.touched import Touched
from memstore.core import daylog
from memstore.core.model import SHELF
from memstore.core.tidying import Material as Tidying
from memstore.core.tidying import Proposal, propose
from memstore.errors import PlaceRefused
from memstore.files import daylog as shown_log
from memstore.files.folder import Folder
from memstore.jobs.dream_material import INSTRUCTIONS, Material, Session, gather
from memstore.jobs.showing import visible
from memstore.store import daylog as rows
from memstore.store import lines, reader
from memstore.store.plainfile import read_bounded
from memstore.store.store import Store
from memstore.world import World

LOG_DAYS, MOST_LOG_DAYS = 7, 31
"""Days of the log that are looked into, and at most where the last dream was longer ago than that."""

_HINTS, _NAMED = 50, 8
_INSTRUCTIONS = 256 * 1024
_DAY = 24 * 3600 * 1_000_000


def inputs(
    store: Store, world: World, folders: Sequence[str], root: Root | None, sessions: Sequence[Touched], last: int | None
) -> Material:
    """Reads it all. `sessions`: those touched since the last dream, which was at `last`."""
    newest = sorted(sessions, key=lambda each: each.at, reverse=True)
    return gather(
        [Session(each.session, each.transcript) for each in newest],
        _logs(store, world, folders, last),
        None if root is None else _instructions(root),
        _hints(store, world),
    )


def _logs(store: Store, world: World, folders: Sequence[str], last: int | None) -> dict[str, str]:
    """The log files of the last days, by path; of one that lies in several folders the longest.

    With them stands what the store keeps and no file has yet.
    """
    now = world.clock()
    since = 0 if last is None else (now - last) // _DAY + 2
    days = daylog.days_until(daylog.day_of(now, world.zone(now)), min(max(LOG_DAYS, since), MOST_LOG_DAYS))
    found: dict[str, str] = {}
    looked: list[str] = []
    for path in folders:
        try:
            folder = Folder.open(path, now=lambda: world.clock() * 1_000, pause=world.pause)
            if folder is None:
                continue
            with folder:
                files, _ = shown_log.read(folder, days)
                looked.append(folder.path)
        except PlaceRefused:  # another folder may have it
            continue
        for file in files:
            found[file.path] = max(found.get(file.path, ""), file.text, key=len)
    with store.view() as connection:
        kept = rows.of_days(connection, days[0], days[-1])
        after, most = kept[0].seq - 1 if kept else 0, rows.newest(connection)
        lacking = [{one.entry.seq for one in rows.open_entries(connection, path, after, most)} for path in looked]
    for entry in kept:
        if all(entry.seq in each for each in lacking):
            path, text = daylog.path_of(entry.day), daylog.block(entry.at, entry.zone, entry.text)
            before = found.get(path, "")
            found[path] = f"{before}\n{text}" if before and not before.endswith("\n") else before + text
    return found


def _instructions(root: Root) -> str | None:
    """The project's CLAUDE.md, where it lies inside the project: a link that leads out of it is not followed."""
    real = os.path.realpath(os.path.join(root.worktree, INSTRUCTIONS))
    if not real.startswith(root.worktree.rstrip("/") + "/"):
        return None
    try:
        return read_bounded(real, _INSTRUCTIONS).decode("utf-8", "replace")
    except OSError:  # not there, or nothing that can be read
        return None


def _hints(store: Store, world: World) -> list[str]:
    with store.view() as connection:
        heads = reader.heads(connection, SHELF)
        index = lines.rows(connection, SHELF)
        held = {record.memory for record in reader.conflicts(connection) if record.memory is not None}
    today = datetime.fromtimestamp(world.clock() / 1_000_000).date()
    found = [each for each in propose(Tidying(heads, index, held, (), (), today)) if each.kind != "pointer"]
    told = [_hint(each) for each in found[:_HINTS]]
    return [*told, f"and {len(found) - _HINTS} more"] if len(found) > _HINTS else told


def _hint(proposal: Proposal) -> str:
    """What is proposed, in one line: of thousands that say nearly the same a few are named."""
    named = ", ".join(proposal.paths[:_NAMED])
    more = f" and {len(proposal.paths) - _NAMED} more" if len(proposal.paths) > _NAMED else ""
    return visible(f"{named}{more}: {proposal.reason}")
