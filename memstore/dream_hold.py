"""What a dream has to itself while it goes on: the lease, and the client's lock in every folder of the store.

The lease is what counts, and is checked where a dream commits; the client's locks keep its own dream away. A model may
think for longer than a lease lasts, so a thread beats meanwhile, through a connection of its own, and keeps the locks
young, which the client takes over after an hour; it dies with its process, whose lease is free at once then. What a
killed dream left in the client's locks is put back by the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from types import TracebackType
from typing import Self

from memstore.claude import consolidate_lock
from memstore.errors import ClientDreams, LeaseLost, MemstoreError, StoreUnavailable
from memstore.store import dreams, ending, leases
from memstore.store.dreams import KIND, HeldLock
from memstore.store.process import is_alive, is_client, me
from memstore.store.store import Store

BEAT = leases.LASTS / 5 / 1_000_000
"""Seconds from one beat to the next."""


class DreamHold:
    """A context manager. Entering raises LeaseHeld or ClientDreams where somebody dreams.

    `owner`: a token of its own for each dream. `said`: what was taken over or left alone, for a person. Set `good` when
    the dream ended well: then the client's locks tell of it, else they are put back as they were.
    """

    def __init__(
        self, store: Store, folders: Sequence[str], owner: str, clock: Callable[[], int], *, beat: float = BEAT
    ) -> None:
        self._store = store
        self._folders = folders
        self._clock = clock
        self._beat = beat
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._taken: list[HeldLock] = []
        self.owner = owner
        self.said: list[str] = []
        self.good = False

    def __enter__(self) -> Self:
        now, process = self._clock(), me()
        with self._store.change() as connection:
            lease = leases.take(connection, KIND, self.owner, process, now, is_alive)
            # Whose runs these were has no lease any more, and so cannot commit them.
            ending.close_interrupted(connection, KIND, now)
        try:
            if lease.after is not None:
                gone = "did not answer any more" if is_alive(lease.after.process) else "is gone"
                self.said.append(f"the lease of process {lease.after.process.pid} was taken over: it {gone}")
            put_back(self._store)
            for folder in self._folders:
                self._take(folder, process.pid)
        except BaseException:
            self._end()
            raise
        self._thread = threading.Thread(target=self._keep_beating, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._end()

    def called_off(self) -> bool:
        """Whether somebody wants the dream to end, or has taken it over; the client too. Raises StoreUnavailable."""
        with self._store.view() as connection:
            lease = leases.current(connection, KIND)
        if lease is None or lease.owner != self.owner or lease.called_off:
            return True
        return any(self._is_the_clients(lock) for lock in self._taken)

    def _is_the_clients(self, lock: HeldLock) -> bool:
        found = consolidate_lock.read(lock.folder)
        return found.pid != lock.pid and consolidate_lock.is_held(found, self._clock(), is_client)

    def _take(self, folder: str, pid: int) -> None:
        now, found = self._clock(), consolidate_lock.read(folder)
        if consolidate_lock.is_held(found, now, is_client):
            raise ClientDreams(folder, found.pid or 0)
        why = consolidate_lock.why_free(found, now)
        with self._store.change() as connection:
            dreams.note_lock(connection, HeldLock(folder, pid, now, found.at))
        try:
            refused = consolidate_lock.take(folder, found, pid, now)
        except ClientDreams:
            with self._store.change() as connection:
                dreams.forget_lock(connection, folder)
            raise
        if refused:
            with self._store.change() as connection:
                dreams.forget_lock(connection, folder)
            self.said.append(f"{consolidate_lock.NAME} in {folder} is left alone: {refused}")
            return
        self._taken.append(HeldLock(folder, pid, now, found.at))
        if why:
            self.said.append(f"{consolidate_lock.NAME} in {folder} was taken over: {why}")

    def _end(self) -> None:
        """Gives everything back. Where the store cannot be written now, who comes next does it."""
        mine = self._taken
        with suppress(StoreUnavailable), self._store.view() as connection:
            there = dreams.locks(connection)  # who has taken the lease over has put its own there, or is done with it
            mine = [lock for lock in mine if lock in there]
        for lock in mine:
            consolidate_lock.give_back(lock.folder, lock.pid, lock.taken_at if self.good else lock.prior)
        with suppress(StoreUnavailable), self._store.change() as connection:
            for lock in mine:
                dreams.forget_lock(connection, lock.folder)
            leases.release(connection, KIND, self.owner)

    def _keep_beating(self) -> None:
        store = self._store
        while not self._over.wait(self._beat):
            try:
                # Opened anew each time: a connection that only waits would keep the log from shrinking.
                with closing(Store.open(store.directory, store.id, self._clock)) as own, own.change() as connection:
                    leases.beat(connection, KIND, self.owner, self._clock())
                for lock in self._taken:
                    consolidate_lock.keep(lock.folder, lock.pid, self._clock())
            except LeaseLost:  # the dream finds out by itself
                return
            except MemstoreError:  # the next beat comes before the lease is over
                continue


def put_back(store: Store) -> None:
    """Gives back the client's locks that a killed dream left. Only for who has the lease."""
    with store.view() as connection:
        left = dreams.locks(connection)
        last = dreams.past(connection, store.now()).last if left else None
    for lock in left:
        ended_well = last is not None and last >= lock.taken_at
        consolidate_lock.give_back(lock.folder, lock.pid, lock.taken_at if ended_well else lock.prior)
    if left:
        with store.change() as connection:
            for lock in left:
                dreams.forget_lock(connection, lock.folder)
