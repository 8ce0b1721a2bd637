"""apsw's own shell on a live store: SQL and dot commands, typed or piped in.

It reads, unless writing is asked for. What would lead around that is closed: commands that open another database, load
code or replace all that is there. A shell that may write leaves the schema, the versions of the file format and the
triggers that keep history alone. The guard stays: files of the store are opened by SQLite and nothing else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

import apsw
import apsw.shell

from memstore.errors import InputRefused
from memstore.store import migrate
from memstore.store.connection import Link, open_link

CLOSED = {
    "autoimport": "it makes tables; `memstore db insert TABLE FILE --into SCRATCH.db` does",
    "backup": "it writes over any database; `memstore db snapshot FILE` makes a copy, `memstore backup` a backup",
    "close": "this shell has one database; `.exit` ends it",
    "connection": "this shell has one database",
    "dbconfig": "history is protected by triggers, which stay on",
    "dump": "writers would wait for it; of a copy made with `memstore db snapshot FILE` the sqlite3 shell dumps all",
    "load": "no code is loaded into a process that has the store open",
    "open": "this shell has one database; the sqlite3 and apsw shells open others",
    "py": "Python stays outside; `python -m apsw` has it, on a copy made with `memstore db snapshot FILE`",
    "restore": "`memstore restore-backup` puts a backup back",
}
"""Dot commands that are refused, and what there is instead."""

_STEPS = 100_000
"""Instructions of SQLite between two looks for Ctrl-C."""

_PRAGMAS = frozenset(
    {
        *(
            "application_id",
            "auto_vacuum",
            "defer_foreign_keys",
            "encoding",
            "foreign_keys",
            "ignore_check_constraints",
        ),
        *("journal_mode", "legacy_alter_table", "locking_mode", "page_size", "query_only", "recursive_triggers"),
        *("schema_version", "synchronous", "trusted_schema", "user_version", "writable_schema"),
    }
)
"""Pragmas whose values a shell that may write does not set."""


def run(
    path: str,
    stdin: TextIO,
    stdout: TextIO,
    stderr: TextIO,
    shown: Callable[[str], str],
    *,
    write: bool,
    history: str,
    check: Callable[[str], object],
) -> bool:
    """Reads commands until the end of `stdin`, and says whether each of them could be done.

    `shown`: makes what goes to a terminal fit to be shown; `history`: the file where lines that were typed are kept;
    `check`: raises InputRefused for a file that nothing is to be written to. Raises the kinds of StoreUnavailable where
    the store cannot be opened, and OSError where a stream fails.
    """
    link = open_link(path, writable=write)
    try:
        migrate.check(link.connection, path)
        _protect(link, write=write)
        shell = _Shell(link.connection, stdin, stdout, stderr, shown, history, check)
        try:
            shell.cmdloop()  # type: ignore[no-untyped-call]  # apsw types its shell only in part
        except OSError:
            if not shell.over:
                raise  # else it is the history of the lines that could not be kept
        except Exception as error:
            if not getattr(error, "_handle_exception_saw_this", False):
                raise  # else it was told already, and `.bail` ends the shell with it
        return not shell.failed
    finally:
        link.close()


class _Shell(apsw.shell.Shell):
    """The shell, with some commands closed, and with what it prints on a terminal made harmless."""

    def __init__(
        self,
        connection: apsw.Connection,
        stdin: TextIO,
        stdout: TextIO,
        stderr: TextIO,
        shown: Callable[[str], str],
        history: str,
        check: Callable[[str], object],
    ) -> None:
        self.failed = False
        self.over = False
        self._shown = shown
        self._check = check
        super().__init__(stdin, stdout, stderr, db=connection)
        self.history_file = history
        if self.interactive:
            # Its escape sequences would be shown as such.
            self.command_colour(["off"])  # type: ignore[no-untyped-call]  # apsw types its shell only in part
            self.box_options["string_sanitize"] = shown

    def write(self, dest: Any, text: str) -> None:
        """Writes what the shell says, fit to be shown where it goes to a terminal."""
        super().write(dest, self._shown(text) if dest.isatty() else text)  # type: ignore[no-untyped-call]  # apsw types its shell only in part

    def handle_exception(self) -> None:
        """Says what went wrong, and remembers that something did. A stream that fails ends the shell, for with the
        next line it would fail again."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError) and error.filename is None:
            raise
        self.over = isinstance(error, SystemExit)
        self.failed = self.failed or not self.over
        super().handle_exception()  # type: ignore[no-untyped-call]  # apsw types its shell only in part

    def get_complete_line(self) -> str | None:
        """The next command; None: there is none any more."""
        line: str | None = super().get_complete_line()  # type: ignore[no-untyped-call]  # apsw types its shell only in part
        self.over = line is None
        return line

    def command_output(self, cmd: list[str]) -> None:
        if cmd != ["stdout"]:
            self._check_files(cmd)
        super().command_output(cmd)  # type: ignore[no-untyped-call]  # apsw types its shell only in part

    def command_pages_svg(self, cmd: list[str]) -> None:
        self._check_files(cmd)
        super().command_pages_svg(cmd)  # type: ignore[no-untyped-call]  # apsw types its shell only in part

    def command_read(self, cmd: list[str]) -> None:
        if cmd and cmd[0].lower().endswith(".py"):
            told = self.Error  # as in `_closed`
            raise told(f".read takes no Python in this shell: {CLOSED['py']}")
        super().command_read(cmd)  # type: ignore[no-untyped-call]  # apsw types its shell only in part

    # `.help` shows what apsw says of them.
    command_output.__doc__ = apsw.shell.Shell.command_output.__doc__
    command_pages_svg.__doc__ = apsw.shell.Shell.command_pages_svg.__doc__
    command_read.__doc__ = apsw.shell.Shell.command_read.__doc__

    def _check_files(self, paths: list[str]) -> None:
        for path in paths:
            try:
                self._check(path)
            except InputRefused as refused:
                told = self.Error
                raise told(f"{refused}; {refused.hint}") from refused


