"""What each hook of the client does. Cheap to import: nothing here needs the rest of memstore but `SessionStart`.

| event | what is done |
|---|---|
| SessionStart | `sessions.start`: keeps what is loaded as the session's base, syncs, says what that load lacks |
| UserPromptSubmit | says what others changed since the session last heard, and what memories bear on the prompt |
| PreToolUse of Write, Edit | a row in the inbox: what is about to be written, and what lies there |
| PostToolUse of Write, Edit, Read | the row is done; a worker takes it in. An agent's own memory gets its store |
| PostToolUseFailure of Write, Edit | the row counts as given up, at once |
| PostToolUse of Bash | where the command speaks of the folder, a worker looks at the files |
| Stop, PreCompact, SessionEnd | a job for the extraction; after Stop the index lines that waited are due |
| PreCompact | waits for an update of the session's notes that is going on, for none that has yet to begin |

In a fork that memstore made of a session nothing of this is done (`claude/forks.py` says what is).
Where the client's own switches turn memory off, nothing is done. Where saving is paused, rows are still kept, so that
no later merge goes wrong; but nothing is taken in, shown, queued or said by itself.
What cannot be written is spooled (`store/spool.py`). Only where that fails too is there a line for the person.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from memstore.claude import hooks, nearby
from memstore.store import quick, sessions
from memstore.store.quick import Record

_ENDS = ("Stop", "PreCompact", "SessionEnd")
_PATIENCE = {"UserPromptSubmit": 100, "PreToolUse": 200, "PostToolUseFailure": 200, "SessionEnd": 300}
"""Milliseconds for the store's lock; half a second for the others."""

NOTES_WAIT = 15.0
"""Seconds that a compaction waits for notes at most, as the client's own does."""
_LOOK = 0.1


