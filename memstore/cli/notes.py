"""`notes`: what a model noted of sessions while they went on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli import inputs, terminal
from memstore.cli.state import State, json_option
from memstore.cli.terminal import drawn, plural, printable, printable_text, when
from memstore.errors import InputRefused, NotFound

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.model import Version
    from memstore.store.notes import Notes


@click.group("notes", cls=inputs.Noun, invoke_without_command=True)
@click.pass_context
def notes(ctx: click.Context) -> None:
    """Read the notes that a model keeps of running sessions; alone it lists them.

    They begin when a session's context has 10,000 tokens, and a session is shown its own when its conversation was
    compacted. `memstore config list` has the settings; notes-template.md in memstore's home has the sections that new
    notes begin with, if you want others.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_command, limit=None)


@notes.command("list")
@inputs.limit_option(None, "sessions")
@json_option
@click.pass_obj
def list_command(state: State, limit: int | None) -> None:
    """List the sessions that have notes, those that changed last first."""
    from memstore.core.notes_text import title, tokens
    from memstore.store.notes import listed

    with state.open() as memories:
        with memories.store.view() as connection:
            found = listed(connection)[:limit]
        nothing = "" if found else _nothing(memories)
    if state.json:
        state.emit("notes list", {"notes": [_shape(one) for one in found]})
        return
    if nothing:
        state.note(nothing)
        return
    rows = []
    for one in found:
        text = _text(one.memory.state.content)
        place = one.branch or one.worktree or "-"
        rows.append(
            (
                one.session[:8] if drawn() else one.session, when(one.memory.changed_at), str(one.memory.version),
                str(tokens(text)), place, title(text),
            )
        )  # fmt: skip
    state.say(terminal.table(("Session", "Changed", "Version", "Tokens", "Branch", "Title"), rows, wide="Title"))


@notes.command("show")
@click.argument("session", required=False)
@click.option("--version", "number", metavar="N", type=click.IntRange(1, inputs.MOST), help="Show version N.")
@json_option
@click.pass_obj
def show_command(state: State, session: str | None, number: int | None) -> None:
    """Show the notes of SESSION, given by its id or the beginning of it.

    Without SESSION: those of the session that this is started in, else the ones that changed last in this worktree,
    else the ones that changed last.
    """
    with state.open() as memories:
        found = _chosen(memories, session)
        version = memories.store.version(found.memory.id, number=number or found.memory.version)
    if version is None:
        told = f"the notes of {found.session} have no version {number}"
        raise NotFound(told, hint=f"they have versions 1 to {found.memory.version}")
    if state.json:
        from memstore.cli.shaping import content_shape

        state.emit("notes show", {**_shape(found, version), **content_shape(version.state.content)})
        return
    current = "" if version.number == found.memory.version else f" of {found.memory.version}"
    facts = [f"version {version.number}{current}", when(version.at), *filter(None, (found.branch, found.worktree))]
    head = f"{terminal.bold(printable(found.session))}  {printable(', '.join(facts))}"
    state.say(f"{head}\n\n{printable_text(version.state.content).rstrip(chr(10))}")


def _chosen(memories: Memstore, beginning: str | None) -> Notes:
    """The notes that are meant. Raises NotFound, InputRefused where several sessions begin so."""
    from memstore.store.notes import listed

    with memories.store.view() as connection:
        found = listed(connection)
    if not found:
        begin = "they begin when a context has the tokens of notes.start, where a key for the API is set"
        raise NotFound(_nothing(memories), hint=f"{begin}: `memstore doctor --model` looks")
    return _here(memories, found) if beginning is None else _named(found, beginning)


def _named(found: Sequence[Notes], beginning: str) -> Notes:
    chosen = [one for one in found if one.session == beginning]
    chosen = chosen or [one for one in found if beginning and one.session.startswith(beginning)]
    if not chosen:
        raise NotFound(f"no session {beginning[:80]!r} has notes", hint="see `memstore notes list`")
    if len(chosen) > 1:
        such = ", ".join(one.session for one in chosen[:3])
        raise InputRefused(f"{plural(len(chosen), 'session')} begin with {beginning[:80]!r}", hint=f"such as {such}")
    return chosen[0]


def _here(memories: Memstore, found: Sequence[Notes]) -> Notes:
    """Of this session, else of this worktree, else of whatever session: the ones that changed last."""
    from memstore.sessions import session_of

    session, worktree = session_of(memories.world), memories.place.root.worktree
    own = [one for one in found if session is not None and one.session == session]
    return next(iter([*own, *(one for one in found if one.worktree == worktree), *found]))


def _nothing(memories: Memstore) -> str:
    from memstore.store import settings as kept

    with memories.store.view() as connection:
        settings = kept.load(memories.place.home.path, memories.world.environment, connection)
    off = "" if settings.flag("notes.enabled") else " (they are switched off: notes.enabled)"
    return f"no session has notes yet{off}"


def _shape(one: Notes, version: Version | None = None) -> dict[str, object]:
    """The notes of a session as JSON has them, without their text."""
    from memstore.cli.shaping import moment_shape
    from memstore.core.notes_text import title, tokens

    memory = one.memory
    text = _text(memory.state.content if version is None else version.state.content)
    return {
        "session": one.session,
        "title": title(text),
        "worktree": one.worktree,
        "branch": one.branch,
        "version": memory.version if version is None else version.number,
        "versions": memory.version,
        "tokens": tokens(text),
        "began_at": moment_shape(memory.created_at),
        "changed_at": moment_shape(memory.changed_at if version is None else version.at),
    }


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