def _closed(name: str, reason: str) -> Callable[[_Shell, list[str]], None]:
    """A dot command that says why it is none here; `.help` shows the same."""

    def refuse(shell: _Shell, _: list[str]) -> None:
        told = shell.Error  # the shell shows these as they are, and goes on
        raise told(f".{name} is closed in this shell: {reason}")

    refuse.__doc__ = f"{name}: Closed in this shell\n\n{reason}\n"
    return refuse


for _name, _reason in CLOSED.items():
    setattr(_Shell, f"command_{_name}", _closed(_name, _reason))


def _protect(link: Link, *, write: bool) -> None:
    connection = link.connection
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    if not write:
        connection.execute("PRAGMA query_only = ON")
    connection.authorizer = _allowed
    # Ctrl-C is heard where Python runs, which a long statement would not let it.
    connection.set_progress_handler(lambda: False, _STEPS)


_MADE_OF_SCHEMA = frozenset(
    getattr(apsw, f"SQLITE_{verb}_{what}")
    for verb in ("CREATE", "DROP")
    for what in ("TABLE", "INDEX", "TRIGGER", "VIEW", "VTABLE")
) | {apsw.SQLITE_ALTER_TABLE}

_WRITES = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE})
"""Into the tables of `purge` nobody writes by hand: a row in one of them lets history be changed."""


def _allowed(action: int, first: str | None, second: str | None, database: str | None, _: str | None) -> int:
    """What a statement of the shell may do. Temporary tables and views are the shell's own."""
    if action == apsw.SQLITE_ATTACH:  # `VACUUM INTO` attaches too
        return apsw.SQLITE_DENY
    if action in _MADE_OF_SCHEMA or (action in _WRITES and (first or "").startswith("purge")):
        return apsw.SQLITE_DENY
    if action == apsw.SQLITE_PRAGMA and second is not None and (first or "").lower() in _PRAGMAS:
        return apsw.SQLITE_DENY
    return apsw.SQLITE_OK


def history_file(home: str) -> str:
    """Where lines that were typed are kept: in the home, for its owner alone, where `purge` looks too."""
    return os.path.join(home, "shell_history")
