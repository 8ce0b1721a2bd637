"""Sessions of agents, as far as it takes time: what one is told at its start, and where saving rests.

A session loads MEMORY.md before its first hook runs (at `startup`), or reads it again after that (`resume`, `clear`,
`compact`, `fork`). What is kept as its base is what lay there when the hook began: nothing else can be too new.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from memstore import noted
from memstore.app import Memstore
from memstore.claude import nearby
from memstore.claude.hooks import Event, plain_text
from memstore.claude.paths import index_is_loaded
from memstore.core.index_lines import CLIENT, loaded_view, measure
from memstore.core.model import INDEX_NAME
from memstore.core.notes_text import units
from memstore.errors import MemstoreError, Mendable, NotFound, SettingRefused, StoreBusy
from memstore.files.report import SyncReport
from memstore.hooking import changes_line, names_of
from memstore.place import Place, find_place
from memstore.store import dreams, jobs, quick, recalled, runs, sessions, spool, steps
from memstore.store.inbox import Arrival
from memstore.store.settings import load as load_settings
from memstore.world import World

Starter = Callable[[str, str, list[str]], None]
"""Starts the worker: home, store, folders."""

_SHOWN_LINES = 20
_SHOWN_RUNS = 5
_MOST_TOLD = 9_500
"""UTF-16 units: of what is longer than 10,000 the client shows the session a piece."""
_SCOPES = {"session": "this session", "worktree": "this worktree", "store": "this repository"}


def start(event: Event, env: Mapping[str, str], start_worker: Starter) -> tuple[str, str]:
    """What a session that starts is told, and a line for the person where something is in the way."""
    world = World.real(event.cwd)
    try:
        place = find_place(world)
        if place.folder is None:
            return "", _line(place.refusal)
        return _Start(event, env, world, place, os.path.realpath(place.folder), start_worker).told()
    except MemstoreError as error:
        return "", _told(error)


class _Start:
    def __init__(
        self, event: Event, env: Mapping[str, str], world: World, place: Place, folder: str, start_worker: Starter
    ) -> None:
        self._event = event
        self._env = env
        self._world = world
        self._place = place
        self._folder = folder
        self._start_worker = start_worker
        self._loads = index_is_loaded(env)
        self._loaded = nearby.read_small(os.path.join(folder, INDEX_NAME)) if self._loads else None
        self._session = event.session_id or ""
        self._told_until = 0

    def told(self) -> tuple[str, str]:
        """Keeps the base, syncs, and says what the load lacks."""
        kept, trouble = self._keep_base()
        busy = trouble == quick.BUSY
        try:
            with Memstore.open(world=self._world) as app:
                return self._in_store(app, kept, busy)
        except Mendable as error:
            return "", _told(error)

    def _keep_base(self) -> tuple[bool, str]:
        """Before anything else: the row of what is loaded. Where the store cannot be written it is spooled."""
        store = self._place.store
        if store is None or self._loaded is None:
            return False, ""
        home, now = self._place.home.path, self._world.clock()
        connection = quick.open_quick(nearby.database(home, store), 500)
        text, why = self._loaded, connection if isinstance(connection, str) else ""
        if not isinstance(connection, str):
            try:
                if self._folder not in sessions.folders(connection):
                    return False, ""
                text = sessions.surely_loaded(connection, self._folder, self._loaded, now)
                quick.write(connection, sessions.STATEMENTS, [self._base(text, now)])
            except quick.Error as error:
                why = quick.reason(error)
            finally:
                connection.close()
        if why:
            with suppress(OSError):
                spool.put(home, store, [self._base(text, now)], now)
        return not why, why

    def _base(self, text: bytes, now: int) -> quick.Record:
        root = self._place.root
        values = (
            f"load {self._event.session} {now}", "load", "done", self._folder, INDEX_NAME, self._event.session,
            self._event.prompt, root.worktree, root.branch, None, None, sessions.stored(text), now,
        )  # fmt: skip
        return "arrival", values

    def _in_store(self, app: Memstore, kept: bool, busy: bool) -> tuple[str, str]:
        store = app.store
        if not kept and not busy and self._loaded is not None and store.writable:
            _, values = self._base(self._loaded, self._world.clock())  # the folder is met for the first time
            store.receive([_arrival(values)])
        with store.view() as connection:
            heard = sessions.heard(connection, self._session)
            paused = sessions.pauses(connection, self._session, self._place.root.worktree)
        report = None
        if not paused and not busy:
            self._make_folder(app)
            report = app.files.absorb()
            if app.place.store is not None and (report.waiting or jobs.are_due(store)):
                self._start_worker(app.place.home.path, app.place.store, [self._folder])
        index = self._index_lines() if self._loads else []
        context = [*_pause_lines(paused), *index, *self._news(app, heard)]
        notes = "" if paused or self._event.source != "compact" else self._notes(app)
        if not busy and store.writable:
            self._remember(app)
        trouble = _trouble(report)
        if busy:
            trouble = "another process keeps the store locked; memories are brought up to date later"
        return _with_notes(context, notes), _line(trouble)

    def _make_folder(self, app: Memstore) -> None:
        """The client makes the folder for its first session, as was seen, after this hook has run: too late to be
        claimed before the session writes. A folder that was known and is gone is another matter."""
        with app.store.view() as connection:
            known = self._folder in sessions.folders(connection)
        if not known:
            with suppress(OSError):
                os.makedirs(self._folder, exist_ok=True)

    def _index_lines(self) -> list[str]:
        """What the session's copy of MEMORY.md lacks: what was cut, and at `startup` what came after the load."""
        now = nearby.read_small(os.path.join(self._folder, INDEX_NAME)) or b""
        text = now.decode("utf-8", "replace")
        view = loaded_view(text)
        lines, units = measure(text)
        told = []
        if lines > CLIENT.lines or units > CLIENT.units:
            whole = view.count("\n") + 1
            told.append(f"memstore: {INDEX_NAME} has {lines} lines, {whole} of them are loaded: read it for the rest")
        if self._event.source == "startup":
            known = set(loaded_view((self._loaded or b"").decode("utf-8", "replace")).split("\n"))
            new = [line for line in view.split("\n") if line.strip() and line not in known]
            if new:
                told.append(f"memstore: lines of {INDEX_NAME} that came after it was loaded:")
                told += [plain_text(line) for line in new[:_SHOWN_LINES]]
                if len(new) > _SHOWN_LINES:
                    told.append(f"({len(new) - _SHOWN_LINES} more lines: read {INDEX_NAME})")
        return told

    def _news(self, app: Memstore, heard: int | None) -> list[str]:
        """What others changed since the session last heard, and what waits for somebody to look at it."""
        paths, who = list[str](), list[tuple[str, str, str]]()
        with app.store.view() as connection:
            self._told_until = sessions.last_operation(connection)
            if heard is not None:
                paths, who = sessions.changed_by_others(connection, heard, self._session)
            conflicts, failed = sessions.open_conflicts(connection), sessions.failed_jobs(connection)
            saved = runs.saved_untold(connection)
            dreamt, waiting = dreams.untold(connection), steps.waiting(connection)
            new = sessions.without_line(connection, self._session)
        told = [changes_line(paths, who)] if paths else []
        told += _dream_lines(dreamt, waiting)
        by_dreams = {dream.operation for dream in dreamt}
        told += _saved_lines([each for each in saved if each[0] not in by_dreams])
        if new:
            told.append(f"memstore: memories that {INDEX_NAME} does not name yet:")
            told += [plain_text(f"{path}: {description}") for path, description in new[:_SHOWN_LINES]]
            if len(new) > _SHOWN_LINES:
                told.append(f"({len(new) - _SHOWN_LINES} more: `memstore list`)")
        omitted = len(app.files.omissions())
        if omitted:
            has = "1 memory has" if omitted == 1 else f"{omitted} memories have"
            told.append(
                f"memstore: {has} no line in {INDEX_NAME} for lack of room: `memstore search WORDS` finds them,"
                " `memstore status` names them"
            )
        if conflicts:
            where = ", ".join(plain_text(path, 80) for path in conflicts[:8])
            told.append(f"memstore: open conflicts in {where}: `memstore conflicts` shows both sides")
        if failed:
            told.append(f"memstore: {failed} failed {'job' if failed == 1 else 'jobs'}: see `memstore extract status`")
        return told

    def _notes(self, app: Memstore) -> str:
        """What the session goes on from when its conversation was taken away."""
        try:
            with app.store.view() as connection:
                settings = load_settings(self._place.home.path, self._env, connection)
        except SettingRefused:
            return ""
        return noted.notes_of(app.store, settings, self._session)

    def _remember(self, app: Memstore) -> None:
        root = self._place.root
        last = self._told_until  # what came after it the session has not been told
        with suppress(StoreBusy), app.store.change() as connection:
            transcript = self._event.transcript if nearby.is_transcript(self._event.transcript, self._env) else None
            values = (self._session, self._event.source[:20], root.worktree, root.branch, transcript, last)
            sessions.write(connection, "started", (*values, self._world.clock()))
            if self._event.source in ("compact", "clear"):
                recalled.clear(connection, self._session, self._world.clock())
            runs.tell(connection, [run.id for run in runs.untold(connection, last)])
        if self._event.source in ("compact", "clear"):
            from memstore.agents import forget_told

            forget_told(self._world, self._session)


