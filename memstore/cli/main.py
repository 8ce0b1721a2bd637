"""The program `memstore`: its commands by section, each loaded when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from memstore import __version__
from memstore.cli import examples, exits
from memstore.cli.state import State
from memstore.errors import InputRefused

SECTIONS: dict[str, dict[str, str]] = {
    "Writing": {
        "write": "writing",
        "append": "writing",
        "edit": "editing",
        "set": "writing",
        "rename": "writing",
        "delete": "writing",
        "pin": "writing",
        "unpin": "writing",
        "supersede": "writing",
        "tidy": "tidy",
    },
    "Reading": {
        "search": "searching",
        "recall": "recall",
        "list": "reading",
        "show": "reading",
        "status": "reading",
        "check": "checking",
        "agents": "agents",
    },
    "History": {
        "log": "history",
        "diff": "history",
        "blame": "history",
        "undo": "undoing",
        "restore": "undoing",
    },
    "Files": {
        "sync": "folder",
        "watch": "watch",
        "conflicts": "conflicts",
        "resolve": "conflicts",
        "import": "importing",
        "export": "exporting",
    },
    "Sessions": {
        "extract": "extract",
        "notes": "notes",
        "note": "note",
        "dream": "dream",
        "pause": "pausing",
        "resume": "pausing",
        "config": "config",
        "hook": "hook",
    },
    "Agents": {"mcp": "mcp", "install": "install", "uninstall": "install", "prompt": "prompt"},
    "Place": {"where": "where", "trust": "consent", "link": "linking", "demo": "demo"},
    "Upkeep": {
        "db": "db",
        "stats": "stats",
        "doctor": "doctor",
        "lint": "lint",
        "completion": "completion",
        "backup": "backup",
        "restore-backup": "backup",
        "rebuild": "rebuild",
        "purge": "purge",
    },
}
"""Command to module of `memstore.cli`. The module has it under its own name, or with `_command` behind it
where Python uses the word."""

OF_THE_REPOSITORY = frozenset({"extract", "notes", "dream", "hook", "install", "uninstall", "demo", "agents"})
"""Commands about sessions or the machine: they do nothing with an agent's own memory."""

_MODULES = {name: module for commands in SECTIONS.values() for name, module in commands.items()}


class Program(click.Group):
    """Loads a command's module when the command is asked for, and turns every error into its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the sections."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None where there is none of that name."""
        if cmd_name not in _MODULES:
            return None
        module = _load(f"memstore.cli.{_MODULES[cmd_name]}")
        name = cmd_name.replace("-", "_")
        command = getattr(module, name, None)
        if not isinstance(command, click.Command):
            command = getattr(module, f"{name}_command")
        assert isinstance(command, click.Command)
        examples.give(cmd_name, command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by section."""
        width = max(map(len, _MODULES))
        for section, names in SECTIONS.items():
            with formatter.section(section):
                commands = ((name, self.get_command(ctx, name)) for name in names)
                formatter.write_dl(
                    [(name.ljust(width), command.get_short_help_str(120)) for name, command in commands if command]
                )

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Runs the program and exits."""
        given = list(sys.argv[1:] if args is None else args)
        if "_MEMSTORE_COMPLETE" in os.environ:  # a shell asks what somebody could type
            from memstore.cli.completion import complete

            complete(self)
            sys.exit(exits.OK)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character shows its escape
                stream.reconfigure(errors="backslashreplace")
        sys.exit(exits.guarded(lambda: self._run(given), exits.wants_json(given)))

    def _run(self, args: list[str]) -> int:
        _check_bytes(args)
        with self.make_context("memstore", args) as ctx:
            self.invoke(ctx)
            return exits.OK


def _load(name: str) -> object:
    from importlib import import_module

    return import_module(name)


def _check_bytes(args: list[str]) -> None:
    """An argument that is not UTF-8 could be written nowhere: it is refused before anything is done."""
    for argument in args:
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputRefused(
                f"the argument {argument!r} is not UTF-8 at its character {error.start + 1}",
                hint="type it in a terminal whose encoding is UTF-8",
            ) from None


@click.group(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option("-C", "directory", metavar="DIR", help="Act as if started in DIR.")
@click.option(
    "--agent",
    metavar="NAME[:SCOPE]",
    help="Use the own memory of an agent, scope project, local or user.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what was asked for, and errors.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def program(ctx: click.Context, directory: str | None, agent: str | None, quiet: bool) -> None:
    """Keeps the memories of coding agents in one store, and shows them as the files that agents read.

    Every command that reads or writes memories takes --json. `memstore COMMAND --help` has examples.
    """
    if agent is not None and (not agent or ctx.invoked_subcommand in OF_THE_REPOSITORY):
        what = f"`{ctx.invoked_subcommand}`" if agent else "the empty name"
        raise click.UsageError(f"--agent is for commands that read or write an agent's own memory, not for {what}")
    ctx.obj = State(directory, quiet, agent=agent or "")
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> NoReturn:
    """The console script. It leaves at once: taking the interpreter apart would cost as much as a search."""
    try:
        program.main()
    except SystemExit as end:
        if sys.stderr is not None:  # standard output was flushed where a failure could still be told
            with suppress(OSError, ValueError):
                sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else exits.DEFECT)
