"""`db`: the rows of the store, with sqlite-utils on a copy and with apsw's shell."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memstore.cli import exits, inputs
from memstore.cli.progress import progress_bar
from memstore.cli.state import State, json_option
from memstore.cli.terminal import drawn, printable
from memstore.errors import InputRefused

if TYPE_CHECKING:
    from memstore.upkeep.database import Call

F = TypeVar("F", bound=Callable[..., Any])
Given = dict[str, Any]

_OUTPUT: dict[str, str] = {
    "--nl": "One JSON object a line.",
    "--arrays": "JSON arrays instead of objects.",
    "--csv": "CSV.",
    "--tsv": "TSV.",
    "--no-headers": "No headings in CSV, TSV and tables.",
    "-t,--table": "A table for people.",
    "--fmt FORMAT": "A table in a format of the tabulate library: github, html, latex, rst ...",
    "--json-cols": "Columns that hold JSON as JSON.",
    "--ascii": "JSON in ASCII.",
}
_ROWS = {
    "-c,--column* NAME": "Only this column. May be repeated.",
    "--where SQL": "Only rows for which this holds.",
    "-o,--order SQL": "In this order: a column, or `column desc`.",
    "-p,--param* NAME,VALUE": "A value for :NAME in --where. May be repeated.",
    "--limit N": "At most N rows.",
    "--offset N": "Without the first N rows.",
}
_QUERY = {
    "-p,--param* NAME,VALUE": "A value for :NAME in the SQL. May be repeated.",
    "-r,--raw": "The first column of the first row, as it is.",
    "--raw-lines": "The first column of each row, as it is.",
    "--attach* ALIAS,FILE": "Another database besides, such as one made with `memstore db insert`. May be repeated.",
}
_TABLES = {"--counts": "With the number of rows.", "--columns": "With the columns.", "--schema": "With the SQL."}
_INSERT = {
    "--pk* NAME": "The column that is the primary key. May be repeated.",
    "--nl": "The file has one JSON object a line.",
    "--csv": "The file is CSV.",
    "--tsv": "The file is TSV.",
    "--lines": "Each line becomes a row.",
    "--text": "The file becomes one row.",
    "--flatten": "Nested JSON objects become columns.",
    "--empty-null": "Empty texts count as NULL.",
    "--delimiter C": "What parts the columns of CSV.",
    "--quotechar C": "What quotes in CSV.",
    "--sniff": "Find both out.",
    "--no-headers": "The CSV has no headings.",
    "--encoding NAME": "The encoding of the file (without it, UTF-8).",
    "--no-detect-types": "All columns of CSV are text.",
    "--batch-size N": "Rows in one transaction.",
    "--stop-after N": "Only the first N rows.",
    "--alter": "Add columns that are missing.",
    "--ignore": "Leave out rows whose key is there.",
    "--replace": "Replace rows whose key is there.",
    "--truncate": "Empty the table first.",
    "--strict": "Make the table STRICT.",
}


def _passed(*tables: dict[str, str]) -> Callable[[F], F]:
    """Gives a command options that go to sqlite-utils as they are; the command gets them as one list."""

    def give(command: F) -> F:
        for spelling, meaning in reversed([item for table in tables for item in table.items()]):
            flags, _, values = spelling.partition(" ")
            names, several = flags.rstrip("*").split(","), flags.endswith("*")
            parts = values.split(",") if values else []
            kind: dict[str, Any] = {"is_flag": True} if not parts else {"nargs": len(parts), "metavar": " ".join(parts)}
            option = click.option(
                *names, "_" + names[-1].strip("-").replace("-", "_"), multiple=several, help=meaning, **kind
            )
            command = option(command)
        return command

    return give


def _json_option(command: F) -> F:
    """Gives a command that prints rows --json."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.ensure_object(State).json = value

    told = "Rows as JSON in ASCII, and errors as JSON too."
    return click.option("--json", is_flag=True, expose_value=False, callback=remember, help=told)(command)


def _options(given: Given, *tables: dict[str, str]) -> tuple[str, ...]:
    """The options that were given, as sqlite-utils takes them."""
    made: list[str] = []
    for spelling in [name for table in tables for name in table]:
        flags, _, values = spelling.partition(" ")
        name, several = flags.rstrip("*").split(",")[-1], flags.endswith("*")
        value = given["_" + name.strip("-").replace("-", "_")]
        if not values:
            made += [name] if value else []
            continue
        single = "," not in values
        for one in value if several else [] if value is None else [value]:
            made += [name, str(one)] if single else [name, *map(str, one)]
    return tuple(made)


