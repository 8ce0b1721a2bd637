"""The loop of every write: read what stands there, plan, apply, and plan anew when somebody was faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memstore.core.changes import Append, Change, ChangeSet, LineChange
from memstore.core.index_values import END
from memstore.core.model import NEW, Applied, Memory, Operation, Provenance, Shelf
from memstore.core.names import check_path, collision_key, file_name
from memstore.core.plan import OnConflict, Wanted, encoded, plan_write
from memstore.core.undo import LineStep, inverse, inverse_lines
from memstore.errors import (
    AlreadyExists,
    Conflict,
    InputRefused,
    NameRefused,
    NameTaken,
    NotFound,
    StaleVersion,
    StoreBusy,
)
from memstore.store import tombstones
from memstore.store.runs import taken_back
from memstore.store.store import Store
from memstore.world import World

_ATTEMPTS = 1_000


@dataclass(frozen=True, slots=True)
class Done:
    """What a write came to. `applied` None: the wanted text stood there already, nothing was written."""

    what: str
    memory: Memory
    applied: Applied | None


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes to one shelf of one store, as one actor."""

    store: Store
    world: World
    provenance: Provenance
    shelf: Shelf

    def find(self, name: str, *, retired: bool = False) -> Memory:
        """The memory that a person means by `name`: its path, with or without `.md`, or its `name` field.

        Raises NotFound, or InputRefused where the name fits several memories.
        """
        found = self.look_up(name)
        if found is not None and (found.state.live or retired):
            return found
        if found is not None:
            raise NotFound(
                f"{found.path} was retired (version {found.token})",
                hint=f"bring it back: memstore restore {found.path}",
            )
        former = self._formerly(name)
        if former is not None and (former.state.live or retired):
            return former
        self._refuse_purged(name)
        raise NotFound(f"there is no memory {name[:80]!r}", hint="see `memstore list` or `memstore search`")

    def look_up(self, name: str) -> Memory | None:
        """As `find`, living or retired; None where there is none."""
        retired = None
        for path in _paths(name):
            found = self.store.at(self.shelf, path)
            if found is not None and found.state.live:
                return found
            retired = retired or found
        named = self.store.named(self.shelf, name)
        if len(named) > 1:
            paths = ", ".join(memory.path for memory in named)
            raise InputRefused(f"the name {name!r} fits several memories: {paths}", hint="give the path of one")
        return named[0] if named else retired

    def _refuse_purged(self, name: str) -> None:
        with self.store.view() as connection:
            found = next((one for path in _paths(name) if (one := tombstones.of_path(connection, path))), None)
        if found is not None:
            raise NotFound(
                f"the memory {name[:80]!r} was purged by operation #{found.seq}; nothing of its text is left",
                hint="`memstore log` says by whom, when and why"
                + ("" if found.swept_at else "; `memstore purge --finish` cleans the database's files after it"),
            )

    def _formerly(self, name: str) -> Memory | None:
        for path in _paths(name):
            found = self.store.formerly_at(self.shelf, path)
            if found is not None:
                return found
        return None

    def write(
        self,
        name: str,
        wanted: Wanted,
        *,
        expect: str | None,
        on_conflict: OnConflict,
        kind: str = "write",
        operation: str | None = None,
        reason: str = "",
    ) -> Done:
        """Creates, replaces or merges. Raises AlreadyExists, StaleVersion, NameRefused; then nothing is written."""
        request = repr((name, wanted, expect, on_conflict))
        return self._once(
            operation, request, kind,
            lambda: self._write(name, wanted, expect, on_conflict, kind, operation, reason, request),
        )  # fmt: skip

    def append(self, name: str, text: str, *, operation: str | None, reason: str) -> Done:
        """Whole lines at the end of whatever stands there; a new memory where nothing does."""
        if not text.strip():
            raise InputRefused("there is no text to append", hint="give it as an argument or on standard input")
        content = encoded(text)
        request = repr((name, "append", text))

        def act() -> Done:
            while True:
                try:
                    return self._change(
                        name, lambda head: Append(head.id, content), "append", False, operation, reason, request
                    )
                except NotFound:
                    found = self.look_up(name)
                    if found is not None and not found.state.live:
                        raise
                    if found is not None:
                        continue  # it came between the two looks
                try:
                    return self._write(name, Wanted(body=text), NEW, "refuse", "append", operation, reason, request)
                except AlreadyExists:
                    continue  # somebody was faster: append to theirs

        return self._once(operation, request, "append", act)

    def change(
        self,
        name: str,
        change: Callable[[Memory], Change | None],
        what: str,
        *,
        retired: bool = False,
        operation: str | None = None,
        reason: str = "",
        asked: object = None,
    ) -> Done:
        """One step on one memory that stands there. `change` gives None where nothing is to be done."""
        request = repr((name, what, asked))
        return self._once(
            operation, request, what, lambda: self._change(name, change, what, retired, operation, reason, request)
        )

    def undo(self, undone: Operation, *, operation: str | None = None) -> Applied:
        """Takes a whole operation back, by another one. Raises Conflict where later work stands in the way."""
        request = repr(("undo", undone.id))
        done = None if operation is None else self.store.done(operation, request, "undo")
        if done is not None:
            return done
        try:
            return self._undo(undone, operation, request)
        except Conflict:
            done = None if operation is None else self.store.done(operation, request, "undo")
            if done is None:
                raise
            return done

    def _undo(self, undone: Operation, operation: str | None, request: str) -> Applied:
        with self.store.view() as connection:
            tombstones.check_undo(connection, undone.seq)
        for _ in range(_ATTEMPTS):
            steps, line_steps = self.store.steps(undone.seq)
            changes = inverse(steps)
            kept = self._without_end(line_steps)
            lines = inverse_lines(kept, lambda line: line.kind == "auto")
            if not changes and not lines:
                raise Conflict(self._why_nothing(undone), hint="see `memstore log`")
            try:
                return self.apply(
                    changes, "undo", lines=lines, operation=operation, request=request, undoes=undone.id,
                    reason=f"undo of #{undone.seq} ({undone.kind})",
                )  # fmt: skip
            except StaleVersion:
                continue  # somebody was faster: take back from what stands there now
        raise StoreBusy(f"the memories of #{undone.seq} changed {_ATTEMPTS} times meanwhile", hint="try again")

    def _why_nothing(self, undone: Operation) -> str:
        with self.store.view() as connection:
            by = taken_back(connection, undone.id)
        if by is not None:
            return f"operation #{undone.seq} was taken back already, by #{by}"
        return f"operation #{undone.seq} changed nothing that could be taken back"

    def _without_end(self, steps: list[LineStep]) -> list[LineStep]:
        """The last newline came with the first line of ours, but serves all lines that came after."""
        made = {step.id for step in steps if step.before is None}
        ours = any(step.now.kind == "auto" for step in steps if step.id in made)
        if not ours or all(line.id in made for line in self.store.index(self.shelf)):
            return steps
        return [step for step in steps if step.id not in made or step.now.rank != END]

    def _write(
        self, name: str, wanted: Wanted, expect: str | None, on_conflict: OnConflict, kind: str,
        operation: str | None, reason: str, request: str,
    ) -> Done:  # fmt: skip
        new_id = self.world.new_id()
        for _ in range(_ATTEMPTS):
            head = self.look_up(name)
            named = None
            if head is not None and expect not in (None, NEW, head.token):
                named = self.store.version(head.id, token=expect or "")
            path = own_path(name) if head is None else head.path
            plan = plan_write(
                head, named, expect, wanted, path=path, title=_title(name), shelf=self.shelf, new_id=new_id,
                on_conflict=on_conflict,
            )  # fmt: skip
            if plan.change is None:
                assert head is not None
                return Done("unchanged", head, None)
            try:
                applied = self.apply((plan.change,), kind, operation=operation, reason=reason, request=request)
            except (StaleVersion, NameTaken):
                continue  # somebody was faster: plan against what stands there now
            what = "created" if head is None else "merged" if plan.merged else "revised"
            return self._done(what, applied)
        raise StoreBusy(f"{name} changed {_ATTEMPTS} times while it was being written", hint="try again")

    def _change(
        self, name: str, change: Callable[[Memory], Change | None], what: str, retired: bool,
        operation: str | None, reason: str, request: str,
    ) -> Done:  # fmt: skip
        for _ in range(_ATTEMPTS):
            head = self.find(name, retired=retired)
            step = change(head)
            if step is None:
                return Done("unchanged", head, None)
            try:
                applied = self.apply((step,), what, operation=operation, reason=reason, request=request)
            except StaleVersion:
                continue  # only steps that name the head they have just read come here
            return self._done(what, applied)
        raise StoreBusy(f"{name} changed {_ATTEMPTS} times while it was being written", hint="try again")

    def apply(
        self,
        changes: tuple[Change, ...],
        kind: str,
        *,
        operation: str | None = None,
        reason: str = "",
        request: str = "",
        undoes: str | None = None,
        lines: tuple[LineChange, ...] = (),
    ) -> Applied:
        """One operation of this actor's."""
        return self.store.apply(
            ChangeSet(
                operation or self.world.new_id(), kind, self.world.clock(), self.provenance, changes, lines,
                reason=reason, request=request, undoes=undoes,
            )
        )  # fmt: skip

    def _once(self, operation: str | None, request: str, kind: str, act: Callable[[], Done]) -> Done:
        """What the operation did when it was asked for before, also by a twin that was faster just now; else acts."""
        done = self._done_before(operation, request, kind)
        if done is not None:
            return done
        try:
            found = act()
        except (Conflict, NotFound):
            done = self._done_before(operation, request, kind)
            if done is None:
                raise
            return done
        if found.applied is not None:
            return found
        return self._done_before(operation, request, kind) or found

    def _done_before(self, operation: str | None, request: str, kind: str) -> Done | None:
        if operation is None:
            return None
        applied = self.store.done(operation, request, kind)
        return None if applied is None else self._done("repeated", applied)

    def _done(self, what: str, applied: Applied) -> Done:
        """The memory as this operation left it: another token would stand for words that its caller never saw."""
        written = applied.versions[0]
        head = self.store.memory(written.memory)
        assert head is not None
        if head.token != written.token:
            head = replace(
                head, version=written.number, token=written.token, state=written.state, name=written.name,
                description=written.description, type=written.type, origin=written.origin, changed_at=written.at,
                seq=written.seq,
            )  # fmt: skip
        return Done("repeated" if applied.repeated else what, head, applied)


def _paths(name: str) -> list[str]:
    """The paths that a person may mean by a name, likeliest first."""
    found: list[str] = []
    for make in (check_path, _as_path, file_name):
        try:
            path = make(name)
        except NameRefused:
            continue
        if collision_key(path) not in {collision_key(known) for known in found}:
            found.append(path)
    return found


def _as_path(name: str) -> str:
    return check_path(f"{name}.md")


def own_path(name: str) -> str:
    """The path for a new name: a title's file name; a path with directories is taken as it is."""
    return check_path(name) if "/" in name and name.endswith(".md") else file_name(name)


def _title(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".md") or name
