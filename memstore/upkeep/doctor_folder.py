"""The doctor's look at the memory folder: whose it is, whether it can be used, and what lies in it besides memories.

Nothing is changed by looking. A file that is left alone in every sync is named here with what mends it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from shlex import quote
from typing import TYPE_CHECKING

from memstore.core.findings import Finding
from memstore.errors import FolderTaken, MemstoreError, PlaceRefused
from memstore.files import temporary
from memstore.files.claim import read_claim
from memstore.files.folder import Folder
from memstore.files.report import Unshown, counted
from memstore.files.scan import Scan
from memstore.store import ground, shown
from memstore.upkeep.doctor_told import capped, some

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.place import Place
    from memstore.upkeep.doctor_look import Look
    from memstore.world import World

FOLDER = "folder"
CLAIM = "folder-claim"
STRANGE = "folder-strange"
COPIES = "folder-copies"
LEFT = "folder-temporary"
PENDING = "folder-pending"
ASIDE = "set-aside"

_RECENT = 7 * 24 * 3_600_000_000
"""Microseconds in which a text that was put aside is worth a word."""
_NEVER_TOLD = "what sessions write there is not taken in, and they are not shown what the store has"


def usable(place: Place, world: World) -> Iterator[Finding]:
    """Whether the folder can be used, and whose it is."""
    path = place.placement.directory
    if place.refusal:
        return  # nothing is shown here until a person accepts it
    try:
        folder = Folder.open(path)
    except PlaceRefused as error:
        yield Finding(FOLDER, "error", str(error), _NEVER_TOLD, error.hint)
        return
    if folder is None:
        return
    with folder:
        yield from _claim(folder, place)
        mount = ground.mount_of(folder.path)
        if mount is not None and mount.safe is False:
            yield Finding(
                FOLDER, "note", f"the memory folder {folder.path} lies on {mount.kind} (mounted at {mount.point})",
                "it is shared by machines: each with a store of its own sees the files of the others as edits by hand",
                "where that is not meant, choose a folder on a local disk with the setting autoMemoryDirectory",
            )  # fmt: skip
        if not os.access(folder.path, os.W_OK | os.X_OK):
            yield Finding(
                FOLDER, "warning", f"the memory folder {folder.path} cannot be written",
                "what is saved stays in the store, and sessions read older files",
                f"run `chmod u+wx {quote(folder.path)}`, or mount its file system writable; then `memstore sync`",
            )  # fmt: skip


def contents(look: Look) -> Iterator[Finding]:
    """What lies in the folder and is no memory, although it may have been meant as one."""
    folder, found = look.folder(), look.scan
    if folder is None or found is None:
        return
    with folder:
        left = [path for path in found.temporary if _is_abandoned(folder, path, look.memories.world.clock() * 1_000)]
    if not found.complete:
        yield Finding(
            FOLDER, "warning", f"a directory in the memory folder {folder.path} cannot be listed",
            "nothing is decided there about files that are gone", "mend its permissions, then run `memstore sync`",
        )  # fmt: skip
    yield from capped(_strange(found))
    yield from capped(_copies(found))
    if left:
        yield Finding(
            LEFT, "note", f"{counted(len(left), 'file')} of a process that died: {some(left)}",
            "a text may lie in it that is nowhere else; a sync takes that in before it removes the file",
            "run `memstore sync`", fix=look.mendable,
        )  # fmt: skip


def pending(look: Look) -> Iterator[Finding]:
    """What a sync could not take in or bring to the files now, and why."""
    if look.scan is None or look.memories.store.has_spooled() or not look.memories.store.writable:
        return  # other checks say why; what was spooled would be taken in by a look at what is pending
    report = look.memories.files.preview()
    known = {*look.scan.strange, *(name for names in look.scan.collisions for name in names)}
    known.update(copy for copy, _ in look.scan.conflict_copies)
    late = [unshown for unshown in report.pending if unshown.path not in known]
    known.update(unshown.path for unshown in late)
    if not report.taken_over:  # else they tell of the index as well, which another check does
        yield from capped(_noticed(notice) for notice in report.notices if notice.partition(": ")[0] not in known)
    yield from capped(
        Finding(
            PENDING, "warning", f"{unshown.path} is not up to date: {unshown.reason}",
            "sessions read an older text, or none", unshown.step,
        )
        for unshown in late
    )  # fmt: skip


def set_aside(memories: Memstore) -> Iterator[Finding]:
    """Texts of the last days that were neither taken in nor thrown away."""
    since = memories.world.clock() - _RECENT
    with memories.store.view() as connection:
        recent = [row for row in shown.set_asides(connection) if row[3] > since]
    if recent:
        yield Finding(
            ASIDE, "note",
            f"{counted(len(recent), 'text')} put aside in the last 7 days:"
            f" {some([f'{name} ({reason})' for _, name, reason, _, _ in recent])}",
            "they are kept in the store: older copies that came back, or files that were cut off",
            'to read them: `memstore db query "SELECT a.name, a.reason, t.content FROM set_aside a JOIN text t'
            ' ON t.id = a.text ORDER BY a.pk DESC LIMIT 20"`',
        )  # fmt: skip


def mend_left(memories: Memstore) -> str:
    """Takes in what processes that died left in the folder."""
    report = memories.sync()
    taken = f", as operation #{report.seq}" if report.seq is not None else ""
    if report.folder is None:
        return f"nothing was done: {'; '.join(report.notices)}"
    return f"synced: {counted(report.taken_in, 'file')} taken in{taken}"


def _noticed(notice: str) -> Finding:
    name, colon, reason = notice.partition(": ")
    ends = colon and not name.count(" ")  # else it is about the whole folder, and says itself what to do
    step = Unshown(name, reason).step if ends else "do what is said there, then run `memstore sync`"
    return Finding(PENDING, "warning", notice, "until then folder and store may say different things", step)


def _claim(folder: Folder, place: Place) -> Iterator[Finding]:
    try:
        claim = read_claim(folder)
        other = claim is not None and claim.root != place.root.path and os.path.isdir(claim.root)
        if claim is not None and claim.store != place.store and (place.store is not None or other):
            raise FolderTaken(folder.path, claim.root or claim.store, place.root.path)
    except MemstoreError as error:
        yield Finding(CLAIM, "error", str(error), _NEVER_TOLD, error.hint)


def _strange(found: Scan) -> Iterator[Finding]:
    for path, reason in sorted(found.strange.items()):
        yield Finding(
            STRANGE, "warning", f"{path} is left alone: {reason}", "it is no memory, and none can stand there",
            Unshown(path, reason).step if reason.startswith("it is") or "iCloud" in reason else "rename or mend it",
        )  # fmt: skip
    for paths in found.collisions:
        yield Finding(
            STRANGE, "warning", f"{' and '.join(paths)} differ by case or composition only",
            "one of them is a memory, the others are left alone", "rename the others, then run `memstore sync`",
        )  # fmt: skip


def _copies(found: Scan) -> Iterator[Finding]:
    for copy, original in found.conflict_copies:
        yield Finding(
            COPIES, "warning", f"{copy} is a sync program's copy of {original}",
            "it may hold words that the memory lacks", f"merge it into {original} by hand, then delete it",
        )  # fmt: skip


def _is_abandoned(folder: Folder, path: str, now: int) -> bool:
    try:
        with folder.parent(path) as (directory, name):
            return temporary.is_abandoned(name, os.stat(name, dir_fd=directory, follow_symlinks=False), now)
    except OSError:
        return False
