"""`trust`: a person's consent to a value that came with the repository."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from memstore.cli.state import State, json_option
from memstore.cli.terminal import printable
from memstore.cli.where import look, setting_shape
from memstore.errors import NotFound, NotTrusted

if TYPE_CHECKING:
    from memstore.claude.settings import SettingValue
    from memstore.place import Place
    from memstore.world import World


@click.command()
@click.argument("key", required=False)
@click.option("--all", "everything", is_flag=True, help="Accept every value that waits.")
@click.option("--withdraw", is_flag=True, help="Take the consent back: to the value of KEY, or with --all to each.")
@json_option
@click.pass_obj
def trust(state: State, key: str | None, everything: bool, withdraw: bool) -> None:
    """List the values that came with the repository and wait for consent; accept the one of KEY.

    Consent holds for one repository and this very value; a changed value waits again. An agent may list the
    values, not accept them.
    """
    if key is not None and everything:
        raise click.UsageError("give KEY or --all, not both")
    if withdraw and key is None and not everything:
        raise click.UsageError("say which consent to withdraw: KEY or --all")
    world = state.world()
    place, _ = look(world)
    accepted: list[SettingValue] = []
    withdrawn: list[SettingValue] = []
    if withdraw:
        withdrawn = [
            value
            for value in _named(place.settings.values, key)
            if place.home.withdraw(place.root.path, value.key, value.value)
        ]
        if not withdrawn:
            raise NotFound(f"there is no consent to {key or 'anything'} here", hint="see `memstore where`")
    elif key is not None or everything:
        accepted = _accept(world, place, key)
    waiting = look(world)[0].settings.awaiting()
    if state.json:
        lists = {"waiting": waiting, "accepted": accepted, "withdrawn": withdrawn}
        shapes = {name: [setting_shape(value) for value in values] for name, values in lists.items()}
        state.emit("trust", {"root": place.root.path, **shapes})
        return
    for word, values in (("accepted", accepted), ("withdrawn", withdrawn)):
        for value in values:
            state.report(_told(word, value))
    if accepted or withdrawn:
        state.report("`memstore sync` shows the memories where they belong now")
    else:
        for value in waiting:
            state.say(_told("waiting", value))
        if not waiting:
            state.note("no value waits for consent")


def _accept(world: World, place: Place, key: str | None) -> list[SettingValue]:
    variable = world.agent()
    if variable is not None:
        raise NotTrusted(
            f"consent is a person's to give, and ${variable} says that an agent runs this",
            hint="run `memstore trust` in a terminal of your own",
        )
    chosen = _named(place.settings.awaiting(), key)
    if not chosen and key is not None:
        raise NotFound(f"no value of {key[:80]!r} waits for consent", hint="`memstore trust` lists those that do")
    for value in chosen:
        place.home.trust(place.root.path, value.key, value.value, world.clock())
    return chosen


def _named(values: Sequence[SettingValue], key: str | None) -> list[SettingValue]:
    return [value for value in values if key in (None, value.key)]


def _told(word: str, value: SettingValue) -> str:
    return printable(f"{word}: {value.key} = {value.value!r}, from {value.source}")