@click.group("db", cls=inputs.Noun)
def db() -> None:
    """Look at the rows of the store with sqlite-utils, on a copy of this moment; nothing that is done there lasts.

    Besides its tables, which schema/README.md tells of, the copy has the views memories, history, lines and
    operations, which are easier to read. Rows come as JSON, or as the options say.
    """


@db.command("tables")
@_passed(_TABLES, _OUTPUT)
@_json_option
@click.pass_obj
def tables_command(state: State, /, **given: Any) -> None:
    """List the tables."""
    _on_copy(state, lambda options: _call("tables", options), given, _TABLES, _OUTPUT)


@db.command("views")
@_passed(_TABLES, _OUTPUT)
@_json_option
@click.pass_obj
def views_command(state: State, /, **given: Any) -> None:
    """List the views: memories, history, lines, operations."""
    _on_copy(state, lambda options: _call("views", options), given, _TABLES, _OUTPUT)


@db.command("schema")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.pass_obj
def schema_command(state: State, tables: tuple[str, ...]) -> None:
    """Print the SQL that makes the tables and views."""
    _on_copy(state, lambda options: _call("schema", options, *tables), {})


@db.command("rows")
@click.argument("table")
@_passed(_ROWS, _OUTPUT)
@_json_option
@click.pass_obj
def rows_command(state: State, /, table: str, **given: Any) -> None:
    """Print the rows of a table or view."""
    _on_copy(state, lambda options: _call("rows", options, table), given, _ROWS, _OUTPUT)


@db.command("query")
@click.argument("sql")
@_passed(_QUERY, _OUTPUT)
@_json_option
@click.pass_obj
def query_command(state: State, /, sql: str, **given: Any) -> None:
    """Run one SQL statement on the copy, and print what it gives. With - it is read from standard input."""
    from memstore.store.home import Home
    from memstore.upkeep.database import attachable, query_call

    home = Home.locate(state.world().environment)
    given["_attach"] = [(alias, attachable(state.path(path), home)) for alias, path in given["_attach"]]
    text = inputs.standard_input() if sql == "-" else sql
    _on_copy(state, lambda options: query_call(text, options), given, _QUERY, _OUTPUT)


@db.command("search")
@click.argument("table")
@click.argument("words", nargs=-1, required=True)
@inputs.limit_option(None, "rows")
@_passed(_OUTPUT)
@_json_option
@click.pass_obj
def search_command(state: State, /, table: str, words: tuple[str, ...], limit: int | None, **given: Any) -> None:
    """Find rows by words, in any script. TABLE: memories, or a table with an index of its own."""
    from memstore.upkeep.database import search_call

    _on_copy(state, lambda options: search_call(table, " ".join(words), options, limit), given, _OUTPUT)


@db.command("insert")
@click.argument("table")
@click.argument("file")
@click.option("--into", metavar="SCRATCH.db", required=True, help="The database to write, which is made if need be.")
@_passed(_INSERT)
@click.pass_obj
def insert_command(state: State, /, table: str, file: str, into: str, **given: Any) -> None:
    """Put JSON, CSV or lines from FILE (- for standard input) into a table of a scratch database.

    Never into a store: `memstore import` takes memories from such files. `memstore db query --attach` brings a scratch
    database and the rows of the store together.
    """
    from memstore.store.home import Home
    from memstore.upkeep.database import check_scratch, run

    world = state.world()
    target = state.path(into)
    check_scratch(target, Home.locate(world.environment))
    read = file if file == "-" else state.path(file)
    call = _call("insert", ("--silent", *_options(given, _INSERT)), table, read)
    with _interruptible():
        run(call, target, _out(), cwd=state.cwd(), environment=world.environment, reads=file == "-")
    state.report(printable(f"inserted into {table} of {into}"))


