"""`edit`, and `write --edit`: a person's editor on the whole text, saved against the version it opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from memstore.cli.editor import desk, edited
from memstore.cli.inputs import argument_text, decoded
from memstore.cli.state import State, json_option, operation_option
from memstore.cli.telling import tell_saved
from memstore.core.frontmatter import read
from memstore.core.model import NEW
from memstore.core.plan import OnConflict, Wanted, new_text, revised_text
from memstore.errors import AlreadyExists, InputRefused, MemstoreError, NotFound

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.outcomes import Saved
    from memstore.world import World


@click.command()
@click.argument("name")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")
@click.option("--expect", metavar="TOKEN", help="Open the version TOKEN, not the current one.")
@operation_option
@json_option
@click.pass_obj
def edit(state: State, name: str, reason: str, expect: str | None, operation: str | None) -> None:
    """Open a memory in your editor ($VISUAL, $EDITOR), and save what you made of it.

    What others wrote meanwhile is merged where that is clean. Where it is not, nothing is written, and your
    text stays in a file that is named.
    """
    with state.open() as memories:
        memory, version = memories.show(name, token=expect)
        if not memory.state.live:
            raise NotFound(f"{memory.path} was retired", hint=f"bring it back: memstore restore {memory.path}")
        start = version.state.content
        with edited_text(memories.world, start) as content:
            wanted = Wanted() if content == start else Wanted(decoded(content, "the edited text"))
            saved = memories.write(
                memory.path, wanted, expect=version.token, operation=operation, reason=argument_text(reason)
            )
    tell_saved(state, "edit", saved)


def write_edited(
    state: State,
    name: str,
    wanted: Wanted,
    expect: str | None,
    on_conflict: OnConflict,
    operation: str | None,
    reason: str,
) -> Saved:
    """`write --edit`: the editor opens on the version `expect`, or on the header of a new memory."""
    with state.open(make=True) as memories:
        start = _start(memories, name, wanted, expect)
        with edited_text(memories.world, start) as content:
            if content == start and expect in (None, NEW):
                raise InputRefused("the text was left as it was; nothing was written", hint="write below the header")
            text = decoded(content, "the edited text")
            final = Wanted(text) if read(content).has_header else replace(wanted, body=text)
            return memories.write(
                name, final, expect=expect, on_conflict=on_conflict, operation=operation, reason=reason
            )


def _start(memories: Memstore, name: str, wanted: Wanted, expect: str | None) -> bytes:
    token = None if expect in (None, NEW) else expect
    try:
        memory, version = memories.show(name, token=token)
    except NotFound:
        if token is not None:
            raise
        return new_text(name.removesuffix(".md"), wanted)
    if token is not None:
        return revised_text(version.state.content, wanted)
    if memory.state.live:  # refused before a person has typed anything
        raise AlreadyExists(memory.path, memory.token)
    return new_text(name.removesuffix(".md"), wanted)


@contextmanager
def edited_text(world: World, start: bytes, name: str = "memory.md") -> Iterator[bytes]:
    """What a person's editor made of a text. If anything fails afterwards, the text stays in a file, and the
    error names it."""
    decoded(start, "the memory's text")
    with desk() as place:
        path = place.put(name, start)
        try:
            content = edited(world, path)
            if read(start).has_header and not read(content).has_header:
                raise InputRefused("the header is gone or not closed; nothing was written")
            yield content
        except BaseException as error:
            if _changed(path, start):
                place.keep()
                if isinstance(error, MemstoreError):
                    error.hint = "; ".join(filter(None, (error.hint, f"your text is in {path}")))
            raise


def _changed(path: str, start: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read() != start
    except OSError:
        return False
