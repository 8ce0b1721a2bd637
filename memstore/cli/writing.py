"""Commands that write one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memstore.cli import inputs
from memstore.cli.state import State, expect_option, json_option, operation_option
from memstore.cli.telling import tell_saved
from memstore.core.taxonomy import TYPES
from memstore.errors import InputRefused

if TYPE_CHECKING:
    from memstore.core.plan import OnConflict


@click.command(cls=inputs.TextCommand)
@click.argument("name")
@click.argument("text", required=False)
@click.option("--file", "-f", metavar="FILE", help="Take the text from FILE (- for standard input).")
@click.option("--edit", is_flag=True, help="Write the text in your editor ($VISUAL, $EDITOR).")
@click.option("--description", "-d", metavar="TEXT", help="One line that says when the memory matters.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="What kind of memory it is (a new one: project).")
@click.option("--expect", metavar="TOKEN", help="The version this replaces, or `new` where none may exist yet.")
@click.option(
    "--on-conflict",
    type=click.Choice(["merge", "refuse"]),
    default="merge",
    help="What to do where TOKEN is no longer current (without it, merge what merges cleanly).",
)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")
@operation_option
@json_option
@click.pass_obj
def write(
    state: State,
    name: str,
    text: str | None,
    file: str | None,
    edit: bool,
    description: str | None,
    type_: str | None,
    expect: str | None,
    on_conflict: str,
    reason: str,
    operation: str | None,
) -> None:
    """Make a memory, or replace the one whose token is given.

    The text is TEXT, also with a dash before it, or comes from --file, --edit or standard input. It may bring
    its own frontmatter; without one that of the memory stays. An existing memory is replaced only with
    --expect. A token that is no longer current is merged three ways where that is clean; where it is not,
    nothing is written and both texts are shown.
    """
    from memstore.core.plan import Wanted

    if sum((text is not None, file is not None, edit)) > 1:
        raise click.UsageError("give the text in one way: TEXT, --file or --edit")
    wanted = Wanted(None, _argument(description), type_)
    merging: OnConflict = "refuse" if on_conflict == "refuse" else "merge"
    if edit:
        from memstore.cli.editing import write_edited

        saved = write_edited(state, name, wanted, expect, merging, operation, _argument(reason) or "")
    else:
        body = _body(state, text, file, fields=bool(expect) and (description is not None or type_ is not None))
        with state.open(make=True) as memories:
            saved = memories.write(
                name,
                Wanted(body, wanted.description, wanted.type),
                expect=expect,
                on_conflict=merging,
                operation=operation,
                reason=_argument(reason) or "",
            )
    tell_saved(state, "write", saved)


@click.command(cls=inputs.TextCommand)
@click.argument("name")
@click.argument("text", required=False)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")
@operation_option
@json_option
@click.pass_obj
def append(state: State, name: str, text: str | None, reason: str, operation: str | None) -> None:
    """Add whole lines at the end of a memory; make it where there is none.

    TEXT, also with a dash before it, or standard input. It needs no token: nothing that stands there is lost.
    """
    body = _body(state, text, None)
    with state.open(make=True) as memories:
        saved = memories.append(name, body or "", operation=operation, reason=_argument(reason) or "")
    tell_saved(state, "append", saved)


@click.command("set")
@click.argument("name")
@click.argument("field", metavar="FIELD", type=click.Choice(["name", "description", "type"]))
@click.argument("value")
@expect_option
@operation_option
@json_option
@click.pass_obj
def set_command(state: State, name: str, field: str, value: str, expect: str | None, operation: str | None) -> None:
    """Set one field of a memory; every other byte stays.

    FIELD is name, description or type; a type is user, feedback, project or reference.
    """
    if field == "type" and value not in TYPES:
        raise InputRefused(f"{value[:40]!r} is no type", hint=f"the types are {', '.join(TYPES)}")
    with state.open() as memories:
        saved = memories.set_field(name, field, inputs.argument_text(value), expect=expect, operation=operation)
    tell_saved(state, "set", saved)


@click.command()
@click.argument("old")
@click.argument("new")
@expect_option
@operation_option
@json_option
@click.pass_obj
def rename(state: State, old: str, new: str, expect: str | None, operation: str | None) -> None:
    """Give a memory another name; its history and its index line go along."""
    with state.open() as memories:
        saved = memories.rename(old, new, expect=expect, operation=operation)
    tell_saved(state, "rename", saved)


@click.command()
@click.argument("name")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")
@expect_option
@operation_option
@json_option
@click.pass_obj
def delete(state: State, name: str, reason: str, expect: str | None, operation: str | None) -> None:
    """Retire a memory: its file and index line go, its versions stay (`memstore restore`)."""
    with state.open() as memories:
        saved = memories.delete(name, expect=expect, operation=operation, reason=_argument(reason) or "")
    tell_saved(state, "delete", saved)


@click.command()
@click.argument("name")
@operation_option
@json_option
@click.pass_obj
def pin(state: State, name: str, operation: str | None) -> None:
    """Pin a memory: it keeps its line in a full index."""
    with state.open() as memories:
        saved = memories.pin(name, operation=operation)
    tell_saved(state, "pin", saved)


@click.command()
@click.argument("name")
@operation_option
@json_option
@click.pass_obj
def unpin(state: State, name: str, operation: str | None) -> None:
    """Take the pin of a memory away."""
    with state.open() as memories:
        saved = memories.pin(name, False, operation=operation)
    tell_saved(state, "unpin", saved)


@click.command()
@click.argument("old")
@click.option("--by", "new", metavar="NEW", help="The memory that corrects OLD.")
@click.option("--clear", is_flag=True, help="Take the mark away.")
@operation_option
@json_option
@click.pass_obj
def supersede(state: State, old: str, new: str | None, clear: bool, operation: str | None) -> None:
    """Mark a memory as corrected by another: it is found after its correction.

    Give --by NEW, or --clear.
    """
    if (new is None) != clear:
        raise click.UsageError("give either --by NEW or --clear")
    with state.open() as memories:
        saved = memories.supersede(old, new, operation=operation)
        by = saved.memory.state.superseded_by
        correction = None if by is None else memories.store.memory(by)
    detail = "nothing supersedes it" if correction is None else f"superseded by {correction.path}"
    tell_saved(state, "supersede", saved, detail)


def _argument(text: str | None) -> str | None:
    return None if text is None else inputs.argument_text(text)


def _body(state: State, text: str | None, file: str | None, *, fields: bool = False) -> str | None:
    """The text that was given; None where only fields are to change. Raises InputRefused for none."""
    if text is not None:
        return inputs.argument_text(text)
    if file is not None and file != "-":
        return inputs.file_text(state.path(file), file)
    piped = inputs.has_piped_input()
    if fields and not piped:
        return None
    if not piped:
        state.note("type the text, then press Ctrl-D on a line of its own")
    body = inputs.standard_input()
    if body or fields:
        return body or None
    raise InputRefused(
        "there is no text: standard input is empty", hint="give it as an argument, with --file, or pipe it in"
    )
