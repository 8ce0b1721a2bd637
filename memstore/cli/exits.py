"""Exit codes, and how an error is told. The one place for both.

| code | when |
|---|---|
| 0 | done; also where a write is saved and its file could not be projected (standard error says why) |
| 1 | memstore's own fault, or the output could not be written; MEMSTORE_DEBUG=1 shows the traceback |
| 2 | the command was called wrongly, or a value that was given cannot be used |
| 3 | there is no such memory, version, operation, conflict or store |
| 4 | conflict: nothing was written |
| 5 | the folder or repository cannot be used (yet); a `sync` or `export` that was stopped or left files unwritten |
| 6 | the database cannot be used now; also where a `sync` had to stop for that, or the `doctor` found an error |
| 7 | no model answers: no key, a refused one, no connection, a limit; an `extract run` or `dream` that did not do all |
| 8 | a `check` found names of what is not there; `lint` or `doctor` found warnings and no error; a `purge` left some |
| 130 | interrupted |
| 141 | whoever read the output stopped reading |

On standard error: `memstore: MESSAGE`, then the next step, indented. With --json the error stands on standard
output too: {"memstore": 1, "error": {"kind", "code", "message", "hint", ...}}.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import click

from memstore import errors
from memstore.cli import terminal

OK, DEFECT, USAGE, NOT_FOUND, CONFLICT, PLACE, STORE, MODEL, GONE = range(9)
INTERRUPTED, PIPE = 130, 141

_CODES: tuple[tuple[type[errors.MemstoreError], int], ...] = (
    (errors.InputRefused, USAGE),
    (errors.NotFound, NOT_FOUND),
    (errors.Conflict, CONFLICT),
    (errors.PlaceRefused, PLACE),
    (errors.StoreUnavailable, STORE),
    (errors.ModelError, MODEL),
    (errors.MemstoreError, DEFECT),
)


class Finished(Exception):
    """A command has told everything itself and ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def code_of(error: errors.MemstoreError) -> int:
    """The exit code of an error."""
    return next(code for kind, code in _CODES if isinstance(error, kind))


def wants_json(args: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; needed before it could be parsed."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def guarded(run: Callable[[], int], as_json: bool) -> int:
    """Runs the program; tells every error as this module says. Returns the exit code."""
    try:
        code = _told(run, as_json)
        if sys.stdout is not None:  # None: closed by whoever started the program
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        # What is still buffered would fail once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE
    except OSError as error:
        return _output_failed(error)


def _told(run: Callable[[], int], as_json: bool) -> int:
    try:
        return run()
    except click.exceptions.Exit as end:
        return end.exit_code
    except Finished as end:
        return end.code
    except (KeyboardInterrupt, click.Abort):
        click.echo("", err=True)
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as alone:
        click.echo(alone.format_message())
        return OK
    except click.ClickException as error:
        return _tell(error, USAGE, _one_line(error.format_message()), _usage_hint(error), as_json)
    except errors.MemstoreError as error:
        if isinstance(error, errors.Defect):
            _trace()
        _tell_texts(error, as_json)
        return _tell(error, code_of(error), str(error), error.hint, as_json)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            raise  # a stream's: whatever opens a file names it
        _trace()
        message = f"memstore's own fault: {type(error).__name__}: {error}"
        hint = "please report it; MEMSTORE_DEBUG=1 shows where it happened"
        return _tell(error, DEFECT, message, hint, as_json)


def _one_line(message: str) -> str:
    """The choices of an argument come a line each."""
    first, *choices = message.split("\n\t")
    return f"{first} {' '.join(choices)}" if choices else message


def _usage_hint(error: click.ClickException) -> str:
    if not isinstance(error, click.UsageError):
        return ""
    return f"see `{'memstore' if error.ctx is None else error.ctx.command_path} --help`"


def _tell(error: Exception, code: int, message: str, hint: str, as_json: bool) -> int:
    click.echo(f"memstore: {terminal.printable(message)}", err=True)
    if hint:
        click.echo(f"  {terminal.printable(hint)}", err=True)
    if as_json:
        from memstore.cli.shaping import dumped, error_shape

        click.echo(dumped({"memstore": 1, "error": error_shape(error, code, message, hint)}))
    return code


def _tell_texts(error: errors.MemstoreError, as_json: bool) -> None:
    """What stands there and what was given, where a write was refused: nobody's text is lost by a refusal."""
    if not isinstance(error, errors.StaleVersion) or as_json:
        return
    from memstore.core.compare import unified

    lines = unified(
        error.current_text,
        error.given_text,
        f"{error.name} (current, {error.current})",
        f"{error.name} (yours)",
    )
    click.echo(terminal.diff_text(lines), err=True)


def _trace() -> None:
    if os.environ.get("MEMSTORE_DEBUG"):
        import traceback

        traceback.print_exc()


def _output_failed(error: OSError) -> int:
    try:
        click.echo(f"memstore: the output cannot be written: {error.strerror or error}", err=True)
    finally:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DEFECT
