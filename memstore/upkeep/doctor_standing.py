"""What the doctor looks at beside the rows: the database's log, the clock, what waits for somebody, what was left."""

from __future__ import annotations

import os
from collections.abc import Iterator

from memstore.core.findings import Finding, Severity
from memstore.store import examining, holders, jobs, leases, restoring
from memstore.store.connection import open_link
from memstore.store.process import is_alive
from memstore.store.worker_turn import is_working
from memstore.upkeep.doctor_place import told_size
from memstore.upkeep.doctor_scene import Scene

_WAL_BYTES = 16 * 1024 * 1024
"""SQLite begins the log anew long before, where nobody keeps it from that."""

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_CLOCK = 300 * _SECOND
_LINGERING = 600 * _SECOND


def log(scene: Scene) -> Iterator[Finding]:
    """How long the log beside the database is, and who keeps it from being begun anew."""
    assert scene.path is not None
    try:
        size = os.stat(scene.path + "-wal").st_size
    except OSError:
        return
    if size <= _WAL_BYTES:
        return
    held = _held_on(scene)
    who = ", ".join(f"{one.program or 'a process'} ({one.pid})" for one in held)
    why = "every read has to look through it, and it takes room on the disk"
    what = f"the log beside the database has {told_size(size)}"
    mend = f"end {who}, which reads the store without end" if held else "`memstore doctor --fix` empties it"
    yield Finding("log", "warning", f"{what}, held by {who}" if held else what, why, mend, fix=not held)


def mend_log(scene: Scene) -> str:
    """Moves the log into the database."""
    assert scene.path is not None
    link = open_link(scene.path)
    try:
        done = examining.checkpoint(link)
    finally:
        link.close()
    return "the log is in the database" if done else ""


def draft(scene: Scene) -> Iterator[Finding]:
    """What a restore that was killed left beside the database."""
    assert scene.directory is not None
    if restoring.is_left(scene.directory):
        what = f"a restore that was interrupted left {restoring.DRAFT} in {scene.directory}"
        why = "the store is as it was before, or as it was to be; the draft takes room, and may hold what was purged"
        yield Finding("draft", "note", what, why, "`memstore doctor --fix` removes it", fix=True)


def mend_draft(scene: Scene) -> str:
    """Removes it, unless another restore has begun."""
    assert scene.directory is not None
    with restoring.alone(scene.directory):
        restoring.remove_draft(os.path.join(scene.directory, restoring.DRAFT))
    return f"removed {restoring.DRAFT}"


def clock(scene: Scene) -> Iterator[Finding]:
    """This machine's clock against the newest operation."""
    with scene.view() as connection:
        newest = examining.newest(connection)
    ahead = 0 if newest is None else newest - scene.world.clock()
    if ahead > _CLOCK:
        hours = ahead / 3_600 / _SECOND
        what = f"the newest operation was done {hours:.1f} hours after what this machine's clock says now"
        why = "ages, gates and the order of what sessions did go by the clock"
        severity: Severity = "warning" if ahead > _DAY else "note"
        yield Finding("clock", severity, what, why, "set the clock; what is kept stays in its order all the same")


def inbox(scene: Scene) -> Iterator[Finding]:
    """What hooks told that nobody has taken in."""
    with scene.view() as connection:
        found = examining.waiting(connection)
    why = "it is what sessions did, and is in no memory before"
    if (found.open or found.done) and scene.world.clock() - found.oldest > _LINGERING:
        count = found.open + found.done
        calls = "1 call" if count == 1 else f"{count} calls"
        what = f"{calls} of sessions wait in the inbox, the first for longer than 10 minutes"
        yield Finding("inbox", "warning", what, why, "`memstore sync` takes them in")


def left_leases(scene: Scene) -> Iterator[Finding]:
    """Leases of processes that are gone."""
    now = scene.world.clock()
    with scene.view() as connection:
        held = examining.held(connection)
    for lease in held:
        if not leases.is_held(lease, now, is_alive):
            what = f"a {lease.kind} of process {lease.process.pid} left its lease behind"
            why = "it was killed or the machine stopped; whoever is next takes it over"
            yield Finding("leases", "note", what, why, f"nothing: the next `memstore {lease.kind}` does")


def left_jobs(scene: Scene) -> Iterator[Finding]:
    """Jobs that failed, and those of workers that are gone."""
    assert scene.directory is not None
    with scene.view() as connection:
        parked, running = jobs.parked(connection), jobs.orphaned(connection)
    if parked:
        last = next((job.note for job in reversed(parked) if job.note), "")
        what = f"{'1 job was' if len(parked) == 1 else f'{len(parked)} jobs were'} given up" + (
            f": {last}" if last else ""
        )
        mend = "`memstore extract status` says why, `memstore extract retry` tries again"
        yield Finding("jobs", "warning", what, "what these turns taught is not kept", mend)
    kinds = {kind for kind in jobs.KINDS if not is_working(scene.directory, jobs.KINDS[0])}
    gone = [job for job in running if job.kind in kinds]
    if gone:
        what = f"{'1 job' if len(gone) == 1 else f'{len(gone)} jobs'} of a worker that is gone"
        yield Finding("jobs", "note", what, "the next worker takes it over", "`memstore extract run` does it now")


def _held_on(scene: Scene) -> list[holders.Holder]:
    """Who reads now and still does a moment later."""
    assert scene.path is not None
    first = holders.readers(scene.path)
    if not first:
        return []
    scene.world.pause(0.3)
    return [one for one in holders.readers(scene.path) if one in first]
