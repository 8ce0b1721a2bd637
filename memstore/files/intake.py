"""One look at a folder: what is there, whether it may be decided, and the plan that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import memstore.core.decisions as d
from memstore.core.frontmatter import calm
from memstore.core.gates import FolderFacts, Go, PutAllBack, Stop, find_renames, gate_folder, went_back
from memstore.core.model import INDEX_NAME
from memstore.files.absorb import Absorber, Plan, Seen
from memstore.files.absorb_index import absorb_index
from memstore.files.folder import Folder, Leftover
from memstore.files.scan import Scan
from memstore.files.walk import FileRead, Strange, is_racy
from memstore.store import reader, shown
from memstore.store.connection import Reading
from memstore.store.shown import FolderRow, Stamp


@dataclass(slots=True)
class Intake:
    """A folder as it was found. `seen`: the files whose bytes had to be read; `absent`: names without a file."""

    scan: Scan
    stamps: dict[str, str | None]
    seen: dict[str, Seen] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def idle(self) -> bool:
        """Whether every file is as it was when its bytes were last known."""
        return self.scan.files == self.stamps


def take_stock(folder: Folder, scan: Scan, stamps: dict[str, str | None], now: Callable[[], int]) -> Intake:
    """Reads the files whose stamp is new. `now`: unix microseconds."""
    intake = Intake(scan, stamps)
    if intake.idle:
        return intake
    twins = {path for paths in scan.collisions for path in _strangers(paths, stamps)}
    for paths in scan.collisions:
        intake.notices.append(
            f"{', '.join(paths)} differ by case or composition only: the first is taken, rename the others"
        )
    for name, stamp in scan.files.items():
        if stamps.get(name) != stamp and name not in twins:
            _read(folder, name, intake, now)
    for name in stamps:
        if name not in scan.files:
            if name in scan.strange:
                intake.seen[name] = Seen(d.File(name, None, "irregular"), None)
            else:
                intake.absent.append(name)
    return intake


def _strangers(paths: tuple[str, ...], stamps: dict[str, str | None]) -> tuple[str, ...]:
    """Of paths that some file system takes for one, those that are not to be taken in."""
    known = [path for path in paths if path in stamps]
    first = known[0] if known else paths[0]
    return tuple(path for path in paths if path != first and path not in known)


def _read(folder: Folder, name: str, intake: Intake, now: Callable[[], int]) -> None:
    found = folder.read(name)
    if found is None:
        intake.absent += [name] if name in intake.stamps else []
    elif isinstance(found, Strange):
        intake.notices.append(f"{name}: {found.reason}; it is left alone")
        intake.seen[name] = Seen(d.File(name, None, "irregular"), None)
    else:
        intake.seen[name] = Seen(
            d.File(name, found.content, None if found.settled else "unsettled", found.settled),
            _stamp(found, now),
        )


def _stamp(found: FileRead, now: Callable[[], int]) -> str | None:
    return None if is_racy(found.stamp, now() * 1_000) else found.stamp


def gate(
    connection: Reading, folder: FolderRow, intake: Intake, claim: str, now: int, absorber: Absorber
) -> Go | Stop | d.WaitSecondScan | PutAllBack:
    """Rules 1, 3 and 32 for what was found."""
    bases = [name for name in intake.stamps if name != INDEX_NAME]
    renames = renamed(connection, intake, absorber)
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


def renamed(connection: Reading, intake: Intake, absorber: Absorber) -> dict[str, str]:
    """Rule 28: old name to new name."""
    new = {
        name: seen.file
        for name, seen in intake.seen.items()
        if name not in intake.stamps and name != INDEX_NAME and absorber.known(name)[1] is None
    }
    if not new or not intake.absent:
        return {}
    absent: dict[str, d.Shown] = {}
    for name in intake.absent:
        row, _ = absorber.known(name)
        if name != INDEX_NAME and row is not None:
            absent[name] = absorber.shown_value(name, row)
    return find_renames(absent, new)


def plan_intake(
    connection: Reading, folder: FolderRow, intake: Intake, absorber: Absorber, new_id: Callable[[], str]
) -> Plan:
    """All that the folder has to tell, as one plan: topics first, then the index."""
    plan = absorber.plan
    renames = renamed(connection, intake, absorber)
    taken = set(renames.values())
    for name, seen in sorted(intake.seen.items()):
        if name != INDEX_NAME and name not in taken:
            absorber.decide(name, seen)
    for old, new in sorted(renames.items()):
        absorber.rename(old, new, intake.seen[new])
    for name in sorted(intake.absent):
        if name != INDEX_NAME and name not in renames:
            absorber.decide(name, Seen(d.File(name, None), None))
    index = intake.seen.get(INDEX_NAME)
    if INDEX_NAME in intake.absent:
        plan.project[INDEX_NAME] = None
    elif index is not None:
        _plan_index(connection, folder, index, plan, intake, new_id)
    plan.notices += intake.notices
    return plan


def _plan_index(
    connection: Reading, folder: FolderRow, index: Seen, plan: Plan, intake: Intake, new_id: Callable[[], str]
) -> None:
    if index.file.content is None:
        plan.blocked[INDEX_NAME] = "it is not a plain file"
        return
    row = shown.shown_row(connection, folder.pk, INDEX_NAME)
    if row is not None and row.content == index.file.content:
        plan.shown.append(Stamp(INDEX_NAME, index.stamp))
    elif index.file.trouble is not None:
        plan.again.append(INDEX_NAME)
    else:
        absorb_index(connection, row, index, plan, new_id, _times(intake.scan))


def _times(scan: Scan) -> dict[str, int | None]:
    """The topic files and their times; None for those that changed after the index was written."""
    written = int(scan.files[INDEX_NAME].split(" ")[1]) if INDEX_NAME in scan.files else 0
    times = {name: int(stamp.split(" ")[1]) for name, stamp in scan.files.items() if name != INDEX_NAME}
    return {name: time if time <= written else None for name, time in times.items()}


def unknown(connection: Reading, absorber: Absorber, leftovers: Iterable[Leftover]) -> list[Leftover]:
    """Of the files that dead processes left behind, those whose text the store does not have."""
    found = []
    for left in leftovers:
        row, head = absorber.known(left.target)
        if row is not None and row.content == left.content:
            continue
        if head is not None and reader.had_text(connection, head.id, calm(left.content), head.version + 1):
            continue
        if left.target == INDEX_NAME and _was_shown(connection, row, left.content, absorber):
            continue
        found.append(left)
    return found


def _was_shown(connection: Reading, row: shown.ShownRow | None, content: bytes, absorber: Absorber) -> bool:
    return row is not None and content in absorber.texts_before(INDEX_NAME)