class Hook:
    """One call. `off` False: a variable switches the client's memory on, whatever the settings say."""

    def __init__(self, name: str, env: Mapping[str, str], site: str, off: bool | None) -> None:
        self._name = name
        self._env = env
        self._site = site
        self._off = off
        self._now = time.time_ns() // 1_000
        self._json = quick.Json()
        self._home = nearby.home_of(env)
        self._patience = _PATIENCE.get(name, 500)

    def answer(self, data: bytes | None) -> bytes:
        """What is to be printed. `data` None: there was more than is looked at."""
        if data is None:
            self._look_everywhere()
            return b""
        event = self._event(data)
        if event is None or event.session is None:
            return b""
        place = nearby.workplace(event.cwd, self._env)
        if place is None:
            return b""
        started, event.cwd, here = place
        if self._off is None and nearby.set_off(self._env, here[0], started, self._json):
            return b""
        context, message = self._act(event, here)
        return self._json.answer(self._name, context, message)

    def _event(self, data: bytes) -> hooks.Event | None:
        found = self._json.fields(data, hooks.FIELDS)
        if found is None:
            return None
        values = tuple(hooks.decoded(value) if isinstance(value, bytes) else value for value in found)
        edits: list[tuple[str, str, bool]] = []
        if b'"MultiEdit"' in data:
            edits = [(hooks.decoded(old), hooks.decoded(new), every) for old, new, every in self._json.edits(data)]
        return hooks.Event(values, edits)

    def _act(self, event: hooks.Event, here: tuple[str, str, str | None]) -> tuple[str, str]:
        if self._name == "SessionStart":
            from memstore.sessions import start

            return start(event, self._env, self.start_worker)
        if self._home is None:
            return "", ""
        if self._name == "UserPromptSubmit":
            return self._prompted(event, here, self._home), ""
        if self._name == "PreToolUse":
            return self._before(event, here, self._home)
        if self._name == "PostToolUseFailure":
            return self._failed(event, here, self._home)
        if self._name == "PostToolUse":
            shell = event.tool == "Bash"
            return self._after_shell(event, here, self._home) if shell else self._after(event, here, self._home)
        return self._ended(event, here, self._home)

    # Tools

    def _before(self, event: hooks.Event, here: tuple[str, str, str | None], home: str) -> tuple[str, str]:
        claim = nearby.claimed(event.file_path, self._json) if event.tool in hooks.WRITERS else None
        if claim is not None and event.tool_use is not None:
            folder, store, name = claim
            found = nearby.read_small(os.path.join(folder, name))
            record = self._arrival(event, here, folder, name, "open", found, None, hooks.expected(event, found))
            self._write(home, store, [record])  # without it the call is heard of when it is done
        return "", ""

    def _after(self, event: hooks.Event, here: tuple[str, str, str | None], home: str) -> tuple[str, str]:
        claim = nearby.claimed(event.file_path, self._json)
        if claim is None and event.tool in hooks.WRITERS and "/agent-memory" in (event.file_path or ""):
            self._spawn("adopt", event.file_path or "", event.cwd or here[1])
        if claim is None or event.tool_use is None:
            return "", ""
        folder, store, name = claim
        file = nearby.read_small(os.path.join(folder, name))
        if event.tool in hooks.WRITERS:
            original, result = hooks.overwritten(event), hooks.outcome(event, file)
        elif event.tool == "Read":
            original, result = None, hooks.seen_whole(event, file)
        else:
            return "", ""
        if result is None:
            return "", ""
        message = self._keep(
            home, store, [self._arrival(event, here, folder, name, "done", None, original, result)],
            event, here, [] if event.tool == "Read" else [folder],
        )  # fmt: skip
        return "", message

    def _failed(self, event: hooks.Event, here: tuple[str, str, str | None], home: str) -> tuple[str, str]:
        claim = nearby.claimed(event.file_path, self._json) if event.tool in hooks.WRITERS else None
        if claim is not None and event.tool_use is not None:
            folder, store, name = claim
            record: Record = ("failed", (event.tool_use, event.session, folder, name))
            self._keep(home, store, [record], event, here, [])  # else the row is given up when its time is over
        return "", ""

    def _after_shell(self, event: hooks.Event, here: tuple[str, str, str | None], home: str) -> tuple[str, str]:
        store = nearby.store_of(home, here[0], self._json)
        connection = None if store is None or event.command is None else self._open(home, store)
        if store is None or event.command is None or connection is None or isinstance(connection, str):
            return "", ""
        user = self._env.get("HOME", "")
        spoken = [folder for folder in sessions.folders(connection) if hooks.names_folder(event.command, folder, user)]
        paused = bool(spoken) and self._is_paused(connection, event, here)
        connection.close()
        if spoken and not paused:
            self.start_worker(home, store, spoken)
        return "", ""

    def _arrival(
        self,
        event: hooks.Event,
        here: tuple[str, str, str | None],
        folder: str,
        name: str,
        state: str,
        found: bytes | None,
        original: bytes | None,
        result: bytes | None,
    ) -> Record:
        kind = {"Write": "write", "Read": "read"}.get(event.tool, "edit")
        texts = (sessions.stored(found), sessions.stored(original), sessions.stored(result))
        who = (event.session, event.prompt, here[1], here[2])
        return "arrival", (event.tool_use, kind, state, folder, name, *who, *texts, self._now)

    # Turns

    def _prompted(self, event: hooks.Event, here: tuple[str, str, str | None], home: str) -> str:
        """What others changed, and the memories that surely bear on the prompt."""
        store = nearby.store_of(home, here[0], self._json)
        connection = None if store is None else self._open(home, store)
        if store is None or connection is None or isinstance(connection, str) or event.session_id is None:
            return ""
        if os.path.isdir(os.path.join(home, "spool")):
            from memstore.store import spool

            if spool.waiting(home, store):
                self.start_worker(home, store, [])
        if self._is_paused(connection, event, here):
            return ""
        told = self._changes(connection, event.session_id, here)
        some = sessions.has_memories(connection) or hooks.names_agent(event.words)
        about = some and hooks.has_substance(event.words)
        if event.agent is None and (about or sessions.has_picks(connection, event.session_id)):
            from memstore.reminding import remind

            database, cwd = nearby.database(home, store), event.cwd or here[1]
            found = remind(connection, database, home, self._env, event, cwd, told, self._picker(home, store))
            told = "\n".join(filter(None, (told, found)))
        return told

    def _changes(self, connection: quick.Connection, session: str, here: tuple[str, str, str | None]) -> str:
        """A line about what others changed since the session last heard."""
        heard, last = sessions.heard(connection, session), sessions.last_operation(connection)
        if heard == last:
            return ""
        told = ""
        if heard is not None:
            told = changes_line(*sessions.changed_by_others(connection, heard, session))
        if told or heard is None or last - heard > 50:
            record: Record = ("heard", (session, here[1], here[2], last, self._now))
            quick.try_write(connection, sessions.STATEMENTS, [record])
        return told

    def _ended(self, event: hooks.Event, here: tuple[str, str, str | None], home: str) -> tuple[str, str]:
        store = nearby.store_of(home, here[0], self._json)
        if store is None or event.session_id is None or event.agent is not None:
            return "", ""
        records: list[Record] = []
        if nearby.is_transcript(event.transcript, self._env):
            job = f"{self._name} {event.session_id} {self._now}"
            cwd = event.cwd or here[1]
            records.append(("job", (job, event.session_id, event.transcript, cwd, self._name, self._now)))
        if self._name == "Stop":
            records.append(("ended", (event.session_id, here[1], here[2], self._now)))
        # Looked at before the worker is started: what it begins now is nobody's to wait for.
        begun = self._begun_notes(home, store, event.session_id) if self._name == "PreCompact" else None
        told = self._keep(home, store, records, event, here, [], quiet=True) if records else ""
        if begun is not None:
            self._wait_for_notes(home, store, event.session_id, begun)
        return "", told

    def _begun_notes(self, home: str, store: str, session: str) -> str | None:
        """The update of a session's notes that is going on."""
        connection = self._open(home, store)
        if isinstance(connection, str):
            return None
        try:
            return sessions.running_notes(connection, session)
        except quick.Error:
            return None
        finally:
            connection.close()

    def _wait_for_notes(self, home: str, store: str, session: str, run: str) -> None:
        """Returns when this update has ended or its worker is gone, after `NOTES_WAIT` at the latest."""
        from memstore.store.worker_turn import is_working

        directory, end = os.path.join(home, "stores", store), time.monotonic() + NOTES_WAIT
        while time.monotonic() < end and is_working(directory, "extract"):
            if self._begun_notes(home, store, session) != run:
                return
            time.sleep(_LOOK)

    # The store

    def _keep(
        self,
        home: str,
        store: str,
        records: list[Record],
        event: hooks.Event,
        here: tuple[str, str, str | None],
        folders: list[str],
        *,
        quiet: bool = False,
    ) -> str:
        """Writes records, or spools them, and starts the worker. The answer says what could not be kept at all."""
        why, paused = self._stored(home, store, records, event, here, quiet)
        if not why:
            if not paused and (folders or self._name in _ENDS):
                self.start_worker(home, store, folders)
            return ""
        from memstore.store import spool

        try:
            spool.put(home, store, records, self._now)
        except OSError as error:
            spooled = error.strerror or "it cannot be written"
            return f"memstore: what this session just did is not recorded: the store: {why}; the spool: {spooled}"
        return ""

    def _stored(
        self,
        home: str,
        store: str,
        records: list[Record],
        event: hooks.Event,
        here: tuple[str, str, str | None],
        quiet: bool,
    ) -> tuple[str, bool]:
        """Why the records cannot be written, or nothing; and whether saving is paused. `quiet`: then they are not."""
        connection = self._open(home, store)
        if isinstance(connection, str):
            return connection, False
        try:
            paused = self._is_paused(connection, event, here)
            if not (paused and quiet):
                quick.write(connection, sessions.STATEMENTS, records)
        except quick.Error as error:
            return quick.reason(error), False
        finally:
            connection.close()
        return "", paused

    def _write(self, home: str, store: str, records: list[Record]) -> None:
        connection = self._open(home, store)
        if not isinstance(connection, str):
            quick.try_write(connection, sessions.STATEMENTS, records)
            connection.close()

    def _open(self, home: str, store: str) -> quick.Connection | str:
        return quick.open_quick(nearby.database(home, store), self._patience)

    def _is_paused(self, connection: quick.Connection, event: hooks.Event, here: tuple[str, str, str | None]) -> bool:
        return bool(sessions.pauses(connection, event.session_id or "", here[1]))

    # The worker

    def _look_everywhere(self) -> None:
        """A call that was too large to be looked at may have been one of ours."""
        here = nearby.checkout(os.getcwd()) if self._name == "PostToolUse" and self._home is not None else None
        store = None if here is None or self._home is None else nearby.store_of(self._home, here[0], self._json)
        if store is not None and self._home is not None:
            self.start_worker(self._home, store, [])

    def start_worker(self, home: str, store: str, folders: list[str]) -> None:
        """Lets a process of its own take in what waits, unless one has been started that has not begun yet."""
        if not _somebody_waits(os.path.join(home, "stores", store), "work"):
            self._spawn("work", store, *folders)

    def _picker(self, home: str, store: str) -> Callable[[], None]:
        """Starts a process of its own that asks a model to pick memories, unless one waits."""
        directory = os.path.join(home, "stores", store)
        return lambda: None if _somebody_waits(directory, "pick") else self._spawn("pick", store)

    def _spawn(self, *words: str) -> None:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")
        command = [sys.executable, "-I", "-S", script, "--site", self._site, *words]
        # Nobody's pipes are held: the client waits until they are closed.
        null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            os.posix_spawn(sys.executable, command, dict(self._env), file_actions=null, setsid=True)
        except NotImplementedError:
            os.posix_spawn(sys.executable, command, dict(self._env), file_actions=null, setpgroup=0)
        except OSError:
            return  # the next command does it