# Pausing


def pause(app: Memstore, scope: str) -> str:
    """Lets automatic saving rest. Returns what it rests for."""
    _set(app, "pause", scope)
    return _SCOPES[scope]


def resume(app: Memstore, scopes: Sequence[str]) -> list[str]:
    """Ends pauses. Returns those that were on."""
    return [_SCOPES[scope] for scope in scopes if _set(app, "resume", scope)]


def paused(app: Memstore) -> list[str]:
    """What is paused as it concerns this session and this worktree, in words."""
    with app.store.view() as connection:
        found = sessions.pauses(connection, session_of(app.world) or "", app.place.root.worktree)
    return [_SCOPES[scope] for scope in found]


def session_of(world: World) -> str | None:
    """The session that a process was started in."""
    return world.environment.get("MEMSTORE_SESSION") or world.environment.get("CLAUDE_CODE_SESSION_ID") or None


def _set(app: Memstore, what: str, scope: str) -> bool:
    key = {"session": session_of(app.world), "worktree": app.place.root.worktree, "store": ""}[scope]
    if key is None:
        raise NotFound("this process belongs to no session", hint="give --worktree or --store")
    now = app.world.clock()
    values = (scope, key, now) if what == "pause" else (scope, key)
    with app.store.change() as connection:
        if what == "resume":
            sessions.write(connection, "rested", (scope, key, now))
        return sessions.write(connection, what, values)


