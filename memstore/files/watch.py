"""Watching: a memory folder is looked at when something in it may have changed, until told to stop.

What the system tells of changes is a hint: it says when to look, and the look finds out what is true. So that
nothing depends on a hint, there is a look

- now and then, whatever happened;
- when the folder appears, goes or is another one, and once the system has begun to tell of the new one;
- when the clocks have moved apart: the machine was suspended, or somebody set its clock;
- some time after a hint, when the stamps of the files have become telling;
- soon again while a file is being written, or is gone and not yet believed deleted.

Where the system cannot tell (it has no watches left, say), the folder is looked at every other second instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from memstore.core.names import RESERVED, is_debris, placeholder_of
from memstore.errors import MemstoreError, StoreNewer, StoreReplaced
from memstore.files import temporary
from memstore.files.in_place import InPlace
from memstore.files.report import SyncReport
from memstore.files.scan import out_of_reach
from memstore.files.sync import Sync
from memstore.files.watch_lock import Watcher, watched_by
from memstore.store.store import Store
from memstore.world import World

INTERVAL = 10.0
"""Seconds between looks that nothing asked for. At 2,000 files they cost a thousandth of a core."""

_SHARE, _LONGEST = 250, 60.0
"""A look that takes much work is followed by so many times as much rest before the next unasked one, or a minute."""

_TICK = 0.25
_OVERDUE = 5.0
"""Seconds without a sign from the watcher, whose own waits follow the clock that a person can set back."""

_STEP_MS, _DEBOUNCE_MS = 50, 200
_DEAF, _DEAF_FOR, _ONE_FAILURE = 2.0, 30.0, 5.0
_AGAIN = 1.0
_UNSURE, _UNSURE_FOR, _UNSURE_LATER = 0.3, 10.0, 2.0
_SETTLED = 2.2
_JUMP = 2.0
_PLACE = 10.0


@dataclass(slots=True)
class Schedule:
    """When to look next. All times are seconds of one clock that only goes forward."""

    interval: float
    due: float = 0.0
    hinted: float = float("-inf")
    rested: float = float("-inf")

    def hint(self, now: float) -> None:
        """Something may have changed: look now, or once the last look has had as much rest as it was work."""
        self.hinted = now
        self.due = min(self.due, max(now, self.rested))

    def looked(self, ended: float, worked: float, *, unsure: bool = False, troubled: bool = False) -> None:
        """After a look that was so many seconds of work. `unsure`: something must be seen again before it counts;
        `troubled`: something new is in the way, which may be gone in a moment."""
        self.rested = ended + worked
        since = ended - self.hinted
        wait = max(self.interval, min(_SHARE * worked, _LONGEST))
        if since < _SETTLED:
            wait = min(wait, _SETTLED - since)
        if troubled:
            wait = min(wait, _AGAIN)
        if unsure:
            wait = min(wait, _UNSURE if since < _UNSURE_FOR else _UNSURE_LATER)
        self.due = ended + max(wait, worked)


def news(before: SyncReport, report: SyncReport) -> SyncReport:
    """What a report says that the one before did not. What waits for another look is no news yet."""
    return replace(
        report,
        notices=tuple(notice for notice in report.notices if notice not in before.notices),
        pending=tuple(unshown for unshown in report.pending if unshown not in before.pending),
        omitted=() if report.omitted == before.omitted else report.omitted,
        waiting=(),
    )


def directories(folder: str) -> dict[str, int]:
    """The folder and the directories in it that a scan enters, with their inodes. No link is followed."""
    found = {}
    for above, below, _ in os.walk(folder):
        try:
            found[above] = os.stat(above).st_ino
        except OSError:
            continue
        relative = above[len(folder) + 1 :] + "/" if above != folder else ""
        below[:] = [name for name in below if _is_entered(relative + name)]
    return found


def _is_entered(path: str) -> bool:
    hidden = path.rpartition("/")[2].startswith(".")
    utf8 = not any("\ud800" <= character <= "\udfff" for character in path)
    return utf8 and not hidden and not out_of_reach(f"{path}/x.md", RESERVED)


def matters(path: str) -> bool:
    """Whether a change of this file can be one of a memory: not what we or others only write for a moment."""
    name = path.rpartition("/")[2]
    return not temporary.is_ours(name) and (not is_debris(name) or placeholder_of(name) is not None)


class Watch:
    """One store and the one folder it is shown in, for as long as somebody watches.

    `is_here`: whether store and folder are still those of the working directory. `monotonic`: seconds.
    """

    def __init__(
        self,
        store: Store,
        files: Sync | InPlace,
        folder: str | None,
        world: World,
        is_here: Callable[[], bool],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._files, self._world, self._is_here = store, files, world, is_here
        self._folder = folder
        self._now = monotonic
        self._schema = store.schema()
        self._failed = self._deaf_until = float("-inf")
        self._troubles: dict[str, str] = {}
        self._apart = self._clocks()
        self._place_due = monotonic()

    def reports(self, interval: float, stopped: Callable[[], bool]) -> Generator[SyncReport, None, None]:
        """The report of the first look, then those that say something new, until `stopped` or not here any more.

        Ends, too, where another database lies in the place of this one by now: open it again. Raises PlaceRefused where
        another process watches the store; StoreNewer, StoreDamaged and other kinds of StoreUnavailable where the store
        itself cannot be used any longer.
        """
        holder = Watcher(os.getpid(), self._world.clock(), self._folder)
        with suppress(StoreReplaced), watched_by(self._store.directory, holder, self._world.pause):
            schedule = Schedule(interval, self._now())
            before = self._look(schedule, SyncReport(None), interval)
            yield news(SyncReport(None), before)
            while not stopped():
                with closing(self._hints(stopped)) as hints:
                    for hint in hints:
                        if stopped() or not self._is_still_here(interval):
                            return
                        if hint or self._clocks_jumped():
                            schedule.hint(self._now())
                        if self._now() < schedule.due:
                            continue
                        report = self._look(schedule, before, interval)
                        told, before = news(before, report), report
                        if not told.quiet:
                            yield told

    def _look(self, schedule: Schedule, before: SyncReport, interval: float) -> SyncReport:
        begun = time.thread_time()
        report = self._files.absorb()
        report = replace(report, notices=(*report.notices, *self._troubles.values()))
        told = news(before, report)
        if told.notices:
            self._check_store()
        schedule.interval = min(interval, _DEAF) if self._is_deaf() else interval
        worked = time.thread_time() - begun  # not the time that it waited for others
        unsure, troubled = bool(report.waiting), bool(told.notices or told.pending)
        schedule.looked(self._now(), worked, unsure=unsure, troubled=troubled)
        return report

    def _check_store(self) -> None:
        """Raises what a look turns into a notice, where no later look can do better."""
        found = self._store.schema()
        if found != self._schema:
            raise StoreNewer(
                f"{self._store.path} has schema {found} now, this memstore works with {self._schema}",
                hint="another memstore has changed it meanwhile: start this one again, or upgrade it",
            )
        self._store.counts()

    def _is_still_here(self, interval: float) -> bool:
        if self._now() < self._place_due:
            return True
        self._place_due = self._now() + min(interval, _PLACE)
        try:
            here = self._is_here()
        except MemstoreError as error:
            self._troubles["place"] = str(error)
            return True
        self._troubles.pop("place", None)
        if not here:
            self._check_store()  # one that was deleted is not made anew
        return here

    def _clocks(self) -> float:
        return self._world.clock() / 1e6 - self._now()

    def _clocks_jumped(self) -> bool:
        """Whether the person's clock and the one that stands still in a suspended machine moved apart."""
        before, self._apart = self._apart, self._clocks()
        return abs(self._apart - before) > _JUMP

    # Hints

    def _hints(self, stopped: Callable[[], bool]) -> Generator[bool, None, None]:
        """Whether something may have changed, several times a second; ends where the folder went, came or is
        another one, and where the way of being told has to change."""
        folder = self._folder
        if folder is None or _identity(folder) is None or self._is_deaf():
            yield from self._ticks()
            return
        try:
            yield from self._told(folder, stopped)
        except FileNotFoundError:  # it went, or a directory in it did
            self._world.pause(_TICK)
        except (OSError, RuntimeError, UnicodeError) as error:
            self._failed_to_tell(folder, str(error))
        yield True

    def _failed_to_tell(self, folder: str, reason: str) -> None:
        """A failure now and then is nothing: a file name that is not UTF-8 comes to one."""
        now = self._now()
        if now - self._failed < _ONE_FAILURE:
            self._deaf_until = now + _DEAF_FOR
            self._troubles["hints"] = (
                f"the system does not tell of changes in {folder}: {reason}; it is looked at every {_DEAF:g} seconds"
            )
        self._failed = now

    def _is_deaf(self) -> bool:
        return self._now() < self._deaf_until

    def _told(self, folder: str, stopped: Callable[[], bool]) -> Generator[bool, None, None]:
        from watchfiles import watch

        before, real = _identity(folder), os.path.realpath(folder)
        watched, listed = directories(real), self._now()
        end = _End(stopped, self._now)
        changes = watch(
            *watched,
            watch_filter=None,  # a batch that a filter empties is not handed out, and ticks would fail to come
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=end,
            rust_timeout=int(_TICK * 1_000),
            yield_on_timeout=True,
            debug=False,
            recursive=False,  # else it follows links out of the folder
            ignore_permission_denied=False,
        )
        with closing(changes):
            first = True
            for batch in changes:
                end.awaits = self._now() + _OVERDUE
                self._troubles.pop("hints", None)
                # At the first sign the system has begun to tell: what happened before that is looked at now.
                yield first or any(matters(path) for _, path in batch)
                first = False
                if _identity(folder) != before:
                    return
                if batch or self._now() - listed > _PLACE:
                    listed = self._now()
                    if directories(real) != watched:
                        return

    def _ticks(self) -> Generator[bool, None, None]:
        """For a folder that is not there, and where the system cannot tell."""
        deaf = self._is_deaf()
        before, stamp = _identity(self._folder), _stamp(self._folder)
        while deaf == self._is_deaf():
            self._world.pause(_TICK)
            if _identity(self._folder) != before:
                yield True
                return
            earlier, stamp = stamp, _stamp(self._folder)
            yield stamp != earlier


class _End:
    """What the watcher asks several times a second: whether to end."""

    def __init__(self, stopped: Callable[[], bool], now: Callable[[], float]) -> None:
        self._stopped, self._now = stopped, now
        self.awaits = now() + _OVERDUE

    def is_set(self) -> bool:
        return self._stopped() or self._now() > self.awaits


def _status(folder: str | None) -> os.stat_result | None:
    if folder is None:
        return None
    try:
        return os.stat(folder)
    except OSError:
        return None


def _identity(folder: str | None) -> tuple[int, int] | None:
    found = _status(folder)
    return None if found is None else (found.st_dev, found.st_ino)


def _stamp(folder: str | None) -> int | None:
    found = _status(folder)
    return None if found is None else found.st_mtime_ns
