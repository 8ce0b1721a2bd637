"""`config`: the settings of this repository and of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memstore.cli import inputs
from memstore.cli.state import State, json_option
from memstore.cli.terminal import bold, drawn, printable, table
from memstore.errors import NotFound, SettingRefused

if TYPE_CHECKING:
    from memstore.core.settings import Key, Settings
    from memstore.world import World

F = TypeVar("F", bound=Callable[..., Any])


def _user_option(what: str) -> Callable[[F], F]:
    """Gives a subcommand --user."""
    return click.option("--user", is_flag=True, help=what)


@click.group("config", cls=inputs.Noun, invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show and change the settings; alone it lists them.

    The first of these that has a value counts: an environment variable (MEMSTORE_ and the key in upper case, with _
    for each dot), this repository, the user, the default. What holds for the user stands in one file, which
    `memstore config path` names.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_command, user=False)


@config.command("list")
@_user_option("Only what holds for the user in every repository.")
@json_option
@click.pass_obj
def list_command(state: State, user: bool) -> None:
    """List the settings: value, where it comes from, what it means."""
    from memstore.core.settings import KEYS

    settings = state.settings(user=user)
    if state.json:
        _emit(state, settings, *KEYS.values())
        _note_unknown(state, settings)
        return
    rows = [_row(settings, key) for key in KEYS.values()]
    if drawn():
        for name, value, source, meaning in rows:
            state.say(f"{bold(name)} = {printable(value)}  ({source})\n    {printable(meaning)}")
    else:
        state.say(table(("setting", "value", "from", "meaning"), rows))
    _note_unknown(state, settings)


@config.command("path")
@json_option
@click.pass_obj
def path_command(state: State) -> None:
    """Print the path of the file with the user's settings, which need not be there yet.

    It is one JSON object of settings and their values, such as {"extract.every": 3}, and may be edited by hand. What
    holds for a repository stands in its store.
    """
    import os

    from memstore.store.home import Home
    from memstore.store.settings import FILE

    path = os.path.join(Home.locate(state.world().environment).path, FILE)
    if state.json:
        state.emit("config path", {"path": path, "exists": os.path.lexists(path)})
    else:
        state.say(printable(path))


@config.command("get")
@click.argument("key")
@_user_option("What holds for the user in every repository.")
@json_option
@click.pass_obj
def get_command(state: State, key: str, user: bool) -> None:
    """Print the value of one setting."""
    from memstore.core.settings import key_of, written

    wanted = key_of(key)
    settings = state.settings(user=user)
    if state.json:
        _emit(state, settings, wanted)
    else:
        state.say(printable(written(key, settings.get(key))))


@config.command("set")
@click.argument("key")
@click.argument("value")
@_user_option("For the user, in every repository that does not say otherwise.")
@json_option
@click.pass_obj
def set_command(state: State, key: str, value: str, user: bool) -> None:
    """Give a setting a value, for this repository.

    What a run may start and what it may cost is a person's to say: an agent is refused there.
    """
    from memstore.core.settings import key_of, parse, written
    from memstore.store import settings as kept
    from memstore.store.home import Home

    wanted, text = key_of(key), written(key, parse(key, value))
    world = state.world()
    _check_person(world, wanted)
    if user:
        kept.put_user(Home.locate(world.environment).path, key, text)
    else:
        with state.open(make=True) as memories, memories.store.change() as connection:
            kept.put(connection, key, text, memories.store.now())
    _tell(state, wanted, user, f"{key} is {text} {_where(user)}")


@config.command("unset")
@click.argument("key")
@_user_option("Take back what is set for the user.")
@json_option
@click.pass_obj
def unset_command(state: State, key: str, user: bool) -> None:
    """Take the value of a setting back: what comes after it counts again."""
    from memstore.core.settings import key_of
    from memstore.store import settings as kept
    from memstore.store.home import Home

    wanted = key_of(key)
    world = state.world()
    _check_person(world, wanted)
    if user:
        found = kept.remove_user(Home.locate(world.environment).path, key)
    else:
        with state.open() as memories, memories.store.change() as connection:
            found = kept.remove(connection, key)
    if not found:
        raise NotFound(f"{key} is not set {_where(user)}", hint="`memstore config list` says where each value is from")
    _tell(state, wanted, user, f"{key} is not set {_where(user)} any more")


def _check_person(world: World, key: Key) -> None:
    from memstore.cli.word import check_person

    if key.personal:
        check_person(world, f"config set {key.name} VALUE`, or `unset", f"the setting {key.name}")


def _tell(state: State, key: Key, user: bool, told: str) -> None:
    """Says what was done, and what holds here where that is something else."""
    settings = state.settings(user=user)
    if state.json:
        _emit(state, settings, key)
    state.report(printable(told))
    if settings.origin_of(key.name) == "environment":
        state.note(f"note: ${key.variable} is set and counts before it")


def _emit(state: State, settings: Settings, *keys: Key) -> None:
    from memstore.cli.shaping import key_shape

    state.emit("config", {"settings": [key_shape(key, settings) for key in keys]})


def _note_unknown(state: State, settings: Settings) -> None:
    """Says what stands in the user's file and is no setting: most likely it was mistyped."""
    from difflib import get_close_matches

    from memstore.core.settings import KEYS

    for name in settings.user:
        if name not in KEYS:
            near = get_close_matches(name[:80], KEYS, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            state.note(f"note: {name[:80]!r} in the user's file is no setting{meant} (`memstore config path` names it)")


def _row(settings: Settings, key: Key) -> tuple[str, str, str, str]:
    """Name, value, source and meaning; of a value that cannot be used why not."""
    from memstore.core.settings import written

    source = settings.origin_of(key.name)
    told = {"environment": f"${key.variable}", "store": "repository"}.get(source, source)
    try:
        return key.name, written(key.name, settings.get(key.name)), told, f"{key.meaning} ({key.allowed})"
    except SettingRefused as refused:
        return key.name, "?", told, f"{refused}: {refused.hint}"


def _where(user: bool) -> str:
    return "for the user" if user else "for this repository"
