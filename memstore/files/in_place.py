"""An agent's memory that git keeps, read in place: the store takes in what the files say, and nothing else.

The files are the truth, since a branch, a merge or a colleague changes them. Nothing is ever written there: no file, no
claim, no time. Each change of a file is a version, a file that is gone retires its memory, one that comes back revives
it; where the directory itself is gone nothing is decided. The words are the team's: whoever commits wrote them.

A store that has read so once never shows its memories there, whatever git keeps by now: on a branch without the
directory they would become files that are in git's way. `memstore link --new` begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import memstore.core.decisions as d
from memstore.claude.agents import committed, is_agents
from memstore.claude.root import Root
from memstore.core.changes import Change, ChangeSet, Create, LineChange, Rename, Retire, Revise
from memstore.core.gates import find_renames
from memstore.core.index import base_of, in_order, merge, take_in
from memstore.core.model import INDEX_NAME, SHELF, Memory, Provenance
from memstore.core.names import collision_key
from memstore.core.reconcile import looks_broken
from memstore.errors import Conflict, PlaceRefused, StoreBusy, StoreUnavailable
from memstore.files.absorb import resolver
from memstore.files.absorb_index import is_text, translated
from memstore.files.folder import Folder
from memstore.files.intake import left_alone, take_stock
from memstore.files.report import Findings, Noted, SyncReport, counted
from memstore.files.sync import Sync, Verdict
from memstore.store import lines, reader
from memstore.store.connection import Reading
from memstore.store.store import IN_PLACE, Store
from memstore.world import World, author

_ATTEMPTS = 20


def keep_out(store: Store, folder: str | None) -> None:
    """Closes a store to all writes but its own reading, where it is that of a directory that git keeps."""
    if folder is None or store.refusal is not None or not is_agents(folder):
        return
    kept = committed(folder)
    if not kept:
        with store.view() as connection:
            if not reader.has_kind(connection, IN_PLACE):
                return
    why = "git keeps that directory" if kept else "git kept that directory when its store was made"
    store.refusal = PlaceRefused(
        f"memstore only reads the memory in {folder}: {why}, and its files are changed there alone",
        hint="edit the file itself; `memstore sync` takes it in, and git shares it"
        + ("" if kept else ". Where git is to keep it no more: `memstore link --new`"),
    )


@dataclass(slots=True)
class _Plan:
    changes: list[Change] = field(default_factory=list)
    lines: list[LineChange] = field(default_factory=list)
    noted: list[Noted] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def note(self, path: str, what: str, rule: int, detail: str = "") -> None:
        self.noted.append(Noted(path, what, rule, detail))


@dataclass(frozen=True, slots=True)
class _Files:
    """What lies there. `doubtful`: paths of which nothing is known now."""

    texts: dict[str, bytes]
    doubtful: frozenset[str]
    complete: bool
    notices: tuple[str, ...]


def files_of(store: Store, folder: str | None, root: Root, world: World, refusal: str = "") -> Sync | InPlace:
    """What looks after the folder of a store that was opened; `keep_out` has decided which."""
    if folder is not None and store.refusal is not None:
        return InPlace(store, folder, world, world.provenance(root))
    return Sync(store, folder, root.path, world, refusal=refusal, author=partial(author, world, root))


class InPlace:
    """What `Sync` is for a folder that is shown, for one that is only read."""

    def __init__(self, store: Store, path: str, world: World, by: Provenance) -> None:
        self._store = store
        self._path = path
        self._world = world
        self._by = replace(by, origin="team", author="whoever edited the files", session=None)

    def run(self, verdict: Verdict = "ask") -> SyncReport:
        """Takes in what the files say. There is nothing to ask, whatever the `verdict`."""
        return self.absorb()

    def absorb(self) -> SyncReport:
        """The same."""
        return self._look(dry_run=False)

    def preview(self) -> SyncReport:
        """What `run` would take in."""
        return self._look(dry_run=True)

    def settle(self) -> SyncReport:
        """Nothing is shown here."""
        return SyncReport(self._path)

    def omissions(self) -> tuple[str, ...]:
        """None: the index is as somebody wrote it."""
        return ()

    def _look(self, *, dry_run: bool) -> SyncReport:
        found = Findings()
        try:
            files = self._files()
            if files is None:
                found.refuse(f"nothing was decided: {self._path} is not there")
            elif not self._store.writable:
                found.refuse("the store is read-only: nothing is taken in")
            else:
                found.notices += files.notices
                self._take_in(files, found, dry_run)
        except PlaceRefused as error:
            found.refuse(f"{error} ({error.hint})" if error.hint else str(error))
        except StoreUnavailable as error:
            found.stop(f"what changed in {self._path} is not taken in yet: {error}")
        return found.report(None if found.refused else self._path)

    def _files(self) -> _Files | None:
        now = self._world.clock
        folder = Folder.open(self._path, now=lambda: now() * 1_000, pause=self._world.pause)
        if folder is None:
            return None
        with folder:
            scan = folder.scan()
            intake = take_stock(folder, scan, {}, now)
        texts = {
            name: seen.file.content
            for name, seen in intake.seen.items()
            if seen.file.content is not None
            and seen.file.trouble is None
            and not looks_broken(seen.file.content, None)
            and name not in intake.strange
        }
        doubtful = {collision_key(name) for name in (*intake.strange, *intake.seen) if name not in texts}
        return _Files(texts, frozenset(doubtful), scan.complete, tuple(left_alone(intake)))

    def _take_in(self, files: _Files, found: Findings, dry_run: bool) -> None:
        told = False
        for _ in range(_ATTEMPTS):
            with self._store.view() as connection:
                plan = self._plan(connection, files)
            found.absorbed += [] if told else plan.noted
            told = True
            if dry_run or not (plan.changes or plan.lines):
                return
            try:
                found.seq = self._store.apply(self._change_set(plan)).seq
            except Conflict:
                found.absorbed.clear()  # another process looked at the same files
                told = False
            # Once more: a memory that went took its line along, but the line may still stand in the file.
        raise StoreBusy("the memories changed faster than the files could be taken in", hint="try again")

    def _change_set(self, plan: _Plan) -> ChangeSet:
        return ChangeSet(
            self._world.new_id(), IN_PLACE, self._world.clock(), self._by, tuple(plan.changes), tuple(plan.lines),
            reason=f"read in {self._path}", real=False,
        )  # fmt: skip

    def _plan(self, connection: Reading, files: _Files) -> _Plan:
        plan = _Plan()
        heads = {collision_key(head.path): head for head in reader.heads(connection, SHELF, retired=True)}
        texts = {collision_key(name): name for name in files.texts if name != INDEX_NAME}
        new = []
        for key, name in sorted(texts.items()):
            head = heads.get(key)
            if head is None:
                new.append(name)
            else:
                self._plan_known(plan, head, name, files.texts[name])
        gone = [head for key, head in heads.items() if head.state.live and key not in texts]
        self._plan_gone(plan, [head for head in gone if _is_gone(head, files)], new, files)
        for name in new:
            plan.changes.append(Create(self._world.new_id(), SHELF, name, files.texts[name]))
            plan.made[collision_key(name)] = plan.changes[-1].memory
            plan.note(name, "created", 13)
        index = files.texts.get(INDEX_NAME)
        if index is not None and is_text(index):
            self._plan_index(connection, plan, index.decode("utf-8"))
        return plan

    @staticmethod
    def _plan_known(plan: _Plan, head: Memory, name: str, content: bytes) -> None:
        if head.state.live and head.path != name:
            plan.changes.append(Rename(head.id, head.token, name, content))
            plan.note(name, "renamed", 28, f"from {head.path}")
        elif not head.state.live or head.state.content != content:
            plan.changes.append(Revise(head.id, head.token, content))
            plan.made[collision_key(name)] = head.id
            plan.note(name, "revised" if head.state.live else "revived", 22 if head.state.live else 19)

    def _plan_gone(self, plan: _Plan, gone: list[Memory], new: list[str], files: _Files) -> None:
        """Some were renamed (rule 28): `new` loses their names."""
        absent = {head.path: d.Shown(head.state.content, head.version) for head in gone}
        renames = find_renames(absent, {name: d.File(name, files.texts[name]) for name in new})
        for head in gone:
            name = renames.get(head.path)
            if name is None:
                plan.changes.append(Retire(head.id, head.token))
                plan.gone.add(head.id)
                plan.note(head.path, "retired", 29)
            else:
                new.remove(name)
                plan.changes.append(Rename(head.id, head.token, name, files.texts[name]))
                plan.made[collision_key(name)] = head.id
                plan.note(name, "renamed", 28, f"from {head.path}")

    def _plan_index(self, connection: Reading, plan: _Plan, text: str) -> None:
        rows, resolve = lines.rows(connection), resolver(connection, plan.made)
        if not rows:
            added = take_in(text, resolve)
            plan.lines += translated(added, [], self._world.new_id)
            what = "taken over"
        else:
            ordered = in_order(rows)
            whole = "\n".join(line.text for line in ordered)
            edit = merge(base_of(whole, whole, [line.id for line in ordered]), rows, text, resolve, gone=plan.gone)
            plan.lines += [] if edit.restores else translated(edit.changes, rows, self._world.new_id)
            what = "revised"
        if plan.lines:
            plan.note(INDEX_NAME, what, 5, counted(len(plan.lines), "line"))


def _is_gone(head: Memory, files: _Files) -> bool:
    """Whether a memory's file is surely not there: all could be listed, and nothing strange lies at its place."""
    parts = collision_key(head.path).split("/")
    above = {"/".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return files.complete and not above & files.doubtful
