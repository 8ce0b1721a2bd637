"""What one run of the program carries from its options to its commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memstore.cli import terminal
from memstore.errors import InputRefused, PlaceRefused

if TYPE_CHECKING:
    from memstore.app import Memstore
    from memstore.core.settings import Settings
    from memstore.world import World

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class State:
    """The options of the program, and how its commands speak."""

    directory: str | None = None
    quiet: bool = False
    json: bool = False
    agent: str = ""

    def cwd(self) -> str:
        """The directory to act for. Raises PlaceRefused when the present one is gone."""
        if self.directory is not None and os.path.isabs(self.directory):
            return os.path.normpath(self.directory)
        try:
            here = os.getcwd()
        except OSError:
            raise PlaceRefused(
                "the working directory is gone",
                hint="change to a directory that exists, or give one by its whole path with -C",
            ) from None
        return os.path.abspath(os.path.join(here, self.directory or ""))

    def path(self, given: str) -> str:
        """A path that a person gave, as seen from the directory to act for. Raises InputRefused for an empty one."""
        if not given:  # a variable of a script that was never set: it means no directory, least of all this one
            raise InputRefused("the path is empty", hint="name a file or a directory; . is the one you are in")
        return os.path.join(self.cwd(), os.path.expanduser(given))

    def world(self) -> World:
        """This process's world, in the directory to act for."""
        from memstore.world import World

        return World.real(self.cwd(), self.agent)

    def open(self, *, make: bool = False) -> Memstore:
        """The memories of the directory. With `make` a store is made where none is."""
        from memstore.app import Memstore

        return Memstore.open(world=self.world(), make=make)

    def settings(self, *, user: bool = False) -> Settings:
        """The settings that hold in the directory; with `user` those that hold for the user everywhere."""
        from memstore.place import find_place
        from memstore.store import settings as kept
        from memstore.store.home import Home
        from memstore.store.store import Store

        world = self.world()
        if user:
            return kept.load(Home.locate(world.environment).path, {}, None)
        place = find_place(world)
        if place.store is None or place.store_directory is None:
            return kept.load(place.home.path, world.environment, None)
        store = Store.open(place.store_directory, place.store, world.clock)
        try:
            with store.view() as connection:
                return kept.load(place.home.path, world.environment, connection)
        finally:
            store.close()

    def say(self, text: str) -> None:
        """Prints what was asked for. The text is fit to be shown already."""
        if text:
            click.echo(text)

    def report(self, text: str) -> None:
        """Prints what was done; nothing with --quiet or --json."""
        if text and not self.quiet and not self.json:
            click.echo(text)

    def note(self, text: str) -> None:
        """Says on standard error what a person should know; nothing with --quiet."""
        if text and not self.quiet:
            click.echo(terminal.printable(text, lines=True), err=True)

    def emit(self, command: str, shape: Mapping[str, object]) -> None:
        """Prints the one JSON object of a command; `shapes` says what is in it."""
        from memstore.cli.shaping import dumped

        click.echo(dumped({"memstore": 1, "command": command, **shape}))


def json_option(command: F) -> F:
    """Gives a command --json."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.ensure_object(State).json = value

    option = click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Print one JSON object instead of text.",
    )
    return option(command)


def operation_option(command: F) -> F:
    """Gives a writing command --operation."""
    option = click.option(
        "--operation",
        metavar="ID",
        callback=_operation_id,
        help="An id of your own for this change: repeating the command with it does nothing more.",
    )
    return option(command)


def expect_option(command: F) -> F:
    """Gives a writing command --expect."""
    option = click.option("--expect", metavar="TOKEN", help="Do nothing unless TOKEN names the current version.")
    return option(command)


def _operation_id(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is None or (0 < len(value) <= 200 and value.isascii() and value.isprintable() and not value.isdigit()):
        return value
    raise click.BadParameter("an id is 1 to 200 printable ASCII characters, and not only digits")