def changes_line(paths: list[str], who: list[tuple[str, str, str]]) -> str:
    """One line about what others changed. `who`: (session, worktree, origin) of each."""
    if not paths:
        return ""
    by = "; ".join(_named(*one) for one in who[:3]) + (f"; and {len(who) - 3} others" if len(who) > 3 else "")
    count = len(paths) - (sessions.INDEX in paths)
    memories = "1 memory" if count == 1 else f"{count} memories" if count else ""
    what = " and ".join(filter(None, (memories, "the index" if count < len(paths) else "")))
    return f"memstore: {what} changed: {names_of(paths)}, by {by}"


def names_of(paths: Sequence[str]) -> str:
    """Paths as an agent is told them unasked. An empty one stands for a memory whose words are a tool's."""
    names = [path for path in paths if path]
    told = [", ".join(hooks.plain_text(path, 80) for path in names[:8])] if names else []
    if len(names) > 8:
        told[0] += f" and {len(names) - 8} more"
    if len(names) < len(paths):
        told.append(f"{len(paths) - len(names)} with words of tools")
    return ", ".join(told)


def _named(session: str, worktree: str, origin: str) -> str:
    where = f" in worktree {hooks.plain_text(os.path.basename(worktree), 60)}" if worktree else ""
    if session:
        return f"session {hooks.plain_id(session)}{where}"
    words = {"person": "a person", "file": "an edit of the files", "import": "an import"}
    return words.get(origin, "another agent") + where


def _somebody_waits(directory: str, kind: str) -> bool:
    """Whether a worker of this kind waits for its turn already."""
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(os.path.join(directory, f"{kind}-next"), flags, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
