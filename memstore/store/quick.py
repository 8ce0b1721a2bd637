"""The store as a hook meets it: one connection, a statement or two, and out. No other module of this room is loaded.

It makes nothing and migrates nothing. Whatever is not as it should be is a reason, told in a few words, and the caller
then spools what it has. The queue of the writers is not joined: that is manners, and a hook is short.
"""

from __future__ import annotations

import os
import sys

import apsw

SCHEMA = 8
"""The schema whose tables these statements know; a test compares it with the numbered steps."""

_ENGINE = (3, 51, 3)

BUSY = "another process keeps it locked"
Connection = apsw.Connection
Error = apsw.Error
Record = tuple[str, tuple[str | bytes | int | None, ...]]
"""The name of a statement in `sessions.STATEMENTS`, and its values: what can be written now or spooled for later."""


class Json:
    """JSON read and written by SQLite: the `json` module takes as long to import as all of a hook takes to run."""

    def __init__(self) -> None:
        self._memory = apsw.Connection(":memory:")

    def fields(self, text: bytes, paths: tuple[str, ...]) -> tuple[bytes | int | bool | None, ...] | None:
        """The values at these paths; texts as their bytes. None for what is no JSON object."""
        columns = ",".join(
            f"json_type(j, '$.{path}'), CASE json_type(j, '$.{path}') WHEN 'text' THEN"
            f" CAST(j ->> '$.{path}' AS BLOB) WHEN 'integer' THEN j ->> '$.{path}' END"
            for path in paths
        )
        query = f"WITH i (j) AS MATERIALIZED (SELECT jsonb(CAST(? AS TEXT))) SELECT json_type(j), {columns} FROM i"
        try:
            row = self._memory.execute(query, (text,)).fetchone()
        except apsw.Error:
            return None
        if row is None or row[0] != "object":
            return None
        found: list[bytes | int | bool | None] = []
        for kind, value in zip(row[1::2], row[2::2], strict=True):
            found.append(kind == "true" if kind in ("true", "false") else value)
        return tuple(found)

    def switches(self, text: bytes) -> dict[str, bool]:
        """What is true or false at the top of a file that people write. Read as the client does: nothing but JSON, no
        comment in it, and of members of one name the last."""
        rows = self._memory.execute(
            "SELECT key, type FROM json_each(iif(json_valid(?1, 1) AND json_type(?1) = 'object', ?1, '{}'))",
            (text.decode("utf-8", "replace"),),
        )
        kinds = {str(key): kind for key, kind in rows}
        return {key: kind == "true" for key, kind in kinds.items() if kind in ("true", "false")}

    def edits(self, text: bytes) -> list[tuple[bytes, bytes, bool]]:
        """The replacements of a call that makes several."""
        rows = self._memory.execute(
            "SELECT CAST(old AS BLOB), CAST(new AS BLOB), every IS 'true' FROM (SELECT"
            " CASE WHEN json_type(item, '$.old_string') = 'text' THEN item ->> '$.old_string' END AS old,"
            " CASE WHEN json_type(item, '$.new_string') = 'text' THEN item ->> '$.new_string' END AS new,"
            " json_type(item, '$.replace_all') AS every FROM (SELECT iif(type = 'object', value, '{}') AS item"
            " FROM json_each(CAST(? AS TEXT), '$.tool_input.edits') LIMIT 1000))"
            " WHERE old IS NOT NULL AND new IS NOT NULL",
            (text,),
        )
        return [(row[0], row[1], bool(row[2])) for row in rows]

    def answer(self, event: str, context: str, message: str) -> bytes:
        """What a hook prints: words for the session, and a line for the person; empty where there is neither."""
        if not context and not message:
            return b""
        row = self._memory.execute(
            "SELECT CAST(json_patch(iif(?1 = '', '{}', json_object('systemMessage', ?1)), iif(?2 = '', '{}',"
            " json_object('hookSpecificOutput', json_object('hookEventName', ?3, 'additionalContext', ?2)))) AS BLOB)",
            (message, context, event),
        ).fetchone()
        assert row is not None
        return bytes(row[0]) + b"\n"


def open_quick(path: str, patience: int) -> apsw.Connection | str:
    """The database, for a statement or two; else why it cannot be used. `patience`: milliseconds for its lock."""
    try:
        found = os.lstat(path)
        if found.st_mode & 0o170000 != 0o100000 or found.st_size == 0:
            return "it is no database"
        if not is_disk(found.st_dev):
            from memstore.store import ground

            mount = ground.unsafe(path)
            if mount is not None:
                return f"it lies on {mount.kind}"
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < _ENGINE:
            return f"SQLite {apsw.sqlite_lib_version()} is too old"
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    except OSError as error:
        return error.strerror or "it is not there"
    except apsw.Error as error:
        return reason(error)
    try:
        connection.set_busy_timeout(patience)
        if sys.platform == "darwin":
            connection.execute("PRAGMA fullfsync = ON")
        version = connection.execute("PRAGMA user_version").get
        if version == SCHEMA:
            # Whoever opens the store next moves the log into it: that takes as long as the rest of a hook.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            return connection
        known = "a newer memstore has changed it" if version > SCHEMA else "it awaits this memstore's schema"
    except apsw.Error as error:
        known = reason(error)
    _leave(connection)
    return known


def is_disk(device: int) -> bool:
    """Whether this is the number of a block device. What has none (number 0) may be a network, or memory, or btrfs."""
    return os.major(device) != 0


def write(connection: apsw.Connection, statements: dict[str, str], records: list[Record]) -> None:
    """Carries the records out in one transaction. Raises apsw.Error.

    A power cut may undo it until somebody commits what has to last, as the worker does soon. The files that the records
    tell of are no safer: the client does not wait for the disk either.
    """
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        for what, values in records:
            connection.execute(statements[what], values)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def try_write(connection: apsw.Connection, statements: dict[str, str], records: list[Record]) -> str:
    """`write`; the answer says why it could not be done, or nothing."""
    try:
        write(connection, statements, records)
    except apsw.Error as error:
        return reason(error)
    return ""


def reason(error: apsw.Error) -> str:
    """Why SQLite could not, in a few words."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return BUSY
    if isinstance(error, apsw.FullError):
        return "the disk is full"
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return "it is read-only"
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return "it is damaged"
    return "it cannot be read or written"


def _leave(connection: apsw.Connection) -> None:
    """What is refused is left as it is: closing the last connection would move its log into the database."""
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()
    except apsw.Error:
        return