@db.command("snapshot")
@click.argument("file")
@click.option("--force", is_flag=True, help="Replace FILE, if it is there.")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@json_option
@click.pass_obj
def snapshot_command(state: State, file: str, force: bool, dry_run: bool) -> None:
    """Write a copy of the store to FILE, for Datasette and other tools; for your eyes alone (mode 0600).

    It holds all memories with their history. memstore does not find it again: `purge` takes nothing out of it.
    """
    from memstore.upkeep.database import check_target, keep_copy

    target = state.path(file)
    with state.open() as memories, _interruptible():
        if dry_run:
            check_target(memories, target, force=force)
            size = os.stat(memories.store.path).st_size
        else:
            with progress_bar(state, "copying") as progress:
                size = keep_copy(memories, target, force=force, progress=progress)
    if state.json:
        state.emit("db snapshot", {"dry_run": dry_run, "path": target, "bytes": size})
    else:
        done = f"would write up to {size:,} bytes to" if dry_run else f"{size:,} bytes written to"
        state.report(f"{done} {printable(target)}")


@db.command("shell")
@click.option("--write", is_flag=True, help="Let the shell change rows of the live store; a person's to say.")
@click.option("--yes", is_flag=True, help="Do not ask whether to write.")
@click.pass_obj
def shell_command(state: State, write: bool, yes: bool) -> None:
    """Open apsw's shell on the live store, for reading; .help tells its commands. Works in pipes too.

    With --write it changes rows behind memstore's back: no operation is noted, nothing can be undone, and no file
    follows. History refuses changes even so.
    """
    from memstore.store.shell import history_file, run
    from memstore.upkeep.database import check_scratch

    if write:
        _consent(state, yes)
    with state.open() as memories:
        memories.look()
        path, home = memories.store.path, memories.place.home

    def check(given: str) -> None:
        check_scratch(os.path.abspath(given), home)

    with open(os.devnull, "r+", encoding="utf-8") as nothing:
        # A stream that whoever started the program has closed is None.
        stdin, stdout, stderr = (stream or nothing for stream in (sys.stdin, sys.stdout, sys.stderr))
        sound = run(path, stdin, stdout, stderr, _shown, write=write, history=history_file(home.path), check=check)
    if not sound and inputs.has_piped_input():
        raise exits.Finished(exits.USAGE)


def _shown(text: str) -> str:
    return printable(text, lines=True)


def _consent(state: State, yes: bool) -> None:
    from memstore.cli.word import check_person

    check_person(state.world(), "db shell --write", "writing into the store by hand")
    state.note("this shell writes into the live store: nothing that it does can be undone; `memstore backup` first")
    if yes:
        return
    if inputs.has_piped_input():
        raise InputRefused("nobody can be asked here whether to write", hint="say so with --yes")
    if not click.confirm("Open it for writing?", err=True):
        raise click.Abort


def _call(command: str, options: tuple[str, ...], *arguments: str) -> Call:
    from memstore.upkeep.database import Call

    return Call(command, options, arguments)


def _on_copy(state: State, call: Callable[[tuple[str, ...]], Call], given: Given, *tables: dict[str, str]) -> None:
    """Runs sqlite-utils on a copy of the store; what it prints is passed on as it comes."""
    from memstore.upkeep.database import copied, run

    if state.json:
        given["_ascii"] = True
    wanted = call(_options(given, *tables))
    world = state.world()
    with ExitStack() as stack:
        memories = stack.enter_context(state.open())
        stack.enter_context(_interruptible())
        with progress_bar(state, "copying") as progress:
            made = stack.enter_context(copied(memories, progress))
        run(wanted, made.path, _out(), cwd=state.cwd(), environment=world.environment, held=made.held)


def _out() -> Callable[[bytes], object]:
    """Where a child's output goes: into a pipe or file as it is, to a terminal fit to be shown."""
    if sys.stdout is None:  # closed by whoever started the program
        return lambda piece: None
    if not drawn():
        return sys.stdout.buffer.write
    from codecs import getincrementaldecoder

    decoder = getincrementaldecoder("utf-8")("replace")
    return lambda piece: click.echo(printable(decoder.decode(piece), lines=True), nl=False)


@contextmanager
def _interruptible() -> Iterator[None]:
    """A request to end is taken as Ctrl-C is: the child and the copy go too. Another one does not disturb that."""

    def stop(_: int, __: FrameType | None) -> None:
        for number in earlier:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    earlier = {number: before for number, before in earlier.items() if before is not signal.SIG_IGN}
    try:
        for number in earlier:
            signal.signal(number, stop)
        yield
    finally:
        for number, before in earlier.items():
            signal.signal(number, before or signal.SIG_DFL)
