"""One look at a folder: what is there, whether it may be decided, and the plan that follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import memstore.core.decisions as d
from memstore.core.changes import Create
from memstore.core.gates import FolderFacts, Go, PutAllBack, Stop, find_renames, gate_folder, went_back
from memstore.core.ids import fingerprint
from memstore.core.model import INDEX_NAME
from memstore.core.names import collision_key
from memstore.files.absorb import Absorber, Plan, Seen, resolver
from memstore.files.absorb_index import absorb_index, gaps, is_text
from memstore.files.folder import Folder, Leftover
from memstore.files.inbox import AT_WORK
from memstore.files.report import Noted
from memstore.files.scan import Scan
from memstore.files.walk import Strange, is_racy
from memstore.store import lines, reader, shown
from memstore.store.connection import Reading
from memstore.store.shown import FolderRow, Missing, Stamp

_MANY = 1_000
"""Files that were read, above which it is not worth asking first whether all of them are as they were."""


@dataclass(slots=True)
class Intake:
    """A folder as it was found. `seen`: the files whose bytes had to be read; `absent`: names without a file;
    `strange`: what is left alone, and why; `busy`: names under which a session is at work (rule 5)."""

    scan: Scan
    stamps: dict[str, str | None]
    seen: dict[str, Seen] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    strange: dict[str, str] = field(default_factory=dict)
    busy: Collection[str] = ()


def take_stock(
    folder: Folder,
    scan: Scan,
    stamps: dict[str, str | None],
    now: Callable[[], int],
    busy: Collection[str] = (),
) -> Intake:
    """Reads the files whose stamp is new. `now`: unix microseconds. `busy`: names that are not looked at."""
    intake = Intake(scan, stamps, strange=dict(scan.strange), busy=busy)
    for paths in scan.collisions:
        first, *others = _taken_first(paths, stamps)
        for name in others:
            intake.strange[name] = f"it differs from {first} by case or composition only; rename it"
    for name, stamp in scan.files.items():
        if stamps.get(name) != stamp and name not in intake.strange and name not in busy:
            _read(folder, name, intake, now)
    for name in stamps:
        if name not in scan.files and name not in busy:
            if _out_of_sight(name, scan.strange):
                intake.seen[name] = Seen(d.File(name, None, "irregular"), None)
            else:
                intake.absent.append(name)
    return intake


def says_what_was_shown(connection: Reading, folder: FolderRow, intake: Intake) -> bool:
    """Whether each file that was read is whole and says what was last shown under its name, and none is missing.

    A topic that is shown as nobody's version waits to be replaced, so that its text is no answer.
    """
    if intake.absent or len(intake.seen) > _MANY:
        return False
    known = shown.digests(connection, folder.pk, list(intake.seen))
    for name, seen in intake.seen.items():
        digest, version = known.get(name, (b"", 0))
        content = seen.file.content
        if content is None or seen.file.trouble is not None or (version == 0 and name != INDEX_NAME):
            return False
        if fingerprint(content) != digest:
            return False
    return True


def left_alone(intake: Intake) -> list[str]:
    """What a person should know of a folder besides its memories."""
    copies = [f"{copy}: it is a sync program's copy of {original}; merge it by hand" for copy, original
              in intake.scan.conflict_copies]  # fmt: skip
    return [*(f"{name}: {reason}; it is left alone" for name, reason in sorted(intake.strange.items())), *copies]


def _taken_first(paths: tuple[str, ...], stamps: dict[str, str | None]) -> list[str]:
    """Of paths that some file system takes for one, the one that is taken in, then those that are not."""
    known = [path for path in paths if path in stamps]
    first = known[0] if known else paths[0]
    return [first, *(path for path in paths if path != first and path not in known)]


def _out_of_sight(name: str, strange: Mapping[str, str]) -> bool:
    """Whether a file is there but is no plain one, or lies behind a link or a directory that is not entered."""
    parts = name.split("/")
    return any("/".join(parts[:length]) in strange for length in range(1, len(parts) + 1))


def _read(folder: Folder, name: str, intake: Intake, now: Callable[[], int]) -> None:
    found = folder.read(name)
    if found is None:
        intake.absent += [name] if name in intake.stamps else []
    elif isinstance(found, Strange):
        intake.strange[name] = found.reason
        intake.seen[name] = Seen(d.File(name, None, "irregular"), None)
    else:
        intake.seen[name] = Seen(
            d.File(name, found.content, None if found.settled else "unsettled", found.settled),
            None if is_racy(found.stamp, now() * 1_000) else found.stamp,
        )


def gate(
    folder: FolderRow, intake: Intake, claim: str, now: int, absorber: Absorber
) -> Go | Stop | d.WaitSecondScan | PutAllBack:
    """Rules 1, 3 and 32 for what was found."""
    bases = [name for name in intake.stamps if name != INDEX_NAME]
    renames = renamed(intake, absorber)
    gone = [name for name in intake.absent if name != INDEX_NAME and name not in renames]
    back = 0
    for name, seen in intake.seen.items():
        row, head = absorber.known(name)
        if name == INDEX_NAME or row is None or seen.file.content is None:
            continue
        stored = None if head is None else absorber.stored_value(head)
        back += went_back(seen.file, absorber.shown_value(name, row), stored)
    return gate_folder(
        FolderFacts(
            "present" if intake.scan.complete else "unreadable",
            "own" if claim == "own" else "other" if claim == "other" else "none",
            len(intake.scan.files),
            len(bases),
            len(gone),
            back,
            folder.gone_at,
        ),
        now=now,
    )


def renamed(intake: Intake, absorber: Absorber) -> dict[str, str]:
    """Rule 28: old name to new name. First those that some file system takes for one name."""
    absent: dict[str, d.Shown] = {}
    for name in intake.absent:
        row, _ = absorber.known(name)
        if name != INDEX_NAME and row is not None:
            absent[name] = absorber.shown_value(name, row, absorber.since(name))
    if not absent:
        return {}
    old_names = {collision_key(name): name for name in absent}
    spelled: dict[str, str] = {}
    new: dict[str, d.File] = {}
    for name, seen in intake.seen.items():
        if name in intake.stamps or name == INDEX_NAME or seen.file.content is None:
            continue
        old = old_names.get(collision_key(name))
        if old is not None and seen.file.trouble is None:
            spelled[old] = name
            del absent[old]
        elif absorber.known(name)[1] is None:
            new[name] = seen.file
    return spelled | find_renames(absent, new)


def plan_intake(
    connection: Reading, folder: FolderRow, intake: Intake, absorber: Absorber, new_id: Callable[[], str]
) -> Plan:
    """All that the folder has to tell, as one plan: topics first, then the index."""
    plan = absorber.plan
    plan.blocked |= intake.strange | dict.fromkeys(intake.busy, AT_WORK)
    unseen = {*intake.absent, *intake.busy}
    plan.shown += [Missing(name, None) for name in shown.missing(connection, folder.pk) if name not in unseen]
    renames = renamed(intake, absorber)
    taken = set(renames.values())
    for name, seen in sorted(intake.seen.items()):
        if name != INDEX_NAME and name not in taken and name not in intake.strange:
            absorber.decide(name, seen)
    for old, new in sorted(renames.items()):
        absorber.rename(old, new, intake.seen[new])
    for name in sorted(intake.absent):
        if name != INDEX_NAME and name not in renames:
            absorber.decide(name, Seen(d.File(name, None), None))
    _plan_index(connection, folder, intake, absorber, new_id)
    plan.notices += left_alone(intake)
    if absorber.first:
        index = intake.seen.get(INDEX_NAME)
        text = index.file.content if index is not None and index.file.content is not None else b""
        made = [change.path for change in plan.changes if isinstance(change, Create)]
        plan.notices += gaps(text.decode("utf-8", "replace"), made, resolver(connection, plan.made))
    return plan


def _plan_index(
    connection: Reading, folder: FolderRow, intake: Intake, absorber: Absorber, new_id: Callable[[], str]
) -> None:
    plan, index = absorber.plan, intake.seen.get(INDEX_NAME)
    row = shown.shown_row(connection, folder.pk, INDEX_NAME)
    if INDEX_NAME in intake.absent:
        plan.project[INDEX_NAME] = None
        plan.noted += [Noted(INDEX_NAME, "put back", 3, "the file was missing")] if lines.rows(connection) else []
    elif index is None or index.file.content is None:
        return
    elif row is not None and row.content == index.file.content:
        plan.shown += [Stamp(INDEX_NAME, index.stamp)] if row.stamp != index.stamp else []
    elif index.file.trouble is not None:
        plan.again.append(INDEX_NAME)
    else:
        since = absorber.since(INDEX_NAME)
        if index.file.content in since and is_text(index.file.content):
            plan.index = True  # rule 20 of `core/reconcile.py`: it becomes B; what the rows say is looked at
            return
        if row is not None and since:
            base = absorber.base(INDEX_NAME, row.content, index.file.content, since)
            row = row if base == row.content else replace(row, content=base, lines=None)
        absorb_index(connection, row, index, absorber, new_id, _times(intake.scan))


def _times(scan: Scan) -> dict[str, int | None]:
    """The topic files and their times; None for those that changed after the index was written."""
    written = int(scan.files[INDEX_NAME].split(" ")[1]) if INDEX_NAME in scan.files else 0
    times = {name: int(stamp.split(" ")[1]) for name, stamp in scan.files.items() if name != INDEX_NAME}
    return {name: time if time <= written else None for name, time in times.items()}


def unknown(connection: Reading, leftovers: Iterable[Leftover]) -> list[Leftover]:
    """Of the files that dead processes left behind, those whose text the store does not have."""
    return [left for left in leftovers if not reader.knows(connection, left.content)]