def _saved_lines(saved: Sequence[tuple[int, Sequence[str]]]) -> list[str]:
    """What the extraction kept of turns that are over."""
    told = []
    for seq, paths in saved[-_SHOWN_RUNS:]:
        count = "1 memory" if len(paths) == 1 else f"{len(paths)} memories"
        back = f"(`memstore undo {seq}` takes that back)"
        told.append(f"memstore: saved {count} of an earlier turn: {names_of(paths)} {back}")
    if len(saved) > _SHOWN_RUNS:
        told.append(f"({len(saved) - _SHOWN_RUNS} more turns: `memstore extract log`)")
    return told


def _dream_lines(dreamt: Sequence[dreams.Untold], waiting: Sequence[tuple[str, int]]) -> list[str]:
    """What dreams did, and what they ask."""
    told = []
    for dream in dreamt[-_SHOWN_RUNS:]:
        counts = {"merged": dream.merged, "updated": dream.revised, "retired": dream.deleted, "created": dream.created}
        done = ", ".join(f"{word} {count}" for word, count in counts.items() if count)
        back = f"`memstore undo {dream.operation}` takes that back"
        told.append(f"memstore: the dream {done} (`memstore dream show {dream.run[:13]}`; {back})")
    for run, count in waiting[:_SHOWN_RUNS]:
        what = "1 step waits" if count == 1 else f"{count} steps wait"
        told.append(f"memstore: {what} for the person's answer to a dream: `memstore dream show {run[:13]}`")
    return told


def _arrival(values: tuple[str | bytes | int | None, ...]) -> Arrival:
    session, at, result = str(values[5]), values[12], values[11]
    assert isinstance(at, int)
    content = result.encode() if isinstance(result, str) else result
    assert content is None or isinstance(content, bytes)
    worktree, branch = (None if value is None else str(value) for value in values[7:9])
    return Arrival(
        str(values[0]), "load", "done", str(values[3]), INDEX_NAME, at, session, None, worktree, branch, result=content
    )


def _pause_lines(scopes: Sequence[str]) -> list[str]:
    if not scopes:
        return []
    where = " and ".join(_SCOPES[scope] for scope in scopes)
    return [f"memstore: automatic saving is paused for {where}; `memstore resume` ends that"]


def _with_notes(lines: Sequence[str], notes: str) -> str:
    """The lines, and what is left of the room for notes; these have most of it where they need it."""
    wanted = noted.told(notes, _MOST_TOLD)
    told = _within(lines, _MOST_TOLD - min(units(wanted) + 1, noted.LEAST))
    shown = noted.told(notes, _MOST_TOLD - units(told) - 1)
    return "\n".join(filter(None, (told, shown)))


def _within(lines: Sequence[str], most: int) -> str:
    """The lines that there is room for, whole, and how many there is none for."""
    told, used = list[str](), 0
    for number, line in enumerate(lines):
        used += units(line) + 1
        if used > most:
            return "\n".join((*told, f"({len(lines) - number} more lines: `memstore status` and `memstore log`)"))
        told.append(line)
    return "\n".join(told)


def _trouble(report: SyncReport | None) -> str:
    if report is None:
        return ""
    if report.folder is None or report.stopped:
        return report.notices[0] if report.notices else ""
    return f"{report.pending[0].path} is not shown: {report.pending[0].reason}" if report.pending else ""


def _told(error: MemstoreError) -> str:
    return _line(f"{error} ({error.hint})" if error.hint else str(error))


def _line(text: str) -> str:
    return f"memstore: {plain_text(text, 500)}" if text else ""
