"""Runs a person's editor or merge tool on texts in a directory of their own: argument lists, no shell."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from memstore.cli.inputs import LARGEST_BODY, file_content
from memstore.errors import InputRefused
from memstore.world import World


@dataclass(slots=True)
class Desk:
    """A directory with the texts a person works on. It goes away unless `keep` is called."""

    directory: str
    kept: bool = False

    def put(self, name: str, content: bytes) -> str:
        """Writes a text; returns its path."""
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def keep(self) -> None:
        """Leaves the directory and what is in it."""
        self.kept = True


@contextmanager
def desk() -> Iterator[Desk]:
    """A fresh directory that only its owner can read."""
    from shutil import rmtree
    from tempfile import mkdtemp

    try:
        made = Desk(mkdtemp(prefix="memstore-"))
    except OSError as error:
        raise InputRefused(f"there is no place for a temporary file: {error.strerror or error}") from None
    try:
        yield made
    finally:
        if not made.kept:
            rmtree(made.directory, ignore_errors=True)


def edited(world: World, path: str) -> bytes:
    """Opens a file in the person's editor; its bytes afterwards. Raises InputRefused where that fails."""
    command = editor_command(world)
    run([*command, path], f"the editor {command[0]}")
    content = file_content(path, "the edited text")
    if len(content) > LARGEST_BODY:
        raise InputRefused("the edited text is larger than 1 MiB", hint="keep one fact in a memory")
    return content


def editor_command(world: World) -> list[str]:
    """$VISUAL or $EDITOR as an argument list; else, at a terminal, vi. Raises InputRefused."""
    for name in ("VISUAL", "EDITOR"):
        value = world.environment.get(name, "")
        if value.strip():
            return split_command(value, f"${name}")
    if world.terminal:
        return ["vi"]
    raise InputRefused("no editor is set", hint="set VISUAL or EDITOR, or give the text with `memstore write --file`")


def split_command(value: str, what: str) -> list[str]:
    """A command as a person wrote it, split as a shell would, run by none."""
    import shlex

    try:
        words = shlex.split(value)
    except ValueError as error:
        raise InputRefused(f"{what} cannot be read: {error}", hint="mind its quotes") from None
    if not words:
        raise InputRefused(f"{what} is empty")
    return words


def run(command: Sequence[str], what: str) -> None:
    """Runs a program to its end. Raises InputRefused where it cannot start or fails."""
    import subprocess

    try:
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputRefused(f"{what} cannot be started: {reason}", hint="set VISUAL or EDITOR to one") from None
    if code:
        raise InputRefused(f"{what} ended with code {code}; nothing was written", hint="try again")
